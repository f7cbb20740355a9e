"""Exact binomial computations for numbers of draws fixed in advance: limits for a share, sample sizes and power."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import asin, ceil, exp, log, log1p, log2, pi, sin, sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc, betainccinv, betaincinv, gammaln, ndtr, ndtri, xlog1py, xlogy

from isonomia.errors import UsageError
from isonomia.evidence.confidence_sequences import check_delta, log_wealth_below

Floats = NDArray[np.float64]

MAX_DRAWS = 1_000_000
"""Plans with more draws are rejected, since the power is computed for every number of draws. It changes no verdict."""


def clopper_pearson(successes: ArrayLike, n: ArrayLike, delta: float) -> tuple[Floats, Floats]:
    """The equal-tailed exact interval: each side errs with probability at most ``delta / 2``.

    Guarantee: ``P(low <= p <= high) >= 1 - delta`` for every ``p`` and every *fixed* ``n``. It does not allow repeated
    looks; for those see :func:`isonomia.evidence.confidence_sequences.mean_interval`. The lower limit is 0 if there is
    no success, the upper limit 1 if there is no failure. Source: Clopper and Pearson (1934).
    """
    return lower_limit(successes, n, delta / 2), upper_limit(successes, n, delta / 2)


def lower_limit(successes: ArrayLike, n: ArrayLike, delta: float) -> Floats:
    """The exact lower confidence limit, wrong with probability at most ``delta`` for fixed ``n``; 0 at no success."""
    s, total = _checked(successes, n, delta)
    inside = s > 0
    value = betaincinv(np.where(inside, s, 1.0), np.where(inside, total - s + 1.0, 1.0), delta)
    return np.where(inside, value, 0.0)


def upper_limit(successes: ArrayLike, n: ArrayLike, delta: float) -> Floats:
    """The exact upper confidence limit, wrong with probability at most ``delta`` for fixed ``n``; 1 at no failure."""
    s, total = _checked(successes, n, delta)
    inside = s < total
    value = betainccinv(np.where(inside, s + 1.0, 1.0), np.where(inside, total - s, 1.0), delta)
    return np.where(inside, value, 1.0)


def planned_lower_limit(successes: float, sizes: Sequence[int], risks: Sequence[float], looks: int) -> float:
    """The exact lower limit at the last of several looks, whose numbers of draws were fixed in advance.

    Guarantee: with the limits of the earlier looks computed in the same way, ``P(some limit exceeds p) <= risks[-1]``
    for every ``p``. Proof: the candidate rates are cut into cells, the same at every look. For the upper end ``q`` of a
    cell the boundaries ``b_i`` are chosen look by look, each the least with ``P_q(S_1 >= b_1 or ... or S_i >= b_i) <=
    risks[i]``, which is computed by convolving counts. That event only becomes rarer for smaller rates, so the bound
    is valid in the whole cell. A cell is excluded at look ``i`` if ``S_i >= b_i``; the limit is the lower end of the
    first cell that is not. Below :func:`lower_limit` at ``risks[i] - risks[i - 1]`` every cell is excluded, since
    that tail and the risk spent before add up to at most ``risks[i]``; so the search begins there.

    Parameters
    ----------
    successes
        How many draws said yes at the last look.
    sizes, risks
        The number of draws at each look so far, and the risk spent up to it.
    looks
        How many looks are planned.
    """
    if successes <= 0 or not sizes[-1]:
        return 0.0
    spent = risks[-2] if len(risks) > 1 else 0.0
    least = float(lower_limit(successes, sizes[-1], risks[-1] - spent))
    if looks == 1 or sizes[-1] > MAX_CONVOLVED or risks[0] < LEAST_CONVOLVED:
        return least
    cells = 2 ** max(10, ceil(log2(CELLS_PER_ERROR * sqrt(looks * max(sizes[0], 1)))))
    cell = int(2.0 * cells / pi * asin(sqrt(least)))
    while cell < cells and _chance_of_exclusion(successes, _edge(cell + 1, cells), sizes, risks) <= risks[-1]:
        cell += 1
    return _edge(cell, cells)


def planned_upper_limit(successes: float, sizes: Sequence[int], risks: Sequence[float], looks: int) -> float:
    """The upper limit in the sense of :func:`planned_lower_limit`."""
    return 1.0 - planned_lower_limit(sizes[-1] - successes, sizes, risks, looks)


MAX_CONVOLVED = 1_000_000
"""With more draws, convolving would take seconds; the limit is then that of the last look's own part of the risk, which
is valid too. Changes power only."""

LEAST_CONVOLVED = 1e-100
"""With less risk, far more counts would have to be convolved, and in the end their chances would be too small for
doubles; the limit is then that of the last look's own part of the risk, too. Changes power only."""

CELLS_PER_ERROR = 300
"""How many cells there are for each standard error, about, at the last of equally spaced looks: a limit is at most
half a percent of the interval lower than it could be. Any number is valid."""

ROUNDING = 1e-8
"""By how much a computed tail may be too small, relatively: the logarithms of factorials of a million are off by 1e-9.
Tails are enlarged by it, so that no limit is too high."""

NEGLECTED = 1e-17
"""The probability, as a part of the first look's risk, of the counts on one side that are not convolved. It is added to
the tails: changes power only."""


def _edge(cell: int, cells: int) -> float:
    """The lower end of a cell; cells are equally wide on the scale on which all rates have the same error."""
    return sin(pi * cell / (2.0 * cells)) ** 2


def _chance_of_exclusion(successes: float, rate: float, sizes: Sequence[int], risks: Sequence[float]) -> float:
    """The chance that a rate is excluded at an earlier look, or that the last has at least so many successes."""
    left, first, before = np.ones(1), 0, 0
    excluded = 2.0 * len(sizes) * NEGLECTED * risks[0]  # wherever neglected counts lead, it is counted as excluded
    for look, (size, risk) in enumerate(zip(sizes, risks, strict=True)):
        counts, pmf = _pmf(size - before, rate, NEGLECTED * risks[0])
        left, first, before = np.convolve(left, pmf), first + counts, size
        tails = (1.0 + ROUNDING) * np.cumsum(left[::-1])[::-1]
        if look == len(sizes) - 1:
            index = max(int(successes) - first, 0)
            return excluded + (float(tails[index]) if index < len(tails) else 0.0)
        boundary = int(np.argmax(np.append(tails, 0.0) <= risk - excluded))
        excluded += float(tails[boundary]) if boundary < len(tails) else 0.0
        left = left[:boundary] if boundary else np.zeros(1)
    return excluded


def _pmf(n: int, rate: float, neglected: float) -> tuple[int, Floats]:
    """The probabilities of the numbers of successes around the mean, and the least such number.

    By Bernstein's inequality the numbers left out have at most the neglected probability on either side.
    """
    nats = -log(neglected)
    reach = nats / 3.0 + sqrt(nats**2 / 9.0 + 2.0 * nats * n * rate * (1.0 - rate))
    low, high = max(0, int(n * rate - reach)), min(n, ceil(n * rate + reach))
    k = np.arange(low, high + 1)
    if rate >= 1.0:
        return n, np.ones(1)
    logs = gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0) + k * log(rate) + (n - k) * log1p(-rate)
    return low, np.exp(logs)


def half_space_p_values(
    successes: ArrayLike,
    n: ArrayLike,
    factors: tuple[float, float],
    bound: float,
    *,
    between: tuple[float, float] = (0.0, 1.0),
) -> NDArray[np.float64]:
    """Exact p-values of ``factors[0] * p0 + factors[1] * p1 <= bound`` for many pairs of independent counts.

    Guarantee: for fixed ``n`` and any rates that satisfy the inequality, ``P(p-value <= alpha) <= alpha``. Where the
    inequality names one rate, it is a binomial tail. Where it names both, suppose that one of them is ``t``. Then the
    tail of ``T = factors . (x / n)`` and the two-sided tail of the count with rate ``t`` are p-values, and so is the
    lesser of ``tail / (1 - w)`` and ``two-sided / w`` by Bonferroni. The truth is some ``t``, so the largest over all
    ``t`` is a p-value; the second part keeps rates out that do not go with the counts (as Berger and Boos 1994 do, at
    a level that falls with the p-value). Both tails are monotone in each rate, so over a cell of values they are
    bounded by their values at a corner: the maximum is bounded from above, not found on a grid.

    Parameters
    ----------
    successes, n
        Counts of shape ``(tests, 2)``.
    factors, bound
        The inequality.
    between
        The p-values that matter. Where there are two rates, one that is certainly below the first is bounded with less
        work, and one that is far above the second is said to be 1; both are at least the p-value itself.
    """
    x, total = np.asarray(successes, dtype=float), np.asarray(n, dtype=float)
    first, second = factors
    if not first and not second:
        return np.full(len(x), 1.0 if bound >= 0 else 0.0)
    for g, other in ((0, second), (1, first)):
        if not other:
            return _tail(x[:, g], total[:, g], bound / factors[g], upward=factors[g] > 0)
    if len(x) > MOST_SUMMED:
        p_values = _combined(x, total, factors, bound, CELLS)
        close = np.flatnonzero(p_values < CLOSE)
        if len(close):
            finer = _combined(x[close], total[close], factors, bound, FINE_CELLS)
            p_values[close] = np.minimum(p_values[close], finer)
        return p_values
    pairs = zip(x, total, strict=True)
    return np.asarray([_of_two_rates(counts, sizes, np.asarray(factors), bound, between) for counts, sizes in pairs])


MOST_SUMMED = 1_000
"""With more pairs of counts, the tail of T would take too long. Then the tail of the first count at ``t``, and that of
the second at the bound that ``t`` leaves for its rate, are combined: with ``u`` their product, Fisher's
``u (1 - log u)`` is a p-value for each ``t``. It depends on the number of pairs alone, so both are valid."""

CELLS, FINE_CELLS, CLOSE = 80, 400, 0.2
"""How many cells the values of a rate are cut into, at first and where the p-value is below ``CLOSE``. More cells bring
the bound nearer to the maximum; any number is valid."""

SPREAD = 38.0
"""How many standard errors around the estimate the cells reach; they get wider outwards, and beyond there is one cell
on either side. A tail out there is smaller than any double. A cell's bound holds for any width: changes power only."""


def _combined(x: Floats, n: Floats, factors: tuple[float, float], bound: float, cells: int) -> Floats:
    """Fisher's combination, an upper bound over all cells."""
    first, second = factors
    centre = (x[:, 0] + 0.5) / (n[:, 0] + 1.0)
    error = np.sqrt(centre * (1.0 - centre) / (n[:, 0] + 1.0))
    steps = np.linspace(-1.0, 1.0, cells - 1)
    inner = np.clip(centre[:, None] + SPREAD * error[:, None] * steps * np.abs(steps), 0.0, 1.0)
    edges = np.concatenate([np.zeros((len(x), 1)), inner, np.ones((len(x), 1))], axis=1)
    own = _tail(x[:, :1], n[:, :1], edges, upward=first > 0)
    other = _tail(x[:, 1:], n[:, 1:], (bound - first * edges) / second, upward=second > 0)
    # Within a cell each tail is at most its larger value at the two ends.
    product = np.maximum(own[:, 1:], own[:, :-1]) * np.maximum(other[:, 1:], other[:, :-1])
    largest = product.max(axis=1)
    return np.where(largest > 0, largest * (1.0 - np.log(np.maximum(largest, 1e-300))), 0.0)


WEIGHT = 0.01
"""``w``. Any share is valid: more makes the tail larger, less lets more values of ``t`` in. Changes power only."""

CELL = 0.04
"""The width of a cell, in standard deviations of T: loses a sixth of a p-value of 1e-5. Changes power and cost only."""

MOST_CELLS = 40
"""How many cells there are on either side at most; for strong evidence they get wider. Changes power and cost only."""

WORTH = 3.0
"""Where the normal approximation is more than this many times as large as any p-value that matters, the p-value counts
as 1. Changes power only."""

LEFT_OUT = 15.0
"""How many nats below the p-value, about, the probability of the counts lies that are left out of a sum. It is added
back, so p-values are at least as large. Changes power only."""


def _of_two_rates(x: Floats, n: Floats, slopes: Floats, bound: float, between: tuple[float, float]) -> float:
    rates = (x + 0.5) / (n + 1.0)
    errors = np.abs(slopes) * np.sqrt(rates * (1.0 - rates) / (n + 1.0))
    reached, error = float(slopes @ (x / n)), float(np.hypot(*errors))
    score = (reached - bound) / error
    if score <= 0.0 or ndtr(-score) > WORTH * between[1]:
        return 1.0
    known = int(np.argmin(errors))  # the rate supposed to be t, the one that matters less
    other, (size, counted) = 1 - known, (n[known], x[known])
    nats = 0.5 * score * score + log(1.0 / WEIGHT) + 5.0
    far, width = sqrt(2.0 * nats) * errors[known] / abs(slopes[known]), CELL * error / abs(slopes[known])
    width = max(width, far / MOST_CELLS)
    edges = rates[known] + np.arange(-ceil(far / width), ceil(far / width) + 1) * width
    edges = np.unique(np.clip(edges, 0.0, 1.0))
    low, high = edges[:-1], edges[1:]
    # Two-sided tails of the count: 1 where the cell has its own share in it.
    above, below = (_tail(counted, size, edges, upward=up) for up in (True, False))
    two_sided = 2.0 * np.minimum(above[1:], below[:-1])
    outside = 2.0 * max(above[0] if edges[0] > 0.0 else 0.0, below[-1] if edges[-1] < 1.0 else 0.0)
    rest = (bound - np.minimum(slopes[known] * low, slopes[known] * high)) / slopes[other]
    possible = rest >= 0.0 if slopes[other] > 0 else rest <= 1.0
    corners = np.empty((2, int(possible.sum())))
    corners[known] = (high if slopes[known] > 0 else low)[possible]
    corners[other] = np.clip(rest[possible], 0.0, 1.0)

    def largest(tails: Floats) -> float:
        both = np.minimum(tails / (1.0 - WEIGHT), two_sided[possible] / WEIGHT)
        return min(float(np.max(both, initial=outside / WEIGHT)), 1.0)

    p_value = largest(_moment_tail(corners, n, slopes, reached, score / error))
    if p_value <= between[0]:
        return p_value
    return min(p_value, largest(_sum_tail((other, known), corners, n, slopes, reached, min(nats + LEFT_OUT, 700.0))))


def _moment_tail(rates: Floats, n: Floats, slopes: Floats, reached: float, tilt: float) -> Floats:
    """A bound of ``P(T >= reached)`` for each pair of rates, by exponential moments: any tilt gives one."""
    tilts = tilt * np.geomspace(0.6, 1.6, 11)[:, None]
    logs = -tilts * reached
    for g in (0, 1):
        logs = logs + n[g] * np.log1p(rates[g] * np.expm1(np.minimum(tilts * slopes[g] / n[g], 500.0)))
    return np.asarray(np.exp(np.minimum(logs.min(axis=0), 0.0)))


def _sum_tail(order: tuple[int, int], rates: Floats, n: Floats, slopes: Floats, reached: float, nats: float) -> Floats:
    """``P(T >= reached)`` for each pair of rates, summed over the first of this order; slightly more, never less."""
    one, two = order
    if not rates.shape[1]:
        return np.zeros(0)
    first, chances = _chances(int(n[one]), rates[one], nats)
    start, others = _chances(int(n[two]), rates[two], nats)
    counts = first + np.arange(chances.shape[1])
    needed = (reached - slopes[one] * counts / n[one]) * n[two] / slopes[two]
    slack = 1e-9 * (1.0 + np.abs(needed))  # ties count
    none = np.zeros((len(others), 1))
    if slopes[two] > 0:
        tails = np.concatenate([np.cumsum(others[:, ::-1], axis=1)[:, ::-1], none], axis=1)
        index = np.ceil(needed - slack) - start
    else:
        tails = np.concatenate([none, np.cumsum(others, axis=1)], axis=1)
        index = np.floor(needed + slack) - start + 1
    index = np.clip(index, 0, others.shape[1]).astype(np.intp)
    return np.asarray((1.0 + ROUNDING) * np.einsum("rk,rk->r", chances, tails[:, index]) + 4.0 * exp(-nats))


def _chances(n: int, rates: Floats, nats: float) -> tuple[int, Floats]:
    """The probabilities of the counts that are likely at some of the rates, one row for each, and the least count."""
    reach = nats / 3.0 + np.sqrt(nats**2 / 9.0 + 2.0 * nats * n * rates * (1.0 - rates))  # Bernstein's inequality
    low, high = max(0, int(np.min(n * rates - reach))), min(n, ceil(float(np.max(n * rates + reach))))
    k = np.arange(low, high + 1)
    ways = gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0)
    return low, np.exp(ways + xlogy(k, rates[:, None]) + xlog1py(n - k, -rates[:, None]))


def _tail(x: Floats, n: Floats, rate: Floats | float, *, upward: bool) -> Floats:
    """The chance of at least ``x`` successes (or at most) at a rate; 0 where the inequality allows no rate at all.

    ``upward``: the hypothesis is that the rate is at most this value. With a value above 1 every rate is allowed.
    """
    x, n, rate = np.broadcast_arrays(x, n, np.asarray(rate, dtype=float))
    inside = np.clip(rate, 0.0, 1.0)
    if upward:
        tail = np.where(x > 0, betainc(np.maximum(x, 1.0), n - x + 1.0, inside), 1.0)
        return np.where(rate < 0, 0.0, np.where(rate >= 1, 1.0, tail))
    tail = np.where(x < n, betainc(np.maximum(n - x, 1.0), x + 1.0, 1.0 - inside), 1.0)
    return np.where(rate > 1, 0.0, np.where(rate <= 0, 1.0, tail))


def _checked(successes: ArrayLike, n: ArrayLike, delta: float) -> tuple[Floats, Floats]:
    s, total = np.broadcast_arrays(np.asarray(successes, dtype=float), np.asarray(n, dtype=float))
    check_delta(delta)
    if bool(np.any((s < 0) | (s > total) | (total < 0))):
        raise UsageError(f"expected 0 <= successes <= n, but got successes={successes!r} and n={n!r}")
    return s, total


def least_draws(delta: float, threshold: float) -> int:
    """The fewest draws with which a test at ``delta`` can ever claim that a share is below the threshold.

    Even if every draw says no, ``(1 - threshold)**n`` must be at most ``delta``. This holds for every test, whether its
    number of draws is fixed in advance or it looks more often. Source: Proposition 4 of the responsiveness paper,
    ``n > log(delta) / log(1 - threshold)``, with equality allowed where the chance is exactly ``delta``.
    """
    _check(delta=delta, threshold=threshold)
    # The quotient may be a whole number that rounding has moved up slightly. A plan; no verdict depends on it.
    return max(1, ceil(log(delta) / log1p(-threshold) - 1e-12))


def least_sequential_draws(delta: float, threshold: float) -> int:
    """The fewest draws after which :func:`log_wealth_below` can reach ``log(1/delta)``: more than one look needs."""
    n = least_draws(delta, threshold)
    while log_wealth_below(0, n, threshold) < log(1.0 / delta):
        n += max(1, n // 100)  # in steps of a hundredth, then back one by one
    while n > 1 and log_wealth_below(0, n - 1, threshold) >= log(1.0 / delta):
        n -= 1
    return n


def draws_for_width(delta: float, width: float) -> int:
    """The fewest draws whose Clopper-Pearson interval is at most this wide, however many say yes.

    The interval is widest at a half, so only the middle counts are tried. Source: Proposition 3 of the responsiveness
    paper: 402 draws at ``delta = 0.05`` and a width of 0.1.
    """
    _check(delta=delta, width=width)
    low, high = 1, 2
    while _widest(high, delta) > width:
        low, high = high, 2 * high
    while high - low > 4:
        middle = (low + high) // 2
        low, high = (low, middle) if _widest(middle, delta) <= width else (middle, high)
    # Odd and even numbers of draws differ a little, so the last few are tried one by one.
    return next(n for n in range(max(1, low - 4), high + 1) if _widest(n, delta) <= width)


def power_below(n: int, delta: float, threshold: float, share: float) -> float:
    """The probability that ``n`` draws claim a share below the threshold, when it is ``share``."""
    _check(delta=delta, threshold=threshold)
    if not 0.0 <= share < threshold:
        raise UsageError(f"expected share at least 0 and below the threshold {threshold:g}, but got {share!r}")
    critical = _critical(np.asarray([n]), delta, threshold)[0]
    return float(_at_most(critical, n, share))


def draws_for_power(delta: float, threshold: float, share: float, power: float, *, lasting: bool = True) -> int:
    """The fewest draws that claim a share below the threshold with at least this probability, when it is ``share``.

    The power of an exact test goes up and down as draws are added one by one.

    Parameters
    ----------
    delta, threshold
        The risk of a wrong claim, and the value that the share is compared with.
    share
        The assumed true share.
    power
        The required probability.
    lasting
        Whether every larger number of draws must also have this power; otherwise return the first that has it. For
        0.01, 0.1, 0.05 and 0.8 these are 312 and 287; the continuous approximation of the responsiveness paper (its
        Proposition 4) says 254, where the power is 0.709.
    """
    _check(delta=delta, power=power)
    power_below(1, delta, threshold, share)
    max_n = 256  # doubled until it is enough
    # The normal approximation only detects a hopeless request early; the numbers themselves are exact.
    spread = sqrt(threshold * (1.0 - threshold)) * ndtri(1.0 - delta) + sqrt(share * (1.0 - share)) * ndtri(power)
    while max_n <= MAX_DRAWS and (spread / (threshold - share)) ** 2 < MAX_DRAWS / 4:
        n = np.arange(1, max_n + 1)
        enough = _at_most(_critical(n, delta, threshold), n, share) >= power
        first = int(np.argmax(enough)) + 1
        last_short = int(np.flatnonzero(~enough)[-1]) + 1 if not enough.all() else 0
        # It has not fallen short for a long stretch: swings shrink with the root of n, so it is unlikely to again.
        if enough.any() and max_n >= 2 * last_short + 64:
            return last_short + 1 if lasting else first
        max_n *= 2
    raise UsageError(f"more than {MAX_DRAWS:,} draws would be needed: the share {share:g} is too near to {threshold:g}")


def _critical(n: NDArray[np.int64], delta: float, threshold: float) -> NDArray[np.float64]:
    """The most successes with which a test at ``delta`` still claims a share below the threshold; -1 for none."""
    from scipy.stats import binom

    guess = binom.ppf(delta, n, threshold)
    return np.asarray(np.where(_at_most(guess, n, threshold) <= delta, guess, guess - 1.0))


def _at_most(successes: ArrayLike, n: ArrayLike, share: float) -> Any:
    """The probability of this many successes or fewer."""
    from scipy.stats import binom  # takes half a second to import, so only where it is needed

    return binom.cdf(successes, n, share)


def _widest(n: int, delta: float) -> float:
    middle = np.asarray([n // 2, ceil(n / 2)])
    low, high = clopper_pearson(middle, n, delta)
    return float((high - low).max())


def _check(**values: float) -> None:
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not 0.0 < value < 1.0:
            raise UsageError(f"expected {name} strictly between 0 and 1, but got {name}={value!r}", name=name)


# --------------------------------------------------------------------------------------------- probabilities of counts


CHOSEN = 2**10
"""How many counts are in a block of binomial coefficients that are kept. Changes cost only."""


def count_window(n: float, low: float, high: float, left_out: float) -> tuple[int, int]:
    """Counts outside which a binomial with a rate in this range has at most this probability (Bernstein 1924)."""
    nats = log(2.0 / left_out)

    def reach(rate: float) -> float:
        return nats / 3.0 + sqrt(nats**2 / 9.0 + 2.0 * nats * n * rate * (1.0 - rate))

    # n * rate -+ reach(rate) need not be monotone in the rate, so the widest reach is taken.
    middle = 0.5 if low <= 0.5 <= high else low if low > 0.5 else high
    widest = reach(middle)
    return int(max(np.floor(n * low - widest), 0.0)), int(min(np.ceil(n * high + widest), n))


@lru_cache(maxsize=16)
def _log_choose(n: float, first: int, beyond: int) -> Floats:
    """The logarithm of the number of ways to choose each count of a range from n; searches share it."""
    counts = np.minimum(np.arange(first, beyond, dtype=float), n)
    return np.asarray(gammaln(n + 1.0) - gammaln(counts + 1.0) - gammaln(n - counts + 1.0))


def binomial_probabilities(n: float, rates: Floats, left_out: float, least: int = 0) -> tuple[int, Floats]:
    """The first count, of those wanted, that is not negligible, and the probabilities from there on, a row per rate."""
    # A rate of 0 or 1 has no logarithm; no number of draws could tell it from one this near.
    inside = np.clip(rates, 1e-300, 1.0 - 1e-16)
    first, last = count_window(n, float(inside.min()), float(inside.max()), left_out)
    first = max(first, least)
    counts = np.arange(first, last + 1, dtype=float)
    part = first // CHOSEN
    choose = _log_choose(n, part * CHOSEN, (last // CHOSEN + 1) * CHOSEN)[first - part * CHOSEN :][: len(counts)]
    never = np.log1p(-inside)
    logs = np.multiply.outer(np.log(inside) - never, counts)
    logs += (n * never)[:, None]
    logs += choose
    return first, np.exp(logs, out=logs)
