"""Principal fairness from `check`: how often a fair world is called unfair, and late subgroups in the pool."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import binom

import isonomia as iso
from isonomia.audits.principal.sampling import PooledWealth, pooled, weights_of
from isonomia.evidence.strata.worlds import TableShape, worlds

FALSE_ALARM = 1e-6


def boundary(n: int, rng: np.random.Generator) -> dict[str, Any]:
    """A fair world on the edge: ``P(S=0, Y=1 | A=0) + P(S=1, Y=1 | A=1) = 1``, where a little more would refute it."""
    world = worlds(TableShape())[rng.choice([0b0011, 0b0010, 0b1111, 0b1101], size=n)]
    sex, rows = rng.integers(0, 2, size=n), np.arange(n)
    return {
        "sex": sex,
        "prediction": world[rows, 0, sex],
        "passed": world[rows, 1, sex],
        "school": rng.integers(0, 2, size=n),
    }


def test_fair_worlds_are_called_unfair_at_most_as_often_as_the_risk_allows() -> None:
    runs, delta = 10, 0.02
    prop = iso.PrincipalFairness(attribute="sex", outcome="passed", given=["school"], definition=2)
    answers = [
        iso.check(prop, population=iso.Generator(boundary), delta=delta, budget=400, seed=seed).answer
        for seed in range(runs)
    ]
    assert "holds" not in answers
    assert answers.count("violated") <= binom.isf(FALSE_ALARM, runs, delta)


def _reached(pool: Any, runs: int, need: float) -> int:
    """How many runs ever reach the need, where a new subgroup comes whenever the ones before have lost."""
    count = 0
    for seed in range(runs):
        rng, logs, peak = np.random.default_rng(seed), np.zeros(1), 0.0
        for _ in range(40):
            logs = logs + np.where(rng.random(len(logs)) < 0.5, np.log(1.9), np.log(0.1))
            if logs.max() < -1.0 and len(logs) < 12:
                logs = np.append(logs, 0.0)
            peak = max(peak, pool(logs))
        count += peak >= need
    return count


def test_late_subgroups_do_not_raise_the_error_of_the_pool_but_would_raise_that_of_a_plain_mean() -> None:
    runs, delta = 200, 0.4
    need, limit = np.log(1 / delta), binom.isf(FALSE_ALARM, runs, delta)

    def ours(logs: np.ndarray) -> float:
        return pooled(PooledWealth(), logs, weights_of(1, len(logs), closed=False)).log_wealth

    def plain(logs: np.ndarray) -> float:
        return float(np.logaddexp.reduce(logs) - np.log(len(logs)))

    assert _reached(ours, runs, need) <= limit
    assert _reached(plain, runs, need) > limit
