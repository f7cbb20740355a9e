"""Reachable sets: the points that people can reach, counted, listed or drawn from, block by block.

In each block, a part covers some of the people: a range of one feature, a list of points, proposals of which some are
accepted, or polytopes. :class:`Memory` stores lists for other people, other models and other runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from io import BytesIO
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import NumericalError, UsageError
from isonomia.interventions.blocks import (
    MOST_MOVES,
    Boxes,
    Enumerated,
    FeatureBlock,
    blocks_of,
    enumerate_moves,
    tightened,
)
from isonomia.interventions.constraints import Constraint
from isonomia.interventions.constraints.base import Bools, Floats
from isonomia.interventions.effects import Effect
from isonomia.interventions.features import Feature, decoded, encoded
from isonomia.interventions.polytopes import MoveSlices, accepted_share, draw_by_proposals, slices_of
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
            The columns that are wanted, in order; default: all.
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
    features, effects, blocks
        What people can change, what follows an action, and the features that constraints couple.
    people
        The people.
    start
        Where each of them is: one row per person, one column per feature, categories as their indices.
    parts
        What they can reach, block by block.
    """

    features: tuple[Feature, ...]
    effects: tuple[Effect, ...]
    blocks: tuple[FeatureBlock, ...]
    people: Table
    start: Floats
    parts: tuple[Part, ...]

    def __len__(self) -> int:
        return len(self.start)

    @property
    def by_chance(self) -> bool:
        """Whether effects follow an action, so that the action alone does not determine where the person ends up."""
        return bool(self.effects)

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
            Rows; default: all people. A row may occur more than once.
        """
        sets = self if people is None else self.take(people)
        owner = np.repeat(np.arange(len(sets)), n)
        columns = np.repeat(sets.start.T, n, axis=1)
        for part in sets.parts:
            everyone = len(part.rows) == len(sets)
            at: Any = slice(None) if everyone else (part.rows[:, None] * n + np.arange(n)).reshape(-1)
            drawn = part.draw(n, rng)
            _write(columns, part, drawn.reshape(-1, drawn.shape[-1]), at)
        values = sets._affected(columns, owner, rng) if sets.by_chance else columns
        who = np.arange(len(self)) if people is None else np.asarray(people)
        return Points(self.features, self.people, np.repeat(who, n), values.T)

    def approximate(self) -> Bools:
        """Whose draws are only nearly uniform: a block of more than six coupled real features is sampled by walks."""
        approximate = np.zeros(len(self), dtype=bool)
        for part in self.parts:
            approximate[part.rows] |= isinstance(part, PolytopePoints) and not part.slices.exact
        return approximate

    def take(self, people: Sequence[int] | NDArray[np.intp]) -> ReachableSets:
        """The sets of some people, in this order."""
        who = self._who(people)
        parts = tuple(part for part in (_part_of(one, who, len(self)) for one in self.parts) if len(part.rows))
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
        columns = np.take(self.start.T, owner, axis=1)
        for part in self.parts:
            if isinstance(part, RejectionPart | PolytopePoints):
                continue  # covers other people, whose points are not counted
            index = _indices(part, len(self))[owner]
            at: Any = slice(None) if len(part.rows) == len(self) else np.flatnonzero(index >= 0)
            size = part.counts()[index[at]].astype(np.intp)  # other people may have infinitely many
            rest[at], number = np.divmod(rest[at], size)
            _write(columns, part, part.ends(index[at], number), at)
        return Points(self.features, self.people, owner, columns.T)

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


def _numbers(feature: Feature, values: NDArray[Any]) -> Floats:
    if feature.kind == "categorical":
        return encoded([feature], Table.of({feature.name: values}))[:, 0]
    return np.asarray(values, dtype=np.float64)


def _indices(part: Part, count: int) -> NDArray[np.intp]:
    """The index in a part of each of all people; -1 for people outside of it."""
    index = np.full(count, -1, dtype=np.intp)
    index[part.rows] = np.arange(len(part.rows))
    return index


def _write(columns: Floats, part: Part, ends: Floats, at: Any) -> None:
    """Write the values reached in a part into its columns; the changes of pushed features are added."""
    if isinstance(part, RangePart):
        columns[part.column, at] = ends[:, 0]
        return
    for j, column in enumerate(part.block.columns):
        if part.block.features[j].actionable or part.block.push[:, j].any():
            columns[column, at] = ends[:, j]
    for j, column in enumerate(part.block.pushed, start=len(part.block.columns)):
        columns[column, at] += ends[:, j]


def _part_of(part: Part, who: NDArray[np.intp], count: int) -> Part:
    """The part for some people, in this order."""
    index = _indices(part, count)[who]
    rows = np.flatnonzero(index >= 0)
    at = index[rows]
    match part:
        case RangePart():
            return RangePart(rows, part.column, part.low[at], part.high[at], part.whole)
        case ListedPoints():
            return ListedPoints(rows, part.block, part.table, part.first[at], part.size[at])
        case RejectionPart():
            return RejectionPart(rows, part.block, part.boxes.at(at))
        case PolytopePoints():
            return PolytopePoints(rows, part.block, part.boxes, part.slices)


# ---------------------------------------------------------------------------- one block

_TIGHT = 1e-3
"""The share of accepted proposals below which a block is cut into polytopes instead; it changes the cost only."""
_PILOTS = (64, 4096)
"""Proposals that estimate that share: a few for everyone, more for those whose share seems low."""
_TOGETHER = 5_000_000
"""Moves that are listed for all people together; beyond it, people with more than their part are sampled instead."""
_MAX_ROUNDS = 1000
"""How often draws from polytopes are repeated before almost all of them count as forbidden."""


@dataclass(frozen=True, slots=True, eq=False)
class RangePart:
    """One feature by itself: every value, or every whole value, of a range.

    ``rows`` says which people, as in every part. ``low`` and ``high`` have one entry for each.
    """

    rows: NDArray[np.intp]
    column: int
    low: Floats
    high: Floats
    whole: bool

    def counts(self) -> Floats:
        """How many values each person can reach; infinite where a real feature can move."""
        if self.whole:
            return self.high - self.low + 1.0
        return np.where(self.high > self.low, np.inf, 1.0)

    def ends(self, person: NDArray[np.intp], number: NDArray[np.intp]) -> Floats:
        """The value with this number, for people given by their index among ``rows``."""
        return (self.low[person] + number)[:, None]

    def draw(self, n: int, rng: np.random.Generator) -> Floats:
        """Uniform values, of shape ``(people, n, 1)``."""
        share = rng.random((len(self.rows), n))
        width = (self.high - self.low)[:, None]
        step = np.floor(share * (width + 1.0)) if self.whole else share * width
        return np.asarray((self.low[:, None] + step)[..., None])


@dataclass(frozen=True, slots=True, eq=False)
class ListedPoints:
    """Every point, in one table for all people; people with the same start in the block share their rows.

    ``table`` has the ended value of each of the block's columns, then the change of each pushed feature. A person has
    ``size`` rows, beginning at ``first``.
    """

    rows: NDArray[np.intp]
    block: FeatureBlock
    table: Floats
    first: NDArray[np.intp]
    size: NDArray[np.intp]

    def counts(self) -> Floats:
        """How many points each person can reach."""
        return self.size.astype(np.float64)

    def ends(self, person: NDArray[np.intp], number: NDArray[np.intp]) -> Floats:
        """The point with this number, for people given by their index among ``rows``."""
        return np.asarray(self.table[self.first[person] + number])

    def draw(self, n: int, rng: np.random.Generator) -> Floats:
        """Uniform points, with no rejection."""
        number = (rng.random((len(self.rows), n)) * self.size[:, None]).astype(np.intp)
        return np.asarray(self.table[self.first[:, None] + number])


@dataclass(frozen=True, slots=True, eq=False)
class RejectionPart:
    """Points drawn by proposals, which are kept where the constraints allow them."""

    rows: NDArray[np.intp]
    block: FeatureBlock
    boxes: Boxes

    def counts(self) -> Floats:
        """Infinite: the points are not counted."""
        return np.full(len(self.rows), np.inf)

    def draw(self, n: int, rng: np.random.Generator) -> Floats:
        """Uniform points."""
        acted = draw_by_proposals(self.block, self.boxes, n, rng)
        return _ends(self.block, self.boxes.start[:, None], acted)


@dataclass(frozen=True, slots=True, eq=False)
class PolytopePoints:
    """Points of polytopes, for people with the same start in the block."""

    rows: NDArray[np.intp]
    block: FeatureBlock
    boxes: Boxes
    slices: MoveSlices

    def counts(self) -> Floats:
        """Infinite: the points are not counted."""
        return np.full(len(self.rows), np.inf)

    def draw(self, n: int, rng: np.random.Generator) -> Floats:
        """Uniform points; a point that a constraint without a linear form forbids is drawn again."""
        wanted = len(self.rows) * n
        allowed, count = list[Floats](), 0
        for _ in range(_MAX_ROUNDS):
            acted = self.slices.draw(wanted, rng)
            points = acted[self.boxes.at(np.zeros(wanted, dtype=np.intp)).allowed(self.block, acted)]
            allowed.append(points)
            count += len(points)
            if count >= wanted:
                acted = np.concatenate(allowed)[:wanted].reshape(len(self.rows), n, -1)
                return _ends(self.block, self.boxes.start[:, None], acted)
        names = ", ".join(feature.name for feature in self.block.features)
        raise NumericalError(f"almost no point of the linear constraints on {names} satisfies the others: loosen them")


Part: TypeAlias = RangePart | ListedPoints | RejectionPart | PolytopePoints


@dataclass(frozen=True, slots=True, eq=False)
class Memory:
    """The moves of every start seen so far, by block; a block is identified by its features and constraints.

    :meth:`Interventions.reach` adds to it. It does not see what a predicate's function closes over: use a fresh memory
    where that changes.

    Attributes
    ----------
    known
        The moves of each start, by the block's fingerprint; empty at first.
    enumerate
        Lists the moves of new starts.
    """

    known: dict[str, dict[bytes, Floats]] = field(default_factory=dict)
    enumerate: Callable[[FeatureBlock, Floats, int], Enumerated] = field(default=enumerate_moves, repr=False)

    def moves(self, block: FeatureBlock, starts: Floats, most: int) -> Enumerated:
        """The moves of each of some distinct starts; those of new starts are enumerated, and kept."""
        stored = self.known.setdefault(block.fingerprint(), {})
        keys = [row.tobytes() for row in np.ascontiguousarray(starts)]
        new = np.asarray([j for j, key in enumerate(keys) if key not in stored], dtype=np.intp)
        if len(new):
            moves = self.enumerate(block, starts[new], most)
            for j, acted in zip(new, np.split(moves.acted, np.cumsum(moves.counts)[:-1]), strict=True):
                stored[keys[j]] = acted
        parts = [stored[key] for key in keys]
        empty = np.zeros((0, len(block.columns)))
        return Enumerated(np.concatenate([empty, *parts]), np.asarray([len(part) for part in parts], dtype=np.intp))

    def to_bytes(self) -> bytes:
        """Everything that is known, to be stored."""
        arrays: dict[str, NDArray[np.float64]] = {}
        for name, moves in self.known.items():
            for number, (key, acted) in enumerate(moves.items()):
                arrays[f"{name}/{number}"] = np.vstack([np.frombuffer(key), acted])
        with BytesIO() as stream:
            np.savez_compressed(stream, allow_pickle=False, **arrays)
            return stream.getvalue()

    @classmethod
    def from_bytes(cls, stored: bytes) -> Memory:
        """Read what :meth:`to_bytes` wrote."""
        known: dict[str, dict[bytes, Floats]] = {}
        with np.load(BytesIO(stored), allow_pickle=False) as arrays:
            for name in arrays.files:
                rows = arrays[name]
                known.setdefault(name.split("/")[0], {})[rows[0].tobytes()] = rows[1:]
        return cls(known)


def solve(
    block: FeatureBlock, start: Floats, memory: Memory | None = None, most_moves: int = MOST_MOVES
) -> tuple[Part, ...]:
    """What people can reach in a block, in parts that each cover some of them.

    ``start`` has the block's columns, one row per person. What ``memory`` has is not enumerated again, and new moves
    are added to it. The points of a person with more than ``most_moves`` moves are drawn, not listed.
    """
    if block.alone:
        least, most = block.ranges(start)
        rows = np.arange(len(start))
        return (RangePart(rows, block.columns[0], least[:, 0], most[:, 0], block.features[0].whole),)
    keys, key = _distinct(start)
    counts = np.zeros(len(keys), dtype=np.intp)
    parts: list[Part] = []
    if block.discrete:
        small = ~_surely_large(block, keys, most_moves)
        find = enumerate_moves if memory is None else memory.moves
        moves = find(block, keys[small], most_moves)
        counts[small] = moves.counts
        table = _ends(block, np.repeat(keys, counts, axis=0), moves.acted)
        rows = np.flatnonzero(counts[key] > 0)
        parts.append(ListedPoints(rows, block, table, (np.cumsum(counts) - counts)[key[rows]], counts[key[rows]]))
    if not counts.all():
        parts += _to_draw_from(block, keys, np.flatnonzero(counts == 0), key)
    return tuple(part for part in parts if len(part.rows))


def _surely_large(block: FeatureBlock, keys: Floats, most_moves: int) -> NDArray[np.bool_]:
    """Who has, by an estimate, so many moves that listing them would fail or take more than their part."""
    boxes = Boxes.of(block, keys)
    sizes = np.prod(boxes.high - boxes.low + 1.0, axis=1)
    some = np.flatnonzero(sizes > (2.0 * most_moves if sizes.sum() <= _TOGETHER else 1_000.0))
    share = accepted_share(block, boxes.at(some), _PILOTS[0], np.random.default_rng(0))
    moves = np.zeros(len(keys))
    moves[some] = share * sizes[some]
    fair = _TOGETHER / len(keys) if moves.sum() > _TOGETHER else np.inf
    return np.asarray(moves > min(2.0 * most_moves, fair))


def _distinct(start: Floats) -> tuple[Floats, NDArray[np.intp]]:
    """The different rows, and which of them each row is."""
    order = np.lexsort(start.T[::-1])
    new = np.ones(len(start), dtype=bool)
    new[1:] = (start[order][1:] != start[order][:-1]).any(-1)
    key = np.empty(len(start), dtype=np.intp)
    key[order] = np.cumsum(new) - 1
    return start[order][new], key


def _to_draw_from(block: FeatureBlock, keys: Floats, which: NDArray[np.intp], key: NDArray[np.intp]) -> Iterator[Part]:
    """The parts of the people whose points are not listed; ``which`` are their starts among the distinct ones."""
    if not block.one_to_one:
        names = ", ".join(feature.name for feature in block.features)
        raise UsageError(
            f"linkages among {names} go round in a circle, so different actions lead to the same point, which can be "
            "listed but not drawn from. Drop a linkage, or use whole numbers with fewer values."
        )
    boxes = Boxes.of(block, keys[which])
    tight = _are_tight(block, boxes)
    for index in np.flatnonzero(tight):
        yield _tight_part(block, boxes.at(np.asarray([index])), np.flatnonzero(key == which[index]))
    easy = np.full(len(keys), -1)
    easy[which[~tight]] = np.flatnonzero(~tight)
    rows = np.flatnonzero(easy[key] >= 0)
    yield RejectionPart(rows, block, boxes.at(easy[key[rows]]))


def _are_tight(block: FeatureBlock, boxes: Boxes) -> NDArray[np.bool_]:
    """Whose proposals are seldom accepted. The seed is fixed: the way of sampling does not change the distribution."""
    rng = np.random.default_rng(0)
    doubtful = np.arange(len(boxes.start))
    for tries in _PILOTS:
        doubtful = doubtful[accepted_share(block, boxes.at(doubtful), tries, rng) < _TIGHT]
    tight = np.zeros(len(boxes.start), dtype=bool)
    tight[doubtful] = True
    return tight


def _tight_part(block: FeatureBlock, box: Boxes, rows: NDArray[np.intp]) -> Part:
    """One start whose box is nearly empty: narrowed by the solver, and if that is not enough, cut into polytopes."""
    ends = tightened(block, box.start[0])
    if ends is None:
        return _list_part(block, box, box.start, rows)
    if block.discrete:  # staying put is one of the points, even where the rows forbid it
        ends = np.minimum(ends[0], box.start[0]), np.maximum(ends[1], box.start[0])
    box = Boxes(box.start, box.least, box.most, ends[0][None], ends[1][None])
    if not _are_tight(block, box)[0]:
        return RejectionPart(rows, block, box.at(np.zeros(len(rows), dtype=np.intp)))
    slices = slices_of(block, box.start[0], *ends)
    if slices.slices[0].dimension:
        return PolytopePoints(rows, block, box, slices)
    rng = np.random.default_rng(0)  # each slice is a single point, so every draw is the same
    points = [slices.only(one).draw(1, rng) for one in slices.slices]
    return _list_part(block, box, np.concatenate(points), rows)


def _list_part(block: FeatureBlock, box: Boxes, acted: Floats, rows: NDArray[np.intp]) -> ListedPoints:
    """Those of some points that are allowed, and the start, as a list."""
    allowed = box.at(np.zeros(len(acted), dtype=np.intp)).allowed(block, acted)
    points = np.concatenate([box.start, acted[allowed]])
    _, first = np.unique(np.round(points, 9), axis=0, return_index=True)
    table = _ends(block, box.start, points[np.sort(first)])
    return ListedPoints(rows, block, table, np.zeros(len(rows), dtype=np.intp), np.full(len(rows), len(table)))


def _ends(block: FeatureBlock, start: Floats, acted: Floats) -> Floats:
    """Where actions lead: the ended value of each of the block's columns, then the change of each pushed feature."""
    if not block.push.any() and not block.onto.size:
        return acted
    action = acted - start
    ended = acted + action @ block.push if block.push.any() else acted
    return np.concatenate([ended, action @ block.onto], axis=-1)
