"""Constraint, moves, linear forms, checks.

Candidate moves of people, and boxes of them: what a constraint is asked about.

Three values of each feature matter. *Start* is where the person is, ``x``. *Acted* is ``x + a``, what the person's own
action on the feature makes of it. *Ended* is ``x + c``, with the effects that actions on other features have on it by
linkage. Encodings and rules about actions speak of what was acted; statements about the person as they end up speak of
what ended. Without linkages the two are the same.

Constraints as linear rows, for a mixed-integer program and for polytopes.

What every constraint offers to the parts that use it.

Checks that constraints share: what they are given is looked at once, when they are made.

Categories as their places in the feature's list.

Comparing weighted sums: equal, at least, at most.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf, isfinite
from typing import Any, ClassVar, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import UsageError, nearest

__all__ = [
    "TOLERANCE",
    "Bools",
    "Box",
    "Constraint",
    "Floats",
    "Form",
    "FormRow",
    "Interval",
    "Levels",
    "Moves",
    "Scope",
    "Sense",
    "attainable",
    "check_number",
    "check_one_of",
    "check_truth",
    "limits",
    "names_of",
    "numbers_of",
    "one_of_boxes",
    "one_of_codes",
    "place_of",
    "satisfied",
]


Floats: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]

TOLERANCE = 1e-9
"""How far apart two numbers may lie and count as equal, relative to their size where that is above 1."""


@dataclass(frozen=True, slots=True)
class Moves:
    """Candidate moves, one a row; every array has shape ``(rows, features)``.

    Attributes
    ----------
    start, acted, ended
        As the module says.
    least, most
        The range of what the person's own action can make of each feature.
    """

    start: Floats
    acted: Floats
    ended: Floats
    least: Floats
    most: Floats

    def only(self, columns: Sequence[int]) -> Moves:
        """The moves in some features."""
        at = list(columns)
        return Moves(self.start[:, at], self.acted[:, at], self.ended[:, at], self.least[:, at], self.most[:, at])


@dataclass(frozen=True, slots=True)
class Box:
    """Boxes of moves, one a row.

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
        return Box(
            self.start[:, at],
            self.low[:, at],
            self.high[:, at],
            self.end_low[:, at],
            self.end_high[:, at],
            self.least[:, at],
            self.most[:, at],
        )


Interval: TypeAlias = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Scope:
    """One person, in a constraint's features.

    Attributes
    ----------
    start
        Where the person is.
    least, most
        The range of the acted values.
    end_low, end_high
        A range that holds the ended values.
    whole, end_whole
        Whether the acted values, and the ended ones, are whole numbers.
    """

    start: Floats
    least: Floats
    most: Floats
    end_low: Floats
    end_high: Floats
    whole: tuple[bool, ...]
    end_whole: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class FormRow:
    """``low <= sum of coefficients times values <= high``.

    ``acted`` and ``ended`` give the coefficients of a feature's acted and ended value, by the feature's place among the
    constraint's names; ``binaries`` those of auxiliary binaries, by number.
    """

    acted: Mapping[int, float] = field(default_factory=dict)
    ended: Mapping[int, float] = field(default_factory=dict)
    binaries: Mapping[int, float] = field(default_factory=dict)
    low: float = -inf
    high: float = inf


@dataclass(frozen=True, slots=True)
class Form:
    """Rows that must all be satisfied, with so many binaries of the constraint's own.

    ``exact`` says that a move satisfies the rows, for some choice of the binaries, only if the constraint allows it,
    but for moves on the boundary: a strict inequality over a real feature becomes one that is not strict.
    """

    rows: tuple[FormRow, ...]
    binaries: int = 0
    exact: bool = True


def one_of_codes(codes: Sequence[Sequence[float]]) -> Form:
    """The acted values are one of the listed codes: one binary a code, of which exactly one is on."""
    on = FormRow(binaries=dict.fromkeys(range(len(codes)), 1.0), low=1.0, high=1.0)
    width = len(codes[0]) if codes else 0
    rows = [
        FormRow({j: -1.0}, binaries={i: float(code[j]) for i, code in enumerate(codes)}, low=0.0, high=0.0)
        for j in range(width)
    ]
    return Form((on, *rows), len(codes))


def one_of_boxes(
    boxes: Sequence[Mapping[int, Interval]], ranges: Mapping[int, Interval], of: Literal["acted", "ended"]
) -> Form:
    """The values lie in one of some boxes: one binary a box, of which exactly one is on.

    A feature that a box does not mention has its whole range there. Boxes that share no inner point make the binaries a
    function of the values, but for the boundary.
    """
    rows = [FormRow(binaries=dict.fromkeys(range(len(boxes)), 1.0), low=1.0, high=1.0)]
    for place, whole in ranges.items():
        spans = [box.get(place, whole) for box in boxes]
        lows, highs = ({i: -span[end] for i, span in enumerate(spans)} for end in (0, 1))
        one = {place: 1.0}
        acted, ended = (one, {}) if of == "acted" else ({}, one)
        rows += [FormRow(acted, ended, lows, low=0.0), FormRow(acted, ended, highs, high=0.0)]
    return Form(tuple(rows), len(boxes))


Levels = Mapping[str, tuple[str | float, ...]]
"""The categories of each categorical feature."""


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
        """The same constraint with categories replaced by their places in the feature's list."""

    def accepts(self, start: Floats) -> Bools:
        """Whether a person can start here, for each row."""

    def holds(self, moves: Moves) -> Bools:
        """Whether each move is allowed."""

    def possible(self, box: Box) -> Bools:
        """False only where no move of the box is allowed; where in doubt, true."""

    def form(self, scope: Scope) -> Form | None:
        """The constraint at one person as linear rows; ``None`` where it has no such form.

        Every move that the constraint allows satisfies the rows, for some choice of the auxiliary binaries.
        """

    def standing(self, scope: Scope) -> Form | None:
        """Linear rows that every place satisfies at which a person can be; ``None`` where there are none to tell.

        Of the scope, the ranges count, and the start does not.
        """


def names_of(kind: str, names: object, field: str = "names", least: int = 1) -> tuple[str, ...]:
    """The names of features as a tuple; they must be text, distinct, and at least so many."""
    found = (names,) if isinstance(names, str) else tuple(names) if isinstance(names, Iterable) else ()
    if len(found) < least or not all(isinstance(name, str) and name for name in found):
        raise UsageError(f"{field} of the {kind} constraint should be names of features, but they are {names!r}")
    repeated = [name for place, name in enumerate(found) if name in found[:place]]
    if repeated:
        raise UsageError(f"{field} of the {kind} constraint has {repeated[0]!r} twice; name each feature once")
    return found


def numbers_of(kind: str, field: str, values: object, count: int) -> tuple[float, ...]:
    """So many finite numbers as a tuple."""
    found: Sequence[Any] = tuple(values) if isinstance(values, Iterable) and not isinstance(values, str) else ()
    if len(found) != count:
        raise UsageError(f"{field} of the {kind} constraint should be {count} numbers, but it is {values!r}")
    for value in found:
        check_number(kind, field, value)
    return tuple(float(value) for value in found)


def check_number(kind: str, field: str, value: object) -> None:
    """Refuse what is no finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        raise UsageError(f"{field} of the {kind} constraint should be a finite number, but it is {value!r}")


def check_one_of(kind: str, field: str, value: object, allowed: Sequence[str]) -> None:
    """Refuse what is not among the allowed words."""
    if value not in allowed:
        raise UsageError(
            f"{field} of the {kind} constraint should be one of {', '.join(map(repr, allowed))}, but it is {value!r}"
        )


def check_truth(kind: str, field: str, value: object) -> None:
    """Refuse what is neither true nor false."""
    if not isinstance(value, bool):
        raise UsageError(f"{field} of the {kind} constraint should be true or false, but it is {value!r}")


def place_of(kind: str, name: str, value: object, levels: Levels) -> float:
    """A value as a number: the place of a category, or the number itself for any other feature.

    Raises
    ------
    UsageError
        Where the feature has no such category, or the value is no number.
    """
    if name in levels:
        if value not in levels[name]:
            near = nearest(str(value), [str(level) for level in levels[name]])
            raise UsageError(
                f"the {kind} constraint speaks of {name} == {value!r}, but the categories of {name!r} are "
                f"{', '.join(map(repr, levels[name]))}.{near}"
            )
        return float(levels[name].index(value))
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UsageError(f"the {kind} constraint should compare {name!r} with a number, but it has {value!r}")
    return float(value)


Sense: TypeAlias = Literal["==", ">=", "<="]


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
    """Whether a weighted sum of numbers between bounds can compare so with another number."""
    up, down = np.maximum(weights, 0.0), np.minimum(weights, 0.0)
    least, most = low @ up + high @ down, high @ up + low @ down
    enough = np.ones(len(low), dtype=bool) if sense == "<=" else satisfied(most, ">=", bound)
    little = np.ones(len(low), dtype=bool) if sense == ">=" else satisfied(least, "<=", bound)
    return np.asarray(enough & little)


def limits(sense: Sense, bound: float) -> tuple[float, float]:
    """A comparison with a number as the two ends of an interval."""
    return (-inf if sense == "<=" else bound), (inf if sense == ">=" else bound)
