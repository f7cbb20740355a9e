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

import numpy as np
from numpy.typing import NDArray

__all__ = ["Stakes", "best_stakes"]

Floats = NDArray[np.float64]

ROUNDS = 40
"""Newton rounds at most; fewer than ten are usual."""

TOLERANCE = 1e-11
"""Where the expected gain of another round, in nats a draw, is no longer worth it."""

BOLDEST = 1e6
"""How far apart stakes may set the factors of two cells. A hypothesis at the edge of what is possible, such as a rate
of 1, asks for stakes without end; there a bound that rounding moved beyond the edge would be mistaken for evidence."""


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


def best_stakes(payoffs: Floats, bounds: Floats, estimate: Floats, weights: Floats) -> Stakes:
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

    Returns
    -------
    Stakes
        With no stake at all where the estimate lies in the polytope.
    """
    playable = ~np.any((np.abs(payoffs).max(axis=-1) > 0) & (weights[:, None, :] <= 0), axis=-1)
    weights = np.where(weights > 0, weights, 1.0)
    yes_no = payoffs.shape[-1] == 2 and payoffs.shape[1] == 1 and not payoffs[..., 0].any()
    solve = _yes_no_stakes if yes_no else _newton_stakes
    return solve(payoffs, bounds, estimate, weights, playable)


def _yes_no_stakes(
    payoffs: Floats, bounds: Floats, estimate: Floats, weights: Floats, playable: NDArray[np.bool_]
) -> Stakes:
    """One side, yes/no leaves: the rests are known in closed form, and one root is left to find."""
    a, b, h = payoffs[:, 0, :, 1], bounds[:, 0], estimate[:, :, 1]
    excess = (a * h).sum(axis=1) - b
    betting = playable[:, 0] & (excess > 0)
    low, high = np.zeros_like(b), np.full_like(b, np.inf)
    most = _most(payoffs / weights[:, None, :, None])[:, 0]
    curvature = (a * a * h * (1.0 - h) / weights).sum(axis=1)
    mu = np.where(betting, np.minimum(excess / np.maximum(curvature, 1e-12), most), 0.0)
    no, yes = _yes_no_factors(mu, a, h, weights)
    for _ in range(ROUNDS):
        share = a * h / yes
        excess = share.sum(axis=1) - b
        low, high = np.where(excess > 0, mu, low), np.where(excess > 0, high, mu)
        steep = h / (yes * yes)
        slope = (a * a * steep * (steep / (steep + (1.0 - h) / (no * no)) - 1.0) / weights).sum(axis=1)
        with np.errstate(all="ignore"):
            new = mu - excess / slope
        outside = ~((new > low) & (new < high))
        new = np.where(outside, np.where(np.isfinite(high), 0.5 * (low + high), 2.0 * mu + 1e-3), new)
        new = np.minimum(new, most)
        gain = np.where(betting, np.abs(excess * (new - mu)), 0.0)
        mu = np.where(betting, new, 0.0)
        no, yes = _yes_no_factors(mu, a, h, weights)
        if gain.max(initial=0.0) < TOLERANCE:
            break
    return Stakes(mu[:, None], no, np.stack([no, yes], axis=-1))


def _yes_no_factors(mu: Floats, a: Floats, h: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """The two factors whose mean inverse under the estimate is 1, computed without cancellation."""
    m = mu[:, None] * a / weights
    down, up = 1.0 - m, 1.0 + m
    root = np.sqrt(down * down + 4.0 * (1.0 - h) * m)
    with np.errstate(all="ignore"):
        no = np.where(down >= 0, 0.5 * (down + root), 2.0 * (1.0 - h) * m / (root - down))
        yes = np.where(up >= 0, 0.5 * (up + root), -2.0 * h * m / (root - up))
    return no, yes


def _most(scaled: Floats) -> Floats:
    """The largest stake on each side."""
    return np.asarray(BOLDEST / np.maximum(np.abs(scaled).max(axis=(-2, -1)), 1e-300))


def _newton_stakes(
    payoffs: Floats, bounds: Floats, estimate: Floats, weights: Floats, playable: NDArray[np.bool_]
) -> Stakes:
    """Any number of sides and cells: projected Newton rounds with a line search.

    A cell that is nearly never seen lets the best factor there come so near to 0 that a round can run into that wall
    and stick. Such repetitions start again with imagined draws in every cell, fewer and fewer of them.
    """
    scaled = payoffs / weights[:, None, :, None]
    here = (np.zeros_like(bounds), np.ones_like(weights), np.ones_like(estimate))
    stuck = _climb(scaled, bounds, estimate, weights, playable, here, np.arange(len(bounds)))
    if len(stuck):
        other = (np.zeros_like(bounds), np.ones_like(weights), np.ones_like(estimate))
        for imagined in (*(10.0**-k for k in range(1, 13)), 0.0):
            mixed = (estimate + imagined) / (estimate + imagined).sum(axis=-1, keepdims=True)
            _climb(scaled, bounds, mixed, weights, playable, other, stuck)
        old, new = (_value(f, z, mu, bounds, estimate, weights) for mu, z, f in (here, other))
        for part, replacement in zip(here, other, strict=True):
            part[new > old] = replacement[new > old]
    return Stakes(*here)


def _climb(
    scaled: Floats,
    bounds: Floats,
    estimate: Floats,
    weights: Floats,
    playable: NDArray[np.bool_],
    here: tuple[Floats, Floats, Floats],
    rows: NDArray[np.intp],
) -> NDArray[np.intp]:
    """Improve stakes, rests and factors in place; return the repetitions that stuck or were not done in time."""
    mu, z, f = here
    most = _most(scaled)
    value = _value(f, z, mu, bounds, estimate, weights)
    stuck = []
    for _ in range(ROUNDS):
        to_mu, to_z, gain = _newton_direction(
            scaled[rows], bounds[rows], estimate[rows], weights[rows], playable[rows], (mu[rows], most[rows]), f[rows]
        )
        going = gain >= TOLERANCE
        rows, before = rows[going], value[rows[going]]
        if not len(rows):
            break
        mu[rows], z[rows], f[rows], value[rows] = _line_search(
            scaled[rows],
            bounds[rows],
            estimate[rows],
            weights[rows],
            most[rows],
            (mu[rows], z[rows], f[rows], before),
            (to_mu[going], to_z[going]),
        )
        # A step that only rounding keeps from being better is no wall.
        still = value[rows] <= before
        stuck.append(rows[still & (gain[going] > 1e-9)])
        rows = rows[~still]
    return np.concatenate([*stuck, rows])


def _newton_direction(
    scaled: Floats,
    bounds: Floats,
    estimate: Floats,
    weights: Floats,
    playable: NDArray[np.bool_],
    stakes: tuple[Floats, Floats],
    f: Floats,
) -> tuple[Floats, Floats, Floats]:
    mu, most = stakes
    inverse = estimate / f
    square = inverse / f
    mass = weights[:, :, None]
    slope_mu = (scaled * (mass * inverse)[:, None]).sum(axis=(-2, -1)) - bounds
    slope_z = weights * (inverse.sum(axis=-1) - 1.0)
    bend_z = weights * square.sum(axis=-1)
    squared = scaled * (mass * square)[:, None]
    cross = squared.sum(axis=-1)
    flat = (*bounds.shape, scaled.shape[2] * scaled.shape[3])
    bend_mu = squared.reshape(flat) @ scaled.reshape(flat).swapaxes(1, 2)
    bend_mu -= cross @ (cross / bend_z[:, None, :]).swapaxes(1, 2)
    free = playable & np.where(slope_mu > 0, mu < most, mu > 0)
    right = np.where(free, slope_mu - (cross * (slope_z / bend_z)[:, None, :]).sum(axis=-1), 0.0)
    to_mu = _masked_solve(bend_mu, right, free)
    to_z = (slope_z - (cross * to_mu[:, :, None]).sum(axis=1)) / bend_z
    gain = (np.where(free, slope_mu, 0.0) * to_mu).sum(axis=-1) + (slope_z * to_z).sum(axis=-1)
    return to_mu, to_z, gain


def _masked_solve(matrix: Floats, right: Floats, free: NDArray[np.bool_]) -> Floats:
    """Solve for the free unknowns only; the others stay where they are."""
    if matrix.shape[-1] == 1:
        return np.where(free, right / np.maximum(matrix[:, :, 0], 1e-14), 0.0)
    both = free[:, :, None] & free[:, None, :]
    eye = np.eye(matrix.shape[-1])
    ridge = 1e-9 * np.maximum(np.abs(matrix).max(axis=(1, 2), keepdims=True), 1e-9)
    solution = np.linalg.solve(np.where(both, matrix + ridge * eye, eye), right[..., None])
    return np.asarray(solution[..., 0], dtype=float)


def _line_search(
    scaled: Floats,
    bounds: Floats,
    estimate: Floats,
    weights: Floats,
    most: Floats,
    here: tuple[Floats, Floats, Floats, Floats],
    direction: tuple[Floats, Floats],
) -> tuple[Floats, Floats, Floats, Floats]:
    """Halve the step until every repetition has positive factors and a larger value than before."""
    mu, z, f, value = here
    size = np.ones_like(value)
    waiting = np.ones(len(value), dtype=bool)
    for _ in range(40):
        new_mu = np.clip(mu + size[:, None] * direction[0], 0.0, most)
        new_z = z + size[:, None] * direction[1]
        new_f = new_z[:, :, None] + (new_mu[:, :, None, None] * scaled).sum(axis=1)
        new_value = _value(new_f, new_z, new_mu, bounds, estimate, weights)
        better = waiting & (new_value > value)
        mu = np.where(better[:, None], new_mu, mu)
        z = np.where(better[:, None], new_z, z)
        f = np.where(better[:, None, None], new_f, f)
        value = np.where(better, new_value, value)
        waiting &= ~better
        if not waiting.any():
            break
        size = np.where(waiting, 0.5 * size, size)
    return mu, z, f, value


def _value(f: Floats, z: Floats, mu: Floats, bounds: Floats, estimate: Floats, weights: Floats) -> Floats:
    positive = np.asarray((f > 0).all(axis=(1, 2)))
    logs = np.log(np.where(positive[:, None, None], f, 1.0))
    gain = (weights * ((estimate * logs).sum(axis=-1) + 1.0 - z)).sum(axis=-1) - (mu * bounds).sum(axis=-1)
    return np.where(positive, gain, -np.inf)
