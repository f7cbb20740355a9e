"""A census, exactly: everybody, or every ordered pair of people, is counted once, and nothing is estimated."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import isfinite
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.answers import Asker, Asks
from isonomia.audits.people import AT_ONCE, batch_size, narrowed
from isonomia.audits.pieces import Counter, by_workers
from isonomia.audits.rates.counting import Reader, batch_of
from isonomia.audits.rates.groups import group_records
from isonomia.audits.rates.question import Asked, Question, in_all
from isonomia.engine.journal import Blank, Entry, Journal, exact_fraction
from isonomia.engine.observer import Observer, Progress
from isonomia.engine.seeds import root
from isonomia.errors import DataError
from isonomia.evidence.exact import exact_truth, exact_value
from isonomia.evidence.normal_form import compared
from isonomia.executors import Pool
from isonomia.populations.finite import Census
from isonomia.populations.protocol import Population, people
from isonomia.records.verdict import Expression, GroupRecord, LeafRecord
from isonomia.spec.evaluate import Batch
from isonomia.spec.text import to_text
from isonomia.spec.tree import Leaf, Other, Quantity, Rate, Version, leaves_of


def census_batches(question: Question, asker: Asks | None, whole: Population) -> Iterator[tuple[int, Batch]]:
    """Go through a census in batches, each with the number of its first person or pair.

    The model is queried about each person once, also where everybody is paired with everybody, themselves included: a
    pair is two independent draws.
    """
    if Other() not in question.asked:
        yield from _one_by_one(question, asker, whole)
        return
    alone = _without_pairs(question)
    # A census small enough for all pairs fits into one batch.
    (_, together), size = next(_one_by_one(alone, asker, whole)), in_all(alone, whole.size)
    for start in range(0, size * size, AT_ONCE):
        pair = np.arange(start, min(start + AT_ONCE, size * size))
        first, second = _taken(together, pair // size), _taken(together, pair % size)
        others: dict[Version, Batch] = {**first.versions, Other(): second}
        yield start, replace(first, versions=others)


def _one_by_one(
    question: Question, asker: Asks | None, whole: Population, begin: int = 0, end: int | None = None
) -> Iterator[tuple[int, Batch]]:
    model = None if asker is None else asker.model
    wanted = narrowed(question.wanted, question.asked[None].columns, model, whole.names)
    source, at_once = whole.open(root(0), wanted), batch_size(whole)
    stop = in_all(question, whole.size) if end is None else end
    for start in range(begin, stop, at_once):
        drawn = people(source, wanted, start, min(at_once, stop - start), np.random.default_rng(0), 0)
        yield start, batch_of(question, asker, drawn)


def _without_pairs(question: Question) -> Question:
    """The question that reads for each person what it reads for either member of a pair."""
    asked = dict(question.asked)
    other, own = asked.pop(Other()), asked[None]
    columns = tuple(dict.fromkeys((*own.columns, *other.columns)))
    both: Mapping[Version | None, Asked] = {
        **asked,
        None: Asked(columns, own.prediction or other.prediction, own.score or other.score),
    }
    return replace(question, asked=both)


def _taken(batch: Batch, rows: NDArray[np.intp]) -> Batch:
    return Batch(
        len(rows),
        {name: column[rows] for name, column in batch.columns.items()},
        None if batch.prediction is None else batch.prediction[rows],
        None if batch.score is None else batch.score[rows],
        batch.classes,
        {version: _taken(other, rows) for version, other in batch.versions.items()},
    )


KEY = "everybody"
"""The journal key of the counts of everybody."""


@dataclass(frozen=True, slots=True)
class CensusCounts:
    """The result of a census.

    Attributes
    ----------
    answer
        Whether the formula is true; ``None`` where that turns on a group with nobody in it, or where it was
        interrupted.
    leaves, expressions, groups
        The exact values, and the answer for each group.
    empty
        The leaves whose group has nobody in it.
    asked
        How many people, or pairs, were counted.
    interrupted
        Whether somebody pressed Ctrl-C before the end.
    """

    answer: bool | None
    leaves: tuple[LeafRecord, ...]
    expressions: tuple[Expression, ...]
    groups: tuple[GroupRecord, ...]
    empty: tuple[Leaf, ...]
    asked: int
    interrupted: bool


def count_census(
    question: Question,
    asker: Asks | None,
    census: Population,
    observer: Observer,
    journal: Journal = Blank(),  # noqa: B008  (it has no state)
    pool: Pool | None = None,
) -> CensusCounts:
    """Count every row, or every pair of rows, and evaluate the formula on the exact values.

    The counts are kept in the journal, and the answer is computed from them, now and in every replay. The workers of a
    pool read the files of a long table for themselves.
    """
    kept = journal.recall(KEY)
    if kept is None:
        counts = _census_counts(question, asker, census, observer, journal, pool)
        if not counts.interrupted:
            journal.keep(KEY, counts.pack)
    else:
        counts = _Counts.unpack(kept, question, in_all(question, census.size))
    return _counted(question, counts)


def _census_counts(
    question: Question, asker: Asks | None, census: Population, observer: Observer, journal: Journal, pool: Pool | None
) -> _Counts:
    totals = tuple(_Total() for _ in question.leaves)
    began, asked, interrupted = time.monotonic(), 0, False
    try:
        whole = in_all(question, census.size)
        for rows, counted in _counted_rows(question, asker, census, journal, pool):
            for total, amounts in zip(totals, counted, strict=True):
                total.add(*amounts)
            asked += rows
            spent = time.monotonic() - began
            observer.advance(Progress(asked, whole, asked / whole, spent, _exactly, question.counted))
    except KeyboardInterrupt:
        interrupted = True
    closed = tuple(total.closed(leaf) for leaf, total in zip(question.leaves, totals, strict=True))
    return _Counts(asked, closed, interrupted)


Amounts: TypeAlias = list[tuple[int, Fraction]]
"""For each leaf, how many people its group has, and the sum of its values over them."""


def _counted_rows(
    question: Question, asker: Asks | None, census: Population, journal: Journal, pool: Pool | None
) -> Iterator[tuple[int, Amounts]]:
    """The rows, some at a time: how many they are, and their counts and sums."""
    if (
        not isinstance(asker, Asker | None)
        or Other() in question.asked
        or (asker is not None and asker.shared is not None)
    ):
        pool = None
    counter = Counter(count_rows, question, _packed_amounts, _unpacked_amounts)
    own = asker if isinstance(asker, Asker) else None
    pieces = by_workers(pool, own, census, counter, journal)
    if pieces is not None:
        yield from pieces
        return
    for start, batch in census_batches(question, asker, census):
        reader = Reader(batch, _row_from(start))
        reader.refuse_outside(question.within)
        yield batch.rows, [reader.exact(leaf) for leaf in question.leaves]


def count_rows(question: Question, asker: Asker | None, census: Census, start: int, stop: int) -> Amounts:
    """The counts and sums of some rows of a census."""
    totals = [_Total() for _ in question.leaves]
    for first, batch in _one_by_one(question, asker, census, start, stop):
        reader = Reader(batch, _row_from(first))
        reader.refuse_outside(question.within)
        for leaf, total in zip(question.leaves, totals, strict=True):
            total.add(*reader.exact(leaf))
    return [(total.n, Fraction(total.sum)) for total in totals]


def _packed_amounts(amounts: Amounts) -> Entry:
    return {"amounts": [[n, str(amount)] for n, amount in amounts]}


def _unpacked_amounts(entry: Entry) -> Amounts:
    return [(int(n), exact_fraction(text)) for n, text in entry["amounts"]]


def _counted(question: Question, counts: _Counts) -> CensusCounts:
    """The answer that follows from the counts."""
    totals, interrupted = dict(zip(question.leaves, counts.totals, strict=True)), counts.interrupted
    values = {leaf: total.mean() for leaf, total in totals.items() if total.n}
    empty = tuple(leaf for leaf in question.leaves if leaf not in values)
    answer = None if interrupted else exact_truth(question.formula, values)
    return CensusCounts(
        answer,
        tuple(_leaf_record(leaf, totals[leaf], interrupted, question.ranges) for leaf in question.leaves),
        tuple(
            _expression(quantity, relation, threshold, {} if interrupted else values)
            for quantity, relation, threshold in compared(question.formula)
        ),
        exact_groups(question, {} if interrupted else values, {leaf: total.n for leaf, total in totals.items()}),
        empty,
        counts.asked,
        interrupted,
    )


def exact_groups(
    question: Question, values: Mapping[Leaf, Fraction], draws: Mapping[Leaf, int]
) -> tuple[GroupRecord, ...]:
    """The answer for each group, from the values of the leaves; open where a group has nobody in it."""
    comparisons = [comparison for claim in question.claims for comparison in claim.comparisons]
    items = [_expression(*item, dict(values)) for comparison in comparisons for item in compared(comparison)]
    answers = [exact_truth(each, values) for each in comparisons]
    known = [(answer, item.agreeing(answer)) for answer, item in zip(answers, items, strict=True)]
    return group_records(question.claims, known, draws)


@dataclass(slots=True)
class _Total:
    """A running sum. Counts and whole numbers are exact; the mean of other numbers is read as a decimal of 15 digits.

    Numbers are stored in binary, so the mean of 0.1, 0.1 and 0.1 is not quite 0.1. With 15 digits a tie in decimals is
    a tie, and the threshold 0.1 is met.
    """

    n: int = 0
    sum: Fraction | float = Fraction(0)

    def add(self, n: int, amount: Fraction) -> None:
        self.n, self.sum = self.n + n, Fraction(self.sum) + amount

    def closed(self, leaf: Leaf) -> _Total:
        """The same, with a sum that is not a whole number rounded once to the nearest float, if there is one."""
        total = Fraction(self.sum)
        rounded = not isinstance(leaf, Rate) and not self._whole(total) and abs(total) <= sys.float_info.max
        return _Total(self.n, float(total)) if rounded else self

    def mean(self) -> Fraction:
        exact = Fraction(self.sum) / self.n
        mean = float(exact)
        # Floats nearer to 0 than this have fewer digits.
        if (isinstance(self.sum, Fraction) and self._whole(self.sum)) or abs(mean) < sys.float_info.min:
            return exact
        return Fraction(repr(mean) if mean == exact else f"{mean:.15g}")

    def _whole(self, total: Fraction) -> bool:
        """Whether all the numbers can be 64-bit integers; larger floats are taken for decimals such as 1e30."""
        return total.denominator == 1 and abs(total) < self.n * 2**64

    def pack(self) -> list[Any]:
        """The count and the sum: a fraction as text, a float in hexadecimal, so that no bit is lost."""
        return [self.n, str(self.sum) if isinstance(self.sum, Fraction) else self.sum.hex()]

    @classmethod
    def unpack(cls, pair: Sequence[Any]) -> _Total:
        n, text = pair
        amount = float.fromhex(text) if "0x" in text else exact_fraction(text)
        if type(n) is not int or n < 0 or (isinstance(amount, float) and not isfinite(amount)):
            raise DataError(f"expected a count and a finite sum in the record of a census, but got {pair!r}")
        return cls(n, amount)


@dataclass(frozen=True, slots=True)
class _Counts:
    """The counts of everybody: how many were counted, and a total for each leaf, in the question's order."""

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
        exact = exact_value(quantity, values)
        value = float(exact)
    except DataError:
        return Expression(to_text(quantity), relation, threshold, None, -np.inf, np.inf)
    except OverflowError:
        end = sys.float_info.max
        ends = (end, np.inf) if exact > 0 else (-np.inf, -end)
        return Expression(to_text(quantity), relation, threshold, None, *ends)
    return Expression(to_text(quantity), relation, threshold, value, value, value)
