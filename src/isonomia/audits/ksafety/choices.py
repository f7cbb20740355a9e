"""Random choices: drawn, or given beforehand, in the order in which a specification makes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias
from typing import Literal as OneOf

import numpy as np
from numpy.typing import NDArray

Booleans = NDArray[np.bool_]

Floats = NDArray[np.float64]

ChoiceKind: TypeAlias = OneOf["whole", "real", "seed"]
"""What is chosen: a whole number, a real number, or the seed of a function that draws for itself."""

SEEDS = 2**32
"""How many seeds there are."""


class OpenChoiceError(Exception):
    """No choice is given yet at this point; carries the range to choose from, for each case.

    ``rejected`` says which cases a precondition has already rejected.
    """

    def __init__(self, kind: ChoiceKind, low: Floats, high: Floats) -> None:
        super().__init__(kind)
        self.kind, self.low, self.high = kind, low, high
        self.rejected = np.zeros(len(low), dtype=bool)


@dataclass(slots=True)
class RandomChoices:
    """Choices drawn independently and uniformly, or at the ends of their ranges; what was chosen is kept.

    At the ends means one of four: the lowest, the highest, the value nearest to zero, or any. Each is chosen for a
    quarter of the cases, in a different order for every choice.
    """

    rng: np.random.Generator
    at_ends: bool = False
    choices: list[NDArray[Any]] = field(default_factory=list)
    empty: list[Booleans] = field(default_factory=list)
    bounded: bool = False
    """Whether there was a choice that has ends."""

    def choose(self, kind: ChoiceKind, low: Floats, high: Floats) -> tuple[NDArray[Any], Booleans]:
        """A choice for each case from its range, both ends included, and the cases whose range is empty."""
        values, empty = self._drawn(kind, low, high)
        if kind != "seed":
            self.bounded = True
            if self.at_ends:
                first, last = (np.ceil(low), np.floor(high)) if kind == "whole" else (low, high)
                first, last = (np.where(empty, 0, end).astype(values.dtype) for end in (first, last))
                which = self.rng.permutation(len(values)) % 4
                zero = np.clip(np.zeros_like(values), first, last)
                values = np.select([which == 0, which == 1, which == 2], [first, last, zero], values)
        self.choices.append(values)
        self.empty.append(empty)
        return values, empty

    def _drawn(self, kind: ChoiceKind, low: Floats, high: Floats) -> tuple[NDArray[Any], Booleans]:
        rng = self.rng
        if kind == "seed":
            return rng.integers(0, SEEDS, size=len(low)), np.zeros(len(low), dtype=bool)
        if kind == "real":
            empty = ~(low <= high)
            return np.where(empty, 0.0, rng.uniform(np.where(empty, 0.0, low), np.where(empty, 0.0, high))), empty
        first, last = np.ceil(low), np.floor(high)
        empty = ~(first <= last)
        least, largest = (np.where(empty, 0, end).astype(np.int64) for end in (first, last))
        return rng.integers(least, largest, endpoint=True), empty


@dataclass(slots=True)
class GivenChoices:
    """Choices fixed beforehand; the first one that is missing raises ``OpenChoiceError`` with what could be chosen.

    For choices that were drawn, ``empty`` says where there was nothing to choose from.
    """

    choices: Sequence[NDArray[Any]]
    empty: Sequence[Booleans] = ()
    used: int = 0

    def choose(self, kind: ChoiceKind, low: Floats, high: Floats) -> tuple[NDArray[Any], Booleans]:
        """The next choice; a stored one does not count where it is outside the range or not a whole number."""
        if self.used == len(self.choices):
            raise OpenChoiceError(kind, low, high)
        values = self.choices[self.used]
        self.used += 1
        if self.empty:
            return values, self.empty[self.used - 1]
        if kind == "seed":
            return values, np.zeros(len(values), dtype=bool)
        outside = ~((values >= low) & (values <= high))
        if kind == "whole" and values.dtype.kind == "f":
            outside |= values != np.floor(values)
        return values, outside


Choices: TypeAlias = RandomChoices | GivenChoices
"""Where random choices come from, in the order in which a specification makes them."""
