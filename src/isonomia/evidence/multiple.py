"""Many hypotheses at once, straight from their wealths: any tests, and the subgroups of one claim.

Subgroups are disjoint sets of people, and each has a wealth of its own against "fair here". The same wealths answer
several questions, each with a guarantee of its own; which one is meant must be said before the draws are seen. Is every
subgroup fair: the product, the average, or :class:`OverallWealth`. Which ones are unfair: at a family-wise risk, or at
a false discovery rate.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from isonomia.errors import UsageError
from isonomia.evidence.protocol import check_delta

__all__ = [
    "OverallWealth",
    "average_wealth",
    "e_bh",
    "holm",
    "joint_wealth",
    "unfair_at_discovery_rate",
    "unfair_at_family_risk",
    "update_overall",
]

Booleans = NDArray[np.bool_]


def holm(p_values: ArrayLike, delta: float) -> Booleans:
    """Reject so that *any* false rejection has probability at most ``delta``, however the tests depend.

    An anytime-valid p-value is ``exp(-peak)`` of a wealth. Source: Holm (1979).
    """
    p = _vector("p_values", p_values, 0.0, 1.0)
    check_delta(delta)
    order = np.argsort(p, kind="stable")
    passed = p[order] <= delta / np.arange(len(p), 0, -1)
    stop = len(p) if bool(passed.all()) else int(np.argmin(passed))
    rejected = np.zeros(len(p), dtype=bool)
    rejected[order[:stop]] = True
    return rejected


def e_bh(e_values: ArrayLike, delta: float) -> Booleans:
    """Reject so that the expected share of false rejections is at most ``delta``, however the tests depend.

    An e-value is a wealth at one stopping time, not its peak. Source: Wang and Ramdas (2022), the e-BH procedure.
    """
    e = _vector("e_values", e_values, 0.0, np.inf)
    check_delta(delta)
    order = np.argsort(-e, kind="stable")
    enough = e[order] * np.arange(1, len(e) + 1) >= len(e) / delta
    count = int(np.flatnonzero(enough)[-1]) + 1 if bool(enough.any()) else 0
    rejected = np.zeros(len(e), dtype=bool)
    rejected[order[:count]] = True
    return rejected


def joint_wealth(log_wealths: ArrayLike) -> float:
    """The logarithm of the product of wealths against "fair here", all after the same batch.

    Guarantee: while *every* subgroup is fair, the product is a non-negative supermartingale that starts at 1. Given the
    past and to which subgroup and channel each draw of a batch belongs, draws of different subgroups are independent,
    so the expected product of the subgroups' factors is the product of their expectations, each at most 1.

    It grows fast when many subgroups are a little unfair, and suffers from those that lost. The product of *peaks* has
    no such guarantee: the subgroups reach them at different times.
    """
    return float(np.sum(log_wealths))


def average_wealth(log_wealths: ArrayLike) -> float:
    """The logarithm of the mean of wealths against "fair here", all after the same batch.

    Guarantee: as for the product, and however the subgroups' draws depend on each other, since expectations add. It
    grows fast when one subgroup is very unfair, and costs ``log`` of the number of subgroups. That number must be fixed
    before the draws are seen: a mean over more and more of them is no supermartingale.
    """
    logs = np.asarray(log_wealths, dtype=float)
    return float(logsumexp(logs) - np.log(len(logs)))


@dataclass(frozen=True, slots=True)
class OverallWealth:
    """The wealth against "fair in every subgroup": half of it in the product, half in the average.

    Guarantee: while every subgroup is fair, ``P(there is a batch with peak >= log(1/delta)) <= delta``, since a mean
    of supermartingales is one. Against a violation anywhere it is within ``log 2`` of the better of the two.
    """

    log_wealth: float = 0.0
    peak: float = 0.0


def update_overall(overall: OverallWealth, log_wealths: ArrayLike) -> OverallWealth:
    """Take in the subgroups' wealths after one more batch."""
    both = np.asarray([joint_wealth(log_wealths), average_wealth(log_wealths)])
    now = float(logsumexp(both) - np.log(2.0))
    return OverallWealth(now, max(overall.peak, now))


def unfair_at_family_risk(peaks: ArrayLike, delta: float) -> Booleans:
    """Name unfair subgroups so that *any* fair one is ever named with probability at most ``delta``.

    Guarantee: by Ville's inequality ``exp(-peak)`` is a p-value that is valid at all times, and Holm's procedure keeps
    the family-wise error however the subgroups depend on each other. Naming may be repeated after every batch: to name
    a fair one at any time, the p-value of one of the ``m`` fair subgroups must reach ``delta / m``, which ever happens
    with probability at most ``delta / m`` each.
    """
    return holm(np.exp(-np.maximum(peaks, 0.0)), delta)


def unfair_at_discovery_rate(log_wealths: ArrayLike, delta: float) -> Booleans:
    """Name unfair subgroups so that the expected share of fair ones among the named is at most ``delta``.

    Guarantee: at one stopping time, chosen in any way from the past; e-values there, hence the wealths *now*, not their
    peaks. However the subgroups depend on each other (Wang and Ramdas 2022).
    """
    # The exponential of 700 is nearly the largest double. A lower e-value is valid too, and no usual delta needs more.
    return e_bh(np.exp(np.minimum(log_wealths, 700.0)), delta)


def _vector(name: str, values: ArrayLike, low: float, high: float) -> NDArray[np.float64]:
    vector = np.asarray(values, dtype=float)
    if vector.ndim != 1:
        raise UsageError(f"expected {name} as a one-dimensional list, but shape {vector.shape} came")
    if not bool(np.all((vector >= low) & (vector <= high))):
        bad = vector[~((vector >= low) & (vector <= high))][0]
        raise UsageError(f"expected every one of {name} between {low:g} and {high:g}, but {bad!r} came")
    return vector
