"""What people can reach in one block, in parts that can be counted, listed or drawn from.

A part covers some of the people: a range of one feature, a list of points, proposals of which some are kept, or
polytopes. :class:`Memory` keeps lists for other people, other models and other runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from io import BytesIO
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import NumericalError, UsageError
from isonomia.interventions.blocks import MOST_MOVES, Boxes, Enumerated, FeatureBlock, enumerate_moves, tightened
from isonomia.interventions.constraints.base import Floats
from isonomia.interventions.polytopes import Slices, accepted_share, draw_by_proposals, slices_of

_TIGHT = 1e-3
"""The share of accepted proposals below which a block is cut into polytopes instead; it changes the cost only."""
_PILOTS = (64, 4096)
"""Proposals that estimate that share: a few for everybody, more for those whose share seems low."""
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
class ListPart:
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
class PolytopePart:
    """Points of polytopes, for people with the same start in the block."""

    rows: NDArray[np.intp]
    block: FeatureBlock
    boxes: Boxes
    slices: Slices

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
        raise NumericalError(
            f"almost no point of the linear constraints on {', '.join(f.name for f in self.block.features)} satisfies "
            "the others. Loosen them, or write them as linear ones."
        )


Part: TypeAlias = RangePart | ListPart | RejectionPart | PolytopePart


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
    everybody = np.arange(len(start))
    if block.alone:
        least, most = block.ranges(start)
        return (RangePart(everybody, block.columns[0], least[:, 0], most[:, 0], block.features[0].whole),)
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
        parts.append(ListPart(rows, block, table, (np.cumsum(counts) - counts)[key[rows]], counts[key[rows]]))
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
        raise UsageError(
            f"linkages among {', '.join(feature.name for feature in block.features)} go round in a circle, so that "
            "different actions lead to the same point; such a block can be listed but not drawn from. Drop a linkage, "
            "or make its features whole numbers with fewer values."
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
        return PolytopePart(rows, block, box, slices)
    rng = np.random.default_rng(0)  # each slice is a single point, so every draw is the same
    points = [slices.only(one).draw(1, rng) for one in slices.slices]
    return _list_part(block, box, np.concatenate(points), rows)


def _list_part(block: FeatureBlock, box: Boxes, acted: Floats, rows: NDArray[np.intp]) -> ListPart:
    """Those of some points that are allowed, and the start, as a list."""
    allowed = box.at(np.zeros(len(acted), dtype=np.intp)).allowed(block, acted)
    points = np.concatenate([box.start, acted[allowed]])
    _, first = np.unique(np.round(points, 9), axis=0, return_index=True)
    table = _ends(block, box.start, points[np.sort(first)])
    return ListPart(rows, block, table, np.zeros(len(rows), dtype=np.intp), np.full(len(rows), len(table)))


def _ends(block: FeatureBlock, start: Floats, acted: Floats) -> Floats:
    """Where actions lead: the ended value of each of the block's columns, then the change of each pushed feature."""
    if not block.push.any() and not block.onto.size:
        return acted
    action = acted - start
    ended = acted + action @ block.push if block.push.any() else acted
    return np.concatenate([ended, action @ block.onto], axis=-1)
