"""The stakes of one bet on few cells, mostly those of yes/no leaves, and what they gain, in plain numbers.

The stakes and the letters are those of :mod:`isonomia.evidence.stakes`. Most checks have two or three bets of two
channels each; for those, plain numbers are several times faster than arrays.
"""

from __future__ import annotations

from math import inf, log, sqrt

MAX_ROUNDS = 40
"""At most this many rounds of Newton's method; fewer than ten are usual. Stopping early changes power only: the stakes
are worse, but as valid."""

MAX_SPREAD = 1e6
"""How far apart stakes may set the factors of two cells. A hypothesis at the edge of what is possible, such as a rate
of 1, asks for unbounded stakes; there, a bound that rounding moved beyond the edge would be mistaken for evidence. So
this *can* change a verdict: with this limit a bound that is off by one rounding gains 2e-10 nats per draw, less than a
nat up to some 1e9 draws, with and without replacement."""

MIN_SHARE = 1e-100
"""Smaller shares of a yes/no estimate are raised to this, so that no factor is 0. Changes power only."""

TINY = 1e-300
"""Keeps a divisor away from 0 where every payoff is 0 and nothing can be won. It changes no verdict."""


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
    most = MAX_SPREAD / max(*(abs(add / part) for add, part in zip(y, weights, strict=True)), TINY)
    result = one_yes_no_root(y, bound, estimate, weights, most, tolerance)
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
    most = MAX_SPREAD / max(*(abs(y[g] / weights[g]) for g in channels), TINY)
    result = one_yes_no_root(y, bound, estimate, weights, most, tolerance)
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
    most = min(MAX_SPREAD / max(*map(abs, y), TINY), 1.0 / deepest if deepest > 0.0 else inf)
    low, high, mu = 0.0, most, min(excess / sum(h * d * d for h, d in zip(estimate, over, strict=True)), 0.5 * most)
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
    if high >= most or min(factors) <= 0.0:
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


def steady_gains_of_one(
    y: list[float],
    bound: float,
    estimate: list[list[float]],
    weights: list[float],
    counts: list[list[float]],
    distances: list[float],
) -> list[float]:
    """What the steady bettors on one half-space gain on a batch, one value per distance.

    Their stakes are those of ``steady_stakes``: best where the truth lies that distance outside the half-space, in
    standard deviations of one draw.
    """
    channels, spread, largest, total = [], 0.0, TINY, 0.0
    for add, (miss, h), weight, (missed, hit) in zip(y, estimate, weights, counts, strict=True):
        total += missed + hit
        if not add:
            continue
        if weight <= 0.0:
            return [0.0] * len(distances)
        miss, h, scaled = max(miss, MIN_SHARE), max(h, MIN_SHARE), add / weight
        spread += add * scaled * miss * h
        largest = max(largest, abs(scaled))
        channels.append((scaled, miss, h, 4.0 * (miss if add > 0.0 else h), missed, hit))
    if spread <= 0.0:
        return [0.0] * len(distances)
    unit, most, gains = 1.0 / sqrt(spread), MAX_SPREAD / largest, []
    for distance in distances:
        mu = min(unit * distance, most)
        gain = -mu * total * bound
        for scaled, miss, h, share, missed, hit in channels:
            m = mu * scaled
            size = abs(m)
            if size <= 1.0:
                root = sqrt((1.0 - size) * (1.0 - size) + share * size)
                no, yes = 0.5 * (1.0 - m + root), 0.5 * (1.0 + m + root)
            else:
                no, yes = _two_factors(m, miss, h)
            gain += missed * log(no) + hit * log(yes) + (missed + hit) * (1.0 - no)
        gains.append(gain)
    return gains


def _two_factors(m: float, miss: float, h: float) -> tuple[float, float]:
    """The factors of no and yes for one channel; see ``_yes_no_factors``."""
    down, up = 1.0 - m, 1.0 + m
    root = sqrt(down * down + 4.0 * miss * m if m >= 0 else up * up - 4.0 * h * m)
    no = 0.5 * (down + root) if down >= 0 else 2.0 * miss * m / (root - down)
    yes = 0.5 * (up + root) if up >= 0 else -2.0 * h * m / (root - up)
    return no, yes
