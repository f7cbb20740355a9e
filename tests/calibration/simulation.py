"""Simulated audits by the thousand, looked at after every batch.

An error rate is accepted when the number of errors among ``R`` independent repetitions is at most the binomial
quantile that a rate of exactly ``delta`` exceeds with probability 0.01: a method that errs as often as it may fails a
test with that probability, and with fixed seeds it either always does or never. So 5000 repetitions accept up to 0.0574
where 0.05 is promised; set ``ISONOMIA_REPETITIONS`` for more.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from isonomia.evidence.bets import EProcess, begin, step
from isonomia.evidence.slices import (
    FIRST_SLICES,
    SPLIT_WIDTH,
    SlicedEProcess,
    SlicedWealth,
    begin_slices,
    bet_on_slices,
)

Floats = NDArray[np.float64]
Draw = Callable[[np.random.Generator, int, int], Floats]

REPETITIONS = int(os.environ.get("ISONOMIA_REPETITIONS", "5000"))
MANY = max(REPETITIONS, 20_000)
"""For tests that must tell a threshold from one a fifth lower."""
TOO_MANY = 0.01
"""How often a rate of exactly what is promised has more errors than are accepted."""
FALSE_ALARM = 1e-6
"""How often a share that must be exactly a number is found to be another one."""
DELTAS = (0.05, 0.01)


def batches(total: int, *, single: int = 30, first: int = 1, growth: float = 0.1) -> list[int]:
    """Batch sizes: ``single`` small ones, then each a tenth of what was drawn before, up to ``total``."""
    sizes = [first] * single
    while sum(sizes) < total:
        sizes.append(max(first, min(int(growth * sum(sizes)), total - sum(sizes))))
    return sizes


def peaks(
    processes: Sequence[EProcess], draw: Draw, sizes: Sequence[int], rng: np.random.Generator, repetitions: int
) -> Floats:
    """The largest log-wealth of each process in each repetition; every process sees the same draws."""
    states = [begin(process, repetitions) for process in processes]
    for size in sizes:
        counts = draw(rng, size, repetitions)
        states = [step(process, state, counts) for process, state in zip(processes, states, strict=True)]
    return np.stack([state.peak for state in states])


def true_slice_peaks(
    process: SlicedEProcess, truth: float, draw: Draw, sizes: Sequence[int], rng: np.random.Generator, repetitions: int
) -> Floats:
    """The largest log-wealth against the slice that holds the sliced leaf's true value, through all its splits."""
    first = np.minimum(np.floor(truth * FIRST_SLICES), FIRST_SLICES - 1) / FIRST_SLICES
    ends = np.tile([first, first + 1 / FIRST_SLICES], (repetitions, 1))
    one = begin_slices(process)
    state = SlicedWealth(
        np.zeros(repetitions, dtype=np.intp),
        ends,
        np.zeros((repetitions, *one.bettors.shape[1:])),
        np.zeros((repetitions, *one.stakes.shape[1:])),
        np.zeros(repetitions),
        np.zeros((repetitions, len(process.prior))),
    )
    for size in sizes:
        counts = draw(rng, size, repetitions)
        stakes, gained = bet_on_slices(process, state, state.tally, counts)
        state = replace(state, bettors=state.bettors + gained, stakes=stakes, tally=state.tally + counts)
        state = replace(state, slice_peak=np.maximum(state.slice_peak, state.log_wealth))
        ends, bettors = state.ends.copy(), state.bettors.copy()
        for _ in range(20):
            wide = ends[:, 1] - ends[:, 0] > SPLIT_WIDTH / np.sqrt(np.maximum(state.tally @ process.present, 1.0))
            for array, middle in ((bettors, bettors.mean(axis=1)), (ends, ends.mean(axis=1))):
                upper = truth >= ends.mean(axis=1)
                array[wide & upper, 0], array[wide & ~upper, 1] = middle[wide & upper], middle[wide & ~upper]
        state = replace(state, ends=ends, bettors=bettors)
    return state.slice_peak


def error_rate(log_wealth: Floats, delta: float) -> float:
    """The share of repetitions whose log-wealth ever reached ``log(1/delta)``."""
    return float(np.mean(log_wealth >= np.log(1.0 / delta)))


def most_errors(repetitions: int, delta: float) -> int:
    """The number of errors that a true error rate of ``delta`` exceeds with probability at most ``TOO_MANY``."""
    return int(binom.ppf(1.0 - TOO_MANY, repetitions, delta))


def assert_calibrated(log_wealth: Floats, deltas: Sequence[float] = DELTAS) -> None:
    """Assert that at each ``delta`` the error rate is compatible with being at most ``delta``."""
    for delta in deltas:
        errors = int(np.sum(log_wealth >= np.log(1.0 / delta)))
        most = most_errors(len(log_wealth), delta)
        assert errors <= most, f"{errors} errors in {len(log_wealth)} repetitions at delta={delta}: at most {most}"


def two_streams(rates: Sequence[float]) -> Draw:
    """Each channel is a stream of its own: as many draws in each."""

    def draw(rng: np.random.Generator, size: int, repetitions: int) -> Floats:
        yes = rng.binomial(size, np.broadcast_to(rates, (repetitions, len(rates)))).astype(float)
        return np.stack([size - yes, yes], axis=-1)

    return draw


def one_stream(rates: Sequence[float], shares: Sequence[float]) -> Draw:
    """One stream of people, each of whom belongs to one channel or, with what the shares leave, to none."""

    def draw(rng: np.random.Generator, size: int, repetitions: int) -> Floats:
        everyone = [*shares, max(0.0, 1.0 - sum(shares))]
        members = rng.multinomial(size, everyone, size=repetitions)[:, : len(shares)]
        yes = rng.binomial(members, rates)
        return np.stack([members - yes, yes], axis=-1).astype(float)

    return draw


def cells(probabilities: Sequence[Sequence[float]]) -> Draw:
    """Each channel a stream whose draws fall into cells with the given probabilities."""

    def draw(rng: np.random.Generator, size: int, repetitions: int) -> Floats:
        return np.stack([rng.multinomial(size, row, size=repetitions) for row in probabilities], axis=1).astype(float)

    return draw


def yes_no_process(
    sides: Sequence[Sequence[float]], bounds: Sequence[float], sizes: Sequence[float] | None = None
) -> EProcess:
    """A polytope over yes/no leaves, ``sides`` holding a coefficient a leaf."""
    payoffs = [[np.asarray([0.0, a]) for a in side] for side in sides]
    return EProcess.of(payoffs, bounds, [np.ones(2)] * len(sides[0]), sizes)
