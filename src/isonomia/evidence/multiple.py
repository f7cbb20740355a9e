"""Many hypotheses at once, directly from their p-values or wealths.

Which of them are refuted? Use a family-wise risk, or a false discovery rate; the choice must be fixed before the draws
are seen.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isonomia.errors import UsageError
from isonomia.evidence.confidence_sequences import check_delta

Booleans = NDArray[np.bool_]


def holm(p_values: ArrayLike, delta: float) -> Booleans:
    """Reject so that *any* false rejection has probability at most ``delta``, however the tests depend on each other.

    An anytime-valid p-value is ``exp(-peak)`` of a wealth. Source: Holm (1979).
    """
    p = _vector("p_values", p_values, 0.0, 1.0)
    check_delta(delta)
    order = np.argsort(p, kind="stable")
    passed = p[order] <= delta / np.arange(len(p), 0, -1)
    return _first(order, len(p) if bool(passed.all()) else int(np.argmin(passed)))


FIRST = 0.5
"""How much of the false-discovery rate goes to naming a single hypothesis. Any share fixed in advance is valid: more
finds a lone one sooner, less finds more of many. Changes power only."""


def discovery_levels(rate: float, number: int) -> NDArray[np.float64]:
    """The level at which the ``k``-th smallest of so many p-values is compared, for ``k = 1, 2, ...``.

    ``rate / m`` times the sum of ``j nu(j)`` up to ``k``, where ``nu`` are shares of all ranks: ``FIRST`` of the first,
    and of the rest each one's proportional to ``1 / j``, as Benjamini and Yekutieli (2001) have it. Source: Blanchard
    and Roquain (2008), who prove for any ``nu`` that ``E[1{U <= level_V} / V] <= rate / m`` for any rank ``V`` that
    depends on the p-value ``U`` in whatever way.
    """
    check_delta(rate)
    ranks = np.arange(1, number + 1)
    return np.asarray(rate / number * (FIRST + (1.0 - FIRST) * ranks / np.sum(1.0 / ranks)))


def discovered(p_values: ArrayLike, rate: float) -> Booleans:
    """Reject so that the expected share of false rejections is at most ``rate``, however the tests are dependent.

    The ``k`` smallest p-values are rejected, for the largest ``k`` whose p-value is within :func:`discovery_levels`.
    """
    p = _vector("p_values", p_values, 0.0, 1.0)
    order = np.argsort(p, kind="stable")
    passed = p[order] <= discovery_levels(rate, len(p))
    return _first(order, int(np.flatnonzero(passed)[-1]) + 1 if bool(passed.any()) else 0)


def e_bh(e_values: ArrayLike, delta: float) -> Booleans:
    """Reject so that the expected share of false rejections is at most ``delta``, however the tests are dependent.

    An e-value is a wealth at one stopping time, not its peak. Source: Wang and Ramdas (2022), the e-BH procedure.
    """
    e = _vector("e_values", e_values, 0.0, np.inf)
    check_delta(delta)
    order = np.argsort(-e, kind="stable")
    enough = e[order] * np.arange(1, len(e) + 1) >= len(e) / delta
    return _first(order, int(np.flatnonzero(enough)[-1]) + 1 if bool(enough.any()) else 0)


CLOSED = 256
"""Up to this many e-values are closed, which takes their cube in time; among more e-BH names a few less. Changes power
and cost only."""


def closed_e_bh(e_values: ArrayLike, delta: float, *, together: bool | None = None) -> Booleans:
    """The same, with at least as many rejections as :func:`e_bh` and as :func:`closed_average`.

    The ``r`` largest are rejected if in *every* set of hypotheses the mean e-value is at least the share of those ``r``
    that the set contains, over ``delta``; for the largest such ``r``. With ``together``, whether another test has
    refuted the intersection of *all* hypotheses, it replaces the mean over all.

    Notes
    -----
    Guarantee: the true hypotheses are such a set, so the share of false rejections is at most ``delta`` times their
    mean e-value, whose expectation is at most ``delta``. Where all are true every rejection is false, and there is one
    only if the mean, or the other test, says so. Source: Xu, Solari, Fischer, de Heide, Ramdas and Goeman (2025).
    """
    e, base = _vector("e_values", e_values, 0.0, np.inf), e_bh(e_values, delta)
    if together is False:
        return np.zeros(len(e), dtype=bool)
    if not 0 < len(e) <= CLOSED:
        return base
    order = np.argsort(-e, kind="stable")
    ranked = np.minimum(e[order], len(e) ** 2 / delta)  # more never matters: sums stay precise
    sizes = range(len(e), int(base.sum()), -1)
    count = next((r for r in sizes if _every_set(ranked, r, delta, all_refuted=together is True)), int(base.sum()))
    return _first(order, count)


def _every_set(ranked: NDArray[np.float64], rejected: int, delta: float, *, all_refuted: bool) -> bool:
    """Whether every set has a large enough mean: with ``a`` of those rejected and ``b`` others, the least of either."""
    inside = np.cumsum(ranked[:rejected][::-1])[:, None]
    others = np.concatenate([[0.0], np.cumsum(ranked[rejected:][::-1])])
    a, b = np.arange(1, rejected + 1)[:, None], np.arange(len(others))
    enough = (inside + others) * (rejected * delta) >= a * (a + b)
    enough[-1, -1] |= all_refuted
    return bool(enough.all())


def _first(order: NDArray[np.intp], count: int) -> Booleans:
    """Which hypotheses are the first of an order."""
    rejected = np.zeros(len(order), dtype=bool)
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
    """The logarithms of wealths that lock in ``1/delta`` once they have reached it, and continue betting with the rest.

    ``crossed`` are the log wealths at that moment, infinite before. Guarantee: a supermartingale of which a part is
    set aside at a stopping time is still one. So a wealth that once reached ``1/delta`` counts as at least ``1/delta``
    ever after, as for a verdict, and can still grow.
    """
    logs, first, least = np.asarray(log_wealths, dtype=float), np.asarray(crossed, dtype=float), np.log(1.0 / delta)
    # What exceeded 1/delta at the crossing is bet on; 700 keeps the exponential within doubles.
    rest = -np.expm1(least - first) * np.exp(np.minimum(logs - least, 700.0))
    return np.where(np.isinf(first), logs, least + np.log1p(rest))


def _vector(name: str, values: ArrayLike, low: float, high: float) -> NDArray[np.float64]:
    vector = np.asarray(values, dtype=float)
    if vector.ndim != 1:
        raise UsageError(f"expected {name} as a one-dimensional list, but got shape {vector.shape}")
    if not bool(np.all((vector >= low) & (vector <= high))):
        bad = vector[~((vector >= low) & (vector <= high))][0]
        raise UsageError(f"expected every one of {name} between {low:g} and {high:g}, but got {bad!r}")
    return vector
