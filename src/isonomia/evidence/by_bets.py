"""Deciding a claim by bets: refute its negation, or refute the claim itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isonomia.evidence.bets import Game, State, begin, step
from isonomia.evidence.channels import Channel, channels_for
from isonomia.evidence.hypotheses import Hypothesis, Polytope, hypothesis_of
from isonomia.evidence.protocol import Tallies
from isonomia.spec.tree import Formula, Leaf, Row

__all__ = ["BetEvidence", "bets_for"]


@dataclass(frozen=True, slots=True)
class Table:
    """One polytope's game with the channels that inform it, in the game's order."""

    channels: tuple[Channel, ...]
    game: Game


@dataclass(frozen=True, slots=True)
class BetEvidence:
    """Bets against every piece of the claim's negation, and against every piece of the claim.

    Guarantee: the claim is true or false, and the truth lies in a piece of the other side's hypothesis. That piece is
    ever refuted with probability at most ``delta``; so the decision is ever wrong with probability at most ``delta``,
    with no division of ``delta`` over pieces or over the two directions.
    """

    delta: float
    against: tuple[Table, ...]
    in_favour: tuple[Table, ...]

    @property
    def method(self) -> str:
        """Projection bets."""
        return "bets"

    @property
    def channels(self) -> tuple[Channel, ...]:
        """Every channel of every game, each once."""
        tables = (*self.against, *self.in_favour)
        return tuple(dict.fromkeys(channel for table in tables for channel in table.channels))

    @property
    def remarks(self) -> tuple[str, ...]:
        """Whether tickets were needed, or several events of one group were bet on together."""
        remarks = []
        tickets = max((channel.ticket.of for channel in self.channels if channel.ticket), default=0)
        if tickets:
            remarks.append(
                f"the conditions overlap, so each draw was given one of {tickets} random tickets before it was seen "
                "and counted only for the groups of its ticket"
            )
        if any(len(channel.leaves) > 1 for channel in self.channels):
            remarks.append("several leaves share a group, so each draw was one bet on all of them together")
        if any(np.isfinite(table.game.sizes).any() for table in (*self.against, *self.in_favour)):
            remarks.append("rows were drawn without replacement and the bets say what is left")
        return tuple(remarks)

    def begin(self) -> tuple[State, ...]:
        """A wealth of 1 in every game."""
        return tuple(begin(table.game) for table in (*self.against, *self.in_favour))

    def step(self, state: tuple[State, ...], tallies: Tallies) -> tuple[State, ...]:
        """Play one round of every game that is not won yet."""
        tables = (*self.against, *self.in_favour)
        return tuple(
            before if self._won(before) else step(table.game, before, _counts(table, tallies))
            for table, before in zip(tables, state, strict=True)
        )

    def decision(self, state: tuple[State, ...]) -> bool | None:
        """``True`` once the whole negation is refuted, ``False`` once the whole claim is."""
        if all(self._won(game) for game in state[: len(self.against)]):
            return True
        if all(self._won(game) for game in state[len(self.against) :]):
            return False
        return None

    def progress(self, state: tuple[State, ...]) -> float:
        """The least wealth on the better side, as a share of what is needed on the logarithmic scale."""
        need = np.log(1.0 / self.delta)
        sides = (state[: len(self.against)], state[len(self.against) :])
        shares = [min((float(game.peak[0]) / need for game in side), default=1.0) for side in sides]
        return float(np.clip(max(shares), 0.0, 1.0))

    def _won(self, game: State) -> bool:
        return bool(game.peak[0] >= np.log(1.0 / self.delta))


def bets_for(
    formula: Formula,
    ranges: Mapping[Leaf, tuple[float, float]],
    streams: Sequence[Row | None],
    delta: float,
    sizes: Mapping[Leaf, float] | None = None,
) -> BetEvidence | None:
    """Prepare the bets on a claim; ``None`` where it is not a matter of linear comparisons.

    Parameters
    ----------
    formula
        The claim, without quantifiers.
    ranges
        The lowest and highest possible value of each leaf.
    streams
        The conditions of the population's streams.
    delta
        The risk.
    sizes
        For draws without replacement, how many people each leaf's group has. Then no two groups of one comparison may
        overlap: a ticket would take a part of a group whose mean is not the group's.
    """
    sides = [hypothesis_of(formula, ranges, positive=positive) for positive in (False, True)]
    tables: list[tuple[Table, ...]] = []
    for hypothesis in sides:
        games = None if hypothesis is None else _games(hypothesis, ranges, streams, sizes)
        if games is None:
            return None
        tables.append(games)
    return BetEvidence(delta, *tables)


def _games(
    hypothesis: Hypothesis,
    ranges: Mapping[Leaf, tuple[float, float]],
    streams: Sequence[Row | None],
    sizes: Mapping[Leaf, float] | None,
) -> tuple[Table, ...] | None:
    tables = []
    for polytope in hypothesis.polytopes:
        channels = channels_for(polytope.leaves, streams, ranges)
        if channels is None:
            return None
        tables.append(Table(channels, _game(polytope, channels, sizes)))
    return tuple(tables)


def _game(polytope: Polytope, channels: tuple[Channel, ...], sizes: Mapping[Leaf, float] | None) -> Game:
    if not channels:
        # Every value of the leaves lies in the polytope: one channel that never pays keeps the shapes simple.
        return Game.of([[np.zeros(2)]], [0.0], [np.ones(2)])
    payoffs = []
    for side in polytope.sides:
        coefficients = dict(side.coefficients)
        payoffs.append(
            [channel.grid.values() @ [coefficients.get(leaf, 0.0) for leaf in channel.leaves] for channel in channels]
        )
    people = None if sizes is None else [sizes[channel.leaves[0]] for channel in channels]
    return Game.of(payoffs, [side.bound for side in polytope.sides], [c.grid.prior() for c in channels], people)


def _counts(table: Table, tallies: Tallies) -> NDArray[np.float64]:
    counts = np.zeros((1, *table.game.prior.shape))
    for g, channel in enumerate(table.channels):
        counts[0, g, : channel.grid.size] = tallies[channel]
    return counts
