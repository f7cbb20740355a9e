"""The truth of a formula: exact at known values of its leaves, and enclosed over boxes of values.

When the whole population was seen, formulas are evaluated in rational arithmetic, ties included. Interval arithmetic
covers many boxes at once: every operation rounds outward by one unit in the last place, so that an enclosure contains
every value that the exact operation could have. A division by an interval that contains zero gives the whole line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import DataError
from isonomia.spec import tree
from isonomia.spec.text import to_text


def exact_truth(formula: tree.Formula, values: Mapping[tree.Leaf, Fraction]) -> bool | None:
    """Evaluate a formula at known leaf values; a constant counts as the decimal number that was written.

    Returns ``None`` where the answer depends on a leaf that has no value because its group is empty. A zero
    denominator raises ``DataError``.
    """
    match formula:
        case tree.Comparison():
            return every_truth([_link(*link, values) for link in formula.links])
        case tree.Not(operand=operand):
            return opposite(exact_truth(operand, values))
        case tree.Junction(connective=connective, operands=operands):
            parts = [exact_truth(operand, values) for operand in operands]
            return every_truth(parts) if connective == "and" else some_truth(parts)
        case tree.Implies(premise=premise, conclusion=conclusion):
            return exact_truth(tree.Junction("or", (tree.Not(premise), conclusion)), values)
        case tree.Each():
            raise TypeError("a quantifier is expanded before it is evaluated")


def every_truth(parts: Sequence[bool | None]) -> bool | None:
    """Kleene's "and": one false part decides it, even if others are unknown."""
    return False if False in parts else None if None in parts else True


def some_truth(parts: Sequence[bool | None]) -> bool | None:
    """Kleene's "or": one true part decides it, even if others are unknown."""
    return True if True in parts else None if None in parts else False


def opposite(truth: bool | None) -> bool | None:
    """Kleene's "not"."""
    return None if truth is None else not truth


def _link(
    left: tree.Quantity, relation: str, right: tree.Quantity, values: Mapping[tree.Leaf, Fraction]
) -> bool | None:
    if any(leaf not in values for side in (left, right) for leaf in tree.leaves_of(side)):
        return None
    return bool(tree.RELATIONS[relation](exact_value(left, values), exact_value(right, values)))


def exact_value(quantity: tree.Quantity, values: Mapping[tree.Leaf, Fraction]) -> Fraction:
    """Evaluate a quantity at known leaf values."""
    match quantity:
        case tree.Rate() | tree.Mean():
            return values[quantity]
        case tree.Constant(value=value):
            return Fraction(repr(value))
        case tree.Negative(operand=operand):
            return -exact_value(operand, values)
        case tree.Arithmetic(sign=sign, left=left, right=right):
            return _arithmetic(sign, exact_value(left, values), exact_value(right, values), right)
        case tree.Power(base=base, exponent=exponent):
            return _power(exact_value(base, values), exponent, base)
        case tree.Extreme(function=function, arguments=arguments):
            parts = [exact_value(argument, values) for argument in arguments]
            return abs(parts[0]) if function == "abs" else min(parts) if function == "min" else max(parts)


def _arithmetic(sign: str, left: Fraction, right: Fraction, divisor: tree.Quantity) -> Fraction:
    if sign == "/" and right == 0:
        raise _zero(divisor)
    return Fraction(tree.OPERATIONS[sign](left, right))


def _power(base: Fraction, exponent: float, quantity: tree.Quantity) -> Fraction:
    if exponent < 0 and base == 0:
        raise _zero(quantity)
    if exponent == int(exponent):
        return base ** int(exponent)
    return Fraction(float(base) ** exponent)


def _zero(quantity: tree.Quantity) -> DataError:
    return DataError(
        f"expected a denominator that is not zero, but {to_text(quantity)} is 0 in this population: the ratio has no "
        "value. Compare a difference instead, or multiply out: a >= 0.8 * b."
    )


TOGETHER = 2**16
"""How many numbers are summed at a time: they stay in a core's cache. Sums of fewer than 2**23 are
exact, so it changes cost only."""


def exact_sum(column: NDArray[Any]) -> Fraction:
    """The sum of whole numbers, or of finite floats, without rounding, whatever cancels and however large it becomes.

    Every float is cut into whole multiples of powers of 2, which are summed separately, as floats: exactly, for fewer
    than 2**23 numbers at a time.
    """
    parts = (column[start : start + TOGETHER] for start in range(0, len(column), TOGETHER))
    return sum(map(_sum_together, parts), Fraction(0))


def _sum_together(column: NDArray[Any]) -> Fraction:
    if column.dtype.kind in "iu":
        numbers = column if column.dtype.itemsize == 8 else column.astype(np.int64)
        wide = 2**32  # upper and lower halves are summed separately, so that the sums fit into 64 bits
        return Fraction(int((numbers // wide).sum()) * wide + int((numbers % wide).sum()))
    return fraction_of(limb_sums(column, np.zeros(len(column), dtype=np.intp), 1), 0)


LIMB = 30
"""Numbers are added in limbs of so many bits: the sum of 2**33 of them fits into 64 bits."""

Limbs: TypeAlias = dict[int, NDArray[np.int64]]
"""Sums without rounding: those of level ``k`` count multiples of ``2**(LIMB * k)``."""


def limb_sums(numbers: NDArray[Any], cells: NDArray[np.intp], size: int) -> Limbs:
    """The exact sums of fewer than 2**23 finite floats, those of each of so many cells together."""
    rest = np.abs(numbers.astype(np.float64, copy=False))
    sums: Limbs = {}
    level = int(np.frexp(rest.max(initial=0.0))[1]) // LIMB
    while rest.any():
        limb = np.floor(np.ldexp(rest, -LIMB * level))
        sums[level] = np.bincount(cells, np.copysign(limb, numbers), size).astype(np.int64)
        rest -= np.ldexp(limb, LIMB * level)
        level -= 1
    return sums


def fraction_of(sums: Limbs, cell: int) -> Fraction:
    """One sum as a fraction."""
    lowest = min(sums, default=0)
    whole = sum(int(limb[cell]) << (LIMB * (level - lowest)) for level, limb in sums.items())
    return whole * Fraction(2) ** (LIMB * lowest)


def floats_of(sums: Limbs, size: int) -> NDArray[np.float64]:
    """All sums, rounded to floats, the same ones however they were added up."""
    result = np.zeros(size)
    for level in sorted(sums):
        result += np.ldexp(sums[level].ravel().astype(np.float64), LIMB * level)
    return result


Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class BoxIntervals:
    """Lower and upper ends, one pair for each box."""

    low: Floats
    high: Floats


@dataclass(frozen=True, slots=True)
class KleeneTruth:
    """Kleene's three values for each box: certainly true, certainly false, or neither."""

    true: Booleans
    false: Booleans


def enclose(quantity: tree.Quantity, box: Mapping[tree.Leaf, BoxIntervals]) -> BoxIntervals:
    """Enclose a quantity over each box.

    Guarantee: for every point of the box the quantity, where it is defined, lies within the result.
    """
    match quantity:
        case tree.Rate() | tree.Mean():
            return box[quantity]
        case tree.Constant(value=value):
            exact = np.asarray([value], dtype=float)
            return BoxIntervals(exact, exact)
        case tree.Negative(operand=operand):
            inner = enclose(operand, box)
            return BoxIntervals(-inner.high, -inner.low)
        case tree.Arithmetic(sign=sign, left=left, right=right):
            return _interval_arithmetic(sign, enclose(left, box), enclose(right, box))
        case tree.Power(base=base, exponent=exponent):
            return _interval_power(enclose(base, box), exponent)
        case tree.Extreme(function=function, arguments=arguments):
            return _extreme(function, [enclose(argument, box) for argument in arguments])


def single_box(ranges: Mapping[tree.Leaf, tuple[float, float]]) -> dict[tree.Leaf, BoxIntervals]:
    """One box, from the two ends of each leaf."""
    return {leaf: BoxIntervals(np.asarray([low]), np.asarray([high])) for leaf, (low, high) in ranges.items()}


def enclose_over_box(quantity: tree.Quantity, ranges: Mapping[tree.Leaf, tuple[float, float]]) -> tuple[float, float]:
    """Enclose a quantity over one box."""
    value = enclose(quantity, single_box(ranges))
    return float(value.low[0]), float(value.high[0])


def judge(formula: tree.Formula, box: Mapping[tree.Leaf, BoxIntervals]) -> KleeneTruth:
    """Judge a formula over each box, in Kleene's three values.

    A leaf that is not in the box has no known value: no link of a chain that names it is settled.
    """
    match formula:
        case tree.Comparison():
            return _chain(
                [(_known(left, box), relation, _known(right, box)) for left, relation, right in formula.links]
            )
        case tree.Not(operand=operand):
            inner = judge(operand, box)
            return KleeneTruth(inner.false, inner.true)
        case tree.Implies(premise=premise, conclusion=conclusion):
            before, after = judge(premise, box), judge(conclusion, box)
            return KleeneTruth(before.false | after.true, before.true & after.false)
        case tree.Junction(connective=connective, operands=operands):
            parts = [judge(operand, box) for operand in operands]
            true, false = [part.true for part in parts], [part.false for part in parts]
            if connective == "and":
                return KleeneTruth(reduce(np.logical_and, true), reduce(np.logical_or, false))
            return KleeneTruth(reduce(np.logical_or, true), reduce(np.logical_and, false))
        case tree.Each():
            raise TypeError("a quantifier is expanded before it is judged")


def _known(quantity: tree.Quantity, box: Mapping[tree.Leaf, BoxIntervals]) -> BoxIntervals:
    """The enclosure of a quantity; NaN, which settles no comparison, where it names an absent leaf."""
    try:
        return enclose(quantity, box)
    except KeyError:
        nothing = np.full(1, np.nan)
        return BoxIntervals(nothing, nothing)


def _chain(links: Sequence[tuple[BoxIntervals, str, BoxIntervals]]) -> KleeneTruth:
    true: Booleans = np.ones(1, dtype=bool)
    false: Booleans = np.zeros(1, dtype=bool)
    for left, relation, right in links:
        small, large = (left, right) if relation in {"<", "<="} else (right, left)
        if relation in {"<=", ">="}:
            true, false = true & (small.high <= large.low), false | (small.low > large.high)
        else:
            true, false = true & (small.high < large.low), false | (small.low >= large.high)
    return KleeneTruth(true, false)


def _outward(low: Floats, high: Floats) -> BoxIntervals:
    low = np.where(np.isnan(low), -np.inf, np.nextafter(low, -np.inf))
    high = np.where(np.isnan(high), np.inf, np.nextafter(high, np.inf))
    return BoxIntervals(low, high)


def _interval_arithmetic(sign: str, left: BoxIntervals, right: BoxIntervals) -> BoxIntervals:
    with np.errstate(all="ignore"):
        if sign == "+":
            return _outward(left.low + right.low, left.high + right.high)
        if sign == "-":
            return _outward(left.low - right.high, left.high - right.low)
        if sign == "*":
            return _product(left, right)
        return _quotient(left, right)


def _product(left: BoxIntervals, right: BoxIntervals) -> BoxIntervals:
    corners = [a * b for a in (left.low, left.high) for b in (right.low, right.high)]
    # 0 times an infinite end is 0 here: the end stands for arbitrarily large numbers, not for infinity.
    corners = [np.where(np.isnan(corner), 0.0, corner) for corner in corners]
    return _outward(np.minimum.reduce(corners), np.maximum.reduce(corners))


def _quotient(left: BoxIntervals, right: BoxIntervals) -> BoxIntervals:
    corners = [a / b for a in (left.low, left.high) for b in (right.low, right.high)]
    through = (right.low <= 0) & (right.high >= 0)
    low = np.where(through, -np.inf, np.fmin.reduce(corners))
    high = np.where(through, np.inf, np.fmax.reduce(corners))
    return _outward(low, high)


def _interval_power(base: BoxIntervals, exponent: float) -> BoxIntervals:
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
    return BoxIntervals(np.maximum(low, 0.0) if exponent > 0 and exponent % 2 == 0 else low, high)


def _extreme(function: str, parts: list[BoxIntervals]) -> BoxIntervals:
    if function == "abs":
        (part,) = parts
        through = (part.low <= 0) & (part.high >= 0)
        ends = (np.abs(part.low), np.abs(part.high))
        return BoxIntervals(np.where(through, 0.0, np.minimum(*ends)), np.maximum(*ends))
    how = np.minimum if function == "min" else np.maximum
    lows = np.broadcast_arrays(*[part.low for part in parts])
    highs = np.broadcast_arrays(*[part.high for part in parts])
    return BoxIntervals(how.reduce(lows), how.reduce(highs))
