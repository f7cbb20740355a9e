"""Candidate moves of people, and boxes of them: what a constraint is asked about.

Three values of each feature matter. *Start* is where the person is, ``x``. *Acted* is ``x + a``, what the person's own
action on the feature makes of it. *Ended* is ``x + c``, with the effects that actions on other features have on it by
linkage. Encodings and rules about actions speak of what was acted; statements about the person as they end up speak of
what ended. Without linkages the two are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["TOLERANCE", "Bools", "Box", "Floats", "Moves"]

Floats: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]

TOLERANCE = 1e-9
"""How far apart two numbers may lie and count as equal, relative to their size where that is above 1."""


@dataclass(frozen=True, slots=True)
class Moves:
    """Candidate moves, one a row; every array has shape ``(rows, features)``.

    Attributes
    ----------
    start, acted, ended
        As the module says.
    least, most
        The range of what the person's own action can make of each feature.
    """

    start: Floats
    acted: Floats
    ended: Floats
    least: Floats
    most: Floats

    def only(self, columns: Sequence[int]) -> Moves:
        """The moves in some features."""
        at = list(columns)
        return Moves(self.start[:, at], self.acted[:, at], self.ended[:, at], self.least[:, at], self.most[:, at])


@dataclass(frozen=True, slots=True)
class Box:
    """Boxes of moves, one a row.

    Each feature's acted value lies between ``low`` and ``high``, its ended one between ``end_low`` and ``end_high``.
    """

    start: Floats
    low: Floats
    high: Floats
    end_low: Floats
    end_high: Floats
    least: Floats
    most: Floats

    def only(self, columns: Sequence[int]) -> Box:
        """The boxes in some features."""
        at = list(columns)
        return Box(
            self.start[:, at],
            self.low[:, at],
            self.high[:, at],
            self.end_low[:, at],
            self.end_high[:, at],
            self.least[:, at],
            self.most[:, at],
        )
