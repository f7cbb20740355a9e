"""Columns: one form for each kind of value, and comparisons that are never true of a missing value.

There are four kinds: ``number``, ``truth`` (booleans), ``text`` and ``time``. A missing value is NaN, None or NaT.

Columns that are tensors: held on a device by an array library other than NumPy, and left there.

A row expression is evaluated by the library that holds the columns, through the array API standard. Only counts, and
the values that a message shows, come back. Numbers and truth values can be tensors; text and times stay with NumPy, and
results about them move to the device when they are combined with a tensor. Where a type annotation says array, a tensor
is accepted too.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import reduce
from math import isfinite
from numbers import Real
from operator import and_, or_
from typing import Any, TypeAlias
from typing import Literal as OneOf

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import DataError, Place, SpecError, UsageError
from isonomia.spec.text import quote, to_text, value_text
from isonomia.spec.tree import FLIPPED, RELATIONS, Compare, Literal, Member, Output, Row, Value, Variable, place_of

Kind: TypeAlias = OneOf["number", "truth", "text", "time"]

_NUMBERS: dict[str, Kind] = {"i": "number", "u": "number", "f": "number"}
_KINDS: dict[str, Kind] = {**_NUMBERS, "b": "truth", "M": "time", "U": "text", "O": "text"}
EXACT = 2**53
"""Beyond this, floats cannot represent every whole number."""

TIME = "datetime64[us]"
DURATION = "timedelta64[us]"


def kind_of(values: NDArray[Any]) -> Kind:
    """The kind of an array that :func:`plain` returned."""
    if is_tensor(values):
        return "truth" if kind_of_tensor(values) == "truth" else "number"
    return _KINDS[values.dtype.kind]


def normalise(values: NDArray[Any] | Sequence[Any]) -> NDArray[Any]:
    """One column in the form that every part of an audit sees, whatever its original form. Nothing is refused here.

    - Text is an object array of ``str`` with ``None`` where it is missing.
    - Whole numbers stay whole. With a value missing they become floats with NaN, as every number does, unless one is
      too large for a float to hold exactly: then an object array of ``int`` and ``None``.
    - Truth values are a bool array; with a value missing, an object array of ``True``, ``False`` and ``None``.
    - Dates and times are ``datetime64[us]`` with NaT where missing. A time with a zone is the same instant in UTC, a
      time without one is taken as it stands: so 14:00+02:00 equals 12:00, and a date is its first instant.
    - Anything else is an object array with ``None`` where it is missing.
    """
    if not isinstance(values, np.ndarray):
        return _from_values(values)
    match values.dtype.kind:
        case "O" | "T":
            return _from_values(values.tolist())
        case "U":
            return values.astype(object)
        case "M":
            return values.astype(TIME)
        case "m":
            return values.astype(DURATION)
        case _:
            return values


def _from_values(values: Sequence[Any]) -> NDArray[Any]:
    types = set(map(type, values))
    if types <= {str, type(None)}:
        return _objects(values)
    if types <= {bool} or types <= {int}:
        return _whole(values)
    if types <= {int, float}:
        return np.array(values, dtype=np.float64)
    return _from_mixed([python_value(value) for value in values])


def _from_mixed(values: list[Any]) -> NDArray[Any]:
    types = {type(value) for value in values if value is not None}
    complete = not any(value is None for value in values)
    if not types:
        return _objects(values)
    if complete and (types == {bool} or types == {int}):
        return _whole(values)
    if types == {int} and any(value is not None and abs(value) > EXACT for value in values):
        return _objects(values)
    if types <= {int, float, Decimal}:
        return np.array([np.nan if value is None else float(value) for value in values])
    if all(issubclass(kind, date) for kind in types):
        return np.array([_in_utc(value) for value in values], dtype=TIME)
    return _objects(values)


def _whole(values: Sequence[Any]) -> NDArray[Any]:
    for kind in (bool,) if isinstance(values[0], bool) else (np.int64, np.uint64):
        try:
            return np.array(values, dtype=kind)
        except OverflowError:
            continue
    return _objects(values)


def _objects(values: Sequence[Any]) -> NDArray[Any]:
    # Not np.array, which would turn a list of equally long lists into a matrix.
    return np.fromiter(values, dtype=object, count=len(values))


def _in_utc(value: date | None) -> date | None:
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC).replace(tzinfo=None)
    return value


def python_value(value: Any) -> Any:
    """One value in Python's own type; ``None`` where it is missing."""
    if value is None or type(value).__name__ in {"NAType", "NaTType"}:
        return None
    if isinstance(value, np.datetime64):
        return value.astype(TIME).item()
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and value != value:
        return None
    return str(value) if isinstance(value, str) else value


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


def plain(values: NDArray[Any], name: str) -> NDArray[Any]:
    """A column of numbers, truth values, text or times, as :func:`normalise` gives it, that can be compared.

    Truth values with missing ones among them become floats.

    Raises
    ------
    DataError
        Where the kinds are mixed, or are none of these; the message names the column and two of its values.
    """
    if is_tensor(values):
        return _plain_tensor(values, name)
    if values.dtype.kind == "O":
        types = set(map(type, values.tolist()))
        if str in types and types <= {str, type(None)}:
            return values
        if int in types and types != {int}:
            _refuse_large(values, name)
    column = normalise(values)
    kind = column.dtype.kind
    if kind == "O":
        return _comparable(column, name)
    if kind == "f" and column.dtype.itemsize < 4:
        return column.astype(np.float32)
    if kind not in _KINDS:
        raise DataError(f"column {name!r} holds {column.dtype}; expected numbers, truth values, text or times")
    return column


def _plain_tensor(values: Any, name: str) -> NDArray[Any]:
    """A tensor with one number or one truth value per row; floats of fewer than 32 bits are widened."""
    if values.ndim != 1:
        raise DataError(f"column {name!r} has shape {tuple(values.shape)}; expected one number or truth value per row")
    xp, kind = namespace(values), kind_of_tensor(values, name)
    small = kind == "number" and xp.isdtype(values.dtype, "real floating") and values.dtype.itemsize < 4
    column: NDArray[Any] = xp.astype(values, xp.float32) if small else values
    return column


def _refuse_large(values: NDArray[Any], name: str) -> None:
    """Refuse whole numbers that would be rounded: two different ones could then look the same."""
    for value in values:
        if isinstance(value, int) and abs(value) > EXACT:
            message = f"column {name!r} holds {value!r}, which would be rounded next to missing values or fractions"
            raise DataError(f"{message} (beyond 2**53): convert the column to text", name=name)


def _refuse_beyond_64_bits(values: NDArray[Any], name: str) -> None:
    """Refuse whole numbers too large for any NumPy type, for the same reason."""
    for value in values:
        if type(value) is int and abs(value) >= 2**63:
            digits = len(f"{abs(value):x}") * 4
            message = f"column {name!r} holds a whole number of about {digits} bits; expected at most 64"
            raise DataError(f"{message}: convert the column to text, or measure in larger units")


def _comparable(column: NDArray[Any], name: str) -> NDArray[Any]:
    """Objects that are all text, or all numbers, or missing."""
    types = set(map(type, column.tolist())) - {type(None)}
    if types == {str}:
        return column
    if int in types:
        _refuse_beyond_64_bits(column, name)
    if all(issubclass(kind, Real | Decimal) for kind in types):
        return np.array([np.nan if value is None else float(value) for value in column], dtype=np.float64)
    raise DataError(_odd_values(column, name))


def _odd_values(column: NDArray[Any], name: str) -> str:
    present = [value for value in column if value is not None]
    odd = next(value for value in present if not isinstance(value, str))
    message = f"column {name!r} holds values such as {odd!r} ({type(odd).__name__})"
    other = next((value for value in present if type(value) is not type(odd)), None)
    if other is None:
        return f"{message}; expected numbers, truth values, text or times"
    return f"{message} and {other!r} ({type(other).__name__}), of different kinds; convert the column to one kind"


def missing(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Where an array that :func:`plain` returned has missing values."""
    if is_tensor(values):
        return missing_in(values)
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
    values = host(values)
    there = values[~missing(values)][:1]
    return repr(there[0].item() if isinstance(there[0], np.generic) else there[0]) if len(there) else "none"


_ISO = re.compile(r"\d{4}(-\d\d(-\d\d([T ]\d\d(:\d\d(:\d\d(\.\d{1,9})?)?)?)?)?)?", re.ASCII)


def moment(text: str) -> np.datetime64 | None:
    """The point in time that a text means, or ``None`` where it is not an ISO 8601 date or time.

    A year or a month alone means its first instant. A text has no time zone: it is compared with columns in UTC.
    """
    if not _ISO.fullmatch(text):
        return None
    try:
        return np.datetime64(text)
    except ValueError:
        return None


def compare(node: Compare, left: NDArray[Any], right: NDArray[Any]) -> NDArray[np.bool_]:
    """Where a comparison is true; never where a side is missing. The values of a literal side are not looked at."""
    match node.left, node.right:
        case Literal(a), Literal(b):
            return _literals(node, a, b)
        case Literal(value), _:
            return _with_value(FLIPPED[node.relation], right, value, node.right, node.left)
        case _, Literal(value):
            return _with_value(node.relation, left, value, node.left, node.right)
        case _:
            return _two_columns(node, left, right)


def equal_any(node: Member, values: NDArray[Any]) -> NDArray[np.bool_]:
    """Where a term is one of the values of a set; never where it is missing."""
    if isinstance(node.operand, Literal):
        tests = [Compare("==", node.operand, item, place=node.place) for item in node.values]
        return np.asarray(any(compare(test, values, values) for test in tests))
    return reduce(or_, (_is(node.operand, values, item) for item in node.values))


def _is(operand: Row, values: NDArray[Any], item: Literal | Variable) -> NDArray[np.bool_]:
    if isinstance(item, Variable):
        raise SpecError(
            f"`{item.name}` is a variable that stands for no value yet: expand the formula", item.place, name=item.name
        )
    return _with_value("==", values, item.value, operand, item)


def _with_value(relation: str, values: NDArray[Any], value: Value, term: Row, literal: Row) -> NDArray[np.bool_]:
    kind = kind_of(values)
    fits = isinstance(value, str) == (kind in {"text", "time"})
    if not fits and missing(values).all():
        return np.zeros(values.shape, np.bool_)
    if not fits:
        raise SpecError(_mismatch(term, values, kind, value, literal), place_of(literal) or place_of(term))
    if kind == "time" and isinstance(value, str):
        return _relate(relation, values, _moment(value, place_of(literal)))
    if isinstance(value, str):
        # As an object: NumPy's own text type drops null characters at the end.
        return _relate(relation, values, np.array(value, dtype=object))
    if is_tensor(values):
        return _related_tensors(relation, *_tensor_and_value(values, value))
    return _relate(relation, _with_room(values, value), value)


def _with_room(values: NDArray[Any], value: float) -> NDArray[Any]:
    """The same numbers in a type that also holds the value they are compared with."""
    small = values.dtype.kind == "f" and values.dtype.itemsize < 8
    too_large = small and abs(value) > float(np.finfo(values.dtype).max)
    return values.astype(np.float64) if too_large or (values.dtype.kind == "b" and value not in {0, 1}) else values


def _tensor_and_value(values: Any, value: float) -> tuple[Any, float]:
    """A tensor in a type that holds the value, and the value in that type: libraries promote types differently."""
    xp = namespace(values)
    if xp.isdtype(values.dtype, "real floating"):
        fits = not isfinite(value) or abs(value) <= float(xp.finfo(values.dtype).max)
        return (values if fits else xp.astype(values, xp.float64)), float(value)
    if xp.isdtype(values.dtype, "bool"):
        return (values, bool(value)) if value in {0, 1} else (xp.astype(values, xp.float64), float(value))
    ends = xp.iinfo(values.dtype)
    if isfinite(value) and value == int(value) and ends.min <= value <= ends.max:
        return values, int(value)
    return xp.astype(values, xp.float64), float(value)


def _relate(relation: str, left: NDArray[Any], right: Any) -> NDArray[np.bool_]:
    """Compare without looking for missing values where the comparison itself is already false for them."""
    if left.dtype.kind == "O" and relation not in {"==", "!="}:
        return _compared_where(~missing(left), relation, left, np.broadcast_to(right, left.shape))
    result = _compared(relation, left, right)
    if relation == "!=" and left.dtype.kind in "fMO":
        result &= ~missing(left)
    return result


def _related_tensors(relation: str, left: Any, right: Any) -> NDArray[np.bool_]:
    """The same on a device, where whole numbers become floats next to floats: beyond 2**53, two may become equal."""
    result: NDArray[np.bool_] = RELATIONS[relation](left, right)
    if relation != "!=":
        return result
    sides = [side for side in (left, right) if not isinstance(side, int | float)]
    return reduce(and_, (~missing_in(side) for side in sides), result)


def _compared(relation: str, left: NDArray[Any], right: Any) -> NDArray[np.bool_]:
    """Compare exactly: with floats, NumPy rounds whole numbers to floats, and beyond 2**53 two may become equal."""
    result = np.asarray(RELATIONS[relation](left, right), np.bool_)
    scalar = not isinstance(right, np.ndarray)
    kinds = {left.dtype.kind, {int: "i", float: "f"}.get(type(right), "") if scalar else right.dtype.kind}
    if kinds not in ({"i", "f"}, {"u", "f"}) or (scalar and abs(right) < EXACT):
        return result
    floats, others = np.broadcast_arrays(left.astype(np.float64), np.asarray(right, dtype=np.float64))
    doubtful = (floats == others) & (np.abs(others) >= EXACT)
    if doubtful.any():
        pairs = (np.broadcast_to(side, doubtful.shape)[doubtful].tolist() for side in (left, np.asarray(right)))
        result = np.broadcast_to(result, doubtful.shape).copy()
        result[doubtful] = [RELATIONS[relation](one, two) for one, two in zip(*pairs, strict=True)]
    return result


def _compared_where(
    there: NDArray[np.bool_], relation: str, left: NDArray[Any], right: NDArray[Any]
) -> NDArray[np.bool_]:
    """Compare text in some rows; false in the others."""
    result = np.zeros(left.shape, np.bool_)
    result[there] = RELATIONS[relation](left[there], right[there])
    return result


def _two_columns(node: Compare, left: NDArray[Any], right: NDArray[Any]) -> NDArray[np.bool_]:
    kinds = {kind_of(left), kind_of(right)}
    if len(kinds) > 1 and kinds != {"number", "truth"}:
        return _nowhere_or_mismatch(node, left, right)
    if kinds == {"text"}:
        left, right = left.astype(object), right.astype(object)
        return _compared_where(~(missing(left) | missing(right)), node.relation, left, right)
    if is_tensor(left) or is_tensor(right):
        left, right = together([left, right])
        same = left.dtype == right.dtype
        return _related_tensors(node.relation, *((left, right) if same else map(as_floats, (left, right))))
    result = _compared(node.relation, left, right)
    return result & ~(missing(left) | missing(right)) if node.relation == "!=" else result


def _nowhere_or_mismatch(node: Compare, left: NDArray[Any], right: NDArray[Any]) -> NDArray[np.bool_]:
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
    return np.asarray(RELATIONS[node.relation](left, right), np.bool_)


def _moment(value: str, place: Place | None) -> np.datetime64:
    time = moment(value)
    if time is None:
        raise SpecError(f"{value!r} is not a date or time; expected '2024-03-31' or '2024-03-31T12:00'", place)
    return time


def _mismatch(term: Row, values: NDArray[Any], kind: Kind, value: Value, literal: Row) -> str:
    name = to_text(term)
    shown = f"`{name}` is {kind} (for example {example(values)}), but {value_text(value)} is "
    if isinstance(value, str):
        expected = "true or false" if kind == "truth" else "a number"
        return f"{shown}text; expected {expected}: drop the quotes, or convert the column to text"
    came = "a truth value" if isinstance(value, bool) else "a number"
    if kind == "time":
        return f"{shown}{came}; expected a date in quotes, such as '2024-03-31'"
    quoted = quote(str(value), "'")
    if place_of(literal) is None:  # not written in a formula: the default of a named property
        option = "favourable" if isinstance(term, Output) else "positive"
        also = "" if option == "favourable" else f" (or favourable={example(values)}, where it is the decision)"
        label = f"; a label that is text is written as {quoted} in quotes" if option == "favourable" else ""
        return f"{shown}{came}; say which of its values is meant: {option}={example(values)}{also}{label}"
    wanted = f"expected text, such as {example(values)}"
    return f"{shown}{came}; {wanted}: write {quoted} in quotes, or convert the column to numbers"


_NUMPY = (np.ndarray, np.generic)


def is_tensor(values: Any) -> bool:
    """Whether an array belongs to a library other than NumPy."""
    return not isinstance(values, _NUMPY)


def namespace(values: Any) -> Any:
    """The functions of the array API standard for a tensor."""
    try:
        from array_api_compat import array_namespace
    except ImportError:
        raise UsageError(
            "columns that are tensors need the package array-api-compat: pip install 'isonomia[torch]'"
        ) from None
    return array_namespace(values)


def kind_of_tensor(values: Any, name: str = "") -> str:
    """``"truth"`` or ``"number"``; nothing else can be a tensor."""
    xp = namespace(values)
    if xp.isdtype(values.dtype, "bool"):
        return "truth"
    if xp.isdtype(values.dtype, ("integral", "real floating")):
        return "number"
    raise DataError(f"column {name!r} holds {values.dtype}; expected numbers or truth values", name=name)


def missing_in(values: Any) -> NDArray[np.bool_]:
    """Where a tensor has a missing value, which is NaN."""
    xp = namespace(values)
    floating = xp.isdtype(values.dtype, "real floating")
    result: NDArray[np.bool_] = xp.isnan(values) if floating else xp.zeros_like(values, dtype=xp.bool)
    return result


def as_floats(values: Any) -> NDArray[np.float64]:
    """A tensor of numbers or truth values in double precision, as row expressions need it."""
    xp = namespace(values)
    floats: NDArray[np.float64] = xp.astype(values, xp.float64, copy=False)
    return floats


def together(arrays: Sequence[Any]) -> list[Any]:
    """Arrays that can be combined: where one is a tensor, NumPy's move to its device, and scalars become numbers."""
    tensor = next((array for array in arrays if is_tensor(array)), None)
    if tensor is None:
        return list(arrays)
    xp, device = namespace(tensor), tensor.device
    return [
        array if is_tensor(array) else array.item() if array.ndim == 0 else xp.asarray(np.array(array), device=device)
        for array in arrays
    ]


def count(mask: Any) -> int:
    """How many are true, whichever library holds the array."""
    if not is_tensor(mask):
        return int(np.count_nonzero(mask))
    return int(namespace(mask).count_nonzero(mask))


def some(mask: Any) -> bool:
    """Whether any is true. In NumPy, counting is several times as fast as ``any``."""
    return bool(np.count_nonzero(mask)) if isinstance(mask, _NUMPY) else bool(mask.any())


def first(mask: Any) -> int:
    """The index of the first true value; there must be one."""
    return int(np.argmax(host(mask)))


def host(values: Any) -> NDArray[Any]:
    """A tensor as an array of NumPy; what NumPy has no type for becomes single precision."""
    if not is_tensor(values):
        return np.asarray(values)
    if hasattr(values, "detach"):  # torch, which has types that NumPy lacks
        plain = values.detach().cpu()
        return np.asarray(plain.float().numpy() if str(plain.dtype) == "torch.bfloat16" else plain.numpy())
    return np.asarray(values.get() if hasattr(values, "get") else values)
