"""How much to stake: the bet that would have done best on the estimate, for many repetitions at once.

A batch has ``n_g`` draws of channel ``g``, ``n`` in all. A bet is a stake ``mu_j >= 0`` on each half-space of the
polytope and an intercept ``z_g`` for each channel; a draw of channel ``g`` in cell ``c`` multiplies the wealth by

    f_gc = z_g + sum over j of mu_j y_jgc / w_g,        w_g = n_g / n,

where ``y_jgc`` is what the cell adds to the left-hand side of half-space ``j``. The logarithm of the whole batch's
factor, with the correction that makes any stakes valid, is on the estimate ``h`` and divided by ``n``

    S(mu, z) = sum over g of w_g (sum over c of h_gc log f_gc + 1 - z_g) - sum over j of mu_j b_j.

It is concave. Its maximum is the Kullback-Leibler distance from the estimate to the polytope, and the maximiser is the
likelihood ratio of the estimate against its projection. For one half-space over yes/no leaves there is a single root to
find; everything else is maximised by Newton's method (:mod:`isonomia.evidence.newton`).

Most checks have two or three bets of two channels each; for those, plain numbers are several times faster than arrays,
so the stakes on few cells are computed in both ways.

Accuracy affects power only: :mod:`isonomia.evidence.bets` says why every ``(mu, z)`` with positive factors is valid. So
of the numbers below only ``MAX_SPREAD`` affects validity.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, log, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from isonomia.evidence.newton import MAX_ROUNDS, StakeProblem, maximise_growth

Floats = NDArray[np.float64]
MAX_SPREAD = 1e6
"""How far apart stakes may set the factors of two cells. A hypothesis at the edge of what is possible, such as a rate
of 1, asks for unbounded stakes; there, a bound that rounding moved beyond the edge would be mistaken for evidence. So
this *can* change a verdict: with this limit a bound that is off by one rounding gains 2e-10 nats per draw, less than a
nat up to some 1e9 draws, with and without replacement."""

MIN_SHARE = 1e-100
"""Smaller shares of a yes/no estimate are raised to this, so that no factor is 0. Changes power only."""

EDGE = 1e-12
"""Rates on the boundary of a half-space are kept so far from 0 and 1, so that no factor is 0. Changes power only."""

BOUNDARY_ROUNDS = 3
"""Rounds of the search for rates on the boundary: after three they are near the projection. Any rates on the boundary
are as valid, so it changes power and cost only."""

TINY = 1e-300
"""Keeps a divisor away from 0 where every payoff is 0 and nothing can be won. It changes no verdict."""


TOLERANCE = 1e-11
"""The search stops when another round is expected to gain less than this, in nats per draw: a billion draws lose 0.01.
Changes power and cost only."""


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
    problem = stake_problem(payoffs, bounds, estimate, weights, allowed)
    if payoffs.shape[-1] == 2 and payoffs.shape[1] == 1 and not payoffs[..., 0].any():
        return one_yes_no_stakes(problem, tolerance) if len(payoffs) == 1 else yes_no_stakes(problem, tolerance)
    return Stakes(*maximise_growth(problem, start, tolerance))


def stake_problem(
    payoffs: Floats, bounds: Floats, estimate: Floats, weights: Floats, allowed: NDArray[np.bool_]
) -> StakeProblem:
    """Scale the payoffs, and limit the stakes."""
    scaled = payoffs / weights[:, None, :, None]
    max_stakes = MAX_SPREAD / np.maximum(np.abs(scaled).max(axis=(-2, -1)), TINY)
    return StakeProblem(scaled, bounds, estimate, weights, allowed, np.asarray(max_stakes))


# ---------------------------------------------------------------------------- one half-space over yes/no leaves


def yes_no_stakes(problem: StakeProblem, tolerance: float = TOLERANCE) -> Stakes:
    """One half-space, yes/no leaves: the intercepts are known in closed form, and one root is left to find.

    Newton's method with bisection as a safeguard. Its small constants only say where it starts and how it continues.
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
    max_stake = MAX_SPREAD / np.maximum((largest / weights).max(axis=-1), TINY)
    unit = np.where(allowed & (spread > 0), 1.0 / np.sqrt(np.where(spread > 0, spread, 1.0)), 0.0)
    mu = np.minimum(unit[:, None] * distances, max_stake[:, None])
    above = mu[:, :, None, None] * (scaled - scaled.min(axis=-1, keepdims=True))[:, None]
    least = _least_factors(above, estimate[:, None])
    return mu, least, least[..., None] + above


def boundary_gains(
    y: Floats, bounds: Floats, estimate: Floats, weights: Floats, counts: Floats, distances: Floats
) -> Floats:
    """What steady stakes on one half-space over yes/no leaves gain on a batch: shape ``(repetitions, distances)``.

    The factors are ``1 + mu (x - p) y / w`` with ``p`` on the half-space's boundary, near the estimate. Their mean is 1
    under ``p``, whatever the stake, and nothing else is estimated: of one rate, the boundary is the bound itself.

    Parameters
    ----------
    y, bounds
        What a yes adds, of shape ``(repetitions, channels)``, and the right-hand side.
    estimate, weights, counts
        As for :func:`best_stakes`.
    distances
        How far outside the truth is taken to be, in standard deviations of a draw.
    """
    idle = weights <= 0.0
    allowed, weights = ~(idle & (y != 0.0)).any(axis=-1), np.where(idle, 1.0, weights)
    p = _on_the_boundary(y, bounds, estimate[..., 1], weights)
    scaled = y / weights
    miss, hit = -scaled * p, scaled * (1.0 - p)
    spread = np.sqrt(np.einsum("rg,rg->r", miss, -y * (1.0 - p)))
    deepest = np.maximum(-np.minimum(miss, hit).min(axis=-1), 0.0)
    largest = np.abs(scaled).max(axis=-1)
    mu = distances / np.maximum(spread[:, None] + distances * deepest[:, None], TINY)
    most = np.where(allowed & (largest > 0.0), MAX_SPREAD / np.maximum(largest, TINY), 0.0)
    mu = np.minimum(mu, most[:, None])
    won = np.einsum("rdg,rg->rd", np.log(1.0 + mu[:, :, None] * miss[:, None]), counts[..., 0])
    won += np.einsum("rdg,rg->rd", np.log(1.0 + mu[:, :, None] * hit[:, None]), counts[..., 1])
    over = np.einsum("rgc->r", counts) * (bounds - np.einsum("rg,rg->r", y, p))
    return np.asarray(won - mu * over[:, None])


def _on_the_boundary(y: Floats, bounds: Floats, h: Floats, weights: Floats) -> Floats:
    """Rates near ``h`` whose sum of ``y p`` is the bound; near its projection, which has ``h - p = m p (1 - p) y / w``.

    Each round spreads the excess over the channels in proportion to ``y^2 p (1 - p) / w``, as the projection does.
    """
    needed = y != 0.0
    divisor, p = np.where(needed, y, 1.0), np.clip(h, EDGE, 1.0 - EDGE)
    excess = np.einsum("rg,rg->r", y, h) - bounds
    for _ in range(1 if y.shape[-1] == 1 else BOUNDARY_ROUNDS):
        part = y * y * p * (1.0 - p) / weights
        total = np.maximum(np.einsum("rg->r", part), TINY)
        p = np.clip(h - excess[:, None] * part / (divisor * total[:, None]), EDGE, 1.0 - EDGE)
    return p


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


# ---------------------------------------------------------------------------- few cells, in plain numbers


def best_gain(
    ys: list[list[float]],
    bounds: list[float],
    estimate: list[list[float]],
    weights: list[float],
    counts: list[list[float]],
    tolerance: float,
) -> float | None:
    """What the best stakes on some half-spaces gain on a batch; ``None`` where more than one root has to be found.

    One root is enough where the estimate violates only one half-space and its projection onto that one lies in all
    others: then that is the projection onto the polytope.

    Parameters
    ----------
    ys, bounds
        What a yes of each channel adds to the left-hand side of each half-space, and its right-hand side.
    estimate
        The shares of no and yes in each channel.
    weights, counts
        Each channel's share of the batch, 0 where it is not bet on, and its numbers of no and yes.
    tolerance
        The search ends when another round would gain less than this, in nats per draw.
    """
    if len(ys) == 1:
        return one_yes_no_gain(ys[0], bounds[0], estimate, weights, counts, tolerance)
    rates = [yes for _, yes in estimate]
    violated = [j for j, y in enumerate(ys) if _dot(y, rates) > bounds[j]]
    if len(violated) != 1:
        return None if violated else 0.0
    y, bound = ys[violated[0]], bounds[violated[0]]
    if any(part <= 0.0 for part in weights):
        return None
    max_stake = MAX_SPREAD / max(*(abs(add / part) for add, part in zip(y, weights, strict=True)), TINY)
    result = one_yes_no_root(y, bound, estimate, weights, max_stake, tolerance)
    if result is None:
        return 0.0  # only rounding puts the estimate outside the half-space
    projected = [rate / yes for rate, (_, yes) in zip(rates, result[1], strict=True)]
    inside = (_dot(other, projected) <= bounds[j] for j, other in enumerate(ys) if j != violated[0])
    return _won(result, bound, counts) if all(inside) else None


def one_yes_no_gain(
    y: list[float],
    bound: float,
    estimate: list[list[float]],
    weights: list[float],
    counts: list[list[float]],
    tolerance: float,
) -> float:
    """The same for one half-space. Nothing is gained where a channel that is needed has no draw."""
    channels = range(len(y))
    if any(weights[g] <= 0.0 and y[g] for g in channels):
        return 0.0
    if len(y) == 1 and y[0] and weights[0] > 0.0:
        share, hit = bound / y[0], estimate[0][1]
        if 0.0 < share < 1.0 and abs(hit - share) < MAX_SPREAD * share * (1.0 - share):
            # One rate: the projection is the bound itself, and the best bet is the likelihood ratio against it.
            if y[0] * hit <= bound:
                return 0.0
            no, yes = counts[0]
            return no * log(estimate[0][0] / (1.0 - share)) + yes * log(hit / share)
    weights = [weight if weight > 0.0 else 1.0 for weight in weights]
    max_stake = MAX_SPREAD / max(*(abs(y[g] / weights[g]) for g in channels), TINY)
    result = one_yes_no_root(y, bound, estimate, weights, max_stake, tolerance)
    return 0.0 if result is None else _won(result, bound, counts)


def one_channel_gain(
    y: list[float], bound: float, estimate: list[float], weight: float, counts: list[float], tolerance: float
) -> float | None:
    """The same for one half-space over one channel with any cells; ``None`` where the stake would be too large.

    The best intercept is ``1 - mu * bound``, since the mean inverse factor is 1 and the mean of payoff over factor is
    the bound. So a factor is ``1 + mu (y - bound)``, and there is only the root of one decreasing function to find.
    """
    over = [payoff - bound for payoff in y]
    excess = sum(h * d for h, d in zip(estimate, over, strict=True))
    if weight <= 0.0 or excess <= 0.0:
        return 0.0
    deepest = -min(d for h, d in zip(estimate, over, strict=True) if h > 0.0)
    max_stake = min(MAX_SPREAD / max(*map(abs, y), TINY), 1.0 / deepest if deepest > 0.0 else inf)
    low, high, mu = (
        0.0,
        max_stake,
        min(excess / sum(h * d * d for h, d in zip(estimate, over, strict=True)), 0.5 * max_stake),
    )
    for _ in range(MAX_ROUNDS):
        slope = bend = 0.0
        for h, d in zip(estimate, over, strict=True):
            part = d / (1.0 + mu * d)
            slope += h * part
            bend += h * part * part
        low, high = (mu, high) if slope > 0.0 else (low, mu)
        new = mu + slope / bend
        new = new if low < new < high else 0.5 * (low + high)
        gain, mu = abs(slope * (new - mu)), new
        if gain < tolerance:
            break
    factors = [1.0 + mu * d for d in over]
    if high >= max_stake or min(factors) <= 0.0:
        return None
    return sum(n * log(f) for n, f in zip(counts, factors, strict=True) if n)


def one_yes_no_root(
    y: list[float], bound: float, estimate: list[list[float]], weights: list[float], most: float, tolerance: float
) -> tuple[float, list[tuple[float, float]]] | None:
    """The best stake on one half-space and its factors; ``None`` where the estimate lies in the half-space.

    Newton's method with bisection as a safeguard, as in ``yes_no_stakes``, which explains its small constants.
    """
    channels = range(len(y))
    miss, h = [max(no, MIN_SHARE) for no, _ in estimate], [max(yes, MIN_SHARE) for _, yes in estimate]
    excess = sum(y[g] * h[g] for g in channels) - bound
    if excess <= 0:
        return None
    curvature = sum(y[g] * y[g] * h[g] * miss[g] / weights[g] for g in channels)
    mu, low, high, moved = min(excess / max(curvature, 1e-12), most), 0.0, inf, inf
    factors = [_two_factors(mu * y[g] / weights[g], miss[g], h[g]) for g in channels]
    for _ in range(MAX_ROUNDS):
        excess, slope = -bound, 0.0
        for g in channels:
            no, yes = factors[g]
            excess += y[g] * h[g] / yes
            steep, flat = h[g] / (yes * yes), miss[g] / (no * no)
            slope -= y[g] * y[g] * steep * (flat / (steep + flat)) / weights[g]
        low, high = (mu, high) if excess > 0 else (low, mu)
        new = mu - excess / slope if slope else inf
        # As in yes_no_stakes, a step that is more than half as long as the last one is not taken.
        poor = not low < new < high or (high < inf and abs(new - mu) > 0.5 * moved)
        if poor and not abs(excess * (new - mu)) < tolerance:
            new = 0.5 * (low + high) if high < inf else 2.0 * mu + 1e-3
        new = min(max(new, 0.0), most)
        moved = abs(new - mu)
        gain, mu = abs(excess) * moved, new
        factors = [_two_factors(mu * y[g] / weights[g], miss[g], h[g]) for g in channels]
        if gain < tolerance:
            break
    return (mu, factors) if mu > 0.0 else None


def _won(stakes: tuple[float, list[tuple[float, float]]], bound: float, counts: list[list[float]]) -> float:
    """The logarithm of a batch's factor."""
    gain, total = 0.0, 0.0
    for (missed, hit), (no, yes) in zip(counts, stakes[1], strict=True):
        gain += missed * log(no) + hit * log(yes) + (missed + hit) * (1.0 - no)
        total += missed + hit
    return gain - total * stakes[0] * bound


def _dot(first: list[float], second: list[float]) -> float:
    return sum(a * b for a, b in zip(first, second, strict=True))


def one_boundary_gain(
    y: list[float],
    bound: float,
    estimate: list[list[float]],
    weights: list[float],
    counts: list[list[float]],
    distances: Floats,
) -> Floats | float:
    """What :func:`boundary_gains` computes, for one repetition: 0 where nothing is staked."""
    needed = [g for g in range(len(y)) if y[g]]
    if not needed or any(weights[g] <= 0.0 for g in needed):
        return 0.0
    h = [estimate[g][1] for g in needed]
    a = [y[g] for g in needed]
    parts, excess = [weights[g] for g in needed], _dot(a, h) - bound
    p = [min(max(rate, EDGE), 1.0 - EDGE) for rate in h]
    for _ in range(1 if len(y) == 1 else BOUNDARY_ROUNDS):
        shares = [add * add * rate * (1.0 - rate) / part for add, rate, part in zip(a, p, parts, strict=True)]
        each = excess / max(sum(shares), TINY)
        p = [
            min(max(rate - each * share / add, EDGE), 1.0 - EDGE) for rate, share, add in zip(h, shares, a, strict=True)
        ]
    spread, deepest, largest, pays, drawn = 0.0, 0.0, 0.0, [], []
    for g, add, rate, part in zip(needed, a, p, parts, strict=True):
        scaled = add / part
        miss, hit = -scaled * rate, scaled * (1.0 - rate)
        spread -= miss * add * (1.0 - rate)
        deepest, largest = max(deepest, -miss, -hit), max(largest, abs(scaled))
        pays += [miss, hit]
        drawn += counts[g]
    mu = np.minimum(distances / (sqrt(spread) + distances * deepest), MAX_SPREAD / largest)
    won = np.log(1.0 + np.multiply.outer(mu, pays)) @ drawn
    over = bound - _dot(a, p)
    return won - mu * (sum(map(sum, counts)) * over) if over else won


def _two_factors(m: float, miss: float, h: float) -> tuple[float, float]:
    """The factors of no and yes for one channel; see ``_yes_no_factors``."""
    down, up = 1.0 - m, 1.0 + m
    root = sqrt(down * down + 4.0 * miss * m if m >= 0 else up * up - 4.0 * h * m)
    no = 0.5 * (down + root) if down >= 0 else 2.0 * miss * m / (root - down)
    yes = 0.5 * (up + root) if up >= 0 else -2.0 * h * m / (root - up)
    return no, yes
