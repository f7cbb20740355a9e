"""What kind of values an array holds, and arrays of Python objects turned into plain ones.

Four kinds: ``number``, ``truth`` (booleans), ``text`` and ``time``. A missing value is NaN, None or NaT.
"""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from itertools import repeat
from numbers import Real
from typing import Any, TypeAlias
from typing import Literal as OneOf

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import DataError

__all__ = ["Kind", "example", "kind_of", "missing", "plain"]

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
