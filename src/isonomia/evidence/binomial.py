"""Exact intervals for a share when the number of draws was fixed beforehand."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainccinv, betaincinv

from isonomia.errors import UsageError

__all__ = ["clopper_pearson", "lower_limit", "upper_limit"]

Floats = NDArray[np.float64]


def clopper_pearson(successes: ArrayLike, n: ArrayLike, delta: float) -> tuple[Floats, Floats]:
    """The equal-tailed exact interval: each side errs with probability at most ``delta / 2``.

    Guarantee: ``P(low <= p <= high) >= 1 - delta`` for every ``p`` and every *fixed* ``n``. It does not allow for
    looking repeatedly; for that see :func:`isonomia.evidence.mixture.mean_interval`. The limits are 0 at no success
    and 1 at no failure, and ``[0, 1]`` for ``n = 0``. Source: Clopper and Pearson (1934).
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
    if not 0.0 < delta < 1.0:
        raise UsageError(f"expected delta between 0 and 1, but delta={delta!r} came")
    if bool(np.any((s < 0) | (s > total) | (total < 0))):
        raise UsageError(f"expected 0 <= successes <= n, but successes={successes!r} and n={n!r} came")
    return s, total
