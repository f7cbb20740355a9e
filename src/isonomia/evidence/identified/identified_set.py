"""The identified set of a hypothesis: the cell probabilities that some admitted mixture of worlds produces.

Projection onto identified sets by an interior-point method, for many repetitions at once.

With ``m_ac = w_a h_ac`` (weights times estimate) the projection is the convex program

    maximise  sum over cells of m log q,    q = M x,  x >= 0,  E x = e,  G x + y = g,  y >= 0,

whose optimality conditions, with a multiplier ``v`` for each cell, ``eta`` for each equation (the first is ``sum of x =
1``) and ``lam >= 0`` for each inequality, are

    v q = m,    r = E' eta + G' lam - M' v >= 0,    x r = 0,    lam y = 0.

Newton's method is applied to these conditions with both products held at a positive number that goes to zero, as in
Mehrotra (1992): a trial step that aims at zero tells how far to aim, and corrects for the products' curvature. Every
system is reduced to one row per cell, equation and inequality, whatever the number of worlds. A *slope*, a linear
function of the mixture, may be added to what is maximised; then it is subtracted from ``r``.

The accuracy of a projection affects only power and running time: every bet made from one is valid
(:mod:`isonomia.evidence.identified.bets`). So no number in this module can make a verdict wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import UsageError

Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]
Integers = NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class IdentifiedSet:
    """The polytope ``{(M_a x)_a : x >= 0, sum of x = 1, E x = e, G x <= g}``.

    Attributes
    ----------
    observation
        ``M``: 1 where a world falls into a cell of a channel, else 0; shape ``(channels, cells, worlds)``.
    equal, equal_to
        ``E`` and ``e``: shapes ``(equations, worlds)`` and ``(equations,)``.
    below, at_most
        ``G`` and ``g``: shapes ``(inequalities, worlds)`` and ``(inequalities,)``.
    kept_worlds
        The indices of the worlds that are left, among those it was made of.
    """

    observation: Floats
    equal: Floats
    equal_to: Floats
    below: Floats
    at_most: Floats
    kept_worlds: Integers

    @classmethod
    def of(
        cls,
        observation: Floats,
        equal: tuple[Floats, Floats] | None = None,
        below: tuple[Floats, Floats] | None = None,
    ) -> IdentifiedSet:
        """Make the set; each pair is a matrix with one column per world, and its right-hand side.

        Worlds that the constraints rule out are left out, and so are equations that follow from others: the set is the
        same, and its mixtures have an interior.
        """
        shows = np.asarray(observation, dtype=float)
        if shows.ndim != 3 or not bool(np.isin(shows, (0.0, 1.0)).all()) or not bool((shows.sum(axis=1) == 1.0).all()):
            message = f"expected a table of 0 and 1, with one 1 per world and channel, but got shape {shows.shape}"
            raise UsageError(message, name="observation")
        worlds = shows.shape[-1]
        (e, e_right), (g, g_right) = _rows("equal", equal, worlds), _rows("below", below, worlds)
        possible = _possible(e, e_right, g, g_right)
        e, g = e[:, possible], g[:, possible]
        kept_e, kept_g = _independent(e, e_right), g.any(axis=1) | (g_right < 0)
        return cls(
            shows[:, :, possible], e[kept_e], e_right[kept_e], g[kept_g], g_right[kept_g], np.flatnonzero(possible)
        )

    @property
    def channels(self) -> int:
        """How many channels there are."""
        return int(self.observation.shape[0])

    @property
    def cells(self) -> int:
        """How many cells a channel has."""
        return int(self.observation.shape[1])

    @property
    def worlds(self) -> int:
        """How many worlds there are."""
        return int(self.observation.shape[2])

    @property
    def possible_cells(self) -> Booleans:
        """Which cells some world shows: shape ``(channels, cells)``."""
        return np.asarray(self.observation.any(axis=-1))

    def is_empty(self) -> bool:
        """Whether no mixture is admitted, to the accuracy of a linear program.

        HiGHS calls a program infeasible only where constraints are missed by more than its tolerance (1e-7). So a set
        that is empty by less may count as non-empty, which costs draws; a set with a point in it is not dropped.
        """
        from scipy.optimize import linprog

        if not self.worlds:
            return True
        result = linprog(
            np.zeros(self.worlds),
            A_ub=self.below if len(self.below) else None,
            b_ub=self.at_most if len(self.below) else None,
            A_eq=np.vstack([np.ones((1, self.worlds)), self.equal]),
            b_eq=np.concatenate([[1.0], self.equal_to]),
        )
        return bool(result.status == 2)


def _rows(name: str, given: tuple[Floats, Floats] | None, worlds: int) -> tuple[Floats, Floats]:
    if given is None:
        return np.zeros((0, worlds)), np.zeros(0)
    matrix, right = np.asarray(given[0], dtype=float), np.asarray(given[1], dtype=float)
    if matrix.ndim != 2 or matrix.shape[1] != worlds or right.shape != (len(matrix),):
        shapes = f"{matrix.shape} and {right.shape}"
        raise UsageError(f"expected {name} as a matrix of {worlds} columns and a right side per row, but got {shapes}")
    return matrix, right


def _possible(e: Floats, e_right: Floats, g: Floats, g_right: Floats) -> Booleans:
    """Which worlds may have positive probability: not those that a one-sided constraint forces to 0."""
    possible = np.ones(e.shape[1], dtype=bool)
    zero = np.vstack([e[e_right == 0], -e[e_right == 0], g[g_right == 0]])
    while True:
        one_sided = (zero[:, possible] >= 0).all(axis=1)
        ruled_out = (zero[one_sided] > 0).any(axis=0) & possible
        if not ruled_out.any():
            return possible
        possible &= ~ruled_out


def _independent(matrix: Floats, right: Floats) -> Booleans:
    """Keep equations that do not follow from the ones before them and from ``sum of x = 1``.

    NumPy's rank counts an equation as dependent where rounding cannot tell. Dropping it can only enlarge the set, which
    can cost power but never validity.
    """
    independent = np.zeros(len(matrix), dtype=bool)
    stack = np.append(np.ones(matrix.shape[1]), 1.0)[None, :]
    for j, row in enumerate(matrix):
        larger = np.vstack([stack, np.append(row, right[j])])
        if np.linalg.matrix_rank(larger) > len(stack):
            independent[j], stack = True, larger
    return independent


Rows = NDArray[np.intp]

MAX_PAIRS = 2048
"""The largest table of the products of all rows; a larger one is slower than multiplying row by row. Changes cost
only."""

MAX_ROUNDS = 60
"""At most this many Newton steps; seven to twelve are usual. Stopping early makes a worse bet, but a valid one. Changes
power only."""

MAX_STALLED = 4
"""Steps without progress after which a search ends: what is left to gain is below rounding. Any point where it ends
makes a valid bet, so it changes power and cost only."""

MAX_TOGETHER = 128
"""At most this many repetitions are solved together: enough to spread the cost of a call, few enough to stay in a
core's cache. Changes cost only."""

DENSE = 2**15
"""Numbers in the largest stack of rows that is kept whole; of a larger one only what is not 0, a few numbers for each
world. Changes cost only."""

MAX_NUMBERS = 2**21
"""Numbers in the largest array of repetitions solved together: 16 MiB of doubles. Changes cost only."""

STEP_SHARE = 0.995
"""The share of the way to the boundary that a step may go; customary for interior-point methods. Changes power and cost
only."""


class Iterate(NamedTuple):
    """A point of the search, or a direction; one row per repetition.

    Attributes
    ----------
    x, r
        The mixture and the reduced cost of each world: ``(repetitions, worlds)``.
    v
        The multiplier of each cell that some world shows, channel after channel: ``(repetitions, such cells)``.
    eta
        The multiplier of each equation, the first being ``sum of x = 1``.
    lam, y
        The multiplier and the slack of each inequality.
    """

    x: Floats
    r: Floats
    v: Floats
    eta: Floats
    lam: Floats
    y: Floats

    def take(self, rows: Rows) -> Iterate:
        """The same for some of the repetitions."""
        return Iterate(*(part[rows] for part in self))

    def put(self, rows: Rows, other: Iterate) -> None:
        """Write some of the repetitions."""
        for own, part in zip(self, other, strict=True):
            own[rows] = part

    def moved(self, by: Iterate, primal: Floats, dual: Floats) -> Iterate:
        """Move along a direction: mixture and slacks by one step length, multipliers by another."""
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
class ConstraintMatrix:
    """The rows of an identified set, stacked: the cells that some world shows, the equations, the inequalities.

    Large ones are sparse arrays.
    """

    cells: Any
    equal: Any
    equal_to: Floats
    below: Any
    at_most: Floats
    rows: Any
    pairs: Any

    @classmethod
    def of(cls, identified: IdentifiedSet) -> ConstraintMatrix:
        """Stack the rows; ``pairs`` holds the products of all pairs of rows, where they are few."""
        cells = identified.observation[identified.possible_cells]
        equal = np.vstack([np.ones((1, identified.worlds)), identified.equal])
        rows = np.vstack([cells, equal, identified.below])
        pairs, keep = None, np.asarray
        if len(rows) ** 2 * identified.worlds <= MAX_PAIRS:
            pairs = (rows[:, None, :] * rows[None, :, :]).reshape(-1, identified.worlds).T
        elif rows.size > DENSE:
            from scipy.sparse import csr_array

            pairs, keep = _sparse_pairs(rows), csr_array
        right = np.concatenate([[1.0], identified.equal_to])
        return cls(keep(cells), keep(equal), right, keep(identified.below), identified.at_most, keep(rows), pairs)

    def products(self, weights: Floats) -> Floats:
        """``rows @ diag(weights) @ rows'`` for each repetition."""
        if self.pairs is not None:
            return np.ascontiguousarray((weights @ self.pairs).reshape(len(weights), *[self.rows.shape[0]] * 2))
        return np.asarray((self.rows * weights[:, None, :]) @ self.rows.T)


def _sparse_pairs(rows: Floats) -> Any:
    """The products of all pairs of rows, world by world, without those that are 0: shape ``(worlds, rows ** 2)``."""
    from scipy.sparse import csr_array

    world, row = np.nonzero(rows.T)
    counts = np.bincount(world, minlength=rows.shape[1])
    ends = np.cumsum(counts)
    left = np.repeat(np.arange(len(world)), counts[world])
    first = np.repeat((ends - counts)[world], counts[world])
    before = np.repeat(np.cumsum(counts[world]) - counts[world], counts[world])
    right = first + np.arange(len(left)) - before
    values = rows[row[left], world[left]] * rows[row[right], world[right]]
    places = (world[left], row[left] * len(rows) + row[right])
    return csr_array((values, places), shape=(rows.shape[1], len(rows) ** 2))


@dataclass(frozen=True, slots=True)
class NewtonSystem:
    """Newton's equations at a point, ready for several right-hand sides."""

    constraints: ConstraintMatrix
    at: Iterate
    slope: Floats
    q: Floats
    spread: Floats
    scale: Floats
    matrix: Floats

    @classmethod
    def of(cls, constraints: ConstraintMatrix, at: Iterate, slope: Floats, q: Floats) -> NewtonSystem:
        """Eliminate the worlds: what is left has one row per cell, equation and inequality, scaled to similar size."""
        spread = at.x / at.r
        scale = np.ones((len(q), constraints.rows.shape[0]))
        scale[:, : q.shape[1]] = np.sqrt(at.v / q)
        scale[:, q.shape[1] + at.eta.shape[1] :] = np.sqrt(at.lam / at.y)
        matrix = constraints.products(spread)
        matrix *= scale[:, :, None]
        matrix *= scale[:, None, :]
        diagonal = np.ones(constraints.rows.shape[0])
        diagonal[q.shape[1] : q.shape[1] + at.eta.shape[1]] = 0.0
        index = np.arange(constraints.rows.shape[0])
        # Slightly more than rounding, so that nearly dependent rows stay solvable.
        matrix[:, index, index] = matrix[:, index, index] * (1.0 + 1e-13) + diagonal + 1e-300
        return cls(constraints, at, slope, q, spread, scale, matrix)

    def direction(self, to_world: Floats, to_slack: Floats, to_cell: Floats) -> Iterate:
        """The step that changes the products ``x r``, ``lam y`` and ``v q`` by the given amounts, to first order."""
        constraints, at, q = self.constraints, self.at, self.q
        dual = at.eta @ constraints.equal + at.lam @ constraints.below - at.v @ constraints.cells - self.slope - at.r
        b1 = to_world / at.x - dual + (to_cell / q) @ constraints.cells
        b2 = at.x @ constraints.equal.T - constraints.equal_to
        b3 = at.x @ constraints.below.T + at.y - constraints.at_most + to_slack / at.lam
        right = (self.spread * b1) @ constraints.rows.T
        cells, last = q.shape[1], q.shape[1] + at.eta.shape[1]
        right[:, cells:last] += b2
        right[:, last:] += b3
        multipliers = self.scale * _solve_linear(self.matrix, self.scale * right)
        x = self.spread * (b1 - multipliers @ constraints.rows)
        v = (to_cell - at.v * (x @ constraints.cells.T)) / q
        lam = multipliers[:, last:]
        y = (to_slack - at.y * lam) / at.lam
        return Iterate(x, (to_world - at.r * x) / at.x, v, multipliers[:, cells:last], lam, y)


def _solve_linear(matrix: Floats, right: Floats) -> Floats:
    """Solve for each repetition; where one of the matrices is exactly singular, with a small ridge."""
    try:
        return np.asarray(np.linalg.solve(matrix, right[:, :, None])[:, :, 0])
    except np.linalg.LinAlgError:
        ridge = 1e-12 * (np.trace(matrix, axis1=1, axis2=2)[:, None, None] + 1.0) * np.eye(matrix.shape[-1])
        return np.asarray(np.linalg.solve(matrix + ridge, right[:, :, None])[:, :, 0])


def solve(identified: IdentifiedSet, mass: Floats, tolerance: Floats, slope: Floats | None = None) -> Iterate:
    """Find the mixture and the multipliers of a projection, as accurately as ``MAX_ROUNDS`` allows.

    ``mass`` is ``m`` for the cells that some world shows, summing to 1, zero in channels without draws. A repetition's
    search ends when its conditions are violated by at most its ``tolerance`` in total. ``slope`` is a number for each
    repetition and world; by default 0.
    """
    constraints = ConstraintMatrix.of(identified)
    slopes = np.zeros((len(mass), 1)) if slope is None else slope
    best = _initial(constraints, mass, slopes)
    largest = constraints.rows.size if constraints.pairs is None else identified.worlds
    together = max(1, min(MAX_TOGETHER, MAX_NUMBERS // largest))
    for first in range(0, len(mass), together):
        rows = np.arange(first, min(first + together, len(mass)))
        best.put(rows, _search(constraints, best.take(rows), mass[rows], slopes[rows], tolerance[rows]))
    return best


def _search(constraints: ConstraintMatrix, best: Iterate, mass: Floats, slope: Floats, tolerance: Floats) -> Iterate:
    """Take Newton steps until every repetition is done; improves ``best`` in place."""
    gap = _gap(constraints, best, mass)
    rows = np.flatnonzero(gap > tolerance)
    here, waited = best.take(rows), np.zeros(len(rows), dtype=int)
    for _ in range(MAX_ROUNDS):
        if not len(rows):
            break
        with np.errstate(all="ignore"):
            here = _newton_step(constraints, here, mass[rows], slope[rows])
            now = _gap(constraints, here, mass[rows])
        better = now < gap[rows]
        best.put(rows[better], here.take(np.flatnonzero(better)))
        gap[rows[better]] = now[better]
        waited = np.where(better, 0, waited + 1)
        going = np.flatnonzero((gap[rows] > tolerance[rows]) & (waited < MAX_STALLED) & np.isfinite(now))
        rows, here, waited = rows[going], here.take(going), waited[going]
    return best


def _initial(constraints: ConstraintMatrix, mass: Floats, slope: Floats) -> Iterate:
    """All worlds equally likely, with multipliers that give every world a positive reduced cost.

    The constants only keep the start well inside the boundary.
    """
    repetitions, worlds = len(mass), constraints.cells.shape[1]
    x = np.full((repetitions, worlds), 1.0 / worlds)
    v = mass / (x @ constraints.cells.T)
    worth = v @ constraints.cells + slope
    eta = np.zeros((repetitions, constraints.equal.shape[0]))
    eta[:, 0] = 1.25 * worth.max(axis=1) + 0.25
    y = np.maximum(constraints.at_most - x @ constraints.below.T, 0.1)
    lam = np.full_like(y, 0.1)
    return Iterate(x, np.maximum(eta[:, :1] - worth + lam @ constraints.below, 0.1), v, eta, lam, y)


def _gap(constraints: ConstraintMatrix, at: Iterate, mass: Floats) -> Floats:
    """The total violation of all optimality conditions."""
    short = np.abs(at.x @ constraints.equal.T - constraints.equal_to).sum(axis=1)
    short += np.abs(at.x @ constraints.below.T + at.y - constraints.at_most).sum(axis=1)
    cells = np.abs(at.v * (at.x @ constraints.cells.T) - mass).sum(axis=1)
    return np.asarray((at.x * at.r).sum(axis=1) + (at.lam * at.y).sum(axis=1) + short + cells)


def _newton_step(constraints: ConstraintMatrix, at: Iterate, mass: Floats, slope: Floats) -> Iterate:
    """One predictor, one corrector, one step."""
    q = at.x @ constraints.cells.T
    system = NewtonSystem.of(constraints, at, slope, q)
    count = at.x.shape[1] + at.y.shape[1]
    now = ((at.x * at.r).sum(axis=1) + (at.lam * at.y).sum(axis=1)) / count
    aim = system.direction(-at.x * at.r, -at.lam * at.y, mass - at.v * q)
    there = at.moved(aim, *_step_lengths(at, aim, q, aim.x @ constraints.cells.T, 1.0))
    then = (np.maximum(there.x * there.r, 0.0).sum(axis=1) + np.maximum(there.lam * there.y, 0.0).sum(axis=1)) / count
    # Mehrotra's rule for how far to aim; the floor keeps the products from reaching zero at different speeds.
    target = (now * np.clip(then / now, 1e-6, 1.0) ** 3)[:, None]
    step = system.direction(
        target - at.x * at.r - aim.x * aim.r,
        target - at.lam * at.y - aim.lam * aim.y,
        mass - at.v * q - aim.v * (aim.x @ constraints.cells.T),
    )
    return at.moved(step, *_step_lengths(at, step, q, step.x @ constraints.cells.T, STEP_SHARE))


def _step_lengths(at: Iterate, by: Iterate, q: Floats, to_q: Floats, near: float) -> tuple[Floats, Floats]:
    """How far to go, in mixture and in multipliers, so that everything that must be positive stays positive."""
    primal = np.minimum(_max_step(at.x, by.x), np.minimum(_max_step(at.y, by.y), _max_step(q, to_q)))
    dual = np.minimum(_max_step(at.r, by.r), np.minimum(_max_step(at.lam, by.lam), _max_step(at.v, by.v)))
    return np.minimum(near * primal, 1.0), np.minimum(near * dual, 1.0)


def _max_step(value: Floats, change: Floats) -> Floats:
    """How many times a change may be added before a value reaches zero; a very large number where it never does."""
    return np.asarray(np.where(change < 0, value / -change, np.inf).min(axis=1, initial=1e30))
