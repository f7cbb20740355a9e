"""Exact binomial computations for a number of draws fixed beforehand: limits for a share, sample sizes and power."""

from __future__ import annotations

from math import ceil, log, log1p, sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc, betainccinv, betaincinv, ndtri

from isonomia.errors import UsageError
from isonomia.evidence.confidence_sequences import log_wealth_below
from isonomia.evidence.protocol import check_delta

__all__ = [
    "clopper_pearson",
    "draws_for_power",
    "draws_for_width",
    "half_space_p_values",
    "least_draws",
    "least_sequential_draws",
    "lower_limit",
    "power_below",
    "upper_limit",
]

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


def half_space_p_values(
    successes: ArrayLike, n: ArrayLike, factors: tuple[float, float], bound: float
) -> NDArray[np.float64]:
    """Exact p-values of ``factors[0] * p0 + factors[1] * p1 <= bound`` for many pairs of independent counts.

    Guarantee: for fixed ``n`` and any rates that satisfy the inequality, ``P(p-value <= alpha) <= alpha``. Where the
    inequality names one rate, it is a binomial tail. Where it names both, suppose that ``p0`` is ``t``. Then the tail
    of the first count at ``t``, and that of the second at the bound that ``t`` leaves for ``p1``, are independent
    p-values, and Fisher's combination ``u (1 - log u)`` of their product ``u`` is a p-value. The truth is some ``t``,
    so the largest over all ``t`` is a p-value. Each tail is monotone in ``t``, so over a cell of values it is bounded
    by its value at one end: the maximum is bounded from above, not found on a grid.

    Parameters
    ----------
    successes, n
        Counts of shape ``(tests, 2)``.
    factors, bound
        The inequality.
    """
    x, total = np.asarray(successes, dtype=float), np.asarray(n, dtype=float)
    first, second = factors
    if not first and not second:
        return np.full(len(x), 1.0 if bound >= 0 else 0.0)
    for g, other in ((0, second), (1, first)):
        if not other:
            return _tail(x[:, g], total[:, g], bound / factors[g], upward=factors[g] > 0)
    p_values = _two_rates(x, total, factors, bound, CELLS)
    close = np.flatnonzero(p_values < WORTH)
    if len(close):
        p_values[close] = np.minimum(p_values[close], _two_rates(x[close], total[close], factors, bound, FINE_CELLS))
    return p_values


CELLS, FINE_CELLS, WORTH = 80, 400, 0.2
"""How many cells the values of a rate are cut into, at first and where the p-value is below ``WORTH``. More cells bring
the bound nearer to the maximum; any number is valid."""

SPREAD = 38.0
"""How many standard errors around the estimate the cells reach; they get wider outwards, and beyond there is one cell
on either side. A tail out there is smaller than any double. A cell's bound holds for any width: changes power only."""


def _two_rates(x: Floats, n: Floats, factors: tuple[float, float], bound: float, cells: int) -> Floats:
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
    number of draws is fixed beforehand or it looks more often. Source: Proposition 4 of the responsiveness paper,
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
    most = 256  # doubled until it is enough
    # The normal approximation only detects a hopeless request early; the numbers themselves are exact.
    spread = sqrt(threshold * (1.0 - threshold)) * ndtri(1.0 - delta) + sqrt(share * (1.0 - share)) * ndtri(power)
    while most <= MAX_DRAWS and (spread / (threshold - share)) ** 2 < MAX_DRAWS / 4:
        n = np.arange(1, most + 1)
        enough = _at_most(_critical(n, delta, threshold), n, share) >= power
        first = int(np.argmax(enough)) + 1
        last_short = int(np.flatnonzero(~enough)[-1]) + 1 if not enough.all() else 0
        # It has not fallen short for a long stretch: swings shrink with the root of n, so it is unlikely to again.
        if enough.any() and most >= 2 * last_short + 64:
            return last_short + 1 if lasting else first
        most *= 2
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
            raise UsageError(f"expected {name} strictly between 0 and 1, but got {name}={value!r}")
