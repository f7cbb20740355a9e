"""Which cases were seen: the violations among them, and how many different inputs they had."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.ksafety.cases import Cases
from isonomia.audits.ksafety.found import Finds
from isonomia.audits.ksafety.judging import Judged
from isonomia.populations.domains import Domain

__all__ = ["Findings", "Seen"]


@dataclass(slots=True)
class Seen:
    """The cases of a check, as far as they are remembered.

    Attributes
    ----------
    finds
        The violations.
    inputs
        Which inputs had a case that was tested, one truth value an input; ``None`` where a case has several inputs or
        they are fresh in every piece.
    pieces
        How often something was added.
    """

    finds: Finds = field(default_factory=Finds)
    inputs: NDArray[np.bool_] | None = None
    pieces: int = 0

    def add(self, judged: Judged, cases: Cases, domain: Domain, *, fresh: bool = False) -> None:
        """Take in a piece of a batch; ``fresh`` where its inputs are of no other, whatever their numbers."""
        violating = np.flatnonzero(judged.violating)
        if len(cases.inputs) == 1 and not fresh:
            if self.inputs is None:
                self.inputs = np.zeros(domain.size, dtype=bool)
            self.inputs[cases.inputs[0]] = True
        self.finds.add(domain, cases.take(violating), judged.changed[:, violating], self.pieces if fresh else None)
        self.pieces += 1

    def found(self, shown: list[dict[str, Any]], looked_at: int) -> Findings:
        """What is known of the violations, of which so many were looked at again and these occurred again."""
        finds = self.finds
        inputs = None if self.inputs is None else int(np.count_nonzero(self.inputs))
        told = len(finds.distinct), finds.distinct.exact, len(finds.inputs), inputs
        return Findings(tuple(shown), looked_at - len(shown), *told)


@dataclass(frozen=True, slots=True)
class Findings:
    """What is known of the violations of a check, besides how many there are.

    Attributes
    ----------
    counterexamples
        The smallest changes first; facts about the model, which only the model can confirm.
    gone
        Violations that did not occur again when they were computed once more.
    distinct, exact
        How many different violations there were, and whether that number is exact.
    inputs
        How many different inputs had one.
    tested
        How many different inputs had a case that was tested; ``None`` where that was not counted.
    """

    counterexamples: tuple[Mapping[str, Any], ...] = ()
    gone: int = 0
    distinct: int = 0
    exact: bool = True
    inputs: int = 0
    tested: int | None = None
