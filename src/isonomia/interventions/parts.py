"""What some people can reach in one block, in the form in which it can be counted, listed or drawn from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import NumericalError
from isonomia.interventions.blocks import Block
from isonomia.interventions.constraints.moves import Floats
from isonomia.interventions.pieces import Pieces
from isonomia.interventions.proposals import Boxes, draw_by_proposals

__all__ = ["Cut", "Drawn", "Listed", "Part", "Ranges", "ends_of"]

_MOST_ROUNDS = 1000


@dataclass(frozen=True, slots=True, eq=False)
class Ranges:
    """One feature by itself: every value, or every whole value, of a range.

    ``rows`` says which people; every part has it. ``low`` and ``high`` have one entry for each.
    """

    rows: NDArray[np.intp]
    column: int
    low: Floats
    high: Floats
    whole: bool

    def counts(self) -> Floats:
        """How many values each person can reach; infinite where a real feature can move."""
        if self.whole:
            return self.high - self.low + 1.0
        return np.where(self.high > self.low, np.inf, 1.0)

    def ends(self, person: NDArray[np.intp], number: NDArray[np.intp]) -> Floats:
        """The value with this number, for people given by their place among ``rows``."""
        return (self.low[person] + number)[:, None]

    def draw(self, n: int, rng: np.random.Generator) -> Floats:
        """Uniform values, of shape ``(people, n, 1)``."""
        share = rng.random((len(self.rows), n))
        width = (self.high - self.low)[:, None]
        step = np.floor(share * (width + 1.0)) if self.whole else share * width
        return np.asarray((self.low[:, None] + step)[..., None])


@dataclass(frozen=True, slots=True, eq=False)
class Listed:
    """Every point, in one table for all people; people with the same start in the block share their rows.

    ``table`` has the ended value of each of the block's columns, then the change of each pushed feature. A person's
    rows are ``size`` many from ``first``.
    """

    rows: NDArray[np.intp]
    block: Block
    table: Floats
    first: NDArray[np.intp]
    size: NDArray[np.intp]

    def counts(self) -> Floats:
        """How many points each person can reach."""
        return self.size.astype(np.float64)

    def ends(self, person: NDArray[np.intp], number: NDArray[np.intp]) -> Floats:
        """The point with this number, for people given by their place among ``rows``."""
        return np.asarray(self.table[self.first[person] + number])

    def draw(self, n: int, rng: np.random.Generator) -> Floats:
        """Uniform points, with no rejection."""
        number = (rng.random((len(self.rows), n)) * self.size[:, None]).astype(np.intp)
        return np.asarray(self.table[self.first[:, None] + number])


@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """Points by proposals that are kept where the constraints allow them."""

    rows: NDArray[np.intp]
    block: Block
    boxes: Boxes

    def counts(self) -> Floats:
        """Infinite: the points are not counted."""
        return np.full(len(self.rows), np.inf)

    def draw(self, n: int, rng: np.random.Generator) -> Floats:
        """Uniform points."""
        acted = draw_by_proposals(self.block, self.boxes, n, rng)
        return ends_of(self.block, self.boxes.start[:, None], acted)


@dataclass(frozen=True, slots=True, eq=False)
class Cut:
    """Points of polytopes, for people with the same start in the block."""

    rows: NDArray[np.intp]
    block: Block
    boxes: Boxes
    pieces: Pieces

    def counts(self) -> Floats:
        """Infinite: the points are not counted."""
        return np.full(len(self.rows), np.inf)

    def draw(self, n: int, rng: np.random.Generator) -> Floats:
        """Uniform points; what a constraint without a linear form forbids is drawn again."""
        wanted = len(self.rows) * n
        found, count = list[Floats](), 0
        for _ in range(_MOST_ROUNDS):
            acted = self.pieces.draw(wanted, rng)
            kept = acted[self.boxes.at(np.zeros(wanted, dtype=np.intp)).allowed(self.block, acted)]
            found.append(kept)
            count += len(kept)
            if count >= wanted:
                acted = np.concatenate(found)[:wanted].reshape(len(self.rows), n, -1)
                return ends_of(self.block, self.boxes.start[:, None], acted)
        raise NumericalError(
            f"almost no point of the linear constraints on {', '.join(f.name for f in self.block.features)} satisfies "
            "the others. Loosen them, or write them as linear ones."
        )


Part: TypeAlias = Ranges | Listed | Drawn | Cut


def ends_of(block: Block, start: Floats, acted: Floats) -> Floats:
    """Where actions lead: the ended value of each of the block's columns, then the change of each pushed feature."""
    if not block.push.any() and not block.onto.size:
        return acted
    action = acted - start
    ended = acted + action @ block.push if block.push.any() else acted
    return np.concatenate([ended, action @ block.onto], axis=-1)
