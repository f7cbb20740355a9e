"""Data frames of every library that narwhals knows (pandas, polars, pyarrow and more), kept in their own form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import DataError
from isonomia.populations.columns import column_from_series, holds, with_type

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
            frame = _collected(frame)
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
                "Look at where it was made; validate(full=True) of pyarrow tells what is wrong."
            ) from error


def _collected(frame: Any) -> Any:
    try:
        return frame.collect()
    except Exception as error:  # each library raises its own errors
        raise DataError(
            f"the lazy table cannot be collected: {type(error).__name__}: {str(error).strip()}. Fix the query, or "
            "collect it yourself and hand over the result."
        ) from error


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
