"""Evidence functions against numerical integration of the mixtures that they stand for."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad

from isonomia.evidence.confidence_sequences import log_evidence, mean_interval

YES_NO = np.asarray([0.0, 1.0])


def arcsine(function):
    """The integral of a function against the Beta(1/2, 1/2) weight, substituting ``sin(t) ** 2``."""
    return quad(lambda t: function(np.sin(t) ** 2) * 2.0 / np.pi, 0.0, 0.5 * np.pi, limit=200)[0]


@pytest.mark.parametrize(("no", "yes"), [(0, 0), (0, 7), (7, 0), (3, 4), (40, 2), (30, 30)])
@pytest.mark.parametrize("theta", [0.02, 0.3, 0.9])
def test_evidence_of_a_rate_is_the_mixed_likelihood_ratio(no, yes, theta):
    mixed = arcsine(lambda q: (q / theta) ** yes * ((1.0 - q) / (1.0 - theta)) ** no)
    found = log_evidence(YES_NO, np.asarray([[float(no), float(yes)]]), np.asarray([theta]))[0]
    assert found == pytest.approx(np.log(mixed), abs=1e-7)


@pytest.mark.parametrize("seed", range(8))
def test_evidence_of_a_number_is_no_more_than_the_universal_portfolio_and_close_to_it(seed):
    rng = np.random.default_rng(seed)
    nodes = np.linspace(-1.0, 3.0, 5)
    tally = rng.integers(0, 12, size=5).astype(float)
    theta = float(rng.uniform(-0.8, 2.8))
    up, down = (nodes - nodes[0]) / (theta - nodes[0]), (nodes[-1] - nodes) / (nodes[-1] - theta)
    mixed = np.log(arcsine(lambda share: float(np.prod((share * up + (1.0 - share) * down) ** tally))))
    found = log_evidence(nodes, tally[None], np.asarray([theta]))[0]
    assert found <= mixed + 1e-6
    assert found >= mixed - 2.0


@pytest.mark.parametrize(("no", "yes"), [(0.0, 50.0), (50.0, 0.0), (17.0, 33.0), (1e9, 3e8)])
@pytest.mark.parametrize("delta", [0.05, 1e-10, 1e-300])
def test_the_interval_ends_where_the_evidence_reaches_its_limit(no, yes, delta):
    tally = np.asarray([no, yes])
    low, high = mean_interval(YES_NO, tally, delta)
    assert 0.0 <= low <= yes / (no + yes) <= high <= 1.0
    for end in (low, high):
        if 0.0 < end < 1.0:
            found = log_evidence(YES_NO, tally[None], np.asarray([end]))[0]
            assert found == pytest.approx(np.log(1.0 / delta), rel=1e-4)
