"""What is true of German credit: every reachable point of 1,000 people, what two models say of it, and each share.

The validation study holds what draws say against it; see ``benchmarks/validation.py``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.reach import german_interventions
from isonomia.interventions import Points, ReachableSets
from isonomia.populations import Table

__all__ = ["SHARE", "Listing", "Truth", "prepared"]

Floats = NDArray[np.float64]

SHARE = 0.1
"""The threshold of the study."""


@dataclass(frozen=True, slots=True, eq=False)
class Truth:
    """A model, whether each reachable point reaches the target, and the exact share of each person."""

    name: str
    model: Any
    features: list[str]
    reaching: NDArray[np.bool_]
    share: Floats
    auc: dict[str, float]

    @property
    def responsive(self) -> NDArray[np.bool_]:
        """Whose share is at least the threshold; compared as the audit compares."""
        return np.asarray(self.share >= SHARE - 1e-9)


@dataclass(frozen=True, slots=True, eq=False)
class Listing:
    """Every reachable point of all people, by number: a draw is one of them, so that no model is asked twice.

    Attributes
    ----------
    sets
        What people can reach.
    columns, low, width
        The features that move, the least value of each, and how many values it has.
    keys
        A number for each person and point, ascending.
    points
        The points, in the order of the keys.
    """

    sets: ReachableSets
    columns: NDArray[np.intp]
    low: Floats
    width: NDArray[np.int64]
    keys: NDArray[np.int64]
    points: Points

    @classmethod
    def of(cls, sets: ReachableSets) -> Listing:
        """List what people can reach; every value is a whole number."""
        points = sets.points()
        low, high = points.values.min(axis=0), points.values.max(axis=0)
        columns = np.flatnonzero(high > low)
        width = (high - low)[columns].astype(np.int64) + 1
        made = cls(sets, columns, low[columns], width, np.empty(0, dtype=np.int64), points)
        keys = made.key(points)
        order = np.argsort(keys)
        ordered = Points(points.features, points.people, points.owner[order], points.values[order])
        return replace(made, keys=keys[order], points=ordered)

    def key(self, points: Points) -> NDArray[np.int64]:
        """A number that only one person and point has."""
        key = points.owner.astype(np.int64)
        for place, column in enumerate(self.columns):
            key = key * self.width[place] + (points.values[:, column] - self.low[place]).astype(np.int64)
        return key

    def drawn(self, n: int, rng: np.random.Generator, people: list[int] | None = None) -> NDArray[np.intp]:
        """Uniform draws of each person as places in the list, one row a person."""
        points = self.sets.sample(n, rng, people)
        return np.searchsorted(self.keys, self.key(points)).reshape(-1, n)


def models(people: Table) -> Iterator[tuple[str, Any, list[str], dict[str, float]]]:
    """A logistic and a boosted model, fitted on four fifths of the people as in the paper."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import train_test_split
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    names = [name for name in people.names if name != "good_customer"]
    table = np.column_stack([people.column(name).astype(float) for name in names])
    labels = people.column("good_customer")
    parts = train_test_split(table, labels, test_size=0.2, random_state=0, stratify=labels)
    for name, model in (
        ("logistic", make_pipeline(StandardScaler(), LogisticRegression(max_iter=1_000))),
        ("boosted", HistGradientBoostingClassifier(max_depth=3, max_iter=40, random_state=0)),
    ):
        model.fit(parts[0], parts[2])
        auc = {
            part: float(roc_auc_score(y, model.predict_proba(x)[:, 1]))
            for part, x, y in (("train", parts[0], parts[2]), ("test", parts[1], parts[3]))
        }
        yield name, model, names, auc


def prepared(people: Table) -> tuple[Listing, list[Truth]]:
    """Every reachable point, and of each model what it predicts there and the share of each person."""
    listing = Listing.of(german_interventions(people).reach(people))
    truths = []
    for name, model, features, auc in models(people):
        table = listing.points.columns(features)
        answers = model.predict(np.column_stack([table.column(feature) for feature in features]).astype(float))
        reaching, owner = answers == 1, listing.points.owner
        share = np.bincount(owner, reaching) / np.bincount(owner)
        truths.append(Truth(name, model, features, reaching, share, auc))
    return listing, truths
