"""Where two columns of values differ, and how far texts are apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["Gap", "differing", "text_gap"]

Gap: TypeAlias = Callable[[NDArray[Any], NDArray[Any]], NDArray[np.float64]]
"""How far apart the values of two columns are, one number for each pair; it counts only where they differ."""


def differing(left: NDArray[Any], right: NDArray[Any]) -> NDArray[np.bool_]:
    """Where two columns have different values; two missing numbers are the same."""
    unequal = np.asarray(left != right, dtype=bool)
    if left.dtype.kind == "f" and right.dtype.kind == "f":
        return np.asarray(unequal & ~(np.isnan(left) & np.isnan(right)))
    return unequal


def text_gap(longest: int) -> Gap:
    """How many characters have to be replaced at least, when one stretch of a text may be, in units of the longest.

    What two texts have in common at their beginnings and at their ends is not counted. So deleting or adding a stretch
    counts as its length.
    """

    def gap(left: NDArray[Any], right: NDArray[Any]) -> NDArray[np.float64]:
        pairs = zip(left.tolist(), right.tolist(), strict=True)
        return np.array([_changed(one or "", other or "") for one, other in pairs]) / max(longest, 1)

    return gap


def _changed(left: str, right: str) -> float:
    shorter, longer = sorted((left, right), key=len)
    head = _common(len(shorter), lambda n: left[:n] == right[:n])
    tail = _common(len(shorter) - head, lambda n: left[len(left) - n :] == right[len(right) - n :])
    return float(len(longer) - head - tail)


def _common(most: int, same: Callable[[int], bool]) -> int:
    """The largest length up to ``most`` for which two ends are the same, by halving."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if same(middle) else (low, middle - 1)
    return low
