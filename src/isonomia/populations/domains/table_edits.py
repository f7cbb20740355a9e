"""A table with some columns replaced, in its owner's own form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.populations.table import Table

__all__ = ["replaced"]

_WHOLE = frozenset(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))


def replaced(table: Table, columns: Mapping[str, NDArray[Any]]) -> Table:
    """The same table with these columns instead of its own; the kind of table stays.

    A column of whole numbers stays one where the new values are whole, so that a model sees the types it knows.
    """
    if not columns:
        return table
    native = table.native
    match table.kind:
        case "array":
            return Table.of(_in_array(native, table.names, columns), names=table.names)
        case "columns":
            same = {name: _like(values, native[name].dtype) for name, values in columns.items()}
            return Table.of({**native, **same})
        case "rows":
            same = {name: _like(values, table.column(name).dtype) for name, values in columns.items()}
            return Table.of([_in_row(row, same, i) for i, row in enumerate(native)])
        case _:
            return Table.of(_in_frame(native, columns))


def _in_array(native: NDArray[Any], names: tuple[str, ...], columns: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
    kinds = [native.dtype, *(_like(values, native.dtype).dtype for values in columns.values())]
    copied = native.astype(np.result_type(*kinds) if native.dtype != object else object)
    for name, values in columns.items():
        copied[:, names.index(name)] = values
    return copied


def _in_row(row: dict[str, Any], columns: Mapping[str, NDArray[Any]], index: int) -> dict[str, Any]:
    return {**row, **{name: values[index : index + 1].tolist()[0] for name, values in columns.items()}}


def _in_frame(native: Any, columns: Mapping[str, NDArray[Any]]) -> Any:
    import narwhals as nw

    frame: Any = nw.from_native(native, eager_only=True)
    series = []
    for name, values in columns.items():
        before = frame.get_column(name)
        alike = _like(values, _numpy_kind(before))
        listed = alike if alike.dtype.kind in "biuf" else alike.tolist()
        made = nw.new_series(name, listed, backend=frame.implementation)
        series.append(made.cast(before.dtype) if _castable(before.dtype, made.dtype, alike) else made)
    return frame.with_columns(*series).to_native()


def _castable(before: Any, made: Any, values: NDArray[Any]) -> bool:
    import narwhals as nw

    if before.is_integer():
        name = str(before).lower()
        return bool(made.is_integer()) and (name not in _WHOLE or _held(values, np.dtype(name)))
    if before.is_float():
        return bool(made.is_numeric())
    return isinstance(before, nw.Categorical | nw.Enum | nw.String) and made == nw.String


def _numpy_kind(series: Any) -> np.dtype[Any]:
    if series.dtype.is_integer():
        return np.dtype(np.int64)
    return np.dtype(np.float64) if series.dtype.is_float() else np.dtype(object)


def _held(values: NDArray[Any], dtype: np.dtype[Any]) -> bool:
    """Whether a type of whole numbers is wide enough: where it is not, values would turn into others unnoticed."""
    ends = np.iinfo(dtype)
    # As floats, the largest whole numbers of 64 bits are rounded up to one that no longer fits.
    return not len(values) or bool(values.min() >= ends.min and float(values.max()) < float(ends.max) + 1.0)


def _like(values: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """The values in a type where they keep their meaning: the wished one where it can hold them."""
    if dtype.kind in "iu" and values.dtype.kind == "f" and np.isfinite(values).all() and (values % 1 == 0).all():
        wide = np.dtype(np.int64)
        return values.astype(dtype if _held(values, dtype) else wide) if _held(values, wide) else values
    if dtype.kind == "f" and values.dtype.kind in "biu":
        return values.astype(dtype)
    if dtype.kind == "b" and values.dtype.kind in "iuf" and np.isin(values, (0, 1)).all():
        return values.astype(dtype)
    if dtype.kind in "iu" and values.dtype.kind in "biu":
        return values.astype(np.result_type(dtype, values.dtype) if values.dtype.kind != "b" else dtype)
    return values
