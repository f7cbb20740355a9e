"""What a conjunction of tests says about one term, and whether it can be true of any value.

The tests are those of :mod:`isonomia.spec.rows`, whose rounding matters here: a column in single precision compares
with the literal rounded to single precision. So two numbers count as different only where they stay different after
that rounding, and numbers so large that whole numbers are not exact are not reasoned about.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from isonomia.spec.moments import moment
from isonomia.spec.tree import RowRelation, Value

__all__ = ["OPPOSITE", "OUTCOMES", "Fact", "contradictory"]

OPPOSITE: dict[RowRelation, RowRelation] = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
"""What is true of two values that are both there, where a relation is false."""

OUTCOMES: dict[RowRelation, frozenset[int]] = {
    "==": frozenset({0}),
    "!=": frozenset({-1, 1}),
    "<": frozenset({-1}),
    "<=": frozenset({-1, 0}),
    ">": frozenset({1}),
    ">=": frozenset({0, 1}),
}
"""The signs of left minus right for which a relation is true."""

_LARGEST = 2.0**53


@dataclass(frozen=True, slots=True)
class Fact:
    """A term stands in a relation to one of some values; only ``==`` has more than one."""

    relation: RowRelation
    values: tuple[Value, ...]


def contradictory(facts: Sequence[Fact]) -> bool:
    """Whether no value that is there can satisfy all the facts. False where that is not certain."""
    if _clash_at_one_bound(facts):
        return True
    roundings: tuple[Callable[[Value], Value], ...] = (_exact, _single)
    return all(_contradictory([_rounded(fact, rounding) for fact in facts]) for rounding in roundings)


def _clash_at_one_bound(facts: Sequence[Fact]) -> bool:
    """Whether the relations to one and the same literal exclude each other, as ``<`` and ``>=`` do."""
    possible: dict[tuple[type, Value], frozenset[int]] = {}
    for fact in facts:
        if len(fact.values) == 1:
            key = (type(fact.values[0]), fact.values[0])
            possible[key] = possible.get(key, frozenset({-1, 0, 1})) & OUTCOMES[fact.relation]
    return not all(possible.values())


def _contradictory(facts: Sequence[Fact]) -> bool:
    sets = [fact.values for fact in facts if fact.relation == "=="]
    others = [fact for fact in facts if fact.relation != "=="]
    if not sets:
        return _no_number_between(others)
    return not any(
        all(any(_may_be_equal(value, other) for other in values) for values in sets)
        and all(_may_satisfy(value, fact) for fact in others)
        for value in sets[0]
    )


def _rounded(fact: Fact, rounding: Callable[[Value], Value]) -> Fact:
    return Fact(fact.relation, tuple(rounding(value) for value in fact.values))


def _exact(value: Value) -> Value:
    return int(value) if isinstance(value, bool) else value


def _single(value: Value) -> Value:
    if isinstance(value, str) or not _is_modest(value):
        return value
    return float(np.float32(value))


def _is_modest(value: Value) -> bool:
    return not isinstance(value, str) and abs(value) < _LARGEST


def _may_be_equal(a: Value, b: Value) -> bool:
    if isinstance(a, str) and isinstance(b, str):
        # Two spellings of one moment are equal in a column of times.
        first, second = moment(a), moment(b)
        return a == b or (first is not None and second is not None and bool(first == second))
    return a == b or not (_is_modest(a) and _is_modest(b))


def _may_satisfy(value: Value, fact: Fact) -> bool:
    bound = fact.values[0]
    if fact.relation == "!=":
        return value != bound or not (type(value) is type(bound) or (_is_modest(value) and _is_modest(bound)))
    if isinstance(value, str) or isinstance(bound, str) or not (_is_modest(value) and _is_modest(bound)):
        return True
    return (value > bound) - (value < bound) in OUTCOMES[fact.relation]


def _no_number_between(facts: Iterable[Fact]) -> bool:
    low, above = -math.inf, False
    high, below = math.inf, False
    for fact in facts:
        bound = fact.values[0]
        if isinstance(bound, str) or not _is_modest(bound):
            continue
        if fact.relation in {">", ">="}:
            low, above = max((low, above), (float(bound), fact.relation == ">"))
        elif fact.relation in {"<", "<="}:
            edge, loose = min((high, not below), (float(bound), fact.relation == "<="))
            high, below = edge, not loose
    return low > high or (low == high and (above or below))
