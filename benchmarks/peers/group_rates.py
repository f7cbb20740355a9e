"""Run by the peers' Python: group rates by Fairlearn, AIF360, vfairness and fairaudit, with their times.

    PEERS_PYTHON benchmarks/peers/group_rates.py JOB RESULT

JOB is JSON: ``group`` (0 or 1) and ``yes`` (0 or 1) for each person, ``n_boot`` and ``quantiles`` for Fairlearn,
``risk`` and ``threshold`` for vfairness, and ``tools``: which of ``TOOLS`` to run. fairaudit and vfairness's sequential
test take several ``tables`` with these two columns. Times are of the processor, without imports and without making the
tools' own tables. AIF360 says a ratio without an interval.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
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


def by_vfairness(job: dict[str, Any]) -> dict[str, Any]:
    """The interval of the smaller rate over the larger one, with as many resamples as it takes itself, and its verdict.

    The rule for the verdict has no public name for ratios.
    """
    from vfairness.evaluation.vfairness_metrics.analyzer import _fairness_verdict
    from vfairness.evaluation.vfairness_metrics.classification import disparate_impact_ratio_with_ci

    group, yes = np.asarray(job["group"]), np.asarray(job["yes"])
    given = {"confidence_level": 1 - job["risk"], "random_state": job["seed"]}
    disparate_impact_ratio_with_ci(yes, yes, group, n_bootstrap=20, **given)  # once to warm up
    found, seconds = timed(lambda: disparate_impact_ratio_with_ci(yes, yes, group, **given))
    ends = (float(found.lower_bound), float(found.upper_bound))
    verdict = _fairness_verdict(found.point_estimate, *ends, job["threshold"], "disparate_impact_ratio")
    return {"seconds": seconds, "interval": ends, "verdict": verdict, "resamples": found.n_bootstrap}


def by_sequential(job: dict[str, Any]) -> dict[str, Any]:
    """Whether vfairness's sequential test says at some look that the groups differ, for each stream.

    A stream ends where the test says that there is no difference, since it was decided then.
    """
    from vfairness.evaluation.vfairness_metrics._statistics import sequential_fairness_test

    def differ(group: Any, yes: Any) -> bool:
        for people in job["looks"]:
            now, then = group[:people], yes[:people]
            answer = sequential_fairness_test(then[now == 0], then[now == 1], alpha=job["risk"])["decision"]
            if not answer.startswith("continue"):
                return answer.startswith("reject")
        return False

    return {"differ": [differ(np.asarray(table["group"]), np.asarray(table["yes"])) for table in job["tables"]]}


def by_fairaudit(job: dict[str, Any]) -> dict[str, Any]:
    """Whether some group is flagged in each table: rates below that of all people, and rates other than it."""
    from fairaudit.auditor import Auditor
    from fairaudit.metrics import Metric

    found: dict[str, Any] = {"upper": [], "interval": []}
    spent = []
    for table in job["tables"]:
        group, yes = np.asarray(table["group"]), np.asarray(table["yes"])
        members = np.stack([group == 0, group == 1], axis=1)
        auditor = Auditor(group.reshape(-1, 1), yes, yes, Metric("statistical_parity"))
        for kind in ("upper", "interval"):
            (flags, _), seconds = timed(partial(auditor.flag_groups, members, kind, job["risk"]))
            found[kind].append(bool(flags.any()))
            spent.append(seconds)
    return {**found, "seconds": float(np.median(spent))}


TOOLS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "fairlearn": by_fairlearn,
    "aif360": by_aif360,
    "vfairness": by_vfairness,
    "vfairness_sequential": by_sequential,
    "fairaudit": by_fairaudit,
}


def main() -> None:
    warnings.simplefilter("ignore")
    job = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    Path(sys.argv[2]).write_text(json.dumps({name: TOOLS[name](job) for name in job["tools"]}), encoding="utf-8")


if __name__ == "__main__":
    main()
