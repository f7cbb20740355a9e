"""Data frames of every library that narwhals knows (pandas, polars, pyarrow and more), kept in their own form.

One column of any library as a NumPy array, in the form that :func:`isonomia.spec.columns.normalise` describes.

Categories become their values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import DataError, UsageError
from isonomia.spec.columns import DURATION, EXACT, TIME, normalise, python_value
from isonomia.spec.tree import Value

if TYPE_CHECKING:
    import narwhals as nw


def column_from(values: object, name: str) -> NDArray[Any]:
    """Make a column from anything array-like: an array, a list, or a series of any data-frame library.

    ``name`` says what the values are, for the error message.
    """
    if isinstance(values, np.ma.MaskedArray):
        return normalise(values.tolist())
    if isinstance(values, list | tuple | range):
        return normalise(values)
    if not isinstance(values, np.ndarray):
        series = _as_series(values)
        if series is not None:
            return column_from_series(series)
    array = np.asarray(values)
    if array.ndim != 1:
        raise DataError(
            f"{name} should have one dimension, but has {array.ndim} (shape {array.shape}). "
            "Give one value for each row."
        )
    return normalise(np.char.decode(array, "utf-8") if array.dtype.kind == "S" else array)


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
    zone = getattr(series.dtype, "time_zone", None)
    if zone is not None:
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


def _as_series(values: object) -> nw.Series[Any] | None:
    import narwhals as nw

    wrapped: object = nw.from_native(values, allow_series=True, pass_through=True)
    return wrapped if isinstance(wrapped, nw.Series) else None


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


def with_type(values: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """The values in a type that keeps their meaning: the wanted type if it can hold them."""
    if dtype.kind in "iu" and values.dtype.kind == "f" and np.isfinite(values).all() and (values % 1 == 0).all():
        wide = np.dtype(np.int64)
        return values.astype(dtype if holds(dtype, values) else wide) if holds(wide, values) else values
    if dtype.kind == "f" and values.dtype.kind in "biu":
        return values.astype(dtype)
    if dtype.kind == "b" and values.dtype.kind in "iuf" and np.isin(values, (0, 1)).all():
        return values.astype(dtype)
    if dtype.kind in "iu" and values.dtype.kind in "biu":
        return values.astype(np.result_type(dtype, values.dtype) if values.dtype.kind != "b" else dtype)
    return values


def holds(dtype: np.dtype[Any], values: NDArray[Any]) -> bool:
    """Whether an integer type is wide enough: otherwise values would silently overflow."""
    ends = np.iinfo(dtype)
    # As floats, the largest 64-bit integers are rounded up to a number that no longer fits.
    return not len(values) or bool(values.min() >= ends.min and float(values.max()) < float(ends.max) + 1.0)


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
        """The order declared for a column of categories; empty where there is none."""
        import narwhals as nw

        kind = self._frame().schema[name]
        return tuple(kind.categories) if isinstance(kind, nw.Enum) else ()

    def categories(self, name: str) -> tuple[Any, ...]:
        """The categories declared for a pandas column, or by an enumeration, including those that no row has.

        Other libraries do not declare categories: they are whatever texts occur.
        """
        kind: Any = self.native[name].dtype if self.kind == "pandas" else None
        return self.order(name) if not hasattr(kind, "categories") else tuple(kind.categories.tolist())

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


def _renumbered(frame: Any) -> Any:
    """Drop row labels, which would otherwise leak into how a model joins columns."""
    import pandas as pd

    return frame.set_axis(pd.RangeIndex(len(frame)), axis=0)


def _own(native: Any) -> Any:
    """Keep a model that writes to its batch from changing the population."""
    if not hasattr(native, "reset_index"):
        return native  # polars and pyarrow never write in place
    if type(native).__module__.startswith("pandas"):
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
        raise DataError(f"every column needs a name of its own. {message}. Rename or drop the others.") from error


def _check_arrow(table: Any) -> None:
    """Refuse a table whose buffers are inconsistent: pyarrow does not check them when a table is made."""
    import pyarrow as pa

    for name, column in zip(table.column_names, table.columns, strict=True):
        try:
            column.validate(full=True)
        except (pa.ArrowException, UnicodeDecodeError) as error:
            raise DataError(
                f"expected a table of pyarrow that is valid, but the column {name!r} is not: {str(error).strip()}. "
                "Look at where it was made; validate(full=True) of pyarrow tells what is wrong.",
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
    if not type(data).__module__.startswith("pyarrow"):
        return data
    for name in ("read_all", "to_table"):
        if hasattr(data, name):
            return getattr(data, name)()
    return data


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
    if type(native).__module__.partition(".")[0] != "pandas":
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
