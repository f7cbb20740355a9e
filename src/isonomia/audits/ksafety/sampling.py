"""Drawing random cases until there is an answer.

A batch is kept as counts, which is all that the answer rests on. Where it had to be drawn in several pieces, because
preconditions rejected some draws, the bets are settled piece by piece.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from time import monotonic

import numpy as np

from isonomia.audits.ksafety.blocks import MAX_THREADS
from isonomia.audits.ksafety.cases import CaseResults, Cases, prepare
from isonomia.audits.ksafety.edge_cases import COSTLY_BATCH, EdgeCases, budget_left, try_edge_cases, with_edge_cases
from isonomia.audits.ksafety.evaluate import SEEDS, RandomChoices
from isonomia.audits.ksafety.evidence import (
    PAIRS,
    CaseEvidenceState,
    CaseTally,
    Share,
    beyond_noise,
    compared_share,
    drawn_share,
)
from isonomia.audits.ksafety.setup import INTERRUPTED, SafetySetup
from isonomia.audits.ksafety.shrinking import shrink_all
from isonomia.audits.ksafety.violations import Violation, ViolationSummary
from isonomia.audits.people import UNLIMITED
from isonomia.audits.verdicts import why_stopped
from isonomia.engine.loop import Outcome, Plan, Schedule, run
from isonomia.engine.parameters import Budget, batch_rng
from isonomia.errors import UsageError
from isonomia.models.meter import current_meter
from isonomia.records.journal import Entry
from isonomia.records.verdict import Expression

SEARCH = 100_000
"""After this many draws without an accepted case, a precondition counts as unsatisfiable."""

MAX_DRAWS = 2**18
"""The maximum number of draws made at once."""

MAX_BATCH = 2**16
"""The largest batch of random cases."""

RESERVE = 0.1
"""The share of a query budget that is left for shrinking and showing violations. It limits how many cases are drawn."""


@dataclass(frozen=True, slots=True)
class SafetyOutcome:
    """How a check ended.

    Attributes
    ----------
    answer
        ``True`` for holds, ``False`` for violated, ``None`` for undecided.
    tally, summary
        The counts, and the summary of the violations.
    complete
        Whether every case was tried.
    tested
        How many cases were sent to the model in all: those in ``tally``, and others.
    stopped, seconds
        Why it stopped, and how long it took.
    remarks
        What else a reader should know.
    drawn
        The random cases from which shares are estimated, where they are not those of ``tally``.
    edge_cases
        The result of the edge cases, where some were tried.
    failures
        Why cases outside ``tally`` failed, and how many: known counterexamples, edge cases, and the cases of a sample's
        rows.
    beyond
        For a claim beyond noise, how much more often answers change than when the same question is repeated.
    """

    answer: bool | None
    tally: CaseTally
    summary: ViolationSummary
    complete: bool
    tested: int
    stopped: str
    seconds: float
    remarks: tuple[str, ...] = ()
    drawn: CaseTally | None = None
    edge_cases: EdgeCases | None = None
    failures: Mapping[str, int] = field(default_factory=dict)
    beyond: Share | None = None

    def with_failures(self, failures: Mapping[str, int]) -> SafetyOutcome:
        """The same outcome with further failed cases: whatever step they come from, they count against *holds*."""
        if not failures:
            return self
        outcome = replace(self, failures=Counter(self.failures) + Counter(failures))
        return replace(outcome, answer=None, stopped="a case failed") if self.answer is True else outcome

    @property
    def refuted(self) -> bool:
        """Whether an edge case violates what must always be true."""
        return self.edge_cases is not None and self.edge_cases.refuting

    @property
    def estimating(self) -> CaseTally:
        """What shares are estimated from."""
        return self.tally if self.drawn is None else self.drawn


@dataclass(slots=True)
class SampledBatch:
    """The result of one batch, as numbers.

    Attributes
    ----------
    index, start
        Which batch it is, and how many draws came before it.
    draws, rejected, without_choice
        How many draws were made, and how many of them were rejected or had nothing to choose from.
    pieces
        What became of its cases, piece by piece.
    """

    index: int
    start: int
    draws: int = 0
    rejected: int = 0
    without_choice: int = 0
    pieces: list[CaseTally] = field(default_factory=list)

    @property
    def tested(self) -> int:
        """How many cases were sent to the model."""
        return sum(piece.tested for piece in self.pieces)

    def pack(self) -> Entry:
        """The counts as plain values."""
        return {
            "index": self.index,
            "start": self.start,
            "draws": self.draws,
            "rejected": self.rejected,
            "without_choice": self.without_choice,
            "pieces": [piece.pack(weighed=False) for piece in self.pieces],
        }

    @classmethod
    def unpack(cls, entry: Entry) -> SampledBatch:
        """The batch that was packed."""
        counts = {name: entry[name] for name in ("index", "start", "draws", "rejected", "without_choice")}
        return cls(**counts, pieces=[CaseTally.unpack(piece) for piece in entry["pieces"]])


@dataclass(frozen=True)
class SampledCases:
    """A sampled check, as the engine's loop needs it.

    Attributes
    ----------
    setup
        The check; what measuring needs is built only where a batch is measured.
    until
        When to give up looking for cases that meet the preconditions, in the seconds of ``time.monotonic``.
    stop_early
        Whether a violation ends it.
    noted
        Whether violations are kept, not just counted.
    refuted
        Whether an edge case has already refuted the property, so that a first batch is enough.
    """

    setup: SafetySetup
    until: float = inf
    stop_early: bool = True
    noted: bool = True
    refuted: bool = False

    def begin(self) -> CaseEvidenceState:
        """Nothing seen."""
        return self.setup.evidence.begin()

    def measure(self, plan: Plan) -> SampledBatch:
        """Draw cases, put them to the model, note violations, and count."""
        batch, judgements = self.draw(plan)
        self._note(judgements)
        return batch

    def draw(self, plan: Plan, draws: int | None = None) -> tuple[SampledBatch, list[CaseResults]]:
        """Draw cases until enough meet the preconditions; a draw that does not meet them costs nothing but time.

        Where a batch is measured again, ``draws`` is how many draws it took: it ends there, whatever the time.
        """
        batch, rng = SampledBatch(plan.index, plan.start), batch_rng(self.setup.check.seed, plan.index, 0)
        judgements: list[CaseResults] = []
        size = plan.n
        while True:
            before = batch.draws
            judgements += self._judge_piece(batch, size, plan.n - batch.tested, rng)
            if self.setup.subject.sample or batch.draws == before or self._is_enough(batch, draws):
                break
            self._refuse_unmet(batch)
            if batch.tested >= plan.n:
                break
            size = _next_size(plan.n - batch.tested, batch.tested, batch.draws)
        return batch, judgements

    def _is_enough(self, batch: SampledBatch, draws: int | None) -> bool:
        return monotonic() >= self.until if draws is None else batch.draws >= draws

    def _judge_piece(self, batch: SampledBatch, size: int, wanted: int, rng: np.random.Generator) -> list[CaseResults]:
        """Draw once, and judge the accepted cases, but no more than are requested; at most one judgement."""
        setup, runner = self.setup, self.setup.runner
        domain, rows = setup.inputs.draw(batch.start + batch.draws, size, len(runner.program.spec.inputs), rng)
        if not len(rows[0]):
            return []
        drawn = RandomChoices(rng)
        prepared = prepare(runner.program, domain, rows, drawn)
        seeds = rng.integers(0, SEEDS, size=len(rows[0]))
        cases = Cases(rows, (*drawn.choices, seeds) if runner.draws else tuple(drawn.choices))
        batch.draws += len(cases)
        batch.rejected += prepared.rejected
        batch.without_choice += prepared.without_choice
        prepared.accepted[np.flatnonzero(prepared.accepted)[wanted:]] = False
        judgement = runner.judge(prepared, cases.take(np.flatnonzero(prepared.accepted)))
        if not len(judgement.cases):
            return []
        cells = setup.evidence.cells(judgement.violates, judgement.failed)
        batch.pieces.append(judgement.tally(cells))
        return [judgement]

    def _refuse_unmet(self, batch: SampledBatch) -> None:
        if batch.tested == 0 and batch.draws >= SEARCH:
            raise self.setup.program.no_case(
                f"{batch.draws:,} draws found none ({batch.rejected:,} rejected, {batch.without_choice:,} with nothing "
                "to choose from)"
            )

    def _note(self, judgements: Sequence[CaseResults]) -> None:
        if self.noted:
            for judgement in judgements:
                self.setup.violations.add(self.setup.program, judgement, fresh=self.setup.subject.fresh)

    def pack(self, batch: SampledBatch) -> Entry:
        """A batch as the journal keeps it."""
        return batch.pack()

    def unpack(self, entry: Entry) -> SampledBatch:
        """A batch that was kept; until the whole check is kept, it is measured again for its violations."""
        batch = SampledBatch.unpack(entry)
        if not self.setup.finished:
            with current_meter().untimed():  # it took its time when it was measured first
                self._note(self.draw(Plan(batch.index, batch.start, entry["n"], (1.0,)), batch.draws)[1])
        return batch

    def absorb(self, state: CaseEvidenceState, batch: SampledBatch) -> CaseEvidenceState:
        """Add up the batch and let the bets settle."""
        for piece in batch.pieces:
            state = self.setup.evidence.settle(state, piece)
        tally = state.tally
        if tally.pairs and tally.tested > tally.failed and not sum(tally.pairs[k] for k in range(PAIRS) if k % 5 < 4):
            raise UsageError(
                "expected answers that can be compared, but the model never gave the same one twice about the same "
                f"record, in {tally.tested:,} cases: say which differences do not count, as tolerance=0.1 of "
                "safety.flips(...), or `ensures abs(d1 - d2) <= 0.1 up to noise + 0.02;`"
            )
        rejected, without_choice = tally.rejected + batch.rejected, tally.without_choice + batch.without_choice
        return replace(state, tally=replace(tally, rejected=rejected, without_choice=without_choice))

    def shares(self, state: CaseEvidenceState) -> tuple[float, ...]:  # noqa: ARG002
        """One stream."""
        return (1.0,)

    def asked(self, batch: SampledBatch) -> int:
        """How many cases were tested."""
        return batch.tested

    def decided(self, state: CaseEvidenceState) -> bool:
        """Whether there is an answer, and the check stops early."""
        return self.stop_early and (self.refuted or self.setup.evidence.decision(state) is not None)

    def share(self, state: CaseEvidenceState) -> float:
        """How far the evidence has come."""
        return self.setup.evidence.progress(state)

    def progress_text(self, state: CaseEvidenceState) -> str:
        """The counts so far, for the progress display."""
        return f"{state.tally.violating:,} violations in {state.tally.tested:,} cases"

    def compared(self, state: CaseEvidenceState) -> Expression | None:
        """The share of cases that violate the first ``ensures``."""
        evidence = self.setup.evidence
        share = drawn_share(state.tally, 0, evidence.delta)
        if evidence.noise is not None:
            share = beyond_noise(evidence, state, rough=True)
        eps = None if state.tally.by_ensures[0] else self.setup.check.prop.eps
        return compared_share(self.setup.program.spec.ensures[0], share, eps)


def _next_size(wanted: int, tested: int, drawn: int) -> int:
    """How many draws seem to be needed, given how many were accepted so far."""
    rate = (tested + 1) / (drawn + 1)
    return int(min(max(1.1 * wanted / rate + 16, 64), MAX_DRAWS))


def draw_cases(setup: SafetySetup, listed: CaseTally | None) -> SafetyOutcome:
    """Try edge cases and draw random cases until there is an answer; ``listed`` is the tally of all cases of a sample.

    The draws are the same whatever the edge cases show. Where an edge case violates, a first batch is drawn
    nevertheless, to show how frequent violations are; but where a case is costly the check ends there.
    """
    try:
        edge_cases = try_edge_cases(setup) if listed is None else None
    except KeyboardInterrupt:
        return _without_draws(setup, None, INTERRUPTED)
    refuted = edge_cases is not None and edge_cases.refuting
    if refuted and setup.costly:
        return _without_draws(setup, edge_cases, "an edge case violates it")
    schedule, budget = _pace(setup, budget_left(setup.check.budget, edge_cases))
    work = SampledCases(setup, monotonic() + budget.seconds, setup.check.prop.stop_early, refuted=refuted)
    ended = _run(work, schedule, budget)
    tally = ended.state.tally
    tried = 0 if edge_cases is None else edge_cases.tried
    if not tried:
        _refuse_nothing(setup, tally, ended.reason)
    summary = _summary(setup, interrupted=ended.reason == INTERRUPTED)
    before = 0 if listed is None else listed.tested
    remark = (
        f"no case of these rows violates it: all {before:,} were tried. They are a sample of the population, so "
        f"{ended.samples:,} random cases were tried in addition, and the answer is based on them"
    )
    outcome = SafetyOutcome(
        False if refuted else setup.evidence.decision(ended.state),
        tally,
        with_edge_cases(summary, edge_cases),
        complete=False,
        tested=before + ended.samples + tried,
        stopped=why_stopped(ended.reason),
        seconds=setup.seconds(),
        remarks=(remark,) if before else (),
        edge_cases=edge_cases,
        beyond=None if setup.evidence.noise is None else beyond_noise(setup.evidence, ended.state),
    )
    return outcome.with_failures({} if edge_cases is None else edge_cases.reasons).with_failures(
        {} if listed is None else listed.why_failed
    )


def _pace(setup: SafetySetup, budget: Budget) -> tuple[Schedule, Budget]:
    """How large batches are, and when to stop at the latest.

    Bets on shares need many small batches to learn from. Without bets there is nothing to learn: cases come in large
    batches, exactly as many as are needed. A finite number of rows is a limit by itself. Where the block is code, a
    case may take long, as ten games do: batches start small then, so that an early violation ends the check early.
    """
    check, evidence, coded = setup.check, setup.evidence, setup.program.code is not None
    if evidence.bets is not None:
        limit = budget if budget != Budget() else Budget(samples=UNLIMITED)
        return replace(check.schedule, first=64, most=MAX_BATCH), limit
    wanted = float(evidence.needed) if budget.samples == inf and not setup.subject.sample else budget.samples
    first = int(min(MAX_BATCH, wanted, evidence.needed if check.prop.stop_early else wanted))
    largest = MAX_THREADS if coded else MAX_BATCH
    if setup.costly and check.prop.stop_early:
        first = min(first, COSTLY_BATCH)
    schedule = Schedule(first=max(min(first, largest), 1), growth=2.0, early=2.0, most=largest)
    return schedule, replace(budget, samples=wanted)


def _run(work: SampledCases, schedule: Schedule, budget: Budget) -> Outcome[CaseEvidenceState]:
    """Draw batch after batch."""
    setup = work.setup
    if not setup.finished:
        setup.prepare()
    inputs = len(setup.program.spec.inputs)
    available = setup.subject.cases(inputs) if setup.subject.sample else inf
    schedule = schedule.along([rows // inputs for rows in setup.subject.population.get("looks", ())])
    return run(
        work,
        schedule,
        budget,
        setup.observer,
        available=available,
        counted="cases",
        journal=setup.journal,
        rows=setup.program.k or 1,
        reserve=RESERVE,
        first=setup.program.code is None,
    )


def _refuse_nothing(setup: SafetySetup, tally: CaseTally, reason: str) -> None:
    if tally.tested == 0 and reason == "exhausted":
        raise setup.program.no_case(
            f"{tally.rejected:,} were rejected and {tally.without_choice:,} had nothing to choose from"
        )


def _without_draws(setup: SafetySetup, edge_cases: EdgeCases | None, stopped: str) -> SafetyOutcome:
    """The outcome without draws: an edge case decided it, or Ctrl-C was pressed before."""
    summary = with_edge_cases(_summary(setup, interrupted=edge_cases is None), edge_cases)
    tally = CaseTally.empty(len(setup.program.ensures))
    answer, tried = (None, 0) if edge_cases is None else (False, edge_cases.tried)
    return SafetyOutcome(answer, tally, summary, False, tried, stopped, setup.seconds(), edge_cases=edge_cases)


def _summary(setup: SafetySetup, *, interrupted: bool) -> ViolationSummary:
    """The violations among the draws; the model is set up only where it has to be queried.

    Those of a model that answers at random are not made smaller: among many changes, one would violate by chance.
    """

    def smaller(violations: Sequence[Violation]) -> list[Violation]:
        unchanged = setup.check.random_model or not setup.check.prop.shrink
        return list(violations) if unchanged else shrink_all(setup.runner, violations)

    return setup.summary(smaller, interrupted=interrupted)


def draw_each_row(setup: SafetySetup) -> Outcome[CaseEvidenceState]:
    """One random case of each row of a sample, however many violate."""
    work = SampledCases(setup, stop_early=False, noted=False)
    return _run(work, Schedule(first=MAX_BATCH, most=MAX_BATCH), Budget())
