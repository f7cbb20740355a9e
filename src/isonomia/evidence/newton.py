"""Newton's method for stakes on several half-spaces, projected onto the stakes that are allowed.

The letters are those of :mod:`isonomia.evidence.stakes`. A line search keeps every factor positive and every step a
gain. Accuracy affects power only, since any stakes with positive factors are valid.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Point = tuple[Floats, Floats, Floats]
"""Stakes, intercepts and the factors that follow from them."""

MAX_ROUNDS = 40
"""At most this many rounds of Newton's method; fewer than ten are usual. Stopping early changes power only: the stakes
are worse, but as valid."""

MAX_HALVINGS = 40
"""How often a step that gains nothing is halved before the search gives up: by then the step is below rounding. Any
stakes are valid, so it changes power and cost only."""

STUCK = 1e-9
"""How many nats per draw a round must promise for a failed step to count as stuck at a boundary and not as stopped by
rounding. Changes power and cost only."""

RIDGE = 1e-9
"""Added to the diagonal of the curvature, relative to its largest entry, so that it is invertible even where two
half-spaces say the same. Changes power only."""


@dataclass(frozen=True, slots=True)
class StakeProblem:
    """What ``S`` depends on besides stakes and intercepts, in the shapes of :func:`best_stakes`.

    ``scaled`` are the payoffs divided by the channels' weights; ``allowed`` and ``max_stakes`` say whether, and how
    much, may be staked on a half-space.
    """

    scaled: Floats
    bounds: Floats
    estimate: Floats
    weights: Floats
    allowed: NDArray[np.bool_]
    max_stakes: Floats

    def take(self, rows: NDArray[np.intp]) -> StakeProblem:
        """The same problem for some of the repetitions."""
        scaled, bounds, estimate = self.scaled[rows], self.bounds[rows], self.estimate[rows]
        return StakeProblem(scaled, bounds, estimate, self.weights[rows], self.allowed[rows], self.max_stakes[rows])

    def smoothed(self, pseudo_count: float) -> StakeProblem:
        """The same problem with a pseudo-count in every cell."""
        mixed = self.estimate + pseudo_count
        mixed = mixed / mixed.sum(axis=-1, keepdims=True)
        return replace(self, estimate=mixed)

    def factors(self, mu: Floats, z: Floats) -> Floats:
        """The factor of each cell."""
        return np.asarray(z[:, :, None] + np.einsum("rs,rsgc->rgc", mu, self.scaled))


def growth_at(problem: StakeProblem, point: Point) -> Floats:
    """``S`` at a point; minus infinity where a factor is not positive."""
    mu, z, f = point
    positive = np.asarray((f > 0).all(axis=(1, 2)))
    logs = np.log(np.where(positive[:, None, None], f, 1.0))
    gain = np.einsum("rg,rg->r", problem.weights, np.einsum("rgc,rgc->rg", problem.estimate, logs) + 1.0 - z)
    return np.where(positive, gain - np.einsum("rs,rs->r", mu, problem.bounds), -np.inf)


def maximise_growth(problem: StakeProblem, start: tuple[Floats, Floats] | None, tolerance: float) -> Point:
    """Find the stakes and intercepts with the largest ``S``.

    The best factor of a cell that is hardly ever seen can be so near 0 that the search runs into that boundary and
    gets stuck. Such repetitions start again with pseudo-counts in every cell, from 0.1 down to 1e-12 and then none.
    """
    here = _starting_point(problem, start)
    stuck = _newton(problem, here, np.arange(len(problem.bounds)), tolerance)
    if len(stuck):
        hard = problem.take(stuck)
        other = _starting_point(hard, None)
        for pseudo_count in (*(10.0**-k for k in range(1, 13)), 0.0):
            _newton(hard.smoothed(pseudo_count), other, np.arange(len(stuck)), tolerance)
        old = growth_at(hard, (here[0][stuck], here[1][stuck], here[2][stuck]))
        better = growth_at(hard, other) > old
        for part, replacement in zip(here, other, strict=True):
            part[stuck[better]] = replacement[better]
    return here


def _starting_point(problem: StakeProblem, start: tuple[Floats, Floats] | None) -> Point:
    """No stakes, or the given ones where they are allowed and have positive growth."""
    mu, z = np.zeros_like(problem.bounds), np.ones_like(problem.weights)
    if start is not None:
        given = np.where(problem.allowed, np.clip(start[0], 0.0, problem.max_stakes), 0.0)
        worth = growth_at(problem, (given, start[1], problem.factors(given, start[1]))) > 0
        mu, z = np.where(worth[:, None], given, mu), np.where(worth[:, None], start[1], z)
    return mu, z, problem.factors(mu, z)


def _newton(problem: StakeProblem, here: Point, rows: NDArray[np.intp], tolerance: float) -> NDArray[np.intp]:
    """Improve a point in place; return the repetitions that got stuck or were not done after ``MAX_ROUNDS``."""
    mu, z, f = here
    value = growth_at(problem, here)
    stuck = []
    for _ in range(MAX_ROUNDS):
        some = problem.take(rows)
        to_mu, to_z, gain = _direction(some, mu[rows], f[rows])
        going = gain >= tolerance
        if not going.all():
            rows = rows[going]
            some, to_mu, to_z, gain = some.take(np.flatnonzero(going)), to_mu[going], to_z[going], gain[going]
        if not len(rows):
            break
        before = value[rows]
        mu[rows], z[rows], f[rows], value[rows] = _line_search(
            some, (mu[rows], z[rows], f[rows]), before, (to_mu, to_z)
        )
        still = value[rows] <= before
        stuck.append(rows[still & (gain > STUCK)])
        rows = rows[~still]
    return np.concatenate([*stuck, rows])


def _direction(problem: StakeProblem, mu: Floats, f: Floats) -> tuple[Floats, Floats, Floats]:
    """Newton's step in stakes and intercepts, and the gain it promises; the intercepts are eliminated first."""
    scaled, mass = problem.scaled, problem.weights[:, :, None]
    inverse = problem.estimate / f
    square = inverse / f
    slope_mu = np.einsum("rsgc,rgc->rs", scaled, mass * inverse) - problem.bounds
    slope_z = problem.weights * (np.einsum("rgc->rg", inverse) - 1.0)
    bend_z = problem.weights * np.einsum("rgc->rg", square)
    squared = scaled * (mass * square)[:, None]
    cross = np.einsum("rsgc->rsg", squared)
    flat = (*problem.bounds.shape, scaled.shape[2] * scaled.shape[3])
    bend_mu = squared.reshape(flat) @ scaled.reshape(flat).swapaxes(1, 2)
    bend_mu -= cross @ (cross / bend_z[:, None, :]).swapaxes(1, 2)
    free = problem.allowed & np.where(slope_mu > 0, mu < problem.max_stakes, mu > 0)
    right = np.where(free, slope_mu - np.einsum("rsg,rg->rs", cross, slope_z / bend_z), 0.0)
    to_mu = _masked_solve(bend_mu, right, free)
    to_z = (slope_z - np.einsum("rsg,rs->rg", cross, to_mu)) / bend_z
    gain = np.einsum("rs,rs->r", np.where(free, slope_mu, 0.0), to_mu) + np.einsum("rg,rg->r", slope_z, to_z)
    return to_mu, to_z, gain


def _masked_solve(matrix: Floats, right: Floats, free: NDArray[np.bool_]) -> Floats:
    """Solve for the free unknowns only; the others stay where they are."""
    if matrix.shape[-1] == 1:
        # A curvature of 0 belongs to a half-space on which nothing can be won.
        return np.where(free, right / np.maximum(matrix[:, :, 0], 1e-14), 0.0)
    both = free[:, :, None] & free[:, None, :]
    eye = np.eye(matrix.shape[-1])
    ridge = RIDGE * np.maximum(np.abs(matrix).max(axis=(1, 2), keepdims=True), RIDGE)
    solution = np.linalg.solve(np.where(both, matrix + ridge * eye, eye), right[..., None])
    return np.asarray(solution[..., 0], dtype=float)


def _line_search(
    problem: StakeProblem, here: Point, value: Floats, direction: tuple[Floats, Floats]
) -> tuple[Floats, Floats, Floats, Floats]:
    """Halve the step until every repetition has positive factors and a larger value than before."""
    result: list[Floats] = []
    rows, size = np.arange(len(value)), 1.0
    for _ in range(MAX_HALVINGS):
        new = _stepped(problem, here, direction, size)
        better = new[3] > value
        if not result:
            if better.all():
                return new
            result = [part.copy() for part in (*here, value)]
        for part, stepped in zip(result, new, strict=True):
            part[rows[better]] = stepped[better]
        waiting = np.flatnonzero(~better)
        if not len(waiting):
            break
        rows, problem, size = rows[waiting], problem.take(waiting), 0.5 * size
        here, value = (here[0][waiting], here[1][waiting], here[2][waiting]), value[waiting]
        direction = direction[0][waiting], direction[1][waiting]
    return result[0], result[1], result[2], result[3]


def _stepped(
    problem: StakeProblem, here: Point, direction: tuple[Floats, Floats], size: float
) -> tuple[Floats, Floats, Floats, Floats]:
    """The point some way in a direction, and ``S`` there."""
    mu = np.clip(here[0] + size * direction[0], 0.0, problem.max_stakes)
    z = here[1] + size * direction[1]
    f = problem.factors(mu, z)
    return mu, z, f, growth_at(problem, (mu, z, f))
