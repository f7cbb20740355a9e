"""One answer over many subgroups, also where subgroups turn up late.

Everything here is conditional on which subgroup and which attribute value each draw belongs to: given those, the wealth
of each subgroup against "fair here" is a supermartingale that starts at 1, and those of different subgroups are
independent. So weights may depend on the subgroups' order of appearance, but a weight once given must stay as it is:
with a plain mean, a subgroup that turns up late with its wealth of 1 would lift the mean of those who have lost.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from isonomia.evidence.shadows.subgroups import joint_wealth

__all__ = ["Pool", "named", "pooled", "weights_of"]

Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Pool:
    """The wealth against "fair in every subgroup", as a logarithm: now, and at most so far."""

    log_wealth: float = 0.0
    peak: float = 0.0


def weights_of(listed: int, found: int, closed: bool) -> Floats:
    """What share of the wealth each subgroup starts with.

    Parameters
    ----------
    listed
        How many subgroups were known before the draws; all have the same weight.
    found
        How many there are by now. Those that came later share one further weight: the first has half of it, the next a
        sixth, a twelfth, ..., so that however many come, all weights sum to at most 1.
    closed
        Whether no others can come, as in a table; then there is no further weight.
    """
    one = 1.0 / (listed + (0 if closed else 1))
    late = np.arange(1, found - listed + 1)
    return np.concatenate([np.full(listed, one), one / (late * (late + 1.0))])


def pooled(before: Pool, log_wealths: Floats, weights: Floats) -> Pool:
    """Look at the subgroups' wealths after one more batch: half in their product, half in their weighted mean.

    Guarantee: while every subgroup is fair, ``P(there is a batch with peak >= log(1/delta)) <= delta``. The product of
    independent supermartingales is one, a mean with fixed weights is one, and so is the mean of the two. What is left
    of the weights belongs to subgroups not seen yet, whose wealth is 1.
    """
    left = max(0.0, 1.0 - float(weights.sum()))
    mean = logsumexp(np.append(log_wealths, 0.0), b=np.append(weights, left))
    now = float(logsumexp([joint_wealth(log_wealths), mean]) - np.log(2.0))
    return Pool(now, max(before.peak, now))


def named(peaks: Floats, weights: Floats, delta: float, *, together: bool = False) -> Booleans:
    """Name subgroups whose hypothesis is refuted, so that *any* wrong name has probability at most ``delta``.

    Guarantee: Holm's (1979) procedure with weights, on the p-values ``exp(-peak)``, which are valid at all times. The
    weights of subgroups not seen yet stay in the sum. With equal weights that sum to 1 it is the usual one.

    Parameters
    ----------
    peaks, weights
        The largest log-wealth of each subgroup, and its weight.
    delta
        The risk.
    together
        Whether the pool has refuted at the same risk that all hypotheses are true at once. Then a name needs the other
        sets of hypotheses alone (the closure principle of Marcus, Peritz and Gabriel 1976), and the largest of these
        leaves a subgroup out. All names and the pool's own answer have the risk ``delta`` together.
    """
    chosen, left = np.zeros(len(peaks), dtype=bool), 1.0
    for index in np.argsort(-(peaks + np.log(weights)), kind="stable").tolist():
        if together and not chosen.any():
            left = _largest_proper(weights, index)
        if peaks[index] + np.log(weights[index] / left) < np.log(1.0 / delta):
            break
        chosen[index] = True
        left = max(1.0 - float(weights[chosen].sum()), float(weights[~chosen].sum()), 1e-300)
    return chosen


def _largest_proper(weights: Floats, index: int) -> float:
    """The largest weight of a set that holds this subgroup, but not all; any set may lack those not seen yet."""
    unseen = 1.0 - float(weights.sum())
    others = np.delete(weights, index)
    if unseen > 1e-12 or not len(others):
        return 1.0
    return 1.0 - float(others.min())
