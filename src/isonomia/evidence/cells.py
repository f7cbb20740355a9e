"""Cells: all that is kept of a draw.

A yes/no leaf has the cells 0 and 1. A number in ``[low, high]`` has a grid of nodes, and a draw between two nodes
counts for both in proportion to how near it is. That keeps the mean exactly, and it can only lower a wealth: a factor
is affine in the number, its logarithm concave, and a concave function lies above its chord. So a histogram of constant
size is enough for bets that are chosen later, at no cost in soundness and next to none in power.

Several leaves of one group have the product of their cells, since within a draw they are not independent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

__all__ = ["MOST_CELLS", "Grid", "grid_for"]

Floats = NDArray[np.float64]

MOST_CELLS = 1024
"""How many cells a channel may have."""

NODES = 129
"""Nodes of a number that is alone in its channel."""


@dataclass(frozen=True, slots=True)
class Grid:
    """The cells of a channel: for each leaf its nodes, from its lowest to its highest possible value."""

    nodes: tuple[tuple[float, ...], ...]

    @property
    def size(self) -> int:
        """How many cells there are."""
        return prod(len(axis) for axis in self.nodes)

    def values(self) -> Floats:
        """The leaves' values in each cell: shape ``(cells, leaves)``."""
        mesh = np.meshgrid(*[np.asarray(axis) for axis in self.nodes], indexing="ij")
        return np.stack([axis.ravel() for axis in mesh], axis=-1)

    def prior(self) -> Floats:
        """The weight of each cell before anything is seen.

        Two imagined draws over the corners, where every leaf is at an end of its range: every possible mean is then
        possible under the estimate, and no stake can make a factor negative.
        """
        corner = np.ones(1)
        for axis in self.nodes:
            ends = np.zeros(len(axis))
            ends[0] = ends[-1] = 1.0
            corner = np.multiply.outer(corner, ends).ravel()
        return np.asarray(2.0 * corner / corner.sum())

    def tally(self, columns: Sequence[NDArray[np.bool_] | Floats]) -> Floats:
        """Count draws: one column a leaf, all of one length. Numbers must lie within their range."""
        if self.size == 2 and columns[0].dtype == np.bool_:
            yes = float(np.count_nonzero(columns[0]))
            return np.asarray([len(columns[0]) - yes, yes])
        index = np.zeros(len(columns[0]), dtype=np.intp)
        parts = [(index, np.ones(len(index)))]
        for axis, column in zip(self.nodes, columns, strict=True):
            parts = _spread(parts, axis, column)
        total = np.zeros(self.size)
        for where, weight in parts:
            total += np.bincount(where, weights=weight, minlength=self.size)
        return total


def grid_for(kinds: Sequence[tuple[float, float] | None]) -> Grid | None:
    """Make the grid of a channel: ``None`` stands for a yes/no leaf, a pair for a number's range.

    Returns ``None`` where the leaves are too many for ``MOST_CELLS`` cells.
    """
    numbers = sum(kind is not None for kind in kinds)
    room = MOST_CELLS // 2 ** (len(kinds) - numbers)
    nodes = NODES if numbers == 1 else int(room ** (1.0 / max(numbers, 1)))
    nodes = min(nodes, room)
    if room < 1 or (numbers and nodes < 3):
        return None
    return Grid(tuple((0.0, 1.0) if kind is None else tuple(np.linspace(*kind, nodes).tolist()) for kind in kinds))


def _spread(
    parts: list[tuple[NDArray[np.intp], Floats]], axis: tuple[float, ...], column: NDArray[np.bool_] | Floats
) -> list[tuple[NDArray[np.intp], Floats]]:
    if column.dtype == np.bool_:
        return [(where * len(axis) + column.astype(np.intp), weight) for where, weight in parts]
    position = (column - axis[0]) * ((len(axis) - 1) / (axis[-1] - axis[0]))
    below = np.clip(np.floor(position), 0, len(axis) - 2)
    above = np.clip(position - below, 0.0, 1.0)
    node = below.astype(np.intp)
    return [
        item
        for where, weight in parts
        for item in ((where * len(axis) + node, weight * (1.0 - above)), (where * len(axis) + node + 1, weight * above))
    ]
