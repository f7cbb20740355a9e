"""What a check needs for measuring, built on demand: inputs, program, runner.

Each step of a check is kept in the journal as numbers, and the answer is computed from what is kept. Until the last
step, the violations, is kept, a check that resumes from its journal repeats the steps before it, to find the violations
that numbers alone do not show. The model's answers are kept as well, so it is not queried again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from math import inf
from threading import Event
from time import monotonic
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.ksafety.cases import CaseRunner, prepare, recorded_session
from isonomia.audits.ksafety.compiler import CompiledSpec, check_meaning, compile_spec
from isonomia.audits.ksafety.evaluate import GivenChoices, OpenChoiceError
from isonomia.audits.ksafety.evidence import CaseEvidence, noise_claim, rate_evidence
from isonomia.audits.ksafety.functions import RANDOM
from isonomia.audits.ksafety.imports import ignored_functions, imported_functions
from isonomia.audits.ksafety.violations import SHOWN, Violation, Violations, ViolationSummary, show_violations
from isonomia.audits.ksafety.workers import CaseContext, CaseWorkers
from isonomia.audits.protocol import Check
from isonomia.audits.verdicts import stated_looks
from isonomia.engine.parameters import NullObserver, Observer, root
from isonomia.errors import SpecError, UsageError
from isonomia.executors import TaskContext
from isonomia.models.meter import current_meter
from isonomia.models.session import answers_from_outside
from isonomia.populations.causal import Abducted
from isonomia.populations.domains import Domain
from isonomia.populations.domains.protocol import DomainFacts, ExtendedDomain, as_function, is_domain
from isonomia.populations.domains.tables import table_domain
from isonomia.populations.finite import Census, Sample
from isonomia.populations.protocol import Source, fingerprint_if_any
from isonomia.populations.table import Table
from isonomia.records.journal import Entry, Journal, NamespacedJournal, once
from isonomia.spec.safety import Safety

INTERRUPTED = "interrupted"
"""Why a check stopped that was ended with Ctrl-C."""

LAST = "found"
"""The journal key of the last step."""

PILOTS = 64
"""Draws that show what an unlimited population has."""

Smaller: TypeAlias = Callable[[Sequence[Violation]], Sequence[Violation]]
"""Makes violations smaller."""

Chosen: TypeAlias = tuple[Domain, tuple[NDArray[np.intp], ...]]
"""A domain, and for each input of the specification, which of the domain's inputs each case has."""

_RANDOM_WORDS = frozenset(
    {"random", "default_rng", "rand", "randn", "randint", "shuffle", "choice", "secrets", "urandom", "uuid"}
)


@dataclass(eq=False)
class SafetySetup:
    """A running check, and what it needs.

    A check that finds everything in its journal builds neither domain nor runner: then no module is imported, no input
    is looked at and no block is run.

    Attributes
    ----------
    check, observer
        What to decide, and the observer of progress.
    violations
        The violations seen, where something was measured.
    """

    check: Check[Safety]
    observer: Observer = field(default_factory=NullObserver)
    violations: Violations = field(default_factory=Violations)
    began: float = field(default_factory=monotonic)
    _workers_off: Event = field(default_factory=Event)

    @property
    def journal(self) -> Journal:
        """Where the steps are kept."""
        return self.check.journal

    @cached_property
    def subject(self) -> SafetyInputs:
        """The facts about the inputs."""

        def pack() -> Entry:
            return SafetyInputs.pack(self.check, self.domain, fresh=self.make is not None)

        return SafetyInputs.unpack(once(self.journal, "subject", pack))

    @cached_property
    def program(self) -> CompiledSpec:
        """What is computed."""
        subject = self.subject
        return compile_spec(self.check.prop.spec, subject.random, subject.asking, subject.own)

    @property
    def costly(self) -> bool:
        """Whether a case is slow or costly: where the block is code, it may take long, as ten games do."""
        return self.program.code is not None or self.subject.costly

    @cached_property
    def evidence(self) -> CaseEvidence:
        """How it is decided."""
        prop = self.check.prop
        ensures = prop.spec.ensures
        return rate_evidence([item.rate for item in ensures], prop.eps, self.check.delta, noise_claim(ensures))

    @cached_property
    def finished(self) -> bool:
        """Whether every step is kept, so that nothing is left to measure."""
        return self.journal.recall(LAST) is not None

    @cached_property
    def _made(self) -> tuple[Domain, Callable[[Table], Domain] | None]:
        domain, make = _domain_of(self.check)
        check_meaning(self.check.prop.spec, domain)
        return domain, make

    @property
    def domain(self) -> Domain:
        """The inputs; for an unlimited population, a few examples of them."""
        return self._made[0]

    @property
    def make(self) -> Callable[[Table], Domain] | None:
        """For an unlimited population, what makes inputs from a drawn table."""
        return self._made[1]

    @cached_property
    def inputs(self) -> Inputs:
        """Where inputs come from: a census with replacement, each row of a sample once, anything else without end."""
        population, seed, domain = self.check.population, root(self.check.seed), self.domain
        if self.make is not None:
            return FreshInputs(population.open(seed), self.make)
        if isinstance(population, Sample):
            order = population.positions(seed)
            return FiniteInputs(domain, np.arange(domain.size) if order is None else order, once=True)
        rows = worth_drawing(self.runner, domain)
        if not len(rows):
            raise self.program.no_case(f"each of the {domain.size:,} inputs is rejected")
        return FiniteInputs(domain, rows, once=False)

    @cached_property
    def runner(self) -> CaseRunner:
        """Judges cases."""
        return self.new_runner()

    def new_runner(self, purpose: str | None = None) -> CaseRunner:
        """Set up the program with the model; with a ``purpose``, its answers are kept apart from all others."""
        check, program = self.check, self.program
        if program.code is not None and not check.prop.allow_code:
            raise SpecError(
                f"the block is more than plain calls and arithmetic ({program.code.reason}), so it would be run as "
                "Python, which can do anything that you can do. Allow it with allow_code=True or --allow-code if you "
                "trust it",
                program.code.place or program.spec.block.place,
                name="allow_code",
            )
        journal: Journal = check.journal if purpose is None else NamespacedJournal(check.journal, purpose)
        session = None if check.model is None else recorded_session(check.model, self.domain, journal)
        return CaseRunner(program, session, check.prop.seconds, self._draws, self._workers, check.random_model)

    @property
    def _draws(self) -> bool:
        """Whether the block is code that draws random numbers."""
        code = self.program.code
        return code is not None and bool(code.reads & (self.subject.random | _RANDOM_WORDS))

    @cached_property
    def _workers(self) -> CaseWorkers | None:
        """Workers that judge whole cases; ``None`` without workers, or if they share this process.

        A user's function may not be thread-safe, and threads would gain nothing. Cases of a specification that queries
        the model stay here, and the workers answer for the model alone; so do cases of an unlimited population, whose
        inputs are drawn here.
        """
        pool = self.check.pool
        if pool is None or pool.executing.here or self.make is not None or self.program.asks:
            return None
        runner = CaseRunner(self.program, None, self.check.prop.seconds, self._draws)
        return CaseWorkers(pool, TaskContext(CaseContext(runner, self.domain), "the specification"))

    def compile(self) -> None:
        """Build what every check needs, so that a specification that cannot be computed is refused at once."""
        _ = self.program, self.evidence
        if self.check.model is None and self.program.asks:
            raise UsageError(
                "expected a model, since the block queries it, but got none: give one, or let the imported module "
                "offer `predict`",
                name="model",
            )

    def prepare(self) -> None:
        """Build what drawing needs, so that inputs that cannot be drawn from are refused before anything is drawn."""
        _ = self.runner, self.inputs

    def seconds(self) -> float:
        """The time taken."""
        return monotonic() - self.began

    def summary(self, smaller: Smaller, *, interrupted: bool = False) -> ViolationSummary:
        """The last step: the violations seen, the smallest first; it is not kept where the check was interrupted."""

        def measure() -> ViolationSummary:
            smallest = self.violations.ranked(SHOWN)
            with current_meter().further():
                shown, tried = show_violations(self.runner, smaller(smallest))
            if smallest and not tried and self.violations.first is not None:
                shown, tried = [self.violations.first], 1
            return self.violations.summary(shown, tried, list(self.program.finals))

        if interrupted and not self.finished:
            # A check that resumes asks other questions here: these answers must not be taken for theirs.
            if self.runner.session is not None:
                self.runner.session.stop_recording()
            return measure()
        return ViolationSummary.unpack(once(self.journal, LAST, lambda: measure().pack()))

    def close(self) -> None:
        """Close the session with the model."""
        if self.check.model is not None:
            self.check.model.close()


@dataclass(frozen=True, slots=True)
class SafetyInputs:
    """The facts about the inputs of a check.

    Attributes
    ----------
    population
        What a verdict states of them: kind, size, fingerprint.
    assumptions
        What an answer about them rests on, in words.
    sample
        Whether they are draws from a larger population, each used once.
    fresh
        Whether new ones can be drawn without end.
    random, asking, own
        The functions that draw random numbers; those that query the model; and those of the user that do not draw.
    ignored
        Functions of the imports whose name is one of the language, which keeps its own meaning.
    costly
        Whether queries are slow or costly: those of services, language models and programs, and with a budget of them.
    """

    population: Mapping[str, Any]
    assumptions: tuple[str, ...]
    sample: bool
    fresh: bool
    random: frozenset[str]
    asking: frozenset[str]
    own: frozenset[str]
    ignored: tuple[str, ...] = ()
    costly: bool = False

    def cases(self, inputs: int) -> float:
        """How many cases a sample has, where each row is used once."""
        return float(self.population["size"] // inputs)

    @staticmethod
    def pack(check: Check[Safety], domain: Domain, *, fresh: bool) -> Entry:
        """The facts about the inputs of a check, as plain values."""
        functions = domain.functions
        random = {name for name, function in functions.items() if function.random}
        brought = {name for name, function in functions.items() if function.single or name in check.prop.functions}
        return {
            "population": _stated(check.population, domain),
            "assumptions": [] if is_domain(check.population) else list(check.population.assumptions),
            "sample": isinstance(check.population, Sample),
            "fresh": fresh,
            "random": sorted(RANDOM | random),
            "asking": sorted(name for name, function in functions.items() if function.asks),
            "own": sorted(brought - random),
            "ignored": ignored_functions(check.prop, functions) if check.prop.spec.imports else [],
            "costly": check.budget.queries < inf or (check.model is not None and answers_from_outside(check.model)),
        }

    @classmethod
    def unpack(cls, entry: Entry) -> SafetyInputs:
        """What was packed."""
        sets = {key: frozenset(entry[key]) for key in ("random", "asking", "own")}
        return cls(**{**entry, **sets, **{key: tuple(entry.get(key, ())) for key in ("assumptions", "ignored")}})


def _stated(population: Any, domain: Domain) -> dict[str, Any]:
    if not is_domain(population):
        stated = {"kind": population.kind, "size": population.size, "fingerprint": population.fingerprint()}
        return stated | stated_looks(population)
    stated = {"kind": "domain", "size": domain.size, "name": domain.name, "what": DomainFacts.of(domain).what}
    fingerprint = fingerprint_if_any(population)
    return stated if fingerprint is None else stated | {"fingerprint": fingerprint}


def _domain_of(check: Check[Safety]) -> tuple[Domain, Callable[[Table], Domain] | None]:
    """The domain, and for an unlimited population, what makes one from each batch."""
    prop, population = check.prop, check.population
    functions = {name: as_function(value) for name, value in prop.functions.items()}
    if prop.spec.imports:
        functions |= imported_functions(prop, functions, population, has_model=check.model is not None)
    if is_domain(population):
        if prop.groups or prop.orders or prop.label:
            raise UsageError("expected groups, orders and label from the domain itself: leave them out", name="groups")
        domain: Any = population
        own = {name: as_function(value) for name, value in domain.functions.items()}
        if functions or any(own[name] is not domain.functions[name] for name in own):
            domain = ExtendedDomain(domain, {**own, **functions})
        return domain, None
    make = partial(table_domain, groups=prop.groups, orders=prop.orders, label=prop.label, functions=functions)
    if isinstance(population, Sample | Census):
        return make(population.table), None
    if isinstance(population, Abducted):
        raise UsageError(
            "a k-safety property makes its own changes, so it cannot use a causal model: "
            "give only the people, as Sample(table) or Census(table)",
            name="population",
        )
    if len(population.streams) != 1:
        raise UsageError("a k-safety property needs one stream of people, but this population has several")
    return make(population.open(root(0)).batch(0, PILOTS, np.random.default_rng(0))), make


@dataclass(frozen=True, slots=True, eq=False)
class FiniteInputs:
    """Some inputs of a domain: drawn uniformly and independently, or each for one case, in this order."""

    domain: Domain
    rows: NDArray[np.intp]
    once: bool

    def draw(self, start: int, n: int, k: int, rng: np.random.Generator) -> Chosen:
        """The inputs of ``n`` cases with ``k`` inputs each, after ``start`` earlier cases."""
        if not self.once:
            return self.domain, tuple(self.rows[rng.integers(0, len(self.rows), size=n)] for _ in range(k))
        taken = self.rows[start * k : (start + n) * k]
        whole = taken[: len(taken) // k * k].reshape(-1, k)
        return self.domain, tuple(whole[:, column] for column in range(k))


@dataclass(frozen=True, slots=True, eq=False)
class FreshInputs:
    """Each case has new inputs from an unlimited population."""

    source: Source
    domain_of: Callable[[Table], Domain]

    def draw(self, start: int, n: int, k: int, rng: np.random.Generator) -> Chosen:
        """Draw a table and make a domain of it."""
        domain = self.domain_of(self.source.batch(start * k, n * k, rng))
        numbers = np.arange(n * k).reshape(n, k)
        return domain, tuple(numbers[:, column].astype(np.intp) for column in range(k))


Inputs: TypeAlias = FiniteInputs | FreshInputs


def worth_drawing(runner: CaseRunner, domain: Domain) -> NDArray[np.intp]:
    """The inputs that are not certain to be rejected.

    Drawing from these only, and rejecting as before, gives every accepted case the same probability as drawing from
    all inputs would: what is left out could never have been accepted.
    """
    everyone = np.arange(domain.size, dtype=np.intp)
    if len(runner.program.spec.inputs) > 1:
        return everyone
    try:
        return everyone[prepare(runner.program, domain, (everyone,), GivenChoices(())).accepted]
    except OpenChoiceError as choice:
        possible = ~choice.rejected
        if choice.kind == "whole":
            possible &= np.ceil(choice.low) <= np.floor(choice.high)
        return everyone[possible]
