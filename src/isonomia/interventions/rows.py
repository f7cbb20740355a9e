"""Uniform draws from a box that one linear row cuts, in any number of dimensions, exactly.

The box has real and whole values, and the row says ``least <= sum of w_j x_j <= most``, perhaps as an equation. Each
term is measured from the end of its range where it is smallest, so that all terms ``u_j`` are at least 0, independent,
and uniform in the box. One real term is last, and uniform in what the others leave to it. So a draw needs the others
with a density in proportion to the room that their sum leaves:

    h_k(s) = room for the last term after the sum s,    h_{j-1}(s) = E h_j(s + u_j)

A table of steps ``U_j >= h_j`` with ``U_{j-1}(s) >= E U_j(s + u_j)`` in every cell makes that exact. From the sum
``s``, term ``j`` is drawn with density ``U_j(s + u_j) / E U_j(s + u_j)`` and kept with probability ``E U_j(s + u_j) /
U_{j-1}(s)``; in the end all are kept with probability ``h_k(s) / U_k(s)``, or the draw starts again.

*Guarantee.* The product of these is ``h_k(s) / U_0(0)`` for each point, so what is kept is exactly uniform, up to
rounding, whatever the width of the cells: they change only how much is kept. (Rejection by a bound at each stage; L.
Devroye, "Non-Uniform Random Variate Generation", 1986, section II.3.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import NumericalError
from isonomia.interventions.blocks import MixedIntegerProgram
from isonomia.interventions.constraints.base import Bools, Floats

_CELLS = 1024
"""Cells of a table: with twenty terms, most draws are kept. Changes the cost only."""
_MAX_ROUNDS = 1000
"""Rounds without a draw that was kept before giving up; tables keep far more."""
_MOST_VALUES = 10_000
"""Whole values of a term; more would make its table slow."""


@dataclass(frozen=True, slots=True, eq=False)
class RowMoves:
    """Uniform draws from the moves in a box that one row cuts.

    Attributes
    ----------
    low, high, whole
        The box, one entry for each column, and which columns have whole values.
    weights
        The row; 0 for columns that are free of it.
    terms, last
        The columns of the terms in the order in which they are drawn, and that of the last one.
    sizes
        The largest value of each term, and of the last.
    least, most
        What the terms add up to.
    cell, tables
        The width of a cell, and a table for the sum before each term and one for that before the last.
    """

    low: Floats
    high: Floats
    whole: Bools
    weights: Floats
    terms: tuple[int, ...]
    last: int
    sizes: Floats
    least: float
    most: float
    cell: float
    tables: tuple[Floats, ...]
    exact: bool = True

    @property
    def kept(self) -> float:
        """A bound on the share of the box that the row allows, which compares rows."""
        return float(self.tables[0][0])

    def draw(self, n: int, rng: np.random.Generator) -> Floats:
        """Independent uniform moves, as acted values."""
        found, count = list[Floats](), 0
        for _ in range(_MAX_ROUNDS):
            found.append(self._proposed(max(2 * (n - count), 64), rng))
            count += len(found[-1])
            if count >= n:
                return np.concatenate(found)[:n]
        raise NumericalError("a linear row leaves so little of the ranges that no point of it was found; loosen it")

    def _proposed(self, n: int, rng: np.random.Generator) -> Floats:
        """The draws that are kept, of ``n``."""
        values = np.tile(self.low, (n, 1))
        for j in np.flatnonzero((self.weights == 0) & (self.high > self.low)).tolist():
            width, share = self.high[j] - self.low[j], rng.random(n)
            values[:, j] += np.floor(share * (width + 1.0)) if self.whole[j] else share * width
        total, keep = np.zeros(n), np.ones(n, dtype=bool)
        for number, j in enumerate(self.terms):
            bound = self.tables[number][self._cells(total)]
            table, size = self.tables[number + 1], float(self.sizes[number])
            if self.whole[j]:
                term, mass = self._whole_term(table, total, abs(float(self.weights[j])), size, rng)
            else:
                term, mass = self._real_term(table, total, size, rng)
            keep &= rng.random(n) * bound <= mass
            total += term
            values[:, j] = self._value(j, term)
        below, above = _room(total, self.sizes[-1], self.least, self.most)
        fits = _height(total, self.sizes[-1], self.least, self.most)
        keep &= rng.random(n) * self.tables[-1][self._cells(total)] <= fits
        keep &= fits > 0
        values[:, self.last] = self._value(self.last, below + rng.random(n) * (above - below))
        return values[keep]

    def _value(self, j: int, term: Floats) -> Floats:
        step = term / abs(self.weights[j])
        if self.whole[j]:
            step = np.round(step)
        return np.asarray(self.low[j] + step if self.weights[j] > 0 else self.high[j] - step)

    def _cells(self, total: Floats) -> NDArray[np.intp]:
        return np.minimum((total / self.cell).astype(np.intp), len(self.tables[0]) - 1)

    def _real_term(self, table: Floats, total: Floats, size: float, rng: np.random.Generator) -> tuple[Floats, Floats]:
        grid, area = _area(table, self.cell)
        first, end = np.interp(total, grid, area), np.interp(total + size, grid, area)
        reached = np.interp(first + rng.random(len(total)) * (end - first), area, grid)
        return np.clip(reached - total, 0.0, size), (end - first) / size

    def _whole_term(
        self, table: Floats, total: Floats, step: float, size: float, rng: np.random.Generator
    ) -> tuple[Floats, Floats]:
        values = np.arange(round(size / step) + 1) * step
        at = total[:, None] + values
        heights = np.where(at < self.cell * len(table), table[self._cells(at)], 0.0)
        ends = np.cumsum(heights, axis=1)
        chosen = (ends < rng.random(len(total))[:, None] * ends[:, -1:]).sum(axis=1)
        return values[np.minimum(chosen, len(values) - 1)], ends[:, -1] / len(values)


def row_moves(program: MixedIntegerProgram, count: int) -> RowMoves | None:
    """The draws of the tightest row of a program that is over its first ``count`` columns alone; ``None`` without any.

    The draws satisfy this row and need not satisfy the others. An equation over real values is always taken, and there
    must be at most one: by chance, none is met.
    """
    low, high = program.least[:count], program.most[:count]
    real = ~program.whole[:count] & (high > low)
    rows = {
        row.tobytes(): row
        for row in np.column_stack([program.matrix, program.low, program.high])
        if row[:count][real].any() and not row[count:-2].any()
    }
    equations = [row for row in rows.values() if row[-2] == row[-1]]
    if len(equations) > 1:
        return None
    box = low, high, program.whole[:count]
    made = [_made(*box, row[:count], row[-2], row[-1]) for row in equations or rows.values()]
    return min((one for one in made if one is not None), key=lambda one: one.kept, default=None)


def _made(low: Floats, high: Floats, whole: Bools, weights: Floats, least: float, most: float) -> RowMoves | None:
    """The tables of one row in a box."""
    low, high = low.copy(), high.copy()
    free = np.flatnonzero((weights != 0) & (high > low))
    shift = float(np.minimum(weights * low, weights * high).sum())
    total = float((np.abs(weights) * (high - low)).sum())
    if least - shift > total / 2 and most - shift > total / 2 and np.isfinite(least):
        # Measured from the other ends, the sums are small, and the cells where the draws are.
        return _made(low, high, whole, -weights, -most, -least)
    least, most = max(least - shift, 0.0), min(most - shift, total)
    if most < least:
        return None
    for j in free:  # no term can be larger than what they add up to
        reach = min(high[j] - low[j], most / abs(weights[j]))
        reach = np.floor(reach + 1e-9) if whole[j] else reach
        if weights[j] > 0:
            high[j] = low[j] + reach
        else:
            low[j] = high[j] - reach
    sizes = np.abs(weights) * (high - low)
    moving = [int(j) for j in free if high[j] > low[j]]
    real = [j for j in moving if not whole[j]]
    if not real or any(whole[j] and high[j] - low[j] >= _MOST_VALUES for j in moving):
        return None
    last = max(real, key=lambda j: sizes[j])
    terms = tuple(sorted((j for j in moving if j != last), key=lambda j: -sizes[j]))
    cell = max(min(float(sizes[list(terms)].sum()), most), 1e-300) * (1.0 + 1e-12) / _CELLS
    each = [(float(sizes[j]), abs(float(weights[j])) if whole[j] else 0.0) for j in terms]
    tables = _tables(cell, each, float(sizes[last]), least, most)
    return RowMoves(low, high, whole, weights, terms, last, sizes[[*terms, last]], least, most, cell, tables)


def _tables(
    cell: float, terms: Sequence[tuple[float, float]], size: float, least: float, most: float
) -> tuple[Floats, ...]:
    """The bounds, from the one before the last term back to the one before the first."""
    grid = cell * np.arange(_CELLS + 1)
    corners = np.asarray([least - size, least, most - size, most])
    inner = np.clip(corners[:, None], grid[:-1], grid[1:])
    ends = np.stack([grid[:-1], grid[1:], *inner])
    tables = [_height(ends, size, least, most).max(axis=0)]
    for width, step in reversed(terms):
        table = tables[0]
        if step:
            offsets = np.arange(round(width / step) + 1) * step
            at = ((grid[:-1, None] + offsets) / cell).astype(np.intp)
            padded = np.append(table, [0.0, 0.0])
            near = np.minimum(at, _CELLS)
            # A value may lie in a cell or, from the end of one, in the next; one more absorbs rounding.
            heights = np.maximum(padded[near], padded[np.minimum(near + 1, _CELLS)])
            tables.insert(0, np.maximum(heights, padded[np.maximum(near - 1, 0)]).mean(axis=1))
            continue
        points, area = _area(table, cell)
        breaks = np.clip(np.ceil((grid[:-1] + width) / cell) * cell - width, grid[:-1], grid[1:])
        starts = np.stack([grid[:-1], grid[1:], breaks])
        bound = (np.interp(starts + width, points, area) - np.interp(starts, points, area)).max(axis=0) / width
        tables.insert(0, bound * (1.0 + 1e-12))
    return tuple(tables)


def _area(table: Floats, cell: float) -> tuple[Floats, Floats]:
    """The ends of the cells, and the area of a table up to each."""
    return np.asarray(cell * np.arange(len(table) + 1), dtype=np.float64), np.concatenate(
        [[0.0], np.cumsum(table) * cell]
    )


def _room(total: Floats, size: float, least: float, most: float) -> tuple[Floats, Floats]:
    """The least and greatest value of the last term after a sum of the others."""
    return np.maximum(least - total, 0.0), np.minimum(most - total, size)


def _height(total: Floats, size: float, least: float, most: float) -> Floats:
    """The room for the last term, as a share of the most there is; for an equation, whether there is any."""
    below, above = _room(total, size, least, most)
    if most == least:
        return (below <= above).astype(np.float64)
    return np.maximum(above - below, 0.0) / min(size, most - least)
