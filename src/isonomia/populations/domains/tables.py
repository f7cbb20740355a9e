"""The rows of a table as inputs.

Columns are features, by number and by name. Several columns, or a column of ordered levels, can be one feature whose
value is a position. Rows at the ends of their columns can be found: smallest, largest, zero, missing, each of few
values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import chain, zip_longest
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import DataError, nearest
from isonomia.populations.domains.protocol import Function, Kind, Marked
from isonomia.populations.table import Table, distinct, plain_value, replaced

Booleans = NDArray[np.bool_]

Gap: TypeAlias = Callable[[NDArray[Any], NDArray[Any]], NDArray[np.float64]]
"""How far apart the values of two columns are, one number for each pair; it is used only where they differ."""


class RowValues(dict[Any, Any]):
    """The values of a row by column name; a number stands for the column at that index, as in a list."""

    def __init__(self, values: Mapping[str, Any] | Iterable[tuple[str, Any]], columns: Sequence[str] = ()) -> None:
        super().__init__(values)
        self.columns = tuple(columns or self)

    def __missing__(self, key: object) -> Any:
        if isinstance(key, int | np.integer) and -len(self.columns) <= key < len(self.columns):
            return self[self.columns[key]]
        raise KeyError(key)

    def __setitem__(self, key: object, value: Any) -> None:
        if key not in self and isinstance(key, int | np.integer):
            key = self.columns[key]
        super().__setitem__(key, value)

    def copy(self) -> RowValues:
        """A copy of the row."""
        return RowValues(self, self.columns)

    __copy__ = copy

    def __deepcopy__(self, memo: dict[int, Any]) -> RowValues:
        return self.copy()


@dataclass(frozen=True, slots=True, eq=False)
class TableRecords:
    """Rows of a table, some of whose columns may have been changed.

    Attributes
    ----------
    rows
        Which row each record comes from.
    changed
        The columns whose values differ from the table's.
    """

    rows: NDArray[np.intp]
    changed: Mapping[str, NDArray[Any]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, indices: NDArray[np.intp]) -> TableRecords:
        """The records at these positions."""
        return TableRecords(self.rows[indices], {name: values[indices] for name, values in self.changed.items()})


@dataclass(frozen=True, eq=False)
class TableDomain:
    """A table whose rows are the inputs.

    Attributes
    ----------
    whole
        The table.
    groups
        Features that are more than a column, by name.
    label_column
        The column with the right answers, which the model is not given; ``None`` without one.
    functions
        Further functions that a specification may call.
    name
        What to call it in messages.
    view
        Turns rows into what the model is given, such as several sections into one text; by default the rows themselves.
    gaps
        How far apart two columns of values are, for columns where that is more than equal or different.
    what
        What one input is, in the singular.
    plain
        The column that alone is given to a function of one case, such as a text without sections; ``None`` to give it
        the row.
    continuous
        Whether the model answers with several numbers for each row, as a policy with continuous actions does.
    """

    whole: Table
    groups: Mapping[str, Group] = field(default_factory=dict)
    label_column: str | None = None
    functions: Mapping[str, Function] = field(default_factory=dict)
    name: str = "the table"
    view: Callable[[Table], Table] | None = None
    gaps: Mapping[str, Gap] = field(default_factory=dict)
    what: str = "row"
    plain: str | None = None
    continuous: bool = False

    @property
    def size(self) -> int:
        """How many rows there are."""
        return self.whole.rows

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The columns that the model is given, numbered from 0."""
        return tuple(name for name in self.whole.names if name != self.label_column)

    def inputs(self, indices: NDArray[np.intp]) -> TableRecords:
        """The rows at these positions."""
        return TableRecords(indices)

    def edge_cases(self, rows: NDArray[np.intp], most: int, rng: np.random.Generator) -> NDArray[np.intp]:
        """At most ``most`` of these rows, which lie at the ends of their columns."""
        return np.asarray(rows[rows_at_ends([self.whole.column(name)[rows] for name in self.columns], most, rng)])

    def feature(self, feature: str | int) -> str:
        """The name of a feature; ``f3`` and 3 are column number 3, unless a feature is called ``f3``."""
        if isinstance(feature, str):
            if feature in self.groups or feature in self.columns:
                return feature
            if not (feature[:1] == "f" and feature[1:].isdecimal()):
                known = (*self.groups, *self.columns)
                raise DataError(f"there is no feature {feature!r}.{nearest(feature, known)} {self._offered()}")
            feature = int(feature[1:])
        if feature < 0:
            raise DataError(
                f"there is no feature number {feature}: columns are counted from 0. To name several columns that are "
                "one feature: groups={'job': ['job_1', 'job_2']} and getFeat(x1, 'job'). " + self._offered()
            )
        if not 0 <= feature < len(self.columns):
            raise DataError(
                f"there is no feature number {feature}: expected 0 to {len(self.columns) - 1}. {self._offered()}"
            )
        return self.columns[feature]

    def _offered(self) -> str:
        numbered = [f"{number} {name}" for number, name in enumerate(self.columns)][:12]
        more = ", ..." if len(self.columns) > 12 else ""
        groups = f"; groups {', '.join(self.groups)}" if self.groups else ""
        return f"The features are {', '.join(numbered)}{more}{groups}."

    def kind(self, feature: str) -> Kind:
        """Numbers for groups; otherwise what the column holds."""
        if feature in self.groups:
            return "number"
        column = self.whole.column(feature)
        match column.dtype.kind:
            case "i" | "u" | "f":
                return "number"
            case "b":
                return "truth"
            case _:
                return "text" if all(value is None or isinstance(value, str) for value in column) else "anything"

    def values(self, feature: str) -> tuple[Any, ...]:
        """The positions of a group, or the values that occur in a column."""
        if feature in self.groups:
            return tuple(range(len(self.groups[feature].levels)))
        return distinct([self.whole.column(feature)], feature)

    def column(self, records: TableRecords, name: str) -> NDArray[Any]:
        """One column of a batch."""
        changed = records.changed.get(name)
        return self.whole.column(name)[records.rows] if changed is None else changed

    def get(self, records: TableRecords, feature: str) -> Marked:
        """A feature of every record; a group has none where its columns do not give a single position."""
        group = self.groups.get(feature)
        if group is None:
            return self.column(records, feature), None
        positions, bad = group.read(partial(self.column, records))
        return positions, bad if bad.any() else None

    def set(self, records: TableRecords, feature: str, values: NDArray[Any]) -> Marked:
        """The same rows with a feature set; a group cannot be set past its ends."""
        group = self.groups.get(feature)
        if group is None:
            return TableRecords(records.rows, {**records.changed, feature: values}), None
        if values.dtype.kind not in "biuf":
            bad = np.ones(len(values), dtype=bool)
            return records, bad
        bad = ~((values >= 0) & (values < len(group.levels)) & (values % 1 == 0))
        positions = np.where(bad, 0, values)
        columns = group.write(partial(self.column, records), positions)
        return TableRecords(records.rows, {**records.changed, **columns}), bad if bad.any() else None

    def label(self, records: TableRecords) -> NDArray[Any]:
        """The right answer of every record."""
        if self.label_column is None:
            raise DataError("label(...) needs to know which column has the right answers: say so, label='COLUMN'")
        return self.column(records, self.label_column)

    def concatenate(self, parts: Sequence[TableRecords]) -> TableRecords:
        """Several batches as one."""
        names = dict.fromkeys(name for part in parts for name in part.changed)
        changed = {name: np.concatenate([self.column(part, name) for part in parts]) for name in names}
        return TableRecords(np.concatenate([part.rows for part in parts]), changed)

    def equal(self, left: TableRecords, right: TableRecords) -> NDArray[np.bool_]:
        """Which records have the same features."""
        return np.asarray(self.distance(left, right)[0] == 0)

    def distance(self, left: TableRecords, right: TableRecords) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """How many features differ, a group counting once; and by how much in total, relative to their ranges."""
        count, far = np.zeros(len(left)), np.zeros(len(left))
        for feature, mask in self.differing(left, right).items():
            count += mask
            far += np.where(mask, self._gap(left, right, feature), 0.0)
        return count, far

    def one(self, records: TableRecords, index: int) -> Any:
        """One row for a function of one case: its values by name and by number; or the plain column."""
        row = self.show(records, index)
        return row[self.plain] if self.plain is not None else RowValues(row, self.columns)

    def many(self, items: Sequence[Any]) -> TableRecords | None:
        """The results of a function of one case as records, if they are rows; ``None`` if they are other values."""
        if self.plain is not None and all(isinstance(item, str) for item in items):
            none = np.full(len(items), None, dtype=object)
            changed = {name: none for name in self.whole.names if name != self.plain}
            made = {**changed, self.plain: np.fromiter(items, dtype=object, count=len(items))}
            return TableRecords(np.zeros(len(items), dtype=np.intp), made)
        if all(isinstance(item, Mapping) for item in items):
            return self.restore(items)
        return None

    def differing(self, left: TableRecords, right: TableRecords) -> dict[str, NDArray[np.bool_]]:
        """For every feature that differs somewhere, a group counting once, the records in which it does."""
        masks: dict[str, NDArray[np.bool_]] = {}
        same_rows = np.array_equal(left.rows, right.rows)
        for feature, columns in self._features.items():
            if same_rows and not any(name in left.changed or name in right.changed for name in columns):
                continue
            mask = np.any([_differing(self.column(left, name), self.column(right, name)) for name in columns], axis=0)
            if mask.any():
                masks[feature] = mask
        return masks

    def _gap(self, left: TableRecords, right: TableRecords, feature: str) -> Any:
        """How far apart the values of a feature are, relative to its range, where they differ."""
        if feature in self.groups:
            group = self.groups[feature]
            before, after = (group.read(partial(self.column, side))[0] for side in (left, right))
            return np.abs(before - after) / max(len(group.levels) - 1, 1)
        one, other = self.column(left, feature), self.column(right, feature)
        if feature in self.gaps:
            return self.gaps[feature](one, other)
        if one.dtype.kind in "biuf" and other.dtype.kind in "biuf":
            gap = np.abs(one.astype(np.float64) - other.astype(np.float64)) / self._scale(feature)
            return np.where(np.isfinite(gap), gap, 1.0)
        return np.ones(len(left))

    @cached_property
    def _features(self) -> dict[str, tuple[str, ...]]:
        grouped = {name for group in self.groups.values() for name in group.columns}
        single = {name: (name,) for name in self.columns if name not in grouped}
        return {**single, **{name: group.columns for name, group in self.groups.items()}}

    def _scale(self, name: str) -> float:
        column = self.whole.column(name)
        if column.dtype.kind not in "biuf" or not np.isfinite(column).any():
            return 1.0
        finite = column[np.isfinite(column)].astype(np.float64)
        return float(np.ptp(finite)) or 1.0

    def show(self, records: TableRecords, index: int) -> dict[str, Any]:
        """One row as plain values, ``None`` where one is missing."""
        one = records.take(np.array([index], dtype=np.intp))
        return {name: plain_value(self.column(one, name)[0]) for name in self.whole.names}

    def restore(self, shown: Sequence[Mapping[str, Any]]) -> TableRecords:
        """The rows that were shown, whether or not the table still has them."""
        for row in shown:
            if set(row) != set(self.whole.names):
                raise DataError("expected an input with the columns of the table, but one has other columns")
        changed = {name: _as_column([row[name] for row in shown], self.whole.column(name)) for name in self.whole.names}
        return TableRecords(np.zeros(len(shown), dtype=np.intp), changed)

    def unique(self, records: TableRecords) -> NDArray[np.intp] | None:
        """The rows' numbers, if nothing was changed."""
        return None if records.changed else records.rows

    def table(self, records: TableRecords) -> Table:
        """The rows as the model gets them, without the column of right answers."""
        cut = self.whole.take(records.rows)
        rows = replaced(cut, records.changed).select(self.columns)
        return rows if self.view is None else self.view(rows)


def _as_column(values: list[Any], like: NDArray[Any]) -> NDArray[Any]:
    if like.dtype.kind == "f":
        return np.array([np.nan if value is None else float(value) for value in values])
    if like.dtype.kind in "iub" and all(isinstance(value, int | bool) for value in values):
        return np.array(values, dtype=like.dtype)
    return np.fromiter(values, dtype=object, count=len(values))


def table_domain(
    table: Table,
    groups: Mapping[str, Sequence[str]],
    orders: Mapping[str, Sequence[Any]],
    label: str | None,
    functions: Mapping[str, Function],
) -> TableDomain:
    """A table with its groups; a column whose categories have a declared order becomes an ordinal feature."""
    features: dict[str, Group] = {}
    for name, columns in groups.items():
        if name in table.names:
            raise DataError(f"the group {name!r} has the name of a column: call it something else")
        features[name] = OneHotFeature(tuple(columns))
    for name in table.names:
        levels = orders.get(name, table.order(name))
        if levels:
            features[name] = OrdinalFeature(name, tuple(levels))
    unknown = [name for name in orders if name not in table.names]
    mentioned = [
        *unknown,
        *(() if label is None else (label,)),
        *(c for group in features.values() for c in group.columns),
    ]
    for name in mentioned:
        if name not in table.names:
            raise DataError(f"the table has no column {name!r}.{nearest(name, table.names)}")
    return TableDomain(table, features, label, functions)


Column: TypeAlias = Callable[[str], NDArray[Any]]
Read: TypeAlias = tuple[NDArray[np.int64], NDArray[np.bool_]]


@dataclass(frozen=True, slots=True)
class OneHotFeature:
    """Columns of which exactly one is 1: the feature's value is its index, counted from 0 in the order given."""

    columns: tuple[str, ...]

    @property
    def levels(self) -> tuple[str, ...]:
        """The names of the positions."""
        return self.columns

    def read(self, column: Column) -> Read:
        """The position of the 1; none if no column or more than one is set."""
        hot = np.stack([np.asarray(column(name) == 1, dtype=bool) for name in self.columns])
        return hot.argmax(axis=0), np.asarray(hot.sum(axis=0) != 1)

    def write(self, column: Column, positions: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """The columns with the 1 at these positions."""
        return {
            name: (positions == index).astype(column(name).dtype if column(name).dtype.kind in "biuf" else np.int64)
            for index, name in enumerate(self.columns)
        }


@dataclass(frozen=True, slots=True)
class OrdinalFeature:
    """A column of named levels in an order: the feature's value is the level's number, counted from 0."""

    column: str
    levels: tuple[Any, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The one column."""
        return (self.column,)

    def read(self, column: Column) -> Read:
        """The number of each level; none for a value that is not a level."""
        values = column(self.column)
        same = np.stack([np.asarray(values == level, dtype=bool) for level in self.levels])
        return same.argmax(axis=0), np.asarray(~same.any(axis=0))

    def write(self, column: Column, positions: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """The column with these levels."""
        del column
        levels = np.fromiter(self.levels, dtype=object, count=len(self.levels))[positions.astype(np.intp)]
        numeric = all(isinstance(level, int | float) for level in self.levels)
        return {self.column: np.asarray(levels.tolist()) if numeric else levels}


Group: TypeAlias = OneHotFeature | OrdinalFeature


def _differing(left: NDArray[Any], right: NDArray[Any]) -> NDArray[np.bool_]:
    """Where two columns have different values; two missing numbers are the same."""
    unequal = np.asarray(left != right, dtype=bool)
    if left.dtype.kind == "f" and right.dtype.kind == "f":
        return np.asarray(unequal & ~(np.isnan(left) & np.isnan(right)))
    return unequal


FEW = 8
"""In a column of at most this many different values, each value counts as an end."""

LOOKED_THROUGH = 2**15
"""Rows that are searched; in a longer table this many at random, and those with a smallest or largest number."""


def rows_at_ends(columns: Sequence[NDArray[Any]], max_n: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """The positions of at most ``max_n`` rows at the ends of columns, those at many ends at once first.

    The ends take turns: each picks, among its rows, the one that is at the most other ends, too. Of rows at the same
    ends one is taken, at random, and others only if there is room. Frequent values need no such search, since random
    draws hit them.
    """
    if not columns or not len(columns[0]):
        return np.zeros(0, dtype=np.intp)
    candidates = _candidates(columns, rng)
    ends = [end for column in columns for end in _ends(column[candidates])]
    if not ends:
        return np.asarray(candidates[rng.permutation(len(candidates))[:max_n]])
    marks = np.stack([ends[index] for index in rng.permutation(len(ends))])
    at = marks.sum(axis=0)
    order = np.lexsort((rng.random(len(candidates)), -at))[: np.count_nonzero(at)]
    keys = rng.integers(0, 2**63, len(marks), dtype=np.uint64) @ marks.astype(np.uint64)  # one for each set of ends
    first = np.sort(np.unique(keys[order], return_index=True)[1])
    chosen = order[first][_in_turn(marks[:, order[first]], max_n)]
    return np.asarray(candidates[np.concatenate([chosen, np.delete(order, first)])[:max_n]])


def _in_turn(marks: Booleans, max_n: int) -> NDArray[np.intp]:
    """For one end after the other, the next of its rows that was not taken yet."""
    each = [np.flatnonzero(end)[:max_n].tolist() for end in marks]
    turns = (index for index in chain.from_iterable(zip_longest(*each)) if index is not None)
    return np.fromiter(dict.fromkeys(turns), dtype=np.intp)


def _candidates(columns: Sequence[NDArray[Any]], rng: np.random.Generator) -> NDArray[np.intp]:
    n = len(columns[0])
    if n <= LOOKED_THROUGH:
        return np.arange(n)
    numbers = [column for column in columns if column.dtype.kind in "iuf" and not _missing(column).all()]
    outermost = [end(column) for column in numbers for end in (_smallest, _largest)]
    some = rng.choice(n, LOOKED_THROUGH, replace=False)
    return np.unique(np.concatenate([some, np.asarray(outermost, dtype=np.intp)]))


def _smallest(column: NDArray[Any]) -> int:
    return int(np.nanargmin(column) if column.dtype.kind == "f" else np.argmin(column))


def _largest(column: NDArray[Any]) -> int:
    return int(np.nanargmax(column) if column.dtype.kind == "f" else np.argmax(column))


def _ends(column: NDArray[Any]) -> list[Booleans]:
    """For each end of a column, which rows are at it; empty for a constant column."""
    missing = _missing(column)
    match column.dtype.kind:
        case "b":
            ends = [column, ~column]
        case "i" | "u" | "f":
            ends = [] if missing.all() else _of_numbers(column)
        case _:
            ends = _of_values(column, missing)
    return [end for end in (*ends, missing) if end.any() and not end.all()]


def _of_numbers(column: NDArray[Any]) -> list[Booleans]:
    ends = [column == column[_smallest(column)], column == column[_largest(column)]]
    inside = (column == 0) & ~ends[0] & ~ends[1]
    return [*ends, inside]


def _of_values(column: NDArray[Any], missing: Booleans) -> list[Booleans]:
    """Each value if there are few; otherwise the shortest and the longest texts."""
    values = [value for value, gone in zip(column.tolist(), missing, strict=True) if not gone]
    varieties = dict.fromkeys(map(str, values))
    texts = np.array(["" if gone else str(value) for value, gone in zip(column.tolist(), missing, strict=True)])
    if len(varieties) <= FEW:
        return [(texts == value) & ~missing for value in varieties]
    lengths = np.where(missing, -1, np.char.str_len(texts))
    present = lengths[~missing]
    return [lengths == present.min(), lengths == present.max()]


def _missing(column: NDArray[Any]) -> Booleans:
    if column.dtype.kind == "f":
        return np.asarray(np.isnan(column))
    if column.dtype.kind in "biu":
        return np.zeros(len(column), dtype=bool)
    return np.array([value is None or value != value for value in column.tolist()], dtype=bool)
