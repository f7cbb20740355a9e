"""Drawing a rare group directly.

Directing draws at a group: which part of a condition can be met by drawing a variable from within an interval.

A condition such as ``sex < 1 and age > 90`` is met by few. Where ``sex`` is one draw with constant parameters, it is
drawn from its part below 1 instead, and nobody is rejected. Where ``age`` is drawn in several branches, each of them
draws from above 90, and a person counts in proportion to how probable that was on the way taken: kept with probability
``weight / most``. Both give exact draws of the group (:func:`isonomia.populations.generator.accepted_rows`).

Which groups are worth drawing directly.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from math import inf, prod

import numpy as np

from isonomia.populations.worlds.distributions import EVERYTHING, Intervals, StepTable, normal_mass
from isonomia.populations.worlds.mechanisms import Additive, Categories, Equation, Mechanism
from isonomia.populations.worlds.run import UNIFORM
from isonomia.populations.worlds.world import World, assignments, most_assignments
from isonomia.spec.analysis import conjuncts
from isonomia.spec.fairsquare.tree import (
    Assign,
    BooleanOperation,
    Chain,
    Expression,
    Gaussian,
    If,
    LogicalNot,
    Number,
    Reference,
    StepDensity,
    UnaryMinus,
)
from isonomia.spec.text import to_text
from isonomia.spec.tree import Column, Compare, Literal, Member, Row, RowJunction, RowNegative, RowNot, Value

__all__ = ["RARE", "Direction", "direction_for", "focused", "told"]


_BELOW, _ABOVE = {"<", "<="}, {">", ">="}
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
OneVariable = tuple[str, Intervals]


@dataclass(frozen=True, slots=True)
class Direction:
    """How a group is drawn.

    Attributes
    ----------
    condition
        The part of the group's condition that directed draws meet.
    directed
        The intervals that variables are drawn from.
    most
        No person's weight is larger: the largest probability, over all ways through the program, that undirected draws
        would have met the condition.
    exact
        Whether every person has that same weight, so that nobody is rejected.
    """

    condition: Row
    directed: Mapping[str, Intervals]
    most: float
    exact: bool


def direction_for(world: World, condition: Row | None) -> Direction | None:
    """Find the part of a condition that draws can be directed at; ``None`` where there is none.

    Only a part that says exactly "this variable lies in these intervals" counts, for a variable that is set once, by a
    draw whose parameters are constants.
    """
    met: list[Row] = []
    directed: dict[str, Intervals] = {}
    for part in conjuncts(condition):
        found = _of_row(part, world)
        if found is not None and _masses(world, *found):
            name, wanted = found
            directed[name] = directed.get(name, EVERYTHING) & wanted
            met.append(part)
    masses = {name: _masses(world, name, wanted) for name, wanted in directed.items()}
    if not masses or any(max(found, default=0.0) <= 0 for found in masses.values()):
        return None
    exact = all(_at_the_root(world, name) for name in directed)
    together = met[0] if len(met) == 1 else RowJunction("and", tuple(met))
    return Direction(together, directed, prod(map(max, masses.values())), exact)


def _masses(world: World, name: str, wanted: Intervals) -> list[float]:
    """How probable each of a variable's draws makes the intervals; empty where it cannot be directed."""
    found = [item for item in assignments(world.statements) if item.target == name]
    if name not in world.names or most_assignments(world.statements, name) != 1:
        return []
    masses = [_mass(item.equation if isinstance(item, Mechanism) else item.value, wanted) for item in found]
    return [] if any(mass is None for mass in masses) else [mass for mass in masses if mass is not None]


def _mass(value: Expression | Equation | Additive | Categories, wanted: Intervals) -> float | None:
    match value:
        case Categories():
            return UNIFORM.within(wanted)[1]
        case StepDensity(cells):
            return StepTable(cells).within(wanted)[1]
        case Gaussian(mean, variance):
            middle, spread = _constant(mean), _constant(variance)
            if middle is None or spread is None or spread <= 0:
                return None
            ends = (np.asarray(wanted.pieces) - middle) / np.sqrt(spread)
            return float(normal_mass(ends[:, 0], ends[:, 1]).sum()) if len(ends) else 0.0
        case _:
            return None


def _at_the_root(world: World, name: str) -> bool:
    return any(not isinstance(item, If) and item.target == name for item in world.statements)


# ---------------------------------------------------------------------------- conditions on one variable


def _of_row(row: Row, world: World) -> OneVariable | None:
    """The variable and the intervals that a condition of a property comes to."""
    match row:
        case Compare("==" | "!=" as relation, Column(name=name, version=None), Literal(value)):
            found = _equal(name, value, world)
            return found if relation == "==" else _complement(found)
        case Member(Column(name=name, version=None), values):
            return _among(name, {item.value for item in values if isinstance(item, Literal)}, world)
        case Compare(relation, left, right):
            return _compared(relation, _side(left), _side(right))
        case RowNot(operand):
            return _complement(_of_row(operand, world))
        case RowJunction(connective, operands):
            return _joined(connective, [_of_row(operand, world) for operand in operands])
        case Column(name=name, version=None):
            return _of_truth(name, world)
        case _:
            return None


def _equal(name: str, value: Value, world: World) -> OneVariable | None:
    """A category, or a truth value, that equals a value."""
    found = _among(name, {value}, world)
    if found is not None or not isinstance(value, bool):
        return found
    return _of_truth(name, world) if value else _complement(_of_truth(name, world))


def _among(name: str, values: set[Value], world: World) -> OneVariable | None:
    """A category among some values, as the noise that gives one of them."""
    for item in world.statements:
        if isinstance(item, Mechanism) and item.target == name and isinstance(item.equation, Categories):
            return name, item.equation.intervals(values)
    return None


def _of_truth(name: str, world: World) -> OneVariable | None:
    """A truth value stands for the condition it was set to, if it was set once and for everybody."""
    if most_assignments(world.statements, name) != 1:
        return None
    for item in world.statements:
        if isinstance(item, Assign) and item.target == name:
            return _of_expression(item.value, world)
    return None


def _of_expression(expression: Expression, world: World) -> OneVariable | None:
    """The same, for a condition of the program."""
    match expression:
        case Chain(first, rest):
            sides = [first, *(side for _, side in rest)]
            values = [side.name if isinstance(side, Reference) else _constant(side) for side in sides]
            pairs = zip(rest, values[:-1], values[1:], strict=True)
            return _joined("and", [_compared(relation, left, right) for (relation, _), left, right in pairs])
        case LogicalNot(operand):
            return _complement(_of_expression(operand, world))
        case BooleanOperation(connective, operands):
            return _joined(connective, [_of_expression(operand, world) for operand in operands])
        case Reference(name):
            return _of_truth(name, world)
        case _:
            return None


def _compared(relation: str, left: str | float | None, right: str | float | None) -> OneVariable | None:
    if isinstance(right, str) and isinstance(left, float):
        return _compared(_MIRRORED[relation], right, left)
    if not isinstance(left, str) or not isinstance(right, float):
        return None
    if relation in _BELOW:
        return left, Intervals(((-inf, right),))
    return (left, Intervals(((right, inf),))) if relation in _ABOVE else None


def _complement(found: OneVariable | None) -> OneVariable | None:
    return None if found is None else (found[0], found[1].complement())


def _joined(connective: str, found: Iterable[OneVariable | None]) -> OneVariable | None:
    parts = list(found)
    known = [part for part in parts if part is not None]
    if len(known) != len(parts) or len({name for name, _ in known}) != 1:
        return None
    sets = [wanted for _, wanted in known]
    return known[0][0], reduce(Intervals.__and__ if connective == "and" else Intervals.__or__, sets)


def _side(row: Row) -> str | float | None:
    match row:
        case Column(name=name, version=None):
            return name
        case Literal(value) if isinstance(value, int | float) and not isinstance(value, bool):
            return float(value)
        case RowNegative(Literal(value)) if isinstance(value, int | float):
            return -float(value)
        case _:
            return None


def _constant(expression: Expression) -> float | None:
    match expression:
        case Number(value):
            return float(value)
        case UnaryMinus(operand):
            inner = _constant(operand)
            return None if inner is None else -inner
        case _:
            return None


RARE = 0.1
"""Below this probability a group is drawn directly. Above it one draw that serves every group is the better bargain."""


def focused(world: World, conditions: Sequence[Row | None]) -> tuple[Direction | None, ...]:
    """The streams for groups with these conditions: one of everybody, or one for each group that can be directed at.

    Groups stay in the common stream unless one of them is rare; then every group that can be drawn directly is, and
    the common stream remains for the others.
    """
    found = [direction_for(world, condition) for condition in conditions]
    if not any(direction is not None and direction.most < RARE for direction in found):
        return (None,)
    directed = {direction.condition: direction for direction in found if direction is not None}
    # The narrowest first, since a leaf is read from the first stream whose condition is part of its own.
    streams = sorted(directed.values(), key=lambda direction: direction.most)
    return (*streams, None) if any(direction is None for direction in found) else tuple(streams)


def told(directions: Sequence[Direction | None]) -> tuple[str, ...]:
    """How each stream is drawn, in words."""
    if tuple(directions) == (None,):
        return ()
    lines = []
    for direction in directions:
        if direction is None:
            lines.append("other people are drawn from everybody")
            continue
        names = " and ".join(direction.directed)
        how = (
            f"{names} being drawn from within the condition"
            if direction.exact
            else f"{names} being drawn from within the condition, and each person kept in proportion to how probable "
            "that was for them"
        )
        lines.append(f"people with {to_text(direction.condition)} are drawn directly, {how}")
    return tuple(lines)
