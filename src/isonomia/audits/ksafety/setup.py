"""What measuring needs, built on demand; what the steps share; batch sizes.

What measuring needs: the inputs, and the model behind a program. It is set up when something is measured.

What the steps of a k-safety check share, and the last of them: the violations.

Each step is kept in the journal as numbers, and the answer is computed from what is kept. Until the last step is kept,
a check that goes on from its journal takes those before it once more: the model's answers are kept as well, so that it
is not asked again, and violations are found that numbers alone do not show.

How large the batches of a sampled check are, and when it ends at the latest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from time import monotonic
from typing import TypeAlias

from isonomia.audits.answers import Asker
from isonomia.audits.ksafety.blocks import SIDE_BY_SIDE
from isonomia.audits.ksafety.evidence import RateEvidence
from isonomia.audits.ksafety.inputs import Inputs, Subject, described, domain_of, inputs_of, offered_functions
from isonomia.audits.ksafety.program import Program
from isonomia.audits.ksafety.runner import Questioner, Runner
from isonomia.audits.ksafety.shrink import shown_finds
from isonomia.audits.ksafety.typecheck import check_meaning
from isonomia.audits.ksafety.verdict import SHOWN
from isonomia.audits.ksafety.violations import Find, Findings, Seen, findings_of, packed_findings
from isonomia.audits.protocol import Check
from isonomia.audits.rates.prepare import UNLIMITED
from isonomia.engine.budget import Budget
from isonomia.engine.journal import Apart, Entry, Journal, once
from isonomia.engine.loop import Schedule
from isonomia.engine.observer import Observer
from isonomia.errors import SpecError
from isonomia.populations.domains import Domain
from isonomia.populations.table import Table
from isonomia.spec.safety import Safety

__all__ = ["FEW", "INTERRUPTED", "LARGE", "Bench", "Steps", "pace_of"]


_RANDOM_WORDS = frozenset(
    {"random", "default_rng", "rand", "randn", "randint", "shuffle", "choice", "secrets", "urandom", "uuid"}
)


@dataclass
class Bench:
    """Where cases are computed and the model is asked.

    A check that finds everything in its journal never sets it up: then no module is imported, no input is looked at and
    no block is run.
    """

    request: Check[Safety]
    _askers: list[Asker] = field(default_factory=list)

    @cached_property
    def _made(self) -> tuple[Domain, Callable[[Table], Domain] | None]:
        request = self.request
        domain, make = domain_of(request, offered_functions(request.prop, request.population))
        check_meaning(request.prop.spec, domain)
        return domain, make

    @property
    def domain(self) -> Domain:
        """The inputs; of an unlimited population some that show what they are like."""
        return self._made[0]

    @property
    def make(self) -> Callable[[Table], Domain] | None:
        """For an unlimited population, how inputs are made of what is drawn."""
        return self._made[1]

    def describe(self) -> Entry:
        """What has to be known of the inputs."""
        return described(self.request, self.domain, self.make is not None)

    def runner(self, program: Program, random: frozenset[str], apart: str | None = None) -> Runner:
        """Set a program up with the model.

        Parameters
        ----------
        program
            What is computed.
        random
            The functions that draw.
        apart
            What the model's answers are kept for, where that is done apart from all others.

        Raises
        ------
        SpecError
            Where the block would be run as Python, and that is not allowed.
        """
        request = self.request
        _ask_permission(program, request.prop.allow_code)
        journal: Journal = request.journal if apart is None else Apart(request.journal, apart)
        asker = Asker(request.required_model, request.workers, journal)
        self._askers.append(asker)
        draws = program.code is not None and bool(program.code.reads & (random | _RANDOM_WORDS))
        return Runner(program, Questioner(asker), request.prop.seconds, draws)

    def close(self) -> None:
        """Let go of what was needed for asking."""
        for asker in self._askers:
            asker.close()


def _ask_permission(program: Program, allowed: bool) -> None:
    if program.code is not None and not allowed:
        raise SpecError(
            f"the block is more than plain calls and arithmetic ({program.code.reason}), so it would be run as Python, "
            "which can do anything that you can do. Allow it with allow_code=True or --allow-code if you trust it",
            program.code.place or program.spec.block.place,
        )


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

    request: Check[Safety]
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


LARGE = 2**16
"""The largest batch of random cases."""

FEW = 32
"""The first batch where the block is code."""


def pace_of(request: Check[Safety], evidence: RateEvidence, finite: bool, *, coded: bool) -> tuple[Schedule, Budget]:
    """How large batches are, and when to stop at the latest.

    Bets on shares need many small batches to learn from. Without them there is nothing to learn: cases come in large
    batches, exactly as many as are needed. Rows that come to an end set a limit by themselves. Where the block is code,
    a case may take long, as ten games do: batches begin small then, so that an early violation ends it early.
    """
    budget = request.budget
    if evidence.bets is not None:
        limit = budget if budget != Budget() else Budget(samples=UNLIMITED)
        return replace(request.schedule, first=64, most=LARGE), limit
    unlimited = budget.samples == float("inf")
    wanted = float(evidence.needed) if unlimited and not finite else budget.samples
    first = int(min(LARGE, wanted, evidence.needed if request.prop.stop_early else wanted))
    most = SIDE_BY_SIDE if coded else LARGE
    if coded and request.prop.stop_early:
        first = min(first, FEW)
    return Schedule(first=max(min(first, most), 1), growth=2.0, early=2.0, most=most), replace(budget, samples=wanted)
