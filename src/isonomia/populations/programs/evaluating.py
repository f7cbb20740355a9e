"""Expressions and conditions of a program as functions on whole columns."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any, TypeAlias

import numpy as np

from isonomia.errors import DataError
from isonomia.populations.programs.coercing import in_double_precision, truth_values
from isonomia.populations.programs.distributions import StepTable
from isonomia.populations.programs.running import Frame
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

__all__ = ["Evaluate", "Ways", "compile_condition", "compile_expression", "in_two_ways"]

Evaluate: TypeAlias = Callable[[Frame], Any]

_SIGNS: dict[str, Callable[[Any, Any], Any]] = {"+": operator.add, "-": operator.sub, "*": operator.mul}
_RELATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


def compile_expression(expression: Expression) -> Evaluate:
    """Compile an expression to a function that gives a column, or one value for everybody."""
    match expression:
        case Number(value) | Truth(value):
            return lambda _: value
        case Text(value):
            text = np.asarray(value, dtype=object)
            return lambda _: text
        case Name(name):
            return lambda frame: frame.read(name)
        case Negative(operand):
            return _negative(compile_expression(operand))
        case Not(operand):
            met = compile_condition(operand)
            return lambda frame: np.logical_not(met(frame))
        case Arithmetic():
            return _arithmetic(expression)
        case Chain():
            return _chain(expression)
        case Junction(connective, operands):
            join = operator.and_ if connective == "and" else operator.or_
            parts = tuple(map(compile_condition, operands))
            return lambda frame: reduce(join, [part(frame) for part in parts])
        case Choice(condition, then, otherwise):
            return _choice(compile_condition(condition), compile_expression(then), compile_expression(otherwise))
        case Gaussian():
            return _gaussian(expression)
        case Step(cells, site):
            table = StepTable(cells)
            return lambda frame: frame.run.step(site, table, frame)


def compile_condition(expression: Expression) -> Evaluate:
    """Compile a condition to a function that gives truth values, or one for everybody."""
    evaluate = compile_expression(expression)
    return lambda frame: truth_values(evaluate(frame), expression)


@dataclass(frozen=True, slots=True)
class Ways:
    """People of whom some meet a condition and some do not, each in a frame of their own."""

    whole: Frame
    then: Frame
    otherwise: Frame

    def joined(self, then: Any, otherwise: Any) -> Any:
        """One column for everybody, from what each way gives."""
        values = np.asarray(then), np.asarray(otherwise)
        column = np.empty(self.whole.rows, dtype=np.result_type(*values))
        for way, value in zip((self.then, self.otherwise), values, strict=True):
            column[way.chosen] = value
        return column


def in_two_ways(frame: Frame, condition: Evaluate) -> Ways | bool:
    """Part people by a condition; where all of them go one way, whether that is the way of those who meet it."""
    met = np.asarray(condition(frame))
    if not met.ndim:
        return bool(met)
    yes = np.flatnonzero(met)
    if len(yes) in {0, frame.rows}:
        return bool(len(yes))
    return Ways(frame, frame.branch(yes), frame.branch(np.flatnonzero(~met)))


def _choice(condition: Evaluate, then: Evaluate, otherwise: Evaluate) -> Evaluate:
    """Each arm is evaluated for those who take it, so that `1 / x if x != 0 else 0` divides by no 0."""

    def choose(frame: Frame) -> Any:
        ways = in_two_ways(frame, condition)
        if isinstance(ways, bool):
            return (then if ways else otherwise)(frame)
        return ways.joined(then(ways.then), otherwise(ways.otherwise))

    return choose


def _negative(inner: Evaluate) -> Evaluate:
    return lambda frame: -in_double_precision(inner(frame))


def _arithmetic(expression: Arithmetic) -> Evaluate:
    left, right = compile_expression(expression.left), compile_expression(expression.right)
    if expression.sign != "/":
        combine = _SIGNS[expression.sign]
        return lambda frame: combine(in_double_precision(left(frame)), in_double_precision(right(frame)))

    def divide(frame: Frame) -> Any:
        divisor = in_double_precision(right(frame))
        if not np.all(divisor):
            raise _wrong("expected a divisor other than 0, but it is 0 for somebody: test it by an `if`", expression)
        return in_double_precision(left(frame)) / divisor

    return divide


def _chain(expression: Chain) -> Evaluate:
    first = compile_expression(expression.first)
    links = tuple((_RELATIONS[relation], compile_expression(operand)) for relation, operand in expression.rest)

    def chain(frame: Frame) -> Any:
        left, met = first(frame), None
        for relation, operand in links:
            right = operand(frame)
            holds = _compared(relation, left, right, expression)
            met = holds if met is None else met & holds
            left = right
        return met

    return chain


def _gaussian(expression: Gaussian) -> Evaluate:
    site, mean = expression.site, compile_expression(expression.mean)
    if isinstance(expression.variance, Number):
        constant = float(np.sqrt(expression.variance.value))
        return lambda frame: frame.run.gaussian(site, in_double_precision(mean(frame)), constant, frame)
    variance = compile_expression(expression.variance)

    def draw(frame: Frame) -> Any:
        spread = np.asarray(in_double_precision(variance(frame)))
        if not np.all(spread >= 0):
            least = float(np.min(spread))
            raise _wrong(f"expected a variance of at least 0, but it is {least!r} for somebody", expression)
        return frame.run.gaussian(site, in_double_precision(mean(frame)), np.sqrt(spread), frame)

    return draw


def _compared(relation: Callable[[Any, Any], Any], left: Any, right: Any, chain: Chain) -> Any:
    try:
        return relation(left, right)
    except TypeError:
        raise _wrong("expected two numbers to compare, but one of them is text", chain) from None


def _wrong(message: str, expression: Expression) -> DataError:
    """An error that shows the line: several equations may each have a line 1."""
    place = expression.place
    return DataError(f"line {place.line}, column {place.column}: {message}\n{place.caret()}" if place else message)
