"""The bank's model: boosted trees, trained on the record of its loans. It answers 1 where a loan should be granted.

Its makers told the trees that more income and more savings can only help, as textbooks advise. They left the rest to
the data.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

CHANNELS = ["branch", "online", "broker"]
NUMBERS = ["income", "debt", "years_employed", "late_payments", "savings", "amount"]


def matrix(people: Mapping[str, Any]) -> np.ndarray:
    """What the trees are given: the numbers, and a column for each channel."""
    channel = np.asarray(people["channel"])
    return np.column_stack(
        [np.asarray(people[name], float) for name in NUMBERS] + [channel == name for name in CHANNELS]
    )


_record = np.genfromtxt(
    Path(__file__).parent / "data" / "history.csv", delimiter=",", names=True, dtype=None, encoding="utf-8"
)
_trees = HistGradientBoostingClassifier(
    max_iter=40, max_leaf_nodes=8, monotonic_cst=[1, 0, 0, 0, 1, 0, 0, 0, 0], random_state=0
).fit(matrix(_record), _record["repaid"])


def decide(applicants: Mapping[str, Any]) -> np.ndarray:
    """Decide about a batch of applicants: 1 for a loan, 0 for none."""
    return _trees.predict(matrix(applicants))
