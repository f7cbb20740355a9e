"""The interpreter of expressions, a whole batch of cases at a time.

A value is a column or the records of a domain, and says for which cases it could not be computed. Random choices are
drawn, or given beforehand, in the order in which a specification makes them.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias
from typing import Literal as OneOf

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import Place, SpecError
from isonomia.populations.domains import Domain
from isonomia.populations.domains.protocol import one_record
from isonomia.spec.nomos.tree import (
    CONSTANTS,
    LARGEST_BITS,
    Binary,
    Expression,
    FeatureRead,
    FunctionCall,
    Name,
    Scalar,
    ScalarLiteral,
    Unary,
    Update,
)

Booleans = NDArray[np.bool_]

Floats = NDArray[np.float64]

ChoiceKind: TypeAlias = OneOf["whole", "real", "seed"]
"""What is chosen: a whole number, a real number, or the seed of a function that draws for itself."""

SEEDS = 2**32
"""How many seeds there are."""


class OpenChoiceError(Exception):
    """No choice is given yet at this point; carries the range to choose from, for each case.

    ``rejected`` says which cases a precondition has already rejected.
    """

    def __init__(self, kind: ChoiceKind, low: Floats, high: Floats) -> None:
        super().__init__(kind)
        self.kind, self.low, self.high = kind, low, high
        self.rejected = np.zeros(len(low), dtype=bool)


@dataclass(slots=True)
class RandomChoices:
    """Choices drawn independently and uniformly, or at the ends of their ranges; what was chosen is kept.

    At the ends means one of four: the lowest, the highest, the value nearest to zero, or any. Each is chosen for a
    quarter of the cases, in a different order for every choice.
    """

    rng: np.random.Generator
    at_ends: bool = False
    choices: list[NDArray[Any]] = field(default_factory=list)
    bounded: bool = False
    """Whether there was a choice that has ends."""

    def choose(self, kind: ChoiceKind, low: Floats, high: Floats) -> tuple[NDArray[Any], Booleans]:
        """A choice for each case from its range, both ends included, and the cases whose range is empty."""
        values, empty = self._drawn(kind, low, high)
        if kind != "seed":
            self.bounded = True
            if self.at_ends:
                first, last = (np.ceil(low), np.floor(high)) if kind == "whole" else (low, high)
                first, last = (np.where(empty, 0, end).astype(values.dtype) for end in (first, last))
                which = self.rng.permutation(len(values)) % 4
                zero = np.clip(np.zeros_like(values), first, last)
                values = np.select([which == 0, which == 1, which == 2], [first, last, zero], values)
        self.choices.append(values)
        return values, empty

    def _drawn(self, kind: ChoiceKind, low: Floats, high: Floats) -> tuple[NDArray[Any], Booleans]:
        rng = self.rng
        if kind == "seed":
            return rng.integers(0, SEEDS, size=len(low)), np.zeros(len(low), dtype=bool)
        if kind == "real":
            empty = ~(low <= high)
            return np.where(empty, 0.0, rng.uniform(np.where(empty, 0.0, low), np.where(empty, 0.0, high))), empty
        first, last = np.ceil(low), np.floor(high)
        empty = ~(first <= last)
        least, largest = (np.where(empty, 0, end).astype(np.int64) for end in (first, last))
        return rng.integers(least, largest, endpoint=True), empty


@dataclass(slots=True)
class GivenChoices:
    """Choices fixed in advance; the first one that is missing raises ``OpenChoiceError`` with what could be chosen.

    For choices that were drawn, ``empty`` says where there was nothing to choose from.
    """

    choices: Sequence[NDArray[Any]]
    used: int = 0

    def choose(self, kind: ChoiceKind, low: Floats, high: Floats) -> tuple[NDArray[Any], Booleans]:
        """The next choice; a stored one does not count where it is outside the range or not a whole number."""
        if self.used == len(self.choices):
            raise OpenChoiceError(kind, low, high)
        values = self.choices[self.used]
        self.used += 1
        if kind == "seed":
            return values, np.zeros(len(values), dtype=bool)
        outside = ~((values >= low) & (values <= high))
        if kind == "whole" and values.dtype.kind == "f":
            outside |= values != np.floor(values)
        return values, outside


Choices: TypeAlias = RandomChoices | GivenChoices
"""Where random choices come from, in the order in which a specification makes them."""


Answers: TypeAlias = tuple[NDArray[Any], NDArray[Any] | None]
"""The model's answers for some records, and why there is no answer, for each record without one."""

_LARGE = 2.0**62
"""Whole numbers below this are added and multiplied exactly."""

LONGEST_TEXT = 2**16
"""The maximum number of characters of a concatenated text. Forty doublings would make one of a trillion."""

MOST_TEXT = 2**27
"""The maximum number of characters of all concatenated texts in one batch of cases."""

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


@dataclass(frozen=True, slots=True, eq=False)
class CaseValues:
    """One value for each case.

    Attributes
    ----------
    data
        A column, or the records of a domain.
    bad
        For which cases it could not be computed; what ``data`` holds there means nothing. ``None`` where it always
        could.
    null
        For records, the cases without one: ``null``. Another record stands in for it, so that it can be
        passed on. A column has ``None`` for it instead.
    """

    data: Any
    bad: Booleans | None = None
    null: Booleans | None = None

    def take(self, indices: NDArray[np.intp]) -> CaseValues:
        """The values of these cases."""
        data = self.data[indices] if isinstance(self.data, np.ndarray) else self.data.take(indices)
        bad, null = (None if mask is None else mask[indices] for mask in (self.bad, self.null))
        return CaseValues(data, bad, null)


@dataclass(slots=True)
class CaseEvaluation:
    """A batch of cases while it is being computed.

    Attributes
    ----------
    n, domain
        How many cases there are, and where their inputs come from.
    values
        The value of every name so far.
    choices
        Where random choices come from.
    call
        Calls a function of the language or the domain by name.
    ask
        Queries the model about records: ``ask("predict", records)``; ``None`` before the model may be queried.
    accepted, unclear
        Cases that no precondition rejects; and those among them in which a precondition had no value.
    empty
        Cases in which a random choice had nothing to choose from.
    faults
        What could not be computed, in words, and for which cases.
    characters
        How many characters the concatenated texts have so far.
    types
        The type of every column so far, in the order of computing; ``None`` stands for records.
    """

    n: int
    domain: Domain
    values: dict[str, CaseValues]
    choices: Choices
    call: Callable[[CaseEvaluation, FunctionCall], CaseValues]
    ask: Callable[[str, Any], Answers] | None = None
    accepted: Booleans = field(init=False)
    unclear: Booleans = field(init=False)
    empty: Booleans = field(init=False)
    faults: list[tuple[str, Booleans]] = field(default_factory=list)
    characters: int = 0
    types: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.accepted = np.ones(self.n, dtype=bool)
        self.unclear, self.empty = np.zeros(self.n, dtype=bool), np.zeros(self.n, dtype=bool)

    @property
    def rejected(self) -> int:
        """How many cases a precondition rejects."""
        return int(np.count_nonzero(~self.accepted & ~self.empty))

    @property
    def without_choice(self) -> int:
        """How many cases had nothing to choose from."""
        return int(np.count_nonzero(self.empty))

    def accepted_only(self) -> CaseEvaluation:
        """The accepted cases alone."""
        keep = np.flatnonzero(self.accepted)
        values = {name: value.take(keep) for name, value in self.values.items()}
        part = CaseEvaluation(len(keep), self.domain, values, self.choices, self.call)
        part.unclear = self.unclear[keep]
        part.faults, part.types = [(why, bad[keep]) for why, bad in self.faults], self.types
        return part

    def joined(self, texts: NDArray[Any], place: Place | None) -> NDArray[Any]:
        """Concatenated texts; more than a batch may hold in all are refused."""
        self.characters += sum(len(item) for item in texts.tolist() if isinstance(item, str))
        if self.characters > MOST_TEXT:
            message = f"expected texts of at most {MOST_TEXT:,} characters in total for {self.n:,} cases, but there are"
            raise SpecError(f"{message} more: put fewer or shorter ones together", place)
        return texts

    def fault(self, bad: Booleans | None, why: str, place: Place | None) -> None:
        """Note that something could not be computed for some cases."""
        if bad is not None and bad.any():
            where = f" (line {place.line})" if place is not None else ""
            self.faults.append((f"{why}{where}", bad))

    def note(self, worse: Booleans | None, bad: Booleans | None, why: str, place: Place | None) -> Booleans | None:
        """Note what went wrong here, but not what follows from an earlier fault; where either of them is."""
        self.fault(worse if worse is None or bad is None else worse & ~bad, why, place)
        return either(bad, worse)


def evaluate(node: Expression, batch: CaseEvaluation) -> CaseValues:
    """The value of an expression for every case of a batch."""
    value = _computed(node, batch)
    batch.types.append(value.data.dtype if is_column(value) else None)
    return value


def _computed(node: Expression, batch: CaseEvaluation) -> CaseValues:
    match node:
        case ScalarLiteral():
            return CaseValues(constant_column(node.value, batch.n))
        case Name():
            if node.name in batch.values:
                return batch.values[node.name]
            return CaseValues(constant_column(CONSTANTS[node.name], batch.n))
        case FeatureRead():
            return read_feature(batch, evaluate(node.record, batch), node.feature, node.place)
        case Update():
            record, value = evaluate(node.record, batch), evaluate(node.value, batch)
            return write_feature(batch, record, node.feature, value, node.place)
        case FunctionCall():
            return batch.call(batch, node)
        case Unary(operator="!"):
            met, none = tested(evaluate(node.operand, batch), batch, node.place)
            return CaseValues(~met, either(none))
        case Unary():
            return _arithmetic(
                "-", CaseValues(constant_column(0, batch.n)), evaluate(node.operand, batch), batch, node.place
            )
        case Binary():
            return _binary(node, batch)


def tested(met: CaseValues, batch: CaseEvaluation, place: Place | None) -> tuple[Booleans, Booleans]:
    """Where a condition is true, and where it has no value; a text is neither true nor false, nor is a record."""
    none = np.zeros(batch.n, dtype=bool) if met.bad is None else met.bad
    if not is_column(met):
        batch.fault(~none, "expected something true or false, but got a record", place)
        return np.zeros(batch.n, dtype=bool), np.ones(batch.n, dtype=bool)
    if met.data.dtype.kind in "OU":
        texts = np.array([isinstance(item, str) for item in met.data.tolist()], dtype=bool) & ~none
        batch.fault(texts, "expected something true or false, but got a text", place)
        none = none | texts
    return _truth(met), none


def constant_column(value: Scalar, n: int) -> NDArray[Any]:
    """The same value for every case."""
    if isinstance(value, str) or value is None or (isinstance(value, int) and abs(value) >= 2**63):
        return np.full(n, value, dtype=object)
    return np.full(n, value)


def present_record(batch: CaseEvaluation, value: CaseValues, what: str, place: Place | None) -> CaseValues:
    """The records for an operation; a case in which there is no record, or a plain value, has failed."""
    gone = missing(value.data) if is_column(value) else value.null
    bad = batch.note(gone, value.bad, f"{what} needs a record, but it is null here", place)
    if gone is None or not is_column(value):
        return CaseValues(value.data, bad)
    batch.note(~gone, value.bad, f"{what} needs a record, but got a value", place)
    return CaseValues(batch.domain.inputs(np.zeros(batch.n, dtype=np.intp)), np.ones(batch.n, dtype=bool))


def read_feature(batch: CaseEvaluation, record: CaseValues, feature: str | int, place: Place | None) -> CaseValues:
    """A feature of every record."""
    record = present_record(batch, record, f"the feature {feature!r}", place)
    data, bad = batch.domain.get(record.data, batch.domain.feature(feature))
    batch.fault(bad, f"the feature {feature!r} has no single value", place)
    return CaseValues(data, either(record.bad, bad))


def write_feature(
    batch: CaseEvaluation, record: CaseValues, feature: str | int, value: CaseValues, place: Place | None
) -> CaseValues:
    """Every record with a feature set."""
    record = present_record(batch, record, f"the feature {feature!r}", place)
    name = batch.domain.feature(feature)
    data, bad = batch.domain.set(record.data, name, value.data)
    bad = batch.note(bad, value.bad, f"the feature {feature!r} cannot be set to such a value", place)
    return CaseValues(data, either(record.bad, bad))


def _binary(node: Binary, batch: CaseEvaluation) -> CaseValues:
    left, right = evaluate(node.left, batch), evaluate(node.right, batch)
    match node.operator:
        case "&&" | "||" | "==>":
            sides = (tested(side, batch, node.place) for side in (left, right))
            return joined_truths(node.operator, *(CaseValues(met, none) for met, none in sides))
        case "==" | "!=" | "<" | "<=" | ">" | ">=":
            return _compared(node, left, right, batch)
        case _:
            return _arithmetic(node.operator, left, right, batch, node.place)


def joined_truths(sign: str, left: CaseValues, right: CaseValues) -> CaseValues:
    """Evaluated left to right: where the left side decides, it does not matter that the right side has no value."""
    first, second = _truth(left), _truth(right)
    settled = first if sign == "||" else ~first
    result = first & second if sign == "&&" else settled | second
    right_bad = None if right.bad is None else right.bad & ~settled
    return CaseValues(result, either(left.bad, right_bad))


def _truth(value: CaseValues) -> Booleans:
    """A column as truth values: numbers are true unless they are 0, missing values are false."""
    column = value.data
    if column.dtype == np.bool_:
        return np.asarray(column)
    if column.dtype.kind == "f":
        return np.asarray((column != 0) & ~np.isnan(column))
    if column.dtype == object:
        return np.asarray([_is_true(item) for item in column.tolist()], dtype=bool)
    return np.asarray(column != 0)


def _is_true(item: Any) -> bool:
    """Whether an object counts as true; NaN does not."""
    if isinstance(item, float) and item != item:
        return False
    return len(item) > 0 if isinstance(item, np.ndarray) else bool(item)


def _compared(node: Binary, left: CaseValues, right: CaseValues, batch: CaseEvaluation) -> CaseValues:
    bad = either(left.bad, right.bad)
    for side, other in ((node.left, right), (node.right, left)):
        if isinstance(side, ScalarLiteral) and side.value is None:
            gone = _null(other)
            return CaseValues(gone if node.operator == "==" else ~gone, bad)
    if not is_column(left) or not is_column(right):
        if node.operator not in {"==", "!="}:
            everywhere = np.ones(batch.n, dtype=bool)
            why = f"`{node.operator}` has no meaning for records: they are equal or not"
            return CaseValues(np.zeros(batch.n, dtype=bool), batch.note(everywhere, bad, why, node.place))
        same = _same_records(batch.domain, left, right)
        return CaseValues(same if node.operator == "==" else ~same, bad)
    result, worse, why = compare(node.operator, left.data, right.data)
    return CaseValues(result, batch.note(worse, bad, why, node.place))


def _null(value: CaseValues) -> Booleans:
    """Where there is nothing: no record, or no value."""
    if is_column(value):
        return missing(value.data)
    return np.zeros(len(value.data), dtype=bool) if value.null is None else value.null


def _same_records(domain: Domain, left: CaseValues, right: CaseValues) -> Booleans:
    """Which records are the same; so are two missing ones, and an object and a value that equals it."""
    gone, lacking = _null(left), _null(right)
    if is_column(left) or is_column(right):
        one = one_record(domain)
        sides = [
            side.data.tolist() if is_column(side) else [one(side.data, index) for index in range(len(side.data))]
            for side in (left, right)
        ]
        same = np.array([same_values(*pair) for pair in zip(*sides, strict=True)], dtype=bool)
    else:
        same = domain.equal(left.data, right.data)
    return np.asarray((same & ~gone & ~lacking) | (gone & lacking))


def same_values(one: Any, other: Any) -> bool:
    """Whether two values are equal, arrays as a whole; values that cannot be compared are not."""
    if isinstance(one, float) and isinstance(other, float) and one != one and other != other:
        return True
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return bool(np.array_equal(one, other))
    try:
        return bool(one == other)
    except Exception:  # whatever a user's class raises
        return False


def _arithmetic(
    sign: str, left: CaseValues, right: CaseValues, batch: CaseEvaluation, place: Place | None
) -> CaseValues:
    bad = either(left.bad, right.bad)
    if not is_column(left) or not is_column(right):
        why = f"`{sign}` cannot be computed for records"
        return CaseValues(np.zeros(batch.n), batch.note(np.ones(batch.n, dtype=bool), bad, why, place))
    result, worse, why = arithmetic(sign, left.data, right.data)
    result = batch.joined(result, place) if result.dtype == object else result
    return CaseValues(result, batch.note(worse, bad, why, place))


def arithmetic(sign: str, left: NDArray[Any], right: NDArray[Any]) -> tuple[NDArray[Any], Booleans | None, str]:
    """The result, where it is missing, and why.

    Division by zero and results too large for a number have none; for text only ``+`` has a meaning.
    """
    if left.dtype.kind not in "biuf" or right.dtype.kind not in "biuf":
        return _one_by_one(partial(_made, sign), left, right)
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
    finite = np.isfinite(first.astype(np.float64)) & np.isfinite(second.astype(np.float64))
    lost = finite & ~np.isfinite(np.asarray(rough, dtype=np.float64)) & ~by_zero
    why = "a division by zero" if by_zero.any() else "a number that is too large"
    return np.asarray(result), either(by_zero, lost), why


def _made(sign: str, one: Any, other: Any) -> Any:
    """The result for two single values, including texts and integers of any size; its size is bounded."""
    if isinstance(one, str) or isinstance(other, str):
        if sign != "+" or not (isinstance(one, str) and isinstance(other, str)):
            raise TypeError(f"`{sign}` has no meaning for a text")
        if len(one) + len(other) > LONGEST_TEXT:
            raise ValueError(f"a text of more than {LONGEST_TEXT:,} characters")
    elif sign == "**" and isinstance(one, int) and isinstance(other, int) and abs(one) > 1:
        # Checked before computing, which could take forever: a power has about this many bits.
        if (one.bit_length() - 1) * other > LARGEST_BITS:
            raise OverflowError("a number that is too large")
        if other < -LARGEST_BITS:
            return 0.0
    result = _MAKE[sign](one, other)
    if isinstance(result, complex):
        raise ValueError("a power that is not a real number")
    if isinstance(result, int) and result.bit_length() > LARGEST_BITS:
        raise OverflowError("a number that is too large")
    return result


def _number(column: NDArray[Any]) -> NDArray[Any]:
    return column.astype(np.int64) if column.dtype.kind in "biu" else column.astype(np.float64)


def compare(sign: str, left: NDArray[Any], right: NDArray[Any]) -> tuple[NDArray[Any], Booleans | None, str]:
    """Whether the comparison is true; an order has no answer between values of different kinds."""
    if sign in {"==", "!="}:
        same = _equal(left, right)
        return same if sign == "==" else ~same, None, ""
    if left.dtype != object and right.dtype != object:
        return np.asarray(_ORDER[sign](left, right), dtype=bool), None, ""
    result, bad, why = _one_by_one(_ORDER[sign], left, right)
    return np.asarray([item is True for item in result.tolist()], dtype=bool), bad, why


_SIMPLE = frozenset({str, int, bool, type(None)})
"""Types whose values compare plainly with ``==``: no NaN, no array, no class of the user's."""


def _equal(left: NDArray[Any], right: NDArray[Any]) -> Booleans:
    """Where two columns are equal; two missing values are equal, of whatever kind."""
    if left.dtype != object or right.dtype != object:
        return np.asarray(left == right, dtype=bool) | (missing(left) & missing(right))
    ones, others = left.tolist(), right.tolist()
    if _SIMPLE.issuperset(map(type, ones)) and _SIMPLE.issuperset(map(type, others)):
        return np.asarray(left == right, dtype=bool)
    pairs = zip(ones, others, strict=True)
    return np.fromiter((same_values(one, other) for one, other in pairs), dtype=bool, count=len(left))


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
    return column, either(bad), why


def missing(column: NDArray[Any]) -> Booleans:
    """Where a column has no value."""
    if column.dtype.kind == "f":
        return np.asarray(np.isnan(column))
    if column.dtype == object:
        gone = (item is None or (isinstance(item, float) and item != item) for item in column.tolist())
        return np.fromiter(gone, dtype=bool, count=len(column))
    return np.zeros(len(column), dtype=bool)


def is_column(value: CaseValues) -> bool:
    """Whether it is a column and not records."""
    return isinstance(value.data, np.ndarray)


def either(*masks: Booleans | None) -> Booleans | None:
    """Where one of the masks is set; ``None`` where none is set anywhere."""
    present = [mask for mask in masks if mask is not None and mask.any()]
    return np.asarray(np.logical_or.reduce(present)) if present else None
