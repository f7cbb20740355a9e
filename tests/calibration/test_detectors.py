"""E-detectors give false alarms as seldom as they promise, with the truth on the boundary, and see changes soon."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.watch_streams import first_alerts
from simulation import most_errors

import isonomia as iso
from isonomia.evidence.confidence_sequences import anytime_interval, drifting_interval
from isonomia.evidence.detectors import Detector, RestartWeights

STREAMS = 150
LENGTH = 1_000


def _alerts(detector: Detector, rates: tuple[float, ...], share: float, enough: float, seed: int) -> list[int]:
    """When each stream gave its alert; the length of the stream where none did."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(STREAMS):
        groups = (rng.random(LENGTH) >= share).astype(np.int64) if len(rates) > 1 else np.zeros(LENGTH, dtype=np.int64)
        yes = rng.random(LENGTH) < np.asarray(rates)[groups]
        far = np.where(np.asarray(detector.lows) < 0, detector.lows, detector.highs)
        _, alert = detector.observe(detector.begin(), groups, np.where(yes, far[groups], 0.0), enough)
        found.append(LENGTH if alert is None else alert[1])
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
    ever = Detector(lows, highs, bound, RestartWeights(run_length=False))
    false = sum(at < LENGTH for at in _alerts(ever, rates, share, float(np.log(1 / alpha)), 1))
    assert false <= most_errors(STREAMS, alpha)
    often = Detector(lows, highs, bound, RestartWeights(run_length=True))
    lengths = np.asarray(_alerts(often, rates, share, float(np.log(run_length)), 2), dtype=float)
    # The mean is cut at the length of the streams, so it is too small, and still it must not be too small.
    assert lengths.mean() + 2.6 * lengths.std() / np.sqrt(STREAMS) >= run_length


ARRIVALS = {
    "strong": lambda yes, place: np.where(yes, 0.9, 0.1),  # noqa: ARG005
    "strong, the other way round": lambda yes, place: np.where(yes, 0.1, 0.9),  # noqa: ARG005
    "mild": lambda yes, place: np.where(yes, 0.6, 0.4),  # noqa: ARG005
    "none": lambda yes, place: np.full(len(yes), 0.5),  # noqa: ARG005
    "one group only, for long": lambda yes, place: np.where(yes, 0.9, 0.1) * (place // 60 % 2),
}
"""How likely the next draw is of the first group, by the outcome of the one before."""


@pytest.mark.parametrize("arrivals", ARRIVALS.values(), ids=ARRIVALS)
def test_false_alarms_are_as_seldom_as_promised_where_outcomes_decide_who_comes_next(arrivals) -> None:
    """Equal rates, always. Many streams go side by side, with the alerts of ``Detector.observe``, as tested there."""
    streams, length, alpha, run_length = 1_000, 1_000, 0.05, 200.0
    rng = np.random.default_rng(6)
    yes = np.zeros(streams, dtype=bool)
    groups, outcomes = np.zeros((length, streams), dtype=np.int64), np.zeros((length, streams), dtype=bool)
    for place in range(length):
        groups[place] = rng.random(streams) >= arrivals(yes, place)
        outcomes[place] = yes = rng.random(streams) < 0.5
    payoffs = np.where(outcomes, np.where(groups == 0, -1.0, 1.0), 0.0)
    equal = Detector((-1.0, 0.0), (0.0, 1.0), 0.0, RestartWeights(run_length=False))
    thresholds = [[float(np.log(1.0 / alpha))], [float(np.log(run_length))]]
    alerts = first_alerts(equal, list(zip(groups.T, payoffs.T, strict=True)), thresholds)[:, :, 0]
    assert 0 < (alerts[:, 0] > 0).sum() <= most_errors(streams, alpha)
    lengths = np.where(alerts[:, 1] > 0, alerts[:, 1], length)
    assert lengths.mean() + 2.6 * lengths.std() / np.sqrt(streams) >= run_length


def test_a_threshold_far_too_low_is_noticed() -> None:
    often = Detector((0.0,), (1.0,), 0.3, RestartWeights(run_length=True))
    lengths = np.asarray(_alerts(often, (0.3,), 1.0, float(np.log(250.0 / 4)), 3), dtype=float)
    assert lengths.mean() + 2.6 * lengths.std() / np.sqrt(STREAMS) < 250.0


def test_a_change_is_seen_as_soon_as_ever() -> None:
    """From 0.3 to 0.2 after 300 samples, at a run length of 1,000: the CUSUM that knows both takes 84.3 samples.

    That is from 2,000 streams, with its threshold set by simulation. Ours takes at most 1.15 times as long, and a delay
    that is a fifth longer than it is would be noticed.
    """
    detector = Detector((-1.0,), (0.0,), -0.3, RestartWeights(run_length=True))
    rng, delays = np.random.default_rng(4), []
    for _ in range(STREAMS * 2):
        yes = np.concatenate([rng.random(300) < 0.3, rng.random(700) < 0.2])
        _, alert = detector.observe(
            detector.begin(), np.zeros(1_000, dtype=np.int64), -yes.astype(float), np.log(1_000)
        )
        if alert is None or alert[1] > 300:
            delays.append(700 if alert is None else alert[1] - 300)
    assert np.mean(delays) <= 1.15 * 84.3


CHANGES = (
    ((0.24, 0.3), (0.12, 0.3), 0.3, 131.7),
    ((0.4, 0.5), (0.3, 0.5), 0.3, 164.2),
    ((0.24, 0.3), (0.16, 0.3), 0.05, 403.2),
    ((0.56, 0.7), (0.45, 0.7), 0.05, 381.9),
)
"""Rates of two groups before and after a change, the share of the first, and how long the CUSUM takes that knows them
all, with a run length of 1,000 that was set by simulation."""


def test_a_change_of_a_ratio_is_seen_nearly_as_soon_as_by_a_cusum_that_knows_all_rates() -> None:
    """At most 1.3 times as long, on average; 1.12 here, so a delay that is a fifth longer would be noticed."""
    detector, slower = Detector((-1.0, 0.0), (0.0, 0.8), 0.0, RestartWeights(run_length=True)), []
    for number, (before, after, share, cusum) in enumerate(CHANGES):
        rng = np.random.default_rng([8, number])
        groups = (rng.random((3_000, 250)) >= share).astype(np.int64)
        rates = np.concatenate([np.asarray(before)[groups[:1_000]], np.asarray(after)[groups[1_000:]]])
        payoffs = np.where(rng.random(groups.shape) < rates, np.where(groups == 0, -1.0, 0.8), 0.0)
        alerts = first_alerts(detector, list(zip(groups.T, payoffs.T, strict=True)), [[np.log(1_000.0)]] * 2)[:, 1, 0]
        late = np.where(alerts == 0, 3_000, alerts)
        slower.append((late[late > 1_000] - 1_000).mean() / cusum)
    assert np.exp(np.mean(np.log(slower))) <= 1.3


LAWS = {
    "one rate": lambda rng, past: 0.3,  # noqa: ARG005
    "a rate that drifts": lambda rng, past: 0.1 + 0.4 * (len(past) % 200 > 100),  # noqa: ARG005
    "a rate that answers": lambda rng, past: 0.6 if past and past[-1] == 0 else 0.1,  # noqa: ARG005
}


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_the_mean_of_changing_means_is_in_its_interval_at_every_look(law) -> None:
    rng, missed, delta = np.random.default_rng(5), 0, 0.1
    for _ in range(150):
        past: list[float] = []
        means: list[float] = []
        for _ in range(400):
            means.append(law(rng, past))
            past.append(float(rng.random() < means[-1]))
        looks = [10, 20, 40, 80, 160, 240, 320, 400]
        ends = [drifting_interval(sum(past[:n]), n, delta) for n in looks]
        missed += any(not low <= np.mean(means[:n]) <= high for n, (low, high) in zip(looks, ends, strict=True))
    assert missed <= most_errors(150, delta)


def test_the_interval_for_changing_means_is_hardly_wider_than_that_of_one_rate() -> None:
    for yes, n in ((60, 200), (600, 2_000), (200, 4_000)):
        low, high = drifting_interval(yes, n, 0.05)
        lows, highs = anytime_interval([yes], [n], 0.05)
        assert high - low < 1.2 * (highs[0] - lows[0])


@pytest.mark.parametrize("after", [0.5, 0.47], ids=["at the threshold", "below it"])
def test_an_alert_rarely_says_that_the_failure_began_later_than_it_did(after: float) -> None:
    streams, began, length, risk = 300, 100, 1_000, 0.2
    late = alerts = 0
    for seed in range(streams):
        rates = np.where(np.arange(length) < began, 0.6, after)
        x = np.random.default_rng(seed).random(length) < rates
        found = iso.Watch("P[x] >= 0.5", run_length=200, delta=risk).update({"x": x})
        first = next((alert for alert in found if alert.sample > began), None)
        if first is not None:
            assert first.onset.risk == risk
            alerts += 1
            late += first.onset.low > began
    assert alerts > streams // 2
    assert late <= most_errors(streams, risk)
