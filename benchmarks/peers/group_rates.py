"""Run by the peers' Python: group rates by Fairlearn with bootstrap intervals, and by AIF360, with their times.

    PEERS_PYTHON benchmarks/peers/group_rates.py JOB RESULT

JOB is JSON: ``group`` (0 or 1) and ``yes`` (0 or 1) for each person, ``n_boot`` and ``quantiles`` for Fairlearn, and
``tools``: which of "fairlearn" and "aif360" to run. Times are of the processor, without imports and without making the
tools' own tables. AIF360 says a ratio without an interval.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """What something gives, and the processor seconds it took."""
    began = time.process_time()
    found = work()
    return found, time.process_time() - began


def by_fairlearn(job: dict[str, Any]) -> dict[str, Any]:
    """The rate of each group with its bootstrap interval, and the ratio of the least to the greatest."""
    from fairlearn.metrics import MetricFrame, selection_rate

    group, yes = np.asarray(job["group"]), np.asarray(job["yes"])

    def frame(**more: Any) -> Any:
        return MetricFrame(metrics=selection_rate, y_true=yes, y_pred=yes, sensitive_features=group, **more)

    frame()  # once to warm up
    plain, seconds = timed(lambda: frame().by_group)
    found = {"seconds": seconds, "rates": [float(plain[0]), float(plain[1])]}
    if job["n_boot"]:
        given = {"n_boot": job["n_boot"], "ci_quantiles": job["quantiles"], "random_state": job["seed"]}
        resampled, seconds = timed(lambda: frame(**given).by_group_ci)
        found |= {"boot_seconds": seconds, "intervals": [[float(end[one]) for end in resampled] for one in (0, 1)]}
    return found


def by_aif360(job: dict[str, Any]) -> dict[str, Any]:
    """The ratio of the rates (*disparate impact*), which has no interval."""
    import pandas as pd
    from aif360.datasets import BinaryLabelDataset
    from aif360.metrics import BinaryLabelDatasetMetric

    table = pd.DataFrame({"group": job["group"], "yes": job["yes"]}, dtype=float)
    people = BinaryLabelDataset(df=table, label_names=["yes"], protected_attribute_names=["group"])

    def ratio() -> float:
        metric = BinaryLabelDatasetMetric(people, [{"group": 0}], [{"group": 1}])
        return float(metric.disparate_impact())

    ratio()
    found, seconds = timed(ratio)
    return {"seconds": seconds, "ratio": found}


TOOLS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {"fairlearn": by_fairlearn, "aif360": by_aif360}


def main() -> None:
    warnings.simplefilter("ignore")
    job = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    Path(sys.argv[2]).write_text(json.dumps({name: TOOLS[name](job) for name in job["tools"]}), encoding="utf-8")


if __name__ == "__main__":
    main()
