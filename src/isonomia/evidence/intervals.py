"""Interval arithmetic over quantities and three-valued truth over formulas, for many boxes at once.

Every operation rounds outward by one unit in the last place, so that an enclosure contains every value that the exact
operation could have. A division by an interval that contains zero gives the whole line.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from isonomia.spec.tree import (
    Arithmetic,
    Comparison,
    Constant,
    Each,
    Extreme,
    Formula,
    Implies,
    Junction,
    Leaf,
    Mean,
    Negative,
    Not,
    Power,
    Quantity,
    Rate,
)

Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Interval:
    """Lower and upper ends, one pair for each box."""

    low: Floats
    high: Floats


@dataclass(frozen=True, slots=True)
class KleeneTruth:
    """Kleene's three values for each box: certainly true, certainly false, or neither."""

    true: Booleans
    false: Booleans


def enclose(quantity: Quantity, box: Mapping[Leaf, Interval]) -> Interval:
    """Enclose a quantity over each box.

    Guarantee: for every point of the box the quantity, where it is defined, lies within the result.
    """
    match quantity:
        case Rate() | Mean():
            return box[quantity]
        case Constant(value=value):
            exact = np.asarray([value], dtype=float)
            return Interval(exact, exact)
        case Negative(operand=operand):
            inner = enclose(operand, box)
            return Interval(-inner.high, -inner.low)
        case Arithmetic(sign=sign, left=left, right=right):
            return _arithmetic(sign, enclose(left, box), enclose(right, box))
        case Power(base=base, exponent=exponent):
            return _power(enclose(base, box), exponent)
        case Extreme(function=function, arguments=arguments):
            return _extreme(function, [enclose(argument, box) for argument in arguments])


def judge(formula: Formula, box: Mapping[Leaf, Interval]) -> KleeneTruth:
    """Judge a formula over each box, in Kleene's three values.

    A leaf that is not in the box has no known value: no link of a chain that names it is settled.
    """
    match formula:
        case Comparison(first=first, rest=rest):
            return _chain(_known(first, box), [(relation, _known(side, box)) for relation, side in rest])
        case Not(operand=operand):
            inner = judge(operand, box)
            return KleeneTruth(inner.false, inner.true)
        case Implies(premise=premise, conclusion=conclusion):
            before, after = judge(premise, box), judge(conclusion, box)
            return KleeneTruth(before.false | after.true, before.true & after.false)
        case Junction(connective=connective, operands=operands):
            parts = [judge(operand, box) for operand in operands]
            true, false = [part.true for part in parts], [part.false for part in parts]
            if connective == "and":
                return KleeneTruth(reduce(np.logical_and, true), reduce(np.logical_or, false))
            return KleeneTruth(reduce(np.logical_or, true), reduce(np.logical_and, false))
        case Each():
            raise TypeError("a quantifier is expanded before it is judged")


def _known(quantity: Quantity, box: Mapping[Leaf, Interval]) -> Interval:
    """The enclosure of a quantity; NaN, which settles no comparison, where it names an absent leaf."""
    try:
        return enclose(quantity, box)
    except KeyError:
        nothing = np.full(1, np.nan)
        return Interval(nothing, nothing)


def _chain(first: Interval, rest: list[tuple[str, Interval]]) -> KleeneTruth:
    true: Booleans = np.ones(1, dtype=bool)
    false: Booleans = np.zeros(1, dtype=bool)
    left = first
    for relation, right in rest:
        small, large = (left, right) if relation in {"<", "<="} else (right, left)
        if relation in {"<=", ">="}:
            true, false = true & (small.high <= large.low), false | (small.low > large.high)
        else:
            true, false = true & (small.high < large.low), false | (small.low >= large.high)
        left = right
    return KleeneTruth(true, false)


def _outward(low: Floats, high: Floats) -> Interval:
    low = np.where(np.isnan(low), -np.inf, np.nextafter(low, -np.inf))
    high = np.where(np.isnan(high), np.inf, np.nextafter(high, np.inf))
    return Interval(low, high)


def _arithmetic(sign: str, left: Interval, right: Interval) -> Interval:
    with np.errstate(all="ignore"):
        if sign == "+":
            return _outward(left.low + right.low, left.high + right.high)
        if sign == "-":
            return _outward(left.low - right.high, left.high - right.low)
        if sign == "*":
            return _product(left, right)
        return _quotient(left, right)


def _product(left: Interval, right: Interval) -> Interval:
    corners = [a * b for a in (left.low, left.high) for b in (right.low, right.high)]
    # 0 times an infinite end is 0 here: the end stands for arbitrarily large numbers, not for infinity.
    corners = [np.where(np.isnan(corner), 0.0, corner) for corner in corners]
    return _outward(np.minimum.reduce(corners), np.maximum.reduce(corners))


def _quotient(left: Interval, right: Interval) -> Interval:
    corners = [a / b for a in (left.low, left.high) for b in (right.low, right.high)]
    through = (right.low <= 0) & (right.high >= 0)
    low = np.where(through, -np.inf, np.fmin.reduce(corners))
    high = np.where(through, np.inf, np.fmax.reduce(corners))
    return _outward(low, high)


def _power(base: Interval, exponent: float) -> Interval:
    with np.errstate(all="ignore"):
        ends = [base.low**exponent, base.high**exponent]
    low, high = np.fmin.reduce(ends), np.fmax.reduce(ends)
    through = (base.low <= 0) & (base.high >= 0)
    if exponent < 0:
        low, high = np.where(through, -np.inf, low), np.where(through, np.inf, high)
    elif exponent % 2 == 0 and exponent > 0:
        low = np.where(through, 0.0, low)
    widened = _outward(low, high)
    # The library's power may be off by more than one unit in the last place; two to four more cover common libraries.
    # This *can* change a verdict: an enclosure that is too narrow proves too much.
    low, high = widened.low - 4e-16 * np.abs(widened.low), widened.high + 4e-16 * np.abs(widened.high)
    return Interval(np.maximum(low, 0.0) if exponent > 0 and exponent % 2 == 0 else low, high)


def _extreme(function: str, parts: list[Interval]) -> Interval:
    if function == "abs":
        (part,) = parts
        through = (part.low <= 0) & (part.high >= 0)
        ends = (np.abs(part.low), np.abs(part.high))
        return Interval(np.where(through, 0.0, np.minimum(*ends)), np.maximum(*ends))
    how = np.minimum if function == "min" else np.maximum
    lows = np.broadcast_arrays(*[part.low for part in parts])
    highs = np.broadcast_arrays(*[part.high for part in parts])
    return Interval(how.reduce(lows), how.reduce(highs))
