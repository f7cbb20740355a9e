"""The region behind the confidence bounds holds the true table at all times together."""

from __future__ import annotations

import numpy as np
from scipy.special import rel_entr
from simulation import assert_calibrated, batches, error_rate

from isonomia.evidence.fair_worlds import effect_interval
from isonomia.evidence.identified.bets import CellRegion
from isonomia.evidence.strata.worlds import PrincipalEffect, TableShape, observation, unaffected

TRUTH = np.asarray([[0.50, 0.05, 0.12, 0.33], [0.88, 0.02, 0.04, 0.06]])
POPULATIONS = 2_000


def evidence_against(truth, tally):
    """The log-evidence against the true table: its distance from the sample's shares beyond what chance is allowed."""
    draws = tally.sum(axis=1, keepdims=True)
    distance = float((draws * rel_entr(tally / np.maximum(draws, 1.0), truth)).sum())
    return distance - CellRegion(tally, 0.5).allowance + np.log(2.0)


def test_the_region_misses_the_truth_with_at_most_the_risk():
    rng, tally, peak = np.random.default_rng(901), np.zeros((POPULATIONS, 2, 4)), np.full(POPULATIONS, -np.inf)
    for size in batches(400, single=6, first=2, growth=0.6):
        tally += np.stack([rng.multinomial(size, row, size=POPULATIONS) for row in TRUTH], axis=1)
        peak = np.maximum(peak, [evidence_against(TRUTH, one) for one in tally])
    assert_calibrated(peak)
    assert error_rate(peak, 0.5) > 0.02


def test_the_interval_holds_the_true_effect_in_every_one_of_many_populations():
    # 20 populations at a risk of 3e-8 each: a miss has a probability of at most 6e-7.
    shape, rng = TableShape(), np.random.default_rng(902)
    effect = PrincipalEffect(unaffected(shape))
    row = observation(shape)
    for _ in range(20):
        mixture = rng.dirichlet(np.full(shape.worlds, 0.3))
        true = mixture[[4, 7]].sum() - mixture[[8, 11]].sum()  # w_0100 + w_0111 - w_1000 - w_1011
        tally = np.stack([rng.multinomial(60, table) for table in row @ mixture]).astype(float)
        low, high = effect_interval(CellRegion(tally, 3e-8), shape, effect)
        assert low <= true <= high
