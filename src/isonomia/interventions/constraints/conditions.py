"""A comparison of one feature's value, or of its change, with a constant."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal, TypeAlias

import numpy as np

from isonomia.errors import UsageError
from isonomia.interventions.constraints.base import (
    TOLERANCE,
    Bools,
    Floats,
    Interval,
    Levels,
    check_one_of,
    coded_value,
)

Relation: TypeAlias = Literal["==", "!=", ">=", "<=", ">", "<", "in"]
_RELATIONS = ("==", "!=", ">=", "<=", ">", "<", "in")


def check_conditions(kind: str, when: object, then: object) -> None:
    """Refuse what is not a pair of conditions on two different features."""
    for role, given in (("when", when), ("then", then)):
        if not isinstance(given, Condition):
            written = _TEXT.fullmatch(given) if isinstance(given, str) else None
            hint = f': write Condition("{written[1]}", "{written[2]}", {written[3]})' if written else ""
            raise UsageError(
                f'expected {role} of the {kind} constraint as Condition("posts", ">=", 1), but got {given!r} of type '
                f"{type(given).__name__}{hint}"
            )
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
