"""How much people can reach: what has to be known of it when nobody can be looked at any more."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.responsiveness.packing import packed, unpacked
from isonomia.engine.journal import Entry
from isonomia.interventions import ReachableSets

__all__ = ["Reach"]


@dataclass(frozen=True, slots=True, eq=False)
class Reach:
    """How much people can reach.

    Attributes
    ----------
    counts
        How many points each person can reach by actions; infinite where they are not counted.
    by_chance
        Whether effects come after an action.
    approximate
        Whether somebody's draws are only nearly uniform.
    """

    counts: NDArray[np.float64]
    by_chance: bool
    approximate: bool

    @classmethod
    def of(cls, sets: ReachableSets) -> Reach:
        """What reachable sets say of themselves."""
        return cls(sets.counts(), sets.by_chance, bool(sets.approximate().any()))

    def listable(self, most: int) -> NDArray[np.bool_]:
        """Whose points can all be looked at, being at most so many, with no chance after an action."""
        if self.by_chance:
            return np.zeros(len(self.counts), dtype=bool)
        return self.counts <= most

    def pack(self) -> Entry:
        """As plain values."""
        return {"counts": packed(self.counts), "by_chance": self.by_chance, "approximate": self.approximate}

    @classmethod
    def unpack(cls, entry: Entry, people: int) -> Reach:
        """From plain values."""
        counts = unpacked(entry["counts"], people).astype(np.float64)
        return cls(counts, entry["by_chance"], entry["approximate"])
