"""The step that draws random cases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial
from time import monotonic

from isonomia.audits.ksafety.by_listing import complete
from isonomia.audits.ksafety.found import Find
from isonomia.audits.ksafety.pacing import LARGE, pace_of
from isonomia.audits.ksafety.program import Program
from isonomia.audits.ksafety.sampling import Sampling
from isonomia.audits.ksafety.settling import Counted, Settling, State
from isonomia.audits.ksafety.shrinking import shrink
from isonomia.audits.ksafety.steps import INTERRUPTED, REASONS, Steps
from isonomia.audits.ksafety.subject import inputs_of
from isonomia.audits.ksafety.tallies import Totals
from isonomia.audits.ksafety.verdicts import Outcome
from isonomia.engine.budget import Budget
from isonomia.engine.journal import Keeping
from isonomia.engine.loop import Outcome as Ended
from isonomia.engine.loop import run
from isonomia.engine.schedule import Schedule
from isonomia.errors import SpecError

__all__ = ["draw_cases", "found_in_sample"]

SHRUNK = 5
"""How many violations of a sampled check are shrunk."""


def draw_cases(steps: Steps, before: int) -> Outcome:
    """Draw random cases until there is an answer; ``before`` cases of a sample were all tried already."""
    request, subject, evidence = steps.request, steps.subject, steps.evidence
    schedule, budget = pace_of(request, evidence, subject.sample, coded=steps.program.code is not None)
    ended = _drawn(steps, schedule, budget, request.prop.stop_early, noted=True)
    totals = ended.state.totals
    _refuse_nothing(steps.program, totals, ended.reason)
    found = steps.found(partial(_shrunk, steps), interrupted=ended.reason == INTERRUPTED)
    remark = (
        f"no case of these rows violates it: all {before:,} were tried. Of the population they are a sample, so that "
        f"{ended.samples:,} random cases were tried besides, which the answer rests on"
    )
    return Outcome(
        evidence.decision(ended.state.evidence),
        totals,
        found,
        complete=False,
        tested=before + ended.samples,
        stopped=REASONS[ended.reason],
        seconds=steps.seconds(),
        remarks=(remark,) if before else (),
    )


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


def _drawn(steps: Steps, schedule: Schedule, budget: Budget, stop_early: bool, noted: bool) -> Ended[State]:
    """Draw batch after batch; ``noted`` where violations are wanted besides counts."""
    request, subject, until = steps.request, steps.subject, monotonic() + budget.seconds

    @cache
    def sampling() -> Sampling:
        inputs = inputs_of(request, steps.program, steps.bench.domain, steps.bench.make)
        return Sampling(steps.runner, inputs, request.seed, until)

    if not steps.over:
        sampling()  # inputs that cannot be drawn from are refused before anything is drawn
    seen, again = steps.seen if noted else None, not steps.over
    work = Settling(
        steps.program, steps.evidence, request.prop.eps, stop_early, sampling, seen, subject.fresh, again=again
    )
    keeping: Keeping[Counted] = Keeping(steps.journal, work.pack, work.unpack)
    available = subject.cases(len(steps.program.spec.inputs)) if subject.sample else float("inf")
    return run(work, schedule, budget, steps.observer, available=available, counted="cases", keeping=keeping)


def _shrunk(steps: Steps, finds: Sequence[Find]) -> list[tuple[Find, bool]]:
    tried = [shrink(steps.runner, find) if place < SHRUNK else (find, False) for place, find in enumerate(finds)]
    return sorted(tried, key=lambda item: item[0].cost)


def _refuse_nothing(program: Program, totals: Totals, reason: str) -> None:
    if totals.tested == 0 and reason == "exhausted":
        requires, away = program.spec.requires, totals.turned_away
        raise SpecError(
            f"no case meets the preconditions: {away.rejected:,} were rejected and {away.without_choice:,} had nothing "
            "to choose from. Loosen what is required",
            requires[0].place if requires else None,
        )
