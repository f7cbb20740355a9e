"""The rows of a table as inputs: features by number and by name, groups of columns as single features."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import DataError, nearest
from isonomia.populations.columns import distinct, plain_value
from isonomia.populations.domains.differing import Gap, differing
from isonomia.populations.domains.ends import rows_at_ends
from isonomia.populations.domains.groups import Group
from isonomia.populations.domains.protocol import Function, Kind, Marked
from isonomia.populations.domains.replacing import replaced
from isonomia.populations.domains.table_records import TableRecords
from isonomia.populations.table import Table

__all__ = ["TableDomain"]


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
