"""What the steps of a k-safety check share, and the last of them: the violations.

Each step is kept in the journal as numbers, and the answer is computed from what is kept. Until the last step is kept,
a check that goes on from its journal takes those before it once more: the model's answers are kept as well, so that it
is not asked again, and violations are found that numbers alone do not show.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from time import monotonic
from typing import TypeAlias

from isonomia.audits.ksafety.bench import Bench
from isonomia.audits.ksafety.described import Subject
from isonomia.audits.ksafety.found import Find
from isonomia.audits.ksafety.inputs import Inputs
from isonomia.audits.ksafety.kept import findings_of, packed_findings
from isonomia.audits.ksafety.program import Program
from isonomia.audits.ksafety.rates import RateEvidence
from isonomia.audits.ksafety.request import Request
from isonomia.audits.ksafety.running import Runner
from isonomia.audits.ksafety.seen import Findings, Seen
from isonomia.audits.ksafety.showing import shown_finds
from isonomia.audits.ksafety.subject import inputs_of
from isonomia.audits.ksafety.verdicts import SHOWN
from isonomia.engine.journal import Journal, once
from isonomia.engine.observer import Observer

__all__ = ["INTERRUPTED", "Steps"]

INTERRUPTED = "interrupted"

LAST = "found"
"""What the last step is kept under."""

Smaller: TypeAlias = Callable[[Sequence[Find]], Sequence[tuple[Find, bool]]]
"""Makes violations smaller, and says of each whether it is certain to be the smallest."""


@dataclass(frozen=True)
class Steps:
    """A check on its way.

    Attributes
    ----------
    request, subject, program, evidence
        What is asked, of what, what is computed, and how it is decided.
    bench, observer
        What measuring needs, and who watches.
    seen
        The cases that were seen, where something was measured.
    """

    request: Request
    subject: Subject
    program: Program
    evidence: RateEvidence
    bench: Bench
    observer: Observer
    seen: Seen = field(default_factory=Seen)
    began: float = field(default_factory=monotonic)

    @property
    def journal(self) -> Journal:
        """Where the steps are kept."""
        return self.request.journal

    @cached_property
    def over(self) -> bool:
        """Whether every step is kept, so that nothing is measured any more."""
        return self.journal.recall(LAST) is not None

    @cached_property
    def runner(self) -> Runner:
        """Computes cases."""
        return self.bench.runner(self.program, self.subject.random)

    @cached_property
    def inputs(self) -> Inputs:
        """Where inputs are drawn from."""
        return inputs_of(self.request, self.program, self.bench.domain, self.bench.make)

    def seconds(self) -> float:
        """The time taken."""
        return monotonic() - self.began

    def found(self, smaller: Smaller, *, interrupted: bool = False) -> Findings:
        """The violations that were seen, the smallest first; what somebody interrupted is not kept."""

        def measure() -> Findings:
            best = self.seen.finds.ranked(SHOWN)
            tried = smaller(best)
            shown = shown_finds(self.runner, [find for find, _ in tried], [minimal for _, minimal in tried])
            return self.seen.found(shown, len(best))

        if interrupted and not self.over:
            return measure()
        return findings_of(once(self.journal, LAST, lambda: packed_findings(measure())))
