"""E-detectors: what a block is expected to win, where blocks end, and what is remembered."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from isonomia.evidence import detectors
from isonomia.evidence.detectors import (
    DISTANCES,
    LONGEST_BLOCK,
    MOMENTS_OF_ALERT,
    MOST_LEAD,
    Detector,
    DetectorState,
    RestartWeights,
)

RATE = Detector((0.0,), (1.0,), 0.3, RestartWeights(run_length=True))
RATIO = Detector((-1.0, 0.0), (0.0, 0.8), 0.0, RestartWeights(run_length=True))


def _seen(detector: Detector, rates: tuple[float, ...], draws: int, seed: int) -> DetectorState:
    """A state in which the stakes go by some past."""
    rng = np.random.default_rng(seed)
    groups = rng.integers(len(rates), size=draws)
    payoffs = _payoffs(detector, groups, rng.random(draws) < np.asarray(rates)[groups])
    state, _ = detector.observe(detector.begin(), groups, payoffs)
    return replace(state, waiting=(np.zeros(0, dtype=np.int64), np.zeros(0)), begun=0)


def _payoffs(detector: Detector, groups: np.ndarray, yes: np.ndarray) -> np.ndarray:
    far = np.where(np.asarray(detector.lows) < 0, detector.lows, detector.highs)
    return np.where(yes, far[groups], 0.0)


def _most_expected(detector: Detector, state: DetectorState, rates: tuple[float, ...], draws: int) -> np.ndarray:
    """What each bettor can expect of a block, if whoever sends the groups knows all outcomes so far and wants it high.

    Nothing counts unless the block ends within so many draws.
    """
    best = np.zeros(2 * len(DISTANCES))
    for group, rate in enumerate(rates):
        expected = np.zeros_like(best)
        for yes, chance in ((True, rate), (False, 1.0 - rate)):
            labels = np.asarray([group])
            after, _ = detector.observe(state, labels, _payoffs(detector, labels, np.asarray([yes])))
            if after.blocks > state.blocks:
                expected += chance * np.exp(after.always)
            elif draws > 1:
                expected += chance * _most_expected(detector, after, rates, draws - 1)
        best = np.maximum(best, expected)
    return best


@pytest.mark.parametrize("past", [(0.25, 0.3), (0.05, 0.9), (0.6, 0.2)])
@pytest.mark.parametrize("rates", [(0.24, 0.3), (0.04, 0.05), (0.8, 1.0), (0.5, 0.3)])
@pytest.mark.parametrize("weights", [(2.0, 2.0), (10 / 3, 10 / 7)])
def test_a_block_is_expected_to_win_nothing_while_the_claim_holds_whatever_the_groups_depend_on(
    past: tuple[float, float], rates: tuple[float, float], weights: tuple[float, float]
) -> None:
    """Every outcome of a block, with its probability, for the worst order of groups, and any past."""
    state = replace(_seen(RATIO, past, 400, 1), always=np.zeros(2 * len(DISTANCES)), weights=np.asarray(weights))
    assert state.blocks < state.stakes_until  # or the weights would be set again
    expected = _most_expected(RATIO, state, rates, 5)
    assert (expected[: len(DISTANCES)] <= 1.0 + 1e-12).all()
    if 0.8 * rates[1] == pytest.approx(rates[0]):  # on the boundary the opposite holds as well
        assert (expected[len(DISTANCES) :] <= 1.0 + 1e-12).all()
    assert (expected > 0.5).all()


def test_a_block_of_three_groups_is_expected_to_win_nothing_whatever_the_groups_depend_on() -> None:
    three = Detector((-1.0, 0.0, 0.0), (0.0, 0.5, 0.5), 0.0, RestartWeights(run_length=True))
    state = replace(_seen(three, (0.3, 0.3, 0.3), 400, 1), always=np.zeros(2 * len(DISTANCES)))
    expected = _most_expected(three, state, (0.4, 0.3, 0.5), 4)
    assert (expected <= 1.0 + 1e-12).all()
    assert (expected > 0.5).all()


def test_a_block_that_is_closed_at_a_price_is_expected_to_win_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Here a block is closed after two draws, so whoever sends the groups can close it when it suits the bets."""
    monkeypatch.setattr(detectors, "LONGEST_BLOCK", 2)
    for rates in ((0.24, 0.3), (0.8, 1.0), (0.0, 0.0), (0.4, 0.5)):
        state = replace(_seen(RATIO, (0.24, 0.3), 400, 1), always=np.zeros(2 * len(DISTANCES)))
        expected = _most_expected(RATIO, state, rates, 5)
        assert (expected <= 1.0 + 1e-12).all()


def test_at_the_boundary_one_rate_is_expected_to_win_exactly_nothing_and_a_bound_a_fifth_too_tight_is_noticed() -> None:
    state = replace(_seen(RATE, (0.4,), 100, 2), always=np.zeros(2 * len(DISTANCES)))
    one = np.zeros(1, dtype=np.int64)
    factors = [np.exp(RATE.observe(state, one, np.asarray([y]))[0].always) for y in (0.0, 1.0)]
    assert 0.7 * factors[0] + 0.3 * factors[1] == pytest.approx(1.0, abs=1e-12)
    assert (0.64 * factors[0] + 0.36 * factors[1] > 1.0)[: len(DISTANCES)].all()


def test_the_bets_against_the_opposite_are_those_of_the_opposite_claim() -> None:
    opposite = Detector((-1.0,), (0.0,), -0.3, RestartWeights(run_length=True))
    yes = (np.random.default_rng(3).random(500) < 0.2).astype(float)
    groups = np.zeros(500, dtype=np.int64)
    mine, _ = RATE.observe(RATE.begin(), groups, yes)
    theirs, _ = opposite.observe(opposite.begin(), groups, -yes)
    assert mine.always[len(DISTANCES) :] == pytest.approx(theirs.always[: len(DISTANCES)])
    assert mine.peaks == pytest.approx(theirs.peaks[::-1])


@pytest.mark.parametrize(("detector", "longest"), [(RATE, LONGEST_BLOCK), (RATIO, LONGEST_BLOCK), (RATIO, 12)])
def test_how_a_stream_is_cut_does_not_matter(detector: Detector, longest: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(detectors, "LONGEST_BLOCK", longest)
    rng = np.random.default_rng(4)
    groups = rng.integers(-1, len(detector.lows), size=3_000)
    groups[1_000:1_400] = np.maximum(groups[1_000:1_400], len(detector.lows) - 1)
    payoffs = np.where(groups >= 0, _payoffs(detector, np.maximum(groups, 0), rng.random(3_000) < 0.45), 0.0)
    whole, alert = detector.observe(detector.begin(), groups, payoffs, 8.0)
    state, raised = detector.begin(), None
    cuts = np.unique(rng.integers(0, 3_000, size=200))
    for part in np.split(np.arange(3_000), cuts):
        state, found = detector.observe(state, groups[part], payoffs[part], 8.0)
        raised = raised or found
    for name in ("draws", "used", "blocks", "restarted_until", "begun", "missing", "stakes_until"):
        assert getattr(state, name) == getattr(whole, name)
    assert state.peaks == whole.peaks
    arrays = ("arrivals", "waiting", "moments", "fresh", "weights", "always", "log_restarts", "sums")
    for name in (*arrays, "edges", "edge_wealth", "edge_sums"):
        assert np.array_equal(getattr(state, name), getattr(whole, name)), name
    assert (raised is None) == (alert is None)
    if alert and raised:
        assert raised[1] == alert[1]
        mine, other = detector.crossing(*raised), detector.crossing(*alert)
        assert mine.onset(0.05) == other.onset(0.05)
        for name in ("draws", "heights", "moments", "against", "opposite", "since"):
            assert np.array_equal(getattr(mine, name), getattr(other, name)), name


def test_the_sum_over_starts_is_that_of_bets_that_start_with_every_draw() -> None:
    yes = (np.random.default_rng(5).random(60) < 0.3).astype(float)
    groups = np.zeros(60, dtype=np.int64)
    state, _ = RATE.observe(RATE.begin(), groups, yes)
    factors = np.exp(np.diff(state.edge_wealth[:, : len(DISTANCES)], axis=0))
    assert len(factors) == 60
    expected = sum(factors[start:].prod(axis=0) for start in range(60))
    assert np.exp(state.log_restarts + state.always[: len(DISTANCES)]) == pytest.approx(expected)


def test_restart_weights_add_up_to_one_or_to_the_number_of_draws() -> None:
    ever = RestartWeights(run_length=False)
    starts, ends = np.arange(0, 10_000, 10), np.arange(10, 10_010, 10)
    total = ever.between(starts, ends).sum()
    assert total == pytest.approx(1.0 - 1.0 / (1.0 + np.log1p(100.0)))
    assert float(ever.between(np.asarray([0]), np.asarray([2**62]))[0]) < 1.0
    assert RestartWeights(run_length=True).between(starts, ends).sum() == 10_000


def test_a_block_ends_when_the_groups_have_equal_weight_and_draws_too_far_ahead_are_left_out() -> None:
    labels = np.asarray([1] * 500 + [0] + [1, 0] + [0, 1])
    state, _ = RATIO.observe(RATIO.begin(), labels, np.zeros(len(labels)))
    assert state.blocks == 3
    assert state.edges.tolist() == [0, 501, 503, 505]
    assert state.sums[:, 0].tolist() == [3, MOST_LEAD + 2]
    rare = np.where(np.arange(30_000) % 20 == 0, 0, 1)
    state, _ = RATIO.observe(RATIO.begin(), rare, np.zeros(len(rare)))
    assert state.blocks == pytest.approx(1_500, rel=0.05)  # one for every draw of the rare group
    assert state.weights[0] / state.weights[1] == pytest.approx(19, rel=0.05)


def test_a_group_that_stays_away_costs_a_block_once_and_the_next_block_begins_with_it() -> None:
    rng = np.random.default_rng(8)
    state, _ = RATIO.observe(RATIO.begin(), rng.integers(2, size=2_001), np.zeros(2_001))
    before, wealth = state.blocks, state.always
    many = np.ones(5 * LONGEST_BLOCK, dtype=np.int64)
    state, _ = RATIO.observe(state, many, np.zeros(len(many)))
    assert (state.blocks, state.missing, state.begun, len(state.waiting[0])) == (before + 1, 0, 0, 0)
    assert (state.always < wealth + 0.5).all()
    for _ in range(40):
        state, _ = RATIO.observe(state, many[:1_000], np.zeros(1_000))
    state, _ = RATIO.observe(state, np.asarray([0] + [1] * 200), np.zeros(201))
    assert state.blocks == before + 2
    assert state.edges[-1] <= state.draws


def test_restart_weights_never_exceed_the_draws_and_none_is_left_after_a_restart() -> None:
    """The wealth of bets that win nothing is the sum of weights: at most one for each draw up to the end of a block."""
    # Payoffs of 0 on the boundary: factors of 1.
    flat = Detector((0.0, 0.0), (1.0, 1.0), 0.0, RestartWeights(run_length=True))
    rng = np.random.default_rng(9)
    state = flat.begin()
    for _ in range(300):
        labels = rng.integers(-1, 2, size=rng.integers(1, 9))
        state, _ = flat.observe(state, labels, np.zeros(len(labels)))
        assert np.exp(flat.height(state)) <= state.used + 1e-9
    assert np.exp(flat.height(state)) > 0.99 * state.used
    state, _ = flat.observe(state, np.asarray([0, 1, 0, 0, 1, 1, 0]), np.zeros(7))
    fresh = flat.restarted(state)
    assert flat.height(fresh) == -np.inf
    for _ in range(50):
        labels = rng.integers(2, size=7)
        fresh, _ = flat.observe(fresh, labels, np.zeros(7))
        assert np.exp(flat.height(fresh)) <= fresh.used - state.draws + 1e-9


def test_what_waits_and_what_is_remembered_stay_small() -> None:
    state = RATIO.begin()
    for _ in range(40):
        state, _ = RATIO.observe(state, np.ones(1_000, dtype=np.int64), np.zeros(1_000))
        assert len(state.waiting[0]) <= MOST_LEAD
    one = RATE.begin()
    sizes = []
    for _ in range(60):
        one, _ = RATE.observe(one, np.zeros(5_000, dtype=np.int64), np.zeros(5_000))
        sizes.append(len(one.edges))
    assert max(sizes) < 2_000
    assert max(sizes[40:]) <= 1.1 * max(sizes[20:40])


def test_a_change_is_found_soon_and_dated() -> None:
    rng = np.random.default_rng(6)
    yes = np.concatenate([rng.random(4_000) < 0.25, rng.random(4_000) < 0.5]).astype(float)
    _, alert = RATE.observe(RATE.begin(), np.zeros(8_000, dtype=np.int64), yes, float(np.log(10_000)))
    assert alert is not None
    sample, onset = alert[1], RATE.crossing(*alert).onset(0.05)
    assert 4_000 < sample < 4_400
    assert onset.low <= 4_000 <= onset.high == sample
    assert 3_900 <= onset.estimate <= 4_150
    assert onset.means[0] == pytest.approx(0.5, abs=0.12)


@pytest.mark.parametrize("detector", [RATE, RATIO])
def test_the_few_moments_that_are_kept_of_an_alert_give_the_same_onset(detector: Detector) -> None:
    for seed in range(8):
        rng = np.random.default_rng(seed)
        groups = rng.integers(len(detector.lows), size=6_000)
        changed = np.arange(6_000) >= 300 * seed
        before, after = ((0.2,), (0.7,)) if detector is RATE else ((0.5, 0.3), (0.0, 0.3))
        yes = rng.random(6_000) < np.where(changed, np.asarray(after)[groups], np.asarray(before)[groups])
        _, alert = detector.observe(detector.begin(), groups, _payoffs(detector, groups, yes), 9.0)
        assert alert is not None
        whole = detector.crossing(*alert)
        for risk in (1e-6, 0.01, 0.5, 0.999):
            few = whole.thinned(risk)
            assert few.onset(risk) == whole.onset(risk)
            assert len(few.moments) <= MOMENTS_OF_ALERT
            assert (few.moments[0], few.moments[-1]) == (whole.moments[0], whole.moments[-1])
    assert len(whole.moments) > MOMENTS_OF_ALERT


def test_numbers_are_watched_within_their_range() -> None:
    mean = Detector((0.0,), (100.0,), 50.0, RestartWeights(run_length=True))
    rng = np.random.default_rng(7)
    values = np.concatenate([rng.uniform(20, 70, 3_000), rng.uniform(30, 80, 2_000)])
    _, alert = mean.observe(mean.begin(), np.zeros(5_000, dtype=np.int64), values, float(np.log(10_000)))
    assert alert is not None
    assert 3_000 < alert[1] < 3_300
