"""The sampled check.

People who are not what was promised of them, on which a guarantee rests: the first one ends the check.

The work of a sampled check: draw, ask, count, bet.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Generic, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.answers import Asks
from isonomia.audits.rates.counting import Reader, batch_of
from isonomia.audits.rates.intervals import Knowledge, closing_in, compared
from isonomia.audits.rates.question import Question
from isonomia.engine.journal import Entry
from isonomia.engine.loop import Plan
from isonomia.engine.seeds import batch_rng, ticket_rng
from isonomia.errors import DataError
from isonomia.evidence.bet_evidence import BetEvidence
from isonomia.evidence.channels import Channel, leaf_channel
from isonomia.evidence.hypotheses import denominators_of
from isonomia.evidence.planning import best_shares, split
from isonomia.evidence.polynomials import Polynomial
from isonomia.evidence.protocol import Evidence, Tallies
from isonomia.evidence.region import LeafTally
from isonomia.populations.protocol import Population, Source, Wanted, people
from isonomia.populations.table import Table
from isonomia.records.verdict import Expression
from isonomia.spec.text import to_text
from isonomia.spec.tree import Leaf, Row, Version

__all__ = ["Apart", "Misfits", "Progressed", "Reading", "Sampling", "kept_apart"]


Apart: TypeAlias = tuple[tuple[int, tuple[Row | None, ...]], ...]
"""Groups of which nobody may be in two, each time with the stream in which they are."""


def kept_apart(bets: BetEvidence) -> Apart:
    """The groups that a comparison takes to be disjoint, stream by stream, to be checked on every batch."""
    found: dict[tuple[int, tuple[Row | None, ...]], None] = {}
    for table in (*bets.against, *bets.in_favour):
        for stream in {channel.stream for channel in table.channels}:
            for ticket in {channel.ticket for channel in table.channels}:
                groups = dict.fromkeys(
                    channel.given for channel in table.channels if (channel.stream, channel.ticket) == (stream, ticket)
                )
                if len(groups) > 1:
                    found[stream, tuple(groups)] = None
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Misfits:
    """What is promised of the people of a check.

    Attributes
    ----------
    question, population
        What is asked, and of whom.
    apart
        The groups that exclude each other.
    """

    question: Question
    population: Population
    apart: Apart

    def refuse(self, reader: Reader, table: Table, stream: int) -> None:
        """Make sure that everybody of a batch is what was promised.

        Raises
        ------
        DataError
            Which shows the first who is not: in two groups that exclude each other, in a stream that is of others, or
            with a value that nobody knew of.
        """
        self._refuse_in_two_groups(reader, table, stream)
        self._refuse_in_another_stream(reader, table, stream)
        self._refuse_unforeseen(reader, table)

    def _refuse_in_two_groups(self, reader: Reader, table: Table, stream: int) -> None:
        for where, groups in self.apart:
            row = reader.apart(groups) if where == stream else None
            if row is not None:
                raise DataError(
                    f"expected that nobody meets two of the conditions {_listed(groups)}, but this person does: "
                    f"{{{table.shown(row)}}}"
                )

    def _refuse_in_another_stream(self, reader: Reader, table: Table, stream: int) -> None:
        condition = self.population.streams[stream]
        row = None if condition is None else reader.misfit(condition)
        if condition is not None and row is not None:
            raise DataError(
                f"expected only people with {to_text(condition)} from stream {stream}, but this one came: "
                f"{{{table.shown(row)}}}"
            )

    def _refuse_unforeseen(self, reader: Reader, table: Table) -> None:
        """A value that turns up late would make "for every value" a claim about fewer groups than there are."""
        for name, known in self.question.covered if self.population.size is None else ():
            row = reader.misfit(known)
            if row is not None:
                raise DataError(
                    f"expected {name} to be one of the values declared or seen in a pilot draw, but this person has "
                    f"another: {{{table.shown(row)}}}. Declare them all, values={{{name!r}: [...]}}, with the "
                    "population."
                )


def _listed(groups: tuple[Row | None, ...]) -> str:
    return ", ".join("everybody" if group is None else to_text(group) for group in groups)


S = TypeVar("S")


@dataclass(frozen=True, slots=True)
class Reading:
    """What one batch came to: how many people, and the counts in every channel."""

    people: int
    tallies: Tallies


@dataclass(frozen=True, slots=True)
class Progressed(Generic[S]):
    """What all batches so far came to: the evidence's own state, and the counts of each leaf."""

    evidence: S
    leaves: Mapping[Channel, NDArray[np.float64]]


@dataclass(frozen=True)
class Sampling(Generic[S]):
    """A sampled check, as the engine's loop needs it.

    Attributes
    ----------
    question, population, source, asker
        What is asked, of whom, drawn from where, answered by which model.
    evidence
        How it is decided.
    delta, seed
        The risk, and the seed of all randomness.
    sizes
        For draws without replacement, how many people each leaf's group has.
    bets
        The evidence once more where it consists of bets, whose groups are checked and whose draws are allocated.
    """

    question: Question
    population: Population
    source: Source
    asker: Asks | None
    evidence: Evidence[S]
    delta: float
    seed: int
    sizes: Mapping[Leaf, float] | None = None
    bets: BetEvidence | None = None

    @cached_property
    def leaf_channels(self) -> tuple[Channel, ...]:
        """One channel for each leaf alone, from which intervals are made."""
        streams = self.population.streams
        return tuple(leaf_channel(leaf, streams, self.question.ranges) for leaf in self.question.leaves)

    @cached_property
    def _channels(self) -> tuple[Channel, ...]:
        return tuple(dict.fromkeys((*self.leaf_channels, *self.evidence.channels)))

    @cached_property
    def _wanted(self) -> Wanted:
        return self.question.wanted

    @cached_property
    def _denominators(self) -> tuple[Polynomial, ...]:
        return denominators_of(self.question.formula, self.question.ranges)

    @cached_property
    def _misfits(self) -> Misfits:
        return Misfits(self.question, self.population, () if self.bets is None else kept_apart(self.bets))

    def begin(self) -> Progressed[S]:
        """Nothing seen."""
        return Progressed(
            self.evidence.begin(), {channel: np.zeros(channel.grid.size) for channel in self.leaf_channels}
        )

    def measure(self, plan: Plan) -> Reading:
        """Draw one batch from each stream, ask the model about it, and count."""
        asked, tallies = 0, {channel: np.zeros(channel.grid.size) for channel in self._channels}
        shares = split(plan.n, np.asarray(plan.shares), plan.start)
        for stream, n in enumerate(shares.tolist()):
            if n:
                rng = batch_rng(self.seed, plan.index, stream)
                drawn = people(self.source, self._wanted, plan.start, n, rng, stream)
                asked += drawn[None].rows
                if drawn[None].rows:
                    tallies |= self._count(drawn, plan, stream)
        return Reading(asked, tallies)

    def pack(self, reading: Reading) -> Entry:
        """The counts, channel by channel."""
        return {"people": reading.people, "counts": [reading.tallies[channel].tolist() for channel in self._channels]}

    def unpack(self, entry: Entry) -> Reading:
        """The counts again."""
        counts = zip(self._channels, entry["counts"], strict=True)
        return Reading(entry["people"], {channel: np.asarray(cells, dtype=float) for channel, cells in counts})

    def absorb(self, state: Progressed[S], reading: Reading) -> Progressed[S]:
        """Let the evidence take in the batch, and add up the leaves' counts."""
        leaves = {channel: before + reading.tallies[channel] for channel, before in state.leaves.items()}
        return Progressed(self.evidence.step(state.evidence, reading.tallies), leaves)

    def shares(self, state: Progressed[S]) -> tuple[float, ...]:
        """Even at first; once every leaf was seen, where the evidence grows fastest; none where no leaf asks."""
        streams = len(self.population.streams)
        if streams == 1:
            return (1.0,)
        shares = np.ones(streams)
        if self.bets is not None and all(map(np.any, state.leaves.values())):
            means = {channel.leaves[0]: _shrunk(channel, counts) for channel, counts in state.leaves.items()}
            shares = best_shares(self.bets, means, streams)
        asked_for = {channel.stream for channel in self._channels}
        shares = np.where([stream in asked_for for stream in range(streams)], shares, 0.0)
        return tuple((shares / shares.sum()).tolist())

    def asked(self, reading: Reading) -> int:
        """How many people the batch had."""
        return reading.people

    def decided(self, state: Progressed[S]) -> bool:
        """Whether the evidence suffices and no denominator may still be zero."""
        return self.evidence.decision(state.evidence) is not None and not self.zero_denominators(state)

    def share(self, state: Progressed[S]) -> float:
        """How far the evidence has come."""
        return self.evidence.progress(state.evidence)

    def closing_in(self, state: Progressed[S]) -> str:
        """The first compared quantity with its interval and threshold."""
        return closing_in(self.compared(state))

    def compared(self, state: Progressed[S]) -> Expression:
        """What is known of the first compared quantity."""
        return self.knowledge(state).expression(*next(compared(self.question.formula)))

    def knowledge(self, state: Progressed[S]) -> Knowledge:
        """What is known of every leaf and every compared quantity."""
        return Knowledge(self.leaf_tallies(state), self.population.streams, self.delta, self.sizes)

    def leaf_tallies(self, state: Progressed[S]) -> dict[Leaf, LeafTally]:
        """The counts of each leaf."""
        return {
            channel.leaves[0]: LeafTally(channel.grid.nodes[0], tuple(counts.tolist()))
            for channel, counts in state.leaves.items()
        }

    def zero_denominators(self, state: Progressed[S]) -> tuple[Polynomial, ...]:
        """The denominators that no draw so far has shown to differ from zero."""
        means = {leaf: tally.mean for leaf, tally in self.leaf_tallies(state).items()}
        return tuple(polynomial for polynomial in self._denominators if _value(polynomial, means) == 0)

    def named_denominator(self, state: Progressed[S]) -> str:
        """The leaves of the first denominator that may be zero, as text."""
        leaves = dict.fromkeys(leaf for monomial in self.zero_denominators(state)[0] for leaf in monomial)
        return " and ".join(map(to_text, leaves))

    def _count(
        self, drawn: Mapping[Version | None, Table], plan: Plan, stream: int
    ) -> dict[Channel, NDArray[np.float64]]:
        """The counts of one stream's people, in every channel that reads from it."""
        table = drawn[None]
        batch = batch_of(self.question, self.asker, drawn)
        reader = Reader(batch, lambda row: f"row {row} of batch {plan.index}: {{{table.shown(row)}}}")
        self._misfits.refuse(reader, table, stream)
        served = [channel for channel in self._channels if channel.stream == stream]
        tickets = {
            of: ticket_rng(self.seed, plan.index, stream, of).integers(0, of, size=table.rows)
            for of in {channel.ticket.of for channel in served if channel.ticket is not None}
        }
        return {
            channel: reader.tally(channel, None if channel.ticket is None else tickets[channel.ticket.of])
            for channel in served
        }


def _value(polynomial: Polynomial, means: Mapping[Leaf, float]) -> float:
    return sum(factor * prod(means[leaf] for leaf in monomial) for monomial, factor in polynomial.items())


def _shrunk(channel: Channel, counts: NDArray[np.float64]) -> float:
    """The leaf's mean with its prior, so that no mean is at an end of its range."""
    weights = counts + channel.grid.prior()
    return float(weights @ channel.grid.values()[:, 0] / weights.sum())
