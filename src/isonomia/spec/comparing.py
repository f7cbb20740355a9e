"""Comparing columns with values and with each other, one missing value at a time."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import eq, ge, gt, le, lt, ne
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import Place, SpecError
from isonomia.spec.columns import Kind, example, kind_of, missing
from isonomia.spec.lexemes import quote, value_text
from isonomia.spec.moments import moment
from isonomia.spec.text import to_text
from isonomia.spec.tree import Compare, Literal, Member, Row, Value, Variable
from isonomia.spec.walk import place_of

__all__ = ["compare", "equal_any"]

_RELATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "==": eq,
    "!=": ne,
    "<": lt,
    "<=": le,
    ">": gt,
    ">=": ge,
}
_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}


def compare(node: Compare, left: NDArray[Any], right: NDArray[Any]) -> NDArray[np.bool_]:
    """Where a comparison is true; never where a side is missing.

    Parameters
    ----------
    node
        The comparison, for its relation and its place.
    left, right
        The values of its two sides; those of a literal are not looked at.
    """
    match node.left, node.right:
        case Literal(a), Literal(b):
            return _literals(node, a, b)
        case Literal(value), _:
            return _with_value(_FLIPPED[node.relation], right, value, node.right, node.left)
        case _, Literal(value):
            return _with_value(node.relation, left, value, node.left, node.right)
        case _:
            return _two_columns(node, left, right)


def equal_any(node: Member, values: NDArray[Any]) -> NDArray[np.bool_]:
    """Where a term is one of the values of a set; never where it is missing."""
    if isinstance(node.operand, Literal):
        tests = [Compare("==", node.operand, item, place=node.place) for item in node.values]
        return np.asarray(any(compare(test, values, values) for test in tests))
    return np.asarray(reduce(np.logical_or, (_is(node.operand, values, item) for item in node.values)))


def _is(operand: Row, values: NDArray[Any], item: Literal | Variable) -> NDArray[np.bool_]:
    if isinstance(item, Variable):
        raise SpecError(f"`{item.name}` is a variable that stands for no value yet: expand the formula", item.place)
    return _with_value("==", values, item.value, operand, item)


def _with_value(relation: str, values: NDArray[Any], value: Value, term: Row, literal: Row) -> NDArray[np.bool_]:
    kind = kind_of(values)
    fits = isinstance(value, str) == (kind in {"text", "time"})
    if not fits and missing(values).all():
        return np.zeros(values.shape, np.bool_)
    if not fits:
        raise SpecError(_misfit(term, values, kind, value), place_of(literal) or place_of(term))
    if kind == "time" and isinstance(value, str):
        return _relate(relation, values, _moment(value, place_of(literal)))
    return _relate(relation, values if isinstance(value, str) else _with_room(values, value), value)


def _with_room(values: NDArray[Any], value: float) -> NDArray[Any]:
    """The same numbers in a type into which a value fits that they are compared with."""
    small = values.dtype.kind == "f" and values.dtype.itemsize < 8
    too_large = small and abs(value) > float(np.finfo(values.dtype).max)
    return values.astype(np.float64) if too_large or (values.dtype.kind == "b" and value not in {0, 1}) else values


def _relate(relation: str, left: NDArray[Any], right: Any) -> NDArray[np.bool_]:
    """Compare without looking for missing values where the comparison itself is already false for them."""
    if left.dtype.kind == "O" and relation not in {"==", "!="}:
        return _ordered_text(relation, left, right)
    result = np.asarray(_RELATIONS[relation](left, right), np.bool_)
    if relation == "!=" and left.dtype.kind in "fMO":
        result &= ~missing(left)
    return result


def _ordered_text(relation: str, left: NDArray[Any], right: Any) -> NDArray[np.bool_]:
    there = ~missing(left)
    result = np.zeros(left.shape, np.bool_)
    result[there] = _RELATIONS[relation](left[there], right)
    return result


def _two_columns(node: Compare, left: NDArray[Any], right: NDArray[Any]) -> NDArray[np.bool_]:
    kinds = {kind_of(left), kind_of(right)}
    if len(kinds) > 1 and kinds != {"number", "truth"}:
        return _nowhere_or_misfit(node, left, right)
    if kinds == {"text"}:
        left, right = left.astype(object), right.astype(object)
        there = ~(missing(left) | missing(right))
        result = np.zeros(left.shape, np.bool_)
        result[there] = _RELATIONS[node.relation](left[there], right[there])
        return result
    result = np.asarray(_RELATIONS[node.relation](left, right), np.bool_)
    return result & ~(missing(left) | missing(right)) if node.relation == "!=" else result


def _nowhere_or_misfit(node: Compare, left: NDArray[Any], right: NDArray[Any]) -> NDArray[np.bool_]:
    """A column that is missing throughout a batch has no kind, and is equal to nothing."""
    if missing(left).all() or missing(right).all():
        return np.zeros(np.broadcast_shapes(left.shape, right.shape), np.bool_)
    raise SpecError(
        f"`{to_text(node.left)}` is {kind_of(left)} and `{to_text(node.right)}` is {kind_of(right)}: "
        "they cannot be compared; convert one of them",
        node.place or place_of(node),
    )


def _literals(node: Compare, left: Value, right: Value) -> NDArray[np.bool_]:
    if isinstance(left, str) != isinstance(right, str):
        raise SpecError(f"{value_text(left)} and {value_text(right)} cannot be compared", node.place)
    return np.asarray(_RELATIONS[node.relation](left, right), np.bool_)


def _moment(value: str, place: Place | None) -> np.datetime64:
    found = moment(value)
    if found is None:
        raise SpecError(f"{value!r} is no date or time; expected one such as '2024-03-31' or '2024-03-31T12:00'", place)
    return found


def _misfit(term: Row, values: NDArray[Any], kind: Kind, value: Value) -> str:
    name = to_text(term)
    shown = f"`{name}` is {kind} (for example {example(values)}), but {value_text(value)} is "
    if isinstance(value, str):
        expected = "true or false" if kind == "truth" else "a number"
        return f"{shown}text; expected {expected}: drop the quotes, or convert the column to text"
    came = "a truth value" if isinstance(value, bool) else "a number"
    if kind == "time":
        return f"{shown}{came}; expected a date in quotes, such as '2024-03-31'"
    quoted = quote(str(value), "'")
    wanted = f"expected text, such as {example(values)}"
    return f"{shown}{came}; {wanted}: write {quoted} in quotes, or convert the column to numbers"
