"""From cases to judgements: the one way in which every part of the audit asks the model."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.ksafety.asking import Questioner
from isonomia.audits.ksafety.cases import Cases
from isonomia.audits.ksafety.coded import run_coded
from isonomia.audits.ksafety.judging import Judged, RunBlock, judge
from isonomia.audits.ksafety.preparing import Prepared, prepare
from isonomia.audits.ksafety.program import Program
from isonomia.audits.ksafety.supply import Given
from isonomia.populations.domains import Domain

__all__ = ["Runner"]


@dataclass(frozen=True, slots=True)
class Runner:
    """A specification in order, a model, and how long a block may take.

    Attributes
    ----------
    program, questioner, seconds
        What is computed, who is asked, and the time for one case of a block that is code.
    draws
        Whether the block is code that draws; then the last choice of a case is the seed of its draws.
    """

    program: Program
    questioner: Questioner
    seconds: float
    draws: bool

    def judged(self, prepared: Prepared, seeds: NDArray[np.int64]) -> Judged:
        """Ask about the accepted cases of a batch; ``seeds`` has one for each of them."""
        block: RunBlock | None = None
        if self.program.code is not None:
            block = partial(run_coded, self.program, self.seconds)
        return judge(self.program, prepared, self.questioner, block, seeds)

    def run(self, domain: Domain, cases: Cases) -> tuple[Judged, Cases]:
        """Compute cases from their choices; gives the accepted ones, which are all unless a choice is out of range."""
        prepared = prepare(self.program, domain, cases.inputs, Given(list(cases.choices)))
        accepted = cases.take(np.flatnonzero(prepared.accepted))
        return self.judged(prepared, self.seeds(accepted)), accepted

    def seeds(self, cases: Cases) -> NDArray[np.int64]:
        """The seeds of what the block draws."""
        return cases.choices[-1].astype(np.int64) if self.draws else np.zeros(len(cases), dtype=np.int64)
