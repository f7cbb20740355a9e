"""Between which two numbers a term of a row expression must lie."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import product
from typing import TypeAlias

from isonomia.spec.tree import Call, Column, Literal, Output, PairCall, Row, RowArithmetic, RowNegative, Variable
from isonomia.spec.versions import Do, Setting, Version

__all__ = ["Range", "range_of"]

Range: TypeAlias = tuple[float, float]


def range_of(row: Row, declared: Mapping[str, Range], score: Range | None = None) -> Range | None:
    """The range of a term, from those of its columns, by interval arithmetic.

    Parameters
    ----------
    row
        A term or a condition; conditions count as 0 and 1.
    declared
        The range of each column that has one; under ``"prediction"`` that of the model's prediction.
    score
        The range of the model's scores.

    Returns
    -------
    tuple of float, or None
        A range that holds every value the term can have while its columns keep to theirs; ``None`` where none is
        known. It need not be the smallest: a column that occurs twice is treated as two. Another version of a column
        or of an answer has the range of the plain one, widened to a value that the version sets it to.
    """
    found = _range(row, declared, score)
    return found if found is not None and all(map(math.isfinite, found)) else None


def _range(row: Row, declared: Mapping[str, Range], score: Range | None) -> Range | None:
    match row:
        case Column() | Output("prediction"):
            return _widened(declared.get(row.name), row.name, row.version)
        case Output("score"):
            return score if score is not None else _widened(declared.get("score"), "score", row.version)
        case Literal():
            return None if isinstance(row.value, str) else (float(row.value), float(row.value))
        case Variable() | PairCall():
            return None
        case RowNegative():
            inner = _range(row.operand, declared, score)
            return None if inner is None else (-inner[1], -inner[0])
        case RowArithmetic():
            left, right = _range(row.left, declared, score), _range(row.right, declared, score)
            return None if left is None or right is None else _arithmetic(row.sign, left, right)
        case Call():
            arguments = [_range(argument, declared, score) for argument in row.arguments]
            known = [argument for argument in arguments if argument is not None]
            return _call(row.function, known) if len(known) == len(arguments) else None
        case _:
            return (0.0, 1.0)


def _widened(found: Range | None, name: str, version: Version | None) -> Range | None:
    """A declared range that also holds the value to which a version sets the column, which need not lie in it."""
    if found is None or not isinstance(version, Do):
        return found
    for item in version.items:
        if isinstance(item, Setting) and item.name == name:
            if not isinstance(item.value, Literal) or isinstance(item.value.value, str):
                return None
            number = float(item.value.value)
            return min(found[0], number), max(found[1], number)
    return found


def _arithmetic(sign: str, left: Range, right: Range) -> Range | None:
    if sign == "/" and right[0] <= 0 <= right[1]:
        return None
    corners = [_apply(sign, a, b) for a, b in product(left, right)]
    return min(corners), max(corners)


def _apply(sign: str, a: float, b: float) -> float:
    match sign:
        case "+":
            return a + b
        case "-":
            return a - b
        case "*":
            return a * b
        case _:
            return a / b


def _call(function: str, arguments: list[Range]) -> Range:
    lows, highs = [low for low, _ in arguments], [high for _, high in arguments]
    if function == "min":
        return min(lows), min(highs)
    if function == "max":
        return max(lows), max(highs)
    low, high = arguments[0]
    nearest = 0.0 if low <= 0 <= high else min(abs(low), abs(high))
    return nearest, max(abs(low), abs(high))
