"""All moves of many people in a discrete block, by growing a table one feature at a time.

Each round gives every row of the table all values that its next feature can take, and drops the rows that some
constraint forbids however the remaining features are chosen. All rows are handled together, and no solver is needed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isonomia.interventions.blocks import Boxes, FeatureBlock
from isonomia.interventions.constraints.base import Bools, Floats, Moves

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

    Guarantee: exactly the moves that satisfy every constraint, and the one that changes nothing, each once; of moves
    that lead to the same point, one. A person whose table would have more than ``most`` rows is left out.
    """
    if not len(start):
        return Enumerated(np.zeros((0, len(block.columns))), np.zeros(0, dtype=np.intp))
    grown = _grown(block, Boxes.of(block, start), most)
    if grown is None:
        half = len(start) // 2
        parts = [enumerate_moves(block, part, most) for part in (start[:half], start[half:])]
        return Enumerated(np.concatenate([p.acted for p in parts]), np.concatenate([p.counts for p in parts]))
    acted, owner = _completed(block, start, *grown)
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


def _completed(block: FeatureBlock, start: Floats, table: _Table, large: Bools) -> tuple[Floats, NDArray[np.intp]]:
    """The moves in order, with the one that changes nothing, and with only one move to each point."""
    acted, owner = table.low, table.owner
    absent = ~large
    absent[owner[(acted == start[owner]).all(-1)]] = False
    if absent.any():
        added = np.flatnonzero(absent)
        owner, acted = np.concatenate([added, owner]), np.concatenate([start[added], acted])
    # The order must not depend on who else is in the batch, so that a draw by number means the same point.
    order = np.lexsort((*acted.T[::-1], owner))
    owner, acted = owner[order], acted[order]
    if block.one_to_one:
        return acted, owner
    change = (acted - start[owner]) @ np.hstack([block.effect, block.onto])
    _, first = np.unique(np.column_stack([owner, np.round(change, 9)]), axis=0, return_index=True)
    first.sort()
    return acted[first], owner[first]
