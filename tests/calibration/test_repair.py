"""The certificate of a repair: how often it errs where both truths lie on their boundaries, and what it can decide."""

from __future__ import annotations

import numpy as np
from scipy.stats import binom
from simulation import most_errors

from isonomia.audits.repair.certificate import CaseCounts, lost_limits, share_limits

RISK = 0.2
"""Of both claims together, so that each has half of it; large, so that few repetitions tell."""


def test_a_share_on_the_boundary_is_certified_with_probability_at_most_its_part_of_the_risk() -> None:
    """Exact: the probabilities of all counts whose upper limit is below the truth."""
    for n, share in ((50, 0.05), (300, 0.01), (2000, 0.001), (40, 0.5)):
        counts = np.arange(n + 1)
        limits = np.array([share_limits(CaseCounts(n, int(k), 0), RISK / 2) for k in counts])
        chances = binom.pmf(counts, n, share)
        assert chances[limits[:, 1] < share].sum() <= RISK / 2
        assert chances[limits[:, 0] > share].sum() <= RISK / 2


def test_both_claims_on_their_boundaries_are_wrongly_certified_at_most_as_often_as_is_said() -> None:
    """The worst case for splitting the risk: cases that violate are the very rows that are answered wrongly."""
    rng, n, edge, repetitions = np.random.default_rng(7), 150, 0.06, 1000
    wrong = both = low = 0
    for _ in range(repetitions):
        violates = rng.random(n) < edge
        share = share_limits(CaseCounts(n, int(violates.sum()), 0), RISK / 2)
        lost = lost_limits(violates.astype(np.int64), RISK / 2, rng)
        wrong += share[1] < edge or lost[1] < edge
        both += share[1] < edge and lost[1] < edge
        low += share[0] > edge or lost[0] > edge
    assert max(wrong, low) <= most_errors(repetitions, RISK)
    assert both <= most_errors(repetitions, RISK / 2)


def test_lost_and_won_answers_on_the_boundary_are_told_apart_wrongly_at_most_as_often_as_is_said() -> None:
    rng, n, repetitions, risk = np.random.default_rng(8), 200, 400, 0.1
    above = below = 0
    for _ in range(repetitions):
        change = rng.choice([1, -1, 0], size=n, p=[0.08, 0.05, 0.87])
        low, high = lost_limits(change, risk, rng)
        above, below = above + (low > 0.03), below + (high < 0.03)
    assert max(above, below) <= most_errors(repetitions, risk)


def test_a_repair_that_keeps_its_accuracy_is_certified_when_there_are_rows_enough() -> None:
    """Power: 1% of the answers change either way, and 2 points may be lost, of 4,000 rows at risk 0.001."""
    rng = np.random.default_rng(9)
    certified = 0
    for _ in range(20):
        change = rng.choice([1, -1, 0], size=4000, p=[0.01, 0.01, 0.98])
        certified += lost_limits(change, 5e-4, rng)[1] <= 0.02
    assert certified >= 19
