"""What became of cases, as counts that add up: those of a piece of a batch, of every case, of all batches together."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from isonomia.engine.journal import Entry
from isonomia.records.strict_json import rational

__all__ = ["Cells", "Tally", "weight_of"]

Cells: TypeAlias = tuple[tuple[NDArray[np.float64], ...], tuple[NDArray[np.float64], ...]]
"""What bets on shares are settled by, channel by channel: cases that failed count as violations in the first, as none
in the second. Empty where there are no bets."""


@dataclass(slots=True)
class Tally:
    """Counts of cases and of what became of them.

    Attributes
    ----------
    by_ensures
        How many violate each ``ensures``.
    tested
        Cases that met the preconditions and were put to the model.
    violating, failed, vacuous
        Those that violate some ``ensures``, those in which something could not be computed, and those in which nothing
        was tested.
    reasons
        Why cases failed, and how many.
    rejected, without_choice
        Cases that were turned away: by a precondition, or because a choice had nothing to choose from.
    weight, bad_weight, failed_weight
        For a complete list of cases, how likely they are together, those that violate each ``ensures``, and those that
        failed without violating it, in units of one input.
    cells
        What the bets are settled by, for a piece of a batch alone: pieces are settled one after the other.
    """

    by_ensures: list[int]
    tested: int = 0
    violating: int = 0
    failed: int = 0
    vacuous: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    rejected: int = 0
    without_choice: int = 0
    weight: Fraction = Fraction(0)
    bad_weight: list[Fraction] = field(default_factory=list)
    failed_weight: list[Fraction] = field(default_factory=list)
    cells: Cells = ((), ())

    def __post_init__(self) -> None:
        self.bad_weight = self.bad_weight or [Fraction(0)] * len(self.by_ensures)
        self.failed_weight = self.failed_weight or [Fraction(0)] * len(self.by_ensures)

    @classmethod
    def empty(cls, ensures: int) -> Tally:
        """No cases of a specification with so many ``ensures``."""
        return cls([0] * ensures)

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            [one + two for one, two in zip(self.by_ensures, other.by_ensures, strict=True)],
            self.tested + other.tested,
            self.violating + other.violating,
            self.failed + other.failed,
            self.vacuous + other.vacuous,
            self.reasons + other.reasons,
            self.rejected + other.rejected,
            self.without_choice + other.without_choice,
            self.weight + other.weight,
            [one + two for one, two in zip(self.bad_weight, other.bad_weight, strict=True)],
            [one + two for one, two in zip(self.failed_weight, other.failed_weight, strict=True)],
        )

    def pack(self, *, weighed: bool) -> Entry:
        """As plain values, exact: with the weights of a complete list, or with the cells of a piece of a batch.

        Who was turned away is kept apart from them.
        """
        counts = {
            "tested": self.tested,
            "violating": self.violating,
            "by_ensures": list(self.by_ensures),
            "failed": self.failed,
            "vacuous": self.vacuous,
            "reasons": [list(pair) for pair in self.reasons.items()],
        }
        if not weighed:
            return {**counts, "bets": [[cell.tolist() for cell in side] for side in self.cells]}
        return {
            **counts,
            "weight": str(self.weight),
            "bad_weight": list(map(str, self.bad_weight)),
            "failed_weight": list(map(str, self.failed_weight)),
        }

    @classmethod
    def unpack(cls, entry: Entry, rejected: int = 0, without_choice: int = 0) -> Tally:
        """The tally that was packed."""
        tally = cls(
            list(entry["by_ensures"]),
            entry["tested"],
            entry["violating"],
            entry["failed"],
            entry["vacuous"],
            Counter(dict(entry["reasons"])),
            rejected,
            without_choice,
        )
        if "weight" in entry:
            tally.weight = rational(entry["weight"])
            tally.bad_weight = list(map(rational, entry["bad_weight"]))
            tally.failed_weight = list(map(rational, entry["failed_weight"]))
        if "bets" in entry:
            holding, violating = (tuple(np.asarray(cell, dtype=float) for cell in side) for side in entry["bets"])
            tally.cells = holding, violating
        return tally


def weight_of(parts: NDArray[np.int64]) -> Fraction:
    """The sum of ``1 / part``, exactly."""
    values, counts = np.unique(parts, return_counts=True)
    return sum((Fraction(int(n), int(part)) for part, n in zip(values, counts, strict=True)), Fraction(0))
