"""Principal fairness: wrongly reported violations stay within the risk when one looks after every batch.

The truth is a fair population whose table lies on the boundary of what fair worlds can produce, where errors are most
frequent. Acceptance is stated in :mod:`simulation`.
"""

from __future__ import annotations

import numpy as np
import pytest
from simulation import REPETITIONS, assert_calibrated, batches, error_rate, most_errors

from isonomia.audits.principal.sampling import PooledWealth, pooled, weights_of
from isonomia.evidence.fair_worlds import assumed_set, fair_set, unfair_sets
from isonomia.evidence.identified.bets import PSEUDO_COUNT, begin, best_cell_bet, log_factor, step
from isonomia.evidence.strata.worlds import TableShape, assume, definition_effects

BINARY = TableShape()
# For two values each a table is fair where P(s, y | 0) + P(1 - s, y | 1) <= 1 for all s and y. Here P(1, 0 | 0) +
# P(0, 0 | 1) = 1 = P(0, 1 | 0) + P(1, 1 | 1): a corner of what is fair, from which every sample but the exact one falls
# outside.
CORNER = np.asarray([[0.0, 0.5, 0.5, 0.0], [0.5, 0.0, 0.0, 0.5]])
SIZES = batches(10_000, single=10, first=3, growth=0.5)
SHORT = batches(600, single=6, first=4, growth=0.5)


def draws(rng, table, size, repetitions, shares=None):
    """People as they come, each with one attribute value; all values are equally frequent unless told."""
    even = np.full(len(table), 1.0 / len(table)) if shares is None else shares
    members = rng.multinomial(size, even, size=repetitions)
    return np.stack([rng.multinomial(members[:, a], row) for a, row in enumerate(table)], axis=1).astype(float)


def nearest(identified, table):
    """The point of an identified set that is nearest to a table, hence on its boundary where the table is outside."""
    weights = np.full((1, len(table)), 1.0 / len(table))
    found = table / best_cell_bet(identified, table[None], weights, np.full(1, 1e-12)).factors[0]
    assert np.abs(found - table).max() > 0.01
    return found / found.sum(axis=1, keepdims=True)


def plug_in_violated(tally):
    """The paper's verdict on the sample's shares: Corollary 1, for two values each."""
    shares = tally / np.maximum(tally.sum(axis=-1, keepdims=True), 1.0)
    both = shares[:, 0].reshape(-1, 2, 2) + shares[:, 1].reshape(-1, 2, 2)[:, ::-1]
    return (both > 1.0).any(axis=(1, 2)) & (tally.sum(axis=-1) > 0).all(axis=-1)


@pytest.fixture(scope="module")
def at_the_corner():
    """The peaks of the log-wealth, and whether the plug-in verdict ever was "violated"."""
    identified = fair_set(BINARY, definition_effects(BINARY, 2))
    rng, state = np.random.default_rng(701), begin(identified, REPETITIONS)
    plug_in = np.zeros(REPETITIONS, dtype=bool)
    for size in SIZES:
        state = step(identified, state, draws(rng, CORNER, size, REPETITIONS))
        plug_in |= plug_in_violated(state.tally)
    return state.peak, plug_in


def test_violations_are_wrongly_reported_with_at_most_the_risk(at_the_corner):
    assert_calibrated(at_the_corner[0])


@pytest.mark.parametrize("delta", [0.05, 0.01])
def test_bets_at_the_corner_use_a_good_part_of_the_risk_and_a_threshold_too_low_is_noticed(at_the_corner, delta):
    peak = at_the_corner[0]
    # Measured: 0.0145 and 0.0020; at six tenths of the threshold 1267 and 377 errors, where 1150 and 270 may pass.
    # A threshold a fifth too low cannot be caught by counting errors: at the corner it errs with 0.0306 and 0.0064, on
    # a facet (where one inequality is tight) with 0.0213 and 0.0042, both still within the risks 0.05 and 0.01. Bets
    # on a whole table lose more while they learn than those on one rate do, so the bound has that much to spare.
    assert error_rate(peak, delta) > 0.1 * delta
    assert np.sum(peak >= 0.6 * np.log(1.0 / delta)) > most_errors(REPETITIONS, delta)


def test_the_plug_in_verdict_fails_this_test(at_the_corner):
    assert np.mean(at_the_corner[1]) > 0.99


def test_bets_that_have_seen_the_batch_fail_this_test():
    identified = fair_set(BINARY, definition_effects(BINARY, 2))
    rng, tally, log_wealth = np.random.default_rng(702), np.zeros((1_000, 2, 4)), np.zeros(1_000)
    peak = log_wealth
    for size in batches(2_000, single=10, first=5, growth=0.4):
        counts = draws(rng, CORNER, size, 1_000)
        tally = tally + counts
        estimate = (tally + PSEUDO_COUNT) / (tally + PSEUDO_COUNT).sum(axis=-1, keepdims=True)
        bet = best_cell_bet(identified, estimate, counts.sum(axis=-1) / size, np.full(1_000, 1e-6))
        log_wealth = log_wealth + log_factor(identified, bet, counts)
        peak = np.maximum(peak, log_wealth)
    assert np.sum(peak >= np.log(1.0 / 0.05)) > most_errors(1_000, 0.05)


def test_fair_in_every_subgroup_is_wrongly_refuted_with_at_most_the_risk():
    # Four subgroups at the corner, 500 simulated populations: a population is a block of four rows.
    identified, groups, populations = fair_set(BINARY, definition_effects(BINARY, 2)), 4, 500
    rng, state = np.random.default_rng(704), begin(identified, groups * populations)
    overall = [PooledWealth()] * populations
    for size in SHORT:
        state = step(identified, state, draws(rng, CORNER, size, groups * populations))
        blocks = state.log_wealth.reshape(populations, groups)
        overall = [
            pooled(before, logs, weights_of(groups, groups, closed=True))
            for before, logs in zip(overall, blocks, strict=True)
        ]
    peak = np.asarray([each.peak for each in overall])
    assert_calibrated(peak)
    assert error_rate(peak, 0.5) > 0.05
    # The product of the peaks is no wealth: the subgroups reach them at different times.
    assert np.sum(state.peak.reshape(populations, groups).sum(axis=1) >= np.log(20.0)) > most_errors(populations, 0.05)


def scenarios():
    """Name, hypothesis, a table outside of it whose nearest point is the truth."""
    outside = np.asarray([[0.30, 0.10, 0.40, 0.20], [0.80, 0.05, 0.10, 0.05]])
    three = np.asarray([[0.10, 0.05, 0.80, 0.05], [0.85, 0.05, 0.05, 0.05], [0.80, 0.05, 0.10, 0.05]])
    wide = np.asarray([[0.10, 0.05, 0.05, 0.60, 0.10, 0.10], [0.65, 0.05, 0.05, 0.10, 0.10, 0.05]])
    rare = np.asarray([[0.60, 0.36, 0.03, 0.01], [0.55, 0.41, 0.02, 0.02]])
    more, outcomes = TableShape(3, 2, 2), TableShape(2, 2, 3)
    monotone = assume(BINARY, "outcome never rises")
    yield "definition 1", fair_set(BINARY, definition_effects(BINARY, 1)), outside
    yield "definition 3", fair_set(BINARY, definition_effects(BINARY, 3)), outside
    yield "definition 4", fair_set(BINARY, definition_effects(BINARY, 4)), outside[:, [0, 2, 1, 3]]
    yield "a margin", fair_set(BINARY, definition_effects(BINARY, 2), 0.05), outside
    yield "a normalised margin", fair_set(BINARY, definition_effects(BINARY, 2), 0.1, normalised=True), outside
    yield "three attribute values", fair_set(more, definition_effects(more, 1)), three
    yield "three outcomes", fair_set(outcomes, definition_effects(outcomes, 1)), wide
    yield "unfair worlds", unfair_sets(BINARY, definition_effects(BINARY, 2), 0.2)[0], rare
    yield "an assumption", fair_set(BINARY, definition_effects(BINARY, 2), assumptions=monotone), outside
    yield "the assumption itself", assumed_set(BINARY, assume(BINARY, "outcome never falls")), outside


SCENARIOS = {name: (identified, outside) for name, identified, outside in scenarios()}


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_kind_of_hypothesis_is_wrongly_refuted_with_at_most_the_risk(name):
    identified, outside = SCENARIOS[name]
    truth = nearest(identified, outside)
    rng, state = np.random.default_rng(703), begin(identified, 1_500)
    for size in SHORT:
        state = step(identified, state, draws(rng, truth, size, 1_500))
    assert_calibrated(state.peak)
    # On its boundary a hypothesis is sometimes refuted: the truth of this test was not put somewhere harmless.
    assert error_rate(state.peak, 0.5) > 0.005
