"""Deciding a claim by bets: refute its negation, or refute the claim itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from isonomia.evidence.bets import Game
from isonomia.evidence.channels import Channel
from isonomia.evidence.hypotheses import hypothesis_of
from isonomia.evidence.protocol import Tallies
from isonomia.evidence.slices import SliceGame
from isonomia.evidence.tables import Table, TableState, open_table, play_round, table_for
from isonomia.spec.tree import Formula, Leaf, Row

__all__ = ["BetEvidence", "bets_for"]


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
