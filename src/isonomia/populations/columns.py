"""One column of any library as a NumPy array, in the form that :func:`isonomia.spec.columns.normalise` describes.

Categories become their values.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
    found = map(python_value, values)
    return any(value is not None and abs(int(value)) > EXACT for value in found)


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
        raise UsageError(f"values[{name!r}] should be a list of at least one value, but is {given!r}.")
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
