"""Bets on a whole claim: tables of games.

Tables: one polytope's game with the channels that inform it, whichever way its groups have to be kept apart.

Deciding a claim by bets: refute its negation, or refute the claim itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from isonomia.evidence.bets import Game, State, begin, step
from isonomia.evidence.channels import Channel, channels_for, crossed_channel
from isonomia.evidence.hypotheses import HalfSpace, Polytope, hypothesis_of
from isonomia.evidence.protocol import Tallies
from isonomia.evidence.slices import SliceGame, SliceState, begin_slices, step_slices
from isonomia.spec.tree import Formula, Leaf, Row

__all__ = ["BetEvidence", "Table", "TableState", "bets_for", "open_table", "plain_game", "play_round", "table_for"]


Floats = NDArray[np.float64]
Ranges: TypeAlias = Mapping[Leaf, tuple[float, float]]
TableState: TypeAlias = State | SliceState


@dataclass(frozen=True, slots=True)
class Table:
    """One polytope's game with its channels, in the game's order."""

    channels: tuple[Channel, ...]
    game: Game | SliceGame


def plain_game(table: Table) -> Game:
    """The table's game where its groups keep people apart or have tickets; planning and allocation know no others."""
    if isinstance(table.game, SliceGame):
        raise TypeError("a game of slices has no fixed payoffs")
    return table.game


def open_table(table: Table) -> TableState:
    """A wealth of 1, nothing seen."""
    return begin(table.game) if isinstance(table.game, Game) else begin_slices(table.game)


def play_round(table: Table, state: TableState, tallies: Tallies) -> TableState:
    """Play one batch."""
    if isinstance(table.game, SliceGame) and isinstance(state, SliceState):
        return step_slices(table.game, state, tallies[table.channels[0]])
    if isinstance(table.game, Game) and isinstance(state, State):
        return step(table.game, state, _counts(table, table.game, tallies))
    raise TypeError("a state belongs to the game that it came from")


def table_for(
    polytope: Polytope,
    streams: Sequence[Row | None],
    ranges: Ranges,
    delta: float,
    *,
    sizes: Mapping[Leaf, float] | None = None,
    slices: bool = True,
) -> Table | None:
    """Set up the game against one polytope.

    Groups that keep people apart need nothing. Groups that overlap are bet on slice by slice, where one leaf can be
    sliced so that every side is left with one group; elsewhere each draw gets a ticket. ``None`` where one group has
    too many leaves, and for overlapping groups that are drawn without replacement: neither a ticket's part of a group
    nor a slice can be counted down.
    """
    channels = channels_for(polytope.leaves, streams, ranges)
    if channels is None:
        return None
    overlap = any(channel.ticket for channel in channels)
    if overlap and sizes is not None:
        return None
    if overlap and slices:
        sliced = _sliced(polytope, streams, ranges, delta)
        if sliced is not None:
            return sliced
    return Table(channels, _game(polytope, channels, sizes))


def _game(polytope: Polytope, channels: tuple[Channel, ...], sizes: Mapping[Leaf, float] | None) -> Game:
    if not channels:
        # Every value of the leaves lies in the polytope: one channel that never pays keeps the shapes simple.
        return Game.of([[np.zeros(2)]], [0.0], [np.ones(2)])
    payoffs, bounds = [], []
    for side in polytope.sides:
        coefficients = dict(side.coefficients)
        factors = [np.asarray([coefficients.get(leaf, 0.0) for leaf in channel.leaves]) for channel in channels]
        # Numbers are counted from the low end of their range: a large offset would swallow what the bets turn on.
        lows = [np.asarray([nodes[0] for nodes in channel.grid.nodes]) for channel in channels]
        payoffs.append(
            [(c.grid.values() - low) @ factor for c, low, factor in zip(channels, lows, factors, strict=True)]
        )
        bounds.append(side.bound - sum(float(low @ factor) for low, factor in zip(lows, factors, strict=True)))
    people = None if sizes is None else [sizes[channel.leaves[0]] for channel in channels]
    return Game.of(payoffs, bounds, [channel.grid.prior() for channel in channels], people)


def _counts(table: Table, game: Game, tallies: Tallies) -> Floats:
    counts = np.zeros((1, *game.prior.shape))
    for g, channel in enumerate(table.channels):
        counts[0, g, : channel.grid.size] = tallies[channel]
    return counts


def _sliced(polytope: Polytope, streams: Sequence[Row | None], ranges: Ranges, delta: float) -> Table | None:
    leaf = _leaf_to_slice(polytope)
    channel = None if leaf is None else crossed_channel(polytope.leaves, streams, ranges)
    if leaf is None or channel is None:
        return None
    values = channel.grid.values()
    inside = {given: values[:, k] for k, given in enumerate(channel.crossing)}
    shown = {
        other: values[:, len(channel.crossing) + k] * inside.get(other.given, 1.0)  # type: ignore[arg-type]
        for k, other in enumerate(channel.leaves)
    }
    everybody = np.ones(len(values))
    parts = [_part(side, leaf, shown, inside, everybody) for side in polytope.sides]
    game = SliceGame(
        others=np.stack([others for others, _, _ in parts]),
        members=np.stack([members for _, members, _ in parts]),
        slopes=np.asarray([slope for _, _, slope in parts]),
        bounds=np.asarray([side.bound for side in polytope.sides]),
        value=shown[leaf],
        present=inside.get(leaf.given, everybody),  # type: ignore[arg-type]
        span=ranges[leaf],
        prior=channel.grid.prior(),
        needed=float(np.log(1.0 / delta)),
    )
    return Table((channel,), game)


def _leaf_to_slice(polytope: Polytope) -> Leaf | None:
    """The leaf without which every side names one group only; of several, the one that most sides name."""
    candidates = [
        leaf
        for leaf in polytope.leaves
        if all(len({other.given for other in side.leaves if other != leaf}) <= 1 for side in polytope.sides)
    ]
    return max(candidates, key=lambda leaf: sum(leaf in side.leaves for side in polytope.sides), default=None)


def _part(
    side: HalfSpace, sliced: Leaf, shown: Mapping[Leaf, Floats], inside: Mapping[Row, Floats], everybody: Floats
) -> tuple[Floats, Floats, float]:
    """What a side's other leaves show in each cell, who they are about, and the sliced leaf's coefficient.

    A side about the sliced leaf alone stays as it is, said of that leaf's own group.
    """
    coefficients = dict(side.coefficients)
    slope = coefficients.pop(sliced, 0.0)
    if not coefficients:
        coefficients, slope = {sliced: slope}, 0.0
    given = next(iter(coefficients)).given
    others = sum((factor * shown[leaf] for leaf, factor in coefficients.items()), np.zeros(len(everybody)))
    return others, everybody if given is None else inside[given], slope


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
        if any(isinstance(table.game, SliceGame) for table in (*self.against, *self.in_favour)):
            remarks.append(
                "the conditions overlap, so each draw was one bet on all of them together, made for each value that "
                "the rate they share might have"
            )
        tickets = max((channel.ticket.of for channel in self.channels if channel.ticket), default=0)
        if tickets:
            remarks.append(
                f"the conditions overlap, so each draw was given one of {tickets} random tickets before it was seen "
                "and counted only for the groups of its ticket"
            )
        if any(len(channel.leaves) > 1 and not channel.crossing for channel in self.channels):
            remarks.append("several leaves share a group, so each draw was one bet on all of them together")
        games = [table.game for table in (*self.against, *self.in_favour)]
        if any(isinstance(game, Game) and bool(np.isfinite(game.sizes).any()) for game in games):
            remarks.append("rows were drawn without replacement and the bets say what is left")
        return tuple(remarks)

    def begin(self) -> tuple[TableState, ...]:
        """A wealth of 1 in every game."""
        return tuple(open_table(table) for table in (*self.against, *self.in_favour))

    def step(self, state: tuple[TableState, ...], tallies: Tallies) -> tuple[TableState, ...]:
        """Play one round of every game that is not won yet."""
        tables = (*self.against, *self.in_favour)
        return tuple(
            before if self._won(before) else play_round(table, before, tallies)
            for table, before in zip(tables, state, strict=True)
        )

    def decision(self, state: tuple[TableState, ...]) -> bool | None:
        """``True`` once the whole negation is refuted, ``False`` once the whole claim is."""
        if all(self._won(game) for game in state[: len(self.against)]):
            return True
        if all(self._won(game) for game in state[len(self.against) :]):
            return False
        return None

    def progress(self, state: tuple[TableState, ...]) -> float:
        """The least wealth on the better side, as a share of what is needed on the logarithmic scale."""
        need = np.log(1.0 / self.delta)
        sides = (state[: len(self.against)], state[len(self.against) :])
        shares = [min((float(game.peak[0]) / need for game in side), default=1.0) for side in sides]
        return float(np.clip(max(shares), 0.0, 1.0))

    def _won(self, game: TableState) -> bool:
        return bool(game.peak[0] >= np.log(1.0 / self.delta))


def bets_for(
    formula: Formula,
    ranges: Mapping[Leaf, tuple[float, float]],
    streams: Sequence[Row | None],
    delta: float,
    sizes: Mapping[Leaf, float] | None = None,
    *,
    slices: bool = True,
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
        overlap; ``None`` is returned where they may.
    slices
        Whether groups that overlap may be bet on slice by slice; with ``False`` every draw gets a ticket.
    """
    tables: list[tuple[Table, ...]] = []
    for positive in (False, True):
        hypothesis = hypothesis_of(formula, ranges, positive=positive)
        if hypothesis is None:
            return None
        found = [
            table_for(polytope, streams, ranges, delta, sizes=sizes, slices=slices) for polytope in hypothesis.polytopes
        ]
        whole = tuple(table for table in found if table is not None)
        if len(whole) < len(found):
            return None
        tables.append(whole)
    return BetEvidence(delta, *tables)
