"""What a check needs for measuring, built on demand.

Each step of a check is kept in the journal as numbers, and the answer is computed from what is kept. Until the last
step, the violations, is kept, a check that goes on from its journal takes those before it once more: the model's
answers are kept as well, so that it is not asked again, and violations are found that numbers alone do not show.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from time import monotonic
from typing import TypeAlias

from isonomia.audits.answers import Asker
from isonomia.audits.ksafety.compiler import CompiledSpec, compile_spec
from isonomia.audits.ksafety.evidence import RateEvidence, rate_evidence
from isonomia.audits.ksafety.inputs import Inputs, Subject, domain_of, inputs_of
from isonomia.audits.ksafety.runner import Runner
from isonomia.audits.ksafety.typecheck import check_meaning
from isonomia.audits.ksafety.violations import SHOWN, Violation, Violations, ViolationSummary, show_violations
from isonomia.audits.protocol import Check
from isonomia.engine.journal import Apart, Journal, once
from isonomia.engine.observer import Observer, Silent
from isonomia.errors import SpecError
from isonomia.populations.domains import Domain
from isonomia.populations.table import Table
from isonomia.spec.safety import Safety

__all__ = ["INTERRUPTED", "Setup", "Smaller"]

INTERRUPTED = "interrupted"
"""Why a check stopped that somebody ended with Ctrl-C."""

LAST = "found"
"""What the last step is kept under."""

Smaller: TypeAlias = Callable[[Sequence[Violation]], Sequence[Violation]]
"""Makes violations smaller."""

_RANDOM_WORDS = frozenset(
    {"random", "default_rng", "rand", "randn", "randint", "shuffle", "choice", "secrets", "urandom", "uuid"}
)


@dataclass(eq=False)
class Setup:
    """A check on its way, and what it needs.

    A check that finds everything in its journal builds neither domain nor runner: then no module is imported, no input
    is looked at and no block is run.

    Attributes
    ----------
    check, observer
        What is asked, and who watches.
    violations
        The violations that were seen, where something was measured.
    """

    check: Check[Safety]
    observer: Observer = field(default_factory=Silent)
    violations: Violations = field(default_factory=Violations)
    began: float = field(default_factory=monotonic)
    _askers: list[Asker] = field(default_factory=list)

    @property
    def journal(self) -> Journal:
        """Where the steps are kept."""
        return self.check.journal

    @cached_property
    def subject(self) -> Subject:
        """What is known of the inputs."""
        pack = lambda: Subject.pack(self.check, self.domain, fresh=self.make is not None)  # noqa: E731
        return Subject.unpack(once(self.journal, "subject", pack))

    @cached_property
    def program(self) -> CompiledSpec:
        """What is computed."""
        return compile_spec(self.check.prop.spec, self.subject.random, self.subject.asking)

    @cached_property
    def evidence(self) -> RateEvidence:
        """How it is decided."""
        prop = self.check.prop
        return rate_evidence([item.rate for item in prop.spec.ensures], prop.eps, self.check.delta)

    @cached_property
    def finished(self) -> bool:
        """Whether every step is kept, so that nothing is measured any more."""
        return self.journal.recall(LAST) is not None

    @cached_property
    def _made(self) -> tuple[Domain, Callable[[Table], Domain] | None]:
        domain, make = domain_of(self.check)
        check_meaning(self.check.prop.spec, domain)
        return domain, make

    @property
    def domain(self) -> Domain:
        """The inputs; of an unlimited population some that show what they are like."""
        return self._made[0]

    @property
    def make(self) -> Callable[[Table], Domain] | None:
        """For an unlimited population, how inputs are made of what is drawn."""
        return self._made[1]

    @cached_property
    def inputs(self) -> Inputs:
        """Where inputs are drawn from."""
        return inputs_of(self.check, self.program, self.domain, self.make)

    @cached_property
    def runner(self) -> Runner:
        """Judges cases."""
        return self.new_runner()

    def new_runner(self, purpose: str | None = None) -> Runner:
        """Set the program up with the model; its answers are kept apart from all others where that has a purpose."""
        check, program = self.check, self.program
        if program.code is not None and not check.prop.allow_code:
            raise SpecError(
                f"the block is more than plain calls and arithmetic ({program.code.reason}), so it would be run as "
                "Python, which can do anything that you can do. Allow it with allow_code=True or --allow-code if you "
                "trust it",
                program.code.place or program.spec.block.place,
            )
        journal: Journal = check.journal if purpose is None else Apart(check.journal, purpose)
        asker = Asker(check.required_model, check.workers, journal)
        self._askers.append(asker)
        draws = program.code is not None and bool(program.code.reads & (self.subject.random | _RANDOM_WORDS))
        return Runner(program, asker, check.prop.seconds, draws)

    def compile(self) -> None:
        """Build what every check needs: a specification that cannot be computed is refused at once."""
        _ = self.program, self.evidence

    def prepare(self) -> None:
        """Build what drawing needs: inputs that cannot be drawn from are refused before anything is drawn."""
        _ = self.runner, self.inputs

    def seconds(self) -> float:
        """The time taken."""
        return monotonic() - self.began

    def summary(self, smaller: Smaller, *, interrupted: bool = False) -> ViolationSummary:
        """The last step: the violations that were seen, the smallest first; what was interrupted is not kept."""

        def measure() -> ViolationSummary:
            smallest = self.violations.ranked(SHOWN)
            shown = show_violations(self.runner, smaller(smallest))
            return self.violations.summary(shown, len(smallest))

        if interrupted and not self.finished:
            return measure()
        return ViolationSummary.unpack(once(self.journal, LAST, lambda: measure().pack()))

    def close(self) -> None:
        """Let go of what was needed for asking."""
        for asker in self._askers:
            asker.close()
