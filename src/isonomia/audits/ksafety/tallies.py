"""What all cases so far add up to, as numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.ksafety.cases import Cases, Counts
from isonomia.audits.ksafety.judging import Judged

__all__ = ["Piece", "Totals", "piece_of"]


@dataclass(frozen=True, slots=True)
class Piece:
    """What became of some cases.

    Attributes
    ----------
    tested
        Cases that met the preconditions and were put to the model.
    violating, by_ensures, failed, vacuous
        Those that violate, those that violate each ``ensures``, those in which something could not be computed, and
        those in which nothing was tested.
    reasons
        Why cases failed, and how many.
    """

    tested: int
    violating: int
    by_ensures: Sequence[int]
    failed: int
    vacuous: int
    reasons: Sequence[tuple[str, int]]


def piece_of(judged: Judged) -> Piece:
    """Count judged cases."""
    return Piece(
        len(judged.failed),
        int(np.count_nonzero(judged.violating)),
        tuple(int(np.count_nonzero(bad)) for bad in judged.violates),
        int(np.count_nonzero(judged.failed)),
        int(np.count_nonzero(judged.vacuous)),
        tuple(judged.reasons.items()),
    )


@dataclass(slots=True)
class Totals:
    """Counts of cases and of what became of them.

    Attributes
    ----------
    tested, violating, by_ensures, failed, vacuous, reasons
        As in a :class:`Piece`, of all of them together.
    turned_away
        Cases that did not meet the preconditions.
    weight, bad_weight, failed_weight
        For a complete list of cases, how likely they are together, those that violate each ``ensures``, and those that
        failed without violating it, in units of one input.
    """

    ensures: int
    tested: int = 0
    turned_away: Counts = field(default_factory=Counts)
    violating: int = 0
    by_ensures: list[int] = field(default_factory=list)
    failed: int = 0
    vacuous: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    weight: Fraction = Fraction(0)
    bad_weight: list[Fraction] = field(default_factory=list)
    failed_weight: list[Fraction] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.by_ensures = [0] * self.ensures
        self.bad_weight = [Fraction(0)] * self.ensures
        self.failed_weight = [Fraction(0)] * self.ensures

    def add(self, piece: Piece) -> None:
        """Take in some cases."""
        self.tested += piece.tested
        self.violating += piece.violating
        self.failed += piece.failed
        self.vacuous += piece.vacuous
        self.reasons.update(dict(piece.reasons))
        for number, bad in enumerate(piece.by_ensures):
            self.by_ensures[number] += bad

    def weigh(self, judged: Judged, cases: Cases) -> None:
        """Take in how likely cases of a complete list are."""
        self.weight += weight_of(cases.parts)
        for number, bad in enumerate(judged.violates):
            self.bad_weight[number] += weight_of(cases.parts[bad])
            self.failed_weight[number] += weight_of(cases.parts[judged.failed & ~bad])


def weight_of(parts: NDArray[np.int64]) -> Fraction:
    """The sum of ``1 / part``, exactly."""
    values, counts = np.unique(parts, return_counts=True)
    return sum((Fraction(int(n), int(part)) for part, n in zip(values, counts, strict=True)), Fraction(0))
