"""What is known of an expression before it runs: the value of its constant parts, and what is wrong with them."""

from __future__ import annotations

import math

from isonomia.errors import SpecError
from isonomia.spec.programs.tree import (
    Arithmetic,
    Chain,
    Choice,
    Expression,
    Gaussian,
    Junction,
    Name,
    Negative,
    Not,
    Number,
    Step,
    Text,
    Truth,
)

__all__ = ["constant_value"]


def constant_value(expression: Expression) -> float | None:
    """The value of an expression made of numbers only; ``None`` where it depends on anything else.

    Raises
    ------
    SpecError
        Where some part of the expression divides by a constant zero, has a constant value that is too large to be a
        number, or draws with a variance that is a negative constant. What depends on variables is not examined.
    """
    match expression:
        case Number(value):
            return value
        case Truth() | Text() | Name() | Step():
            return None
        case Negative(operand):
            value_within = constant_value(operand)
            return None if value_within is None else -value_within
        case Arithmetic(_, left, right):
            return _result(expression, constant_value(left), constant_value(right))
        case Gaussian(mean, variance):
            constant_value(mean)
            _check_variance(variance, constant_value(variance))
            return None
        case Not(operand):
            parts: tuple[Expression, ...] = (operand,)
        case Chain(first, rest):
            parts = (first, *(link for _, link in rest))
        case Junction(_, operands):
            parts = operands
        case Choice(condition, then, otherwise):
            parts = (condition, then, otherwise)
    for part in parts:
        constant_value(part)
    return None


def _result(whole: Arithmetic, left: float | None, right: float | None) -> float | None:
    if whole.sign == "/" and right == 0:
        raise SpecError("this divides by zero: the divisor must be a number other than 0", whole.right.place)
    if left is None or right is None:
        return None
    value = _computed(whole, left, right)
    if not math.isfinite(value):
        raise SpecError("the value of this constant is too large for a number", whole.place)
    return value


def _computed(whole: Arithmetic, left: float, right: float) -> float:
    match whole.sign:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "/":
            return left / right


def _check_variance(expression: Expression, value: float | None) -> None:
    if value is not None and value < 0:
        message = f"a variance cannot be negative, but this is {value:g}: write `gaussian(mean, variance)`"
        raise SpecError(message, expression.place)
