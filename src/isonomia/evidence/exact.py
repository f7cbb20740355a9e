"""Exact truth of a formula when the whole population was seen: rational arithmetic, ties included."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import DataError
from isonomia.spec.text import to_text
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
    leaves_of,
)


def exact_truth(formula: Formula, values: Mapping[Leaf, Fraction]) -> bool | None:
    """Evaluate a formula at known leaf values; a constant counts as the decimal number that was written.

    Returns ``None`` where the answer depends on a leaf that has no value because its group is empty. A zero
    denominator raises ``DataError``.
    """
    match formula:
        case Comparison(first=first, rest=rest):
            sides = [first, *(side for _, side in rest)]
            relations = (relation for relation, _ in rest)
            return _every(
                [_link(left, how, right, values) for (left, right), how in zip(pairwise(sides), relations, strict=True)]
            )
        case Not(operand=operand):
            return _opposite(exact_truth(operand, values))
        case Junction(connective=connective, operands=operands):
            parts = [exact_truth(operand, values) for operand in operands]
            return _every(parts) if connective == "and" else _opposite(_every([_opposite(part) for part in parts]))
        case Implies(premise=premise, conclusion=conclusion):
            return exact_truth(Junction("or", (Not(premise), conclusion)), values)
        case Each():
            raise TypeError("a quantifier is expanded before it is evaluated")


def _every(parts: list[bool | None]) -> bool | None:
    """Kleene's "and": one false part decides it, even if others are unknown."""
    return False if False in parts else None if None in parts else True


def _opposite(truth: bool | None) -> bool | None:
    return None if truth is None else not truth


def _link(left: Quantity, relation: str, right: Quantity, values: Mapping[Leaf, Fraction]) -> bool | None:
    if any(leaf not in values for side in (left, right) for leaf in leaves_of(side)):
        return None
    return _related(exact_value(left, values), relation, exact_value(right, values))


def exact_value(quantity: Quantity, values: Mapping[Leaf, Fraction]) -> Fraction:
    """Evaluate a quantity at known leaf values."""
    match quantity:
        case Rate() | Mean():
            return values[quantity]
        case Constant(value=value):
            return Fraction(repr(value))
        case Negative(operand=operand):
            return -exact_value(operand, values)
        case Arithmetic(sign=sign, left=left, right=right):
            return _arithmetic(sign, exact_value(left, values), exact_value(right, values), right)
        case Power(base=base, exponent=exponent):
            return _power(exact_value(base, values), exponent, base)
        case Extreme(function=function, arguments=arguments):
            parts = [exact_value(argument, values) for argument in arguments]
            return abs(parts[0]) if function == "abs" else min(parts) if function == "min" else max(parts)


def _related(left: Fraction, relation: str, right: Fraction) -> bool:
    match relation:
        case "<":
            return left < right
        case "<=":
            return left <= right
        case ">":
            return left > right
        case _:
            return left >= right


def _arithmetic(sign: str, left: Fraction, right: Fraction, divisor: Quantity) -> Fraction:
    match sign:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case _:
            if right == 0:
                raise _zero(divisor)
            return left / right


def _power(base: Fraction, exponent: float, quantity: Quantity) -> Fraction:
    if exponent < 0 and base == 0:
        raise _zero(quantity)
    if exponent == int(exponent):
        return base ** int(exponent)
    return Fraction(float(base) ** exponent)


def _zero(quantity: Quantity) -> DataError:
    return DataError(
        f"expected a denominator that is not zero, but {to_text(quantity)} is 0 in this population: the ratio has no "
        "value. Compare a difference instead, or multiply out: a >= 0.8 * b."
    )


TOGETHER = 2**16
"""How many numbers are summed at a time: they stay in a core's cache. Sums of fewer than 2**26 are
exact, so it changes cost only."""


def exact_sum(column: NDArray[Any]) -> Fraction:
    """The sum of whole numbers, or of finite floats, without rounding, whatever cancels and however large it becomes.

    Every float is a whole number of 53 bits times a power of 2. For each power, the upper 26 bits and the lower 27 are
    summed separately, as floats: exactly, for fewer than 2**26 numbers at a time.
    """
    parts = (column[start : start + TOGETHER] for start in range(0, len(column), TOGETHER))
    return sum(map(_sum_together, parts), Fraction(0))


def _sum_together(column: NDArray[Any]) -> Fraction:
    if column.dtype.kind in "iu":
        numbers = column if column.dtype.itemsize == 8 else column.astype(np.int64)
        wide = 2**32  # upper and lower halves are summed separately, so that the sums fit into 64 bits
        return Fraction(int((numbers // wide).sum()) * wide + int((numbers % wide).sum()))
    parts, powers = np.frexp(column.astype(np.float64, copy=False))
    whole = np.ldexp(parts, 53).astype(np.int64)
    powers = powers.astype(np.int64)
    lowest = int(powers.min())
    upper = np.bincount(powers - lowest, weights=whole >> 27)
    lower = np.bincount(powers - lowest, weights=whole & (2**27 - 1))
    used = np.flatnonzero((upper != 0) | (lower != 0)).tolist()
    total = sum((int(upper[k]) * 2**27 + int(lower[k])) << k for k in used)
    return Fraction(total) * Fraction(2) ** (lowest - 53)
