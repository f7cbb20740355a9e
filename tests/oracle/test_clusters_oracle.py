"""Bets on clusters against every extreme cluster: factors stay positive, and no more is expected than was staked."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from isonomia.evidence.clusters import CELLS, ClusterBatch, ClusterTests

LARGEST = 6


def steps(tests: ClusterTests, clusters: list[ClusterBatch], seen: list[ClusterBatch]) -> np.ndarray:
    """The factor of the whole wealth for each cluster, cell by cell at its worse end, after some others were seen."""
    wealth = tests.begin()
    for batch in seen:
        wealth = tests.step(wealth, batch)
    before = wealth.logs
    factors = []
    for cluster in clusters:
        signs, owner = tests.signs[wealth.owner], wealth.owner
        numbers, total = tests._numbers(cluster)[0], np.zeros((2, len(owner)))
        for end, second in enumerate(wealth.ends):
            values = (tests._first_leaf(owner, second), second)
            away = [signs[:, k] * (numbers[2 * k + 1] - values[k] * numbers[2 * k]) for k in range(2)]
            shares = np.exp(before[end] - np.logaddexp.reduce(before[end], axis=0))
            for bettor, stake in enumerate(tests._stakes(wealth)):
                total[end] += shares[bettor] * (1.0 + stake[:, 0] * away[0] + stake[:, 1] * away[1])
        factors.append(total)
    return np.asarray(factors)


def extreme(rows: int) -> list[ClusterBatch]:
    """Clusters with so many rows in the two groups, in which all rows of a group agree."""
    return [
        ClusterBatch(np.asarray([[n, rows - n]], float), np.asarray([[n * a, (rows - n) * b]], float), np.ones(1))
        for n, a, b in product((0, rows // 2, rows), (0, 1), (0, 1))
    ]


@pytest.mark.parametrize("slopes", [(1.0, -0.8), (-1.0, 0.8), (1.0, 1.0), (-1.0, -1.0)])
@pytest.mark.parametrize("deadline", [None, 40])
def test_no_cluster_of_the_largest_size_loses_everything_and_a_larger_one_could(
    slopes: tuple[float, float], deadline: int | None
) -> None:
    bound = 0.0 if slopes[0] * slopes[1] < 0 else sum(slopes) / 2
    tests = ClusterTests((0, 1), np.asarray([slopes]), np.asarray([bound]), LARGEST, True, 0.05, deadline)
    rng = np.random.default_rng(0)
    seen = [
        ClusterBatch(np.asarray([[3.0, 3.0]]), rng.integers(0, 4, (1, 2)).astype(float), np.ones(1)) for _ in range(8)
    ]
    assert steps(tests, extreme(LARGEST), seen).min() > 0.0
    alone = ClusterTests((0,), np.asarray([[1.0, 0.0]]), np.asarray([0.5]), LARGEST, True, 0.05)
    largest = alone._stakes(alone.begin())[2][0, 0]
    assert 1.0 - largest * 0.5 * LARGEST > 0.0 > 1.0 - largest * 0.5 * 1.2 * LARGEST  # a fifth too tight would not do


@pytest.mark.parametrize("ratio", [0.5, 0.8, 1.25])
def test_on_the_boundary_no_more_is_expected_than_was_staked(ratio: float) -> None:
    """All-or-nothing clusters with exact chances, whose two rates lie on the boundary at the ends of cells."""
    tests = ClusterTests((0, 1), np.asarray([[1.0, -ratio]]), np.zeros(1), LARGEST, True, 0.05)
    clusters = extreme(LARGEST)[4:8]  # half of the rows in each group
    for cell in range(4, CELLS - 4, 5):
        second = float(tests.begin().ends[0][cell])
        first = ratio * second
        if first > 1.0:
            continue
        chances = [(1 - first) * (1 - second), (1 - first) * second, first * (1 - second), first * second]
        expected = np.tensordot(chances, steps(tests, clusters, []), axes=1)[0, cell]
        assert expected <= 1.0 + 1e-12
        moved = [
            (1 - 1.2 * first) * (1 - second),
            (1 - 1.2 * first) * second,
            1.2 * first * (1 - second),
            1.2 * first * second,
        ]
        assert np.tensordot(moved, steps(tests, clusters, []), axes=1)[0, cell] > 1.0  # a fifth beyond it, bets win
