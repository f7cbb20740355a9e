"""One person's block as a mixed-integer program: whether there is any move, and how far each feature can go.

The solver is HiGHS, through SciPy. What it finds is checked against the constraints themselves; when it says that there
is nothing, it is trusted, because the rows allow every move that the constraints allow.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from isonomia.errors import NumericalError
from isonomia.interventions.blocks import FeatureBlock
from isonomia.interventions.constraints.base import ActionScope, Bools, Floats, FormRow

_SLACK = 1e-6
"""HiGHS satisfies rows and integrality up to this."""
_OPTIMAL, _INFEASIBLE = 0, 2


@dataclass(frozen=True, slots=True, eq=False)
class MixedIntegerProgram:
    """Linear rows over the block's acted values and over auxiliary binaries, which come last.

    ``exact`` says that nothing but boundary points satisfies the rows without being a move.
    """

    matrix: Floats
    low: Floats
    high: Floats
    least: Floats
    most: Floats
    whole: Bools
    exact: bool


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """A move that changes something, checked against every constraint."""

    acted: Floats


@dataclass(frozen=True, slots=True)
class Nothing:
    """No move changes anything."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """The solver found only candidates that a constraint without an exact linear form forbids."""


MoveAnswer: TypeAlias = Found | Nothing | Unknown


def program_of(block: FeatureBlock, start: Floats, box: tuple[Floats, Floats] | None = None) -> MixedIntegerProgram:
    """The program of one person; where a box is given, only the part of it in the box."""
    least, most = (part[0] for part in block.ranges(start[None]))
    scope = _scope(block, start, least, most)
    low, high = (least, most) if box is None else box
    forms = [(constraint.form(_part(scope, indices)), indices) for constraint, indices in block.constraints]
    linear = [(form, indices) for form, indices in forms if form is not None]
    width, binaries = len(block.columns), sum(form.binaries for form, _ in linear)
    rows: list[tuple[Floats, float, float]] = []
    first = width
    for form, indices in linear:
        rows += [_dense(row, indices, block, start, first, width + binaries) for row in form.rows]
        first += form.binaries
    whole = np.asarray([feature.whole for feature in block.features] + [True] * binaries)
    return MixedIntegerProgram(
        np.asarray([row for row, _, _ in rows]).reshape(len(rows), width + binaries),
        np.asarray([low for _, low, _ in rows]),
        np.asarray([high for _, _, high in rows]),
        np.concatenate([low, np.zeros(binaries)]),
        np.concatenate([high, np.ones(binaries)]),
        whole,
        len(linear) == len(forms) and all(form.exact for form, _ in linear),
    )


def tightened(block: FeatureBlock, start: Floats) -> tuple[Floats, Floats] | None:
    """The ranges of one person's own actions, narrowed as far as the rows allow; ``None`` where they allow nothing.

    Guarantee: every move that changes something lies in the ranges.
    """
    program = program_of(block, start)
    least, most = program.least[: len(start)].copy(), program.most[: len(start)].copy()
    for column in block.free:
        ends = [_extreme(program, column, sign) for sign in (1.0, -1.0)]
        if ends[0] is None or ends[1] is None:
            return None
        least[column] = max(least[column], _outward(float(ends[0][column]), program.whole[column], -1.0))
        most[column] = min(most[column], _outward(float(ends[1][column]), program.whole[column], 1.0))
    return least, most


def any_move(block: FeatureBlock, start: Floats) -> MoveAnswer:
    """Whether one person can change anything in a block, and how."""
    least, most = block.ranges(start[None])
    program = program_of(block, start)
    doubt = False
    for column in block.free:
        for sign in (1.0, -1.0):
            point = _extreme(program, column, sign)
            if point is None:
                return Nothing()
            acted = np.where(program.whole, np.round(point), point)[None, : len(start)]
            if np.abs(acted[0, column] - start[column]) <= _SLACK * max(1.0, abs(start[column])):
                continue
            if block.holds(block.moves(start[None], acted, least, most))[0]:
                return Found(acted[0])
            doubt = True
    return Unknown() if doubt else Nothing()


def _extreme(program: MixedIntegerProgram, column: int, sign: float) -> Floats | None:
    """A point that satisfies the rows and has the least (1) or greatest (-1) value in a column; ``None`` if none."""
    cost = np.zeros(len(program.whole))
    cost[column] = sign
    rows = program.matrix, program.low, program.high
    return cheapest(cost, program.whole, (program.least, program.most), rows)


def _outward(value: float, whole: bool, sign: float) -> float:
    """An end of a range, rounded so that nothing is lost."""
    if whole:
        return float(np.round(value))
    return value + sign * _SLACK * max(1.0, abs(value))


def _scope(block: FeatureBlock, start: Floats, least: Floats, most: Floats) -> ActionScope:
    box = block.box(start[None], least[None], most[None], least[None], most[None])
    whole = np.asarray([feature.whole for feature in block.features])
    steps = (block.push == np.round(block.push)) & whole[:, None]
    end_whole = whole & (steps | (block.push == 0)).all(0)
    return ActionScope(
        start, least, most, box.end_low[0], box.end_high[0], tuple(whole.tolist()), tuple(end_whole.tolist())
    )


def _part(scope: ActionScope, indices: tuple[int, ...]) -> ActionScope:
    at = list(indices)
    return ActionScope(
        scope.start[at],
        scope.least[at],
        scope.most[at],
        scope.end_low[at],
        scope.end_high[at],
        tuple(scope.whole[j] for j in at),
        tuple(scope.end_whole[j] for j in at),
    )


def _dense(
    row: FormRow, indices: tuple[int, ...], block: FeatureBlock, start: Floats, first: int, width: int
) -> tuple[Floats, float, float]:
    """A row over all variables; an ended value is written in terms of the acted values that it depends on."""
    weights, shift = np.zeros(width), 0.0
    count = len(start)
    for j, weight in row.acted.items():
        weights[indices[j]] += weight
    for j, weight in row.ended.items():
        weights[:count] += weight * block.effect[:, indices[j]]
        shift += weight * float(block.push[:, indices[j]] @ start)
    for j, weight in row.binaries.items():
        weights[first + j] += weight
    return weights, row.low + shift, row.high + shift


def cheapest(
    cost: Floats, whole: Bools, bounds: tuple[Floats, Floats], rows: tuple[Floats, Floats, Floats]
) -> Floats | None:
    """A point of least cost; ``None`` where no point satisfies the rows.

    ``bounds`` are the least and the greatest value of each variable, ``rows`` the matrix with the least and the
    greatest value of each row. An error says that the solver does not know, or that its point breaks the rows.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp

    between = LinearConstraint(*rows) if len(rows[1]) else ()
    # The solver's presolve sometimes fails on a small program without a whole solution; without presolve, it answers.
    for presolve in (True, False):
        result = milp(
            cost,
            integrality=whole.astype(int),
            bounds=Bounds(*bounds),
            constraints=between,
            options={"presolve": presolve},
        )
        if result.status == _INFEASIBLE:
            return None
        if result.status == _OPTIMAL and result.x is not None:
            _check(np.asarray(result.x), rows)
            return np.asarray(result.x, dtype=np.float64)
    raise NumericalError(f"the solver could not say whether linear rows can be satisfied: {result.message}")


def _check(point: Floats, rows: tuple[Floats, Floats, Floats]) -> None:
    """Refuse a point that breaks the rows by more than the solver's tolerance explains."""
    matrix, low, high = rows
    values = matrix @ point
    slack = 10 * _SLACK * (1.0 + np.abs(matrix) @ np.abs(point))
    if ((values < low - slack) | (values > high + slack)).any():
        raise NumericalError("the solver answered with a point that breaks the rows it was given")
