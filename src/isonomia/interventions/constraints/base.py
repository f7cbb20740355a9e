"""The protocol of constraints, and what their kinds share: conditions on one feature, moves, linear rows and codes.

Three values of each feature matter. *Start* is where the person is, ``x``. *Acted* is ``x + a``, the value after the
person's own action on the feature. *Ended* is ``x + c``, with the effects that actions on other features have on it by
linkage. Encodings and rules about actions refer to acted values; rules about where the person ends up refer to ended
values. Without linkages the two are the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import inf, isfinite
from typing import Any, ClassVar, Literal, Protocol, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import UsageError, nearest

Relation: TypeAlias = Literal["==", "!=", ">=", "<=", ">", "<", "in"]
_RELATIONS = ("==", "!=", ">=", "<=", ">", "<", "in")


def check_conditions(kind: str, when: object, then: object) -> None:
    """Refuse what is not a pair of conditions on two different features."""
    for role, given in (("when", when), ("then", then)):
        if not isinstance(given, Condition):
            written = _TEXT.fullmatch(given) if isinstance(given, str) else None
            hint = f': write Condition("{written[1]}", "{written[2]}", {written[3]})' if written else ""
            expected = f'expected {role} of the {kind} constraint as Condition("posts", ">=", 1)'
            raise UsageError(f"{expected}, but got {given!r} of type {type(given).__name__}{hint}")
    assert isinstance(when, Condition)
    assert isinstance(then, Condition)
    if when.name == then.name:
        raise UsageError(f"the {kind} constraint should couple two features, but both are {when.name!r}")


_TEXT = re.compile(r"\s*(\w+)\s*(==|!=|>=|<=|>|<|in)\s*(.+?)\s*")


@dataclass(frozen=True, slots=True)
class Condition:
    """One feature compared with a value: ``Condition("posts", ">=", 1)``.

    Attributes
    ----------
    name
        The feature.
    relation
        ``"=="``, ``"!="``, ``"<"``, ``"<="``, ``">"``, ``">="`` or ``"in"``.
    value
        A number or a category; a list of them for ``"in"``. Categories are compared by their order.
    """

    name: str
    relation: Relation
    value: Any

    def __post_init__(self) -> None:
        check_one_of("conditional", "relation", self.relation, _RELATIONS)
        if not isinstance(self.name, str) or not self.name:
            raise UsageError(f"the name in a condition should be a feature's, but it is {self.name!r}")
        if self.relation == "in":
            if isinstance(self.value, str) or not len(self.value):
                raise UsageError(f"the value after 'in' should be a list with an entry, but it is {self.value!r}")
            object.__setattr__(self, "value", tuple(self.value))

    def words(self) -> str:
        """The condition as text."""
        value = list(self.value) if self.relation == "in" else self.value
        return f"{self.name} {self.relation} {value!r}"

    def coded(self, kind: str, levels: Levels) -> Condition:
        """The same with indices instead of categories."""
        if self.relation == "in":
            return replace(self, value=tuple(coded_value(kind, self.name, value, levels) for value in self.value))
        return replace(self, value=coded_value(kind, self.name, self.value, levels))

    def true(self, values: Floats) -> Bools:
        """Whether it is true of each value."""
        match self.relation:
            case "==" | "in":
                return np.asarray((np.abs(values[..., None] - self._listed()) <= TOLERANCE).any(-1))
            case "!=":
                return np.asarray(np.abs(values - self.value) > TOLERANCE)
            case ">=":
                return np.asarray(values >= self.value - TOLERANCE)
            case "<=":
                return np.asarray(values <= self.value + TOLERANCE)
            case ">":
                return np.asarray(values > self.value + TOLERANCE)
            case "<":
                return np.asarray(values < self.value - TOLERANCE)

    def sometimes(self, low: Floats, high: Floats) -> Bools:
        """False only where it is true of no value from ``low`` to ``high``."""
        match self.relation:
            case "==" | "in":
                listed = self._listed()
                inside = (low[..., None] <= listed + TOLERANCE) & (listed - TOLERANCE <= high[..., None])
                return np.asarray(inside.any(-1))
            case "!=":
                return np.asarray(self.true(low) | self.true(high) | (low < high))
            case ">=" | ">":
                return self.true(high)
            case "<=" | "<":
                return self.true(low)

    def always(self, low: Floats, high: Floats) -> Bools:
        """True only where it is true of every value from ``low`` to ``high``."""
        match self.relation:
            case "==" | "in":
                return np.asarray((low == high) & self.true(low))
            case "!=":
                return np.asarray((high < self.value - TOLERANCE) | (low > self.value + TOLERANCE))
            case ">=" | ">":
                return self.true(low)
            case "<=" | "<":
                return self.true(high)

    def intervals(self, low: float, high: float, whole: bool) -> tuple[list[Interval], list[Interval]]:
        """The parts of a range where it is true, and those where it is false, as closed intervals.

        For whole numbers the parts are disjoint; for real ones they share end points. A range of one value is one part.
        """
        if low == high:
            only = [(low, high)]
            return (only, []) if self.true(np.asarray([low]))[0] else ([], only)
        match self.relation:
            case "==" | "in" | "!=":
                at, off = self._points(low, high, whole)
                return (off, at) if self.relation == "!=" else (at, off)
            case ">=" | "<":
                above, below = self._split(low, high, whole, closed_above=True)
                return (above, below) if self.relation == ">=" else (below, above)
            case ">" | "<=":
                above, below = self._split(low, high, whole, closed_above=False)
                return (above, below) if self.relation == ">" else (below, above)

    def _listed(self) -> Floats:
        return np.asarray(self.value if self.relation == "in" else (self.value,), dtype=np.float64)

    def _points(self, low: float, high: float, whole: bool) -> tuple[list[Interval], list[Interval]]:
        listed = [float(value) for value in np.unique(self._listed()) if low <= value <= high]
        if whole:
            listed = [value for value in listed if value == round(value)]
        gap = 1.0 if whole else 0.0
        ends = [low - gap, *listed, high + gap]
        between = [(a + gap, b - gap) for a, b in pairwise(ends)]
        # There is something between two real values only if they differ.
        off = [part for part in between if part[0] < part[1] or (whole and part[0] == part[1])]
        return [(value, value) for value in listed], off

    def _split(self, low: float, high: float, whole: bool, closed_above: bool) -> tuple[list[Interval], list[Interval]]:
        cut = float(self.value)
        if whole:
            first = float(np.ceil(cut - TOLERANCE)) if closed_above else float(np.floor(cut + TOLERANCE)) + 1.0
            above, below = (max(first, low), high), (low, min(first - 1.0, high))
            has_above, has_below = above[0] <= above[1], below[0] <= below[1]
        else:
            above, below = (max(cut, low), high), (low, min(cut, high))
            # The cut itself belongs to one side; the other side is empty where the cut would be its only value.
            has_above = cut <= high if closed_above else cut < high
            has_below = cut > low if closed_above else cut >= low
        return [above] * has_above, [below] * has_below


Floats: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]
Interval: TypeAlias = tuple[float, float]
Sense: TypeAlias = Literal["==", ">=", "<="]
Way: TypeAlias = Literal["both", "up", "down"]
Levels: TypeAlias = Mapping[str, tuple[str | float, ...]]
"""The categories of each categorical feature."""

TOLERANCE = 1e-9
"""How far apart two numbers may lie and count as equal, relative to their size where that is above 1.

It absorbs the rounding of sums and shares; features differ by far more, so that it decides nothing else.
"""


class Constraint(Protocol):
    """A rule that couples some features.

    Every array that a constraint is given has one column for each of its ``names``, in their order.
    """

    kind: ClassVar[str]
    """What the constraint is called in a file."""
    takes_categories: ClassVar[bool]
    """Whether its features may be categorical."""

    @property
    def names(self) -> tuple[str, ...]:
        """The features that it couples."""

    def words(self) -> str:
        """The constraint as a sentence, without its full stop."""

    def coded(self, levels: Levels) -> Constraint:
        """The same constraint with categories replaced by their indices in the feature's list."""

    def accepts(self, start: Floats) -> Bools:
        """Whether a person can start here, for each row."""

    def holds(self, moves: Moves) -> Bools:
        """Whether each move is allowed."""

    def possible(self, box: Box) -> Bools:
        """False only where no move of the box is allowed; where in doubt, true."""

    def form(self, scope: ActionScope) -> Form | None:
        """The constraint at one person as linear rows; ``None`` where it has no such form.

        Every move that the constraint allows satisfies the rows, for some choice of the auxiliary binaries.
        """

    def standing(self, scope: ActionScope) -> Form | None:
        """Linear rows that hold wherever a person can be; ``None`` without any.

        They use the ranges of the scope, and not the start.
        """


class ChangeConstraint:
    """What constraints about changes of numbers share: any start will do, and nothing is said of where people are."""

    __slots__ = ()

    takes_categories: ClassVar[bool] = False

    def coded(self, levels: Levels) -> Self:  # noqa: ARG002
        """The constraint itself: it has no categories."""
        return self

    def accepts(self, start: Floats) -> Bools:
        """Every start: the rule is about changes."""
        return np.ones(len(start), dtype=bool)

    def standing(self, scope: ActionScope) -> Form | None:  # noqa: ARG002
        """None: the constraint is about changes."""
        return None


@dataclass(frozen=True, slots=True)
class Moves:
    """Candidate moves, one per row; every array has shape ``(rows, features)``.

    The person's own action can take each feature from ``least`` to ``most``.
    """

    start: Floats
    acted: Floats
    ended: Floats
    least: Floats
    most: Floats

    def only(self, columns: Sequence[int]) -> Moves:
        """The moves in some features."""
        at = list(columns)
        return Moves(*(part[:, at] for part in (self.start, self.acted, self.ended, self.least, self.most)))


@dataclass(frozen=True, slots=True)
class Box:
    """Boxes of moves, one per row.

    Each feature's acted value lies between ``low`` and ``high``, its ended one between ``end_low`` and ``end_high``.
    """

    start: Floats
    low: Floats
    high: Floats
    end_low: Floats
    end_high: Floats
    least: Floats
    most: Floats

    def only(self, columns: Sequence[int]) -> Box:
        """The boxes in some features."""
        at = list(columns)
        ends = self.low, self.high, self.end_low, self.end_high
        return Box(*(part[:, at] for part in (self.start, *ends, self.least, self.most)))


@dataclass(frozen=True, slots=True)
class ActionScope:
    """One person in a constraint's features: the start, the range of acted values, and one that holds the ended values.

    ``whole`` and ``end_whole`` say whether the acted values, and the ended ones, are whole numbers.
    """

    start: Floats
    least: Floats
    most: Floats
    end_low: Floats
    end_high: Floats
    whole: tuple[bool, ...]
    end_whole: tuple[bool, ...]

    def only(self, columns: Sequence[int]) -> ActionScope:
        """The same person in some features."""
        at = list(columns)
        own = self.start[at], self.least[at], self.most[at], self.end_low[at], self.end_high[at]
        return ActionScope(*own, tuple(self.whole[j] for j in at), tuple(self.end_whole[j] for j in at))

    @property
    def ranges(self) -> dict[int, Interval]:
        """The range of each acted value."""
        return {j: (float(low), float(high)) for j, (low, high) in enumerate(zip(self.least, self.most, strict=True))}


@dataclass(frozen=True, slots=True)
class FormRow:
    """``low <= sum of coefficients times values <= high``.

    ``acted`` and ``ended`` give the coefficients of a feature's acted and ended value, by the feature's index among the
    constraint's names; ``binaries`` those of auxiliary binaries, by number.
    """

    acted: Mapping[int, float] = field(default_factory=dict)
    ended: Mapping[int, float] = field(default_factory=dict)
    binaries: Mapping[int, float] = field(default_factory=dict)
    low: float = -inf
    high: float = inf


@dataclass(frozen=True, slots=True)
class Form:
    """Rows that must all be satisfied, over ``binaries`` auxiliary binaries of the constraint's own.

    ``exact`` says that a move satisfies the rows, for some choice of the binaries, only if the constraint allows it,
    except for moves on the boundary: a strict inequality over a real feature becomes one that is not strict.
    """

    rows: tuple[FormRow, ...]
    binaries: int = 0
    exact: bool = True


def one_of_boxes(
    boxes: Sequence[Mapping[int, Interval]], ranges: Mapping[int, Interval], of: Literal["acted", "ended"]
) -> Form:
    """The values lie in one of some boxes: one binary per box, of which exactly one is on.

    A feature that a box does not mention has its whole range there. Boxes that share no inner point make the binaries a
    function of the values, except on the boundary.
    """
    rows = [FormRow(binaries=dict.fromkeys(range(len(boxes)), 1.0), low=1.0, high=1.0)]
    for column, whole in ranges.items():
        spans = [box.get(column, whole) for box in boxes]
        lows, highs = ({i: -span[end] for i, span in enumerate(spans)} for end in (0, 1))
        one = {column: 1.0}
        acted, ended = (one, {}) if of == "acted" else ({}, one)
        rows += [FormRow(acted, ended, lows, low=0.0), FormRow(acted, ended, highs, high=0.0)]
    return Form(tuple(rows), len(boxes))


@dataclass(frozen=True, slots=True, eq=False)
class JointCodes:
    """Joint codes of some features, one per row, and whether each can be reached from each other one in one step.

    ``stray`` says what happens to a person whose values are not a code: if true, they stay where they are; if false,
    they are refused.
    """

    codes: Floats
    reaches: Bools
    stray: bool = False

    def accepts(self, start: Floats) -> Bools:
        """Whether the person is at a code, or need not be."""
        return np.asarray((self._index(start) >= 0) | self.stray)

    def holds(self, moves: Moves) -> Bools:
        """Whether the code acted can be reached from the one at the start."""
        begin, end = self._index(moves.start), self._index(moves.acted)
        reached = (begin >= 0) & (end >= 0) & self.reaches[begin, end]
        stays = (moves.acted == moves.start).all(-1)
        return np.asarray(reached | (self.stray & (begin < 0) & stays))

    def possible(self, box: Box) -> Bools:
        """Whether a code in the box can be reached; a person at none need only be able to stay."""
        begin = self._index(box.start)
        result = self.stray & (begin < 0) & np.asarray(((box.low <= box.start) & (box.start <= box.high)).all(-1))
        for index, code in enumerate(self.codes):
            inside = ((box.low <= code + TOLERANCE) & (code - TOLERANCE <= box.high)).all(-1)
            result |= inside & (begin >= 0) & self.reaches[begin, index]
        return np.asarray(result)

    def form(self, start: Floats) -> Form:
        """One binary for each code that can be reached from the start."""
        index = int(self._index(start[None])[0])
        return _one_of_codes(self.codes[self.reaches[index]] if index >= 0 else start[None])

    def standing(self) -> Form | None:
        """One binary for each code; ``None`` where a person need not be at a code."""
        return None if self.stray else _one_of_codes(self.codes)

    def _index(self, values: Floats) -> NDArray[np.intp]:
        """Which code each row is; -1 for none."""
        result = np.full(len(values), -1, dtype=np.intp)
        for index in range(len(self.codes) - 1, -1, -1):
            result[(np.abs(values - self.codes[index]) <= TOLERANCE).all(-1)] = index
        return result


def _one_of_codes(codes: Floats) -> Form:
    """The acted values are one of the codes: one binary per code, of which exactly one is on."""
    rows = [FormRow(binaries=dict.fromkeys(range(len(codes)), 1.0), low=1.0, high=1.0)]
    for j, column in enumerate(codes.T.tolist()):
        rows.append(FormRow({j: -1.0}, binaries=dict(enumerate(column)), low=0.0, high=0.0))
    return Form(tuple(rows), len(codes))


def monotone(levels: int, way: Way) -> Bools:
    """Which of several levels can be reached from which, going one way only."""
    level = np.arange(levels)
    match way:
        case "both":
            return np.ones((levels, levels), dtype=bool)
        case "up":
            return np.asarray(level[None] >= level[:, None])
        case "down":
            return np.asarray(level[None] <= level[:, None])


def names_of(kind: str, names: object, field: str = "names", least: int = 1) -> tuple[str, ...]:
    """The names of features as a tuple; they must be text, distinct, and at least ``least`` of them."""
    result = (names,) if isinstance(names, str) else tuple(names) if isinstance(names, Iterable) else ()
    if len(result) < least or not all(isinstance(name, str) and name for name in result):
        message = f"{field} of the {kind} constraint should be names of features, but they are {names!r}"
        raise UsageError(message, name=field)
    repeated = [name for j, name in enumerate(result) if name in result[:j]]
    if repeated:
        message = f"{field} of the {kind} constraint has {repeated[0]!r} twice; name each feature once"
        raise UsageError(message, name=field)
    return result


def numbers_of(kind: str, field: str, values: object, count: int) -> tuple[float, ...]:
    """``count`` finite numbers as a tuple."""
    result: Sequence[Any] = tuple(values) if isinstance(values, Iterable) and not isinstance(values, str) else ()
    if len(result) != count:
        message = f"{field} of the {kind} constraint should be {count} numbers, but it is {values!r}"
        raise UsageError(message, name=field)
    for value in result:
        check_number(kind, field, value)
    return tuple(float(value) for value in result)


def check_number(kind: str, field: str, value: object) -> None:
    """Refuse what is not a finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        message = f"{field} of the {kind} constraint should be a finite number, but it is {value!r}"
        raise UsageError(message, name=field)


def check_one_of(kind: str, field: str, value: object, allowed: Sequence[str]) -> None:
    """Refuse what is not among the allowed words."""
    if value not in allowed:
        listed = ", ".join(map(repr, allowed))
        raise UsageError(f"{field} of the {kind} constraint should be one of {listed}, but it is {value!r}", name=field)


def check_truth(kind: str, field: str, value: object) -> None:
    """Refuse what is neither true nor false."""
    if not isinstance(value, bool):
        raise UsageError(f"{field} of the {kind} constraint should be true or false, but it is {value!r}", name=field)


def coded_value(kind: str, name: str, value: object, levels: Levels) -> float:
    """A value as a number: the index of a category, or the number itself for any other feature."""
    if name in levels:
        if value not in levels[name]:
            near = nearest(str(value), [str(level) for level in levels[name]])
            categories = ", ".join(map(repr, levels[name]))
            raise UsageError(f"{kind}: {value!r} is not a category of {name!r}, which are {categories}.{near}")
        return float(levels[name].index(value))
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UsageError(f"the {kind} constraint should compare {name!r} with a number, but it has {value!r}")
    return float(value)


def satisfied(left: Floats, sense: Sense, right: Floats | float) -> Bools:
    """Whether a comparison is true, up to rounding."""
    slack = TOLERANCE * np.maximum(1.0, np.maximum(np.abs(left), np.abs(right)))
    match sense:
        case "==":
            return np.asarray(np.abs(left - right) <= slack)
        case ">=":
            return np.asarray(left >= right - slack)
        case "<=":
            return np.asarray(left <= right + slack)


def attainable(weights: Floats, low: Floats, high: Floats, sense: Sense, bound: float) -> Bools:
    """Whether a weighted sum of numbers between bounds can satisfy a comparison with ``bound``."""
    up, down = np.maximum(weights, 0.0), np.minimum(weights, 0.0)
    least, most = low @ up + high @ down, high @ up + low @ down
    enough = np.ones(len(low), dtype=bool) if sense == "<=" else satisfied(most, ">=", bound)
    little = np.ones(len(low), dtype=bool) if sense == ">=" else satisfied(least, "<=", bound)
    return np.asarray(enough & little)


def limits(sense: Sense, bound: float) -> Interval:
    """A comparison with a number as the two ends of an interval."""
    return (-inf if sense == "<=" else bound), (inf if sense == ">=" else bound)
