"""Finding out what people can reach in a block: listed where it can be, drawn from otherwise."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import UsageError
from isonomia.interventions.blocks import Block
from isonomia.interventions.constraints.moves import Floats
from isonomia.interventions.enumeration import MOST_MOVES, enumerate_moves
from isonomia.interventions.memory import Memory
from isonomia.interventions.parts import Cut, Drawn, Listed, Part, Ranges, ends_of
from isonomia.interventions.pieces import Pieces, pieces_of
from isonomia.interventions.program import tightened
from isonomia.interventions.proposals import Boxes, accepted_share

__all__ = ["TIGHT", "solve"]

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
