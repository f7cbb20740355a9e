"""An interior-point method for projections onto shadows, for many repetitions at once.

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

import numpy as np
from numpy.typing import NDArray

from isonomia.evidence.shadows.shadow import Shadow
from isonomia.evidence.shadows.system import Frame, Iterate, System

__all__ = ["ROUNDS", "solve"]

Floats = NDArray[np.float64]

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
