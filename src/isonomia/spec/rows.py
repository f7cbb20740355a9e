"""Evaluating row expressions on whole columns.

Conventions
-----------
* A missing value (NaN, None, NaT) satisfies no comparison, not even ``!=``, and is a member of no set. Only
  ``is missing`` sees it. ``not`` turns true into false and false into true and nothing else, so ``not (c == 1)`` and
  ``c not in {1}`` are true where ``c`` is missing, while ``c != 1`` is false there.
* Arithmetic is in double precision, with missing in, missing out. A division by zero gives an infinity, or a missing
  value for 0 / 0.
* A column of truth values can stand as a condition and be compared with ``true`` or with 1. A column of numbers can
  stand as a condition where all its values are 0, 1 or missing; missing counts as false.
* Text is compared with text, letter by letter; a time with an ISO 8601 text or another time.
* Another version of a person is a batch of its own, in step with the first; a missing value there is like any other.
* ``score`` alone means the only score, or that of the second of two classes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import DataError, SpecError
from isonomia.spec.batch import Batch, as_version
from isonomia.spec.columns import kind_of, missing
from isonomia.spec.comparing import compare, equal_any
from isonomia.spec.outputs import output_values
from isonomia.spec.pairs import pair_values
from isonomia.spec.text import to_text
from isonomia.spec.tree import (
    Call,
    Column,
    Compare,
    Literal,
    Member,
    Missing,
    Output,
    PairCall,
    Row,
    RowArithmetic,
    RowJunction,
    RowNegative,
    RowNot,
    Variable,
)
from isonomia.spec.walk import place_of

__all__ = ["evaluate", "numbers", "truth"]

Array: TypeAlias = NDArray[Any]
Truth: TypeAlias = NDArray[np.bool_]

_SIGNS: dict[str, Callable[[Array, Array], Array]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
}


def evaluate(row: Row, batch: Batch) -> Array:
    """The value of a row expression for each person of a batch.

    Parameters
    ----------
    row
        An expression in which no variable of a ``for`` is left.
    batch
        The people, as columns, and what the model said about them.

    Returns
    -------
    NDArray
        Of length ``batch.rows``. Treat it as read-only: it may be a column of the batch itself.

    Raises
    ------
    SpecError
        Where kinds do not fit, such as text compared with a number.
    DataError
        Where a column holds what the expression cannot use.
    """
    values = _values(row, batch)
    return values if values.ndim else np.full(batch.rows, values)


def truth(row: Row, batch: Batch) -> Truth:
    """Whether a condition is true, for each person of a batch.

    Raises
    ------
    SpecError
        Where the expression is no condition.
    DataError
        Where a column of numbers stands as a condition but holds something other than 0 and 1.
    """
    values = _truth(row, batch)
    return values if values.ndim else np.full(batch.rows, values)


def numbers(row: Row, batch: Batch) -> NDArray[np.float64]:
    """The number that a term is, for each person of a batch; truth values count as 0 and 1.

    Raises
    ------
    SpecError
        Where the term is text or a time.
    """
    values = _number(row, batch)
    return values if values.ndim else np.full(batch.rows, values)


def _values(row: Row, batch: Batch) -> Array:
    match row:
        case Column():
            return _column(row, batch)
        case Output():
            return output_values(row, batch)
        case PairCall():
            return pair_values(row, batch)
        case Literal():
            return np.asarray(row.value, dtype=object if isinstance(row.value, str) else None)
        case Variable():
            raise SpecError(f"`{row.name}` is a variable that stands for no value yet: expand the formula", row.place)
        case RowNegative() | RowArithmetic() | Call():
            with np.errstate(all="ignore"):
                return _arithmetic(row, batch)
        case _:
            return _truth(row, batch)


def _column(row: Column, batch: Batch) -> Array:
    people = as_version(row, row.version, batch)
    if row.name not in people.columns:
        whose = "" if row.version is None else f" of `{to_text(row.version)}`"
        raise SpecError(f"there is no column `{row.name}`{whose}", row.place)
    return people.column(row.name)


def _arithmetic(row: RowNegative | RowArithmetic | Call, batch: Batch) -> NDArray[np.float64]:
    match row:
        case RowNegative():
            return np.negative(_number(row.operand, batch))
        case RowArithmetic():
            return np.asarray(_SIGNS[row.sign](_number(row.left, batch), _number(row.right, batch)))
        case Call():
            arguments = [_number(argument, batch) for argument in row.arguments]
            if row.function == "abs":
                return np.absolute(arguments[0])
            return np.asarray(reduce(np.minimum if row.function == "min" else np.maximum, arguments))


def _number(row: Row, batch: Batch) -> NDArray[np.float64]:
    values = _values(row, batch)
    if isinstance(row, Literal):
        if isinstance(row.value, str):
            raise SpecError(f"{to_text(row)} is text; expected a number", row.place)
        return np.asarray(row.value, np.float64)
    if kind_of(values) not in {"number", "truth"}:
        raise SpecError(f"`{to_text(row)}` is {kind_of(values)}; expected a number", place_of(row))
    return values.astype(np.float64, copy=False)


def _truth(row: Row, batch: Batch) -> Truth:
    match row:
        case Compare():
            return compare(row, _values(row.left, batch), _values(row.right, batch))
        case Member():
            return equal_any(row, _values(row.operand, batch))
        case Missing():
            return missing(_values(row.operand, batch))
        case RowNot():
            return np.logical_not(_truth(row.operand, batch))
        case RowJunction():
            join = np.logical_and if row.connective == "and" else np.logical_or
            return np.asarray(reduce(join, (_truth(operand, batch) for operand in row.operands)))
        case Literal(bool() as value):
            return np.asarray(value)
        case Column() | Output():
            return _as_condition(row, _values(row, batch))
        case _:
            raise SpecError(f"`{to_text(row)}` is no condition: compare it with something", place_of(row))


def _as_condition(row: Column | Output, values: Array) -> Truth:
    kind = kind_of(values)
    if kind == "truth":
        return values
    if kind != "number":
        raise SpecError(
            f"`{to_text(row)}` is {kind}, so it is no condition by itself: compare it with a value", row.place
        )
    ones = values == 1
    odd = ~(ones | (values == 0) | missing(values))
    if odd.any():
        raise DataError(
            f"`{to_text(row)}` stands as a condition, so its values must be 0 and 1, but one is "
            f"{values[odd][0].item()!r}; compare it with a value instead"
        )
    return np.asarray(ones)
