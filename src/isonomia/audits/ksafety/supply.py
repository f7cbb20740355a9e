"""Where random choices come from: drawn, or given beforehand."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias
from typing import Literal as OneOf

import numpy as np
from numpy.typing import NDArray

__all__ = ["AtEnds", "Drawn", "Given", "ReachedError", "Supply", "Way"]

Way: TypeAlias = OneOf["whole", "real", "seed"]
"""What is chosen: a whole number, a real number, or the seed of a function that draws for itself."""

SEEDS = 2**32
Floats = NDArray[np.float64]


class ReachedError(Exception):
    """No choice is given yet at this place; carries what could be chosen, a case at a time.

    ``rejected`` says which cases a precondition has turned away already.
    """

    def __init__(self, way: Way, low: Floats, high: Floats) -> None:
        super().__init__(way)
        self.way, self.low, self.high = way, low, high
        self.rejected = np.zeros(len(low), dtype=bool)


class Supply(Protocol):
    """Answers, in the order in which a specification asks."""

    def choose(self, way: Way, low: Floats, high: Floats) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """A choice for each case from its range, both ends included, and for which cases there is none."""
        ...


@dataclass(slots=True)
class Drawn:
    """Choices drawn independently and uniformly; what was drawn is kept."""

    rng: np.random.Generator
    choices: list[NDArray[Any]] = field(default_factory=list)

    def choose(self, way: Way, low: Floats, high: Floats) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """Draw for each case; where the range is empty there is no choice."""
        values, empty = draw(self.rng, way, low, high)
        self.choices.append(values)
        return values, empty


def draw(rng: np.random.Generator, way: Way, low: Floats, high: Floats) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """One choice a case, uniform over its range."""
    if way == "seed":
        return rng.integers(0, SEEDS, size=len(low)), np.zeros(len(low), dtype=bool)
    if way == "real":
        empty = ~(low <= high)
        return np.where(empty, 0.0, rng.uniform(np.where(empty, 0.0, low), np.where(empty, 0.0, high))), empty
    first, last = np.ceil(low), np.floor(high)
    empty = ~(first <= last)
    least, most = (np.where(empty, 0, end).astype(np.int64) for end in (first, last))
    return rng.integers(least, most, endpoint=True), empty


@dataclass(slots=True)
class AtEnds:
    """Choices at the ends of their ranges: the lowest, the highest, zero or what is nearest to it, any; kept as above.

    Each of these four is chosen for a fourth of the cases, in an order of its own for every choice.
    """

    rng: np.random.Generator
    choices: list[NDArray[Any]] = field(default_factory=list)
    bounded: bool = False
    """Whether there was a choice that has ends."""

    def choose(self, way: Way, low: Floats, high: Floats) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """Choose for each case; the seed of a function that draws for itself has no ends."""
        values, empty = draw(self.rng, way, low, high)
        if way != "seed":
            self.bounded = True
            first, last = (np.ceil(low), np.floor(high)) if way == "whole" else (low, high)
            first, last = (np.where(empty, 0, end).astype(values.dtype) for end in (first, last))
            kind = self.rng.permutation(len(values)) % 4
            zero = np.clip(np.zeros_like(values), first, last)
            values = np.select([kind == 0, kind == 1, kind == 2], [first, last, zero], values)
        self.choices.append(values)
        return values, empty


@dataclass(slots=True)
class Given:
    """Choices fixed beforehand; at the first that is not, ``ReachedError`` says what could be chosen there."""

    choices: list[NDArray[Any]]
    asked: int = 0

    def choose(self, way: Way, low: Floats, high: Floats) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """The next choice; there is none where it lies outside the range or is no whole number, as a stored one may."""
        if self.asked == len(self.choices):
            raise ReachedError(way, low, high)
        values = self.choices[self.asked]
        self.asked += 1
        if way == "seed":
            return values, np.zeros(len(values), dtype=bool)
        outside = ~((values >= low) & (values <= high))
        if way == "whole" and values.dtype.kind == "f":
            outside |= values != np.floor(values)
        return values, outside
