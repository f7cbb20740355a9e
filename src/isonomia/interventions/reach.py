"""Reachable sets: the points that people can reach, counted, listed or drawn from, block by block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import UsageError
from isonomia.interventions.blocks import FeatureBlock, blocks_of
from isonomia.interventions.constraints import Constraint
from isonomia.interventions.constraints.base import TOLERANCE, Bools, Floats
from isonomia.interventions.effects import Effect
from isonomia.interventions.features import Feature, PersonError, decoded, encoded
from isonomia.interventions.parts import (
    ListedPoints,
    Memory,
    Part,
    PolytopePoints,
    RejectionPart,
    indices_in,
    part_of,
    solve,
    write_ends,
)
from isonomia.populations.table import Table, replaced

_CHUNK = 500_000
"""Points that are built at once by default; this bounds the memory and changes no point."""


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
    weights
        Of listed points, the probability of each under its person's law, where these differ; else ``None``.
    """

    features: tuple[Feature, ...]
    people: Table
    owner: NDArray[np.intp]
    values: Floats
    weights: Floats | None = None

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
            The columns that are requested, in order; default: all.
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
        weights = None if self.weights is None else self.weights[rows]
        return Points(self.features, self.people, self.owner[rows], self.values[rows], weights)


@dataclass(frozen=True, slots=True, eq=False)
class ReachableSets:
    """What each of some people can reach, their own point included; made by :meth:`Interventions.reach`.

    The points of a person are the product of what they can reach in each block, and only built when asked for.

    Attributes
    ----------
    features, effects, blocks
        What people can change, what follows an action, and the features that constraints couple.
    people
        The people.
    start
        Where each of them is: one row per person, one column per feature, categories as their indices.
    parts
        What they can reach, block by block.
    keeps_bounds
        Whether a point that an effect takes out of a feature's bounds is refused, as in an audit.
    """

    features: tuple[Feature, ...]
    effects: tuple[Effect, ...]
    blocks: tuple[FeatureBlock, ...]
    people: Table
    start: Floats
    parts: tuple[Part, ...]
    keeps_bounds: bool = False

    def __len__(self) -> int:
        return len(self.start)

    @property
    def by_chance(self) -> bool:
        """Whether effects follow an action, so that the action alone does not determine where the person ends up."""
        return bool(self.effects)

    @property
    def weighted(self) -> bool:
        """Whether listed points may differ in probability; then the share of a set is a sum of weights."""
        return any(isinstance(part, ListedPoints) and part.probability is not None for part in self.parts)

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

        Guarantee: draws are independent. Each person's actions are uniform: whole values are counted and real ones
        measured, so that where both occur together the actions of highest dimension have all the mass. Effects of at
        least or at most some size are uniform given the action, unless their linkage says ``jointly``. Draws are exact
        unless :meth:`approximate` says otherwise.

        Parameters
        ----------
        n
            How many draws per person.
        rng
            The randomness.
        people
            Rows; default: all people. A row may occur more than once.
        """
        sets = self if people is None else self.take(people)
        owner = np.repeat(np.arange(len(sets)), n)
        columns = np.repeat(sets.start.T, n, axis=1)
        for part in sets.parts:
            everyone = len(part.rows) == len(sets)
            at: Any = slice(None) if everyone else (part.rows[:, None] * n + np.arange(n)).reshape(-1)
            drawn = part.draw(n, rng)
            write_ends(columns, part, drawn.reshape(-1, drawn.shape[-1]), at)
        values = sets._affected(columns, owner, rng) if sets.by_chance else columns
        who = np.arange(len(self)) if people is None else np.asarray(people)
        return self._checked(Points(self.features, self.people, np.repeat(who, n), values.T))

    def approximate(self) -> Bools:
        """Whose draws are only nearly uniform: a block of more than six coupled real features is sampled by walks."""
        approximate = np.zeros(len(self), dtype=bool)
        for part in self.parts:
            approximate[part.rows] |= isinstance(part, PolytopePoints) and not part.slices.exact
        return approximate

    def take(self, people: Sequence[int] | NDArray[np.intp]) -> ReachableSets:
        """The sets of some people, in this order."""
        who = self._who(people)
        parts = tuple(part for part in (part_of(one, who, len(self)) for one in self.parts) if len(part.rows))
        return replace(self, people=self.people.take(who), start=self.start[who], parts=parts)

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
            row = int(who[np.argmax(~np.isfinite(counts))])
            raise UsageError(f"the points of the person in row {row} cannot be listed; draw instead: sample(n, rng)")
        if counts.sum() > 2.0**53:
            raise UsageError(
                f"there are {counts.sum():.3g} points, too many to go through; draw instead: sample(n, rng)"
            )
        return counts.astype(np.intp)

    def _at(self, owner: NDArray[np.intp], rest: NDArray[np.intp]) -> Points:
        """The points with these numbers, of these people: a number has one mixed-radix digit for each part."""
        columns, weights = np.take(self.start.T, owner, axis=1), np.ones(len(owner))
        for part in self.parts:
            if isinstance(part, RejectionPart | PolytopePoints):
                continue  # covers other people, whose points are not counted
            index = indices_in(part, len(self))[owner]
            at: Any = slice(None) if len(part.rows) == len(self) else np.flatnonzero(index >= 0)
            size = part.counts()[index[at]].astype(np.intp)  # other people may have infinitely many
            rest[at], number = np.divmod(rest[at], size)
            write_ends(columns, part, part.ends(index[at], number), at)
            weights[at] *= part.weights(index[at], number)
        return self._checked(Points(self.features, self.people, owner, columns.T, weights if self.weighted else None))

    def _checked(self, points: Points) -> Points:
        """The points; where bounds are kept, one that an effect takes out of a feature's bounds is refused."""
        if not self.keeps_bounds:
            return points
        pushed = {block.columns[j] for block in self.blocks for j in np.flatnonzero(block.push.any(0))}
        names = {name for effect in self.effects if effect.stays_in_bounds for name in effect.names}
        pushed |= {column for block in self.blocks for column in block.pushed}
        for j, feature in enumerate(self.features):
            if j not in pushed and feature.name not in names:
                continue
            low = -np.inf if feature.low is None else feature.low - TOLERANCE
            high = np.inf if feature.high is None else feature.high + TOLERANCE
            values, own = points.values[:, j], self.start[points.owner, j]
            out = np.flatnonzero(((values < low) & (values < own)) | ((values > high) & (values > own)))
            if len(out):
                raise _out_of_range(feature, int(points.owner[out[0]]), float(own[out[0]]), float(values[out[0]]))
        return points

    def _affected(self, columns: Floats, owner: NDArray[np.intp], rng: np.random.Generator) -> Floats:
        """Where actions lead after the effects, which apply one after the other, each seeing the results so far."""
        by_name = {feature.name: (j, feature) for j, feature in enumerate(self.features)}
        for effect in self.effects:
            used = dict.fromkeys((*effect.reads, *effect.names))
            before = {name: decoded(by_name[name][1], self.start[owner, by_name[name][0]]) for name in used}
            after = {name: decoded(by_name[name][1], columns[by_name[name][0]]) for name in used}
            mine = [by_name[name][1] for name in effect.names]
            for name, values in effect.respond(mine, before, after, rng).items():
                columns[by_name[name][0]] = _numbers(by_name[name][1], values)
        return columns


def reachable_sets(
    features: tuple[Feature, ...],
    constraints: Sequence[Constraint],
    effects: tuple[Effect, ...],
    people: Table,
    start: Floats,
    memory: Memory | None = None,
) -> ReachableSets:
    """What people can reach; their values must have been checked, and categories of constraints be indices."""
    blocks = blocks_of(features, constraints)
    parts = tuple(part for block in blocks for part in solve(block, start[:, list(block.columns)], memory))
    return ReachableSets(features, effects, blocks, people, start, parts)


def _out_of_range(feature: Feature, row: int, start: float, value: float) -> PersonError:
    low, high = ("any" if end is None else f"{end:g}" for end in (feature.low, feature.high))
    return PersonError(
        f"expected effects to keep {feature.name!r} between {low} and {high}, but the person",
        row,
        f"gets from {start:g} to {value:g}. Give the effect clip=True to stop at the bound, or a linkage "
        "keep_bounds=True to forbid the action, or the feature other bounds.",
    )


def _numbers(feature: Feature, values: NDArray[Any]) -> Floats:
    if feature.kind == "categorical":
        return encoded([feature], Table.of({feature.name: values}))[:, 0]
    return np.asarray(values, dtype=np.float64)
