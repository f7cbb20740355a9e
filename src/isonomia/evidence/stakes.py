"""How much to stake: the bet that would have done best on the estimate.

One batch brings ``n_g`` draws of channel ``g``. A bet is a stake ``mu_j >= 0`` on each side of the polytope and a rest
``z_g`` for each channel; a draw of channel ``g`` that falls into cell ``c`` multiplies the wealth by

    f_gc = z_g + sum over j of mu_j y_jgc / w_g,        w_g = n_g / n,

where ``y_jgc`` is what the cell contributes to the left-hand side of side ``j``. Divided by ``n``, the logarithm of the
whole batch's factor, with the correction that makes it valid for any stakes at all, is on the estimate ``h``

    S(mu, z) = sum over g of w_g (sum over c of h_gc log f_gc + 1 - z_g) - sum over j of mu_j b_j.

It is concave. Its maximum is the Kullback-Leibler distance from the estimate to the polytope, and the maximiser is the
likelihood ratio of the estimate against its projection. Accuracy is a matter of power only: see
:mod:`isonomia.evidence.bets` for why every ``(mu, z)`` with positive factors is valid.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from isonomia.evidence.newton import ROUNDS, TOLERANCE, Problem, climb_to_the_top

__all__ = ["Stakes", "best_stakes", "one_yes_no_stakes", "yes_no_stakes"]

Floats = NDArray[np.float64]

LEAST = 1e-100
"""No share of an estimate is taken to be smaller, so that no factor is 0."""


@dataclass(frozen=True, slots=True)
class Stakes:
    """A bet: the stake on each side, and the factor of each cell.

    Attributes
    ----------
    on_sides
        ``mu``, of shape ``(repetitions, sides)``.
    rests
        ``z``, of shape ``(repetitions, channels)``.
    factors
        ``f``, of shape ``(repetitions, channels, cells)``.
    """

    on_sides: Floats
    rests: Floats
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
        ``y``, of shape ``(repetitions, sides, channels, cells)``.
    bounds
        ``b``, of shape ``(repetitions, sides)``.
    estimate
        ``h``, of shape ``(repetitions, channels, cells)``; it must give weight to every cell that can occur.
    weights
        ``w``, of shape ``(repetitions, channels)``. Where a channel that a side needs has no draw, nothing is staked
        on that side.
    start
        Stakes and rests that were good a moment ago, from which the search sets out.
    tolerance
        Where the search ends: the gain of another round, in nats a draw.

    Returns
    -------
    Stakes
        With no stake at all where the estimate lies in the polytope.
    """
    playable = ~np.any((np.abs(payoffs).max(axis=-1) > 0) & (weights[:, None, :] <= 0), axis=-1)
    weights = np.where(weights > 0, weights, 1.0)
    problem = Problem.of(payoffs, bounds, estimate, weights, playable)
    if payoffs.shape[-1] == 2 and payoffs.shape[1] == 1 and not payoffs[..., 0].any():
        return one_yes_no_stakes(problem, tolerance) if len(payoffs) == 1 else yes_no_stakes(problem, tolerance)
    return Stakes(*climb_to_the_top(problem, start, tolerance))


def yes_no_stakes(problem: Problem, tolerance: float = TOLERANCE) -> Stakes:
    """One side, yes/no leaves: the rests are known in closed form, and one root is left to find."""
    a, b = problem.scaled[:, 0, :, 1] * problem.weights, problem.bounds[:, 0]
    rest, h = np.moveaxis(np.maximum(problem.estimate, LEAST), -1, 0)
    weights, most = problem.weights, problem.most[:, 0]
    excess = np.einsum("rg,rg->r", a, h) - b
    betting = problem.playable[:, 0] & (excess > 0)
    if not betting.any():
        return Stakes(np.zeros_like(b)[:, None], np.ones_like(h), np.ones_like(problem.estimate))
    low, high, moved = np.zeros_like(b), np.full_like(b, np.inf), np.full_like(b, np.inf)
    curvature = np.einsum("rg->r", a * a * h * rest / weights)
    mu = np.where(betting, np.minimum(excess / np.maximum(curvature, 1e-12), most), 0.0)
    no, yes = _yes_no_factors(mu, a, rest, h, weights)
    for _ in range(ROUNDS):
        excess = np.einsum("rg->r", a * h / yes) - b
        low, high = np.where(excess > 0, mu, low), np.where(excess > 0, high, mu)
        steep, flat = h / (yes * yes), rest / (no * no)
        slope = -np.einsum("rg->r", a * a * steep * (flat / (steep + flat)) / weights)
        with np.errstate(all="ignore"):
            new = mu - excess / slope
        # Newton's steps can go to and fro for ever; a step that is not half as long as the last one is not taken.
        poor = ~((new > low) & (new < high)) | (np.isfinite(high) & (np.abs(new - mu) > 0.5 * moved))
        new = np.where(poor, np.where(np.isfinite(high), 0.5 * (low + high), 2.0 * mu + 1e-3), new)
        new = np.minimum(new, most)
        moved = np.abs(new - mu)
        gain = np.where(betting, np.abs(excess) * moved, 0.0)
        mu = np.where(betting, new, 0.0)
        no, yes = _yes_no_factors(mu, a, rest, h, weights)
        if gain.max(initial=0.0) < tolerance:
            break
    return Stakes(mu[:, None], no, np.stack([no, yes], axis=-1))


def one_yes_no_stakes(problem: Problem, tolerance: float = TOLERANCE) -> Stakes:
    """The same for one repetition, the everyday case: plain numbers are several times quicker than arrays of one."""
    weights = problem.weights[0].tolist()
    rest, h = np.maximum(problem.estimate[0], LEAST).T.tolist()
    a = [x * w for x, w in zip(problem.scaled[0, 0, :, 1].tolist(), weights, strict=True)]
    b, most, channels = float(problem.bounds[0, 0]), float(problem.most[0, 0]), range(len(h))
    excess = sum(a[g] * h[g] for g in channels) - b
    if not problem.playable[0, 0] or excess <= 0:
        return Stakes(np.zeros((1, 1)), np.ones((1, len(h))), np.ones((1, len(h), 2)))
    curvature = sum(a[g] * a[g] * h[g] * rest[g] / weights[g] for g in channels)
    mu, low, high, moved = min(excess / max(curvature, 1e-12), most), 0.0, np.inf, np.inf
    factors = [_two_factors(mu * a[g] / weights[g], rest[g], h[g]) for g in channels]
    for _ in range(ROUNDS):
        excess = sum(a[g] * h[g] / factors[g][1] for g in channels) - b
        low, high = (mu, high) if excess > 0 else (low, mu)
        slope = 0.0
        for g in channels:
            no, yes = factors[g]
            steep, flat = h[g] / (yes * yes), rest[g] / (no * no)
            slope -= a[g] * a[g] * steep * (flat / (steep + flat)) / weights[g]
        new = mu - excess / slope if slope else np.inf
        # As in yes_no_stakes, a step that is not half as long as the last one is not taken.
        if not low < new < high or (high < np.inf and abs(new - mu) > 0.5 * moved):
            new = 0.5 * (low + high) if high < np.inf else 2.0 * mu + 1e-3
        new = min(new, most)
        moved = abs(new - mu)
        gain, mu = abs(excess) * moved, new
        factors = [_two_factors(mu * a[g] / weights[g], rest[g], h[g]) for g in channels]
        if gain < tolerance:
            break
    found = np.asarray(factors)[None]
    return Stakes(np.asarray([[mu]]), found[:, :, 0], found)


def _two_factors(m: float, rest: float, h: float) -> tuple[float, float]:
    """The factors of no and yes for one channel; see ``_yes_no_factors``."""
    down, up = 1.0 - m, 1.0 + m
    root = sqrt(down * down + 4.0 * rest * m if m >= 0 else up * up - 4.0 * h * m)
    no = 0.5 * (down + root) if down >= 0 else 2.0 * rest * m / (root - down)
    yes = 0.5 * (up + root) if up >= 0 else -2.0 * h * m / (root - up)
    return no, yes


def _yes_no_factors(mu: Floats, a: Floats, rest: Floats, h: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """The two factors whose mean inverse under the estimate is 1, computed without cancellation.

    The share of no comes as the estimate has it: ``1 - h`` is 0 for a yes that was never missed in millions of draws.
    """
    m = mu[:, None] * a / weights
    down, up = 1.0 - m, 1.0 + m
    root = np.sqrt(np.where(m >= 0, down * down + 4.0 * rest * m, up * up - 4.0 * h * m))
    with np.errstate(all="ignore"):
        no = np.where(down >= 0, 0.5 * (down + root), 2.0 * rest * m / (root - down))
        yes = np.where(up >= 0, 0.5 * (up + root), -2.0 * h * m / (root - up))
    return no, yes
