"""Many hypotheses at once, straight from their wealths."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isonomia.errors import UsageError

__all__ = ["e_bh", "holm"]

Booleans = NDArray[np.bool_]


def holm(p_values: ArrayLike, delta: float) -> Booleans:
    """Reject so that *any* false rejection has probability at most ``delta``, however the tests depend.

    An anytime-valid p-value is ``exp(-peak)`` of a wealth. Source: Holm (1979).
    """
    p = _vector("p_values", p_values, 0.0, 1.0)
    _check_delta(delta)
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
    _check_delta(delta)
    order = np.argsort(-e, kind="stable")
    enough = e[order] * np.arange(1, len(e) + 1) >= len(e) / delta
    count = int(np.flatnonzero(enough)[-1]) + 1 if bool(enough.any()) else 0
    rejected = np.zeros(len(e), dtype=bool)
    rejected[order[:count]] = True
    return rejected


def _vector(name: str, values: ArrayLike, low: float, high: float) -> NDArray[np.float64]:
    vector = np.asarray(values, dtype=float)
    if vector.ndim != 1:
        raise UsageError(f"expected {name} as a one-dimensional list, but shape {vector.shape} came")
    if not bool(np.all((vector >= low) & (vector <= high))):
        bad = vector[~((vector >= low) & (vector <= high))][0]
        raise UsageError(f"expected every one of {name} between {low:g} and {high:g}, but {bad!r} came")
    return vector


def _check_delta(delta: float) -> None:
    if not 0.0 < delta < 1.0:
        raise UsageError(f"expected delta between 0 and 1, but delta={delta!r} came")
