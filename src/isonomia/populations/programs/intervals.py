"""Sets of numbers as unions of intervals, up to their end points, which no continuous draw ever hits."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray

__all__ = ["EVERYTHING", "Intervals"]


@dataclass(frozen=True, slots=True)
class Intervals:
    """Disjoint intervals, ascending; each has a positive length."""

    pieces: tuple[tuple[float, float], ...]

    def __and__(self, other: Intervals) -> Intervals:
        """What lies in both."""
        shared = ((max(a, c), min(b, d)) for a, b in self.pieces for c, d in other.pieces)
        return Intervals(tuple(sorted(piece for piece in shared if piece[0] < piece[1])))

    def inside(self, values: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Which numbers lie in one of them, ends excluded."""
        found = np.zeros(len(values), dtype=bool)
        for low, high in self.pieces:
            found |= (values > low) & (values < high)
        return found

    def complement(self) -> Intervals:
        """What does not lie in any."""
        edges = [-inf, *(edge for piece in self.pieces for edge in piece), inf]
        return Intervals(tuple((a, b) for a, b in zip(edges[::2], edges[1::2], strict=True) if a < b))

    def __or__(self, other: Intervals) -> Intervals:
        """What lies in either."""
        return (self.complement() & other.complement()).complement()


EVERYTHING = Intervals(((-inf, inf),))
