"""Exact binomial computations for a number of draws fixed beforehand: limits for a share, sample sizes and power."""

from __future__ import annotations

from math import ceil, log, log1p, sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainccinv, betaincinv, ndtri

from isonomia.errors import UsageError
from isonomia.evidence.confidence_sequences import log_wealth_below
from isonomia.evidence.protocol import check_delta

__all__ = [
    "clopper_pearson",
    "draws_for_power",
    "draws_for_width",
    "least_draws",
    "least_sequential_draws",
    "lower_limit",
    "power_below",
    "upper_limit",
]

Floats = NDArray[np.float64]

MAX_DRAWS = 1_000_000
"""More draws than this are refused: their power is computed one number of draws after the other. A plan, no verdict."""


def clopper_pearson(successes: ArrayLike, n: ArrayLike, delta: float) -> tuple[Floats, Floats]:
    """The equal-tailed exact interval: each side errs with probability at most ``delta / 2``.

    Guarantee: ``P(low <= p <= high) >= 1 - delta`` for every ``p`` and every *fixed* ``n``. It does not allow for
    looking repeatedly; for that see :func:`isonomia.evidence.confidence_sequences.mean_interval`. The limits are 0
    at no success and 1 at no failure, and ``[0, 1]`` for ``n = 0``. Source: Clopper and Pearson (1934).
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


def _checked(successes: ArrayLike, n: ArrayLike, delta: float) -> tuple[Floats, Floats]:
    s, total = np.broadcast_arrays(np.asarray(successes, dtype=float), np.asarray(n, dtype=float))
    check_delta(delta)
    if bool(np.any((s < 0) | (s > total) | (total < 0))):
        raise UsageError(f"expected 0 <= successes <= n, but successes={successes!r} and n={n!r} came")
    return s, total


def least_draws(delta: float, threshold: float) -> int:
    """The fewest draws with which a test at ``delta`` can ever claim that a share is below the threshold.

    Even if every draw says no, ``(1 - threshold)**n`` must be at most ``delta``. This holds for every test whose number
    of draws is fixed beforehand, and for one that looks more often too. Source: Proposition 4 of the responsiveness
    paper, ``n > log(delta) / log(1 - threshold)``, with equality allowed where the chance is exactly ``delta``.
    """
    _check(delta=delta, threshold=threshold)
    # The quotient may be a whole number that rounding has moved up by a little. A plan; no verdict rests on it.
    return max(1, ceil(log(delta) / log1p(-threshold) - 1e-12))


def least_sequential_draws(delta: float, threshold: float) -> int:
    """The fewest draws after which :func:`log_wealth_below` can reach ``1/delta``; looking at will costs a few more."""
    n = least_draws(delta, threshold)
    while log_wealth_below(0, n, threshold) < log(1.0 / delta):
        n += max(1, n // 100)  # in steps of a hundredth, and then back one by one
    while n > 1 and log_wealth_below(0, n - 1, threshold) >= log(1.0 / delta):
        n -= 1
    return n


def draws_for_width(delta: float, width: float) -> int:
    """The fewest draws whose Clopper-Pearson interval is at most this wide, however many say yes.

    The interval is widest at a half, so only the middle is tried. Source: Proposition 3 of the responsiveness
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
        raise UsageError(f"expected share at least 0 and below the threshold {threshold:g}, but {share!r} came")
    critical = _critical(np.asarray([n]), delta, threshold)[0]
    return float(_at_most(critical, n, share))


def draws_for_power(delta: float, threshold: float, share: float, power: float, *, lasting: bool = True) -> int:
    """The fewest draws that claim ``share < threshold`` with at least this probability, when it is so.

    The power of an exact test goes up and down as draws are added, one at a time.

    Parameters
    ----------
    delta, threshold
        The risk of a wrong claim, and what the share is compared with.
    share
        What it might be.
    power
        The probability that is wanted.
    lasting
        Whether every larger number of draws must do as well; otherwise the first that does is given. For 0.01, 0.1,
        0.05 and 0.8 these are 312 and 287; the continuous approximation of the responsiveness paper (its
        Proposition 4) says 254, where the power is 0.709.
    """
    _check(delta=delta, power=power)
    power_below(1, delta, threshold, share)
    most = 256  # doubled until it is enough
    # The normal approximation tells a hopeless wish at once; the numbers themselves are exact.
    spread = sqrt(threshold * (1.0 - threshold)) * ndtri(1.0 - delta) + sqrt(share * (1.0 - share)) * ndtri(power)
    while most <= MAX_DRAWS and (spread / (threshold - share)) ** 2 < MAX_DRAWS / 4:
        n = np.arange(1, most + 1)
        enough = _at_most(_critical(n, delta, threshold), n, share) >= power
        first = int(np.argmax(enough)) + 1
        last_short = int(np.flatnonzero(~enough)[-1]) + 1 if not enough.all() else 0
        # A long stretch in which it never falls short: swings shrink with the root of n, so a later one is unlikely.
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
    """The probability of so many successes or fewer."""
    from scipy.stats import binom  # half a second, so only where it is needed

    return binom.cdf(successes, n, share)


def _widest(n: int, delta: float) -> float:
    middle = np.asarray([n // 2, ceil(n / 2)])
    low, high = clopper_pearson(middle, n, delta)
    return float((high - low).max())


def _check(**values: float) -> None:
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not 0.0 < value < 1.0:
            raise UsageError(f"expected {name} strictly between 0 and 1, but {name}={value!r} came")
