"""Counterfactuals of real people: abduction finds the noise behind their values, and the equations run again with it.

Each equation is inverted in turn: an expression is solved for its one draw, a Python function has its inverse. People
who cannot have come from the equations are refused; the message names the first one's row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from isonomia.errors import DataError, SpecError
from isonomia.populations.table import Table, plain_value
from isonomia.populations.worlds.compile import compile_condition, compile_expression, in_double_precision
from isonomia.populations.worlds.mechanisms import WorldEquation
from isonomia.populations.worlds.run import PathFrame, StepTable, StoredNoise, WorldRun
from isonomia.populations.worlds.world import Columns, World, check_version, settings_for
from isonomia.spec.fairsquare import tree as program
from isonomia.spec.fairsquare.tree import Expression, Site
from isonomia.spec.tree import Do

Array = NDArray[Any]

TOLERANCE = 1e-6
"""How far a value may be from what its equation gives, relative to its size (absolute for results below 1)."""


def counterfactual(world: World, people: Table, settings: Mapping[str, Any]) -> Table:
    """People as they would have been with some variables set, each to one value or to one per person."""
    fixed = settings_for(world, settings, people.rows)
    noise = abduct(world, _variables(world, people), people.rows)
    return Table.of(world.rerun_with(noise, fixed, world.names))


def under_interventions(world: World, people: Table, wanted: Mapping[Do, Sequence[str]]) -> dict[Do, Columns]:
    """The columns of people under each of several interventions."""
    for version in wanted:
        check_version(world, version)
    columns = _variables(world, people)
    noise = abduct(world, columns, people.rows)
    return {version: world.rerun(noise, columns, version, names) for version, names in wanted.items()}


def _variables(world: World, people: Table) -> Columns:
    missing = [name for name in world.names if name not in people.names]
    if missing:
        raise DataError(
            f"expected a column for every variable, but the table has none for {', '.join(map(repr, missing))}",
            name=missing[0],
        )
    return {name: people.column(name) for name in world.names}


def abduct(world: World, people: Mapping[str, Array], rows: int) -> StoredNoise:
    """Find the noise behind people."""
    reasons = not_invertible(world)
    if reasons:
        name, reason = next(iter(reasons.items()))
        raise SpecError(f"the equation of {name!r} cannot be inverted: {reason}", name=name)
    noise = StoredNoise(rows, np.random.default_rng(0), observed={})
    frame = PathFrame(rows, WorldRun(rows, noise.rng, noise), dict(people))
    with np.errstate(all="ignore"):
        for item in world.statements:
            match item:
                case WorldEquation(target=target):
                    value = np.asarray(frame.read(target))
                    _abduct_mechanism(item, value, frame)
                    _observe(noise, target, value, item.run(frame))
                case program.Assign(target, expression):
                    value = np.asarray(frame.read(target))
                    _abduct_expression(target, expression, value, frame)
                    _observe(noise, target, value, compile_expression(expression)(frame))
                case program.If():
                    raise AssertionError("not_invertible has refused branches")
    return noise


def not_invertible(world: World) -> dict[str, str]:
    """For each variable whose noise cannot be computed, the reason."""
    reasons = {}
    for item in world.statements:
        if isinstance(item, program.If):
            raise SpecError("people of a program with branches cannot be abducted: write it as equations, Causal(...)")
        if isinstance(item, WorldEquation):
            if item.lacks_inverse:
                reasons[item.target] = (
                    "its function has noise and no inverse; give one, Equation(function, inverse=...)"
                )
        elif program.draws_of(item.value) and not _solvable(item.value):
            reasons[item.target] = "its draw cannot be isolated; write it as one draw, plus or times what has no draw"
    return reasons


def _solvable(expression: Expression) -> bool:
    """Whether there is one draw, reached through arithmetic whose other side has none."""
    match expression:
        case program.Gaussian(mean, variance):
            return not program.draws_of(mean) and not program.draws_of(variance)
        case program.StepDensity():
            return True
        case program.UnaryMinus(operand):
            return _solvable(operand)
        case program.BinaryOperation(_, left, right):
            drawn = [side for side in (left, right) if program.draws_of(side)]
            return len(drawn) == 1 and _solvable(drawn[0])
        case program.Choice(condition, then, otherwise):
            arms = [arm for arm in (then, otherwise) if program.draws_of(arm)]
            return not program.draws_of(condition) and all(map(_solvable, arms))
        case _:
            return False


def _observe(noise: StoredNoise, target: str, value: Array, computed: Any) -> None:
    """Record the value of a variable, and the value its equation gives for the noise found."""
    if noise.observed is None:
        raise AssertionError("what abducted people are like is always known")
    _check_equal(target, value, np.asarray(computed), None)
    noise.observed[target] = value, np.broadcast_to(np.asarray(computed), value.shape)


def _abduct_mechanism(item: WorldEquation, value: Array, frame: PathFrame) -> None:
    if not item.random:
        return
    noise = item.abduct(frame)
    if noise is None:
        raise AssertionError("not_invertible has refused what cannot be inverted")
    _check_explained(item.target, value, noise, frame)
    item.store(frame, noise)
    share = frame.run.stored.shares.get((item.target, 0)) if frame.run.stored else None
    if share is not None:
        possible = (share >= -TOLERANCE) & (share <= 1.0 + TOLERANCE)
        _check_explained(item.target, value, np.where(possible, share, np.nan), frame)


def _abduct_expression(target: str, expression: Expression, value: Array, frame: PathFrame) -> None:
    """Solve an expression for its one draw, and the draw for its noise."""
    if not program.draws_of(expression):
        _check_equal(target, value, np.asarray(compile_expression(expression)(frame)), frame.origin)
        return
    value = _numbers(target, value)
    match expression:
        case program.Gaussian():
            _abduct_gaussian(target, expression, value, frame)
        case program.StepDensity(cells, site):
            table = StepTable(cells)
            share = np.where(table.possible(value), table.share(value), np.nan)
            _check_explained(target, value, share, frame)
            _store(frame, site, ndtri(share), share)
        case program.UnaryMinus(operand):
            _abduct_expression(target, operand, -value, frame)
        case program.BinaryOperation():
            _abduct_arithmetic(target, expression, value, frame)
        case program.Choice(condition, then, otherwise):
            met = np.broadcast_to(np.asarray(compile_condition(condition)(frame)), (frame.rows,))
            for arm, chosen in ((then, met), (otherwise, ~met)):
                _abduct_some(target, arm, value, frame, chosen)
        case _:
            raise AssertionError("not_invertible has refused other expressions")


def _abduct_some(target: str, expression: Expression, value: Array, frame: PathFrame, chosen: Array) -> None:
    """Solve an expression for some of the people; nothing is known about the noise of the others."""
    rows = np.flatnonzero(chosen)
    if len(rows):
        _abduct_expression(target, expression, value[rows], frame if len(rows) == frame.rows else frame.branch(rows))


def _abduct_gaussian(target: str, draw: program.Gaussian, value: Array, frame: PathFrame) -> None:
    middle = _column(draw.mean, frame)
    spread = _column(draw.variance, frame)
    # If the variance is always 0, any noise will do, as long as the value is right.
    noise = (value - middle) / np.sqrt(spread)
    if draw.variance == program.Number(0.0):
        noise = np.where(value == middle, 0.0, np.nan)
    else:
        _check_informative(target, (spread == 0) & (value == middle), frame)
    _check_explained(target, value, noise, frame)
    _store(frame, draw.site, noise, ndtr(noise))


def _abduct_arithmetic(target: str, expression: program.BinaryOperation, value: Array, frame: PathFrame) -> None:
    on_left = bool(program.draws_of(expression.left))
    other = _column(expression.right if on_left else expression.left, frame)
    inner = expression.left if on_left else expression.right
    match expression.sign, on_left:
        case "+", _:
            peeled = value - other
        case "-", True:
            peeled = value + other
        case "-", False:
            peeled = other - value
        case "*", _:
            peeled = value / other
        case "/", True:
            peeled = np.where(other != 0, value * other, np.nan)
        case _:
            peeled = other / value
    if expression.sign == "*" or (expression.sign == "/" and not on_left):
        _check_informative(target, (other == 0) & (value == 0), frame)
    _check_explained(target, value, peeled, frame)
    _abduct_expression(target, inner, peeled, frame)


def _column(expression: Expression, frame: PathFrame) -> Array:
    """The numbers that an expression gives, one per person."""
    return np.broadcast_to(in_double_precision(compile_expression(expression)(frame)), (frame.rows,))


def _store(frame: PathFrame, site: Site, normals: Array, shares: Array) -> None:
    if frame.run.stored is None:
        raise AssertionError("abducted noise is always stored")
    frame.run.stored.store(site, normals, shares, frame.origin)


def _numbers(target: str, value: Array) -> Array:
    """The values of a variable whose equation draws numbers."""
    if value.dtype.kind not in "biuf":
        raise DataError(
            f"expected numbers for {target!r}, whose equation draws a number, but the table has {value[0]!r}: convert "
            "the column",
            name=target,
        )
    return np.asarray(value, dtype=float)


def _check_informative(target: str, hidden: Array, frame: PathFrame) -> None:
    """Refuse people whose draw does not show in their value, because its factor or its variance is 0."""
    if hidden.any():
        first = int(np.argmax(hidden))
        row = _row(first, frame.origin)
        raise DataError(
            f"the noise of {target!r} does not show in row {row}, where it counts 0 times: write the equation as a "
            "choice, such as `gaussian(5, 1) if employed else 0`",
            name=target,
            row=row,
        )


def _check_explained(target: str, value: Array, noise: Array, frame: PathFrame) -> None:
    """Refuse people whose values no noise explains, and those with a missing value."""
    wrong = ~np.isfinite(noise) if noise.dtype.kind == "f" else np.zeros(len(noise), dtype=bool)
    if wrong.any():
        first = int(np.argmax(wrong))
        row = _row(first, frame.origin)
        if plain_value(value[first]) is None:
            raise DataError(
                f"expected a value of {target!r} in every row, but it is missing in row {row}: leave such rows out",
                name=target,
                row=row,
            )
        raise DataError(
            f"no noise gives {target!r} the value {plain_value(value[first])!r} of row {row}: these people cannot have "
            "come from the equations; fix the equation, or leave the person out",
            name=target,
            row=row,
        )


def _check_equal(target: str, value: Array, given: Array, origin: Array | None) -> None:
    """Refuse people whose value differs from what the equation gives."""
    expected = np.broadcast_to(given, value.shape)
    if value.dtype.kind in "fiub" and expected.dtype.kind in "fiub":
        right = np.abs(value - expected * 1.0) <= TOLERANCE * np.maximum(1.0, np.abs(expected * 1.0))
    else:
        right = np.asarray(value == expected)
    if not np.all(right):
        first = int(np.argmin(right))
        row = _row(first, origin)
        raise DataError(
            f"the equation of {target!r} gives {plain_value(expected[first])!r} for row {row}, but the table has "
            f"{plain_value(value[first])!r}: give the equation noise, or fix the table",
            name=target,
            row=row,
        )


def _row(index: int, origin: Array | None) -> int:
    """A person's row in the whole table, from their index in a branch."""
    return index if origin is None else int(origin[index])
