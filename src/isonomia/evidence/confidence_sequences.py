"""Evidence functions and confidence sequences for one mean, for a share of a finite group, and for many shares at once.

An evidence function ``L_n(theta)`` says how strongly the draws speak against a mean. For the true mean

    P(there is an n with L_n(theta) >= log(1/delta)) <= delta,

since ``exp(L_n)`` at the truth is at most a mixture of bets. So one may look after every draw.

- A yes/no leaf mixes likelihood ratios with a Beta(1/2, 1/2) weight. A number mixes the stakes ``1 + l (x - theta)``
  over all ``l`` that cannot lose more than everything, with the same weight on the two extreme ones; that mixture is
  not computed but bounded from below by its best stake in hindsight minus its known regret.
- For a share of ``N`` people drawn without replacement, prior over posterior of a beta-binomial prior on the number of
  successes is a martingale at the true number (Waudby-Smith and Ramdas 2020, the prior-posterior ratio). It is exact at
  the end: when everyone is drawn, only the true number is left.
- Many shares, each against the same threshold, need only the number of draws and how many said yes, so each person may
  have a different number of draws, in batches of any size.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc, betaincc, betaln, gammaln, rel_entr, xlog1py, xlogy

from isonomia.errors import UsageError

Floats = NDArray[np.float64]

SECTIONS = 24
"""Points evaluated together in the search for an interval's end: one call gives several bits. Changes cost only."""

PSEUDO_COUNT = 1e-9
"""Draws added at both ends of a range to keep a projection finite. They only choose the stakes; the evidence is that of
the real draws, or a margin covers what they add. So they change the width of intervals, not their validity."""

END_TOLERANCE = 1e-12
"""How precisely an interval's end is found, relative to the range. The far side is returned, so this only widens it."""

WALL = 1.0 - 1e-15
"""How near a bet may come to the one that could lose everything: this costs next to nothing, and no factor is 0. It
gains no more than the best bet, so it only widens intervals."""

MAX_BET = 1e6
"""The largest bet, for a mean at the very end of its range, where any bet is safe but rounding must not look like
evidence. So it *can* change a verdict: see ``MAX_SPREAD`` of :mod:`isonomia.evidence.stakes`."""

BET_TOLERANCE = 1e-11
"""The search for the best bet stops when another step gains less than about this, in nats. It only widens intervals."""

MAX_BET_ROUNDS = 80
"""Steps of the search for the best bet; about ten are usual. Stopping early only widens intervals."""

HALF = 0.5
"""Both parameters of the beta weight over alternatives (Krichevsky and Trofimov 1981), truncated at the threshold where
there is one, and of the beta-binomial prior. Any weight is valid; this one has nearly the least regret."""

FINITE_MARGIN = 1e-9
"""Nats by which the evidence against a total must exceed the limit, to cover rounding of about ``N * 5e-15``. It *can*
change an interval by one person. It covers groups of up to two hundred thousand; for larger ones rounding may raise the
risk by a factor of ``1 + N * 5e-15``."""

MAX_HALVINGS = 60
"""Halvings for an interval's end, after which it is exact to rounding. The far side is returned, so it only widens."""

MAX_STEPS = 120
"""Steps of the search for an interval's end; about ten are usual. Every end is a refuted value, so stopping early only
widens the interval."""


def check_delta(delta: float) -> None:
    """Raise ``UsageError`` unless the risk lies strictly between 0 and 1."""
    if not 0.0 < delta < 1.0:
        raise UsageError(f"expected delta between 0 and 1, but got delta={delta!r}", name="delta")


def log_evidence(nodes: Floats, tally: Floats, mean: Floats) -> Floats:
    """``L(mean)`` for tallies of shape ``(repetitions, nodes)`` and one mean per repetition.

    Guarantee
    ---------
    For independent draws in ``[nodes[0], nodes[-1]]`` with true mean ``mean``, ``P(sup over n of L >= log(1/delta)) <=
    delta``. Sources: Robbins (1970) for the mixture; Cover and Ordentlich (1996), Theorem 2, for the regret of the
    number's mixture; Orabona and Jun (2021) for reading it as a confidence sequence.
    """
    tally = np.atleast_2d(tally)
    return np.asarray(divergence(nodes, tally, np.asarray(mean, dtype=float)) - mixture_regret(nodes, tally))


def mixture_regret(nodes: Floats, tally: Floats) -> Floats:
    """The regret of the mixture against the best bet in hindsight, in nats: ``-L`` at the sample mean."""
    n = tally.sum(axis=-1)
    if len(nodes) == 2:
        no, yes = tally[..., 0], tally[..., 1]
        best = xlogy(yes, yes) + xlogy(no, no) - xlogy(n, n)
        return np.asarray(best - (betaln(yes + 0.5, no + 0.5) - betaln(0.5, 0.5)))
    return np.asarray(0.5 * np.log(np.pi) + gammaln(n + 1.0) - gammaln(n + 0.5))


def divergence(nodes: Floats, tally: Floats, mean: Floats) -> Floats:
    """``n`` times the least Kullback-Leibler distance from the tally to a distribution with the given mean."""
    if len(nodes) == 2:
        theta = np.clip((mean - nodes[0]) / (nodes[1] - nodes[0]), 0.0, 1.0)
        no, yes = tally[..., 0], tally[..., 1]
        n = np.maximum(no + yes, 1e-300)  # no draws at all: a divergence of 0, not a division by 0
        # An end of the range is possible as long as nothing was seen beyond it: 0 log(0 / 0) is 0.
        return np.asarray(n * (rel_entr(yes / n, theta) + rel_entr(no / n, 1.0 - theta)))
    return _best_bet_gain(nodes, tally, mean)


def mean_interval(nodes: Floats, tally: Floats, delta: float) -> tuple[float, float]:
    """The means that the evidence does not refute: an interval that contains the true mean at all times.

    Guarantee: ``P(there is an n at which the interval misses the mean) <= delta``. With no draws it is the whole range.
    """
    return interval_within(nodes, tally, float(np.log(1.0 / delta) + mixture_regret(nodes, tally[None, :])[0]))


def interval_within(
    nodes: Floats, tally: Floats, limit: float, tolerance: float = END_TOLERANCE
) -> tuple[float, float]:
    """The means whose divergence from the tally is below a limit, in nats; the whole range where nothing was drawn.

    ``tolerance`` says how precisely the ends are found, relative to the range; it only moves them outwards.
    """
    low, high = float(nodes[0]), float(nodes[-1])
    n = float(tally.sum())
    if n <= 0:
        return low, high
    centre = float(tally @ nodes) / n
    return _root(nodes, tally, limit, centre, low, tolerance), _root(nodes, tally, limit, centre, high, tolerance)


def _root(nodes: Floats, tally: Floats, limit: float, inside: float, end: float, tolerance: float) -> float:
    """Find where the divergence passes the limit; returns the far side, so that rounding widens the interval.

    The divergence grows away from the sample mean. Each round evaluates many points at once and keeps one section.
    """
    rows = np.broadcast_to(tally, (SECTIONS, len(nodes)))
    if divergence(nodes, rows[:1], np.asarray([end]))[0] < limit:
        return end
    outside = end
    while abs(outside - inside) > tolerance * (nodes[-1] - nodes[0]):
        points = np.linspace(inside, outside, SECTIONS + 2)
        beyond = np.flatnonzero(divergence(nodes, rows, points[1:-1]) >= limit)
        first = int(beyond[0]) + 1 if len(beyond) else SECTIONS + 1
        if (inside, outside) == (points[first - 1], points[first]):
            break
        inside, outside = float(points[first - 1]), float(points[first])
    return outside


def _best_bet_gain(nodes: Floats, tally: Floats, mean: Floats) -> Floats:
    """The log wealth of the best bet on a number in hindsight, ``max over l of sum of tally * log(1 + l (x - mean))``.

    By duality that is the divergence (Honda and Takemura 2010, Theorem 8). Any ``l`` bounds it from below, so stopping
    the search early only widens intervals. The slope decreases in ``l``: Newton's method, with bisection where a step
    leaves the bracket.
    """
    x = (nodes - nodes[0]) / (nodes[-1] - nodes[0])
    m = np.clip((np.asarray(mean, dtype=float) - nodes[0]) / (nodes[-1] - nodes[0]), 0.0, 1.0)
    ends = np.zeros(len(nodes))
    ends[0] = ends[-1] = PSEUDO_COUNT
    weights = tally + ends
    # Nodes at which nothing was drawn do not matter.
    used = weights.any(axis=0)
    x, tally, weights = x[used], tally[:, used], weights[:, used]
    away = x - m[:, None]
    with np.errstate(divide="ignore"):
        low, high = -np.minimum(WALL / (1.0 - m), MAX_BET), np.minimum(WALL / m, MAX_BET)
    bet, rows = _walled_bets(x, tally, m, low, high), np.arange(len(m))
    for _ in range(MAX_BET_ROUNDS):
        share = away[rows] / (1.0 + bet[rows, None] * away[rows])
        slope = (weights[rows] * share).sum(axis=-1)
        bend = (weights[rows] * share * share).sum(axis=-1)
        low[rows], high[rows] = np.where(slope > 0, bet[rows], low[rows]), np.where(slope > 0, high[rows], bet[rows])
        step = bet[rows] + slope / np.maximum(bend, 1e-300)
        inside = (step > low[rows]) & (step < high[rows])
        going = slope * slope > BET_TOLERANCE * bend
        rows, step, inside = rows[going], step[going], inside[going]
        if not len(rows):
            break
        bet[rows] = np.where(inside, step, 0.5 * (low[rows] + high[rows]))
    return np.asarray(np.maximum((tally * np.log1p(bet[:, None] * away)).sum(axis=-1), 0.0))


def _walled_bets(x: Floats, tally: Floats, m: Floats, low: Floats, high: Floats) -> Floats:
    """Where the search for the best bet begins: at 0, or by the wall where even the bet at the wall could still grow.

    Then the best bet keeps away from the wall only for the pseudo-count behind it, and Newton's method would halve that
    distance in each round. It changes cost only.
    """
    bet = np.zeros(len(m))
    for wall, end, sign in ((low, 1.0, -1.0), (high, 0.0, 1.0)):
        away = x - m[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            slope = np.where(tally > 0, tally * away / (1.0 + wall[:, None] * away), 0.0).sum(axis=-1)
            room = PSEUDO_COUNT * np.abs(end - m) / np.abs(slope)  # what is left of the money if that end is drawn
        walled = (sign * slope > 0) & np.isfinite(slope) & (room < 0.5) & (np.abs(wall) < MAX_BET)
        bet = np.where(walled & ~(tally[:, x == end] > 0).any(axis=-1), wall * (1.0 - room), bet)
    return bet


def log_finite_evidence(successes: Floats, n: Floats, size: Floats, total: Floats) -> Floats:
    """Evidence that the group of ``size`` people does not have ``total`` successes, after ``successes`` of ``n`` drawn.

    Guarantee: for the true ``total``, ``P(there is an n with evidence >= log(1/delta)) <= delta``. Infinite for totals
    that the draws rule out.
    """
    possible = (total >= successes) & (total <= size - (n - successes))
    inside = np.clip(total, successes, size - (n - successes))
    prior = _log_beta_binomial(inside, size, HALF, HALF)
    posterior = _log_beta_binomial(inside - successes, size - n, HALF + successes, HALF + n - successes)
    return np.where(possible, prior - posterior, np.inf)


def finite_interval(successes: float, n: float, size: float, delta: float) -> tuple[float, float]:
    """The shares that the draws do not refute: contains the group's true share at all times at risk ``delta``.

    With no one drawn it is ``[0, 1]``; with everyone drawn it is the share itself.
    """
    if n <= 0:
        return 0.0, 1.0
    most_likely = successes + np.round((size - n) * successes / n)
    low = _edge(successes, n, size, delta, inside=most_likely, outside=successes)
    high = _edge(successes, n, size, delta, inside=most_likely, outside=size - (n - successes))
    return low / size, high / size


def _edge(successes: float, n: float, size: float, delta: float, *, inside: float, outside: float) -> float:
    """Bisect over whole numbers for the farthest total that is not refuted."""

    def is_possible(total: float) -> bool:
        arguments = (np.asarray(value) for value in (successes, n, size, total))
        return bool(log_finite_evidence(*arguments) < np.log(1.0 / delta) + FINITE_MARGIN)

    if is_possible(outside):
        return outside
    while abs(outside - inside) > 1:
        middle = float(np.floor(0.5 * (inside + outside)))
        if middle in (inside, outside):  # at this size, double precision has no whole number in between
            break
        inside, outside = (middle, outside) if is_possible(middle) else (inside, middle)
    return inside


def _log_beta_binomial(k: Floats, n: Floats, a: Floats | float, b: Floats | float) -> Floats:
    choose = gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0)
    return np.asarray(choose + betaln(k + a, n - k + b) - betaln(a, b))


def log_wealth_above(successes: ArrayLike, n: ArrayLike, threshold: float) -> Floats:
    """The logarithm of the wealth of bets that a share lies above the threshold.

    Guarantee: for independent draws with a share ``p <= threshold``, ``P(there is an n with wealth >= 1/delta) <=
    delta``. The wealth is the mean of the likelihood ratios of ``q`` against the threshold ``t`` over all ``q`` above
    it. Each is a supermartingale, since one draw multiplies it by ``1 + (q - t)(p - t) / (t (1 - t)) <= 1`` on average;
    so is their mean, and Ville's inequality applies. Mixing goes back to Robbins (1970).
    """
    s, total = _counts(successes, n, threshold)
    return _log_mixture(s, total, threshold, betaincc)


def log_wealth_below(successes: ArrayLike, n: ArrayLike, threshold: float) -> Floats:
    """The logarithm of the wealth of bets that a share lies below the threshold.

    Guarantee: for independent draws with a share ``p >= threshold``, ``P(there is an n with wealth >= 1/delta) <=
    delta``, by the argument of :func:`log_wealth_above`.
    """
    s, total = _counts(successes, n, threshold)
    return _log_mixture(s, total, threshold, betainc)


def tail_above(successes: ArrayLike, n: ArrayLike, threshold: float) -> Floats:
    """The exact p-value of ``p <= threshold`` for a fixed ``n``: the chance of this many successes or more."""
    from scipy.stats import binom  # takes half a second to import, so only where it is needed

    s, total = _counts(successes, n, threshold)
    return np.asarray(binom.sf(s - 1.0, total, threshold))


def tail_below(successes: ArrayLike, n: ArrayLike, threshold: float) -> Floats:
    """The exact p-value of ``p >= threshold`` for a fixed ``n``: the chance of this many successes or fewer.

    It is at most ``delta`` exactly where the upper Clopper-Pearson limit at ``delta`` is at most the threshold.
    """
    from scipy.stats import binom

    s, total = _counts(successes, n, threshold)
    return np.asarray(binom.cdf(s, total, threshold))


def anytime_interval(successes: ArrayLike, n: ArrayLike, delta: float) -> tuple[Floats, Floats]:
    """An interval for each share that remains valid when looked at after every draw.

    Guarantee: for independent draws with share ``p``, ``P(there is an n at which the interval misses p) <= delta``. It
    is the interval of :func:`mean_interval`, for many people at once; rounding widens it.
    """
    check_delta(delta)
    s, total = _counts(successes, n, 0.5)
    pairs, index = np.unique(np.stack([s.reshape(-1), total.reshape(-1)]), axis=1, return_inverse=True)
    yes, draws = pairs
    centre = np.where(draws > 0, yes / np.maximum(draws, 1.0), 0.5)
    excess = betaln(yes + HALF, draws - yes + HALF) - betaln(HALF, HALF) - np.log(1.0 / delta)
    ends = [_end(yes, draws, excess, centre, np.full(len(draws), end)) for end in (0.0, 1.0)]
    low, high = (end[index.reshape(-1)].reshape(s.shape) for end in ends)
    return low, high


def _end(yes: Floats, draws: Floats, excess: Floats, inside: Floats, outside: Floats) -> Floats:
    """Bisect for where the evidence against a share passes the limit; returns the far side.

    ``excess`` is the log likelihood of the mixture minus the limit. An end of the range that no draw rules out is never
    refuted: the evidence stays below the limit all the way to it, or the centre already lies there.
    """
    for _ in range(MAX_HALVINGS):
        middle = (inside + outside) / 2.0
        possible = excess - xlogy(yes, middle) - xlog1py(draws - yes, -middle) < 0.0
        inside, outside = np.where(possible, middle, inside), np.where(possible, outside, middle)
    return outside


def _log_mixture(s: Floats, n: Floats, threshold: float, mass: np.ufunc) -> Floats:
    """The log of the mean over the alternatives that ``mass`` measures; where the mass underflows, the wealth is 0."""
    with np.errstate(divide="ignore"):
        weight = np.log(mass(s + HALF, n - s + HALF, threshold)) - np.log(mass(HALF, HALF, threshold))
    mean = betaln(s + HALF, n - s + HALF) - betaln(HALF, HALF) + weight
    return np.asarray(mean - s * np.log(threshold) - (n - s) * np.log1p(-threshold))


def _counts(successes: ArrayLike, n: ArrayLike, threshold: float) -> tuple[Floats, Floats]:
    s, total = np.broadcast_arrays(np.asarray(successes, dtype=float), np.asarray(n, dtype=float))
    if not 0.0 < threshold < 1.0:
        raise UsageError(f"expected a threshold strictly between 0 and 1, but got {threshold!r}", name="threshold")
    if bool(np.any((s < 0) | (s > total))):
        raise UsageError(f"expected 0 <= successes <= n, but got successes={successes!r} and n={n!r}")
    return s, total


def mean_ends(nodes: Floats, batches: Floats, delta: float, order: float | None = None) -> tuple[float, float]:
    """Limits of a mean of numbers in a range, for one look after a number of draws fixed in advance.

    Guarantee: for independent draws, ``P(mean < low) <= delta`` and ``P(mean > high) <= delta``. The wealth of
    bets that the mean lies above ``m``, ``prod of (1 + stake * (x - m))``, is a supermartingale at the true mean, with
    stakes from earlier batches; it decreases in ``m``, and the limit is where it reaches ``1 / delta``. Looking earlier
    is valid too, but the stakes are tuned to all draws. Source: Waudby-Smith and Ramdas (2024), section 4.

    Parameters
    ----------
    nodes
        The values at which draws are counted, from the lowest to the highest possible one.
    batches
        The counts of each batch, in the order in which they came: shape ``(batches, nodes)``.
    delta
        The risk of each end.
    order
        The risk that the stakes are tuned for, where the same wealth is compared with several risks.
    """
    unit = (nodes - nodes[0]) / (nodes[-1] - nodes[0])
    low = _mean_limit(unit, batches, delta, order or delta)
    high = 1.0 - _mean_limit(1.0 - unit[::-1], batches[:, ::-1], delta, order or delta)
    span = float(nodes[-1] - nodes[0])
    return float(nodes[0]) + span * low, float(nodes[0]) + span * high


MOST_STAKE = 0.75
"""The largest part of the wealth that one draw can lose. Any part below 1 is valid; the source takes 1/2 or 3/4."""


def _mean_limit(unit: Floats, batches: Floats, delta: float, order: float) -> float:
    check_delta(delta)
    total = float(batches.sum())
    if total <= 0.0:
        return 0.0
    earlier = np.cumsum(batches, axis=0) - batches
    n = earlier.sum(axis=1)
    spread = np.maximum((earlier @ unit**2) - n * (earlier @ unit / np.maximum(n, 1.0)) ** 2, 0.0)
    variance = (0.25 + spread) / (n + 1.0)
    # The best stake for a normal mean at a known number of draws: z / (sd * sqrt(n)) with z = sqrt(2 log(1 / delta)).
    stakes = np.sqrt(2.0 * float(np.log(1.0 / order)) / (variance * total))

    def refuted(m: float) -> bool:
        bounded = np.minimum(stakes, MOST_STAKE / max(m, 1e-300))
        wealth = np.cumsum((batches * np.log1p(bounded[:, None] * (unit - m))).sum(axis=1))
        return bool(wealth.max() >= float(np.log(1.0 / delta)))

    if not refuted(0.0):
        return 0.0
    low, high = 0.0, 1.0
    for _ in range(30):  # to a billionth of the range; the refuted side is returned, so fewer only loosen the limit
        middle = 0.5 * (low + high)
        low, high = (middle, high) if refuted(middle) else (low, middle)
    return low


TILTS = 2.0 ** np.arange(-11.0, 3.5, 0.5)
"""The exponents that :func:`drifting_interval` mixes; changes width only."""


def drifting_interval(total: float, n: float, delta: float) -> tuple[float, float]:
    """An interval for the average conditional mean of ``n`` draws between 0 and 1 that add up to ``total``.

    Guarantee: each draw may have its own distribution, which may depend on the earlier draws. With probability at least
    ``1 - delta`` the mean of their conditional means lies in the interval after every draw. Proof: for one exponent
    ``l`` the product of ``exp(l x_i) / (1 - m_i + m_i e^l)`` is a supermartingale, and since ``log(1 - m + m e^l)`` is
    concave in ``m``, that product is at least ``exp(l total) / (1 - m + m e^l)^n`` at the mean ``m`` of the means. Each
    end gets half of ``delta`` and mixes over exponents.
    """
    check_delta(delta)
    if n <= 0:
        return 0.0, 1.0
    need = np.log(2.0 / delta)
    return 1.0 - _drifting_end(n - total, n, need), _drifting_end(total, n, need)


def _drifting_end(total: float, n: float, need: float) -> float:
    """The largest mean that is not refuted by exponents below 0."""
    inside, outside = total / n, 1.0
    while outside - inside > END_TOLERANCE:
        middle = 0.5 * (inside + outside)
        logs = -TILTS * total - n * np.log1p(middle * np.expm1(-TILTS))
        highest = logs.max()
        if highest + np.log(np.exp(logs - highest).mean()) >= need:
            outside = middle
        else:
            inside = middle
    return float(outside)


def crossing(reach: Callable[[float], float], scale: float, offset: float = 0.0) -> float:
    """An upper bound on the step at which a growing function passes 1; infinite where it does not.

    Precise to a millionth of ``scale``, or to rounding at the size of ``offset``: regula falsi, with bisection where
    that is slow. Every step is checked by the function itself, so the constants below only change how many steps are
    taken and how tight the bound is; they never move it inwards.
    """
    near, far, step, last, slow = 0.0, np.inf, 1e-2 * scale, (0.0, 0.0), 0
    for _ in range(MAX_STEPS):
        value, width = reach(step), far - near
        near, far = (near, step) if value >= 1.0 else (step, far)
        slow = slow + 1 if far - near > 0.5 * width else 0
        tolerance = max(1e-6 * scale, 1e-15 * (offset + step))
        if far - near <= tolerance or near > 1e15 * scale:
            break
        rise = value - last[1]
        guess = step + (1.0 - value) * (step - last[0]) / rise if rise else np.inf
        # Aim a little past the crossing, on the other side from the last value, so that both ends close in.
        guess += 0.4 * tolerance if value < 1.0 else -0.4 * tolerance
        if not near < guess < far or (slow >= 2 and far < np.inf):
            guess, slow = 0.5 * (near + far), 0
        last, step = (step, value), min(guess, 30.0 * step)
    return far
