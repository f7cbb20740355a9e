"""Newton's equations of a projection onto a shadow, reduced to one row a cell, equation and inequality.

What the letters stand for is said in :mod:`isonomia.evidence.shadows.interior`.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from isonomia.evidence.shadows.shadow import Shadow

__all__ = ["Frame", "Iterate", "System"]

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]

SMALL = 2048
"""Numbers that a table of the products of all rows may have; a larger one is slower than multiplying row by row."""


@dataclass(frozen=True, slots=True)
class Iterate:
    """Where the search stands, or how it moves; a row a repetition.

    Attributes
    ----------
    x, r
        The mixture and what each world is short of its cost: ``(repetitions, worlds)``.
    v
        The price of each cell that some world shows, channel after channel: ``(repetitions, such cells)``.
    eta
        The price of each equation, the first being ``sum of x = 1``.
    lam, y
        The price of each inequality, and how far it is from being tight.
    """

    x: Floats
    r: Floats
    v: Floats
    eta: Floats
    lam: Floats
    y: Floats

    def take(self, rows: Rows) -> Iterate:
        """The same for some of the repetitions."""
        return Iterate(*(getattr(self, part.name)[rows] for part in fields(self)))

    def put(self, rows: Rows, other: Iterate) -> None:
        """Write some of the repetitions."""
        for part in fields(self):
            getattr(self, part.name)[rows] = getattr(other, part.name)

    def moved(self, by: Iterate, primal: Floats, dual: Floats) -> Iterate:
        """Go along a direction: mixture and slacks by one share of it, prices by another."""
        p, d = primal[:, None], dual[:, None]
        return Iterate(
            self.x + p * by.x,
            self.r + d * by.r,
            self.v + d * by.v,
            self.eta + d * by.eta,
            self.lam + d * by.lam,
            self.y + p * by.y,
        )


@dataclass(frozen=True, slots=True)
class Frame:
    """The matrices of a shadow, stacked: a row a cell that some world shows, then an equation, then an inequality."""

    cells: Floats
    equal: Floats
    equal_to: Floats
    below: Floats
    at_most: Floats
    rows: Floats
    pairs: Floats | None

    @classmethod
    def of(cls, shadow: Shadow) -> Frame:
        """Stack them; ``pairs`` makes the products of all rows at once, where they are few."""
        cells = shadow.shows[shadow.possible]
        equal = np.vstack([np.ones((1, shadow.worlds)), shadow.equal])
        rows = np.vstack([cells, equal, shadow.below])
        pairs = None
        if len(rows) ** 2 * shadow.worlds <= SMALL:
            pairs = (rows[:, None, :] * rows[None, :, :]).reshape(-1, shadow.worlds).T
        return cls(cells, equal, np.concatenate([[1.0], shadow.equal_to]), shadow.below, shadow.at_most, rows, pairs)

    def products(self, weights: Floats) -> Floats:
        """``rows @ diag(weights) @ rows'`` for each repetition."""
        if self.pairs is not None:
            return np.asarray((weights @ self.pairs).reshape(len(weights), len(self.rows), len(self.rows)))
        return np.asarray((self.rows * weights[:, None, :]) @ self.rows.T)


@dataclass(frozen=True, slots=True)
class System:
    """Newton's equations at a point, ready for several right-hand sides."""

    frame: Frame
    at: Iterate
    q: Floats
    spread: Floats
    scale: Floats
    matrix: Floats

    @classmethod
    def of(cls, frame: Frame, at: Iterate, q: Floats) -> System:
        """Eliminate the worlds: what is left has a row a cell, equation and inequality, scaled to be well behaved."""
        spread = at.x / at.r
        scale = np.ones((len(q), len(frame.rows)))
        scale[:, : q.shape[1]] = np.sqrt(at.v / q)
        scale[:, q.shape[1] + at.eta.shape[1] :] = np.sqrt(at.lam / at.y)
        matrix = frame.products(spread)
        matrix *= scale[:, :, None]
        matrix *= scale[:, None, :]
        diagonal = np.ones(len(frame.rows))
        diagonal[q.shape[1] : q.shape[1] + at.eta.shape[1]] = 0.0
        index = np.arange(len(frame.rows))
        matrix[:, index, index] = matrix[:, index, index] * (1.0 + 1e-13) + diagonal + 1e-300
        return cls(frame, at, q, spread, scale, matrix)

    def direction(self, to_world: Floats, to_slack: Floats, to_cell: Floats) -> Iterate:
        """The step that changes the products ``x r``, ``lam y`` and ``v q`` by the given amounts, to first order."""
        frame, at, q = self.frame, self.at, self.q
        dual = at.eta @ frame.equal + at.lam @ frame.below - at.v @ frame.cells - at.r
        b1 = to_world / at.x - dual + (to_cell / q) @ frame.cells
        b2 = at.x @ frame.equal.T - frame.equal_to
        b3 = at.x @ frame.below.T + at.y - frame.at_most + to_slack / at.lam
        right = (self.spread * b1) @ frame.rows.T
        cells, last = q.shape[1], q.shape[1] + at.eta.shape[1]
        right[:, cells:last] += b2
        right[:, last:] += b3
        found = self.scale * _solved(self.matrix, self.scale * right)
        x = self.spread * (b1 - found @ frame.rows)
        v = (to_cell - at.v * (x @ frame.cells.T)) / q
        lam = found[:, last:]
        y = (to_slack - at.y * lam) / at.lam
        return Iterate(x, (to_world - at.r * x) / at.x, v, found[:, cells:last], lam, y)


def _solved(matrix: Floats, right: Floats) -> Floats:
    """Solve for each repetition; where one of the matrices is singular to the last bit, with a ridge."""
    try:
        return np.asarray(np.linalg.solve(matrix, right[:, :, None])[:, :, 0])
    except np.linalg.LinAlgError:
        ridge = 1e-12 * (np.trace(matrix, axis1=1, axis2=2)[:, None, None] + 1.0) * np.eye(matrix.shape[-1])
        return np.asarray(np.linalg.solve(matrix + ridge, right[:, :, None])[:, :, 0])
