"""The kinds of noise that an equation written in Python can have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from isonomia.errors import UsageError

__all__ = ["Custom", "Noise", "Normal", "Uniform"]


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
