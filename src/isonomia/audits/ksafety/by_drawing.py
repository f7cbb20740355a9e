"""The step that draws random cases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from time import monotonic

from isonomia.audits.ksafety.by_corners import budget_left, try_corners, with_corners
from isonomia.audits.ksafety.by_listing import complete
from isonomia.audits.ksafety.cornered import Corners
from isonomia.audits.ksafety.found import Find
from isonomia.audits.ksafety.pacing import LARGE, pace_of
from isonomia.audits.ksafety.program import Program
from isonomia.audits.ksafety.sampling import Sampling
from isonomia.audits.ksafety.seen import Findings
from isonomia.audits.ksafety.settling import Counted, Settling, State
from isonomia.audits.ksafety.shrinking import shrunk
from isonomia.audits.ksafety.steps import INTERRUPTED, Steps
from isonomia.audits.ksafety.tallies import Totals
from isonomia.audits.ksafety.verdicts import Outcome
from isonomia.audits.stating import why_stopped
from isonomia.engine.budget import Budget
from isonomia.engine.journal import Keeping
from isonomia.engine.loop import Outcome as Ended
from isonomia.engine.loop import run
from isonomia.engine.schedule import Schedule
from isonomia.errors import SpecError

__all__ = ["draw_cases", "found_in_sample"]


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
