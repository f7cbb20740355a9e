"""Planning: how many draws a claim will take, before any is made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isonomia.evidence.bets import State, begin, step
from isonomia.evidence.by_bets import BetEvidence
from isonomia.evidence.channels import Channel
from isonomia.evidence.information import cell_probabilities, distance, limit, truth_at
from isonomia.evidence.tables import Table, plain_game
from isonomia.spec.tree import Leaf

__all__ = ["Forecast", "forecast"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Forecast:
    """What a check is likely to cost if the guesses are right.

    Attributes
    ----------
    answer
        What the claim would turn out to be; ``None`` on the boundary, where no number of draws decides it.
    limit
        The fewest draws that any method of this risk could take on average.
    mean, early, late
        The average number of draws of this method, and the numbers that one run in ten stays below and exceeds.
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
        How many runs to simulate, by how much batches grow, and the randomness.
    """
    answer = truth_at(evidence, means)
    if answer is None or min(shares.values(), default=1.0) <= 0:
        return Forecast(answer, np.inf, np.inf, np.inf, np.inf)
    tables = evidence.against if answer else evidence.in_favour
    if not tables:
        return Forecast(answer, 0.0, 0.0, 0.0, 0.0)
    nats = min(distance(table, means, [shares[c] for c in table.channels]).total for table in tables)
    stops = np.max([_stops(table, means, shares, evidence.delta, repetitions, growth, rng) for table in tables], axis=0)
    early, late = np.quantile(stops, [0.1, 0.9])
    return Forecast(answer, limit(evidence.delta, nats), float(stops.mean()), float(early), float(late))


def _stops(
    table: Table,
    means: Mapping[Leaf, float],
    shares: Mapping[Channel, float],
    delta: float,
    repetitions: int,
    growth: float,
    rng: np.random.Generator,
) -> Floats:
    """When each of many simulated runs refutes one polytope."""
    game, stops = plain_game(table), np.zeros(repetitions)
    running = np.arange(repetitions)
    state, n, needed = begin(game, repetitions), 0, np.log(1.0 / delta)
    while len(running):
        size = max(8, int((growth - 1.0) * n))
        n += size
        state = step(game, state, _draw(table, means, shares, size, len(running), rng))
        won = state.peak >= needed
        stops[running[won]] = n
        running = running[~won]
        state = State(state.log_wealth[~won], state.peak[~won], state.tally[~won])
    return stops


def _draw(
    table: Table,
    means: Mapping[Leaf, float],
    shares: Mapping[Channel, float],
    size: int,
    repetitions: int,
    rng: np.random.Generator,
) -> Floats:
    counts = np.zeros((repetitions, *plain_game(table).prior.shape))
    for g, channel in enumerate(table.channels):
        members = rng.binomial(size, shares[channel], size=repetitions)
        cells = cell_probabilities(channel, means)
        counts[:, g, : len(cells)] = rng.multinomial(members, cells / cells.sum())
    return counts


def default_shares(channels: Sequence[Channel]) -> dict[Channel, float]:
    """Even shares: each group of a stream equally large, each ticket equally likely."""
    groups = {channel.given for channel in channels}
    return {channel: 1.0 / max(len(groups), 1) / (channel.ticket.of if channel.ticket else 1) for channel in channels}
