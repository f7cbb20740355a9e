"""What is reachable in one block; memory.

What some people can reach in one block, in the form in which it can be counted, listed or drawn from.

What has been found out about blocks, kept for other people, other models and other runs.

Finding out what people can reach in a block: listed where it can be, drawn from otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from io import BytesIO
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import NumericalError, UsageError
from isonomia.interventions.blocks import Block
from isonomia.interventions.constraints.base import Floats
from isonomia.interventions.enumeration import MOST_MOVES, Enumerated, enumerate_moves
from isonomia.interventions.fingerprint import block_fingerprint
from isonomia.interventions.milp import tightened
from isonomia.interventions.uniform import Boxes, Pieces, accepted_share, draw_by_proposals, pieces_of

__all__ = ["TIGHT", "Cut", "Drawn", "Listed", "Memory", "Part", "Ranges", "ends_of", "solve"]


_MOST_ROUNDS = 1000


@dataclass(frozen=True, slots=True, eq=False)
class Ranges:
    """One feature by itself: every value, or every whole value, of a range.

    ``rows`` says which people; every part has it. ``low`` and ``high`` have one entry for each.
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
        """The value with this number, for people given by their place among ``rows``."""
        return (self.low[person] + number)[:, None]

    def draw(self, n: int, rng: np.random.Generator) -> Floats:
        """Uniform values, of shape ``(people, n, 1)``."""
        share = rng.random((len(self.rows), n))
        width = (self.high - self.low)[:, None]
        step = np.floor(share * (width + 1.0)) if self.whole else share * width
        return np.asarray((self.low[:, None] + step)[..., None])


@dataclass(frozen=True, slots=True, eq=False)
class Listed:
    """Every point, in one table for all people; people with the same start in the block share their rows.

    ``table`` has the ended value of each of the block's columns, then the change of each pushed feature. A person's
    rows are ``size`` many from ``first``.
    """

    rows: NDArray[np.intp]
    block: Block
    table: Floats
    first: NDArray[np.intp]
    size: NDArray[np.intp]

    def counts(self) -> Floats:
        """How many points each person can reach."""
        return self.size.astype(np.float64)

    def ends(self, person: NDArray[np.intp], number: NDArray[np.intp]) -> Floats:
        """The point with this number, for people given by their place among ``rows``."""
        return np.asarray(self.table[self.first[person] + number])

    def draw(self, n: int, rng: np.random.Generator) -> Floats:
        """Uniform points, with no rejection."""
        number = (rng.random((len(self.rows), n)) * self.size[:, None]).astype(np.intp)
        return np.asarray(self.table[self.first[:, None] + number])


@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """Points by proposals that are kept where the constraints allow them."""

    rows: NDArray[np.intp]
    block: Block
    boxes: Boxes

    def counts(self) -> Floats:
        """Infinite: the points are not counted."""
        return np.full(len(self.rows), np.inf)

    def draw(self, n: int, rng: np.random.Generator) -> Floats:
        """Uniform points."""
        acted = draw_by_proposals(self.block, self.boxes, n, rng)
        return ends_of(self.block, self.boxes.start[:, None], acted)


@dataclass(frozen=True, slots=True, eq=False)
class Cut:
    """Points of polytopes, for people with the same start in the block."""

    rows: NDArray[np.intp]
    block: Block
    boxes: Boxes
    pieces: Pieces

    def counts(self) -> Floats:
        """Infinite: the points are not counted."""
        return np.full(len(self.rows), np.inf)

    def draw(self, n: int, rng: np.random.Generator) -> Floats:
        """Uniform points; what a constraint without a linear form forbids is drawn again."""
        wanted = len(self.rows) * n
        found, count = list[Floats](), 0
        for _ in range(_MOST_ROUNDS):
            acted = self.pieces.draw(wanted, rng)
            kept = acted[self.boxes.at(np.zeros(wanted, dtype=np.intp)).allowed(self.block, acted)]
            found.append(kept)
            count += len(kept)
            if count >= wanted:
                acted = np.concatenate(found)[:wanted].reshape(len(self.rows), n, -1)
                return ends_of(self.block, self.boxes.start[:, None], acted)
        raise NumericalError(
            f"almost no point of the linear constraints on {', '.join(f.name for f in self.block.features)} satisfies "
            "the others. Loosen them, or write them as linear ones."
        )


Part: TypeAlias = Ranges | Listed | Drawn | Cut


def ends_of(block: Block, start: Floats, acted: Floats) -> Floats:
    """Where actions lead: the ended value of each of the block's columns, then the change of each pushed feature."""
    if not block.push.any() and not block.onto.size:
        return acted
    action = acted - start
    ended = acted + action @ block.push if block.push.any() else acted
    return np.concatenate([ended, action @ block.onto], axis=-1)


@dataclass(frozen=True, slots=True, eq=False)
class Memory:
    """The moves of every start that was met, by block; a block is told from others by its features and constraints.

    It is added to by :meth:`Interventions.reach`. What a predicate's function closes over is not seen: use a fresh
    memory where that changes.

    Attributes
    ----------
    known
        The moves of each start, by the block's fingerprint; empty at first.
    """

    known: dict[str, dict[bytes, Floats]] = field(default_factory=dict)

    def moves(self, block: Block, starts: Floats, most: int) -> Enumerated:
        """The moves of each start, each of them distinct; those not met before are enumerated, and kept."""
        kept = self.known.setdefault(block_fingerprint(block), {})
        keys = [row.tobytes() for row in np.ascontiguousarray(starts)]
        new = np.asarray([j for j, key in enumerate(keys) if key not in kept], dtype=np.intp)
        if len(new):
            found = enumerate_moves(block, starts[new], most)
            for j, acted in zip(new, np.split(found.acted, np.cumsum(found.counts)[:-1]), strict=True):
                kept[keys[j]] = acted
        parts = [kept[key] for key in keys]
        empty = np.zeros((0, len(block.columns)))
        return Enumerated(np.concatenate([empty, *parts]), np.asarray([len(part) for part in parts], dtype=np.intp))

    def to_bytes(self) -> bytes:
        """Everything that is known, to be stored."""
        arrays: dict[str, NDArray[np.float64]] = {}
        for name, kept in self.known.items():
            for number, (key, acted) in enumerate(kept.items()):
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


TIGHT = 1e-3
"""The share of accepted proposals below which a block is cut into polytopes instead."""
_PILOTS = (64, 4096)
_TOGETHER = 5_000_000
"""Moves that are listed for all people together; beyond it those with more than their part are drawn from instead."""


def solve(block: Block, start: Floats, memory: Memory | None = None, most_moves: int = MOST_MOVES) -> tuple[Part, ...]:
    """What people can reach in a block, in parts that each are about some of them.

    Parameters
    ----------
    block
        The block.
    start
        Where the people are, in the block's columns, one a row.
    memory
        What was found out before; it is added to.
    most_moves
        Up to how many moves a person's block is listed.
    """
    everybody = np.arange(len(start))
    if block.alone:
        least, most = block.ranges(start)
        return (Ranges(everybody, block.columns[0], least[:, 0], most[:, 0], block.features[0].whole),)
    keys, key = _distinct(start)
    counts = np.zeros(len(keys), dtype=np.intp)
    parts: list[Part] = []
    if block.discrete:
        small = ~_surely_large(block, keys, most_moves)
        find = enumerate_moves if memory is None else memory.moves
        found = find(block, keys[small], most_moves)
        counts[small] = found.counts
        table = ends_of(block, np.repeat(keys, counts, axis=0), found.acted)
        rows = np.flatnonzero(counts[key] > 0)
        parts.append(Listed(rows, block, table, (np.cumsum(counts) - counts)[key[rows]], counts[key[rows]]))
    if not counts.all():
        parts += _sampled(block, keys, np.flatnonzero(counts == 0), key)
    return tuple(part for part in parts if len(part.rows))


def _surely_large(block: Block, keys: Floats, most_moves: int) -> NDArray[np.bool_]:
    """Whose moves are so many, by a few proposals, that a table of them would be in vain, or too large for all."""
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


def _sampled(block: Block, keys: Floats, which: NDArray[np.intp], key: NDArray[np.intp]) -> Iterator[Part]:
    if not block.one_to_one:
        raise UsageError(
            f"linkages among {', '.join(feature.name for feature in block.features)} go round in a circle, so that "
            "different actions lead to the same point; such a block can be listed but not drawn from. Drop a linkage, "
            "or make its features whole numbers with fewer values."
        )
    boxes = Boxes.of(block, keys[which])
    tight = _tight(block, boxes)
    for place in np.flatnonzero(tight):
        yield _cut(block, boxes.at(np.asarray([place])), np.flatnonzero(key == which[place]))
    easy = np.full(len(keys), -1)
    easy[which[~tight]] = np.flatnonzero(~tight)
    rows = np.flatnonzero(easy[key] >= 0)
    yield Drawn(rows, block, boxes.at(easy[key[rows]]))


def _tight(block: Block, boxes: Boxes) -> NDArray[np.bool_]:
    """Whose proposals are seldom accepted. The seed is fixed: how a law is drawn from does not change it."""
    rng = np.random.default_rng(0)
    doubtful = np.arange(len(boxes.start))
    for tries in _PILOTS:
        doubtful = doubtful[accepted_share(block, boxes.at(doubtful), tries, rng) < TIGHT]
    tight = np.zeros(len(boxes.start), dtype=bool)
    tight[doubtful] = True
    return tight


def _cut(block: Block, box: Boxes, rows: NDArray[np.intp]) -> Part:
    """One start whose box is nearly empty: drawn in by the solver, and if that is not enough, cut into polytopes."""
    ends = tightened(block, box.start[0])
    if ends is None:
        return _points(block, box, box.start, rows)
    if block.discrete:  # staying put is one of the points, even where the rows forbid it
        ends = np.minimum(ends[0], box.start[0]), np.maximum(ends[1], box.start[0])
    box = Boxes(box.start, box.least, box.most, ends[0][None], ends[1][None])
    if not _tight(block, box)[0]:
        return Drawn(rows, block, box.at(np.zeros(len(rows), dtype=np.intp)))
    pieces = pieces_of(block, box.start[0], *ends)
    if pieces.pieces[0].dimension:
        return Cut(rows, block, box, pieces)
    return _points(block, box, _corners(pieces), rows)


def _corners(pieces: Pieces) -> Floats:
    """The only point of each piece, where all have one."""
    rng = np.random.default_rng(0)
    return np.concatenate(
        [Pieces((piece,), np.ones(1), pieces.low, pieces.width, True).draw(1, rng) for piece in pieces.pieces]
    )


def _points(block: Block, box: Boxes, acted: Floats, rows: NDArray[np.intp]) -> Listed:
    """The allowed ones of some points, and the start, as a list."""
    allowed = box.at(np.zeros(len(acted), dtype=np.intp)).allowed(block, acted)
    points = np.concatenate([box.start, acted[allowed]])
    _, first = np.unique(np.round(points, 9), axis=0, return_index=True)
    table = ends_of(block, box.start, points[np.sort(first)])
    return Listed(rows, block, table, np.zeros(len(rows), dtype=np.intp), np.full(len(rows), len(table)))
