"""Planning: how many draws a claim takes at best and with these bets, and how to divide draws over streams.

The *information distance* to the nearest parameters with the other answer says how fast evidence can grow at best. It
gives a lower limit on the number of draws, and the best allocation: where groups can be drawn separately, more draws go
to the stream that matters more. Nothing here changes the validity of a verdict: the numbers of draws are fixed before
the draws are seen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isonomia.evidence.bet_evidence import BetEvidence, PolytopeTest
from isonomia.evidence.bets import EProcess, begin, step
from isonomia.evidence.channels import Channel
from isonomia.evidence.slices import SlicedEProcess
from isonomia.evidence.stakes import best_stakes
from isonomia.spec.tree import Leaf

__all__ = [
    "Distance",
    "Forecast",
    "best_shares",
    "cell_probabilities",
    "default_shares",
    "distance",
    "forecast",
    "limit",
    "truth_at",
]

Floats = NDArray[np.float64]

MIN_PROBABILITY = 1e-12
"""The least probability of a corner in a forecast, so that a guess at the end of a range has a finite distance.
Changes plans only, never a verdict."""

MIN_SHARE_OF_EVEN = 0.02
"""No stream gets less than this share of what an even split would give it: a wrong estimate must be able to recover.
Changes cost only: the bets are valid for any split."""

FIRST_BATCH = 8
"""The smallest batch of a simulated run. Changes plans only."""


@dataclass(frozen=True, slots=True)
class Distance:
    """The information of one draw against one polytope, and what each channel's draws contribute to it.

    Attributes
    ----------
    total
        Nats per draw of the population.
    by_channel
        Nats per draw *of the channel*, in the order of the test's channels.
    """

    total: float
    by_channel: Floats


def limit(delta: float, nats: float) -> float:
    """The fewest draws that any test with risk ``delta`` can take on average: ``kl(delta, 1 - delta) / nats``.

    Source: Garivier and Kaufmann (2016), Theorem 1, after Wald. Infinite on the boundary.
    """
    needed = (1.0 - 2.0 * delta) * np.log((1.0 - delta) / delta)
    return float(needed / nats) if nats > 0 else float("inf")


def truth_at(evidence: BetEvidence, means: Mapping[Leaf, float]) -> bool | None:
    """Whether the claim is true for given means, ``None`` on the boundary."""
    outside = [all(_excess(test, means) > 0 for test in side) for side in (evidence.against, evidence.in_favour)]
    if outside[0]:
        return True
    return False if outside[1] else None


def distance(test: PolytopeTest, means: Mapping[Leaf, float], shares: Sequence[float]) -> Distance:
    """Project given means onto a polytope.

    Parameters
    ----------
    test
        The e-process against the polytope, and its channels.
    means
        The value of each leaf. Numbers are assumed to lie at the two ends of their range, which is the hardest case;
        events of one group are assumed to be independent.
    shares
        How often a draw of the population falls into each channel.
    """
    process = test.unsliced
    estimate = _estimate(process, test.channels, means)
    weights = np.asarray(shares, dtype=float)[None, :]
    stakes = best_stakes(process.payoffs[None], process.bounds[None], estimate[None], weights)
    logs = np.log(np.where(estimate > 0, stakes.factors[0], 1.0))
    by_channel = (estimate * logs).sum(axis=-1)
    value = float(weights[0] @ (by_channel + 1.0 - stakes.intercepts[0]) - stakes.amounts[0] @ process.bounds)
    return Distance(max(value, 0.0), np.maximum(by_channel, 0.0))


def cell_probabilities(channel: Channel, means: Mapping[Leaf, float]) -> Floats:
    """A distribution over a channel's cells with the given means, each leaf at the ends of its range."""
    cells = np.ones(1)
    for leaf, nodes in zip(channel.leaves, channel.grid.nodes, strict=True):
        yes = (means[leaf] - nodes[0]) / (nodes[-1] - nodes[0])
        axis = np.zeros(len(nodes))
        axis[0], axis[-1] = 1.0 - yes, yes
        cells = np.multiply.outer(cells, axis).ravel()
    return cells


def _estimate(process: EProcess, channels: tuple[Channel, ...], means: Mapping[Leaf, float]) -> Floats:
    estimate = np.zeros_like(process.prior)
    for g, channel in enumerate(channels):
        cells = cell_probabilities(channel, means)
        corners = channel.grid.prior() > 0
        cells = np.where(corners, np.maximum(cells, MIN_PROBABILITY), cells)
        estimate[g, : len(cells)] = cells / cells.sum()
    return estimate


def _excess(test: PolytopeTest, means: Mapping[Leaf, float]) -> float:
    """How far the means lie beyond the most violated half-space; negative inside the polytope."""
    process = test.unsliced
    if not test.channels:
        return float(np.max(0.0 - process.bounds))
    left = []
    for payoffs in process.payoffs:
        pairs = zip(payoffs, test.channels, strict=True)
        left.append(sum(float(row[: channel.grid.size] @ cell_probabilities(channel, means)) for row, channel in pairs))
    return float(np.max(np.asarray(left) - process.bounds))


@dataclass(frozen=True, slots=True)
class Forecast:
    """What a check is likely to cost if the guesses are right.

    Attributes
    ----------
    answer
        Whether the claim would hold; ``None`` on the boundary, where no number of draws decides it.
    limit
        The fewest draws that any method of this risk could take on average.
    mean, early, late
        The average number of draws of this method, and its 10% and 90% quantiles.
    """

    answer: bool | None
    limit: float
    mean: float
    early: float
    late: float


def forecast(
    evidence: BetEvidence,
    means: Mapping[Leaf, float],
    shares: Mapping[Channel, float],
    *,
    repetitions: int = 200,
    growth: float = 1.02,
    rng: np.random.Generator,
) -> Forecast:
    """Simulate the bets on guessed means.

    Parameters
    ----------
    evidence
        The bets that would be made.
    means
        A guess for each leaf.
    shares
        How often a draw falls into each channel.
    repetitions, growth, rng
        How many runs to simulate (200 give the mean to a few percent), the growth factor of ``n`` from one batch to
        the next, and the randomness.
    """
    answer = truth_at(evidence, means)
    if answer is None or min(shares.values(), default=1.0) <= 0:
        return Forecast(answer, np.inf, np.inf, np.inf, np.inf)
    tests = evidence.against if answer else evidence.in_favour
    if not tests:
        return Forecast(answer, 0.0, 0.0, 0.0, 0.0)
    nats = min(distance(test, means, [shares[c] for c in test.channels]).total for test in tests)
    stops = np.max([_stops(test, means, shares, evidence.delta, repetitions, growth, rng) for test in tests], axis=0)
    early, late = np.quantile(stops, [0.1, 0.9])
    return Forecast(answer, limit(evidence.delta, nats), float(stops.mean()), float(early), float(late))


def _stops(
    test: PolytopeTest,
    means: Mapping[Leaf, float],
    shares: Mapping[Channel, float],
    delta: float,
    repetitions: int,
    growth: float,
    rng: np.random.Generator,
) -> Floats:
    """After how many draws each of many simulated runs refutes one polytope."""
    process, stops = test.unsliced, np.zeros(repetitions)
    running = np.arange(repetitions)
    state, n, needed = begin(process, repetitions), 0, np.log(1.0 / delta)
    while len(running):
        size = max(FIRST_BATCH, int((growth - 1.0) * n))
        n += size
        state = step(process, state, _draw(test, means, shares, size, len(running), rng))
        refuted = state.peak >= needed
        stops[running[refuted]] = n
        running = running[~refuted]
        state = state.rows(~refuted)
    return stops


def _draw(
    test: PolytopeTest,
    means: Mapping[Leaf, float],
    shares: Mapping[Channel, float],
    size: int,
    repetitions: int,
    rng: np.random.Generator,
) -> Floats:
    counts = np.zeros((repetitions, *test.unsliced.prior.shape))
    for g, channel in enumerate(test.channels):
        members = rng.binomial(size, shares[channel], size=repetitions)
        cells = cell_probabilities(channel, means)
        counts[:, g, : len(cells)] = rng.multinomial(members, cells / cells.sum())
    return counts


def default_shares(channels: Sequence[Channel]) -> dict[Channel, float]:
    """Even shares: each group of a stream equally large, each ticket equally likely."""
    groups = {channel.given for channel in channels}
    return {channel: 1.0 / max(len(groups), 1) / (channel.ticket.of if channel.ticket else 1) for channel in channels}


def best_shares(evidence: BetEvidence, means: Mapping[Leaf, float], streams: int, rounds: int = 60) -> Floats:
    """The shares of draws for each stream that make the evidence grow fastest at the given means.

    They maximise the information distance to the nearest parameters with the other answer (Garivier and Kaufmann 2016).
    That distance is concave in the shares, and its slope along a stream is what that stream's draws contribute at the
    projection. So multiplicative steps climb it; ``rounds`` only says how near they come. Where a test is sliced the
    shares stay even. Validity does not depend on the shares: they are fixed before the draws are seen.
    """
    shares = np.full(streams, 1.0 / streams)
    if any(isinstance(test.process, SlicedEProcess) for test in evidence.tests):
        return shares
    truth = truth_at(evidence, means)
    tests = evidence.against if truth is not False else evidence.in_favour
    tests = tuple(test for test in tests if test.channels)
    if truth is None or not tests:
        return shares
    best, best_value = shares, -1.0
    for turn in range(rounds):
        value, slope = _nearest(tests, means, shares)
        if value > best_value:
            best, best_value = shares, value
        # Steps shrink slowly, and no share falls below its minimum, so that no stream is abandoned for good.
        step = 1.0 / (1.0 + 0.1 * turn)
        shares = shares * np.exp(step * (slope - slope.mean()) / max(float(np.abs(slope).max()), 1e-300))
        shares = np.maximum(shares / shares.sum(), MIN_SHARE_OF_EVEN / streams)
        shares = shares / shares.sum()
    return best


def _nearest(tests: Sequence[PolytopeTest], means: Mapping[Leaf, float], shares: Floats) -> tuple[float, Floats]:
    """The distance to the nearest polytope, and its slope in each stream's share."""
    distances = []
    for test in tests:
        information = distance(test, means, [shares[channel.stream] for channel in test.channels])
        slope = np.zeros(len(shares))
        for channel, nats in zip(test.channels, information.by_channel, strict=True):
            slope[channel.stream] += nats
        distances.append((information.total, slope))
    return min(distances, key=lambda item: item[0])
