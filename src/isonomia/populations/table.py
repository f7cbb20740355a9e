"""One type for every kind of table: NumPy columns for the audit, the user's own kind for the model.

A :class:`Table` holds a data frame of any library, a mapping of columns, a NumPy array or a list of rows; or a batch of
records that have no columns, such as images, sounds, texts or states.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Sized
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import date
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import DataError, UsageError, nearest, no_names
from isonomia.populations.frames import (
    FrameStore,
    RowsOfFrame,
    column_from_series,
    frame_store,
    replaced_in_frame,
    series_of,
)
from isonomia.spec.columns import host, is_tensor, namespace, normalise, python_value, with_type
from isonomia.spec.tree import Value
from isonomia.wording import first_few, shortened

Records: TypeAlias = "NDArray[Any] | list[Any]"
"""Several records: an array with one record per row, whatever its other dimensions, or a list."""

RECORDS = "batch"
"""The kind of a table of records that have no columns."""

TENSORS = "tensors"
"""The kind of a table whose columns are tensors on a device, except for text."""

_KINDS = (
    "a pandas, polars or pyarrow table, a DuckDB relation, a mapping from column name to values, "
    "a two-dimensional NumPy array, or a list of rows"
)

_AT_ONCE = 1_000_000
"""Up to this many rows, a column of a data frame is converted once as a whole, not again for each subset of rows."""

_SHOWN = 8
"""How many values of a row a message shows."""


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """A table of people: NumPy columns for the audit, the user's own kind for the model.

    Make one with :meth:`of`. Writing to a table made by :meth:`take` or :meth:`slice` through its library does not
    change the original; :meth:`copy` shares no memory at all, for a model that writes by whatever means.

    Attributes
    ----------
    remarks
        About the file that it was read from, for the verdict.
    together
        The column that says which rows belong together, where the file has it, such as answers to one question.
    """

    _store: TableStore
    _converted: dict[str, NDArray[Any]] = field(default_factory=dict, repr=False)  # columns requested so far
    remarks: tuple[str, ...] = ()
    together: str | None = None

    @classmethod
    def of(cls, data: object, names: Sequence[str] | None = None) -> Table:
        """Hold any kind of table.

        Parameters
        ----------
        data
            A pandas, polars or pyarrow table, anything lazy, which is collected (a polars ``LazyFrame``, a DuckDB
            relation, a pyarrow ``Dataset`` or reader of batches), a mapping from column name to values, a
            two-dimensional NumPy array, a list of rows that are mappings, or a ``Table``.
        names
            The columns of a NumPy array; ``x0``, ``x1``, ... by default. Not allowed for other kinds.

        Raises
        ------
        DataError
            When it is not a table, has no rows or no columns, when columns differ in length, or when a column's
            name is not text or occurs twice.
        """
        if isinstance(data, Table):
            return data
        store = _array_store(data, names) if isinstance(data, np.ndarray) else _named_store(data, names)
        check_columns(store.names, store.rows)
        return cls(store)

    @property
    def native(self) -> Any:
        """The table in the user's own form, for the model."""
        return self._store.native

    @property
    def kind(self) -> str:
        """The form: ``"columns"``, ``"array"``, ``"rows"``, or the library: ``"pandas"``, ``"polars"``, ..."""
        return self._store.kind

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        return self._store.names

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return self._store.rows

    def column(self, name: str) -> NDArray[Any]:
        """Give one column as a read-only array, converted as :mod:`isonomia.populations.frames` says."""
        if name not in self._converted:
            check_known([name], self.names)
            column = self._store.column(name).view()
            column.flags.writeable = False
            self._converted[name] = column
        return self._converted[name]

    def array(self, name: str) -> Any:
        """One column, not moved: a tensor on its device, or what :meth:`column` gives."""
        held = self.native.get(name) if self.kind == TENSORS else None
        return self.column(name) if held is None or not is_tensor(held) else held

    def row(self, index: int) -> dict[str, Any]:
        """Give one row as plain Python values, ``None`` where one is missing."""
        one = self.slice(index, index + 1)
        return {name: plain_value(one.column(name)[0]) for name in self.names}

    def shown(self, index: int) -> str:
        """One row as a message shows it: its first values, and whether there are more."""
        values = ", ".join(f"{name}={value!r}" for name, value in list(self.row(index).items())[:_SHOWN])
        return f"{values}, ..." if len(self.names) > _SHOWN else values

    def order(self, name: str) -> tuple[str, ...]:
        """The order declared for a column of categories, such as low, mid, high; empty if it has no order."""
        store = _cut(self._store)
        return store.order(name) if isinstance(store, FrameStore) and name in self.names else ()

    def categories(self, name: str) -> tuple[Any, ...]:
        """The categories declared for a column, including those that no row has; empty if none are."""
        return self._store.categories(name) if isinstance(self._store, FrameStore) and name in self.names else ()

    def take(self, indices: NDArray[np.intp]) -> Table:
        """The rows at these positions, in this order."""
        if isinstance(self._store, FrameStore) and self.rows <= _AT_ONCE:
            return Table(RowsOfFrame(self._store, self.column, np.asarray(indices)))
        return Table(_cut(self._store).take(indices))

    def slice(self, start: int, stop: int) -> Table:
        """The rows from ``start`` up to ``stop``, or up to the end of the table."""
        first = min(max(start, 0), self.rows)
        return Table(_cut(self._store).slice(first, min(max(stop, first), self.rows)))

    def select(self, names: Sequence[str]) -> Table:
        """Keep these columns, in this order."""
        check_known(names, self.names)
        return self if tuple(names) == self.names else Table(_cut(self._store).select(names))

    def copy(self) -> Table:
        """Copy the table, for a model that may write to it."""
        store = _cut(self._store)
        return Table(store.copy()) if isinstance(store, FrameStore) else self.slice(0, self.rows)


def _array_store(array: NDArray[Any], names: Sequence[str] | None) -> TableStore:
    if array.ndim != 2:
        raise DataError(
            f"a NumPy array should have two dimensions, rows and columns, but its shape is {array.shape}. Reshape it."
        )
    given = tuple(names) if names is not None else tuple(f"x{i}" for i in range(array.shape[1]))
    if len(given) != array.shape[1]:
        raise DataError(
            f"the array has {array.shape[1]} columns, but names has {len(given)}: {_listed(given)}. "
            "Give one name for each column.",
            name="names",
        )
    return _ArrayStore(array, given)


def _named_store(data: object, names: Sequence[str] | None) -> TableStore:
    if names is not None:
        raise DataError(f"names is for NumPy arrays only, but the table is a {type(data).__name__}.", name="names")
    if isinstance(data, Mapping):
        return _column_store({name: _native_column(values, name) for name, values in data.items()})
    if isinstance(data, list) and data and all(isinstance(row, Mapping) for row in data):
        return _RowStore([dict(row) for row in data], tuple(dict.fromkeys(name for row in data for name in row)))
    store = None if isinstance(data, str | bytes | list) else frame_store(data)
    if store is None:
        raise DataError(f"a table should be {_KINDS}; this is a {type(data).__name__}: {shortened(repr(data), 80)}.")
    return store


def _column_store(columns: dict[Any, Any], kind: str = "columns") -> TableStore:
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name!r} has {length}" for name, length in list(lengths.items())[:_SHOWN])
        raise DataError(f"every column should have the same number of rows, but {listed}.")
    return _ColumnStore(columns, next(iter(lengths.values()), 0), kind)


def _native_column(values: object, name: object) -> NDArray[Any]:
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Sized):
        raise DataError(
            f"column {name!r} should be a list or an array of values, but is a {type(values).__name__}: "
            f"{shortened(repr(values), 80)}.",
            name=str(name),
        )
    if type(values) is np.ndarray and values.ndim == 1:
        return values
    return column_from(values, f"column {name!r}")


def joined(tables: Sequence[Table]) -> Table:
    """The rows of one or more tables of one kind, in order, as a table of that kind."""
    if len(tables) == 1:
        return tables[0]
    natives = [table.native for table in tables]
    match tables[0].kind:
        case "columns" | "tensors" as kind:
            columns = {name: _concatenated([native[name] for native in natives]) for name in tables[0].names}
            return Table.of(columns) if kind == "columns" else tensor_table(columns)
        case "array":
            return Table.of(np.concatenate(natives), tables[0].names)
        case "rows":
            return Table.of([row for native in natives for row in native])
        case _:
            import narwhals as nw

            return Table.of(nw.concat([nw.from_native(native) for native in natives], how="vertical").to_native())


def _concatenated(columns: Sequence[Any]) -> Any:
    return namespace(columns[0]).concat(columns) if is_tensor(columns[0]) else np.concatenate(columns)


def replaced(table: Table, columns: Mapping[str, NDArray[Any]]) -> Table:
    """The same table, of the same kind, with these columns replaced.

    A column of whole numbers stays one if the new values are whole, so that a model sees the types it knows.
    """
    if not columns:
        return table
    native = table.native
    match table.kind:
        case "array":
            return Table.of(_replaced_in_array(native, table.names, columns), names=table.names)
        case "columns" | "tensors":
            native = {name: table.column(name) for name in table.names}
            same = {name: with_type(values, native[name].dtype) for name, values in columns.items()}
            return Table.of({**native, **same})
        case "rows":
            same = {name: with_type(values, table.column(name).dtype) for name, values in columns.items()}
            return Table.of([_replaced_in_row(row, same, i) for i, row in enumerate(native)])
        case _:
            return Table.of(replaced_in_frame(native, columns))


def _replaced_in_array(
    native: NDArray[Any], names: tuple[str, ...], columns: Mapping[str, NDArray[Any]]
) -> NDArray[Any]:
    kinds = [native.dtype, *(with_type(values, native.dtype).dtype for values in columns.values())]
    copied = native.astype(np.result_type(*kinds) if native.dtype != object else object)
    for name, values in columns.items():
        copied[:, names.index(name)] = values
    return copied


def _replaced_in_row(row: dict[str, Any], columns: Mapping[str, NDArray[Any]], index: int) -> dict[str, Any]:
    return {**row, **{name: values[index : index + 1].tolist()[0] for name, values in columns.items()}}


def batch_table(native: Records, what: str = "record") -> Table:
    """Hold a batch of records that are not rows of a table; ``what`` names one, in the singular, for messages."""
    if not isinstance(native, list) and not (isinstance(native, np.ndarray) and native.ndim):
        raise DataError(f"expected a batch of {what}s as an array or a list, but got a {type(native).__name__}")
    return Table(_RecordStore(native, what))


def tensor_table(columns: Mapping[Any, Any]) -> Table:
    """Hold columns that are tensors, and columns of text, with a row for each entry of their first dimension.

    A tensor of more dimensions is what a model reads about each person, such as an image.
    """
    held = {
        name: values if is_tensor_like(values) else _native_column(values, name) for name, values in columns.items()
    }
    flat = [name for name, values in held.items() if not values.ndim]
    if flat:
        raise DataError(f"column {flat[0]!r} should have one value per row, but is a single one: {held[flat[0]]!r}.")
    store = _column_store(held, TENSORS)
    check_columns(store.names, store.rows)
    return Table(store)


def is_tensor_like(values: object) -> bool:
    """Whether these values belong to an array library other than NumPy."""
    return offers(values, "dtype", "shape", "device", "ndim") and is_tensor(values)


def offers(value: object, *names: str) -> bool:
    """Whether an object of a user or of another library has all of these attributes."""
    return all(hasattr(value, name) for name in names)


def check_columns(names: Sequence[object], rows: int) -> None:
    """Refuse a table without rows or columns, and columns whose name is not text or occurs twice."""
    if not names:
        raise DataError("the table has no columns. Give at least one.")
    for name in names:
        if not isinstance(name, str):
            raise DataError(
                f"the name of every column should be text, but one is {name!r} ({type(name).__name__}). "
                "Rename the columns, for example with str.",
                name=str(name),
            )
    repeated = [name for name, times in Counter(names).items() if times > 1]
    if repeated:
        raise DataError(
            f"column {repeated[0]!r} occurs more than once. Rename or drop the others.", name=str(repeated[0])
        )
    if rows == 0:
        raise DataError(f"the table has no rows (columns: {_listed(names)}). Give at least one row.")


def check_known(names: Sequence[str], known: Sequence[str]) -> None:
    """Refuse a column that a table does not have; the message lists its columns and the nearest name."""
    for name in names:
        if name not in known:
            raise DataError(
                f"the table has no column {name!r}; its columns are {_listed(known)}.{nearest(name, known)}"
                f"{no_names(known)}",
                name=name,
            )


def _listed(names: Sequence[object]) -> str:
    return first_few([repr(name) for name in names], 12) or "none"


# ---------------------------------------------------------------------------- columns and their values


def column_from(values: object, name: str) -> NDArray[Any]:
    """Make a column from anything array-like: an array, a list, or a series of any data-frame library.

    ``name`` says what the values are, for the error message.
    """
    if isinstance(values, np.ma.MaskedArray):
        return normalise(values.tolist())
    if isinstance(values, list | tuple | range):
        return normalise(values)
    if not isinstance(values, np.ndarray):
        series = series_of(values)
        if series is not None:
            return column_from_series(series)
    array = np.asarray(values)
    if array.ndim != 1:
        raise DataError(
            f"{name} should have one value for each row, but has {array.ndim} dimensions (shape {array.shape})."
        )
    return normalise(np.char.decode(array, "utf-8") if array.dtype.kind == "S" else array)


def plain_value(value: Any) -> Any:
    """Turn one element of a column into a plain Python value, ``None`` where it is missing."""
    plain = python_value(value)
    return plain.isoformat() if isinstance(plain, date) else plain


def declared_values(name: str, given: Sequence[Value]) -> tuple[Value, ...]:
    """The values that the user declares for a column, since draws could miss a rare one; numbers before text."""
    if isinstance(given, str) or not isinstance(given, Sequence | np.ndarray) or not len(given):
        raise UsageError(f"values[{name!r}] should be a list of at least one value, but is {given!r}.", name="values")
    return distinct([column_from(list(given), f"values[{name!r}]")], name)


def distinct(columns: Iterable[NDArray[Any]], name: str) -> tuple[Value, ...]:
    """List the values that occur in a column, given in parts; numbers before text, each ascending."""
    values: set[Any] = set()
    floating = False
    for column in columns:
        values.update(_present(column, name))
        floating = floating or column.dtype.kind == "f"
    if floating:  # also in parts without a missing value, so that the borders between parts do not matter
        values = {float(value) if type(value) is int else value for value in values}
    return tuple(sorted(values, key=lambda value: (isinstance(value, str), value)))


def _present(column: NDArray[Any], name: str) -> set[Any]:
    if column.dtype.kind in "biu":
        return set(np.unique(column).tolist())
    if column.dtype.kind == "f":
        return set(np.unique(column[~np.isnan(column)]).tolist())
    for value in column:
        if value is not None and not isinstance(value, str | bool | int | float):
            raise DataError(
                f"the values of column {name!r} should be text, numbers or truth values, but one is "
                f"{value!r} ({type(value).__name__}). Write the values out instead: for g in {{...}}."
            )
    return set(column.tolist()) - {None}


# ---------------------------------------------------------------------------- how each kind is held and cut


TableStore: TypeAlias = "FrameStore | RowsOfFrame | _ColumnStore | _ArrayStore | _RowStore | _RecordStore"
"""A table in the user's own form: ``native``, its ``kind``, ``names`` and ``rows``; ``column`` converts one as
:mod:`isonomia.populations.frames` says; ``take`` and ``slice`` copy rows; ``select`` keeps columns."""


def _cut(store: TableStore) -> TableStore:
    """The same rows as a separate store."""
    return store.store if isinstance(store, RowsOfFrame) else store


@dataclass(frozen=True, slots=True, eq=False)
class _ColumnStore:
    """A mapping from column name to NumPy array, or to tensor if it is not text."""

    native: dict[str, Any]
    rows: int
    kind: str = "columns"

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.native)

    def column(self, name: str) -> NDArray[Any]:
        """A tensor is copied for NumPy; values of several dimensions are described in words."""
        array = host(self.native[name])
        return column_from(array if array.ndim == 1 else list(map(described, array)), f"column {name!r}")

    def take(self, indices: NDArray[np.intp]) -> _ColumnStore:
        taken = {name: _rows_of(values, np.asarray(indices)) for name, values in self.native.items()}
        return _ColumnStore(taken, len(indices), self.kind)

    def slice(self, start: int, stop: int) -> _ColumnStore:
        cut = {name: values[start:stop] for name, values in self.native.items()}
        copied = {n: namespace(v).asarray(v, copy=True) if is_tensor(v) else v.copy() for n, v in cut.items()}
        return _ColumnStore(copied, stop - start, self.kind)

    def select(self, names: Sequence[str]) -> _ColumnStore:
        return _ColumnStore({name: self.native[name] for name in names}, self.rows, self.kind)


def _rows_of(values: Any, indices: NDArray[np.intp]) -> Any:
    if not is_tensor(values):
        return values[indices]
    xp = namespace(values)
    return xp.take(values, xp.asarray(indices.astype(np.int64), device=values.device), axis=0)


@dataclass(frozen=True, slots=True, eq=False)
class _ArrayStore:
    """A two-dimensional NumPy array with a name for each column."""

    native: NDArray[Any]
    names: tuple[str, ...]
    kind: str = "array"

    @property
    def rows(self) -> int:
        return int(self.native.shape[0])

    def column(self, name: str) -> NDArray[Any]:
        return column_from(self.native[:, self.names.index(name)], f"column {name!r}")

    def take(self, indices: NDArray[np.intp]) -> _ArrayStore:
        return _ArrayStore(self.native[indices], self.names)

    def slice(self, start: int, stop: int) -> _ArrayStore:
        return _ArrayStore(self.native[start:stop].copy(), self.names)

    def select(self, names: Sequence[str]) -> _ArrayStore:
        return _ArrayStore(self.native[:, [self.names.index(name) for name in names]], tuple(names))


@dataclass(frozen=True, slots=True, eq=False)
class _RowStore:
    """A list of rows, each a mapping from column name to value; a value that a row lacks is missing."""

    native: list[dict[str, Any]]
    names: tuple[str, ...]
    kind: str = "rows"

    @property
    def rows(self) -> int:
        return len(self.native)

    def column(self, name: str) -> NDArray[Any]:
        return column_from([row.get(name) for row in self.native], f"column {name!r}")

    def take(self, indices: NDArray[np.intp]) -> _RowStore:
        return _RowStore([dict(self.native[i]) for i in indices.tolist()], self.names)

    def slice(self, start: int, stop: int) -> _RowStore:
        return _RowStore([dict(row) for row in self.native[start:stop]], self.names)

    def select(self, names: Sequence[str]) -> _RowStore:
        return _RowStore([{name: row[name] for name in names if name in row} for row in self.native], tuple(names))


@dataclass(frozen=True, slots=True, eq=False)
class _RecordStore:
    """Records that have no columns, behind the interface of a table.

    The one column, named after what the records are, is for messages: texts as they are, anything else in a few words.
    """

    native: Records
    what: str = "record"  # what one record is, such as "image"
    kind: str = RECORDS

    @property
    def names(self) -> tuple[str, ...]:
        return (self.what,)

    @property
    def rows(self) -> int:
        return len(self.native)

    def column(self, name: str) -> NDArray[Any]:
        """Texts as they are, every other record described."""
        texts = [record if isinstance(record, str) else described(record) for record in self.native]
        return column_from(texts, f"column {name!r}")

    def take(self, indices: NDArray[np.intp]) -> _RecordStore:
        if isinstance(self.native, np.ndarray):
            return _RecordStore(self.native[indices], self.what)
        return _RecordStore([_copied(self.native[index]) for index in indices.tolist()], self.what)

    def slice(self, start: int, stop: int) -> _RecordStore:
        if isinstance(self.native, np.ndarray):
            return _RecordStore(self.native[start:stop].copy(), self.what)
        return _RecordStore([_copied(record) for record in self.native[start:stop]], self.what)

    def select(self, names: Sequence[str]) -> _RecordStore:
        """The same: there is only one column."""
        del names
        return self


def described(record: object) -> str:
    """A record in a few words, never all of its numbers."""
    if not isinstance(record, np.ndarray | np.generic):
        return shortened(repr(record), 80)
    shape = " x ".join(map(str, record.shape)) or "a single number"
    if not record.size or record.dtype.kind not in "biuf":
        return f"{shape} of {record.dtype}"
    return f"{shape} of {record.dtype}, from {record.min():g} to {record.max():g}"


def _copied(record: Any) -> Any:
    """A copy that may be written to; immutable records are shared."""
    if isinstance(record, np.ndarray):
        return record.copy()
    return record if isinstance(record, str | bytes | int | float | None) else deepcopy(record)
