"""Evidence about a share of a finite group that is drawn without replacement.

With a beta-binomial prior on the number of successes among ``N`` people, prior over posterior at the true number is a
martingale (Waudby-Smith and Ramdas 2020, the prior-posterior ratio). It needs only ``s``, ``n`` and ``N``, and it is
exact at the end: when everybody is drawn, only the true number is left.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, gammaln

__all__ = ["finite_interval", "log_finite_evidence"]

Floats = NDArray[np.float64]

PRIOR = 0.5
"""Both parameters of the beta-binomial prior."""


def log_finite_evidence(successes: Floats, n: Floats, size: Floats, total: Floats) -> Floats:
    """Evidence that the group of ``size`` people does not have ``total`` successes, after ``successes`` of ``n`` drawn.

    Guarantee: for the true ``total``, ``P(there is an n with evidence >= log(1/delta)) <= delta``. Infinite for totals
    that what was drawn rules out.
    """
    possible = (total >= successes) & (total <= size - (n - successes))
    inside = np.clip(total, successes, size - (n - successes))
    prior = _log_beta_binomial(inside, size, PRIOR, PRIOR)
    posterior = _log_beta_binomial(inside - successes, size - n, PRIOR + successes, PRIOR + n - successes)
    return np.where(possible, prior - posterior, np.inf)


def finite_interval(successes: float, n: float, size: float, delta: float) -> tuple[float, float]:
    """The shares that the draws do not refute: holds the group's true share at all times at risk ``delta``.

    With nobody drawn it is ``[0, 1]``; with everybody drawn it is the share itself.
    """
    if n <= 0:
        return 0.0, 1.0
    most_likely = successes + np.round((size - n) * successes / n)
    low = _edge(successes, n, size, delta, inside=most_likely, outside=successes)
    high = _edge(successes, n, size, delta, inside=most_likely, outside=size - (n - successes))
    return low / size, high / size


def _edge(successes: float, n: float, size: float, delta: float, *, inside: float, outside: float) -> float:
    """Bisect over whole numbers for the farthest total that is not refuted."""

    def kept(total: float) -> bool:
        arguments = (np.asarray(value) for value in (successes, n, size, total))
        return bool(log_finite_evidence(*arguments) < np.log(1.0 / delta) + 1e-9)

    if kept(outside):
        return outside
    while abs(outside - inside) > 1:
        middle = float(np.floor(0.5 * (inside + outside)))
        if middle in (inside, outside):  # whole numbers this large have no others between them in double precision
            break
        inside, outside = (middle, outside) if kept(middle) else (inside, middle)
    return inside


def _log_beta_binomial(k: Floats, n: Floats, a: Floats | float, b: Floats | float) -> Floats:
    choose = gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0)
    return np.asarray(choose + betaln(k + a, n - k + b) - betaln(a, b))
