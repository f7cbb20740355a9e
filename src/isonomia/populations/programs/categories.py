"""A variable that takes one of several values by chance alone."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import UsageError
from isonomia.populations.columns import column_from
from isonomia.populations.programs.intervals import Intervals
from isonomia.spec.tree import Value

__all__ = ["Categories"]

Array = NDArray[Any]


@dataclass(frozen=True)
class Categories:
    """One of several values, each with its probability, whatever the other variables are.

    Attributes
    ----------
    shares
        The values and their probabilities, which add up to 1.
    """

    shares: Mapping[Value, float]

    def __post_init__(self) -> None:
        """Check the probabilities."""
        if not isinstance(self.shares, Mapping) or not _are_shares(self.shares.values()):
            raise UsageError(
                "expected Categories({value: probability, ...}), such as Categories({'F': 0.5, 'M': 0.5}), but "
                f"{self.shares!r} came"
            )
        if abs(sum(self.shares.values()) - 1.0) > 1e-6:
            raise UsageError(
                f"expected probabilities that add up to 1, but those of {self.shares!r} add up to "
                f"{sum(self.shares.values()):g}"
            )

    @cached_property
    def edges(self) -> NDArray[np.float64]:
        """The shares of noise at which one value ends and the next begins, from 0 to 1."""
        sums = np.concatenate([[0.0], np.cumsum(list(self.shares.values()))])
        return np.asarray(sums / sums[-1])

    @cached_property
    def values(self) -> Array:
        """The values, in order."""
        listed = list(self.shares)
        return (
            column_from(listed, "categories")
            if not any(isinstance(value, str) for value in listed)
            else np.asarray(listed, dtype=object)
        )

    def intervals(self, wanted: Iterable[Value]) -> Intervals:
        """The noise that gives one of some values."""
        chosen = set(wanted)
        pieces = zip(self.shares, self.edges[:-1].tolist(), self.edges[1:].tolist(), strict=True)
        return Intervals(tuple((low, high) for value, low, high in pieces if value in chosen and low < high))

    def at(self, share: NDArray[np.float64]) -> Array:
        """The value for each share of noise."""
        return self.values[np.clip(np.searchsorted(self.edges, share, side="right") - 1, 0, len(self.values) - 1)]

    def noise_behind(self, values: Array) -> NDArray[np.float64]:
        """Noise that gives these values: the middle of what does, since nothing else depends on where it lies.

        It is not a number where a value is none of the categories, or one that never occurs.
        """
        noise = np.full(len(values), np.nan)
        for value, low, high in zip(self.values, self.edges[:-1], self.edges[1:], strict=True):
            if low < high:
                noise[values == value] = 0.5 * (low + high)
        return noise


def _are_shares(shares: Collection[Any]) -> bool:
    numbers = all(isinstance(share, int | float | np.number) for share in shares)
    return bool(shares) and numbers and all(share >= 0 for share in shares)
