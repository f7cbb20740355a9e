"""Reachable sets: the points that people can reach, counted, listed or drawn from, block by block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import UsageError
from isonomia.interventions.block_sets import ListPart, Memory, Part, PolytopePart, RangePart, RejectionPart, solve
from isonomia.interventions.blocks import Nothing, any_move, blocks_of
from isonomia.interventions.constraints import Constraint
from isonomia.interventions.constraints.base import Bools, Floats
from isonomia.interventions.effects import Effect
from isonomia.interventions.features import Feature, decoded, encoded
from isonomia.populations.table import Table, replaced

_CHUNK = 500_000
"""Points that are built at once by default; this bounds the memory and changes no point."""


class ActionRules(Protocol):
    """What reachable sets need to know of interventions."""

    @property
    def features(self) -> tuple[Feature, ...]:
        """The features, one for each column of a point."""

    @property
    def effects(self) -> tuple[Effect, ...]:
        """What follows an action."""

    def coded(self) -> tuple[Constraint, ...]:
        """The constraints with categories as indices."""


@dataclass(frozen=True, slots=True, eq=False)
class Points:
    """Points, one per row.

    Attributes
    ----------
    features
        The features, one for each column of ``values``.
    people
        The table of the people.
    owner
        Whose each point is: a row of the people.
    values
        The points as numbers, a category as its index; of shape ``(points, features)``, each column contiguous.
    """

    features: tuple[Feature, ...]
    people: Table
    owner: NDArray[np.intp]
    values: Floats

    def __len__(self) -> int:
        return len(self.owner)

    def table(self) -> Table:
        """The points as a table of the people's kind, for a model; other columns have the person's own values."""
        if self.people.kind == "columns":
            return self.columns()
        changed = {feature.name: decoded(feature, self.values[:, j]) for j, feature in enumerate(self.features)}
        return replaced(self.people.take(self.owner), changed)

    def columns(self, names: Sequence[str] | None = None) -> Table:
        """The same as plain columns, which is faster.

        Parameters
        ----------
        names
            The columns that are wanted, in order; all of them unless given.
        """
        index = {feature.name: j for j, feature in enumerate(self.features)}
        columns: dict[str, NDArray[Any]] = {}
        for name in self.people.names if names is None else names:
            if name in index:
                columns[name] = decoded(self.features[index[name]], self.values[:, index[name]])
            else:
                columns[name] = self.people.column(name)[self.owner]
        return Table.of(columns)

    def take(self, rows: NDArray[np.intp]) -> Points:
        """Some of the points, in this order."""
        return Points(self.features, self.people, self.owner[rows], self.values[rows])


@dataclass(frozen=True, slots=True, eq=False)
class ReachableSets:
    """What each of some people can reach, their own point included; made by :meth:`Interventions.reach`.

    The points of a person are the product of what they can reach in each block, and only built when asked for.

    Attributes
    ----------
    interventions, people
        What people can change, and the people.
    start
        Where each of them is: one row per person, one column per feature, categories as their indices.
    parts
        What they can reach, block by block.
    """

    interventions: ActionRules
    people: Table
    start: Floats
    parts: tuple[Part, ...]

    def __len__(self) -> int:
        return len(self.start)

    @property
    def by_chance(self) -> bool:
        """Whether effects follow an action, so that the action alone does not determine where the person ends up."""
        return bool(self.interventions.effects)

    def counts(self) -> NDArray[np.float64]:
        """How many points each person can reach by actions; infinite where they are not counted.

        Exact up to ``2**53``; :meth:`count` is exact beyond.
        """
        total = np.ones(len(self))
        for part in self.parts:
            total[part.rows] *= part.counts()
        return total

    def count(self, person: int) -> int | None:
        """How many points a person can reach by actions; ``None`` where they are not counted."""
        total = 1
        for part in self.parts:
            index = np.flatnonzero(part.rows == person)
            size = float(part.counts()[index[0]]) if len(index) else 1.0
            if size == np.inf:
                return None
            total *= int(size)
        return total

    def movable(self) -> Bools:
        """Whether each person can change anything at all by an action.

        Where points are neither listed nor measured, a mixed-integer program decides.
        """
        movable = np.zeros(len(self), dtype=bool)
        for part in self.parts:
            movable[part.rows] |= _movable(part)
        return movable

    def points(self, people: Sequence[int] | NDArray[np.intp] | None = None, most: int = 20_000_000) -> Points:
        """Every point that some people, or all, can reach by actions: grouped by person, in a fixed order.

        Raises
        ------
        UsageError
            Where a person's points are not counted, or there are more than ``most``.
        """
        who = self._who(people)
        counts = self._countable(who)
        if counts.sum() > most:
            raise UsageError(f"there are {counts.sum():,.0f} points, above most={most:,}; raise it, or use chunks()")
        owner = np.repeat(who, counts)
        return self._at(owner, np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts))

    def chunks(self, size: int = _CHUNK) -> Iterator[Points]:
        """Every point that all people can reach, in the order of :meth:`points`, at most ``size`` at a time."""
        ends = np.cumsum(self._countable(np.arange(len(self))))
        for first in range(0, int(ends[-1]), size):
            number = np.arange(first, min(first + size, int(ends[-1])))
            owner = np.searchsorted(ends, number, side="right")
            yield self._at(owner, number - (ends[owner - 1] * (owner > 0)))

    def sample(self, n: int, rng: np.random.Generator, people: Sequence[int] | None = None) -> Points:
        """``n`` draws for each of some people, or all: uniform over their actions, then effects.

        Guarantee: draws are independent, and each person's are uniform over the points that they can reach by actions:
        whole values are counted and real ones measured, so that where both occur together the points of highest
        dimension have all the mass. They are exact unless :meth:`approximate` says otherwise.

        Parameters
        ----------
        n
            How many draws per person.
        rng
            The randomness.
        people
            Rows; all people unless given. A row may occur more than once.
        """
        sets = self if people is None else self.take(people)
        owner = np.repeat(np.arange(len(sets)), n)
        columns = np.repeat(sets.start.T, n, axis=1)
        for part in sets.parts:
            rows = None if len(part.rows) == len(sets) else (part.rows[:, None] * n + np.arange(n)).reshape(-1)
            drawn = part.draw(n, rng)
            _write(columns, part, drawn.reshape(-1, drawn.shape[-1]), rows)
        values = sets._affected(columns, owner, rng) if sets.by_chance else columns
        who = np.arange(len(self)) if people is None else np.asarray(people)
        return Points(self.interventions.features, self.people, np.repeat(who, n), values.T)

    def approximate(self) -> Bools:
        """Whose draws are only nearly uniform: a block of more than six coupled real features is sampled by walks."""
        approximate = np.zeros(len(self), dtype=bool)
        for part in self.parts:
            approximate[part.rows] |= isinstance(part, PolytopePart) and not part.slices.exact
        return approximate

    def take(self, people: Sequence[int] | NDArray[np.intp]) -> ReachableSets:
        """The sets of some people, in this order."""
        who = self._who(people)
        parts = (_part_of(part, who, len(self)) for part in self.parts)
        kept = tuple(part for part in parts if len(part.rows))
        return ReachableSets(self.interventions, self.people.take(who), self.start[who], kept)

    def _who(self, people: Sequence[int] | NDArray[np.intp] | None) -> NDArray[np.intp]:
        if people is None:
            return np.arange(len(self))
        who = np.asarray(people, dtype=np.intp).reshape(-1)
        if len(who) and (who.min() < 0 or who.max() >= len(self)):
            raise UsageError(f"people should be rows from 0 to {len(self) - 1}, but they are {people!r}")
        return who

    def _countable(self, who: NDArray[np.intp]) -> NDArray[np.intp]:
        counts = self.counts()[who]
        if not np.isfinite(counts).all():
            raise UsageError(
                f"the points that the person in row {int(who[np.argmax(~np.isfinite(counts))])} can reach cannot be "
                "listed, since real features can move or a block has too many; draw from them instead: sample(n, rng)"
            )
        if counts.sum() > 2.0**53:
            raise UsageError(
                f"there are {counts.sum():.3g} points, too many to go through; draw instead: sample(n, rng)"
            )
        return counts.astype(np.intp)

    def _at(self, owner: NDArray[np.intp], rest: NDArray[np.intp]) -> Points:
        """The points with these numbers, of these people: a number has one mixed-radix digit for each part."""
        columns = np.take(self.start.T, owner, axis=1)
        for part in self.parts:
            if isinstance(part, RejectionPart | PolytopePart):
                continue  # covers other people, whose points are not counted
            index = _indices(part, len(self))[owner]
            rows = None if len(part.rows) == len(self) else np.flatnonzero(index >= 0)
            mine, left = (index, rest) if rows is None else (index[rows], rest[rows])
            size = part.counts()[mine].astype(np.intp)  # other people may have infinitely many
            left, number = np.divmod(left, size)
            _write(columns, part, part.ends(mine, number), rows)
            if rows is None:
                rest = left
            else:
                rest[rows] = left
        return Points(self.interventions.features, self.people, owner, columns.T)

    def _affected(self, columns: Floats, owner: NDArray[np.intp], rng: np.random.Generator) -> Floats:
        """Where actions lead after the effects, which apply one after the other, each seeing the results so far."""
        by_name = {feature.name: (j, feature) for j, feature in enumerate(self.interventions.features)}
        for effect in self.interventions.effects:
            used = dict.fromkeys((*effect.reads, *effect.names))
            before = {name: decoded(by_name[name][1], self.start[owner, by_name[name][0]]) for name in used}
            after = {name: decoded(by_name[name][1], columns[by_name[name][0]]) for name in used}
            mine = [by_name[name][1] for name in effect.names]
            for name, values in effect.respond(mine, before, after, rng).items():
                columns[by_name[name][0]] = _numbers(by_name[name][1], values)
        return columns


def reachable_sets(
    interventions: ActionRules, people: Table, start: Floats, memory: Memory | None = None
) -> ReachableSets:
    """What people can reach; their values must have been checked."""
    parts: list[Part] = []
    for block in blocks_of(interventions.features, interventions.coded()):
        parts += solve(block, start[:, list(block.columns)], memory)
    return ReachableSets(interventions, people, start, tuple(parts))


def _numbers(feature: Feature, values: NDArray[Any]) -> Floats:
    if feature.kind == "categorical":
        return encoded([feature], Table.of({feature.name: values}))[:, 0]
    return np.asarray(values, dtype=np.float64)


def _indices(part: Part, count: int) -> NDArray[np.intp]:
    """The index in a part of each of all people; -1 for people whom it does not cover."""
    index = np.full(count, -1, dtype=np.intp)
    index[part.rows] = np.arange(len(part.rows))
    return index


def _write(columns: Floats, part: Part, ends: Floats, rows: NDArray[np.intp] | None) -> None:
    """Write the values reached in a part into its columns; the changes of pushed features are added."""
    at: Any = slice(None) if rows is None else rows
    if isinstance(part, RangePart):
        columns[part.column, at] = ends[:, 0]
        return
    for j, column in enumerate(part.block.columns):
        if part.block.features[j].actionable or part.block.push[:, j].any():
            columns[column, at] = ends[:, j]
    for j, column in enumerate(part.block.pushed, start=len(part.block.columns)):
        columns[column, at] += ends[:, j]


def _movable(part: Part) -> Bools:
    """Whether each person of a part can change anything in it."""
    if isinstance(part, RangePart | ListPart):
        return np.asarray(part.counts() > 1)
    if isinstance(part, PolytopePart) or not part.block.discrete:
        return np.ones(len(part.rows), dtype=bool)
    return np.asarray([not isinstance(any_move(part.block, start), Nothing) for start in part.boxes.start])


def _part_of(part: Part, who: NDArray[np.intp], count: int) -> Part:
    """The part for some people, in this order."""
    index = _indices(part, count)[who]
    rows = np.flatnonzero(index >= 0)
    at = index[rows]
    match part:
        case RangePart():
            return RangePart(rows, part.column, part.low[at], part.high[at], part.whole)
        case ListPart():
            return ListPart(rows, part.block, part.table, part.first[at], part.size[at])
        case RejectionPart():
            return RejectionPart(rows, part.block, part.boxes.at(at))
        case PolytopePart():
            return PolytopePart(rows, part.block, part.boxes, part.slices)
