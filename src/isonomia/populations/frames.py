"""Data frames of every library that narwhals knows (pandas, polars, pyarrow and more), kept in their own form.

One column of any library as a NumPy array, in the form that :func:`isonomia.spec.columns.normalise` describes.

Categories become their values.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import DataError
from isonomia.spec.columns import DURATION, EXACT, TIME, holds, normalise, python_value, with_type

if TYPE_CHECKING:
    import narwhals as nw


def column_from_series(series: nw.Series[Any]) -> NDArray[Any]:
    """Make a column from a narwhals series."""
    import narwhals as nw

    dtype = series.dtype
    if dtype.is_numeric():
        return _numbers(series)
    if dtype == nw.Boolean and not series.is_null().any():
        return np.asarray(series.to_numpy(), dtype=bool)
    if dtype == nw.Datetime or dtype == nw.Date:
        return _moments(series)
    if dtype == nw.Duration:
        return np.asarray(series.to_numpy()).astype(DURATION)
    if dtype == nw.String:
        return _text(series)
    return normalise(series.to_list())


def _numbers(series: nw.Series[Any]) -> NDArray[Any]:
    import narwhals as nw

    if series.dtype.is_integer():
        if not series.is_null().any():
            return np.asarray(series.to_numpy())
        if _are_large(series.min(), series.max()):
            return normalise(series.to_list())
    whole = series if series.dtype.is_float() else series.cast(nw.Float64)
    return np.asarray(whole.to_numpy(), dtype=np.float64)


def _moments(series: nw.Series[Any]) -> NDArray[Any]:
    import narwhals as nw

    if isinstance(series.dtype, nw.Datetime) and series.dtype.time_zone is not None:
        series = series.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    return np.asarray(series.to_numpy()).astype(TIME)


def _text(series: nw.Series[Any]) -> NDArray[Any]:
    # polars loses a NUL character at the end of a text when it converts to an array.
    polars = series.implementation.is_polars()
    column = normalise(series.to_list()) if polars else np.array(series.to_numpy(), dtype=object)
    if series.null_count():
        column[np.asarray(series.is_null().to_numpy(), dtype=bool)] = None
    return column


def _are_large(*values: Any) -> bool:
    result = map(python_value, values)
    return any(value is not None and abs(int(value)) > EXACT for value in result)


def series_of(values: object) -> nw.Series[Any] | None:
    """A series of any library; ``None`` for anything else."""
    import narwhals as nw

    wrapped: object = nw.from_native(values, allow_series=True, pass_through=True)
    return wrapped if isinstance(wrapped, nw.Series) else None


_WHOLE = frozenset(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))


@dataclass(frozen=True, slots=True, eq=False)
class FrameStore:
    """A data frame of the user's own library."""

    native: Any
    names: tuple[str, ...]
    rows: int
    kind: str

    def column(self, name: str) -> NDArray[Any]:
        """One column."""
        import narwhals as nw

        if self.kind == "pandas":  # without wrapping every other column
            return column_from_series(nw.from_native(self.native[name], series_only=True))
        return column_from_series(self._frame().get_column(name))

    def order(self, name: str) -> tuple[str, ...]:
        """The order declared for a column of categories; empty if it has no order."""
        import narwhals as nw

        kind = self._frame().schema[name]
        return tuple(kind.categories) if isinstance(kind, nw.Enum) else ()

    def categories(self, name: str) -> tuple[Any, ...]:
        """The categories declared for a pandas column, or by an enumeration, including those that no row has.

        Other libraries do not declare categories: they are whatever texts occur.
        """
        if self.kind == "pandas":
            import pandas as pd

            kind = self.native[name].dtype
            return tuple(kind.categories.tolist()) if isinstance(kind, pd.CategoricalDtype) else ()
        return self.order(name)

    def take(self, indices: NDArray[np.intp]) -> FrameStore:
        """The rows at these positions, numbered from 0."""
        if self.kind == "pandas":
            return self._rows(_renumbered(self.native.take(indices)), len(indices))
        return self._rows(self._frame()[indices].to_native(), len(indices))

    def slice(self, start: int, stop: int) -> FrameStore:
        """The rows from ``start`` up to ``stop``, numbered from 0."""
        if self.kind == "pandas":
            return self._rows(_own(_renumbered(self.native.iloc[start:stop])), stop - start)
        return self._rows(_own(self._frame()[start:stop].to_native()), stop - start)

    def copy(self) -> FrameStore:
        """All rows in separate memory, numbered from 0, for a model that may write to it by whatever means."""
        if self.kind == "pandas":
            return self._rows(_renumbered(self.native).copy(), self.rows)
        return self.slice(0, self.rows)

    def select(self, names: Sequence[str]) -> FrameStore:
        """These columns, in this order."""
        native = self.native[list(names)] if self.kind == "pandas" else self._frame().select(list(names)).to_native()
        return FrameStore(native, tuple(names), self.rows, self.kind)

    def _frame(self) -> Any:
        import narwhals as nw

        return nw.from_native(self.native, eager_only=True)

    def _rows(self, native: Any, rows: int) -> FrameStore:
        return FrameStore(native, self.names, rows, self.kind)


@dataclass(slots=True, eq=False)
class RowsOfFrame:
    """Some rows of a data frame, copied out only when more than single columns are needed.

    ``column_of`` gives a column of the whole frame, converted once for all subsets of its rows.
    """

    whole: FrameStore
    column_of: Callable[[str], NDArray[Any]]
    indices: NDArray[np.intp]
    _cut: FrameStore | None = None

    @property
    def native(self) -> Any:
        """These rows alone."""
        return self.store.native

    @property
    def kind(self) -> str:
        """The library."""
        return self.whole.kind

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        return self.whole.names

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return len(self.indices)

    @property
    def store(self) -> FrameStore:
        """These rows as a frame of their own."""
        if self._cut is None:
            self._cut = self.whole.take(self.indices)
        return self._cut

    def column(self, name: str) -> NDArray[Any]:
        """One column."""
        return self.column_of(name)[self.indices]

    def take(self, indices: NDArray[np.intp]) -> FrameStore:
        """The rows at these positions."""
        return self.store.take(indices)

    def slice(self, start: int, stop: int) -> FrameStore:
        """The rows from ``start`` up to ``stop``."""
        return self.store.slice(start, stop)

    def select(self, names: Sequence[str]) -> FrameStore:
        """These columns, in this order."""
        return self.store.select(names)


def _renumbered(frame: Any) -> Any:
    """Drop row labels, which would otherwise leak into how a model joins columns."""
    import pandas as pd

    return frame.set_axis(pd.RangeIndex(len(frame)), axis=0)


def _own(native: Any) -> Any:
    """Keep a model that writes to its batch from changing the population."""
    library = library_of(native)
    if library in {"polars", "pyarrow"}:
        return native  # they never write in place
    if library == "pandas":
        import pandas as pd

        if int(pd.__version__.split(".")[0]) >= 3:
            return native  # copied by pandas itself, at the first write that goes through pandas
        return native.copy()
    return native.reset_index(drop=True).copy()


def frame_store(data: object) -> FrameStore | None:
    """Hold a data frame; ``None`` if it is not one.

    A lazy one is collected, into the kind of table that its library gives: pyarrow for a DuckDB relation.
    """
    import narwhals as nw

    try:
        frame: Any = nw.from_native(_as_arrow(data), pass_through=True)
        if isinstance(frame, nw.LazyFrame):
            frame = collected(frame.collect)
        if not isinstance(frame, nw.DataFrame):
            return None
        native, kind = frame.to_native(), frame.implementation.name.lower()
        if kind == "pyarrow":
            _check_arrow(native)
        return FrameStore(native, tuple(frame.columns), len(frame), kind)
    except nw.exceptions.DuplicateError as error:
        message = " ".join(str(error).split())
        raise DataError(f"every column needs a unique name. {message}. Rename or drop the others.") from error


def _check_arrow(table: Any) -> None:
    """Refuse a table whose buffers are inconsistent: pyarrow does not check them when a table is made."""
    import pyarrow as pa

    for name, column in zip(table.column_names, table.columns, strict=True):
        try:
            column.validate(full=True)
        except (pa.ArrowException, UnicodeDecodeError) as error:
            raise DataError(
                f"expected a table of pyarrow that is valid, but the column {name!r} is not: {str(error).strip()}",
                name=name,
            ) from error


def collected(query: Callable[[], Any]) -> Any:
    """The result of a lazy table's query."""
    try:
        return query()
    except Exception as error:  # each library has its own kinds of error
        raise query_error(error) from error


def query_error(error: Exception) -> DataError:
    """The error of a lazy table whose query fails."""
    return DataError(
        f"the lazy table cannot be collected: {type(error).__name__}: {str(error).strip()}. Fix the query, or collect "
        "it yourself and hand over the result."
    )


def _as_arrow(data: object) -> object:
    """Read what only pyarrow can read, a dataset or a reader of batches, into a pyarrow table."""
    if library_of(data) != "pyarrow":
        return data
    for name in ("read_all", "to_table"):
        read = getattr(data, name, None)
        if read is not None:
            return read()
    return data


def library_of(value: object) -> str:
    """The library that the type of an object belongs to, such as ``"pandas"``."""
    return type(value).__module__.partition(".")[0]


def replaced_in_frame(native: Any, columns: Mapping[str, NDArray[Any]]) -> Any:
    """The same data frame with these columns replaced, keeping their types if these can hold the new values."""
    import narwhals as nw

    quick = _replaced_numbers(native, columns)
    if quick is not None:
        return quick
    frame: Any = nw.from_native(native, eager_only=True)
    series = []
    for name, values in columns.items():
        before = frame.get_column(name)
        alike = with_type(values, _numpy_kind(before))
        listed = alike if alike.dtype.kind in "biuf" else alike.tolist()
        made = nw.new_series(name, listed, backend=frame.implementation)
        series.append(made.cast(before.dtype) if _castable(before.dtype, made.dtype, alike) else made)
    return frame.with_columns(*series).to_native()


def _replaced_numbers(native: Any, columns: Mapping[str, NDArray[Any]]) -> Any | None:
    """The same for pandas if all columns are plain numbers, in a tenth of the time; else ``None``."""
    if library_of(native) != "pandas":
        return None
    types, made = dict(native.dtypes), {}
    for name, values in columns.items():
        before = types.get(name)
        if not isinstance(before, np.dtype) or before.kind not in "iuf":
            return None
        alike = with_type(values, np.dtype(np.float64 if before.kind == "f" else np.int64))
        if alike.dtype.kind not in "iuf":
            return None
        fits = before.kind == "f" or (alike.dtype.kind in "iu" and holds(before, alike))
        made[name] = alike.astype(before) if fits else alike
    return native.assign(**made)


def _castable(before: Any, made: Any, values: NDArray[Any]) -> bool:
    import narwhals as nw

    if before.is_integer():
        name = str(before).lower()
        return bool(made.is_integer()) and (name not in _WHOLE or holds(np.dtype(name), values))
    if before.is_float():
        return bool(made.is_numeric())
    return isinstance(before, nw.Categorical | nw.Enum | nw.String) and made == nw.String


def _numpy_kind(series: Any) -> np.dtype[Any]:
    if series.dtype.is_integer():
        return np.dtype(np.int64)
    return np.dtype(np.float64) if series.dtype.is_float() else np.dtype(object)


# ---------------------------------------------------------------------------- from pyarrow to the model's library


def preferred_kind() -> str:
    """The library whose tables the model is given for a file: pandas if installed, else polars, else pyarrow."""
    return next((kind for kind in ("pandas", "polars") if find_spec(kind) is not None), "pyarrow")


def as_kind(table: Any, kind: str, form: PandasForm | None = None) -> Any:
    """A table of the library ``kind``; without a form, ``table`` must have all rows."""
    if kind == "polars":
        import polars as pl

        return pl.from_arrow(table)
    if kind == "pandas":
        return (form or _form_of_all(table)).frame(table)
    return table


_ROW_LABELS = re.compile(r"__index_level_\d+__")  # what pandas calls an unnamed index when it writes a file


def ordinary_names(schema: Any) -> tuple[str, ...]:
    """The columns of a schema, without the unnamed index that pandas adds to a file."""
    return tuple(name for name in schema.names if not _ROW_LABELS.fullmatch(name))


@dataclass(frozen=True, slots=True, eq=False)
class PandasForm:
    """What must be known about all rows to make a pandas frame of some of them."""

    gaps: frozenset[str] = frozenset()  # columns with a missing value somewhere
    large: frozenset[str] = frozenset()  # columns of whole numbers that a float would round: they become Int64
    categories: Mapping[str, Sequence[Any]] = field(default_factory=dict)  # in the order of their codes

    def frame(self, table: Any) -> Any:
        """Make a pandas frame of some rows."""
        import pyarrow as pa
        from pyarrow import types

        for name in (self.gaps - self.large).intersection(table.column_names):
            if types.is_integer(table.schema.field(name).type) and not _restored(table.schema, name):
                table = _with_column(table, name, table[name].cast(pa.float64(), safe=False))
        frame = table.replace_schema_metadata(_without_labels(table.schema.metadata)).to_pandas()
        for name in self.gaps.intersection(table.column_names):
            if types.is_boolean(table.schema.field(name).type) and frame[name].dtype == bool:
                frame[name] = frame[name].astype(object)
        for name in self.large.intersection(table.column_names):
            frame[name] = table[name].to_pandas(types_mapper=_nullable)
        for name, categories in self.categories.items():
            if name in table.column_names:
                frame[name] = frame[name].cat.set_categories(list(categories))
        return frame


def _form_of_all(table: Any) -> PandasForm:
    large = frozenset(name for name in table.column_names if table[name].null_count and is_large(table[name]))
    return PandasForm(large, large)


def is_large(column: Any) -> bool:
    """Whether a column of pyarrow has whole numbers that a float would round."""
    import pyarrow.compute as pc
    from pyarrow import types

    if not types.is_integer(column.type) or column.type.bit_width < 64:
        return False
    ends = pc.min_max(column).as_py()
    return any(end is not None and abs(end) > EXACT for end in ends.values())


def _nullable(kind: Any) -> Any:
    import pandas as pd
    import pyarrow as pa

    return pd.UInt64Dtype() if kind == pa.uint64() else pd.Int64Dtype()


def _with_column(table: Any, name: str, column: Any) -> Any:
    return table.set_column(table.column_names.index(name), name, column)


def _pandas_metadata(metadata: Mapping[bytes, bytes] | None) -> dict[str, Any]:
    """What pandas wrote to a file about its own types."""
    written: dict[str, Any] = json.loads((metadata or {}).get(b"pandas", b"{}"))
    return written


def _restored(schema: Any, name: str) -> bool:
    """Whether pandas will restore one of its own types that can hold missing values, such as Int64."""
    columns = _pandas_metadata(schema.metadata).get("columns", [])
    return any(item.get("name") == name and str(item.get("numpy_type", ""))[:1] in "IU" for item in columns)


def _without_labels(metadata: Mapping[bytes, bytes] | None) -> dict[bytes, bytes] | None:
    """Keep what pandas wrote about types, but treat index columns as ordinary ones."""
    written = _pandas_metadata(metadata)
    return {b"pandas": json.dumps({**written, "index_columns": []}).encode()} if written else None
