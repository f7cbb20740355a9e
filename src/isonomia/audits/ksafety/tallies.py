"""What all cases so far add up to."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.ksafety.cases import Cases, Counts
from isonomia.audits.ksafety.found import Finds
from isonomia.audits.ksafety.judging import Judged
from isonomia.populations.domains import Domain

__all__ = ["Totals"]


@dataclass(slots=True)
class Totals:
    """Counts of cases and of what became of them.

    Attributes
    ----------
    tested
        Cases that met the preconditions and were put to the model.
    turned_away
        Those that did not.
    violating, by_ensures, failed, vacuous
        Cases that violate, those that violate each ``ensures``, those in which something could not be computed, and
        those in which nothing was tested.
    inputs
        Which inputs had a case that was tested, one truth value an input; ``None`` where a case has several inputs or
        they are fresh in every piece.
    reasons
        Why cases failed.
    finds
        The violations.
    pieces
        How often something was added.
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
    inputs: NDArray[np.bool_] | None = None
    reasons: Counter[str] = field(default_factory=Counter)
    finds: Finds = field(default_factory=Finds)
    pieces: int = 0
    weight: Fraction = Fraction(0)
    bad_weight: list[Fraction] = field(default_factory=list)
    failed_weight: list[Fraction] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.by_ensures = [0] * self.ensures
        self.bad_weight = [Fraction(0)] * self.ensures
        self.failed_weight = [Fraction(0)] * self.ensures

    def add(self, judged: Judged, cases: Cases, domain: Domain, *, fresh: bool = False) -> None:
        """Take in a piece of a batch; ``fresh`` where its inputs are of no other, whatever their numbers."""
        violating = np.flatnonzero(judged.violating)
        self.tested += len(cases)
        if len(cases.inputs) == 1 and not fresh:
            if self.inputs is None:
                self.inputs = np.zeros(domain.size, dtype=bool)
            self.inputs[cases.inputs[0]] = True
        self.violating += len(violating)
        self.failed += int(np.count_nonzero(judged.failed))
        self.vacuous += int(np.count_nonzero(judged.vacuous))
        self.reasons.update(judged.reasons)
        for number, bad in enumerate(judged.violates):
            self.by_ensures[number] += int(np.count_nonzero(bad))
        self.finds.add(domain, cases.take(violating), judged.changed[:, violating], self.pieces if fresh else None)
        self.pieces += 1
        if len(cases.parts):
            self._weigh(judged, cases)

    def _weigh(self, judged: Judged, cases: Cases) -> None:
        self.weight += weight_of(cases.parts)
        for number, bad in enumerate(judged.violates):
            self.bad_weight[number] += weight_of(cases.parts[bad])
            self.failed_weight[number] += weight_of(cases.parts[judged.failed & ~bad])


def weight_of(parts: NDArray[np.int64]) -> Fraction:
    """The sum of ``1 / part``, exactly."""
    values, counts = np.unique(parts, return_counts=True)
    return sum((Fraction(int(n), int(part)) for part, n in zip(values, counts, strict=True)), Fraction(0))
