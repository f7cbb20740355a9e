"""What a prediction must be to count as reached: every kind of target as one condition."""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet
from math import isfinite
from typing import Any
from typing import Literal as OneOf

import numpy as np

from isonomia.errors import SpecError, UsageError
from isonomia.spec.names import outputs_of, versions_of
from isonomia.spec.parse import parse_condition
from isonomia.spec.tree import Compare, Literal, Member, Output, Row, RowJunction, Value
from isonomia.spec.walk import nodes

__all__ = ["OWN", "OWN_SCORE", "classes_named", "condition_of", "speaks_of", "target_of"]

OWN = "own"
"""What a target calls the prediction that the person has as they are."""

OWN_SCORE = "own_score"
"""What a target calls the score that the person has as they are."""
"""The names by which a target speaks of the model's answer for the person as they are."""

_SPEAKS_OF_OUTPUT = re.compile(r"\b(prediction|score)\b")
_PREDICTION = Output("prediction")


def target_of(target: Any) -> Row:
    """Make any kind of target a condition on a reachable point.

    Parameters
    ----------
    target
        A class (``1``, ``"good"``); a list or set of classes; an interval ``(low, high)`` as a tuple of two numbers,
        ``None`` for no end; or a condition as text that speaks of ``prediction`` or ``score``, of ``own`` (the
        prediction for the person as they are), of ``own_score``, and of columns: ``"prediction < own"``.

    Raises
    ------
    UsageError, SpecError
        Where it is none of these, or the condition cannot be read.
    """
    match target:
        case str() if _SPEAKS_OF_OUTPUT.search(target):
            return condition_of(target)
        case tuple():
            return _interval(target)
        case list() | AbstractSet():
            labels: list[Literal] = [_label(item) for item in target]
            if not labels:
                raise UsageError("expected at least one class as target, but an empty list came")
            labels.sort(key=_order)
            return Member(_PREDICTION, tuple(labels))
        case _:
            return Compare("==", _PREDICTION, _label(target))


def condition_of(text: str) -> Row:
    """Read a condition about one person or point as they are."""
    row = parse_condition(text)
    if versions_of(row):
        raise SpecError(f"expected a condition about one point, but `{text}` speaks of other versions of a person")
    return row


def speaks_of(row: Row, name: str) -> bool:
    """Whether a condition needs the model's ``prediction`` or ``score``."""
    return any(output.name == name for output in outputs_of(row))


def classes_named(row: Row, relation: OneOf["==", "!="]) -> tuple[Value, ...]:
    """The values that a condition says the prediction is equal to, or not: classes, which can be misspelt.

    Parameters
    ----------
    row
        The condition.
    relation
        Whether those are wanted that it is equal to, or those that it is not equal to.
    """
    found: dict[Value, None] = {}
    for node in nodes(row):
        match node:
            case Compare(told, Output(name="prediction"), Literal(value)) if told == relation:
                found[value] = None
            case Compare(told, Literal(value), Output(name="prediction")) if told == relation:
                found[value] = None
            case Member(Output(name="prediction"), values) if relation == "==":
                found |= dict.fromkeys(item.value for item in values if isinstance(item, Literal))
            case _:
                pass
    return tuple(found)


def _interval(target: tuple[Any, ...]) -> Row:
    if len(target) != 2 or not all(end is None or _is_number(end) for end in target) or target == (None, None):
        raise UsageError(
            f"expected a tuple as target to be an interval (low, high) of numbers, None for no end, but {target!r} "
            "came: a set of classes is a list or a set"
        )
    low, high = target
    if low is not None and high is not None and low > high:
        raise UsageError(f"expected the interval of a target as (low, high) with low <= high, but {target!r} came")
    sides: list[Row] = []
    if low is not None:
        sides.append(Compare(">=", _PREDICTION, _label(low)))
    if high is not None:
        sides.append(Compare("<=", _PREDICTION, _label(high)))
    return sides[0] if len(sides) == 1 else RowJunction("and", tuple(sides))


def _label(value: Any) -> Literal:
    plain: Value = value.item() if isinstance(value, np.generic) else value
    if not isinstance(plain, str | bool | int | float) or (isinstance(plain, float) and not isfinite(plain)):
        raise UsageError(
            f"expected target as a class, a list of classes, an interval (low, high), or a condition such as "
            f"'prediction < own', but {value!r} of type {type(value).__name__} came"
        )
    return Literal(plain)


def _order(label: Literal) -> tuple[str, Any]:
    return type(label.value).__name__, label.value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool) and isfinite(float(value))
