"""People who are not what was promised of them, on which a guarantee rests: the first one ends the check."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from isonomia.audits.rates.counting import Reader
from isonomia.audits.rates.question import Question
from isonomia.errors import DataError
from isonomia.evidence.by_bets import BetEvidence
from isonomia.populations.protocol import Population
from isonomia.populations.table import Table
from isonomia.spec.text import to_text
from isonomia.spec.tree import Row

__all__ = ["Apart", "Misfits", "kept_apart"]

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
