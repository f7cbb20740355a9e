"""Confidence regions and VeriFair's bound hold the truth at all times. Acceptance as in :mod:`simulation`."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import beta
from simulation import DELTAS, REPETITIONS, assert_calibrated, batches, error_rate, most_errors

from isonomia.evidence.confidence_sequences import log_evidence
from isonomia.evidence.verifair import adaptive_error

YES_NO = np.asarray([0.0, 1.0])
SIZES = batches(8_000)


@pytest.mark.parametrize("rate", [0.0, 0.02, 0.3, 0.98])
def test_evidence_at_the_true_rate_stays_below_its_limit(rate):
    rng, tally, peak = np.random.default_rng(501), np.zeros((REPETITIONS, 2)), np.zeros(REPETITIONS)
    for size in SIZES:
        yes = rng.binomial(size, rate, size=REPETITIONS)
        tally += np.stack([size - yes, yes], axis=-1)
        peak = np.maximum(peak, log_evidence(YES_NO, tally, np.full(REPETITIONS, rate)))
    assert_calibrated(peak)


@pytest.mark.parametrize("rates", [(0.3, 0.24), (0.02, 0.98)])
def test_evidence_added_over_two_disjoint_groups_stays_below_its_limit(rates):
    rng, tally, peak = np.random.default_rng(502), np.zeros((2, REPETITIONS, 2)), np.zeros(REPETITIONS)
    for size in SIZES:
        first = rng.binomial(size, 0.3, size=REPETITIONS)
        for g, n in enumerate((first, size - first)):
            yes = rng.binomial(n, rates[g])
            tally[g] += np.stack([n - yes, yes], axis=-1)
        both = sum(log_evidence(YES_NO, tally[g], np.full(REPETITIONS, rates[g])) for g in range(2))
        peak = np.maximum(peak, both)
    assert_calibrated(peak)


def test_a_risk_split_over_two_classes_covers_leaves_that_share_every_draw():
    rng, tally, peak = np.random.default_rng(503), np.zeros((2, REPETITIONS, 2)), np.zeros(REPETITIONS)
    for size in SIZES:
        # Of two events of one group, the second never comes without the first.
        first = rng.binomial(size, 0.4, size=REPETITIONS)
        second = rng.binomial(first, 0.9)
        for g, yes in enumerate((first, second)):
            tally[g] += np.stack([size - yes, yes], axis=-1)
        for g, rate in enumerate((0.4, 0.36)):
            peak = np.maximum(peak, log_evidence(YES_NO, tally[g], np.full(REPETITIONS, rate)))
    for delta in DELTAS:
        assert np.sum(peak >= np.log(2.0 / delta)) <= most_errors(REPETITIONS, delta)


@pytest.mark.parametrize("shape", [(0.3, 0.6), (3.0, 9.0)])
def test_evidence_at_the_true_mean_of_a_number_stays_below_its_limit(shape):
    nodes = np.linspace(0.0, 1.0, 9)
    truth = np.diff(beta.cdf(np.linspace(0.0, 1.0, 10), *shape))
    rng, tally, peak = np.random.default_rng(504), np.zeros((REPETITIONS, 9)), np.zeros(REPETITIONS)
    for size in batches(3_000, single=20, growth=0.15):
        tally += rng.multinomial(size, truth, size=REPETITIONS)
        peak = np.maximum(peak, log_evidence(nodes, tally, np.full(REPETITIONS, float(truth @ nodes))))
    assert_calibrated(peak)


@pytest.mark.parametrize("delta", DELTAS)
def test_verifairs_bound_holds_the_rate_at_all_times(delta):
    rng, yes, n = np.random.default_rng(505), np.zeros(REPETITIONS), 0
    missed = np.zeros(REPETITIONS, dtype=bool)
    for size in SIZES:
        n += size
        yes += rng.binomial(size, 0.5, size=REPETITIONS)
        missed |= np.abs(yes / n - 0.5) >= adaptive_error(delta, n)
    assert error_rate(np.where(missed, np.inf, 0.0), delta) <= most_errors(REPETITIONS, delta) / REPETITIONS
