"""What a variable holds, taken as numbers or as truth values.

The kind of a variable is known beforehand in a program. It is not where a Python function gives the variable.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from isonomia.errors import DataError
from isonomia.spec.programs.tree import Expression, Name

__all__ = ["in_double_precision", "truth_values"]


def in_double_precision(value: Any) -> Any:
    """Numbers for arithmetic: whole ones must not overflow, and truth values count as 0 and 1.

    Raises
    ------
    DataError
        Where the value is text.
    """
    if isinstance(value, float) or (isinstance(value, np.ndarray) and value.dtype.char == "d"):
        return value
    column = np.asarray(value)
    if column.dtype.kind not in "biuf":
        example = column.flat[0] if column.size else None
        raise DataError(f"expected a number for arithmetic, but a variable holds {example!r}: compare it by == or !=")
    return column.astype(np.float64) if column.ndim else float(column)


def truth_values(value: Any, expression: Expression) -> Any:
    """Truth values for a condition; numbers count where all of them are 0 and 1.

    Raises
    ------
    DataError
        Where the value is something else.
    """
    if isinstance(value, bool | np.bool_) or (isinstance(value, np.ndarray) and value.dtype.char == "?"):
        return value
    column = np.asarray(value)
    if column.dtype.kind in "iuf" and np.all((column == 0) | (column == 1)):
        return column == 1
    name = f"{expression.name!r}" if isinstance(expression, Name) else "a variable"
    place = expression.place
    where = f"line {place.line}, column {place.column}: " if place else ""
    raise DataError(
        f"{where}expected true or false as a condition, but {name} holds {_odd(column)!r}: compare it with a value"
    )


def _odd(column: Any) -> Any:
    listed = column.ravel().tolist()
    return next((item for item in listed if item not in (0, 1)), None)
