"""Many hypotheses at once, directly from their wealths: any tests, and the subgroups of one claim.

Subgroups are disjoint sets of people, and each has its own wealth against "fair here". The same wealths answer several
questions, each with its own guarantee; the question must be fixed before the draws are seen. Is every subgroup fair?
Use the product, the average, or :class:`OverallWealth`. Which ones are unfair? Use a family-wise risk, or a false
discovery rate.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from isonomia.errors import UsageError
from isonomia.evidence.protocol import check_delta

Booleans = NDArray[np.bool_]


def holm(p_values: ArrayLike, delta: float) -> Booleans:
    """Reject so that *any* false rejection has probability at most ``delta``, however the tests depend on each other.

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


def benjamini_yekutieli(p_values: ArrayLike, rate: float) -> Booleans:
    """Reject so that the expected share of false rejections is at most ``rate``, however the tests are dependent.

    The ``k`` smallest p-values are rejected, for the largest ``k`` with
    ``p_(k) <= rate k / (m (1 + 1/2 + ... + 1/m))``.
    Source: Benjamini and Yekutieli (2001), Theorem 1.3.
    """
    p = _vector("p_values", p_values, 0.0, 1.0)
    check_delta(rate)
    ranks, order = np.arange(1, len(p) + 1), np.argsort(p, kind="stable")
    passed = p[order] <= rate * ranks / (len(p) * np.sum(1.0 / ranks))
    count = int(np.flatnonzero(passed)[-1]) + 1 if bool(passed.any()) else 0
    rejected = np.zeros(len(p), dtype=bool)
    rejected[order[:count]] = True
    return rejected


def e_bh(e_values: ArrayLike, delta: float) -> Booleans:
    """Reject so that the expected share of false rejections is at most ``delta``, however the tests are dependent.

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


def closed_average(log_e_values: ArrayLike, delta: float, *, together: bool | None = None) -> Booleans:
    """Closed testing: *any* false rejection has probability at most ``delta``, however the tests depend on each other.

    A hypothesis is rejected where the mean of the e-values is at least ``1/delta`` in *every* set of hypotheses that
    contains it. With every e-value written as a multiple ``x`` of ``1/delta``, the worst such set adds exactly those
    other hypotheses whose ``x`` is below 1, so the condition is ``x_i - 1 >= sum over the others of max(0, 1 - x_j)``.

    Parameters
    ----------
    log_e_values
        The logarithms of the e-values: wealths after the same batch, any of which may have been stopped earlier. The
        last axis is the family.
    delta
        The risk.
    together
        Whether another test at that level has refuted the intersection of *all* hypotheses; it replaces the mean over
        the whole family. ``None`` where there is no such test.

    Notes
    -----
    Guarantee: for wealths that are supermartingales while their hypotheses are true, the probability that a true one is
    rejected *after any batch at all* is at most ``delta``. The true ones form one set; a true one is rejected only
    where the mean over that set reaches ``1/delta``, and the mean of supermartingales is one. So rejections are final.
    If every e-value is at least ``1/delta``, all are rejected: their number costs nothing. Source: Vovk and Wang
    (2021), section 5; Marcus, Peritz and Gabriel (1976) for closed testing. Proof: ``docs/theory/groups.md``.
    """
    check_delta(delta)
    logs = np.asarray(log_e_values, dtype=float)
    tests = logs.shape[-1]
    # An ``x`` above the number of hypotheses is never needed, so larger ones are cut off to avoid overflow.
    x = np.exp(np.minimum(logs + np.log(delta), np.log(tests + 1.0)))
    short = np.maximum(0.0, 1.0 - x)
    needed = short.sum(axis=-1, keepdims=True)
    if together is not None:
        # Where only one hypothesis does not fall short, the worst set is the whole family, which the other test covers.
        # The next worst lacks one that falls short; in a family of one there is no other set.
        least = np.where(short > 0, short, np.inf).min(axis=-1, keepdims=True)
        alone = np.count_nonzero(short, axis=-1, keepdims=True) == tests - 1
        needed = np.where(alone & np.isfinite(least), needed - least, needed)
    rejected: Booleans = (x >= 1.0) & (x - 1.0 >= needed) if together is None or tests > 1 else np.ones_like(x, bool)
    return rejected if together is None else rejected & together


def locked(log_wealths: ArrayLike, crossed: ArrayLike, delta: float) -> NDArray[np.float64]:
    """The logarithms of wealths that lock in ``1/delta`` once they have reached it, and go on betting with the rest.

    ``crossed`` are the log wealths at that moment, infinite before. Guarantee: a supermartingale of which a part is
    set aside at a stopping time is still one. So a wealth that once reached ``1/delta`` counts as at least ``1/delta``
    ever after, as for a verdict, and can still grow.
    """
    logs, first, least = np.asarray(log_wealths, dtype=float), np.asarray(crossed, dtype=float), np.log(1.0 / delta)
    # What exceeded 1/delta at the crossing is bet on; 700 keeps the exponential within doubles.
    rest = -np.expm1(least - first) * np.exp(np.minimum(logs - least, 700.0))
    return np.where(np.isinf(first), logs, least + np.log1p(rest))


def joint_wealth(log_wealths: ArrayLike) -> float:
    """The logarithm of the product of wealths against "fair here", all after the same batch.

    Guarantee: while *every* subgroup is fair, the product is a non-negative supermartingale that starts at 1. Given the
    past and to which subgroup and channel each draw of a batch belongs, draws of different subgroups are independent,
    so the expected product of the subgroups' factors is the product of their expectations, each at most 1.

    It grows fast when many subgroups are a little unfair, but every subgroup whose wealth fell pulls it down. The
    product of *peaks* has no such guarantee: the subgroups reach their peaks at different times.
    """
    return float(np.sum(log_wealths))


def average_wealth(log_wealths: ArrayLike) -> float:
    """The logarithm of the mean of wealths against "fair here", all after the same batch.

    Guarantee: as for the product, and however the subgroups' draws depend on each other, since expectations add. It
    grows fast when one subgroup is very unfair, and costs ``log`` of the number of subgroups. That number must be fixed
    before the draws are seen: a mean over more and more of them is not a supermartingale.
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
    """Name unfair subgroups so that the probability that *any* fair one is ever named is at most ``delta``.

    Guarantee: by Ville's inequality ``exp(-peak)`` is a p-value that is valid at all times, and Holm's procedure keeps
    the family-wise error however the subgroups depend on each other. Naming may be repeated after every batch: to name
    a fair one at any time, the p-value of one of the ``m`` fair subgroups must reach ``delta / m``, which ever happens
    with probability at most ``delta / m`` each.
    """
    return holm(np.exp(-np.maximum(peaks, 0.0)), delta)


def unfair_at_discovery_rate(log_wealths: ArrayLike, delta: float) -> Booleans:
    """Name unfair subgroups so that the expected share of fair ones among the named is at most ``delta``.

    Guarantee: at one stopping time, chosen in any way from the past, and however the subgroups depend on each other
    (Wang and Ramdas 2022). It needs e-values at that time, hence the *current* wealths, not their peaks.
    """
    # The exponential of 700 is nearly the largest double. A lower e-value is valid too, and no usual delta needs more.
    return e_bh(np.exp(np.minimum(log_wealths, 700.0)), delta)


def _vector(name: str, values: ArrayLike, low: float, high: float) -> NDArray[np.float64]:
    vector = np.asarray(values, dtype=float)
    if vector.ndim != 1:
        raise UsageError(f"expected {name} as a one-dimensional list, but got shape {vector.shape}")
    if not bool(np.all((vector >= low) & (vector <= high))):
        bad = vector[~((vector >= low) & (vector <= high))][0]
        raise UsageError(f"expected every one of {name} between {low:g} and {high:g}, but got {bad!r}")
    return vector
