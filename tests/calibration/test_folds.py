"""Groups that overlap need folds: with them the risk is kept, without them it is not.

Two overlapping halves of the population, women and Black people. Half of the people are in one group only, half in
both, and the event's rate differs: whoever is in both groups has it rarely. The claim's boundary is ``a - b = 0`` or
``a + b = const``; the same draw speaks about both leaves, so that their errors go together. Acceptance as in
:mod:`simulation`.
"""

from __future__ import annotations

import numpy as np
from simulation import REPETITIONS, Floats, assert_calibrated, batches, error_rate, peaks, yes_no_process

SIZES = batches(3_000, single=15, growth=0.15)

# Who: in both groups, in the first only, in the second only. Nearly everybody is in both.
WHO = np.asarray([0.9, 0.05, 0.05])
RATE = np.asarray([0.5, 0.3, 0.3])
MEAN = float(WHO[:2] @ RATE[:2] / WHO[:2].sum())


def people(rng: np.random.Generator, size: int, repetitions: int) -> tuple[Floats, Floats]:
    """How many of each kind were drawn and how many of those had the event: shape (repetitions, 3)."""
    who = rng.multinomial(size, WHO, size=repetitions)
    return who.astype(float), rng.binomial(who, RATE).astype(float)


def shared(rng: np.random.Generator, size: int, repetitions: int) -> Floats:
    """Every draw informs both leaves as if they were separate channels: what must not be done."""
    who, yes = people(rng, size, repetitions)
    n = np.stack([who[:, 0] + who[:, 1], who[:, 0] + who[:, 2]], axis=1)
    s = np.stack([yes[:, 0] + yes[:, 1], yes[:, 0] + yes[:, 2]], axis=1)
    return np.stack([n - s, s], axis=-1)


def in_folds(rng: np.random.Generator, size: int, repetitions: int) -> Floats:
    """A fold drawn beforehand says which of the two leaves a draw may inform."""
    first = rng.binomial(size, 0.5, size=repetitions)
    counts = np.zeros((repetitions, 2, 2))
    for g, n in enumerate((first, size - first)):
        who = rng.multinomial(n, WHO)
        yes = rng.binomial(who, RATE)
        members = [0, 1 + g]
        total, s = who[:, members].sum(axis=1), yes[:, members].sum(axis=1)
        counts[:, g] = np.stack([total - s, s], axis=-1)
    return counts


def sum_game():
    return yes_no_process([[1.0, 1.0]], [2.0 * MEAN])


def test_with_folds_overlapping_groups_keep_the_risk():
    assert_calibrated(peaks([sum_game()], in_folds, SIZES, np.random.default_rng(401), REPETITIONS)[0])


def test_without_folds_overlapping_groups_exceed_the_risk():
    peak = peaks([sum_game()], shared, SIZES, np.random.default_rng(402), REPETITIONS)[0]
    assert error_rate(peak, 0.05) > 1.5 * 0.05
    assert error_rate(peak, 0.01) > 2.0 * 0.01
