"""Many shares at once, each against the same threshold: wealths, intervals and tail probabilities.

A share is a probability of yes. Everything here depends on draws only through how many there were and how many said
yes, so that each person may have had another number of draws, in batches of any size.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc, betaincc, betaln, xlog1py, xlogy

from isonomia.errors import UsageError

__all__ = ["anytime_interval", "log_wealth_above", "log_wealth_below", "tail_above", "tail_below"]

Floats = NDArray[np.float64]

_HALF = 0.5
"""Both parameters of the weight that alternatives get, a beta distribution cut at the threshold."""
_HALVINGS = 60


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
    """The exact p-value of ``p <= threshold`` for a fixed ``n``: the chance of so many successes or more."""
    from scipy.stats import binom  # half a second, so only where it is needed

    s, total = _counts(successes, n, threshold)
    return np.asarray(binom.sf(s - 1.0, total, threshold))


def tail_below(successes: ArrayLike, n: ArrayLike, threshold: float) -> Floats:
    """The exact p-value of ``p >= threshold`` for a fixed ``n``: the chance of so many successes or fewer.

    It is at most ``delta`` exactly where the upper Clopper-Pearson limit at ``delta`` is at most the threshold.
    """
    from scipy.stats import binom

    s, total = _counts(successes, n, threshold)
    return np.asarray(binom.cdf(s, total, threshold))


def anytime_interval(successes: ArrayLike, n: ArrayLike, delta: float) -> tuple[Floats, Floats]:
    """An interval for each share that may be looked at after every draw.

    Guarantee: for independent draws with share ``p``, ``P(there is an n at which the interval misses p) <= delta``. It
    is the interval of :func:`isonomia.evidence.mixture.mean_interval`, for many people at once; rounding widens it.
    """
    if not 0.0 < delta < 1.0:
        raise UsageError(f"expected delta between 0 and 1, but delta={delta!r} came")
    s, total = _counts(successes, n, 0.5)
    pairs, place = np.unique(np.stack([s.reshape(-1), total.reshape(-1)]), axis=1, return_inverse=True)
    yes, draws = pairs
    centre = np.where(draws > 0, yes / np.maximum(draws, 1.0), 0.5)
    price = betaln(yes + _HALF, draws - yes + _HALF) - betaln(_HALF, _HALF) - np.log(1.0 / delta)
    ends = [_end(yes, draws, price, centre, np.full(len(draws), end)) for end in (0.0, 1.0)]
    low, high = (end[place.reshape(-1)].reshape(s.shape) for end in ends)
    return low, high


def _end(yes: Floats, draws: Floats, price: Floats, inside: Floats, outside: Floats) -> Floats:
    """Halve towards where the evidence against a share passes the limit; the far side is given.

    An end of the range at which nothing was seen that it forbids is never given up: the evidence stays below the limit
    all the way to it, or the centre lies there already.
    """
    for _ in range(_HALVINGS):
        middle = (inside + outside) / 2.0
        kept = price - xlogy(yes, middle) - xlog1py(draws - yes, -middle) < 0.0
        inside, outside = np.where(kept, middle, inside), np.where(kept, outside, middle)
    return outside


def _log_mixture(s: Floats, n: Floats, threshold: float, mass: np.ufunc) -> Floats:
    """The mean over the alternatives that ``mass`` measures; a mass that underflows is a wealth of nothing."""
    with np.errstate(divide="ignore"):
        weight = np.log(mass(s + _HALF, n - s + _HALF, threshold)) - np.log(mass(_HALF, _HALF, threshold))
    mean = betaln(s + _HALF, n - s + _HALF) - betaln(_HALF, _HALF) + weight
    return np.asarray(mean - s * np.log(threshold) - (n - s) * np.log1p(-threshold))


def _counts(successes: ArrayLike, n: ArrayLike, threshold: float) -> tuple[Floats, Floats]:
    s, total = np.broadcast_arrays(np.asarray(successes, dtype=float), np.asarray(n, dtype=float))
    if not 0.0 < threshold < 1.0:
        raise UsageError(f"expected a threshold strictly between 0 and 1, but {threshold!r} came")
    if bool(np.any((s < 0) | (s > total))):
        raise UsageError(f"expected 0 <= successes <= n, but successes={successes!r} and n={n!r} came")
    return s, total
