"""A world opened for one run, and how it draws rare groups directly.

Few people meet a condition such as ``sex < 1 and age > 90``. If ``sex`` is one draw with constant parameters, it is
drawn from its part below 1 instead, and no draw is rejected. If ``age`` is drawn in several branches, each of them
draws from above 90, and a person is kept in proportion to how probable that was on the path taken: with probability
``weight / max_weight``. Both give exact draws of the group (:func:`isonomia.populations.generator.accepted_rows`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from math import inf, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import DataError
from isonomia.populations.generator import accepted_rows, too_few_accepted
from isonomia.populations.protocol import Wanted, check_request
from isonomia.populations.table import Table
from isonomia.populations.worlds.mechanisms import Additive, Categories, Equation, WorldEquation
from isonomia.populations.worlds.run import EVERYTHING, UNIFORM, DisjointIntervals, StepTable, normal_mass
from isonomia.populations.worlds.world import Columns, DrawnPeople, World, assignments, max_assignments
from isonomia.spec import tree as spec
from isonomia.spec.analysis import conjuncts
from isonomia.spec.evaluate import Batch, truth
from isonomia.spec.fairsquare import tree as program
from isonomia.spec.fairsquare.tree import Expression
from isonomia.spec.text import to_text
from isonomia.spec.tree import Do, Row, Value, Version

RARE = 0.1
"""Below this probability a group is drawn directly. Above it, one draw that serves every group is cheaper."""

_BELOW, _ABOVE = {"<", "<="}, {">", ">="}
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}

OneVariable = tuple[str, DisjointIntervals]
"""A condition that says: this variable lies in these intervals."""


@dataclass(frozen=True, slots=True, eq=False)
class WorldSource:
    """A world opened for one run.

    Each stream has the direction of its group, or ``None`` for all people. DrawnPeople outside ``among`` are rejected.
    """

    world: World
    wanted: Wanted
    directions: tuple[GroupDirection | None, ...] = (None,)
    among: Row | None = None

    finite = False  # whether each row counts once

    def batch(self, start: int, n: int, rng: np.random.Generator, stream: int = 0) -> Table:
        """Draw ``n`` people with the batch's own randomness."""
        return Table.of(self._draw(start, n, rng, stream, {}).columns)

    def people(self, start: int, n: int, rng: np.random.Generator, stream: int = 0) -> Mapping[Version | None, Table]:
        """Draw ``n`` people, and give them as they are and under every intervention that is requested."""
        interventions = {
            version: self._listed(names) for version, names in self.wanted.versions.items() if isinstance(version, Do)
        }
        drawn = self._draw(start, n, rng, stream, interventions)
        tables: dict[Version | None, Table] = {None: Table.of(drawn.columns)}
        return tables | {version: Table.of(columns) for version, columns in drawn.versions.items()}

    def _listed(self, names: tuple[str, ...] | None) -> tuple[str, ...]:
        # A table needs at least one column; the first variable costs least.
        return self.world.names if names is None else names or self.world.names[:1]

    def _draw(
        self, start: int, n: int, rng: np.random.Generator, stream: int, versions: Mapping[Do, tuple[str, ...]]
    ) -> DrawnPeople:
        check_request(start, n, stream, len(self.directions))
        direction, names = self.directions[stream], self._listed(self.wanted.columns)
        if self.among is None and (direction is None or direction.exact):
            return self.world.draw(n, rng, names, versions, direction.directed if direction else None)
        return self._draw_until(n, rng, direction, names, versions)

    def _draw_until(
        self,
        n: int,
        rng: np.random.Generator,
        direction: GroupDirection | None,
        names: tuple[str, ...],
        versions: Mapping[Do, tuple[str, ...]],
    ) -> DrawnPeople:
        """Propose people until ``n`` were accepted."""
        among = spec.columns_of(self.among) if self.among is not None else ()
        # Directed variables must be drawn, or no one would have a weight.
        needed = tuple(dict.fromkeys((*names, *among, *(direction.directed if direction else ()))))
        parts: list[DrawnPeople] = []
        accepted, proposed, size = 0, 0, max(2 * n, 64)
        while accepted < n:
            if too_few_accepted(accepted, proposed):
                raise DataError(_too_rare(direction, self.among, proposed, accepted))
            drawn = self.world.draw(size, rng, needed, versions, direction.directed if direction else None)
            rows = self._accepted(drawn, size, direction, rng)
            parts.append(_rows_of(drawn, rows, names))
            accepted, proposed = accepted + len(rows), proposed + size
            size = int(np.clip(1.2 * (n - accepted) * proposed / max(accepted, 1), 64, 2**18))
        together = {name: np.concatenate([part.columns[name] for part in parts])[:n] for name in names}
        others = {
            version: {name: np.concatenate([part.versions[version][name] for part in parts])[:n] for name in columns}
            for version, columns in versions.items()
        }
        return DrawnPeople(together, others, None)

    def _accepted(
        self, drawn: DrawnPeople, size: int, direction: GroupDirection | None, rng: np.random.Generator
    ) -> NDArray[np.intp]:
        chosen = np.ones(size, dtype=bool) if self.among is None else truth(self.among, Batch(size, drawn.columns))
        if direction is None or direction.exact or drawn.weights is None:
            return np.flatnonzero(chosen)
        # Rounding may put a weight a hair above its bound.
        accepted = accepted_rows(np.minimum(drawn.weights, direction.max_weight), direction.max_weight, rng)
        return np.asarray(accepted[chosen[accepted]])


def _rows_of(drawn: DrawnPeople, rows: NDArray[np.intp], names: tuple[str, ...]) -> DrawnPeople:
    columns: Columns = {name: drawn.columns[name][rows] for name in names}
    versions: dict[Do, dict[str, NDArray[Any]]] = {
        version: {name: column[rows] for name, column in others.items()} for version, others in drawn.versions.items()
    }
    return DrawnPeople(columns, versions, None)


def _too_rare(direction: GroupDirection | None, among: Row | None, proposed: int, accepted: int) -> str:
    conditions = " and ".join(
        to_text(row) for row in (direction.condition if direction else None, among) if row is not None
    )
    return (
        f"expected people with {conditions}, but among {proposed:,} draws there were {accepted:,}: the condition is "
        "too rare; draw such people directly, Generator({condition: draw})"
    )


@dataclass(frozen=True, slots=True)
class GroupDirection:
    """How a group is drawn: ``condition`` is the part of its condition that draws from these intervals meet.

    No person's weight is larger than ``max_weight``: the largest probability, over all paths through the program, that
    undirected draws would have met the condition. ``exact`` means that all have that weight: no draw is rejected.
    """

    condition: Row
    directed: Mapping[str, DisjointIntervals]
    max_weight: float
    exact: bool


def streams_for(world: World, conditions: Sequence[Row | None]) -> tuple[GroupDirection | None, ...]:
    """The streams for groups with these conditions: one of all, or one for each group that can be drawn directly.

    Groups stay in the common stream unless one of them is rare; then every group that can be drawn directly is, and
    the common stream remains for the others.
    """
    directions = [direction_for(world, condition) for condition in conditions]
    if not any(direction is not None and direction.max_weight < RARE for direction in directions):
        return (None,)
    directed = {direction.condition: direction for direction in directions if direction is not None}
    # The narrowest first, since a leaf is read from the first stream whose condition is part of its own.
    streams = sorted(directed.values(), key=lambda direction: direction.max_weight)
    return (*streams, None) if any(direction is None for direction in directions) else tuple(streams)


def stream_remarks(directions: Sequence[GroupDirection | None]) -> tuple[str, ...]:
    """How each stream is drawn, in words."""
    if tuple(directions) == (None,):
        return ()
    lines = []
    for direction in directions:
        if direction is None:
            lines.append("other people are drawn from the whole population")
            continue
        names = " and ".join(direction.directed)
        how = (
            f"{names} being drawn under the condition"
            if direction.exact
            else f"{names} being drawn under the condition, and each person accepted in proportion to "
            "its probability for them"
        )
        lines.append(f"people with {to_text(direction.condition)} are drawn directly, {how}")
    return tuple(lines)


def direction_for(world: World, condition: Row | None) -> GroupDirection | None:
    """Find the part of a condition that draws can be directed at; ``None`` without such a part.

    Only a part that says exactly "this variable lies in these intervals" counts, for a variable that is set once, by a
    draw whose parameters are constants.
    """
    met: list[Row] = []
    directed: dict[str, DisjointIntervals] = {}
    for part in conjuncts(condition):
        variable = _of_row(part, world)
        if variable is not None and _masses(world, *variable):
            name, wanted = variable
            directed[name] = directed.get(name, EVERYTHING) & wanted
            met.append(part)
    masses = {name: _masses(world, name, wanted) for name, wanted in directed.items()}
    if not masses or any(max(each, default=0.0) <= 0 for each in masses.values()):
        return None
    exact = all(_at_the_root(world, name) for name in directed)
    together = met[0] if len(met) == 1 else spec.RowJunction("and", tuple(met))
    return GroupDirection(together, directed, prod(map(max, masses.values())), exact)


def _masses(world: World, name: str, wanted: DisjointIntervals) -> list[float]:
    """The probability of the intervals under each of a variable's draws; empty if it cannot be directed."""
    setters = [item for item in assignments(world.statements) if item.target == name]
    if name not in world.names or max_assignments(world.statements, name) != 1:
        return []
    masses = [_mass(item.equation if isinstance(item, WorldEquation) else item.value, wanted) for item in setters]
    return [] if any(mass is None for mass in masses) else [mass for mass in masses if mass is not None]


def _mass(value: Expression | Equation | Additive | Categories, wanted: DisjointIntervals) -> float | None:
    match value:
        case Categories():
            return UNIFORM.within(wanted)[1]
        case program.StepDensity(cells):
            return StepTable(cells).within(wanted)[1]
        case program.Gaussian(mean, variance):
            middle, spread = _constant(mean), _constant(variance)
            if middle is None or spread is None or spread <= 0:
                return None
            ends = (np.asarray(wanted.pieces) - middle) / np.sqrt(spread)
            return float(normal_mass(ends[:, 0], ends[:, 1]).sum()) if len(ends) else 0.0
        case _:
            return None


def _at_the_root(world: World, name: str) -> bool:
    return any(not isinstance(item, program.If) and item.target == name for item in world.statements)


def _of_row(row: Row, world: World) -> OneVariable | None:
    """A property's condition as a variable and its intervals."""
    match row:
        case spec.Compare("==" | "!=" as relation, spec.Column(name=name, version=None), spec.Literal(value)):
            variable = _equal(name, value, world)
            return variable if relation == "==" else _complement(variable)
        case spec.Member(spec.Column(name=name, version=None), values):
            return _among(name, {item.value for item in values if isinstance(item, spec.Literal)}, world)
        case spec.Compare(relation, left, right):
            return _compared(relation, _side(left), _side(right))
        case spec.RowNot(operand):
            return _complement(_of_row(operand, world))
        case spec.RowJunction(connective, operands):
            return _joined(connective, [_of_row(operand, world) for operand in operands])
        case spec.Column(name=name, version=None):
            return _of_truth(name, world)
        case _:
            return None


def _equal(name: str, value: Value, world: World) -> OneVariable | None:
    """A category, or a truth value, that equals a value."""
    category = _among(name, {value}, world)
    if category is not None or not isinstance(value, bool):
        return category
    return _of_truth(name, world) if value else _complement(_of_truth(name, world))


def _among(name: str, values: set[Value], world: World) -> OneVariable | None:
    """A category among some values, as the noise that gives one of them."""
    categories = world.categories(name)
    return None if categories is None else (name, categories.intervals(values))


def _of_truth(name: str, world: World) -> OneVariable | None:
    """The condition that a truth value was set to, if it was set once and for all people."""
    if max_assignments(world.statements, name) != 1:
        return None
    for item in world.statements:
        if isinstance(item, program.Assign) and item.target == name:
            return _of_expression(item.value, world)
    return None


def _of_expression(expression: Expression, world: World) -> OneVariable | None:
    """The same, for a condition of the program."""
    match expression:
        case program.Chain(first, rest):
            sides = [first, *(side for _, side in rest)]
            values = [side.name if isinstance(side, program.Reference) else _constant(side) for side in sides]
            pairs = zip(rest, values[:-1], values[1:], strict=True)
            return _joined("and", [_compared(relation, left, right) for (relation, _), left, right in pairs])
        case program.LogicalNot(operand):
            return _complement(_of_expression(operand, world))
        case program.BooleanOperation(connective, operands):
            return _joined(connective, [_of_expression(operand, world) for operand in operands])
        case program.Reference(name):
            return _of_truth(name, world)
        case _:
            return None


def _compared(relation: str, left: str | float | None, right: str | float | None) -> OneVariable | None:
    if isinstance(right, str) and isinstance(left, float):
        return _compared(_MIRRORED[relation], right, left)
    if not isinstance(left, str) or not isinstance(right, float):
        return None
    if relation in _BELOW:
        return left, DisjointIntervals(((-inf, right),))
    return (left, DisjointIntervals(((right, inf),))) if relation in _ABOVE else None


def _complement(variable: OneVariable | None) -> OneVariable | None:
    return None if variable is None else (variable[0], variable[1].complement())


def _joined(connective: str, operands: Iterable[OneVariable | None]) -> OneVariable | None:
    """Several conditions as one, if all of them are about the same variable."""
    parts = list(operands)
    known = [part for part in parts if part is not None]
    if len(known) != len(parts) or len({name for name, _ in known}) != 1:
        return None
    sets = [wanted for _, wanted in known]
    return known[0][0], reduce(DisjointIntervals.__and__ if connective == "and" else DisjointIntervals.__or__, sets)


def _side(row: Row) -> str | float | None:
    match row:
        case spec.Column(name=name, version=None):
            return name
        case spec.Literal(value) if isinstance(value, int | float) and not isinstance(value, bool):
            return float(value)
        case spec.RowNegative(spec.Literal(value)) if isinstance(value, int | float):
            return -float(value)
        case _:
            return None


def _constant(expression: Expression) -> float | None:
    match expression:
        case program.Number(value):
            return float(value)
        case program.UnaryMinus(operand):
            inner = _constant(operand)
            return None if inner is None else -inner
        case _:
            return None
