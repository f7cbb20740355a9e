"""Exact truth of a formula when the whole population was seen: rational arithmetic, ties included."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import pairwise

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
)
from isonomia.spec.walk import leaves_of

__all__ = ["exact_truth", "exact_value"]


def exact_truth(formula: Formula, values: Mapping[Leaf, Fraction]) -> bool | None:
    """Evaluate a formula at known leaf values; a constant counts as the decimal number that was written.

    Returns ``None`` where the answer depends on a leaf that has no value because its group has nobody in it. A zero
    denominator is a ``DataError``.
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
    """Kleene's "and": one false part decides it, whatever is unknown."""
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
