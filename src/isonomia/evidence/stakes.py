"""How much to stake: the bet that would have done best on the estimate, for many repetitions at once.

A batch has ``n_g`` draws of channel ``g``, ``n`` in all. A bet is a stake ``mu_j >= 0`` on each half-space of the
polytope and an intercept ``z_g`` for each channel; a draw of channel ``g`` in cell ``c`` multiplies the wealth by

    f_gc = z_g + sum over j of mu_j y_jgc / w_g,        w_g = n_g / n,

where ``y_jgc`` is what the cell adds to the left-hand side of half-space ``j``. The logarithm of the whole batch's
factor, with the correction that makes any stakes valid, is on the estimate ``h`` and divided by ``n``

    S(mu, z) = sum over g of w_g (sum over c of h_gc log f_gc + 1 - z_g) - sum over j of mu_j b_j.

It is concave. Its maximum is the Kullback-Leibler distance from the estimate to the polytope, and the maximiser is the
likelihood ratio of the estimate against its projection. For one half-space over yes/no leaves there is a single root to
find; everything else is maximised by Newton's method, projected onto the stakes that are allowed, with a line search
that keeps every factor positive and every step a gain.

Accuracy affects power only: :mod:`isonomia.evidence.bets` says why every ``(mu, z)`` with positive factors is valid. So
of the numbers below only ``MAX_SPREAD`` affects validity.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from isonomia.evidence.plain_stakes import MAX_ROUNDS, MAX_SPREAD, MIN_SHARE, TINY, one_yes_no_root

Floats = NDArray[np.float64]
Point = tuple[Floats, Floats, Floats]
"""Stakes, intercepts and the factors that follow from them."""

MAX_HALVINGS = 40
"""How often a step that gains nothing is halved before the search gives up: by then the step is below rounding. Any
stakes are valid, so it changes power and cost only."""

TOLERANCE = 1e-11
"""The search stops when another round is expected to gain less than this, in nats per draw: a billion draws lose 0.01.
Changes power and cost only."""

STUCK = 1e-9
"""How many nats per draw a round must promise for a failed step to count as stuck at a boundary and not as stopped by
rounding. Changes power and cost only."""

RIDGE = 1e-9
"""Added to the diagonal of the curvature, relative to its largest entry, so that it is invertible even where two
half-spaces say the same. Changes power only."""


@dataclass(frozen=True, slots=True)
class Stakes:
    """The stakes of a bet, with one row per repetition.

    Attributes
    ----------
    amounts
        ``mu``, the stake on each half-space: shape ``(repetitions, half-spaces)``.
    intercepts
        ``z``, of shape ``(repetitions, channels)``.
    factors
        ``f``, of shape ``(repetitions, channels, cells)``.
    """

    amounts: Floats
    intercepts: Floats
    factors: Floats


def best_stakes(
    payoffs: Floats,
    bounds: Floats,
    estimate: Floats,
    weights: Floats,
    *,
    start: tuple[Floats, Floats] | None = None,
    tolerance: float = TOLERANCE,
) -> Stakes:
    """Find the stakes that maximise ``S`` on the estimate.

    Parameters
    ----------
    payoffs
        ``y``, of shape ``(repetitions, half-spaces, channels, cells)``.
    bounds
        ``b``, of shape ``(repetitions, half-spaces)``.
    estimate
        ``h``, of shape ``(repetitions, channels, cells)``; it must give weight to every cell that can occur.
    weights
        ``w``, of shape ``(repetitions, channels)``. Where a channel that a half-space needs has no draw, nothing is
        staked on it.
    start
        Stakes and intercepts of an earlier bet, from which the search starts.
    tolerance
        The search ends when another round would gain less than this, in nats per draw.

    Returns
    -------
    Stakes
        All zero where the estimate lies in the polytope.
    """
    allowed = ~np.any((np.abs(payoffs).max(axis=-1) > 0) & (weights[:, None, :] <= 0), axis=-1)
    weights = np.where(weights > 0, weights, 1.0)
    problem = StakeProblem.of(payoffs, bounds, estimate, weights, allowed)
    if payoffs.shape[-1] == 2 and payoffs.shape[1] == 1 and not payoffs[..., 0].any():
        return one_yes_no_stakes(problem, tolerance) if len(payoffs) == 1 else yes_no_stakes(problem, tolerance)
    return Stakes(*maximise_growth(problem, start, tolerance))


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

    @classmethod
    def of(
        cls, payoffs: Floats, bounds: Floats, estimate: Floats, weights: Floats, allowed: NDArray[np.bool_]
    ) -> StakeProblem:
        """Scale the payoffs, and limit the stakes."""
        scaled = payoffs / weights[:, None, :, None]
        max_stakes = MAX_SPREAD / np.maximum(np.abs(scaled).max(axis=(-2, -1)), TINY)
        return cls(scaled, bounds, estimate, weights, allowed, np.asarray(max_stakes))

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


def yes_no_stakes(problem: StakeProblem, tolerance: float = TOLERANCE) -> Stakes:
    """One half-space, yes/no leaves: the intercepts are known in closed form, and one root is left to find.

    Newton's method with bisection as a safeguard. Its small constants only say where it starts and how it goes on.
    """
    a, b = problem.scaled[:, 0, :, 1] * problem.weights, problem.bounds[:, 0]
    miss, h = np.moveaxis(np.maximum(problem.estimate, MIN_SHARE), -1, 0)
    weights, most = problem.weights, problem.max_stakes[:, 0]
    excess = np.einsum("rg,rg->r", a, h) - b
    betting = problem.allowed[:, 0] & (excess > 0)
    if not betting.any():
        return Stakes(np.zeros_like(b)[:, None], np.ones_like(h), np.ones_like(problem.estimate))
    low, high, moved = np.zeros_like(b), np.full_like(b, np.inf), np.full_like(b, np.inf)
    curvature = np.einsum("rg->r", a * a * h * miss / weights)
    mu = np.where(betting, np.minimum(excess / np.maximum(curvature, 1e-12), most), 0.0)
    no, yes = _yes_no_factors(mu, a, miss, h, weights)
    rows = np.flatnonzero(betting)
    part = _Rows(a, b, miss, h, weights, most).take(rows)
    here = [array[rows] for array in (mu, low, high, moved, no, yes)]
    for _ in range(MAX_ROUNDS):
        here, gain = part.round(tolerance, *here)
        mu[rows], no[rows], yes[rows] = here[0], here[4], here[5]
        going = np.flatnonzero(gain >= tolerance)
        if not len(going):
            break
        if len(going) < len(rows):
            rows, part, here = rows[going], part.take(going), [array[going] for array in here]
    return Stakes(mu[:, None], no, np.stack([no, yes], axis=-1))


class _Rows(NamedTuple):
    """What :func:`yes_no_stakes` depends on, for some of the repetitions."""

    a: Floats
    b: Floats
    miss: Floats
    h: Floats
    weights: Floats
    most: Floats

    def take(self, rows: NDArray[np.intp]) -> _Rows:
        return _Rows(*(part[rows] for part in self))

    def round(
        self, tolerance: float, mu: Floats, low: Floats, high: Floats, moved: Floats, no: Floats, yes: Floats
    ) -> tuple[list[Floats], Floats]:
        """One round of Newton's method, and its gain."""
        a = self.a
        excess = np.einsum("rg->r", a * self.h / yes) - self.b
        low, high = np.where(excess > 0, mu, low), np.where(excess > 0, high, mu)
        steep, flat = self.h / (yes * yes), self.miss / (no * no)
        slope = -np.einsum("rg->r", a * a * steep * (flat / (steep + flat)) / self.weights)
        with np.errstate(all="ignore"):
            new = mu - excess / slope
            worth = ~(np.abs(excess * (new - mu)) < tolerance)
        # Newton's steps can oscillate for ever, so a step more than half as long as the last one is not taken.
        poor = ~((new > low) & (new < high)) | (np.isfinite(high) & (np.abs(new - mu) > 0.5 * moved))
        poor &= worth  # at the root itself, rounding may put a step outside the bracket
        if poor.any():
            new = np.where(poor, np.where(np.isfinite(high), 0.5 * (low + high), 2.0 * mu + 1e-3), new)
        new = np.clip(new, 0.0, self.most)
        moved = np.abs(new - mu)
        no, yes = _yes_no_factors(new, a, self.miss, self.h, self.weights)
        return [new, low, high, moved, no, yes], np.abs(excess) * moved


def one_yes_no_stakes(problem: StakeProblem, tolerance: float = TOLERANCE) -> Stakes:
    """The same for one repetition, the usual case: plain numbers are several times faster than arrays of one."""
    weights = problem.weights[0].tolist()
    y = [x * w for x, w in zip(problem.scaled[0, 0, :, 1].tolist(), weights, strict=True)]
    result = None
    if problem.allowed[0, 0]:
        bound, most = float(problem.bounds[0, 0]), float(problem.max_stakes[0, 0])
        result = one_yes_no_root(y, bound, problem.estimate[0].tolist(), weights, most, tolerance)
    if result is None:
        return Stakes(np.zeros((1, 1)), np.ones((1, len(y))), np.ones((1, len(y), 2)))
    pairs = np.asarray(result[1])[None]
    return Stakes(np.asarray([[result[0]]]), pairs[:, :, 0], pairs)


def steady_stakes(
    payoffs: Floats, estimate: Floats, weights: Floats, distances: Floats
) -> tuple[Floats, Floats, Floats]:
    """The stakes on one half-space that are best if the truth lies each of these distances outside it.

    A distance is in standard deviations of what one draw contributes. The arrays are those of :func:`best_stakes`.
    Returns the amounts, the least factor of each channel and all factors, of shapes ``(repetitions, distances)``,
    ``(..., channels)`` and ``(..., channels, cells)``. The intercept of a channel, its least factor minus the amount
    times its least scaled payoff, is not returned: it may be a million times as large, and its rounding error would
    pass for evidence. Nothing is staked where a channel that is needed has no draw. Every factor is positive.
    """
    y = payoffs[:, 0]
    largest = np.abs(y).max(axis=-1)
    allowed = ~((largest > 0) & (weights <= 0)).any(axis=-1)
    weights = np.where(weights > 0, weights, 1.0)
    scaled = y / weights[:, :, None]
    mean = np.einsum("rgc,rgc->rg", estimate, scaled)
    variance = np.einsum("rgc,rgc->rg", estimate, scaled * scaled) - mean * mean
    spread = np.einsum("rg,rg->r", weights, np.maximum(variance, 0.0))
    most = MAX_SPREAD / np.maximum((largest / weights).max(axis=-1), TINY)
    unit = np.where(allowed & (spread > 0), 1.0 / np.sqrt(np.where(spread > 0, spread, 1.0)), 0.0)
    mu = np.minimum(unit[:, None] * distances, most[:, None])
    above = mu[:, :, None, None] * (scaled - scaled.min(axis=-1, keepdims=True))[:, None]
    least = _least_factors(above, estimate[:, None])
    return mu, least, least[..., None] + above


def steady_yes_no_gains(
    y: Floats, bounds: Floats, estimate: Floats, weights: Floats, counts: Floats, distances: Floats
) -> Floats:
    """What the steady stakes gain on a batch of yes/no leaves, in as few steps as possible: most of a check's work.

    ``y`` is what a yes adds, of shape ``(repetitions, channels)``; ``bounds`` has an axis of repetitions, and perhaps
    one of bounds; the result has an additional axis of distances.
    """
    idle, allowed = weights <= 0.0, np.ones(len(y), dtype=bool)
    if idle.any():
        allowed, weights = ~(idle & (y != 0.0)).any(axis=-1), np.where(idle, 1.0, weights)
    scaled, shares = y / weights, np.maximum(estimate, MIN_SHARE)
    spread = np.einsum("rg,rg,rg,rg->r", scaled, y, shares[..., 0], shares[..., 1])
    unit = np.where(allowed & (spread > 0.0), 1.0 / np.sqrt(np.where(spread > 0.0, spread, 1.0)), 0.0)
    most = MAX_SPREAD / np.maximum(np.abs(scaled).max(axis=-1), TINY)
    mu = np.minimum(unit[:, None] * distances, most[:, None])
    no, yes = _yes_no_pair(mu[:, :, None] * scaled[:, None], shares[:, None, :, 0], shares[:, None, :, 1])
    missed, hit = counts[..., 0], counts[..., 1]
    drawn = missed + hit
    total = np.einsum("rg->r", drawn)
    won = np.einsum("rdg,rg->rd", np.log(no), missed) + np.einsum("rdg,rg->rd", np.log(yes), hit)
    won += total[:, None] - np.einsum("rdg,rg->rd", no, drawn)
    if bounds.ndim == 1:
        return np.asarray(won - mu * (total * bounds)[:, None])
    return np.asarray(won[:, None] - mu[:, None] * (total[:, None] * bounds)[:, :, None])


def _least_factors(above: Floats, estimate: Floats) -> Floats:
    """Each channel's least factor, such that the mean inverse factor is 1; ``above`` is what each cell adds to it.

    The inverse of that mean is a harmonic mean of the factors, which is concave and increasing in the least one. It is
    at most 1 where one cell's share over its factor is 1, and, being no larger than the arithmetic mean, where that is
    1. So Newton's method starts left of the root and never passes it; stopped early, the bet is smaller, and as valid.
    """
    shape, cells = above.shape[:-1], above.shape[-1]
    above, estimate = above.reshape(-1, cells), np.broadcast_to(estimate, above.shape).reshape(-1, cells)
    start = np.maximum((estimate - above).max(axis=-1), 1.0 - np.einsum("rc,rc->r", estimate, above))
    result = here = np.maximum(start, 1e-100)  # positive even where the least cell has no share; changes power only
    rows = np.arange(len(result))
    for _ in range(MAX_ROUNDS):
        inverse = 1.0 / (here[:, None] + above)
        mean = np.einsum("rc,rc->r", estimate, inverse)
        going = mean >= 1.0 + 1e-6  # a nearer value is as valid and gains the same in every digit shown: cost only
        if not going.any():
            break
        np.square(inverse, out=inverse)
        here = here + mean * np.maximum(mean - 1.0, 0.0) / np.einsum("rc,rc->r", estimate, inverse)
        result[rows] = here
        if 2 * np.count_nonzero(going) < len(rows):  # most are done: continue with the others only
            rows, here, above, estimate = rows[going], here[going], above[going], estimate[going]
    return np.asarray(result.reshape(shape))


def _yes_no_factors(mu: Floats, a: Floats, miss: Floats, h: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """The two factors whose mean inverse under the estimate is 1, computed without cancellation.

    The share of no, ``miss``, comes from the estimate itself: ``1 - h`` would be 0 for a rate that rounds to 1.
    """
    return _yes_no_pair(mu[:, None] * a / weights, miss, h)


def _yes_no_pair(m: Floats, miss: Floats, h: Floats) -> tuple[Floats, Floats]:
    """The factors of no and yes where a yes adds ``m``."""
    size = np.abs(m)
    root = np.sqrt((1.0 - size) ** 2 + 4.0 * np.where(m >= 0, miss, h) * size)
    if size.max(initial=0.0) <= 1.0:
        return 0.5 * (1.0 - m + root), 0.5 * (1.0 + m + root)
    down, up = 1.0 - m, 1.0 + m
    with np.errstate(all="ignore"):
        no = np.where(down >= 0, 0.5 * (down + root), 2.0 * miss * m / (root - down))
        yes = np.where(up >= 0, 0.5 * (up + root), -2.0 * h * m / (root - up))
    return no, yes
