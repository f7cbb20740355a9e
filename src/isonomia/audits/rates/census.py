"""The exact check of a census: every row, or every ordered pair of rows, is counted once; nothing is estimated."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import isfinite
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.people import AT_ONCE, batch_size, narrowed
from isonomia.audits.pieces import CensusCount, RowCounter, count_population, rows_for_engine
from isonomia.audits.protocol import Check
from isonomia.audits.rates.counting import BatchReader, batch_of, cell_sums
from isonomia.audits.rates.groups import group_records
from isonomia.audits.rates.question import RatesQuestion, VersionColumns, in_all
from isonomia.engine.parameters import Observer, root
from isonomia.errors import DataError
from isonomia.evidence.exact import exact_truth, exact_value
from isonomia.evidence.normal_form import compared
from isonomia.models.session import ModelSession
from isonomia.populations.protocol import Population, people
from isonomia.records.journal import Entry, exact_fraction
from isonomia.records.verdict import Expression, GroupRecord, LeafRecord
from isonomia.spec.evaluate import Batch
from isonomia.spec.property import Property
from isonomia.spec.text import to_text
from isonomia.spec.tree import Leaf, Other, Quantity, Rate, Version, leaves_of


def census_batches(
    question: RatesQuestion, session: ModelSession | None, whole: Population
) -> Iterator[tuple[int, Batch]]:
    """Go through a census in batches, each with the number of its first person or pair.

    The model is queried about each person once, even where every person is paired with every person, themselves
    included: a pair is two independent draws.
    """
    if Other() not in question.asked:
        yield from _one_by_one(question, session, whole)
        return
    alone = _without_pairs(question)
    # A census small enough for all pairs fits into one batch.
    (_, together), size = next(_one_by_one(alone, session, whole)), in_all(alone, whole.size)
    for start in range(0, size * size, AT_ONCE):
        pair = np.arange(start, min(start + AT_ONCE, size * size))
        first, second = _taken(together, pair // size), _taken(together, pair % size)
        others: dict[Version, Batch] = {**first.versions, Other(): second}
        yield start, replace(first, versions=others)


def _one_by_one(
    question: RatesQuestion, session: ModelSession | None, whole: Population, begin: int = 0, end: int | None = None
) -> Iterator[tuple[int, Batch]]:
    model = None if session is None else session.model
    wanted = narrowed(question.wanted, question.asked[None].columns, model, whole.names)
    source, at_once = whole.open(root(0), wanted), batch_size(whole)
    stop = in_all(question, whole.size) if end is None else end
    for start in range(begin, stop, at_once):
        drawn = people(source, wanted, start, min(at_once, stop - start), np.random.default_rng(0), 0)
        yield start, batch_of(question, session, drawn)


def _without_pairs(question: RatesQuestion) -> RatesQuestion:
    """The question that reads for each person what it reads for either member of a pair."""
    needed = dict(question.asked)
    other, own = needed.pop(Other()), needed[None]
    columns = tuple(dict.fromkeys((*own.columns, *other.columns)))
    both: Mapping[Version | None, VersionColumns] = {
        **needed,
        None: VersionColumns(columns, own.prediction or other.prediction, own.score or other.score),
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
        {output: values[rows] for output, values in batch.outputs.items()},
    )


@dataclass(frozen=True, slots=True)
class CensusResult:
    """The result of a census.

    Attributes
    ----------
    answer
        Whether the formula is true; ``None`` where that depends on an empty group, or where it was
        interrupted.
    leaves, expressions, groups
        The exact values, and the answer for each group.
    empty
        The leaves whose group is empty.
    asked
        How many people, or pairs, were counted.
    interrupted
        Whether Ctrl-C stopped the count.
    """

    answer: bool | None
    leaves: tuple[LeafRecord, ...]
    expressions: tuple[Expression, ...]
    groups: tuple[GroupRecord, ...]
    empty: tuple[Leaf, ...]
    asked: int
    interrupted: bool


def count_census(check: Check[Property], question: RatesQuestion, observer: Observer) -> CensusResult:
    """Count every row, or every pair of rows, and evaluate the formula on the exact values."""
    size = in_all(question, check.population.size)
    counted = count_population(
        check,
        RowCounter(_batches, question, tuple(_Total() for _ in question.leaves), _added, _packed, _unpacked),
        size,
        observer,
        pack=lambda counted: _packed_whole(question, counted),
        unpack=lambda entry: _unpacked_whole(question, entry, size),
        counted=question.counted,
        sharing=check.sharing if set(question.asked) <= {None, Other()} else None,
        by_pool=Other() not in question.asked,
    )
    return _evaluated(question, counted)


def _batches(
    question: RatesQuestion, session: ModelSession | None, census: Population, start: int, stop: int
) -> Iterator[tuple[int, Totals]]:
    """The rows or pairs in parts: the size, counts and sums of each part; an engine counts all in one part."""
    paired = Other() in question.asked
    rows = rows_for_engine(session, census, start, stop) if set(question.asked) == {None} else None
    sums = None if rows is None else cell_sums(question, rows)
    if rows is not None and sums is not None:
        yield rows.rows, tuple(_Total(*amounts) for amounts in sums)
        return
    batches = (
        census_batches(question, session, census) if paired else _one_by_one(question, session, census, start, stop)
    )
    for first, batch in batches:
        reader = BatchReader(batch, _row_from(first))
        reader.refuse_outside(question.within)
        yield batch.rows, tuple(_Total(*reader.exact(leaf)) for leaf in question.leaves)


def _added(one: Totals, other: Totals) -> Totals:
    return tuple(_Total(a.n + b.n, Fraction(a.sum) + Fraction(b.sum)) for a, b in zip(one, other, strict=True))


def _packed(totals: Totals) -> Entry:
    return {"amounts": [total.pack() for total in totals]}


def _unpacked(entry: Entry) -> Totals:
    return tuple(_Total(int(n), exact_fraction(text)) for n, text in entry["amounts"])


def _evaluated(question: RatesQuestion, counted: CensusCount[Totals]) -> CensusResult:
    """The answer that follows from the counts."""
    interrupted = counted.interrupted
    totals = {leaf: total.closed(leaf) for leaf, total in zip(question.leaves, counted.counts, strict=True)}
    values = {leaf: total.mean() for leaf, total in totals.items() if total.n}
    empty = tuple(leaf for leaf in question.leaves if leaf not in values)
    answer = None if interrupted else exact_truth(question.formula, values)
    return CensusResult(
        answer,
        tuple(_leaf_record(leaf, totals[leaf], interrupted, question.ranges) for leaf in question.leaves),
        tuple(
            _expression(quantity, relation, threshold, {} if interrupted else values)
            for quantity, relation, threshold in compared(question.formula)
        ),
        exact_groups(question, {} if interrupted else values, {leaf: total.n for leaf, total in totals.items()}),
        empty,
        counted.people,
        interrupted,
    )


def exact_groups(
    question: RatesQuestion, values: Mapping[Leaf, Fraction], draws: Mapping[Leaf, int]
) -> tuple[GroupRecord, ...]:
    """The answer for each group, from the values of the leaves; undecided where a group is empty."""
    comparisons = [comparison for claim in question.claims for comparison in claim.comparisons]
    items = [_expression(*item, dict(values)) for comparison in comparisons for item in compared(comparison)]
    answers = [exact_truth(each, values) for each in comparisons]
    known = [(answer, item.agreeing(answer)) for answer, item in zip(answers, items, strict=True)]
    return group_records(question.claims, known, draws)


@dataclass(frozen=True, slots=True)
class _Total:
    """A count and a sum. Counts and whole numbers are exact; other means are read as decimals of 15 digits.

    Numbers are stored in binary, so the mean of 0.1, 0.1 and 0.1 is not quite 0.1. With 15 digits a tie in decimals is
    a tie, and the threshold 0.1 is met.
    """

    n: int = 0
    sum: Fraction | float = Fraction(0)

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


Totals: TypeAlias = tuple[_Total, ...]
"""A total for each leaf, in the question's order."""


def _packed_whole(question: RatesQuestion, counted: CensusCount[Totals]) -> Entry:
    closed = [total.closed(leaf) for leaf, total in zip(question.leaves, counted.counts, strict=True)]
    return {"asked": counted.people, "totals": [total.pack() for total in closed]}


def _unpacked_whole(question: RatesQuestion, entry: Entry, people: int) -> CensusCount[Totals]:
    totals = tuple(_Total.unpack(pair) for pair in entry["totals"])
    if entry["asked"] != people or len(totals) != len(question.leaves):
        raise DataError(
            f"expected the record of a census of {people:,} {question.counted} and of {len(question.leaves)} rates,"
            f" but it is of {entry['asked']!r:.40} and of {len(totals)}"
        )
    return CensusCount(people, totals)


def _row_from(start: int) -> Callable[[int], str]:
    return lambda row: f"row {start + row}"


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
