"""Kinds of columns, comparing them, missing values.

What kind of values an array holds, and arrays of Python objects turned into plain ones.

Four kinds: ``number``, ``truth`` (booleans), ``text`` and ``time``. A missing value is NaN, None or NaT.

Points in time written as text.

Comparing columns with values and with each other, one missing value at a time.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from functools import reduce
from itertools import repeat
from numbers import Real
from operator import eq, ge, gt, le, lt, ne
from typing import Any, TypeAlias
from typing import Literal as OneOf

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import DataError, Place, SpecError
from isonomia.spec.text import quote, to_text, value_text
from isonomia.spec.tree import Compare, Literal, Member, Row, Value, Variable
from isonomia.spec.walk import place_of

__all__ = ["Kind", "compare", "equal_any", "example", "kind_of", "missing", "moment", "plain"]


Kind: TypeAlias = OneOf["number", "truth", "text", "time"]

_KINDS: dict[str, Kind] = {
    "i": "number",
    "u": "number",
    "f": "number",
    "b": "truth",
    "M": "time",
    "U": "text",
    "O": "text",
}
_EXACT = 2**53
"""Beyond this, floats leave whole numbers out."""

_MISSING_TYPES = {"NoneType", "NAType", "NaTType"}


def kind_of(values: NDArray[Any]) -> Kind:
    """The kind of an array that :func:`plain` returned."""
    return _KINDS[values.dtype.kind]


def plain(values: NDArray[Any], name: str) -> NDArray[Any]:
    """An array of numbers, truth values, text or times, from one that may hold Python objects.

    An array of objects that are all numbers, truth values or missing becomes floats; all truth values, booleans; all
    dates, times; text stays as it is, with ``None`` for a missing value. Other arrays are returned as they are.

    Raises
    ------
    DataError
        Where the kinds are mixed, or are none of these; the message names the column and two of its values.
    """
    kind = values.dtype.kind
    if kind == "O":
        return _from_objects(values, name)
    if kind == "T":
        return _from_objects(values.astype(object), name)
    if kind == "f" and values.dtype.itemsize < 4:
        return values.astype(np.float32)
    if kind not in _KINDS:
        raise DataError(f"column {name!r} holds {values.dtype}; expected numbers, truth values, text or times")
    return values


def _from_objects(values: NDArray[Any], name: str) -> NDArray[Any]:
    types = set(map(type, values.tolist()))
    if types == {str}:
        return values
    void = {kind for kind in types if kind.__name__ in _MISSING_TYPES}
    held = types - void
    if held and not void and all(issubclass(kind, bool | np.bool_) for kind in held):
        return values.astype(np.bool_)
    if all(issubclass(kind, Real | Decimal | np.bool_) for kind in held):
        _refuse_large(values, name)
        return _filled(values, _are(values, *void), np.nan).astype(np.float64)
    if all(issubclass(kind, date | datetime | np.datetime64) for kind in held):
        return _times(_filled(values, _are(values, *void), None), name)
    return _text(values, name)


def _refuse_large(values: NDArray[Any], name: str) -> None:
    """Refuse whole numbers that would be rounded: two people's numbers could then seem to be one."""
    for value in values:
        if isinstance(value, int) and abs(value) > _EXACT:
            raise DataError(
                f"column {name!r} holds {value!r}, which is beyond 2**53, beside missing values or fractions: as a "
                "floating-point number it would be rounded; convert the column to text"
            )


def _times(values: NDArray[Any], name: str) -> NDArray[Any]:
    if any(getattr(value, "tzinfo", None) is not None for value in values):
        raise DataError(f"column {name!r} holds times with a time zone; convert them to times without one")
    return values.astype("datetime64[us]")


def _text(values: NDArray[Any], name: str) -> NDArray[Any]:
    written = _are(values, str)
    others = values[~written]
    absent = _are(others, *(kind for kind in set(map(type, others)) if kind.__name__ in _MISSING_TYPES))
    absent |= np.fromiter((isinstance(x, float) and x != x for x in others), np.bool_, len(others))
    if not absent.all():
        raise DataError(_odd_values(values, others[~absent][0], name))
    return _filled(values, ~written, None)


def _odd_values(values: NDArray[Any], odd: Any, name: str) -> str:
    held = f"column {name!r} holds values such as {odd!r} ({type(odd).__name__})"
    other = next((x for x in values if x is not None and type(x) is not type(odd)), None)
    if other is None:
        return f"{held}; expected numbers, truth values, text or times"
    return f"{held} and {other!r} ({type(other).__name__}), of different kinds; convert the column to one kind"


def _filled(values: NDArray[Any], where: NDArray[np.bool_], filler: float | None) -> NDArray[Any]:
    result = values.copy()
    result[where] = filler
    return result


def _are(values: NDArray[Any], *kinds: type) -> NDArray[np.bool_]:
    return np.fromiter(map(isinstance, values, repeat(kinds)), np.bool_, len(values))


def missing(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Where an array that :func:`plain` returned has missing values."""
    match values.dtype.kind:
        case "f":
            return np.asarray(np.isnan(values))
        case "M":
            return np.asarray(np.isnat(values))
        case "O":
            nothing: Any = None
            return np.asarray(np.equal(values, nothing), np.bool_)
        case _:
            return np.zeros(values.shape, np.bool_)


def example(values: NDArray[Any]) -> str:
    """One value of an array, written out, for an error message."""
    there = values[~missing(values)][:1]
    return repr(there[0].item() if isinstance(there[0], np.generic) else there[0]) if len(there) else "none"


_ISO = re.compile(r"\d{4}(-\d\d(-\d\d([T ]\d\d(:\d\d(:\d\d(\.\d{1,9})?)?)?)?)?)?", re.ASCII)


def moment(text: str) -> np.datetime64 | None:
    """The point in time that a text means, or ``None`` where it is no ISO 8601 date or time.

    A year or a month alone means its first instant. Time zones are not understood: the columns have none.
    """
    if not _ISO.fullmatch(text):
        return None
    try:
        return np.datetime64(text)
    except ValueError:
        return None


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
