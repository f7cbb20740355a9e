"""Rows that belong together: how often bets on clusters err on the boundary, and how soon they decide elsewhere."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.clusters import TWO, batches, decided, draw, evidence
from simulation import most_errors

import isonomia as iso
from isonomia.evidence.clusters import ClusterTests

RUNS = 1000


@pytest.mark.parametrize(
    ("rates", "largest", "kind", "correlation", "looks"),
    [
        ((0.7,), 50, "equal", 0.3, "any"),
        ((0.7,), 10, "unequal", 0.6, "once"),
        ((0.4, 0.5), 10, "equal", 0.3, "any"),
    ],
)
def test_a_claim_on_the_boundary_is_shown_with_probability_at_most_delta(
    rates: tuple[float, ...], largest: int, kind: str, correlation: float, looks: str
) -> None:
    """``P[y] >= 0.7``, or one rate of at least 0.8 of another: the hypothesis that it is not so is true, just."""
    clusters, two = 40, len(rates) > 1
    slopes, bounds = np.asarray([[1.0, -0.8 if two else 0.0]]), np.asarray([0.0 if two else 0.7])
    leaves = tuple(range(len(rates)))
    tests = ClusterTests(leaves, slopes, bounds, largest, True, 0.05, clusters if looks == "once" else None)
    wrong = sum(
        bool(
            tests.run(batches(*draw(np.random.default_rng(run), clusters, largest, kind, rates, correlation), 1.25))[0]
        )
        for run in range(RUNS)
    )
    assert wrong <= most_errors(RUNS, 0.05)


def test_independent_rows_would_err_far_more_often() -> None:
    """The same clusters without being named: what the option is for."""
    wrong = 0
    for run in range(40):
        rows, sums = draw(np.random.default_rng(run), 40, 50, "equal", (0.7,), 0.3)
        y = np.concatenate([np.arange(n) < s for n, s in zip(rows[:, 0], sums[:, 0], strict=True)])
        wrong += iso.check("P[y] >= 0.7", population=iso.Sample({"y": y}), seed=run).answer == "holds"
    assert wrong > 4  # 10% and more, where 5% is promised


def test_a_difference_of_two_groups_is_shown_after_about_as_many_clusters_as_known() -> None:
    """0.48 and 0.50 against 0.8, correlation 0.3: at most 85 clusters of 10 and 55 of 50, in the median."""
    for largest, most in ((10, 85), (50, 55)):
        found = [
            decided(
                evidence(TWO, largest),
                batches(*draw(np.random.default_rng(run), 200, largest, "equal", (0.48, 0.5), 0.3), 1.04),
                True,
            )
            for run in range(41)
        ]
        assert np.median(found) <= 1.1 * most  # of 41 runs; benchmarks.clusters has 300


def test_intervals_of_clusters_cover_the_rate() -> None:
    missed = 0
    for run in range(100):
        history = batches(*draw(np.random.default_rng(run), 40, 10, "equal", (0.4,), 0.3), 1.2)
        test = evidence("P[y] >= 0.5", 10)
        low, high = test.interval(history, test.leaves[0])
        missed += not low <= 0.4 <= high
    assert missed <= most_errors(100, 0.1)  # each limit at 0.05
