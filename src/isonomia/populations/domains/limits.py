"""The range and the type of the numbers in an array, and how computed numbers are brought back into it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import DataError, UsageError

__all__ = ["Limits", "limits_of"]


@dataclass(frozen=True, slots=True)
class Limits:
    """Numbers of one type from ``low`` to ``high``."""

    dtype: np.dtype[Any]
    low: float
    high: float

    @property
    def width(self) -> float:
        """How far the ends are apart."""
        return self.high - self.low

    @property
    def whole(self) -> bool:
        """Whether only whole numbers occur."""
        return self.dtype.kind in "iu"

    def settled(self, values: NDArray[np.float64]) -> NDArray[Any]:
        """Computed numbers as they can be stored: what lies outside moves to the end, halves go to the even number."""
        inside = np.clip(values, self.low, self.high)
        return (np.rint(inside) if self.whole else inside).astype(self.dtype)

    def fits(self, values: NDArray[Any]) -> NDArray[np.bool_]:
        """Which numbers could occur."""
        if values.dtype.kind not in "biuf":
            return np.zeros(values.shape, dtype=bool)
        inside = (values >= self.low) & (values <= self.high)
        return np.asarray(inside & (values % 1 == 0) if self.whole and values.dtype.kind == "f" else inside)

    def check(self, values: NDArray[Any], what: str) -> None:
        """Refuse numbers that could not occur.

        Raises
        ------
        DataError
            Where one is missing or outside.
        """
        if values.size and not (values.min() >= self.low and values.max() <= self.high):  # a NaN fails too
            raise DataError(
                f"expected {what} between {self.low:g} and {self.high:g}, but they go from {values.min():g} to "
                f"{values.max():g}. Declare their range: between=(LOWEST, HIGHEST)"
            )


def limits_of(dtype: np.dtype[Any], between: tuple[float, float] | None, what: str, usual: str = "") -> Limits:
    """The range as it was declared, or what the type says by itself.

    Parameters
    ----------
    dtype
        The type of the numbers.
    between
        The range, where one was declared.
    what
        What the numbers are, for messages.
    usual
        Types with a range that goes without saying, as NumPy spells their kinds and sizes: ``"u1 f4"``.

    Raises
    ------
    DataError
        Where they are no numbers.
    UsageError
        Where a range is needed and was not declared, or is none.
    """
    if dtype.kind not in "iuf":
        raise DataError(f"expected {what} as whole numbers or floats, but they are {dtype}")
    if between is None:
        if f"{dtype.kind}{dtype.itemsize}" not in usual.split():
            raise UsageError(f"{what} of type {dtype} need a declared range, such as between=(0, 1)")
        between = (-1.0, 1.0) if dtype.kind == "f" else (float(np.iinfo(dtype).min), float(np.iinfo(dtype).max))
    low, high = _ends(between)
    if dtype.kind == "f":  # the ends as the type has them, or 0.1 would lie outside (0, 0.1) in 32 bits
        return Limits(dtype, float(dtype.type(low)), float(dtype.type(high)))
    held = low >= np.iinfo(dtype).min and high <= np.iinfo(dtype).max and max(-low, high) <= 2**53
    if not held or low % 1 or high % 1:
        raise UsageError(f"expected a range of whole numbers that {dtype} can hold, but between={between!r} came")
    return Limits(dtype, low, high)


def _ends(between: tuple[float, float]) -> tuple[float, float]:
    try:
        low, high = (float(end) for end in between)
    except (TypeError, ValueError):
        low, high = 0.0, 0.0
    if not (np.isfinite([low, high]).all() and low < high):
        raise UsageError(f"expected between as (LOWEST, HIGHEST), two finite numbers in order, but {between!r} came")
    return low, high
