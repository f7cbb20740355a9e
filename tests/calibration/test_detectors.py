"""E-detectors give false alarms as seldom as they promise, with the truth on the boundary, and see changes soon."""

from __future__ import annotations

import numpy as np
import pytest
from simulation import most_errors

from isonomia.evidence.detectors import Detector, Loan

STREAMS = 150
LENGTH = 1_000


def _alarms(detector: Detector, rates: tuple[float, ...], share: float, enough: float, seed: int) -> list[int]:
    """When each stream gave its alarm; the length of the stream where none did."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(STREAMS):
        groups = (rng.random(LENGTH) >= share).astype(np.int64) if len(rates) > 1 else np.zeros(LENGTH, dtype=np.int64)
        yes = rng.random(LENGTH) < np.asarray(rates)[groups]
        far = np.where(np.asarray(detector.lows) < 0, detector.lows, detector.highs)
        _, alarm = detector.observe(detector.begin(), groups, np.where(yes, far[groups], 0.0), enough)
        found.append(LENGTH if alarm is None else alarm[1])
    return found


@pytest.mark.parametrize(
    ("lows", "highs", "bound", "rates", "share"),
    [
        ((0.0,), (1.0,), 0.3, (0.3,), 1.0),
        ((-1.0, 0.0), (0.0, 0.8), 0.0, (0.24, 0.3), 0.3),
        ((-1.0, 0.0), (0.0, 0.8), 0.0, (0.24, 0.3), 0.05),
    ],
    ids=["a rate", "a ratio, 30 to 70", "a ratio, 5 to 95"],
)
def test_false_alarms_are_as_seldom_as_promised(
    lows: tuple[float, ...], highs: tuple[float, ...], bound: float, rates: tuple[float, ...], share: float
) -> None:
    alpha, run_length = 0.1, 250.0
    ever = Detector(lows, highs, bound, Loan(run_length=False))
    false = sum(at < LENGTH for at in _alarms(ever, rates, share, float(np.log(1 / alpha)), 1))
    assert false <= most_errors(STREAMS, alpha)
    often = Detector(lows, highs, bound, Loan(run_length=True))
    lengths = np.asarray(_alarms(often, rates, share, float(np.log(run_length)), 2), dtype=float)
    # The mean is cut at the length of the streams, so it is too small, and still it must not be too small.
    assert lengths.mean() + 2.6 * lengths.std() / np.sqrt(STREAMS) >= run_length


def test_a_threshold_far_too_low_is_noticed() -> None:
    often = Detector((0.0,), (1.0,), 0.3, Loan(run_length=True))
    lengths = np.asarray(_alarms(often, (0.3,), 1.0, float(np.log(250.0 / 4)), 3), dtype=float)
    assert lengths.mean() + 2.6 * lengths.std() / np.sqrt(STREAMS) < 250.0
