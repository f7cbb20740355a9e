"""Counting: from a table and the model's answers to the tallies of channels, and checks that people are as promised.

Rows go no further than here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from operator import and_
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.protocol import Check
from isonomia.audits.rates.question import RatesQuestion, VersionColumns
from isonomia.errors import DataError, SpecError
from isonomia.evidence.bet_evidence import BetEvidence
from isonomia.evidence.exact import exact_sum, fraction_of
from isonomia.evidence.protocol import Channel, Grid, Tallies, stream_of
from isonomia.models.protocol import named_models
from isonomia.models.session import ModelSession
from isonomia.populations.cells import CellBatch, cell_batch, refuse_to_copy
from isonomia.populations.finite import Census, Sample
from isonomia.populations.protocol import Population, facts_of
from isonomia.populations.streaming import LongTable, Rows
from isonomia.populations.table import Table
from isonomia.records.journal import Entry
from isonomia.spec.analysis import conjuncts
from isonomia.spec.columns import count, first, host, is_tensor, kind_of, namespace, some, together
from isonomia.spec.evaluate import Batch, numbers, truth
from isonomia.spec.property import Property
from isonomia.spec.text import to_text, value_text
from isonomia.spec.tree import (
    Column,
    Compare,
    Leaf,
    Literal,
    Mean,
    Member,
    Missing,
    Other,
    Output,
    Rate,
    Row,
    RowJunction,
    RowNegative,
    RowNot,
    Version,
    columns_of,
    outputs_of,
    versions_of,
)
from isonomia.wording import first_few

Booleans = NDArray[np.bool_]


def batch_of(question: RatesQuestion, session: ModelSession | None, people: Mapping[Version | None, Table]) -> Batch:
    """Query the model once about each version of some people, and keep the columns that the question names."""
    versions = {
        version: _batch(question.asked[version], session, table, {})
        for version, table in people.items()
        if version is not None
    }
    return _batch(question.asked[None], session, people[None], versions)


def _batch(
    asked: VersionColumns, session: ModelSession | None, table: Table, versions: Mapping[Version, Batch]
) -> Batch:
    columns = {name: table.array(name) for name in asked.columns if name in table.names}
    if session is None or not asked.model:
        return Batch(table.rows, columns, versions=versions)
    answer, several = session(table, asked.score, asked.prediction), named_models(session)
    if several is not None:
        return Batch(table.rows, columns, versions=versions, outputs=several.split(answer))
    return Batch(table.rows, columns, answer.prediction, answer.score, answer.classes, versions)


@dataclass(slots=True)
class BatchReader:
    """Evaluates conditions, events and terms on one batch, each once however many leaves share it.

    Columns that are tensors are evaluated and counted on their device; only counts come back. Conditions that columns
    equal a text are met by the rows in an index of these columns, where they are ``indexed``. Where the batch has cells
    of a table, ``times`` says how many rows each one is; it has no means then.
    """

    batch: Batch
    where: Callable[[int], str]
    indexed: frozenset[Column] = frozenset()
    times: NDArray[np.float64] | None = None
    _members: dict[Row, Booleans] = field(default_factory=dict)
    _terms: dict[Row, NDArray[Any]] = field(default_factory=dict)
    _sizes: dict[Row, int] = field(default_factory=dict)
    _rows: dict[Column, dict[str, list[int]] | None] = field(default_factory=dict)

    def members(self, given: Row | None) -> Booleans | None:
        """Which rows meet a condition; ``None`` for all rows."""
        return None if given is None else self._met(given)

    def tally(self, channel: Channel, folds: NDArray[np.int64] | None) -> NDArray[np.float64]:
        """Count a channel's draws by cell."""
        if channel.crossing:
            return self._crossed(channel)
        (only, *others) = channel.leaves
        if self.times is not None:
            columns, chosen = [self._values(leaf) for leaf in channel.leaves], self.members(channel.given)
            return channel.grid.tally(columns, self.times if chosen is None else self.times * chosen)
        if not others and isinstance(only, Rate) and channel.fold is None:
            rows, event = self._rows_with(channel.given), self._values(only)
            if rows is not None and not is_tensor(event):
                yes = np.count_nonzero(event[rows])
                return np.asarray([len(rows) - yes, yes], dtype=float)
        chosen = self.members(channel.given)
        if channel.fold is not None and folds is not None:
            held = folds == channel.fold.index
            chosen = held if chosen is None else and_(*together([chosen, held]))
        if not others and isinstance(only, Rate):
            return self._yes_no(only, chosen, channel.given if channel.fold is None else None)
        columns = [_picked(self._values(leaf), chosen) for leaf in channel.leaves]
        for leaf, column in zip(channel.leaves, columns, strict=True):
            if isinstance(leaf, Mean):
                self._check_range(leaf, column, chosen, channel.grid.nodes[channel.leaves.index(leaf)])
        return tally(channel.grid, columns)

    def _crossed(self, channel: Channel) -> NDArray[np.float64]:
        """Count by membership of every group, and by every leaf within its own."""
        columns: list[NDArray[Any]] = [self._met(given) for given in channel.crossing]
        for leaf, nodes in zip(channel.leaves, channel.grid.nodes[len(channel.crossing) :], strict=True):
            values, chosen = self._values(leaf), self.members(leaf.given)
            if isinstance(leaf, Mean):
                self._check_range(leaf, _picked(values, chosen), chosen, nodes)
            absent = False if isinstance(leaf, Rate) else nodes[0]
            columns.append(values if chosen is None else _where(chosen, values, absent))
        return tally(channel.grid, columns) if self.times is None else channel.grid.tally(columns, self.times)

    def numbers(self, leaf: Leaf, chosen: Booleans, span: tuple[float, float]) -> NDArray[np.float64]:
        """A leaf's value for each of the chosen people: 0 or 1 for a rate, a number within its range for a mean."""
        values = _picked(self._values(leaf), chosen)
        if isinstance(leaf, Mean):
            self._check_range(leaf, values, chosen, span)
        return np.asarray(host(values), dtype=float)

    def refuse_outside(self, leaves: Sequence[Mean]) -> None:
        """Make sure that no number is missing or out of range in the rows of its group."""
        for leaf in leaves:
            chosen, span = self.members(leaf.given), (_or(leaf.low, -np.inf), _or(leaf.high, np.inf))
            self._check_range(leaf, _picked(self._values(leaf), chosen), chosen, span)

    def exact(self, leaf: Leaf) -> tuple[int, Fraction]:
        """How many people a leaf's group has in this batch, and the sum of its values over them, without rounding."""
        chosen = self.members(leaf.given)
        if isinstance(leaf, Rate):
            no, yes = self._yes_no(leaf, chosen)
            return int(no + yes), Fraction(int(yes))
        column = self._values(leaf) if chosen is None else self._values(leaf)[chosen]
        self._check_range(leaf, column, chosen, (_or(leaf.low, -np.inf), _or(leaf.high, np.inf)))
        self._refuse_infinite(leaf, column, chosen)
        whole = self.batch.column(leaf.term.name) if isinstance(leaf.term, Column) and not leaf.term.version else column
        if whole.dtype.kind in "iu":  # as floats, integers beyond 2**53 would be rounded
            return len(column), exact_sum(whole if chosen is None else whole[chosen])
        return len(column), exact_sum(column)

    def apart(self, groups: Sequence[Row | None]) -> int | None:
        """The first row that meets two of the conditions, or ``None`` if no row does."""
        if len(indexed_columns(groups, 1)) == 1 and all(self._rows_with(given) is not None for given in groups):
            return None  # different texts of one column
        taken: Booleans | None = None
        for given in groups:
            chosen = self.members(given)
            mask = np.ones(self.batch.rows, dtype=bool) if chosen is None else chosen
            if taken is None:
                taken = mask
                continue
            taken, mask = together([taken, mask])
            both = taken & mask
            if some(both):
                return first(both)
            taken = taken | mask
        return None

    def misfit(self, condition: Row) -> int | None:
        """The first row that does not meet a condition; ``None`` when all do, or when the columns are not there."""
        if any(name not in self.batch.columns for name in columns_of(condition)):
            return None
        met = truth(condition, self.batch)
        return None if count(met) == len(met) else first(~met)

    def _met(self, given: Row) -> Booleans:
        met = self._members.get(given)
        if met is None:
            met = self._members[given] = truth(given, self.batch)
        return met

    def _rows_with(self, given: Row | None) -> list[int] | None:
        """The rows that meet ``column == 'text'``, from an index of the column; ``None`` where it has none."""
        match given:
            case Compare("==", Column() as column, Literal(str() as text)) if column in self.indexed:
                pass
            case _:
                return None
        if column not in self._rows:
            values = self.batch.column(column.name)
            self._rows[column] = _rows_by_text(values) if kind_of(values) == "text" else None
        index = self._rows[column]
        return None if index is None else index.get(text, [])

    def _yes_no(self, leaf: Rate, chosen: Booleans | None, given: Row | None = None) -> NDArray[np.float64]:
        """Count an event among the people chosen, who are those that meet ``given`` unless it is ``None``."""
        event = self._values(leaf)
        n = self.batch.rows if chosen is None else self._count(chosen, given)
        yes = count(event if chosen is None else and_(*together([event, chosen])))
        return np.asarray([n - yes, yes], dtype=float)

    def _count(self, chosen: Booleans, given: Row | None) -> int:
        if given is None:
            return count(chosen)
        if given not in self._sizes:
            self._sizes[given] = count(chosen)
        return self._sizes[given]

    def _values(self, leaf: Leaf) -> NDArray[Any]:
        if isinstance(leaf, Rate):
            return self._met(leaf.event)
        values = self._terms.get(leaf.term)
        if values is None:
            values = self._terms[leaf.term] = numbers(leaf.term, self.batch)
        return values

    def _check_range(
        self, leaf: Mean, column: NDArray[np.float64], chosen: Booleans | None, nodes: tuple[float, ...]
    ) -> None:
        outside = ~((column >= nodes[0]) & (column <= nodes[-1]))
        if not some(outside):
            return
        index = first(outside)
        row = index if chosen is None else int(np.flatnonzero(host(chosen))[index])
        value = float(column[index])
        if isinstance(leaf.term, Missing):
            raise DataError(
                f"expected {to_text(leaf.term.operand)} in every row, but it is missing for {self.where(row)}. Give "
                "failed answers a separate value, which counts as wrong; leave out other rows with a condition"
            )
        term = to_text(leaf.term)
        if np.isnan(value):
            raise DataError(
                f"expected a number for {term} in every row of {to_text(leaf)}, but it is missing for "
                f"{self.where(row)}. Leave such people out with a condition: {term} is not missing."
            )
        raise DataError(
            f"expected {term} between {nodes[0]:g} and {nodes[-1]:g}, but it is {value:g} for {self.where(row)}. "
            "Declare a wider range, or leave such people out with a condition: the guarantee rests on it."
        )

    def _refuse_infinite(self, leaf: Mean, column: NDArray[np.float64], chosen: Booleans | None) -> None:
        infinite = np.isinf(column)
        if bool(infinite.any()):
            index = int(np.argmax(infinite))
            row, term = index if chosen is None else int(np.flatnonzero(chosen)[index]), to_text(leaf.term)
            raise DataError(
                f"expected a finite number for {term} in every row of {to_text(leaf)}, but it is {column[index]:g} for "
                f"{self.where(row)}, and then the mean is not a number. Leave such people out with a condition, such "
                f"as {term} < 1e300."
            )


def cell_sums(question: RatesQuestion, rows: Rows) -> tuple[tuple[int, Fraction], ...] | None:
    """How many rows each leaf's group has, and the sum of its values over them, as the table's engine counts them.

    ``None`` where rows should be read instead: where engines differ, and where a number is missing or out of its range,
    so that the message can show its row.
    """
    leaves = (*question.leaves, *question.within)
    conditions = [row for leaf in leaves for row in (leaf.given, leaf.event if isinstance(leaf, Rate) else None)]
    terms = list(dict.fromkeys(leaf.term for leaf in leaves if isinstance(leaf, Mean)))
    cells = cell_batch(rows, conditions, terms)
    try:
        sums = None if cells is None else [_cell_sum(leaf, cells) for leaf in leaves]
    except (DataError, SpecError) as error:
        refuse_to_copy(rows, error)
        return None
    return None if sums is None else tuple(sums[: len(question.leaves)])


def _cell_sum(leaf: Leaf, cells: CellBatch) -> tuple[int, Fraction]:
    chosen = np.ones(len(cells.n), dtype=bool) if leaf.given is None else truth(leaf.given, cells.batch)
    n = int(cells.n[chosen].sum())
    if isinstance(leaf, Rate):
        return n, Fraction(int(cells.n[chosen & truth(leaf.event, cells.batch)].sum()))
    numbers = cells.totals[leaf.term]
    low, high = np.nanmin(numbers.low[chosen], initial=np.inf), np.nanmax(numbers.high[chosen], initial=-np.inf)
    if numbers.n[chosen].sum() != n or low < _or(leaf.low, -np.inf) or high > _or(leaf.high, np.inf):
        raise DataError(f"a number of {to_text(leaf)} is missing or out of its range")
    return n, sum((fraction_of(numbers.limbs, cell) for cell in np.flatnonzero(chosen).tolist()), Fraction(0))


def _picked(values: Any, chosen: Any) -> Any:
    """The values of those chosen; all of them for ``None``."""
    if chosen is None:
        return values
    values, chosen = together([values, chosen])
    return values[chosen]


def _where(chosen: Any, values: Any, absent: bool | float) -> Any:
    chosen, values = together([chosen, values])
    if not is_tensor(values):
        return np.where(chosen, values, absent)
    xp = namespace(values)
    return xp.where(chosen, values, xp.full_like(values, absent))


def tally(grid: Grid, columns: Sequence[Any]) -> NDArray[np.float64]:
    """Count draws by cell, where their columns are."""
    if not any(map(is_tensor, columns)):
        return grid.tally(columns)
    columns = together(columns)
    xp = namespace(columns[0])
    truths = [xp.isdtype(column.dtype, "bool") for column in columns]
    if grid.size == 2 and all(truths):
        yes = count(columns[0])
        return np.asarray([len(columns[0]) - yes, yes], dtype=float)
    # Parts of a draw are counted in whole multiples of a unit, chosen so that their sum is exact in double precision:
    # a device adds in any order, and the sum does not depend on it.
    unit = 2.0 ** (51 - max(len(columns[0]), 1).bit_length())
    parts = [(xp.zeros_like(columns[0], dtype=xp.int64), xp.full_like(columns[0], unit, dtype=xp.float64))]
    for axis, column, is_truth in zip(grid.nodes, columns, truths, strict=True):
        if is_truth:
            parts = [(where * len(axis) + xp.astype(column, xp.int64), weight) for where, weight in parts]
            continue
        position = (column - axis[0]) * ((len(axis) - 1) / (axis[-1] - axis[0]))
        below = xp.clip(xp.floor(position), 0, len(axis) - 2)
        above, node = xp.clip(position - below, 0.0, 1.0), xp.astype(below, xp.int64)
        parts = [part for where, weight in parts for part in _spread(xp, where * len(axis) + node, weight, above)]
    total = np.zeros(grid.size)
    for where, weight in parts:
        total += host(xp.bincount(where, weights=weight, minlength=grid.size))
    return total / unit


def _spread(xp: Any, where: Any, weight: Any, above: Any) -> list[tuple[Any, Any]]:
    """A draw between two nodes counts for both; the two parts are whole multiples of the unit, and sum to the draw."""
    upper = xp.round(weight * above)
    return [(where, weight - upper), (where + 1, upper)]


def group_sizes(check: Check[Property], question: RatesQuestion) -> dict[Leaf, float] | None:
    """How many rows each leaf's group has; ``None`` if unknown, or rows are drawn with replacement.

    It is known for a census whose leaves are all yes/no, and whose groups do not depend on the model.
    """
    population = check.population
    if not isinstance(population, Census) or check.method not in {"auto", "bets"} or len(question.asked) > 1:
        return None
    if any(
        not isinstance(leaf, Rate) or (leaf.given is not None and outputs_of(leaf.given)) for leaf in question.leaves
    ):
        return None
    columns = {name: population.table.column(name) for name in question.asked[None].columns if name in population.names}
    reader = BatchReader(Batch(population.size, columns), lambda row: f"row {row}")
    members = {leaf: reader.members(leaf.given) for leaf in question.leaves}
    return {
        leaf: float(population.size if chosen is None else np.count_nonzero(chosen)) for leaf, chosen in members.items()
    }


def refuse_known_outside(question: RatesQuestion, population: Population, has_model: bool) -> None:
    """Make sure that a table has no number outside the range that is declared for it, unless its rows come in order.

    Draws alone might meet such a number late or never, and then what they say of the mean is wrong. A model's outputs
    are checked in the draws.
    """
    known = facts_of(population).rows
    if isinstance(known, LongTable):
        ordered = not isinstance(population, Sample) or population.row_order == "file"
        if ordered or not any(isinstance(leaf, Mean) for leaf in (*question.within, *question.leaves)):
            return
        known = known.table()
    if known is None:
        return
    for leaf in (*question.within, *question.leaves):
        if not isinstance(leaf, Mean) or versions_of(leaf) or (has_model and outputs_of(leaf)):
            continue
        names = {*columns_of(leaf), *(output.name for output in outputs_of(leaf))}
        batch = Batch(known.rows, {name: known.column(name) for name in names if name in known.names})
        reader = BatchReader(batch, lambda row: f"row {row}: {{{known.shown(row)}}}")
        members, values = reader.members(leaf.given), numbers(leaf.term, batch)
        if leaf in question.within:
            reader.refuse_outside((leaf,))
            continue
        there = ~np.isnan(values) if members is None else members & ~np.isnan(values)
        reader.numbers(leaf, there, question.ranges[leaf])


def _rows_by_text(values: NDArray[Any]) -> dict[str, list[int]]:
    rows: dict[str, list[int]] = {}
    for row, text in enumerate(values.tolist()):
        rows.setdefault(text, []).append(row)
    return rows


def _or(value: float | None, otherwise: float) -> float:
    return otherwise if value is None else value


MANY_TEXTS = 16
"""With this many conditions on a column's texts, an index is quicker than a comparison for each. Changes cost only."""


def indexed_columns(conditions: Iterable[Row | None], many: int = MANY_TEXTS) -> frozenset[Column]:
    """The columns that so many different conditions compare with a text."""
    tested: Counter[Column] = Counter()
    for condition in dict.fromkeys(conditions):
        match condition:
            case Compare("==", Column(_, None) as column, Literal(str())):
                tested[column] += 1
            case _:
                pass
    return frozenset(column for column, times in tested.items() if times >= many)


Apart: TypeAlias = tuple[tuple[int, tuple[Row | None, ...]], ...]
"""Sets of groups that must be disjoint, each with its stream."""


def groups_apart(bets: BetEvidence) -> Apart:
    """The groups that a comparison assumes to be disjoint, stream by stream, to be checked on every batch."""
    disjoint: dict[tuple[int, frozenset[Row | None]], tuple[Row | None, ...]] = {}
    for table in (*bets.against, *bets.in_favour):
        for stream in {channel.stream for channel in table.channels}:
            for fold in {channel.fold for channel in table.channels}:
                groups = dict.fromkeys(
                    channel.given for channel in table.channels if (channel.stream, channel.fold) == (stream, fold)
                )
                if len(groups) > 1:
                    disjoint.setdefault((stream, frozenset(groups)), tuple(groups))
    return tuple((stream, groups) for (stream, _), groups in disjoint.items())


@dataclass(frozen=True, slots=True)
class DeclaredFacts:
    """What is promised about the people of a check.

    Attributes
    ----------
    question, population
        What to decide, and about which population.
    apart
        The groups that exclude each other.
    """

    question: RatesQuestion
    population: Population
    apart: Apart

    def refuse(self, reader: BatchReader, table: Table, stream: int) -> None:
        """Make sure that every row of a batch is as promised."""
        self._refuse_in_two_groups(reader, table, stream)
        self._refuse_in_another_stream(reader, table, stream)
        self._refuse_unforeseen(reader, table)
        reader.refuse_outside(self.question.within)

    def _refuse_in_two_groups(self, reader: BatchReader, table: Table, stream: int) -> None:
        for where, groups in self.apart:
            row = reader.apart(groups) if where == stream else None
            if row is not None:
                raise DataError(
                    f"expected that no row meets two of the conditions {_listed(groups)}, but this row does: "
                    f"{{{table.shown(row)}}}"
                )

    def _refuse_in_another_stream(self, reader: BatchReader, table: Table, stream: int) -> None:
        condition = self.population.streams[stream]
        row = None if condition is None else reader.misfit(condition)
        if condition is not None and row is not None:
            raise DataError(
                f"expected only people with {to_text(condition)} from stream {stream}, but got this one: "
                f"{{{table.shown(row)}}}"
            )

    def _refuse_unforeseen(self, reader: BatchReader, table: Table) -> None:
        """Refuse a value that appears late: "for every value" would miss its group."""
        for name, known in self.question.covered if self.population.size is None else ():
            row = reader.misfit(known)
            if row is not None:
                listed = first_few([value_text(value) for value in self.question.values[name]], 12)
                raise DataError(
                    f"expected {name} to be one of the values declared or seen in a pilot draw, {listed}, but got "
                    f"{table.row(row)[name]!r}: {{{table.shown(row)}}}. Declare them all, "
                    f"values={{{name!r}: [...]}}, with the population."
                )


@dataclass(frozen=True, slots=True)
class BatchCounts:
    """The result of one batch: how many people, the counts in every channel, and what is kept of its rows."""

    people: int
    tallies: Tallies
    kept: Entry = field(default_factory=dict)


def whole_table_counts(promises: DeclaredFacts, n: Sequence[int], channels: Sequence[Channel]) -> BatchCounts | None:
    """All rows of a sample, in whatever order, as the engine of its table counts them; ``None`` where rows are drawn.

    ``n`` is how many people of each stream are requested.
    """
    people, question = promises.population, promises.question
    rows = facts_of(people).rows if isinstance(people, Sample) else None
    leaves = [leaf for channel in channels for leaf in channel.leaves]
    simple = not question.within and set(question.asked) == {None} and all(isinstance(leaf, Rate) for leaf in leaves)
    if rows is None or n != [rows.rows] or not simple or any(channel.fold for channel in channels):
        return None
    conditions = [row for leaf in leaves if isinstance(leaf, Rate) for row in (leaf.event, leaf.given)]
    cells = cell_batch(rows, [*conditions, *(row for each in channels for row in (each.given, *each.crossing))])
    if cells is None:
        return None
    reader = BatchReader(cells.batch, lambda row: f"cell {row}", times=cells.n.astype(float))
    try:
        promises.refuse(reader, cells.table, 0)
        return BatchCounts(rows.rows, {channel: reader.tally(channel, None) for channel in channels})
    except (DataError, SpecError):
        return None  # the rows have the person to be named


def _listed(groups: tuple[Row | None, ...]) -> str:
    return ", ".join("all rows" if group is None else to_text(group) for group in groups)


def need_streams(leaves: Sequence[Leaf], streams: Sequence[Row | None]) -> None:
    """Make sure that each leaf can be read from a stream.

    A stream gives the people of one group, and its second persons are from that group too. So a leaf that speaks of a
    second person must state for both that they belong to it; otherwise ``other`` would range over fewer people than
    the property says.
    """
    for leaf in leaves:
        index = stream_of(leaf, streams)
        if index is None:
            raise SpecError(
                f"{to_text(leaf)} has {_condition(leaf)}, but this population can only be drawn by its streams, "
                f"{_listed_streams(streams)}: each leaf's condition must name one of them",
                leaf.place,
            )
        if Other() in versions_of(leaf) and not _of_both(streams[index], leaf):
            raise SpecError(
                f"{to_text(leaf)} compares with a second person drawn from all rows, but this population can only be "
                f"drawn by its streams, {_listed_streams(streams)}: the leaf's condition must restrict both "
                "persons to the same stream",
                leaf.place,
            )


def _of_both(condition: Row | None, leaf: Leaf) -> bool:
    conditions = set(conjuncts(leaf.given))
    return all(_of_the_other(part) in conditions for part in conjuncts(condition))


def _of_the_other(row: Row) -> Row | None:
    """The same condition for a second person; ``None`` where it cannot be stated."""
    match row:
        case Literal():
            return row
        case Column(version=None) | Output(version=None):
            return replace(row, version=Other())
        case RowNot(operand) | Missing(operand) | RowNegative(operand) | Member(operand):
            inner = _of_the_other(operand)
            return None if inner is None else replace(row, operand=inner)
        case Compare(_, left, right):
            first, second = _of_the_other(left), _of_the_other(right)
            return None if first is None or second is None else replace(row, left=first, right=second)
        case RowJunction(_, operands):
            parts = tuple(part for part in map(_of_the_other, operands) if part is not None)
            return replace(row, operands=parts) if len(parts) == len(operands) else None
        case _:
            return None


def _condition(leaf: Leaf) -> str:
    return "no condition" if leaf.given is None else f"the condition {to_text(leaf.given)}"


def _listed_streams(streams: Sequence[Row | None]) -> str:
    return " and ".join("all rows" if row is None else to_text(row) for row in streams)
