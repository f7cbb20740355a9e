"""The error rates are not vacuous: a threshold that was too low would be noticed.

Lower limits leave the measured rates (in comments) a margin of at least three standard errors.
"""

from __future__ import annotations

import numpy as np
import pytest
from simulation import MANY, batches, error_rate, most_errors, peaks, two_streams, yes_no_process

from isonomia.evidence.confidence_sequences import log_evidence


@pytest.fixture(scope="module")
def peak():
    process = yes_no_process([[1.0]], [0.5])
    return peaks([process], two_streams([0.5]), batches(100_000, growth=0.05), np.random.default_rng(601), MANY)[0]


@pytest.fixture(scope="module")
def region_peak():
    rng, tally, highest = np.random.default_rng(602), np.zeros((MANY, 2)), np.zeros(MANY)
    for size in batches(100_000, growth=0.05):
        yes = rng.binomial(size, 0.5, size=MANY)
        tally += np.stack([size - yes, yes], axis=-1)
        evidence = log_evidence(np.asarray([0.0, 1.0]), tally, np.full(MANY, 0.5))
        highest = np.maximum(highest, evidence)
    return highest


@pytest.mark.parametrize("delta", [0.05, 0.01])
def test_bets_on_the_boundary_use_a_good_part_of_the_risk(peak, delta):
    # Measured: 0.031 and 0.0057.
    assert error_rate(peak, delta) > 0.4 * delta


@pytest.mark.parametrize("delta", [0.05, 0.01])
def test_bets_with_six_tenths_of_the_threshold_exceed_the_risk(peak, delta):
    assert np.sum(peak >= 0.6 * np.log(1.0 / delta)) > most_errors(MANY, delta)


@pytest.mark.parametrize("delta", [0.01, 0.003, 0.001])
def test_bets_with_a_threshold_a_fifth_too_low_exceed_the_risk(peak, delta):
    assert np.sum(peak >= 0.8 * np.log(1.0 / delta)) > most_errors(MANY, delta)


def test_a_region_uses_a_good_part_of_the_risk(region_peak):
    # Measured: 0.037.
    assert error_rate(region_peak, 0.05) > 0.5 * 0.05


@pytest.mark.parametrize("delta", [0.05, 0.01, 0.003, 0.001])
def test_a_region_with_a_threshold_a_fifth_too_low_exceeds_the_risk(region_peak, delta):
    # Measured: 0.0677, 0.0196, 0.0068 and 0.0034, where 0.0575, 0.0135, 0.0050 and 0.0023 are the most that pass.
    assert np.sum(region_peak >= 0.8 * np.log(1.0 / delta)) > most_errors(MANY, delta)
