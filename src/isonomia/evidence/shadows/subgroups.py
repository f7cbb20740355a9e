"""One claim over many subgroups: fair in all of them, or where not.

Subgroups are disjoint sets of people, and each has a wealth of its own against "fair here". Four questions are asked of
the same wealths, each with a guarantee of its own; which one is meant must be said before the draws are seen.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from isonomia.evidence.multiple import e_bh, holm

__all__ = ["Overall", "average_wealth", "discovered", "joint_wealth", "surely_unfair", "watch"]

Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]


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
class Overall:
    """The wealth against "fair in every subgroup": half of it in the product, half in the average.

    Guarantee: while every subgroup is fair, ``P(there is a batch with peak >= log(1/delta)) <= delta``, since a mean
    of supermartingales is one. Against a violation anywhere it is within ``log 2`` of the better of the two.
    """

    log_wealth: float = 0.0
    peak: float = 0.0


def watch(overall: Overall, log_wealths: ArrayLike) -> Overall:
    """Look at the subgroups' wealths after one more batch."""
    both = np.asarray([joint_wealth(log_wealths), average_wealth(log_wealths)])
    now = float(logsumexp(both) - np.log(2.0))
    return Overall(now, max(overall.peak, now))


def surely_unfair(peaks: ArrayLike, delta: float) -> Booleans:
    """Name unfair subgroups so that *any* fair one is ever named with probability at most ``delta``.

    Guarantee: by Ville's inequality ``exp(-peak)`` is a p-value that is valid at all times, and Holm's procedure keeps
    the family-wise error however the subgroups depend on each other. Naming may be repeated after every batch: to name
    a fair one at any time, the p-value of one of the ``m`` fair subgroups must reach ``delta / m``, which ever happens
    with probability at most ``delta / m`` each.
    """
    return holm(np.exp(-np.maximum(peaks, 0.0)), delta)


def discovered(log_wealths: ArrayLike, delta: float) -> Booleans:
    """Name unfair subgroups so that the expected share of fair ones among the named is at most ``delta``.

    Guarantee: at one stopping time, chosen in any way from the past; e-values there, hence the wealths *now*, not their
    peaks. However the subgroups depend on each other (Wang and Ramdas 2022).
    """
    return e_bh(np.exp(np.minimum(log_wealths, 700.0)), delta)
