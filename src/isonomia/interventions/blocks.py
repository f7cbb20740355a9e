"""Blocks: features that constraints and linkages couple. What people can reach is computed one block at a time.

*Discrete blocks.* All moves of many people, by growing a table one feature at a time. Each round gives every row of the
table all values that its next feature can take, and drops the rows that some constraint forbids however the remaining
features are chosen. All rows are handled together, and no solver is needed.

*Other blocks.* One person's block is a mixed-integer program: whether there is any move, and how far each feature can
go. The solver is HiGHS, through SciPy. What it finds is checked against the constraints themselves; when it says that
there is nothing, it is trusted, because the rows allow every move that the constraints allow.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import NumericalError, UsageError
from isonomia.interventions.constraints import Constraint, Linkage
from isonomia.interventions.constraints.base import TOLERANCE, ActionScope, Bools, Box, Floats, Form, Moves
from isonomia.interventions.effects import Effect
from isonomia.interventions.features import Feature, own_ranges
from isonomia.populations.fingerprint import fingerprint_of, identity_of


@dataclass(frozen=True, slots=True, eq=False)
class FeatureBlock:
    """Some coupled features, with what couples them.

    Attributes
    ----------
    columns
        The indices, among all features, of those that can be acted on or that a constraint reads. What a person can
        reach in the block depends on their values in these only.
    pushed
        The indices of features that only receive effects of linkages.
    features
        The features at ``columns``; one that a linkage moves by "at least" or "at most" counts as actionable.
    constraints
        With the indices of their features among ``columns``.
    push, onto
        The effects of one unit of action on each column (a row): on each column, and on each pushed feature.
    floor, ceiling
        Where linkages that clip stop each column; infinite for all others.
    given
        Linkages whose effects are drawn after the action, which are no constraints then: see :meth:`acting`.
    """

    columns: tuple[int, ...]
    pushed: tuple[int, ...]
    features: tuple[Feature, ...]
    constraints: tuple[tuple[Constraint, tuple[int, ...]], ...]
    push: Floats
    onto: Floats
    floor: Floats
    ceiling: Floats
    given: tuple[tuple[Linkage, tuple[int, ...]], ...] = ()

    @property
    def free(self) -> tuple[int, ...]:
        """The indices among ``columns`` of the features that can be acted on."""
        later = {j for _, indices in self.given for j in indices[1:]}
        return tuple(j for j, feature in enumerate(self.features) if feature.actionable and j not in later)

    @property
    def discrete(self) -> bool:
        """Whether every feature that can be acted on has whole values."""
        return all(self.features[j].whole for j in self.free)

    @property
    def alone(self) -> bool:
        """Whether it is a single feature without constraints that pushes nothing."""
        return len(self.columns) == 1 and not self.constraints and not self.onto.size

    @property
    def clips(self) -> bool:
        """Whether any linkage stops at a bound."""
        return bool(np.isfinite(self.floor).any() or np.isfinite(self.ceiling).any())

    @property
    def followed(self) -> tuple[int, ...]:
        """The indices among ``columns`` of the features whose effect is drawn given the action."""
        linkages = [(rule, at) for rule, at in self.constraints if isinstance(rule, Linkage) and rule.frees]
        return tuple(j for rule, at in linkages if not rule.jointly for j in at[1:])

    @property
    def weighted(self) -> bool:
        """Whether the points may differ in probability: by their effects, or by how many actions lead to them."""
        if self.followed or self.clips:
            return True
        rank = np.linalg.matrix_rank(np.hstack([self.effect, self.onto])) if self.push.any() else len(self.columns)
        return bool(rank < len(self.columns))

    def acting(self) -> FeatureBlock:
        """The actions alone; effects of at least or at most some size are drawn after them.

        An error says that a rule speaks of such an effect: then actions cannot be drawn without their effects.
        """
        followed = set(self.followed)
        if not followed:
            return self
        given, others = list[tuple[Linkage, tuple[int, ...]]](), list[tuple[Constraint, tuple[int, ...]]]()
        for rule, at in self.constraints:
            if isinstance(rule, Linkage) and followed.issuperset(at[1:]) and rule.frees:
                given.append((rule, at))
                continue
            others.append((rule, at))
            if followed.intersection(at) and _read_by(rule):
                raise self._coupled(rule.words())
        chained = [
            j for j in followed if self.push[j].any() or self.onto[j].any() or any(j == at[0] for _, at in given)
        ]
        if chained:
            raise self._coupled(f"a linkage from {self.features[chained[0]].name}")
        return replace(self, constraints=tuple(others), given=tuple(given))

    def _coupled(self, rule: str) -> UsageError:
        names = ", ".join(self.features[j].name for j in self.followed)
        return UsageError(
            f"the effects on {names} follow an action and are also subject to another rule ({rule}), and their values "
            "are too many to list: give the linkage jointly=True, drop the rule, or use fewer values"
        )

    @property
    def effect(self) -> Floats:
        """The total effect of one unit of action on each column (a row) on each column, the action included."""
        return np.eye(len(self.columns)) + self.push

    def fingerprint(self) -> str:
        """The SHA-256 of everything that determines what can be reached in the block."""
        rules = [f"{rule_identity(constraint)} {indices}" for constraint, indices in self.constraints]
        effects = repr(self.push.tolist()), repr(self.onto.tolist())
        return fingerprint_of(*map(repr, self.features), *rules, *effects)

    def touched(self, column: int) -> set[int]:
        """The columns whose value depends on the action on this one."""
        return {column, *np.flatnonzero(self.push[column]).tolist()}

    def ranges(self, start: Floats) -> tuple[Floats, Floats]:
        """The ranges of people's own actions in the block."""
        return own_ranges(self.features, start)

    def within(self, start: Floats, least: Floats, most: Floats) -> tuple[Floats, Floats]:
        """The ranges, narrowed by linkages of "at least" or "at most"; all moves lie within them."""
        low, high = least, most
        for constraint, indices in self.constraints:
            if isinstance(constraint, Linkage) and constraint.frees:
                at = list(indices)
                down, up = constraint.effects(start[:, at], least[:, at], most[:, at])
                whole = [self.features[j].whole for j in at[1:]]
                low, high = low.copy(), high.copy()
                low[:, at[1:]] = np.where(whole, np.ceil(down - TOLERANCE), down)
                high[:, at[1:]] = np.where(whole, np.floor(up + TOLERANCE), up)
        for _, indices in self.given:
            later = list(indices[1:])
            low, high = low.copy(), high.copy()
            low[:, later] = high[:, later] = start[:, later]
        return low, high

    def effects(self, linkage: Linkage, at: tuple[int, ...], moves: Moves) -> tuple[Floats, Floats]:
        """The least and greatest value of each target of a linkage after an action, whole ones as whole numbers."""
        mine = moves.only(at)
        low, high = linkage.given(mine.start, mine.acted, mine.least, mine.most)
        whole = [self.features[j].whole for j in at[1:]]
        return (
            np.where(whole, np.ceil(low - TOLERANCE), low),
            np.where(whole, np.floor(high + TOLERANCE), high),
        )

    def ended(self, start: Floats, acted: Floats) -> Floats:
        """Where actions lead in the columns. A start beyond a bound stays where it is."""
        if not self.push.any():
            return acted
        return self._clipped(start, acted + (acted - start) @ self.push)

    def _clipped(self, start: Floats, ended: Floats) -> Floats:
        if not self.clips:
            return ended
        return np.clip(ended, np.minimum(self.floor, start), np.maximum(self.ceiling, start))

    def moves(self, start: Floats, acted: Floats, least: Floats, most: Floats) -> Moves:
        """Actions, and where they lead."""
        return Moves(start, acted, self.ended(start, acted), least, most)

    def box(self, start: Floats, low: Floats, high: Floats, least: Floats, most: Floats) -> Box:
        """Boxes of actions, and where they can lead."""
        if not self.push.any():
            return Box(start, low, high, low, high, least, most)
        up, down = np.maximum(self.effect, 0.0), np.minimum(self.effect, 0.0)
        below, above = low - start, high - start
        end_low = self._clipped(start, start + below @ up + above @ down)
        end_high = self._clipped(start, start + above @ up + below @ down)
        return Box(start, low, high, end_low, end_high, least, most)

    def holds(self, moves: Moves) -> Bools:
        """Whether every constraint allows each move; staying put is always allowed."""
        allowed = np.ones(len(moves.acted), dtype=bool)
        for constraint, indices in self.constraints:
            allowed &= constraint.holds(moves.only(indices))
        for linkage, indices in self.given:
            low, high = self.effects(linkage, indices, moves)
            allowed &= (low <= high).all(-1)
        return np.asarray(allowed | (moves.acted == moves.start).all(-1))


@dataclass(frozen=True, slots=True, eq=False)
class Boxes:
    """Where some people are in a block, the ranges of their own actions, and a box that holds all their moves.

    Every array has one row per person and one column for each of the block's columns.
    """

    start: Floats
    least: Floats
    most: Floats
    low: Floats
    high: Floats

    @classmethod
    def of(cls, block: FeatureBlock, start: Floats) -> Boxes:
        """The boxes of people, from their ranges and linkages alone."""
        least, most = block.ranges(start)
        return cls(start, least, most, *block.within(start, least, most))

    def at(self, rows: NDArray[np.intp]) -> Boxes:
        """The boxes of some people, in this order."""
        return Boxes(self.start[rows], self.least[rows], self.most[rows], self.low[rows], self.high[rows])

    def allowed(self, block: FeatureBlock, acted: Floats) -> Bools:
        """Whether one move of each person is allowed."""
        return block.holds(block.moves(self.start, acted, self.least, self.most))


def blocks_of(features: Sequence[Feature], constraints: Sequence[Constraint]) -> tuple[FeatureBlock, ...]:
    """The blocks in which someone can change something, in the order of their first feature."""
    index = {feature.name: j for j, feature in enumerate(features)}
    freed = {name for constraint in constraints if isinstance(constraint, Linkage) for name in constraint.frees}
    mobile = [replace(f, actionable=True) if f.name in freed else f for f in features]
    groups = components(len(features), ([index[name] for name in constraint.names] for constraint in constraints))
    return tuple(
        _block(group, mobile, [c for c in constraints if index[c.names[0]] in group], index)
        for group in groups
        if any(mobile[j].actionable for j in group)
    )


def _block(
    group: Sequence[int], features: Sequence[Feature], constraints: Sequence[Constraint], index: dict[str, int]
) -> FeatureBlock:
    read = {index[name] for constraint in constraints for name in _read_by(constraint)}
    columns = [j for j in group if features[j].actionable or j in read]
    pushed = [j for j in group if j not in columns]
    where = {features[j].name: i for i, j in enumerate((*columns, *pushed))}
    push = np.zeros((len(columns), len(group)))
    for constraint in constraints:
        if isinstance(constraint, Linkage) and constraint.source in {features[j].name for j in columns}:
            for name, scale in constraint.pushes.items():
                push[where[constraint.source], where[name]] += scale
    moved = len(columns) + np.flatnonzero(push[:, len(columns) :].any(0))  # what nothing moves needs no column
    clipped = {name for c in constraints if isinstance(c, Linkage) and c.clip for name in c.pushes}
    mine = [features[j] for j in columns]
    floor = [feature.low if feature.name in clipped else None for feature in mine]
    ceiling = [feature.high if feature.name in clipped else None for feature in mine]
    return FeatureBlock(
        tuple(columns),
        tuple(pushed[j - len(columns)] for j in moved),
        tuple(mine),
        tuple((c, tuple(where[name] for name in c.names)) for c in constraints if _read_by(c)),
        push[:, : len(columns)],
        push[:, moved],
        np.asarray([-np.inf if end is None else end for end in floor]),
        np.asarray([np.inf if end is None else end for end in ceiling]),
    )


def _read_by(constraint: Constraint) -> tuple[str, ...]:
    """The features whose values a constraint reads; a plain linkage reads none, and only pushes."""
    if isinstance(constraint, Linkage) and constraint.pushes and not (constraint.keep_bounds or constraint.clip):
        return ()
    return constraint.names


def components(count: int, groups: Iterable[Sequence[int]]) -> list[list[int]]:
    """The connected components of ``count`` nodes where each group is joined; each component is in order."""
    root = list(range(count))

    def find(j: int) -> int:
        while root[j] != j:
            root[j] = root[root[j]]
            j = root[j]
        return j

    for group in groups:
        for j in group[1:]:
            first, second = sorted((find(group[0]), find(j)))
            root[second] = first
    groups_by_root: dict[int, list[int]] = {}
    for j in range(count):
        groups_by_root.setdefault(find(j), []).append(j)
    return list(groups_by_root.values())


def rule_identity(rule: Constraint | Effect) -> str:
    """A text that identifies a constraint or an effect; functions are identified by their source."""
    values = ((field.name, getattr(rule, field.name)) for field in fields(rule))  # type: ignore[arg-type]
    return f"{rule.kind} {[(name, _value_identity(value)) for name, value in values]!r}"


def _value_identity(value: Any) -> str:
    if hasattr(value, "fingerprint"):
        return str(value.fingerprint())
    return identity_of(value) if callable(value) else repr(value)


MOST_MOVES = 1_000_000
"""How many rows one person's table may have; beyond it a block is sampled instead."""
_TABLE = 2_000_000
"""Rows that are held at once for several people; this bounds the memory and changes no move."""


@dataclass(frozen=True, slots=True, eq=False)
class Enumerated:
    """The moves of several people in a block, as acted values, one move per row, grouped by person.

    ``counts`` says how many moves each person has; 0 for one whose table grew too large.
    """

    acted: Floats
    counts: NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class _Table:
    """Partial moves of some people: a feature that has no value yet lies between low and high."""

    owner: NDArray[np.intp]
    low: Floats
    high: Floats

    def only(self, rows: Bools) -> _Table:
        return self if rows.all() else _Table(self.owner[rows], self.low[rows], self.high[rows])


def enumerate_moves(block: FeatureBlock, start: Floats, most: int = MOST_MOVES) -> Enumerated:
    """Every move that each person can make in a discrete block, staying put included.

    Guarantee: exactly the moves that satisfy every constraint, and the one that changes nothing, each once. A person
    whose table would have more than ``most`` rows is left out.
    """
    if not len(start):
        return Enumerated(np.zeros((0, len(block.columns))), np.zeros(0, dtype=np.intp))
    grown = _grown(block, Boxes.of(block, start), most)
    if grown is None:
        half = len(start) // 2
        parts = [enumerate_moves(block, part, most) for part in (start[:half], start[half:])]
        return Enumerated(np.concatenate([p.acted for p in parts]), np.concatenate([p.counts for p in parts]))
    acted, owner = _completed(start, *grown)
    return Enumerated(acted, np.bincount(owner, minlength=len(start)))


def _grown(block: FeatureBlock, boxes: Boxes, most: int) -> tuple[_Table, Bools] | None:
    """The table with every feature decided, and who was left out because their part of it grew too large.

    ``None`` where the tables of several people do not fit together.
    """
    table = _Table(np.arange(len(boxes.start)), boxes.low, boxes.high)
    large = np.zeros(len(boxes.start), dtype=bool)
    undecided = set(block.free)
    table = table.only(_promising(block, boxes, table, set(range(len(block.columns))) - undecided, undecided))
    for column in _order(block, boxes):
        sizes = table.high[:, column] - table.low[:, column] + 1.0
        large |= np.bincount(table.owner, weights=sizes, minlength=len(large)) > most
        table = table.only(~large[table.owner])
        if len(boxes.start) > 1 and (table.high[:, column] - table.low[:, column] + 1.0).sum() > _TABLE:
            return None
        table = _extended(table, column)
        undecided.discard(column)
        table = table.only(_promising(block, boxes, table, block.touched(column), undecided))
    return table, large


def _order(block: FeatureBlock, boxes: Boxes) -> list[int]:
    """Features by their constraints, small ones first, so that each is complete early; then by number of values."""
    size = (boxes.most - boxes.least).mean(0)
    free, order = set(block.free), list[int]()
    for _, indices in sorted(block.constraints, key=lambda item: len(item[1])):
        order += sorted((j for j in indices if j in free and j not in order), key=lambda j: size[j])
    return order + sorted(free - set(order), key=lambda j: size[j])


def _extended(table: _Table, column: int) -> _Table:
    """Each row with every value of a column."""
    times = (table.high[:, column] - table.low[:, column] + 1.0).astype(np.intp)
    row = np.repeat(np.arange(len(times)), times)
    step = np.arange(len(row)) - np.repeat(np.cumsum(times) - times, times)
    low, high = table.low[row], table.high[row]
    low[:, column] += step
    high[:, column] = low[:, column]
    return _Table(table.owner[row], low, high)


def _promising(block: FeatureBlock, boxes: Boxes, table: _Table, touched: set[int], undecided: set[int]) -> Bools:
    """Which rows can still become a move, as far as the constraints on what was just decided can tell."""
    keep = np.ones(len(table.owner), dtype=bool)
    concerned = [(constraint, indices) for constraint, indices in block.constraints if touched.intersection(indices)]
    if not concerned:
        return keep
    start, least, most = (part[table.owner] for part in (boxes.start, boxes.least, boxes.most))
    box = block.box(start, table.low, table.high, least, most)
    moves = Moves(start, table.low, box.end_low, least, most)
    settled = _settled(block, undecided)
    for constraint, indices in concerned:
        done = settled.issuperset(indices)
        keep &= constraint.holds(moves.only(indices)) if done else constraint.possible(box.only(indices))
    return keep


def _settled(block: FeatureBlock, undecided: set[int]) -> set[int]:
    """The columns whose values are final: no undecided feature is one of them, or pushes one."""
    pending = set[int]().union(*(block.touched(column) for column in undecided))
    return set(range(len(block.columns))) - undecided - pending


def _completed(start: Floats, table: _Table, large: Bools) -> tuple[Floats, NDArray[np.intp]]:
    """The moves in order, with the one that changes nothing."""
    acted, owner = table.low, table.owner
    absent = ~large
    absent[owner[(acted == start[owner]).all(-1)]] = False
    if absent.any():
        added = np.flatnonzero(absent)
        owner, acted = np.concatenate([added, owner]), np.concatenate([start[added], acted])
    # The order must not depend on who else is in the batch, so that a draw by number means the same point.
    order = np.lexsort((*acted.T[::-1], owner))
    return acted[order], owner[order]


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

    def identity(self) -> bytes:
        """The same bytes for the same program."""
        parts = self.matrix, self.low, self.high, self.least, self.most, self.whole
        return b"|".join(part.tobytes() for part in parts)


def program_of(block: FeatureBlock, start: Floats, box: tuple[Floats, Floats] | None = None) -> MixedIntegerProgram:
    """The program of one person; where a box is given, only the part of it in the box."""
    least, most = (part[0] for part in block.ranges(start[None]))
    scope = scope_of(block, start, least, most)
    low, high = box or (part[0] for part in block.within(start[None], least[None], most[None]))
    linear = [(form, indices) for _, indices, form in linear_constraints(block, scope)]
    binaries = sum(form.binaries for form, _ in linear)
    shifts = [float(block.push[:, j] @ start) for j in range(len(start))]
    return MixedIntegerProgram(
        *dense_rows(linear, block.effect, shifts),
        np.concatenate([low, np.zeros(binaries)]),
        np.concatenate([high, np.ones(binaries)]),
        np.asarray([feature.whole for feature in block.features] + [True] * binaries),
        len(linear) == len(block.constraints) and not block.given and all(form.exact for form, _ in linear),
    )


def linear_constraints(block: FeatureBlock, scope: ActionScope) -> list[tuple[Constraint, tuple[int, ...], Form]]:
    """The constraints with linear rows at one person; one that reads a column that stops at a bound has none."""
    stops = np.isfinite(block.floor) | np.isfinite(block.ceiling)
    forms = [(rule, at, rule.form(scope.only(at))) for rule, at in block.constraints]
    return [
        (rule, at, form)
        for rule, at, form in forms
        if form is not None and not any(stops[at[j]] for row in form.rows for j in row.ended)
    ]


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


def scope_of(block: FeatureBlock, start: Floats, least: Floats, most: Floats) -> ActionScope:
    """One person with the ranges of acted and ended values, as constraints need them for linear rows."""
    box = block.box(start[None], least[None], most[None], least[None], most[None])
    whole = np.asarray([feature.whole for feature in block.features])
    steps = (block.push == np.round(block.push)) & whole[:, None]
    end_whole = whole & (steps | (block.push == 0)).all(0)
    return ActionScope(
        start, least, most, box.end_low[0], box.end_high[0], tuple(whole.tolist()), tuple(end_whole.tolist())
    )


def dense_rows(
    forms: Sequence[tuple[Form, Sequence[int]]], effect: Floats, shifts: Sequence[float]
) -> tuple[Floats, Floats, Floats]:
    """The rows of all forms over all acted values and then all binaries, with their least and greatest values.

    A form comes with the columns of its features. An ended value is written in terms of the acted values that it
    depends on: ``effect`` has a column of weights for each, from which its shift is subtracted.
    """
    count = first = len(effect)
    width = count + sum(form.binaries for form, _ in forms)
    rows, ends = list[Floats](), list[tuple[float, float]]()
    for form, columns in forms:
        for row in form.rows:
            weights, shift = np.zeros(width), 0.0
            for j, weight in row.acted.items():
                weights[columns[j]] += weight
            for j, weight in row.ended.items():
                weights[:count] += weight * effect[:, columns[j]]
                shift += weight * shifts[columns[j]]
            for j, weight in row.binaries.items():
                weights[first + j] += weight
            rows.append(weights)
            ends.append((row.low + shift, row.high + shift))
        first += form.binaries
    low, high = np.asarray(ends).reshape(-1, 2).T
    return np.asarray(rows).reshape(-1, width), low, high


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
