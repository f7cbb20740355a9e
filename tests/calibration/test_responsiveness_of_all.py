"""Error rates and power of claims about all people together, on the boundary, looked at after every round.

False alarms: each test of a method that keeps its promise fails with probability at most 1e-6.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom

import isonomia as iso
from isonomia.audits.responsiveness.points import PointCounts
from isonomia.audits.responsiveness.shares import DecisionRule, PointsByPerson, SharedClaim
from isonomia.evidence.confidence_sequences import anytime_interval
from isonomia.interventions import Feature, Interventions

REPETITIONS, DELTA = 1_000, 0.05
MOST_ERRORS = int(binom.ppf(1.0 - 1e-6, REPETITIONS, DELTA))
CHANGES = Interventions((Feature("x", "real", 0, 1),))


def claim_of(sampled: bool, delta: float = DELTA, **options: object) -> SharedClaim:
    prop = iso.Responsiveness(CHANGES, 1, **options)  # type: ignore[arg-type]
    part = delta / 2 if sampled and not prop.average else delta
    return SharedClaim(prop, delta, sampled, DecisionRule.of(prop, part))


def ever_settled(claim: SharedClaim, share: NDArray[np.float64], seed: int, total: int) -> bool | None:
    """The answer of the audit's own counting, with a look after every round."""
    rng = np.random.default_rng(seed)
    counts, drawn = PointsByPerson.empty(len(share), np.ones(len(share), dtype=bool)), 0
    while drawn < total:
        size = max(8, drawn // 4)
        who = np.arange(len(share)) if claim.prop.average else np.flatnonzero(counts.undecided)
        counts = counts.drawn(who, size, rng.binomial(size, share[who]).astype(float), claim.rule)
        counts = counts if claim.prop.average else counts.decided(claim.rule)
        drawn += size
        answer = claim.expression(counts).settled
        if answer is not None:
            return answer
    return None


@pytest.mark.parametrize("share", [np.full(8, 0.3), np.asarray([0.0, 0.0, 0.6, 0.6]), np.asarray([0.1, 0.5])])
def test_the_average_of_people_is_seldom_missed_at_any_round(share: NDArray[np.float64]) -> None:
    rng = np.random.default_rng(4)
    successes, drawn, missed = np.zeros(REPETITIONS), 0, np.zeros(REPETITIONS, dtype=bool)
    while drawn < 1_000:
        size = max(8, drawn // 3)
        successes, drawn = successes + rng.binomial(size, share, (REPETITIONS, len(share))).sum(1), drawn + size
        low, high = anytime_interval(successes, drawn * len(share), DELTA)
        missed |= (low > 0.3) | (high < 0.3)
    assert missed.sum() <= MOST_ERRORS


def test_an_average_is_that_interval_with_listed_people_in_it() -> None:
    share = np.asarray([0.1, 0.5, 0.9])
    claim = claim_of(False, average=True, at_least=0.5)
    counts = PointsByPerson.empty(3, np.asarray([False, True, True]))
    exact = PointCounts(np.ones(1), np.ones(1), 0, True, share[:1])
    counts = counts.listed(np.arange(1), exact, claim.rule)
    counts = counts.drawn(np.asarray([1, 2]), 40, np.asarray([20.0, 36.0]), claim.rule)
    low, high = anytime_interval(56, 80, DELTA)
    item = claim.expression(counts)
    assert [item.estimate, item.low, item.high] == pytest.approx([0.5, (0.1 + 2 * low) / 3, (0.1 + 2 * high) / 3])


def test_the_average_of_a_population_is_seldom_missed() -> None:
    rng = np.random.default_rng(5)
    claim = claim_of(True, average=True, at_least=0.5)
    missed = 0
    for _ in range(REPETITIONS // 5):
        share = rng.choice([0.0, 0.2, 1.0], size=60, p=[0.5, 0.25, 0.25])
        counts = PointsByPerson.empty(60, np.ones(60, dtype=bool))
        counts = counts.drawn(np.arange(60), 20, rng.binomial(20, share).astype(float), claim.rule)
        item = claim.expression(counts)
        missed += not item.low <= 0.3 <= item.high
    assert missed <= int(binom.ppf(1.0 - 1e-6, REPETITIONS // 5, DELTA))


@pytest.mark.parametrize("one_is_enough", [False, True])
def test_the_share_of_a_population_that_fails_is_seldom_missed(one_is_enough: bool) -> None:
    """People near the line are called wrongly now and then, and the sample strays from its population."""
    rng = np.random.default_rng(6)
    claim = claim_of(True, at_least=0.1, failing_at_most=0.2, one_is_enough=one_is_enough)
    missed = 0
    for seed in range(REPETITIONS // 10):
        share = rng.choice([0.0, 0.1, 0.9], size=40, p=[0.2, 0.4, 0.4])
        chances = np.random.default_rng(seed)
        counts, drawn = PointsByPerson.empty(40, np.ones(40, dtype=bool)), 0
        while drawn < 400 and counts.undecided.any():
            who, size = np.flatnonzero(counts.undecided), max(8, drawn // 4)
            hits = chances.binomial(size, share[who]).astype(float)
            counts, drawn = counts.drawn(who, size, hits, claim.rule).decided(claim.rule), drawn + size
        item = claim.expression(counts)
        missed += not item.low <= 0.2 <= item.high
    assert missed <= int(binom.ppf(1.0 - 1e-6, REPETITIONS // 10, 2 * DELTA))  # each end at delta


def test_what_is_true_is_shown_with_few_draws() -> None:
    share = np.random.default_rng(0).uniform(0.0, 0.6, 200)
    average = claim_of(False, average=True, at_least=0.2)
    assert all(ever_settled(average, share, seed, 33) is True for seed in range(10))  # at most 33 draws a person
    fails = claim_of(False, at_least=0.1, failing_at_most=0.4)
    assert all(ever_settled(fails, share, seed, 400) is True for seed in range(5))
    often = claim_of(False, at_least=0.5, failing_at_most=0.4)
    assert all(ever_settled(often, share, seed, 400) is False for seed in range(3))
