"""Draws with quantiles and truncation; noise; categories.

Sets of numbers as unions of intervals, up to their end points, which no continuous draw ever hits.

The two draws of the language, with what directing and undoing them takes: quantiles, inverses and truncation.

The kinds of noise that an equation written in Python can have.

A variable that takes one of several values by chance alone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from isonomia.errors import UsageError
from isonomia.populations.columns import column_from
from isonomia.spec.tree import Value

__all__ = [
    "EVERYTHING",
    "Categories",
    "Custom",
    "Intervals",
    "Noise",
    "Normal",
    "StepTable",
    "Uniform",
    "normal_between",
    "normal_mass",
]


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


@dataclass(frozen=True, slots=True)
class Normal:
    """Normal noise.

    Attributes
    ----------
    mean, deviation
        Its mean and its standard deviation.
    """

    mean: float = 0.0
    deviation: float = 1.0

    def __post_init__(self) -> None:
        """Check the numbers."""
        if not (np.isfinite(self.mean) and np.isfinite(self.deviation) and self.deviation > 0):
            raise UsageError(f"expected Normal(mean, deviation) with a deviation above 0, but {self!r} came")


@dataclass(frozen=True, slots=True)
class Uniform:
    """Noise that is spread evenly between two numbers.

    Attributes
    ----------
    low, high
        The two numbers.
    """

    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        """Check the numbers."""
        if not (np.isfinite(self.low) and np.isfinite(self.high) and self.low < self.high):
            raise UsageError(f"expected Uniform(low, high) with low below high, but {self!r} came")


@dataclass(frozen=True, slots=True)
class Custom:
    """Noise of one's own.

    Attributes
    ----------
    draw
        ``draw(n, rng)`` gives one value for each of ``n`` people, drawing with ``rng`` and nothing else.
    """

    draw: Callable[[int, np.random.Generator], Any]


Noise: TypeAlias = Normal | Uniform | Custom

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
