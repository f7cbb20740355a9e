"""Uniform draws by proposing points of each person's box and keeping those that the constraints allow."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import NumericalError
from isonomia.interventions.blocks import Block
from isonomia.interventions.constraints.moves import Bools, Floats

__all__ = ["Boxes", "accepted_share", "draw_by_proposals"]

_ROWS = 1 << 18  # proposals that are held at once
_MOST_TRIES = 1_000_000  # proposals for each draw that is wanted


@dataclass(frozen=True, slots=True, eq=False)
class Boxes:
    """Where some people are in a block, the ranges of their own actions, and a box that holds all their moves.

    Every array has one person a row and one of the block's columns a column.
    """

    start: Floats
    least: Floats
    most: Floats
    low: Floats
    high: Floats

    @classmethod
    def of(cls, block: Block, start: Floats) -> Boxes:
        """The boxes of people about whom nothing but the ranges, and what linkages leave of them, is known."""
        least, most = block.ranges(start)
        return cls(start, least, most, *block.within(start, least, most))

    def at(self, rows: NDArray[np.intp]) -> Boxes:
        """The boxes of some people, in this order."""
        return Boxes(self.start[rows], self.least[rows], self.most[rows], self.low[rows], self.high[rows])

    def allowed(self, block: Block, acted: Floats) -> Bools:
        """Whether one move of each person is allowed."""
        return block.holds(block.moves(self.start, acted, self.least, self.most))


def accepted_share(block: Block, boxes: Boxes, tries: int, rng: np.random.Generator) -> Floats:
    """The share of proposals that are allowed, for each person."""
    count = len(boxes.start)
    found = np.zeros(count)
    size = max(_ROWS // tries, 1)
    for first in range(0, count, size):
        owner = np.repeat(np.arange(first, min(first + size, count)), tries)
        here = boxes.at(owner)
        found += np.bincount(owner[here.allowed(block, _proposed(block, here, rng))], minlength=count)
    return found / tries


def draw_by_proposals(block: Block, boxes: Boxes, n: int, rng: np.random.Generator) -> Floats:
    """So many independent uniform moves of each person, of shape ``(people, n, columns)``.

    Guarantee: given that it returns, each draw has the uniform law on the person's moves, and draws are independent.

    Raises
    ------
    NumericalError
        Where a person's proposals are refused a million times on end.
    """
    drawn = np.full((len(boxes.start) * n, boxes.start.shape[1]), np.nan)
    wanted, tries = np.arange(len(drawn)), 0
    while len(wanted):
        if tries > _MOST_TRIES:
            raise NumericalError(_given_up(block, tries))
        times = max(1, min(_ROWS // len(wanted), 64))
        for first in range(0, len(wanted), _ROWS):
            _fill(block, boxes, drawn, wanted[first : first + _ROWS], n, times, rng)
        wanted = wanted[np.isnan(drawn[wanted, 0])]
        tries += times
    return drawn.reshape(len(boxes.start), n, -1)


def _fill(
    block: Block, boxes: Boxes, drawn: Floats, slots: NDArray[np.intp], n: int, times: int, rng: np.random.Generator
) -> None:
    """Try each slot so many times, and give it the first proposal that is allowed."""
    place = np.repeat(np.arange(len(slots)), times)
    here = boxes.at(slots[place] // n)
    acted = _proposed(block, here, rng)
    kept = np.flatnonzero(here.allowed(block, acted))
    filled, first = np.unique(place[kept], return_index=True)
    drawn[slots[filled]] = acted[kept[first]]


def _proposed(block: Block, boxes: Boxes, rng: np.random.Generator) -> Floats:
    """One uniform point of each row's box; what cannot be acted on stays at its only value."""
    acted = boxes.low.copy()
    for j in block.free:
        low, high = boxes.low[:, j], boxes.high[:, j]
        share = rng.random(len(low))
        acted[:, j] = low + (np.floor(share * (high - low + 1.0)) if block.features[j].whole else share * (high - low))
    return acted


def _given_up(block: Block, tries: int) -> str:
    return (
        f"no allowed change of {', '.join(feature.name for feature in block.features)} was found for a person among "
        f"{tries:,} proposals. Loosen the constraints, or write them as linear ones, which are drawn from directly."
    )
