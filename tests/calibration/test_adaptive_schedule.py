"""Batch sizes that depend on the evidence so far keep the risk; sizes that peek at their own batch do not.

Every repetition has its own sizes, computed from its own wealth as the engine does, and its own random numbers of
people a group. The truth lies on the boundary, so both directions of the claim may be refuted wrongly, and each must be
with probability at most ``delta``. Acceptance is stated in :mod:`simulation`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from simulation import MANY, REPETITIONS, Floats, assert_calibrated, error_rate, most_errors, yes_no_process

from isonomia.engine.loop import CAUTION, Schedule
from isonomia.evidence.bets import DividedWealth, EProcess, Wealth, begin, step

SCHEDULE = Schedule()
STEPS = 90
RATES, SHARES = np.asarray([0.24, 0.3]), np.asarray([0.2, 0.7, 0.1])
PAIR = yes_no_process([[1.0, -0.8]], [0.0]), yes_no_process([[-1.0, 0.8]], [0.0])
ONE = yes_no_process([[1.0]], [0.5]), yes_no_process([[-1.0]], [-0.5])

Sizes = Callable[[Floats, Floats], Floats]


def adaptive(total: Floats, share: Floats) -> Floats:
    """``Schedule.size`` for many repetitions at once."""
    with np.errstate(divide="ignore", invalid="ignore"):
        missing = np.where(share > 0, total * (1.0 - share) / share, np.inf)
    least, largest = (SCHEDULE.growth - 1.0) * total, (max(SCHEDULE.early, SCHEDULE.growth) - 1.0) * total
    wanted = np.minimum(np.maximum(missing / CAUTION, least), largest).astype(int)
    return np.minimum(np.maximum(SCHEDULE.first, wanted), SCHEDULE.most).astype(float)


def groups(rng: np.random.Generator, sizes: Floats) -> Floats:
    """People of two groups and of neither, as many as each repetition's batch has."""
    members = rng.multinomial(sizes.astype(int), SHARES)[:, :2]
    yes = rng.binomial(members, RATES)
    return np.stack([members - yes, yes], axis=-1).astype(float)


def coins(rng: np.random.Generator, sizes: Floats) -> Floats:
    """Everybody of one group, half of whom have the event."""
    yes = rng.binomial(sizes.astype(int), 0.5)
    return np.stack([sizes - yes, yes], axis=-1)[:, None]


def share_of(states: tuple[Wealth, Wealth], delta: float) -> Floats:
    """How far the evidence has come, as ``BetEvidence.progress`` computes it."""
    return np.clip(np.maximum(states[0].peak, states[1].peak) / np.log(1.0 / delta), 0.0, 1.0)


@cache
def audited(which: str, delta: float, steps: int = STEPS, repetitions: int = REPETITIONS) -> tuple[Floats, Floats]:
    """The largest log-wealth against either direction of a claim on the boundary; never stopped by a decision."""
    processes, draw = (PAIR, groups) if which == "two groups" else (ONE, coins)
    rng = np.random.default_rng(901)
    states = begin(processes[0], repetitions), begin(processes[1], repetitions)
    total = np.zeros(repetitions)
    for _ in range(steps):
        sizes = adaptive(total, share_of(states, delta))
        counts = draw(rng, sizes)
        states = step(processes[0], states[0], counts), step(processes[1], states[1], counts)
        total += sizes
    assert total.min() < 0.8 * total.max(), "the sizes should differ between repetitions"
    return states[0].peak, states[1].peak


def test_the_simulated_sizes_are_those_of_the_schedule():
    rng = np.random.default_rng(900)
    totals = np.concatenate([np.zeros(20), rng.integers(1, 10**8, size=3_000), rng.integers(1, 300, size=1_000)])
    shares = np.clip(rng.uniform(-0.2, 1.2, size=len(totals)), 0.0, 1.0)
    expected = [SCHEDULE.size(int(total), float(share)) for total, share in zip(totals, shares, strict=True)]
    assert adaptive(totals.astype(float), shares).tolist() == expected


@pytest.mark.parametrize("which", ["two groups", "one group"])
@pytest.mark.parametrize("delta", [0.05, 0.01])
def test_sizes_that_follow_the_evidence_keep_the_risk_in_both_directions(which, delta):
    for peak in audited(which, delta):
        assert_calibrated(peak, [delta])


@pytest.mark.parametrize("delta", [0.05, 0.01])
def test_sizes_that_follow_the_evidence_use_a_good_part_of_the_risk(delta):
    assert all(error_rate(peak, delta) > 0.3 * delta for peak in audited("one group", delta))


def test_a_threshold_a_third_too_low_exceeds_the_risk():
    delta = 0.01
    peaks = audited("one group", delta)
    assert max(np.sum(peak >= 0.67 * np.log(1.0 / delta)) for peak in peaks) > most_errors(REPETITIONS, delta)


def test_a_threshold_a_fifth_too_low_exceeds_the_risk_in_a_long_run():
    # Each direction errs with probability at most delta, so one of the two does with at most twice that. Twice as many
    # batches, some ten million people, bring the errors nearer to the risk than those above.
    delta = 0.003
    either = np.maximum(*audited("one group", delta, 2 * STEPS, MANY))
    assert np.sum(either >= np.log(1.0 / delta)) <= most_errors(MANY, 2.0 * delta)
    assert np.sum(either >= 0.8 * np.log(1.0 / delta)) > most_errors(MANY, 2.0 * delta)


def test_sizes_that_are_long_while_the_wealth_is_low_keep_the_risk():
    rng, repetitions = np.random.default_rng(903), 4_000
    state, total = begin(ONE[0], repetitions), np.zeros(repetitions)
    for _ in range(140):
        sizes = np.where(state.log_wealth < 0.5, np.ceil(0.3 * total), np.ceil(0.02 * total))
        sizes = np.where(total < 1, 127.0, np.clip(sizes, 1.0, 2_000.0))
        state, total = step(ONE[0], state, coins(rng, sizes)), total + sizes
    assert_calibrated(state.peak, [0.2, 0.05])


def test_sizes_that_peek_at_their_own_batch_exceed_the_risk():
    # The batch ends after whichever half of it makes the wealth larger: the other half is thrown away unseen.
    peak = peeking(ONE[0], 2_000)
    assert error_rate(peak, 0.05) > 4 * 0.05
    assert error_rate(peak, 0.01) > 4 * 0.01


def peeking(process: EProcess, repetitions: int) -> Floats:
    """The largest log-wealth where a batch is cut short after its first half if that looks better."""
    rng, state = np.random.default_rng(902), begin(process, repetitions)
    total = np.zeros(repetitions)
    for _ in range(60):
        sizes = adaptive(total, np.zeros(repetitions))
        half = coins(rng, np.ceil(0.5 * sizes))
        short, whole = step(process, state, half), step(process, state, half + coins(rng, np.ceil(0.5 * sizes)))
        better = short.log_wealth > whole.log_wealth
        state = DividedWealth(
            np.where(better, short.log_wealth, whole.log_wealth),
            np.where(better, short.peak, whole.peak),
            np.where(better[:, None, None], short.tally, whole.tally),
            np.where(better[:, None], short.bettors, whole.bettors),
        )
        total = state.tally.sum(axis=(1, 2))
    return state.peak
