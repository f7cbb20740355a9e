"""Interior-point projection onto it.

Newton's equations of a projection onto a shadow, reduced to one row a cell, equation and inequality.

What the letters stand for is said in :mod:`isonomia.evidence.identified.projection`.

An interior-point method for projections onto shadows, for many repetitions at once.

With ``m_ac = w_a h_ac`` (weights times estimate) the projection is the convex program

    maximise  sum over cells of m log q,    q = M x,  x >= 0,  E x = e,  G x + y = g,  y >= 0,

whose optimality conditions, with a price ``v`` a cell, ``eta`` an equation (the first is ``sum of x = 1``) and
``lam >= 0`` an inequality, are

    v q = m,    r = E' eta + G' lam - M' v >= 0,    x r = 0,    lam y = 0.

Newton's method is applied to them with both products held at a positive number that goes to zero, as Mehrotra (1992)
does: a step that aims at zero tells how far to aim, and corrects for the products' curvature. Every system is reduced
to one row a cell, equation and inequality, whatever the number of worlds.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from isonomia.evidence.identified.identified_set import Shadow

__all__ = ["ROUNDS", "Frame", "Iterate", "System", "solve"]


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


ROUNDS = 60
"""Rounds at most; seven to twelve are usual."""

PATIENCE = 4
"""Rounds without progress after which a search ends: rounding has eaten what was left to gain."""

TOGETHER = 128
"""Repetitions solved together at most: enough to spread the cost of a call, few enough to stay in a core's cache."""

ROOM = 2**21
"""Numbers that the largest array of repetitions solved together may have."""

NEAR = 0.995
"""The share of the way to the boundary that a step may go."""


def solve(shadow: Shadow, mass: Floats, tolerance: Floats) -> Iterate:
    """Find mixture and prices.

    Parameters
    ----------
    shadow
        The polytope.
    mass
        ``m`` for the cells that some world shows, summing to 1; zero in channels without draws.
    tolerance
        For each repetition, the sum of all products that should be zero at which the search ends.

    Returns
    -------
    Iterate
        The best found within ``ROUNDS``. Nothing rests on its accuracy but power.
    """
    frame = Frame.of(shadow)
    best = _setting_out(frame, mass)
    together = max(1, min(TOGETHER, ROOM // frame.rows.size))
    for first in range(0, len(mass), together):
        rows = np.arange(first, min(first + together, len(mass)))
        best.put(rows, _search(frame, best.take(rows), mass[rows], tolerance[rows]))
    return best


def _search(frame: Frame, best: Iterate, mass: Floats, tolerance: Floats) -> Iterate:
    """Take rounds until every repetition is done; improves ``best`` in place."""
    gap = _gap(frame, best, mass)
    rows = np.flatnonzero(gap > tolerance)
    here, waited = best.take(rows), np.zeros(len(rows), dtype=int)
    for _ in range(ROUNDS):
        if not len(rows):
            break
        with np.errstate(all="ignore"):
            here = _round(frame, here, mass[rows])
            now = _gap(frame, here, mass[rows])
        better = now < gap[rows]
        best.put(rows[better], here.take(np.flatnonzero(better)))
        gap[rows[better]] = now[better]
        waited = np.where(better, 0, waited + 1)
        going = np.flatnonzero((gap[rows] > tolerance[rows]) & (waited < PATIENCE) & np.isfinite(now))
        rows, here, waited = rows[going], here.take(going), waited[going]
    return best


def _setting_out(frame: Frame, mass: Floats) -> Iterate:
    """All worlds alike, and prices at which each is short of its cost."""
    repetitions, worlds = len(mass), frame.cells.shape[1]
    x = np.full((repetitions, worlds), 1.0 / worlds)
    v = mass / (x @ frame.cells.T)
    worth = v @ frame.cells
    eta = np.zeros((repetitions, len(frame.equal)))
    eta[:, 0] = 1.25 * worth.max(axis=1) + 0.25
    y = np.maximum(frame.at_most - x @ frame.below.T, 0.1)
    lam = np.full_like(y, 0.1)
    return Iterate(x, np.maximum(eta[:, :1] - worth + lam @ frame.below, 0.1), v, eta, lam, y)


def _gap(frame: Frame, at: Iterate, mass: Floats) -> Floats:
    """How far all conditions together are from being met."""
    short = np.abs(at.x @ frame.equal.T - frame.equal_to).sum(axis=1)
    short += np.abs(at.x @ frame.below.T + at.y - frame.at_most).sum(axis=1)
    cells = np.abs(at.v * (at.x @ frame.cells.T) - mass).sum(axis=1)
    return np.asarray((at.x * at.r).sum(axis=1) + (at.lam * at.y).sum(axis=1) + short + cells)


def _round(frame: Frame, at: Iterate, mass: Floats) -> Iterate:
    """One predictor, one corrector, one step."""
    q = at.x @ frame.cells.T
    system = System.of(frame, at, q)
    count = at.x.shape[1] + at.y.shape[1]
    now = ((at.x * at.r).sum(axis=1) + (at.lam * at.y).sum(axis=1)) / count
    aim = system.direction(-at.x * at.r, -at.lam * at.y, mass - at.v * q)
    there = at.moved(aim, *_shares(at, aim, q, aim.x @ frame.cells.T, 1.0))
    then = (np.maximum(there.x * there.r, 0.0).sum(axis=1) + np.maximum(there.lam * there.y, 0.0).sum(axis=1)) / count
    target = (now * np.clip(then / now, 1e-6, 1.0) ** 3)[:, None]
    step = system.direction(
        target - at.x * at.r - aim.x * aim.r,
        target - at.lam * at.y - aim.lam * aim.y,
        mass - at.v * q - aim.v * (aim.x @ frame.cells.T),
    )
    return at.moved(step, *_shares(at, step, q, step.x @ frame.cells.T, NEAR))


def _shares(at: Iterate, by: Iterate, q: Floats, to_q: Floats, near: float) -> tuple[Floats, Floats]:
    """How far one may go before something that must be positive is not."""
    primal = np.minimum(_room(at.x, by.x), np.minimum(_room(at.y, by.y), _room(q, to_q)))
    dual = np.minimum(_room(at.r, by.r), np.minimum(_room(at.lam, by.lam), _room(at.v, by.v)))
    return np.minimum(near * primal, 1.0), np.minimum(near * dual, 1.0)


def _room(value: Floats, change: Floats) -> Floats:
    return np.asarray(np.where(change < 0, value / -change, np.inf).min(axis=1, initial=1e30))
