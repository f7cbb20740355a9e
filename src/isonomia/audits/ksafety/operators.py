"""Arithmetic and comparisons on whole columns, and where they have no result."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.ksafety.values import Booleans

__all__ = ["arithmetic", "compare", "missing"]

_ORDER: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_MAKE: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
}
_LARGE = 2.0**62


def arithmetic(sign: str, left: NDArray[Any], right: NDArray[Any]) -> tuple[NDArray[Any], Booleans | None, str]:
    """The result, where there is none, and why.

    Division by zero and results too large for a number have none; for text only ``+`` has a meaning.
    """
    if left.dtype.kind not in "biuf" or right.dtype.kind not in "biuf":
        return _one_by_one(_MAKE[sign], left, right)
    first, second = _number(left), _number(right)
    by_zero = second == 0 if sign in {"/", "//", "%"} else np.zeros(len(first), dtype=bool)
    if sign == "**":
        by_zero = (first == 0) & (second < 0)
    with np.errstate(all="ignore"):
        rough = _MAKE[sign](first.astype(np.float64), np.where(by_zero, 1, second).astype(np.float64))
        whole = first.dtype.kind == second.dtype.kind == "i" and sign not in {"/", "**"}
        exact = whole and bool((np.abs(rough) < _LARGE).all())
        result = _MAKE[sign](first, np.where(by_zero, 1, second)) if exact else rough
    if sign == "**" and first.dtype.kind == second.dtype.kind == "i" and bool((np.abs(rough) < 2**53).all()):
        result = rough.astype(np.int64) if bool((rough % 1 == 0).all()) else rough
    known = np.isfinite(first.astype(np.float64)) & np.isfinite(second.astype(np.float64))
    lost = known & ~np.isfinite(np.asarray(rough, dtype=np.float64)) & ~by_zero
    bad = by_zero | lost
    why = "a division by zero" if by_zero.any() else "a number that is too large"
    return np.asarray(result), bad if bad.any() else None, why


def compare(sign: str, left: NDArray[Any], right: NDArray[Any]) -> tuple[NDArray[Any], Booleans | None, str]:
    """Whether the comparison is true; an order has no answer between values of different kinds."""
    if sign == "==":
        return np.asarray(left == right, dtype=bool), None, ""
    if sign == "!=":
        return np.asarray(left != right, dtype=bool), None, ""
    if left.dtype != object and right.dtype != object:
        return np.asarray(_ORDER[sign](left, right), dtype=bool), None, ""
    result, bad, why = _one_by_one(_ORDER[sign], left, right)
    return np.asarray([item is True for item in result.tolist()], dtype=bool), bad, why


def missing(column: NDArray[Any]) -> Booleans:
    """Where a column has no value."""
    if column.dtype.kind == "f":
        return np.asarray(np.isnan(column))
    if column.dtype == object:
        return np.asarray([item is None or item != item for item in column.tolist()], dtype=bool)
    return np.zeros(len(column), dtype=bool)


def _number(column: NDArray[Any]) -> NDArray[Any]:
    return column.astype(np.int64) if column.dtype.kind in "biu" else column.astype(np.float64)


def _one_by_one(
    make: Callable[[Any, Any], Any], left: NDArray[Any], right: NDArray[Any]
) -> tuple[NDArray[Any], Booleans | None, str]:
    results: list[Any] = []
    bad, why = np.zeros(len(left), dtype=bool), ""
    for index, (one, other) in enumerate(zip(left.tolist(), right.tolist(), strict=True)):
        try:
            results.append(make(one, other))
        except (TypeError, ArithmeticError, ValueError) as error:
            results.append(None)
            bad[index], why = True, str(error)
    column = np.fromiter(results, dtype=object, count=len(results))
    if all(type(item) in {int, float} for item in results):
        column = np.asarray(results)
    return column, bad if bad.any() else None, why
