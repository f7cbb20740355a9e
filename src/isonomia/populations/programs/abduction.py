"""Abduction: the noise behind people whose variables are known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import DataError, SpecError
from isonomia.populations.programs.compiling import compile_expression
from isonomia.populations.programs.distributions import StepTable
from isonomia.populations.programs.mechanisms import Mechanism
from isonomia.populations.programs.running import Frame, Kept, Run
from isonomia.populations.programs.world import World
from isonomia.spec.programs.tree import (
    Arithmetic,
    Assign,
    Choice,
    Expression,
    Gaussian,
    If,
    Negative,
    Step,
    draws_of,
)

__all__ = ["abduct", "why_not"]

Array = NDArray[Any]
TOLERANCE = 1e-6
"""How far, relative to its size, a value may lie from what an equation without noise gives for it."""


def why_not(world: World) -> dict[str, str]:
    """For each variable whose noise cannot be found out, why."""
    reasons = {}
    for item in world.statements:
        if isinstance(item, If):
            raise SpecError("people of a program with branches cannot be abducted: write it as equations, Causal(...)")
        if isinstance(item, Mechanism):
            if item.takes_noise and item.abduct_needs_inverse:
                reasons[item.target] = (
                    "its function has noise and no inverse; give one, Equation(function, inverse=...)"
                )
        elif draws_of(item.value) and not _solvable(item.value):
            reasons[item.target] = "its draw cannot be isolated; write it as one draw, plus or times what has no draw"
    return reasons


def abduct(world: World, people: Mapping[str, Array], rows: int) -> Kept:
    """Find the noise behind people.

    Raises
    ------
    SpecError
        Where an equation cannot be undone.
    DataError
        Where the people could not have come from the equations.
    """
    reasons = why_not(world)
    if reasons:
        name, reason = next(iter(reasons.items()))
        raise SpecError(f"the equation of {name!r} cannot be undone: {reason}")
    kept = Kept(rows, np.random.default_rng(0))
    frame = Frame(rows, Run(rows, kept.rng, kept), dict(people))
    with np.errstate(all="ignore"):
        for item in world.statements:
            match item:
                case Mechanism():
                    _abduct_mechanism(item, frame)
                case Assign(target, value):
                    _abduct_expression(target, value, np.asarray(frame.read(target)), frame)
                case If():
                    raise AssertionError("why_not has refused branches")
    return kept


def _abduct_mechanism(item: Mechanism, frame: Frame) -> None:
    value = np.asarray(frame.read(item.target))
    if not item.random:
        _need_equal(item.target, value, item.run(frame))
        return
    noise = item.abduct(frame)
    if noise is None:
        raise AssertionError("why_not has refused what cannot be inverted")
    _need_noise(item.target, value, noise)
    item.keep(frame, noise)
    again = item.run(frame)
    _need_equal(item.target, value, again)


def _abduct_expression(target: str, expression: Expression, value: Array, frame: Frame) -> None:
    """Peel an expression off its one draw, and undo the draw."""
    if not draws_of(expression):
        _need_equal(target, value, np.asarray(compile_expression(expression)(frame)))
        return
    kept = frame.run.kept
    if kept is None:
        raise AssertionError("abducted noise is always kept")
    match expression:
        case Gaussian(mean, variance, site):
            middle, spread = compile_expression(mean)(frame), compile_expression(variance)(frame)
            noise = (value - middle) / np.sqrt(spread)
            # Without variance any noise will do, if only the value is right.
            _fill(kept.normals, site, np.where(np.asarray(spread) > 0, noise, np.where(value == middle, 0.0, np.nan)))
            _need_noise(target, value, kept.normals[site])
        case Step(cells, site):
            table = StepTable(cells)
            _fill(kept.shares, site, np.where(table.possible(value), table.share(value), np.nan))
            _need_noise(target, value, kept.shares[site])
        case Negative(operand):
            _abduct_expression(target, operand, -value, frame)
        case Arithmetic():
            _abduct_arithmetic(target, expression, value, frame)
        case Choice(condition, then, otherwise):
            _abduct_choice(target, (condition, then, otherwise), value, frame)
        case _:
            raise AssertionError("why_not has refused other expressions")


def _abduct_arithmetic(target: str, expression: Arithmetic, value: Array, frame: Frame) -> None:
    on_left = bool(draws_of(expression.left))
    known = np.asarray(compile_expression(expression.right if on_left else expression.left)(frame))
    inner = expression.left if on_left else expression.right
    match expression.sign, on_left:
        case "+", _:
            peeled = value - known
        case "-", True:
            peeled = value + known
        case "-", False:
            peeled = known - value
        case "*", _:
            peeled = value / known
        case "/", True:
            peeled = value * known
        case _:
            peeled = known / value
    _abduct_expression(target, inner, np.asarray(peeled), frame)


def _abduct_choice(target: str, parts: tuple[Expression, Expression, Expression], value: Array, frame: Frame) -> None:
    condition, then, otherwise = parts
    met = np.broadcast_to(np.asarray(compile_expression(condition)(frame)), (frame.rows,))
    for arm, chosen in ((then, np.flatnonzero(met)), (otherwise, np.flatnonzero(~met))):
        if len(chosen):
            branch = frame.branch(chosen)
            part = Kept(len(chosen), np.random.default_rng(0))
            inner = Frame(len(chosen), Run(len(chosen), part.rng, part), {}, frame, chosen)
            _abduct_expression(target, arm, value[chosen], inner)
            _scatter(frame, part, branch.chosen)


def _scatter(frame: Frame, part: Kept, chosen: Array | None) -> None:
    kept = frame.run.kept
    if kept is None:
        raise AssertionError("abducted noise is always kept")
    for columns, found in ((kept.normals, part.normals), (kept.shares, part.shares)):
        for site, noise in found.items():
            column = columns.setdefault(site, np.full(frame.rows, np.nan))
            column[chosen] = noise


def _fill(columns: dict[tuple[str, int], Array], site: tuple[str, int], noise: Array) -> None:
    columns[site] = np.asarray(noise, dtype=float)


def _solvable(expression: Expression) -> bool:
    """Whether there is one draw, reached through arithmetic whose other side has none."""
    match expression:
        case Gaussian(mean, variance):
            return not draws_of(mean) and not draws_of(variance)
        case Step():
            return True
        case Negative(operand):
            return _solvable(operand)
        case Arithmetic(_, left, right):
            drawn = [side for side in (left, right) if draws_of(side)]
            return len(drawn) == 1 and _solvable(drawn[0])
        case Choice(condition, then, otherwise):
            arms = [arm for arm in (then, otherwise) if draws_of(arm)]
            return not draws_of(condition) and all(map(_solvable, arms))
        case _:
            return False


def _need_noise(target: str, value: Array, noise: Array) -> None:
    wrong = ~np.isfinite(noise) if noise.dtype.kind == "f" else np.zeros(len(noise), dtype=bool)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise DataError(
            f"no noise gives {target!r} the value {value[row]!r} of row {row}: these people cannot have come from the "
            "equations; mend the equation, or leave the person out"
        )


def _need_equal(target: str, value: Array, given: Array) -> None:
    expected = np.broadcast_to(given, value.shape)
    if value.dtype.kind in "fiub" and expected.dtype.kind in "fiub":
        right = np.abs(value - expected * 1.0) <= TOLERANCE * np.maximum(1.0, np.abs(expected * 1.0))
    else:
        right = value == expected
    if not np.all(right):
        row = int(np.argmin(right))
        raise DataError(
            f"the equation of {target!r} gives {expected[row]!r} for row {row}, but the table has {value[row]!r}: give "
            "the equation noise, or mend the table"
        )
