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
    """The logarithms of wealths that lock in ``1/delta`` once they have reached it, and go on betting with the rest.

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
