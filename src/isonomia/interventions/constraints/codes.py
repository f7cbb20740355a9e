"""Features that together are one of a list of codes, some of which can be reached from others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from isonomia.interventions.constraints.base import TOLERANCE, Bools, Box, Floats, Form, Moves, one_of_codes

__all__ = ["Codes", "Way", "monotone"]

Way: TypeAlias = Literal["both", "up", "down"]


@dataclass(frozen=True, slots=True, eq=False)
class Codes:
    """Codes, one a row, and whether each can be reached from each other one in one step.

    ``stray`` says what becomes of a person whose values are no code: with it they stay where they are, without it they
    are refused.
    """

    codes: Floats
    reaches: Bools
    stray: bool = False

    def accepts(self, start: Floats) -> Bools:
        """Whether the person is at a code, or may stray."""
        return np.asarray((self.place(start) >= 0) | self.stray)

    def holds(self, moves: Moves) -> Bools:
        """Whether the code acted can be reached from the one at the start."""
        begin, end = self.place(moves.start), self.place(moves.acted)
        known = (begin >= 0) & (end >= 0) & self.reaches[begin, end]
        return np.asarray(known | (self.stray & (begin < 0) & _stays(moves)))

    def possible(self, box: Box) -> Bools:
        """Whether a code in the box can be reached; one that strays need only be able to stay."""
        begin = self.place(box.start)
        found = self.stray & (begin < 0) & np.asarray(((box.low <= box.start) & (box.start <= box.high)).all(-1))
        for place, code in enumerate(self.codes):
            inside = ((box.low <= code + TOLERANCE) & (code - TOLERANCE <= box.high)).all(-1)
            found |= inside & (begin >= 0) & self.reaches[begin, place]
        return np.asarray(found)

    def form(self, start: Floats) -> Form:
        """One binary for each code that can be reached from the start."""
        place = int(self.place(start[None])[0])
        reachable = self.codes[self.reaches[place]] if place >= 0 else start[None]
        return one_of_codes(reachable.tolist())

    def standing(self) -> Form | None:
        """One binary for each code; ``None`` where a person may be at none."""
        return None if self.stray else one_of_codes(self.codes.tolist())

    def place(self, values: Floats) -> NDArray[np.intp]:
        """The code that each row is, by its place; -1 for none."""
        found = np.full(len(values), -1, dtype=np.intp)
        for place in range(len(self.codes) - 1, -1, -1):
            found[(np.abs(values - self.codes[place]) <= TOLERANCE).all(-1)] = place
        return found


def _stays(moves: Moves) -> Bools:
    return np.asarray((moves.acted == moves.start).all(-1))


def monotone(levels: int, way: Way) -> Bools:
    """Which of several levels can be reached from which, going one way only."""
    level = np.arange(levels)
    match way:
        case "both":
            return np.ones((levels, levels), dtype=bool)
        case "up":
            return np.asarray(level[None] >= level[:, None])
        case "down":
            return np.asarray(level[None] <= level[:, None])
