"""One column as a NumPy array, whatever it came as.

The conventions, which hold for every kind of table:

- text is an object array of ``str`` with ``None`` where it is missing; categories become what they stand for;
- whole numbers stay whole; with a value missing they become floats with NaN, as every number does, unless one of them
  is too large for a float to hold exactly: then an object array of ``int`` and ``None``;
- truth values are a bool array; with a value missing, an object array of ``True``, ``False`` and ``None``;
- dates and times are ``datetime64[us]`` with NaT where missing, a time with a zone being moved to UTC;
- anything else is an object array with ``None`` where it is missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import DataError
from isonomia.spec.tree import Value

if TYPE_CHECKING:
    import narwhals as nw

__all__ = ["EXACT", "column_from", "column_from_series", "distinct", "plain_value"]

_MOMENT = "datetime64[us]"
_SPAN = "timedelta64[us]"
EXACT = 2**53
"""Beyond this, floats leave whole numbers out."""


def column_from(values: object, name: str) -> NDArray[Any]:
    """Make a column of anything array-like: an array, a list, or a series of any data-frame library.

    Parameters
    ----------
    values
        What to convert; it must have one dimension.
    name
        What the values are, for the error message.

    Raises
    ------
    DataError
        When the values are not a one-dimensional sequence.
    """
    if isinstance(values, np.ma.MaskedArray):
        return _from_values(values.tolist())
    if isinstance(values, np.ndarray):
        return _from_array(values, name)
    if isinstance(values, list | tuple | range):
        return _from_values(values)
    series = _as_series(values)
    if series is not None:
        return column_from_series(series)
    return _from_array(np.asarray(values), name)


def column_from_series(series: nw.Series[Any]) -> NDArray[Any]:
    """Make a column of a narwhals series."""
    import narwhals as nw

    dtype = series.dtype
    if dtype.is_numeric():
        return _numbers(series)
    if dtype == nw.Boolean and not series.is_null().any():
        return np.asarray(series.to_numpy(), dtype=bool)
    if dtype == nw.Datetime or dtype == nw.Date:
        return _moments(series)
    if dtype == nw.Duration:
        return np.asarray(series.to_numpy()).astype(_SPAN)
    if dtype == nw.String:
        return _text(series)
    return _from_values(series.to_list())


def _numbers(series: nw.Series[Any]) -> NDArray[Any]:
    import narwhals as nw

    if series.dtype.is_integer():
        if not series.is_null().any():
            return np.asarray(series.to_numpy())
        if _are_large(series.min(), series.max()):
            return _from_values(series.to_list())
    whole = series if series.dtype.is_float() else series.cast(nw.Float64)
    return np.asarray(whole.to_numpy(), dtype=np.float64)


def _moments(series: nw.Series[Any]) -> NDArray[Any]:
    zone = getattr(series.dtype, "time_zone", None)
    if zone is not None:
        series = series.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    return np.asarray(series.to_numpy()).astype(_MOMENT)


def _text(series: nw.Series[Any]) -> NDArray[Any]:
    # Arrays of polars lose the character 0 at the end of a text.
    polars = series.implementation.is_polars()
    column = _objects(series.to_list()) if polars else np.array(series.to_numpy(), dtype=object)
    if series.null_count():
        column[np.asarray(series.is_null().to_numpy(), dtype=bool)] = None
    return column


def _are_large(*values: Any) -> bool:
    found = map(_plain_or_none, values)
    return any(value is not None and abs(int(value)) > EXACT for value in found)


def _as_series(values: object) -> nw.Series[Any] | None:
    import narwhals as nw

    wrapped: object = nw.from_native(values, allow_series=True, pass_through=True)
    return wrapped if isinstance(wrapped, nw.Series) else None


def _from_array(values: NDArray[Any], name: str) -> NDArray[Any]:
    if values.ndim != 1:
        raise DataError(
            f"{name} should have one dimension, but has {values.ndim} (shape {values.shape}). "
            "Give one value for each row."
        )
    match values.dtype.kind:
        case "O":
            return _from_values(values.tolist())
        case "U":
            return values.astype(object)
        case "S":
            return np.char.decode(values, "utf-8").astype(object)
        case "M":
            return values.astype(_MOMENT)
        case "m":
            return values.astype(_SPAN)
        case _:
            return values


def _from_values(values: Sequence[Any]) -> NDArray[Any]:
    kinds = set(map(type, values))
    if kinds <= {str, type(None)}:
        return _objects(values)
    if kinds <= {bool} or kinds <= {int}:
        return _whole(values)
    if kinds <= {int, float}:
        return np.array(values, dtype=np.float64)
    return _from_mixed([_plain_or_none(value) for value in values])


def _from_mixed(values: list[Any]) -> NDArray[Any]:
    present = {type(value) for value in values if value is not None}
    complete = not any(value is None for value in values)
    if not present:
        return _objects(values)
    if complete and (present == {bool} or present == {int}):
        return _whole(values)
    if present == {int} and _are_large(*values):
        return _objects(values)
    if present <= {int, float, Decimal}:
        return np.array([np.nan if value is None else float(value) for value in values])
    if all(issubclass(kind, date) for kind in present):
        return np.array([_without_zone(value) for value in values], dtype=_MOMENT)
    return _objects(values)


def _whole(values: Sequence[Any]) -> NDArray[Any]:
    try:
        return np.array(values, dtype=bool if isinstance(values[0], bool) else np.int64)
    except OverflowError:
        return _objects(values)


def _objects(values: Sequence[Any]) -> NDArray[Any]:
    # Not np.array, which would turn a list of equally long lists into a matrix.
    return np.fromiter(values, dtype=object, count=len(values))


def _plain_or_none(value: Any) -> Any:
    if value is None or type(value).__name__ in {"NAType", "NaTType"}:
        return None
    if isinstance(value, np.datetime64):
        return value.astype(_MOMENT).item()
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and value != value:
        return None
    return str(value) if isinstance(value, str) else value


def _without_zone(value: date | None) -> date | None:
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC).replace(tzinfo=None)
    return value


def plain_value(value: Any) -> Any:
    """Turn one element of a column into a plain Python value, ``None`` where it is missing."""
    plain = _plain_or_none(value)
    return plain.isoformat() if isinstance(plain, date) else plain


def distinct(columns: Iterable[NDArray[Any]], name: str) -> tuple[Value, ...]:
    """List the values that occur in a column, given in parts; numbers before text, each ascending.

    Raises
    ------
    DataError
        When a value is neither text, nor a number, nor a truth value.
    """
    found: set[Any] = set()
    floating = False
    for column in columns:
        found.update(_present(column, name))
        floating = floating or column.dtype.kind == "f"
    if floating:  # also those of a part in which none was missing, so that the borders of parts do not matter
        found = {float(value) if type(value) is int else value for value in found}
    return tuple(sorted(found, key=lambda value: (isinstance(value, str), value)))


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
