"""Repairs against a search over a grid, and Theorem 2's rate by simulation."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from benchmarks.closed_form import closed_bounds

from isonomia.evidence.strata.repair import Repair, repair
from isonomia.evidence.strata.worlds import Observed

TRUTH = Observed.of([[[0.05, 0.85], [0.02, 0.08]], [[0.02, 0.08], [0.05, 0.85]]])


def after(table: np.ndarray, epsilons: np.ndarray) -> np.ndarray:
    """The paper's formula: S' = s with probability epsilon_as, else S; for many epsilons ``[..., a, b]`` at once."""
    kept = 1.0 - epsilons.sum(-1)[..., None, None]
    return np.asarray(epsilons[..., :, None] * table.sum(1, keepdims=True) + kept * table)


@pytest.mark.parametrize("seed", range(6))
def test_no_point_of_a_grid_beats_the_repair(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = rng.dirichlet(np.full(4, 0.25), size=(200, 2)).reshape(-1, 2, 2, 2)
    table = table[closed_bounds(table).violated][0]
    found = repair(Observed.of(table))
    assert isinstance(found, Repair)
    steps = np.linspace(0.0, 1.0, 17)
    grid = np.asarray([point for point in product(steps, repeat=4) if point[0] + point[1] <= 1 >= point[2] + point[3]])
    fair = closed_bounds(after(table, grid.reshape(-1, 2, 2))).excess <= 0.0
    assert fair.any()
    assert found.total <= grid[fair].sum(-1).min() + 1e-9
    # And it is not too good: rounding its epsilons up to the grid is not far from it.
    assert grid[fair].sum(-1).min() <= found.total + 4 / 16
    assert after(table, found.epsilon) == pytest.approx(found.repaired.probabilities, abs=1e-12)


def errors(n: int, repetitions: int, seed: int) -> np.ndarray:
    """How far the repair of a sample of n people, half with each attribute value, is from the repair of the truth."""
    rng = np.random.default_rng(seed)
    best = repair(TRUTH)
    assert isinstance(best, Repair)
    far = []
    for _ in range(repetitions):
        counts = np.stack([rng.multinomial(n // 2, cells.ravel()).reshape(2, 2) for cells in TRUTH.probabilities])
        found = repair(Observed.from_counts(counts))
        assert isinstance(found, Repair)
        far.append(abs(found.total - best.total))
    return np.asarray(far)


def test_the_sampling_error_of_a_repair_falls_with_the_square_root_of_the_sample() -> None:
    # Theorem 2: sixteen times the people, a quarter of the error. 400 repetitions leave the ratio's standard error at
    # about 0.21, so that 2.9 and 5.3 are more than five of them away; the rates n^-1/4 and n^-3/4 would give 2 and 8.
    ratio = errors(1_000, 400, seed=1).mean() / errors(16_000, 400, seed=2).mean()
    assert 2.9 < ratio < 5.3
