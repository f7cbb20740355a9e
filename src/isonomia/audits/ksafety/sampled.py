"""Random cases: drawing, settling.

Drawing random cases and putting them to the model.

The work of a sampled check: batches as counts, on which the bets are settled.

The step that draws random cases.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from time import monotonic

import numpy as np

from isonomia.audits.ksafety.cases import Cases, prepare
from isonomia.audits.ksafety.corners import budget_left, try_corners, with_corners
from isonomia.audits.ksafety.enumerated import complete
from isonomia.audits.ksafety.evaluate import SEEDS, Drawn
from isonomia.audits.ksafety.evidence import (
    Cells,
    Piece,
    RateEvidence,
    RateState,
    Totals,
    compared_share,
    drawn_share,
    piece_of,
)
from isonomia.audits.ksafety.inputs import Inputs
from isonomia.audits.ksafety.program import Program
from isonomia.audits.ksafety.runner import Judged, Runner
from isonomia.audits.ksafety.setup import INTERRUPTED, LARGE, Steps, pace_of
from isonomia.audits.ksafety.shrink import shrunk
from isonomia.audits.ksafety.verdict import Corners, Outcome
from isonomia.audits.ksafety.violations import Find, Findings, Seen
from isonomia.audits.verdicts import why_stopped
from isonomia.engine.budget import Budget
from isonomia.engine.journal import Entry, Keeping
from isonomia.engine.loop import Outcome as Ended
from isonomia.engine.loop import Plan, Schedule, run
from isonomia.engine.seeds import batch_rng
from isonomia.errors import DataError, SpecError
from isonomia.populations.domains import Domain
from isonomia.records.verdict import Expression

__all__ = ["Counted", "Reading", "Sampling", "Settling", "State", "draw_cases", "found_in_sample"]


SEARCH = 100_000
"""Draws without a single accepted case after which a precondition counts as one that nothing satisfies."""

MOST_DRAWS = 2**18
"""Draws that are made together."""


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """What one batch came to: judged cases in pieces, how many draws it took, and how many were turned away."""

    pieces: list[tuple[Judged, Cases, Domain]]
    draws: int
    rejected: int
    without_choice: int

    @property
    def tested(self) -> int:
        """How many cases were put to the model."""
        return sum(len(cases) for _, cases, _ in self.pieces)


@dataclass(frozen=True)
class Sampling:
    """Where random cases come from.

    Attributes
    ----------
    runner, inputs
        What is computed for each case, and where inputs come from.
    seed
        The seed of all randomness.
    until
        When to give up looking for cases that meet the preconditions, in the seconds of ``time.monotonic``.
    """

    runner: Runner
    inputs: Inputs
    seed: int
    until: float = float("inf")

    def measure(self, plan: Plan, draws: int | None = None) -> Reading:
        """Draw cases until enough meet the preconditions; a draw that does not meet them costs nothing but time.

        Parameters
        ----------
        plan
            The batch.
        draws
            How many draws it took, where it is measured once more: then it ends there, whatever the time.
        """
        rng = batch_rng(self.seed, plan.index, 0)
        reading = Reading([], 0, 0, 0)
        wanted, size, start = plan.n, plan.n, plan.start
        while wanted > 0:
            piece = self._draw(start, size, wanted, rng)
            reading = _joined(reading, piece)
            wanted = plan.n - reading.tested
            if self.inputs.finite or piece.draws == 0 or self._is_enough(reading, draws):
                break
            self._refuse_unmet(reading)
            size = _next_size(wanted, reading.tested, reading.draws)
            start += piece.draws
        return reading

    def _is_enough(self, reading: Reading, draws: int | None) -> bool:
        return monotonic() >= self.until if draws is None else reading.draws >= draws

    def _draw(self, start: int, size: int, wanted: int, rng: np.random.Generator) -> Reading:
        program = self.runner.program
        domain, rows = self.inputs.draw(start, size, len(program.spec.inputs), rng)
        n = len(rows[0])
        if n == 0:
            return Reading([], 0, 0, 0)
        supply = Drawn(rng)
        prepared = prepare(program, domain, rows, supply)
        seeds = rng.integers(0, SEEDS, size=n)
        rejected = int(np.count_nonzero(~prepared.accepted & ~prepared.empty))
        empty = int(np.count_nonzero(prepared.empty))
        surplus = np.flatnonzero(prepared.accepted)[wanted:]
        prepared.accepted[surplus] = False
        choices = (*supply.choices, seeds) if self.runner.draws else tuple(supply.choices)
        cases = Cases(rows, choices).take(np.flatnonzero(prepared.accepted))
        if not len(cases):
            return Reading([], n, rejected, empty)
        judged = self.runner.judged(prepared, self.runner.seeds(cases))
        return Reading([(judged, cases, domain)], n, rejected, empty)

    def _refuse_unmet(self, reading: Reading) -> None:
        if reading.tested == 0 and reading.draws >= SEARCH:
            requires = self.runner.program.spec.requires
            place = requires[0].place if requires else None
            raise SpecError(
                f"no case meets the preconditions: {reading.draws:,} draws found none ({reading.rejected:,} rejected, "
                f"{reading.without_choice:,} with nothing to choose from). Loosen what is required",
                place,
            )


def _joined(reading: Reading, piece: Reading) -> Reading:
    return Reading(
        reading.pieces + piece.pieces,
        reading.draws + piece.draws,
        reading.rejected + piece.rejected,
        reading.without_choice + piece.without_choice,
    )


def _next_size(wanted: int, tested: int, drawn: int) -> int:
    """As many draws as seem to be needed, from how many were accepted so far."""
    rate = (tested + 1) / (drawn + 1)
    return int(min(max(1.1 * wanted / rate + 16, 64), MOST_DRAWS))


@dataclass(frozen=True, slots=True)
class Counted:
    """What one batch came to, as numbers: all that the answer rests on.

    Attributes
    ----------
    index, start
        Which batch it is, and how many draws it comes after.
    draws, rejected, without_choice
        How many draws were made, and how many of them were turned away.
    pieces
        Its cases in pieces: what became of them, and the cells that bets are settled by.
    """

    index: int
    start: int
    draws: int
    rejected: int
    without_choice: int
    pieces: tuple[tuple[Piece, Cells], ...]


@dataclass(slots=True)
class State:
    """What all batches so far came to."""

    totals: Totals
    evidence: RateState


@dataclass(frozen=True)
class Settling:
    """A sampled check, as the engine's loop needs it.

    Attributes
    ----------
    program, evidence
        What must come out of a case, and the bets on the share of cases that violate.
    eps
        The share that is left open where nothing violates.
    stop_early
        Whether a violation ends it.
    sampling
        Gives what draws cases; called only where a batch is measured.
    seen, fresh
        Where violations are noted, ``None`` where nowhere; and whether every draw has inputs of its own, so that the
        same number means another input in the next one.
    again
        Whether batches that were kept are measured once more, from kept answers, for the violations in them.
    refuted
        Whether a case that was not drawn has settled it, so that a first batch is enough.
    """

    program: Program
    evidence: RateEvidence
    eps: float
    stop_early: bool
    sampling: Callable[[], Sampling]
    seen: Seen | None
    fresh: bool = False
    again: bool = False
    refuted: bool = False

    def begin(self) -> State:
        """Nothing seen."""
        return State(Totals(len(self.program.ensures)), self.evidence.begin())

    def measure(self, plan: Plan) -> Counted:
        """Draw cases, put them to the model, note violations, and count."""
        reading = self.sampling().measure(plan)
        self._note(reading)
        pieces = ((piece_of(one), self.evidence.cells(one.violates, one.failed)) for one, _, _ in reading.pieces)
        turned_away = reading.rejected, reading.without_choice
        return Counted(plan.index, plan.start, reading.draws, *turned_away, tuple(pieces))

    def _note(self, reading: Reading) -> None:
        if self.seen is not None:
            for judged, cases, domain in reading.pieces:
                self.seen.add(judged, cases, domain, fresh=self.fresh)

    def pack(self, batch: Counted) -> Entry:
        """The counts as plain values."""
        return {
            "index": batch.index,
            "start": batch.start,
            "draws": batch.draws,
            "rejected": batch.rejected,
            "without_choice": batch.without_choice,
            "pieces": [_packed(piece, cells) for piece, cells in batch.pieces],
        }

    def unpack(self, entry: Entry) -> Counted:
        """The counts again; what they rest on is measured once more where that is needed."""
        index, start = entry["index"], entry["start"]
        if self.again:
            self._note(self.sampling().measure(Plan(index, start, entry["n"], (1.0,)), entry["draws"]))
        pieces = tuple(map(_unpacked, entry["pieces"]))
        batch = Counted(index, start, entry["draws"], entry["rejected"], entry["without_choice"], pieces)
        if not self._is_possible(batch):
            raise DataError(
                f"expected numbers of cases that agree with each other, but those of batch {index} of the record do not"
            )
        return batch

    def _is_possible(self, batch: Counted) -> bool:
        """Whether the numbers of a batch can be those of any cases; not so where a record was changed."""
        counts = [batch.rejected, batch.without_choice]
        for piece, cells in batch.pieces:
            bad, failed, n = piece.by_ensures, piece.failed, piece.tested
            counts += [n, failed, piece.vacuous, *bad]
            if not max(bad) <= piece.violating <= min(n, sum(bad)) or max(failed, piece.vacuous) > n:
                return False
            if len(bad) != len(self.program.ensures) or not self.evidence.fits(n, bad, failed, cells):
                return False
        return min(counts) >= 0 and self.asked(batch) + batch.rejected + batch.without_choice <= batch.draws

    def absorb(self, state: State, batch: Counted) -> State:
        """Add up the batch and let the bets settle."""
        totals, evidence = state.totals, state.evidence
        totals.turned_away.rejected += batch.rejected
        totals.turned_away.without_choice += batch.without_choice
        for piece, cells in batch.pieces:
            totals.add(piece)
            evidence = self.evidence.settle(evidence, piece.tested, piece.by_ensures, piece.failed, cells)
        return State(totals, evidence)

    def shares(self, state: State) -> tuple[float, ...]:  # noqa: ARG002
        """One stream."""
        return (1.0,)

    def asked(self, batch: Counted) -> int:
        """How many cases were tested."""
        return sum(piece.tested for piece, _ in batch.pieces)

    def decided(self, state: State) -> bool:
        """Whether there is an answer, and no wish to go on counting."""
        return self.stop_early and (self.refuted or self.evidence.decision(state.evidence) is not None)

    def share(self, state: State) -> float:
        """How far the evidence has come."""
        return self.evidence.progress(state.evidence)

    def closing_in(self, state: State) -> str:
        """What is known, for a person who watches."""
        totals = state.totals
        return f"{totals.violating:,} violations in {totals.tested:,} cases"

    def compared(self, state: State) -> Expression | None:
        """The share of cases that violate the first ``ensures``."""
        share = drawn_share(state.totals, 0, self.evidence.delta)
        return compared_share(self.program.spec.ensures[0], share, None if state.totals.by_ensures[0] else self.eps)


def _packed(piece: Piece, cells: Cells) -> Entry:
    return {
        "tested": piece.tested,
        "violating": piece.violating,
        "by_ensures": list(piece.by_ensures),
        "failed": piece.failed,
        "vacuous": piece.vacuous,
        "reasons": [list(pair) for pair in piece.reasons],
        "bets": [[cell.tolist() for cell in side] for side in cells],
    }


def _unpacked(entry: Entry) -> tuple[Piece, Cells]:
    piece = Piece(
        entry["tested"],
        entry["violating"],
        tuple(entry["by_ensures"]),
        entry["failed"],
        entry["vacuous"],
        tuple((why, count) for why, count in entry["reasons"]),
    )
    holding, violating = (tuple(np.asarray(cell, dtype=float) for cell in side) for side in entry["bets"])
    return piece, (holding, violating)


def draw_cases(steps: Steps, before: int) -> Outcome:
    """Try corners and draw random cases until there is an answer; ``before`` cases of a sample were all tried already.

    What is drawn is the same whatever the corners come to. Where one of them violates, a first batch is drawn
    nevertheless: it tells how frequent violations are. Where the block is code, so that a case may take long, a corner
    that violates is the end.
    """
    try:
        corners = None if before else try_corners(steps)
    except KeyboardInterrupt:
        return _without_draws(steps, None, INTERRUPTED)
    refuted = corners is not None and corners.refuting
    if refuted and steps.program.code is not None:
        return _without_draws(steps, corners, "a corner violates it")
    ended = _paced(steps, budget_left(steps.request.budget, corners), refuted)
    totals = ended.state.totals
    tried = 0 if corners is None else corners.tried
    if not tried:
        _refuse_nothing(steps.program, totals, ended.reason)
    found = _found(steps, interrupted=ended.reason == INTERRUPTED)
    remark = (
        f"no case of these rows violates it: all {before:,} were tried. Of the population they are a sample, so that "
        f"{ended.samples:,} random cases were tried besides, which the answer rests on"
    )
    return Outcome(
        False if refuted else steps.evidence.decision(ended.state.evidence),
        totals,
        with_corners(found, corners),
        complete=False,
        tested=before + ended.samples + tried,
        stopped=why_stopped(ended.reason, "cases"),
        seconds=steps.seconds(),
        remarks=(remark,) if before else (),
        corners=corners,
    )


def _paced(steps: Steps, budget: Budget, refuted: bool) -> Ended[State]:
    request = replace(steps.request, budget=budget)
    coded = steps.program.code is not None
    schedule, limit = pace_of(request, steps.evidence, steps.subject.sample, coded=coded)
    return _drawn(steps, schedule, limit, request.prop.stop_early, noted=True, refuted=refuted)


def _without_draws(steps: Steps, corners: Corners | None, stopped: str) -> Outcome:
    """What is known where nothing was drawn: a corner has settled it, or somebody pressed Ctrl-C before."""
    found = with_corners(_found(steps, interrupted=corners is None), corners)
    totals = Totals(len(steps.program.ensures))
    answer, tried = (None, 0) if corners is None else (False, corners.tried)
    return Outcome(answer, totals, found, False, tried, stopped, steps.seconds(), corners=corners)


def _found(steps: Steps, *, interrupted: bool) -> Findings:
    """The violations that were drawn; the model is set up only where there is something to ask."""

    def smaller(finds: Sequence[Find]) -> list[tuple[Find, bool]]:
        return shrunk(steps.runner, finds)

    return steps.found(smaller, interrupted=interrupted)


def found_in_sample(steps: Steps, totals: Totals) -> Outcome:
    """A violation among the rows of a sample; how frequent they are elsewhere, one random case of each row tells."""
    ended = _drawn(steps, Schedule(first=LARGE, most=LARGE), Budget(), stop_early=False, noted=False)
    interrupted = ended.reason == INTERRUPTED
    found = complete(steps, totals, interrupted=interrupted)
    estimated = f"the share in the population is estimated from the {ended.samples:,} random cases, one of each row"
    counted = f"all {totals.tested:,} cases of these rows were tried, and {ended.samples:,} random ones besides"
    return replace(
        found,
        complete=False,
        tested=totals.tested + ended.samples,
        stopped=INTERRUPTED if interrupted else counted,
        remarks=(estimated,),
        drawn=ended.state.totals,
    )


def _drawn(
    steps: Steps, schedule: Schedule, budget: Budget, stop_early: bool, noted: bool, refuted: bool = False
) -> Ended[State]:
    """Draw batch after batch; ``noted`` where violations are wanted besides counts, ``refuted`` where one will do."""
    request, subject, until = steps.request, steps.subject, monotonic() + budget.seconds

    @cache
    def sampling() -> Sampling:
        return Sampling(steps.runner, steps.inputs, request.seed, until)

    if not steps.over:
        sampling()  # inputs that cannot be drawn from are refused before anything is drawn
    seen, again = steps.seen if noted else None, not steps.over
    work = Settling(
        steps.program,
        steps.evidence,
        request.prop.eps,
        stop_early,
        sampling,
        seen,
        subject.fresh,
        again=again,
        refuted=refuted,
    )
    keeping: Keeping[Counted] = Keeping(steps.journal, work.pack, work.unpack)
    available = subject.cases(len(steps.program.spec.inputs)) if subject.sample else float("inf")
    return run(work, schedule, budget, steps.observer, available=available, counted="cases", keeping=keeping)


def _refuse_nothing(program: Program, totals: Totals, reason: str) -> None:
    if totals.tested == 0 and reason == "exhausted":
        requires, away = program.spec.requires, totals.turned_away
        raise SpecError(
            f"no case meets the preconditions: {away.rejected:,} were rejected and {away.without_choice:,} had nothing "
            "to choose from. Loosen what is required",
            requires[0].place if requires else None,
        )
