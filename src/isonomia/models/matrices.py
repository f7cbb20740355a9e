"""Columns of a table as the arrays that a compiled model takes, checked and reported by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from isonomia.errors import ModelError, nearest
from isonomia.populations.columns import plain_value
from isonomia.populations.table import Table

__all__ = ["columns_for", "converted", "matrix", "refuse"]


def columns_for(name: str, table: Table, wanted: Sequence[str] | None, width: int | None) -> tuple[str, ...]:
    """Choose the columns that a model takes, in its order.

    Parameters
    ----------
    name
        The model's name, for messages.
    table
        The batch.
    wanted
        The columns by name; ``None`` where the model does not know and nobody said: then all of them, when their
        number is right.
    width
        How many the model takes; ``None`` where it does not say.

    Raises
    ------
    ModelError
        When a column is missing, or when there is no telling which ones to give.
    """
    if wanted is None:
        _check_number(name, table, width)
        return table.names
    missing = [column for column in wanted if column not in table.names]
    if missing:
        raise ModelError(
            f"{name} needs columns that the table does not have: {', '.join(map(repr, missing))}."
            f"{nearest(missing[0], table.names)} Add them to the table, or name the right ones: features=[...]."
        )
    if width is not None and len(wanted) != width:
        raise ModelError(
            f"{name} takes {width} columns, but features names {len(wanted)}: {', '.join(map(repr, wanted))}."
        )
    return tuple(wanted)


def _check_number(name: str, table: Table, width: int | None) -> None:
    if width is not None and width != len(table.names):
        raise ModelError(
            f"{name} takes {width} columns and does not know their names, but the table has {len(table.names)}: "
            f"{', '.join(map(repr, table.names))}. Say which ones to give it, in its order: features=[...]."
        )


def matrix(name: str, table: Table, columns: Sequence[str], dtype: DTypeLike) -> NDArray[Any]:
    """Put columns of numbers side by side, as rows of one array in C order.

    Raises
    ------
    ModelError
        When a column holds no numbers, or numbers that the type cannot hold; it is named.
    """
    whole = _at_once(table, columns)
    if whole is not None and np.dtype(dtype).kind == "f":
        return _narrowed(name, table, columns, whole, np.dtype(dtype))
    side_by_side = np.empty((len(columns), table.rows), dtype)
    for place, column in enumerate(columns):
        side_by_side[place] = converted(name, column, table.column(column), dtype)
    return np.ascontiguousarray(side_by_side.T)


def _at_once(table: Table, columns: Sequence[str]) -> NDArray[Any] | None:
    """All columns in one conversion, where the table's owner can do it and every column is plain numbers."""
    match table.kind:
        case "array":
            return np.asarray(table.select(columns).native) if table.native.dtype.kind in "biuf" else None
        case "pandas":
            return _of_pandas(table.native if tuple(columns) == table.names else table.native[list(columns)])
        case "polars":
            frame = table.native.select(columns)
            plain = all(kind.is_integer() or kind.is_float() for kind in frame.dtypes)
            return np.asarray(frame.to_numpy()) if plain else None
        case "pyarrow":
            return _of_arrow([table.native.column(column) for column in columns])
        case _:
            return None


def _of_pandas(frame: Any) -> NDArray[Any] | None:
    plain = all(isinstance(kind, np.dtype) and kind.kind in "biuf" for kind in frame.dtypes)
    return np.asarray(frame.to_numpy()) if plain else None


def _of_arrow(columns: Sequence[Any]) -> NDArray[Any] | None:
    numbers = ("int", "uint", "float", "double", "halffloat")
    plain = all(str(column.type).startswith(numbers) and not column.null_count for column in columns)
    return np.column_stack([column.to_numpy() for column in columns]) if plain and columns else None


def _narrowed(
    name: str, table: Table, columns: Sequence[str], whole: NDArray[Any], dtype: np.dtype[Any]
) -> NDArray[Any]:
    with np.errstate(over="ignore"):
        # In the order in which they lie in memory first: data frames hold columns, and rows are gathered much faster
        # from the narrower numbers.
        result = whole.astype(dtype, order="K", copy=False)
    if dtype.itemsize < whole.dtype.itemsize and np.isinf(result).any():
        for column in columns:
            converted(name, column, table.column(column), dtype)
    return np.ascontiguousarray(result)


def converted(name: str, column: str, values: NDArray[Any], dtype: DTypeLike) -> NDArray[Any]:
    """Convert one column to the type that a model takes.

    A number is rounded to the width of the type. Whole numbers must be whole, truth values 0 or 1. What is missing
    becomes NaN where the type has it.

    Raises
    ------
    ModelError
        When a value cannot be converted; column and value are named.
    """
    target = np.dtype(dtype)
    match target.kind:
        case "O" | "U":
            return _text(name, column, values)
        case "f":
            return _floats(name, column, values, target)
        case _:
            return _whole(name, column, values, target)


def _floats(name: str, column: str, values: NDArray[Any], target: np.dtype[Any]) -> NDArray[Any]:
    if values.dtype.kind not in "biuf":
        values = _from_truth_values(name, column, values)
    with np.errstate(over="ignore"):
        result = values.astype(target)
    if target.itemsize < 8:
        refuse(name, column, values, np.isinf(result) & ~np.isinf(values), f"numbers that fit into {target}")
    return result


def _whole(name: str, column: str, values: NDArray[Any], target: np.dtype[Any]) -> NDArray[Any]:
    expected = "truth values, or 0 and 1" if target.kind == "b" else f"whole numbers that fit into {target}"
    if values.dtype.kind not in "biuf":
        values = _from_truth_values(name, column, values)
    with np.errstate(invalid="ignore"):
        result = values.astype(target)
    refuse(name, column, values, result != values, expected)
    return result


def _text(name: str, column: str, values: NDArray[Any]) -> NDArray[Any]:
    if values.dtype.kind in "biufMm":
        raise ModelError(
            f"{name} takes text in column {column!r}, but the column is {values.dtype}. "
            "Turn its values into the texts that the model was fitted with."
        )
    refuse(name, column, values, np.array([not isinstance(value, str) for value in values]), "text and not missing")
    return values.astype(object)


def _from_truth_values(name: str, column: str, values: NDArray[Any]) -> NDArray[Any]:
    """Numbers of a column of objects: truth values with some missing."""
    if values.dtype.kind in "Mm":
        raise ModelError(f"{name} takes numbers in column {column!r}, but the column holds dates or times.")
    refused = np.array([not (value is None or isinstance(value, bool | int | float)) for value in values])
    refuse(name, column, values, refused, "numbers")
    return np.array([np.nan if value is None else float(value) for value in values])


def refuse(name: str, column: str, values: NDArray[Any], refused: NDArray[Any], expected: str) -> None:
    """Raise where a value of a column is not what a model takes, naming the column and the first such value."""
    if refused.any():
        first = int(np.argmax(refused))
        raise ModelError(
            f"{name} takes {expected} in column {column!r}, but row {first} of the batch has "
            f"{plain_value(values[first])!r} ({int(refused.sum()):,} of {len(values):,} rows are like that)."
        )
