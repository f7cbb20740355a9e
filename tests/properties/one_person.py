"""The oracle of program runs: one person at a time, statement by statement, with plain numbers.

The noise is the one that a whole-column run has kept, by site.
"""

from __future__ import annotations

import math
from typing import Any

from isonomia.populations.worlds.run import StepTable, StoredNoise
from isonomia.populations.worlds.world import World
from isonomia.spec.fairsquare.tree import (
    Assign,
    BinaryOperation,
    Boolean,
    BooleanOperation,
    Chain,
    Choice,
    Gaussian,
    If,
    LogicalNot,
    Number,
    Reference,
    StepDensity,
    Text,
    UnaryMinus,
)


class ImpossibleError(Exception):
    """A division by 0, or a variance below 0."""


class Person:
    """One person: their noise, what is set from outside, and what has been set so far."""

    def __init__(self, kept: StoredNoise, row: int, fixed: dict[str, Any]) -> None:
        self.kept, self.row, self.fixed = kept, row, fixed
        self.values: dict[str, Any] = dict(fixed)

    def run(self, statements: tuple[Any, ...]) -> dict[str, Any]:
        for statement in statements:
            match statement:
                case Assign(target, value):
                    if target not in self.fixed:
                        self.values[target] = self.value(value)
                case If(condition, then, otherwise):
                    self.run(then if self.value(condition) else otherwise)
        return self.values

    def value(self, expression: Any) -> Any:
        match expression:
            case Number(value) | Boolean(value) | Text(value):
                return value
            case Reference(name):
                return self.values[name]
            case UnaryMinus(operand):
                return -self.value(operand)
            case LogicalNot(operand):
                return not self.value(operand)
            case BinaryOperation(sign, left, right):
                return self.arithmetic(sign, self.value(left), self.value(right))
            case Chain(first, rest):
                return self.chain(first, rest)
            case BooleanOperation(connective, operands):
                found = [self.value(operand) for operand in operands]
                return all(found) if connective == "and" else any(found)
            case Choice(condition, then, otherwise):
                return self.value(then if self.value(condition) else otherwise)
            case Gaussian(mean, variance, site):
                middle, spread = self.value(mean), self.value(variance)
                if not spread >= 0:
                    raise ImpossibleError
                return float(self.kept.normal(site)[self.row]) * math.sqrt(spread) + middle
            case StepDensity(cells, site):
                return float(StepTable(cells).quantile(self.kept.share(site)[self.row : self.row + 1])[0])
        raise AssertionError(expression)

    def arithmetic(self, sign: str, left: float, right: float) -> float:
        if sign == "/" and right == 0:
            raise ImpossibleError
        match sign:
            case "+":
                return left + right
            case "-":
                return left - right
            case "*":
                return left * right
            case _:
                return left / right

    def chain(self, first: Any, rest: Any) -> bool:
        sides = [self.value(first), *(self.value(side) for _, side in rest)]
        signs = [sign for sign, _ in rest]
        return all(_holds(sign, a, b) for sign, a, b in zip(signs, sides[:-1], sides[1:], strict=True))


def _holds(sign: str, a: Any, b: Any) -> bool:
    if sign in {"==", "!="}:
        return bool((a == b) == (sign == "=="))
    return bool({"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[sign])


def one_by_one(world: World, kept: StoredNoise, fixed: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [Person(kept, row, fixed[row]).run(world.statements) for row in range(kept.rows)]
