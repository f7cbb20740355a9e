"""The exact check of a census: everybody is asked, nothing is estimated."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import fsum, isfinite
from typing import Any

import numpy as np

from isonomia.audits.rates.asking import Asks
from isonomia.audits.rates.counting import Reader
from isonomia.audits.rates.everybody import everybody, in_all
from isonomia.audits.rates.known import compared
from isonomia.audits.rates.possible import possible_total
from isonomia.audits.rates.question import Question
from isonomia.engine.journal import Blank, Entry, Journal
from isonomia.engine.observer import Observer, Progress
from isonomia.errors import DataError
from isonomia.evidence.exact import exact_truth, exact_value
from isonomia.populations.protocol import Population
from isonomia.records.rationals import rational
from isonomia.records.verdict import Expression, LeafRecord
from isonomia.spec.names import leaves_of
from isonomia.spec.text import to_text
from isonomia.spec.tree import Leaf, Quantity, Row

__all__ = ["KEY", "Counted", "count_everybody"]

KEY = "everybody"
"""Under which the counts of everybody are kept in a journal."""


@dataclass(frozen=True, slots=True)
class Counted:
    """What a census came to.

    Attributes
    ----------
    answer
        Whether the formula is true; ``None`` where that turns on a group with nobody in it, or where it was
        interrupted.
    leaves, expressions
        The exact values.
    empty
        The leaves whose group has nobody in it.
    asked
        How many people were asked about.
    interrupted
        Whether somebody pressed Ctrl-C before the end.
    """

    answer: bool | None
    leaves: tuple[LeafRecord, ...]
    expressions: tuple[Expression, ...]
    empty: tuple[Leaf, ...]
    asked: int
    interrupted: bool


def count_everybody(
    question: Question,
    asker: Asks | None,
    census: Population,
    observer: Observer,
    journal: Journal = Blank(),  # noqa: B008  (it has no state)
) -> Counted:
    """Ask about every row, or every pair of rows, and evaluate the formula on the exact values.

    What everybody came to is kept in the journal, and the answer is computed from it, now and whenever it is repeated.

    Raises
    ------
    DataError
        Where a denominator is zero.
    """
    kept = journal.recall(KEY)
    if kept is None:
        counts = _counts_of_everybody(question, asker, census, observer)
        if not counts.interrupted:
            journal.keep(KEY, counts.pack)
    else:
        counts = _Counts.unpack(kept, question, in_all(question, census.size))
    return _counted(question, counts)


def _counts_of_everybody(question: Question, asker: Asks | None, census: Population, observer: Observer) -> _Counts:
    totals = {leaf: _Total() for leaf in question.leaves}
    began, asked, interrupted = time.monotonic(), 0, False
    try:
        whole = in_all(question, census.size)
        for start, batch in everybody(question, asker, census):
            reader = Reader(batch, _row_from(start))
            for leaf, total in totals.items():
                total.add(*reader.exact(leaf))
            asked += batch.rows
            spent = time.monotonic() - began
            observer.advance(Progress(asked, whole, asked / whole, spent, _exactly, question.counted))
    except KeyboardInterrupt:
        interrupted = True
    return _Counts(asked, tuple(totals.values()), interrupted)


def _counted(question: Question, counts: _Counts) -> Counted:
    """The answer that the counts give."""
    totals, interrupted = dict(zip(question.leaves, counts.totals, strict=True)), counts.interrupted
    values = {leaf: total.mean() for leaf, total in totals.items() if total.n}
    empty = tuple(leaf for leaf in question.leaves if leaf not in values)
    answer = None if interrupted else exact_truth(question.formula, values)
    return Counted(
        answer,
        tuple(_leaf_record(leaf, totals[leaf], interrupted, question.ranges) for leaf in question.leaves),
        tuple(
            _expression(quantity, relation, threshold, {} if interrupted else values)
            for quantity, relation, threshold in compared(question.formula)
        ),
        empty,
        counts.asked,
        interrupted,
    )


@dataclass(slots=True)
class _Total:
    """A running sum. Counts are exact; a mean of numbers is read as a decimal of 15 digits.

    Numbers are stored in binary, so that the mean of three times 0.1 is not quite 0.1. With 15 digits a tie is a tie as
    people write it, and the threshold 0.1 is met.
    """

    n: int = 0
    sum: Fraction | float = Fraction(0)

    def add(self, n: int, amount: int | float) -> None:
        self.n += n
        self.sum = self.sum + amount if isinstance(amount, int) else fsum((float(self.sum), amount))

    def mean(self) -> Fraction:
        if isinstance(self.sum, Fraction):
            return self.sum / self.n
        return Fraction(f"{self.sum / self.n:.15g}")

    def can_be(self, leaf: Leaf, ends: tuple[float, float]) -> bool:
        """Whether it can be the total of a leaf whose values lie between two ends."""
        return possible_total(leaf, self.n, self.sum, ends)

    def pack(self) -> list[Any]:
        """The count and the sum: a fraction as text, a float in hexadecimal, so that no bit is lost."""
        return [self.n, str(self.sum) if isinstance(self.sum, Fraction) else self.sum.hex()]

    @classmethod
    def unpack(cls, pair: Sequence[Any]) -> _Total:
        n, text = pair
        amount = float.fromhex(text) if "0x" in text else rational(text)
        if type(n) is not int or n < 0 or not isfinite(amount):
            raise DataError(f"expected a count and a finite sum in the record of a census, but {pair!r} came")
        return cls(n, amount)


@dataclass(frozen=True, slots=True)
class _Counts:
    """What everybody came to: how many were asked about, and a total for each leaf, in the question's order."""

    asked: int
    totals: tuple[_Total, ...]
    interrupted: bool = False

    def pack(self) -> Entry:
        return {"asked": self.asked, "totals": [total.pack() for total in self.totals]}

    @classmethod
    def unpack(cls, entry: Entry, question: Question, people: int) -> _Counts:
        totals = tuple(_Total.unpack(pair) for pair in entry["totals"])
        if entry["asked"] != people or len(totals) != len(question.leaves):
            raise DataError(
                f"expected the record of a census of {people:,} {question.counted} and of {len(question.leaves)} rates,"
                f" but it is of {entry['asked']!r:.40} and of {len(totals)}"
            )
        groups: dict[Row | None, int] = {None: people}
        for leaf, total in zip(question.leaves, totals, strict=True):
            ends = question.ranges.get(leaf, (-np.inf, np.inf))
            if groups.setdefault(leaf.given, total.n) != total.n or total.n > people or not total.can_be(leaf, ends):
                raise DataError(
                    f"expected a count and a sum that a census of {people:,} {question.counted} can have for "
                    f"{to_text(leaf)}, but {total.pack()} is in the record"
                )
        return cls(people, totals)


def _row_from(start: int) -> Callable[[int], str]:
    return lambda row: f"row {start + row}"


def _exactly() -> str:
    return "counting everybody"


def _leaf_record(
    leaf: Leaf, total: _Total, interrupted: bool, ranges: Mapping[Leaf, tuple[float, float]]
) -> LeafRecord:
    unknown = ranges.get(leaf, (-np.inf, np.inf))
    if not total.n:
        return LeafRecord(to_text(leaf), 0, None, *unknown)
    mean = float(total.mean())
    return LeafRecord(to_text(leaf), total.n, mean, *(unknown if interrupted else (mean, mean)))


def _expression(quantity: Quantity, relation: str, threshold: float, values: dict[Leaf, Fraction]) -> Expression:
    if any(leaf not in values for leaf in leaves_of(quantity)):
        return Expression(to_text(quantity), relation, threshold, None, -np.inf, np.inf)
    try:
        value = float(exact_value(quantity, values))
    except DataError:
        return Expression(to_text(quantity), relation, threshold, None, -np.inf, np.inf)
    return Expression(to_text(quantity), relation, threshold, value, value, value)
