"""The two draws of the language, with what directing and undoing them takes: quantiles, inverses and truncation."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from isonomia.populations.programs.intervals import Intervals

__all__ = ["StepTable", "normal_between", "normal_mass"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class StepTable:
    """A density that is constant on each cell.

    Attributes
    ----------
    cells
        ``(low, high, probability)``, ascending, without overlap, with probabilities that add up to 1.
    """

    cells: tuple[tuple[float, float, float], ...]

    @cached_property
    def _drawn(self) -> Floats:
        """The cells that can occur, one a row."""
        return np.asarray([cell for cell in self.cells if cell[2] > 0], dtype=float)

    @cached_property
    def _sums(self) -> Floats:
        """The probability below each edge, from 0 to exactly 1."""
        sums = np.concatenate([[0.0], np.cumsum(self._drawn[:, 2])])
        return np.asarray(sums / sums[-1])

    @cached_property
    def _edges(self) -> Floats | None:
        """The edges where every cell begins where the last one ends; ``None`` where there are gaps."""
        lows, highs = self._drawn[:, 0], self._drawn[:, 1]
        return np.append(lows, highs[-1]) if np.array_equal(lows[1:], highs[:-1]) else None

    def quantile(self, u: Floats) -> Floats:
        """The value below which a share ``u`` of the draws lies."""
        if self._edges is not None:
            return np.asarray(np.interp(u, self._sums, self._edges))
        cell = np.clip(np.searchsorted(self._sums, u, side="right") - 1, 0, len(self._drawn) - 1)
        low, high, _ = self._drawn[cell].T
        below, width = self._sums[cell], np.diff(self._sums)[cell]
        return np.asarray(low + np.clip((u - below) / width, 0.0, 1.0) * (high - low))

    def share(self, value: Floats) -> Floats:
        """The probability of a draw below a value: the inverse of ``quantile`` wherever a draw can fall."""
        lows, highs = self._drawn[:, 0], self._drawn[:, 1]
        points, sums = (
            np.column_stack([lows, highs]).ravel(),
            np.column_stack([self._sums[:-1], self._sums[1:]]).ravel(),
        )
        return np.asarray(np.interp(value, points, sums))

    def possible(self, value: Floats) -> NDArray[np.bool_]:
        """Whether a draw can be this value, give or take the rounding of arithmetic that led to it."""
        slack = 1e-12 * np.maximum(1.0, np.abs(value))
        low, high = self._drawn[:, 0], self._drawn[:, 1]
        inside = ((value + slack)[:, None] >= low) & ((value - slack)[:, None] <= high)
        return np.asarray(inside.any(axis=1))

    def within(self, wanted: Intervals) -> tuple[StepTable | None, float]:
        """The draw given that it falls into some intervals, and how probable that is."""
        parts = [
            (max(low, a), min(high, b), p * (min(high, b) - max(low, a)) / (high - low))
            for low, high, p in self.cells
            for a, b in wanted.pieces
            if min(high, b) > max(low, a) and p > 0
        ]
        mass = sum(p for _, _, p in parts)
        total = sum(p for _, _, p in self.cells)
        return (StepTable(tuple((a, b, p / mass) for a, b, p in parts)), mass / total) if mass > 0 else (None, 0.0)


def normal_mass(low: Floats, high: Floats) -> Floats:
    """The probability that a standard normal draw lies between two numbers, accurate in both tails."""
    flip = low > 0
    return np.asarray(np.where(flip, ndtr(-low) - ndtr(-high), ndtr(high) - ndtr(low)))


def normal_between(u: Floats, low: Floats, high: Floats) -> Floats:
    """The ``u`` quantile of a standard normal draw given that it lies between two numbers, accurate in both tails."""
    flip = low > 0
    a, b = np.where(flip, -high, low), np.where(flip, -low, high)
    share = np.where(flip, 1.0 - u, u)
    below, above = ndtr(a), ndtr(b)
    return np.asarray(np.clip(np.where(flip, -1.0, 1.0) * ndtri(below + share * (above - below)), low, high))
