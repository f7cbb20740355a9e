"""Programs compiled to functions on whole columns.

Compiling goes backwards, from the wanted variables: a statement that sets none of them is left out. Each branch of an
``if`` runs only for the people who take it. If a Python function sets a variable, its kind is unknown beforehand, so
values are checked as they are used.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, TypeAlias

import numpy as np

from isonomia.errors import DataError
from isonomia.populations.worlds.mechanisms import WorldEquation
from isonomia.populations.worlds.run import PathFrame, StepTable
from isonomia.spec.fairsquare import tree as program
from isonomia.spec.fairsquare.tree import Expression, Statement

Evaluate: TypeAlias = Callable[[PathFrame], Any]
Execute: TypeAlias = Callable[[PathFrame], None]

SIGNS: dict[str, Callable[[Any, Any], Any]] = {"+": operator.add, "-": operator.sub, "*": operator.mul}
RELATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


@dataclass(frozen=True, slots=True)
class Block:
    """Compiled statements, in order.

    ``needs`` are the variables that must be set before; ``sets`` are all variables that may be set, even those that are
    not wanted.
    """

    needs: frozenset[str]
    sets: frozenset[str]
    actions: tuple[Execute, ...]

    def run(self, frame: PathFrame) -> None:
        """Run the statements for the people of a frame."""
        for action in self.actions:
            action(frame)


def compile_block(
    statements: Sequence[Statement | WorldEquation], wanted: frozenset[str], given: frozenset[str] = frozenset()
) -> Block:
    """Compile the statements that the wanted variables depend on.

    Variables in ``given`` are set from outside: nothing in the block sets them.
    """
    live, sets = wanted, frozenset[str]()
    actions: list[Execute] = []
    for statement in reversed(statements):
        match statement:
            case program.Assign(target=target) | WorldEquation(target=target):
                sets |= {target}
                if target in live - given:
                    live = (live - {target}) | reads_in(statement)
                    own = statement.run if isinstance(statement, WorldEquation) else compile_expression(statement.value)
                    actions.append(_assign(target, own))
            case program.If(condition, then, otherwise):
                branches = compile_block(then, live, given), compile_block(otherwise, live, given)
                both = branches[0].sets | branches[1].sets
                sets |= both
                merged = (both & live) - given
                if merged:
                    actions.append(_branch(compile_condition(condition), *branches, tuple(sorted(merged))))
                    live = branches[0].needs | branches[1].needs | program.reads_of(condition)
    return Block(live, sets, tuple(reversed(actions)))


def needed_statements(
    statements: Sequence[Statement | WorldEquation], wanted: frozenset[str], given: frozenset[str]
) -> tuple[tuple[Statement | WorldEquation, ...], frozenset[str]]:
    """The statements that matter for some variables, and the variables that must be set before them.

    Variables in ``given`` are set from outside.
    """
    live = wanted
    needed: list[Statement | WorldEquation] = []
    for statement in reversed(statements):
        match statement:
            case program.If(condition, then, otherwise, place=place):
                first, needs = needed_statements(then, live, given)
                second, others = needed_statements(otherwise, live, given)
                if first or second:
                    needed.append(program.If(condition, first, second, place=place))  # type: ignore[arg-type]
                    live = needs | others | program.reads_of(condition)
            case program.Assign(target=target) | WorldEquation(target=target):
                if target in live - given:
                    needed.append(statement)
                    live = (live - {target}) | reads_in(statement)
    return tuple(reversed(needed)), live


def reads_in(statement: program.Assign | WorldEquation) -> frozenset[str]:
    """The variables that an equation reads."""
    return frozenset(statement.parents) if isinstance(statement, WorldEquation) else program.reads_of(statement.value)


def _assign(target: str, evaluate: Evaluate) -> Execute:
    def assign(frame: PathFrame) -> None:
        stored, value = frame.run.stored, evaluate(frame)
        frame.values[target] = value if stored is None else stored.corrected(target, value)

    return assign


def _branch(condition: Evaluate, then: Block, otherwise: Block, merged: tuple[str, ...]) -> Execute:
    def branch(frame: PathFrame) -> None:
        split = _split(frame, condition)
        if isinstance(split, bool):
            (then if split else otherwise).run(frame)
            return
        then.run(split.then)
        otherwise.run(split.otherwise)
        for name in merged:
            frame.values[name] = split.joined(split.then.read(name), split.otherwise.read(name))

    return branch


def compile_condition(expression: Expression) -> Evaluate:
    """Compile a condition to a function that gives a column of truth values, or one truth value for all."""
    evaluate = compile_expression(expression)
    return lambda frame: truth_values(evaluate(frame), expression)


def compile_expression(expression: Expression) -> Evaluate:
    """Compile an expression to a function that gives a column, or one value for all."""
    match expression:
        case program.Number(value) | program.Boolean(value):
            return lambda _: value
        case program.Text(value):
            text = np.asarray(value, dtype=object)
            return lambda _: text
        case program.Reference(name):
            return lambda frame: frame.read(name)
        case program.UnaryMinus(operand):
            return _negative(compile_expression(operand))
        case program.LogicalNot(operand):
            met = compile_condition(operand)
            return lambda frame: np.logical_not(met(frame))
        case program.BinaryOperation():
            return _arithmetic(expression)
        case program.Chain():
            return _chain(expression)
        case program.BooleanOperation(connective, operands):
            join = operator.and_ if connective == "and" else operator.or_
            parts = tuple(map(compile_condition, operands))
            return lambda frame: reduce(join, [part(frame) for part in parts])
        case program.Choice(condition, then, otherwise):
            return _choice(compile_condition(condition), compile_expression(then), compile_expression(otherwise))
        case program.Gaussian():
            return _gaussian(expression)
        case program.StepDensity(cells, site):
            table = StepTable(cells)
            return lambda frame: frame.run.step(site, table, frame)


def _negative(inner: Evaluate) -> Evaluate:
    return lambda frame: -in_double_precision(inner(frame))


def _arithmetic(expression: program.BinaryOperation) -> Evaluate:
    left, right = compile_expression(expression.left), compile_expression(expression.right)
    if expression.sign != "/":
        combine = SIGNS[expression.sign]
        return lambda frame: combine(in_double_precision(left(frame)), in_double_precision(right(frame)))

    def divide(frame: PathFrame) -> Any:
        divisor = in_double_precision(right(frame))
        if not np.all(divisor):
            raise located("expected a divisor other than 0, but some people have 0: test it with an `if`", expression)
        return in_double_precision(left(frame)) / divisor

    return divide


def _chain(expression: program.Chain) -> Evaluate:
    first = compile_expression(expression.first)
    links = tuple((RELATIONS[relation], compile_expression(operand)) for relation, operand in expression.rest)

    def chain(frame: PathFrame) -> Any:
        left, met = first(frame), None
        for relation, operand in links:
            right = operand(frame)
            holds = _compared(relation, left, right, expression)
            met = holds if met is None else met & holds
            left = right
        return met

    return chain


def _compared(relation: Callable[[Any, Any], Any], left: Any, right: Any, chain: program.Chain) -> Any:
    try:
        return relation(left, right)
    except TypeError:
        raise located("expected two numbers to compare, but one of them is text", chain) from None


def _gaussian(expression: program.Gaussian) -> Evaluate:
    site, mean = expression.site, compile_expression(expression.mean)
    if isinstance(expression.variance, program.Number):
        constant = float(np.sqrt(expression.variance.value))
        return lambda frame: frame.run.gaussian(site, in_double_precision(mean(frame)), constant, frame)
    variance = compile_expression(expression.variance)

    def draw(frame: PathFrame) -> Any:
        spread = np.asarray(in_double_precision(variance(frame)))
        if not np.all(spread >= 0):
            least = float(np.min(spread))
            raise located(f"expected a variance of at least 0, but it is {least!r} for some people", expression)
        return frame.run.gaussian(site, in_double_precision(mean(frame)), np.sqrt(spread), frame)

    return draw


def located(message: str, expression: Expression) -> DataError:
    """An error that shows the line itself, since several equations may each have a line 1."""
    at = expression.place
    return DataError(f"line {at.line}, column {at.column}: {message}\n{at.caret()}" if at else message)


def _choice(condition: Evaluate, then: Evaluate, otherwise: Evaluate) -> Evaluate:
    """Each arm is evaluated only for those who take it, so `1 / x if x != 0 else 0` never divides by 0."""

    def choose(frame: PathFrame) -> Any:
        split = _split(frame, condition)
        if isinstance(split, bool):
            return (then if split else otherwise)(frame)
        return split.joined(then(split.then), otherwise(split.otherwise))

    return choose


@dataclass(frozen=True, slots=True)
class _Split:
    """People split by a condition, those who meet it and the others, each in their own frame."""

    whole: PathFrame
    then: PathFrame
    otherwise: PathFrame

    def joined(self, then: Any, otherwise: Any) -> Any:
        """One column for all people, from what each branch gives."""
        values = np.asarray(then), np.asarray(otherwise)
        column = np.empty(self.whole.rows, dtype=np.result_type(*values))
        for branch, value in zip((self.then, self.otherwise), values, strict=True):
            column[branch.chosen] = value
        return column


def _split(frame: PathFrame, condition: Evaluate) -> _Split | bool:
    """Split people by a condition; if all are on one side, return whether that side meets it."""
    met = np.asarray(condition(frame))
    if not met.ndim:
        return bool(met)
    yes = np.flatnonzero(met)
    if len(yes) in {0, frame.rows}:
        return bool(len(yes))
    return _Split(frame, frame.branch(yes), frame.branch(np.flatnonzero(~met)))


def in_double_precision(value: Any) -> Any:
    """Numbers for arithmetic, as floats: integers could overflow, and truth values count as 0 and 1."""
    if isinstance(value, float) or (isinstance(value, np.ndarray) and value.dtype.char == "d"):
        return value
    column = np.asarray(value)
    if column.dtype.kind not in "biuf":
        example = column.flat[0] if column.size else None
        raise DataError(f"expected a number for arithmetic, but a variable holds {example!r}: compare it by == or !=")
    return column.astype(np.float64) if column.ndim else float(column)


def truth_values(value: Any, expression: Expression) -> Any:
    """Truth values for a condition; numbers are accepted if all of them are 0 or 1."""
    if isinstance(value, bool | np.bool_) or (isinstance(value, np.ndarray) and value.dtype.char == "?"):
        return value
    column = np.asarray(value)
    if column.dtype.kind in "iuf" and np.all((column == 0) | (column == 1)):
        return column == 1
    name = f"{expression.name!r}" if isinstance(expression, program.Reference) else "a variable"
    message = f"expected true or false as a condition, but {name} holds {_other(column)!r}: compare it with a value"
    raise located(message, expression)


def _other(column: Any) -> Any:
    """The first value that is neither 0 nor 1."""
    listed = column.ravel().tolist()
    return next((item for item in listed if item not in (0, 1)), None)
