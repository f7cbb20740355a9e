"""Rows of a table; one-hot and ordinal features.

Rows of a table, changed here and there.

Several columns, or a column of ordered levels, as one feature whose value is a position.

The rows of a table as inputs: features by number and by name, groups of columns as single features.

A table whose groups of columns, and whose ordered categories, are single features.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import DataError, nearest
from isonomia.populations.columns import distinct, plain_value
from isonomia.populations.domains.protocol import Function, Kind, Marked
from isonomia.populations.domains.table_edits import Gap, differing, replaced, rows_at_ends
from isonomia.populations.table import Table

__all__ = ["Group", "OneHot", "Ordinal", "TableDomain", "TableRecords", "table_domain"]


@dataclass(frozen=True, slots=True, eq=False)
class TableRecords:
    """Rows of a table, some columns of which may have other values than in the table.

    Attributes
    ----------
    rows
        Which row each record comes from.
    changed
        The columns that are not as in the table.
    """

    rows: NDArray[np.intp]
    changed: Mapping[str, NDArray[Any]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, indices: NDArray[np.intp]) -> TableRecords:
        """The records at these positions."""
        return TableRecords(self.rows[indices], {name: values[indices] for name, values in self.changed.items()})


Column: TypeAlias = Callable[[str], NDArray[Any]]
Read: TypeAlias = tuple[NDArray[np.int64], NDArray[np.bool_]]


@dataclass(frozen=True, slots=True)
class OneHot:
    """Columns of which exactly one is 1: the feature's value is which, counted from 0 in the order given."""

    columns: tuple[str, ...]

    @property
    def levels(self) -> tuple[str, ...]:
        """What the positions are called."""
        return self.columns

    def read(self, column: Column) -> Read:
        """The position of the 1; there is none where no column or more than one is set."""
        hot = np.stack([np.asarray(column(name) == 1, dtype=bool) for name in self.columns])
        return hot.argmax(axis=0), np.asarray(hot.sum(axis=0) != 1)

    def write(self, column: Column, positions: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """The columns with the 1 at these positions."""
        return {
            name: (positions == place).astype(column(name).dtype if column(name).dtype.kind in "biuf" else np.int64)
            for place, name in enumerate(self.columns)
        }


@dataclass(frozen=True, slots=True)
class Ordinal:
    """A column of named levels in an order: the feature's value is the level's number, counted from 0."""

    column: str
    levels: tuple[Any, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The one column."""
        return (self.column,)

    def read(self, column: Column) -> Read:
        """The number of each level; there is none for a value that is no level."""
        values = column(self.column)
        same = np.stack([np.asarray(values == level, dtype=bool) for level in self.levels])
        return same.argmax(axis=0), np.asarray(~same.any(axis=0))

    def write(self, column: Column, positions: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """The column with these levels."""
        del column
        levels = np.fromiter(self.levels, dtype=object, count=len(self.levels))[positions.astype(np.intp)]
        numeric = all(isinstance(level, int | float) for level in self.levels)
        return {self.column: np.asarray(levels.tolist()) if numeric else levels}


Group: TypeAlias = OneHot | Ordinal


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
        The column with the right answers, which the model is not given; ``None`` where there is none.
    functions
        What a specification may call besides.
    name
        What to call it in messages.
    view
        Makes of rows what the model is given, such as one text of several sections; the rows themselves unless given.
    gaps
        How far apart two columns of values are, for columns where that is more than equal or not.
    what
        What one input is, in the singular.
    """

    whole: Table
    groups: Mapping[str, Group] = field(default_factory=dict)
    label_column: str | None = None
    functions: Mapping[str, Function] = field(default_factory=dict)
    name: str = "the table"
    view: Callable[[Table], Table] | None = None
    gaps: Mapping[str, Gap] = field(default_factory=dict)
    what: str = "row"

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

    def corners(self, rows: NDArray[np.intp], most: int, rng: np.random.Generator) -> NDArray[np.intp]:
        """Of these rows, at most so many that lie at the ends of their columns."""
        return np.asarray(rows[rows_at_ends([self.whole.column(name)[rows] for name in self.columns], most, rng)])

    def feature(self, feature: str | int) -> str:
        """The name of a feature; ``f3`` and 3 are the column number 3, where no feature is called ``f3``.

        Raises
        ------
        DataError
            Where there is no such feature.
        """
        if isinstance(feature, str):
            if feature in self.groups or feature in self.columns:
                return feature
            if not (feature[:1] == "f" and feature[1:].isdecimal()):
                known = (*self.groups, *self.columns)
                raise DataError(f"there is no feature {feature!r}.{nearest(feature, known)} {self._offered()}")
            feature = int(feature[1:])
        if not 0 <= feature < len(self.columns):
            raise DataError(
                f"there is no feature number {feature}: expected 0 to {len(self.columns) - 1}. {self._offered()}"
            )
        return self.columns[feature]

    def _offered(self) -> str:
        told = [f"{number} {name}" for number, name in enumerate(self.columns)][:12]
        more = ", ..." if len(self.columns) > 12 else ""
        groups = f"; groups {', '.join(self.groups)}" if self.groups else ""
        return f"The features are {', '.join(told)}{more}{groups}."

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
        """A feature of every record; a group has none where its columns say no single position."""
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
        made = group.write(partial(self.column, records), positions)
        return TableRecords(records.rows, {**records.changed, **made}), bad if bad.any() else None

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
        """How many features differ, a group counting once; and how far in all, in ranges of each column."""
        count, far = np.zeros(len(left)), np.zeros(len(left))
        for feature, columns in self._features.items():
            if np.array_equal(left.rows, right.rows) and not any(
                name in left.changed or name in right.changed for name in columns
            ):
                continue
            differs, gap = self._gap(left, right, feature, columns)
            count += differs
            far += np.where(differs, gap, 0.0)
        return count, far

    def _gap(self, left: TableRecords, right: TableRecords, feature: str, columns: tuple[str, ...]) -> Any:
        pairs = [(self.column(left, name), self.column(right, name)) for name in columns]
        differs = np.any([differing(one, other) for one, other in pairs], axis=0)
        if feature in self.groups:
            group = self.groups[feature]
            before, after = (group.read(partial(self.column, side))[0] for side in (left, right))
            return differs, np.abs(before - after) / max(len(group.levels) - 1, 1)
        one, other = pairs[0]
        if feature in self.gaps:
            return differs, self.gaps[feature](one, other)
        if one.dtype.kind in "biuf" and other.dtype.kind in "biuf":
            gap = np.abs(one.astype(np.float64) - other.astype(np.float64)) / self._scale(feature)
            return differs, np.where(np.isfinite(gap), gap, 1.0)
        return differs, np.ones(len(differs))

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
        """The row's number, as long as nothing was changed."""
        return None if records.changed else records.rows

    def table(self, records: TableRecords) -> Table:
        """The rows as the model knows them, without the column of right answers."""
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
    """A table with its groups; a column whose categories have a declared order is an ordinal feature by itself.

    Raises
    ------
    DataError
        Where a group or the label names a column that the table lacks, or a group's name is already that of a column.
    """
    made: dict[str, Group] = {}
    for name, columns in groups.items():
        if name in table.names:
            raise DataError(f"the group {name!r} has the name of a column: call it something else")
        made[name] = OneHot(tuple(columns))
    for name in table.names:
        levels = orders.get(name, table.order(name))
        if levels:
            made[name] = Ordinal(name, tuple(levels))
    unknown = [name for name in orders if name not in table.names]
    mentioned = [*unknown, *(() if label is None else (label,)), *(c for group in made.values() for c in group.columns)]
    for name in mentioned:
        if name not in table.names:
            raise DataError(f"the table has no column {name!r}.{nearest(name, table.names)}")
    return TableDomain(table, made, label, functions)
