"""The step that tries every case, where there are few enough."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from isonomia.audits.ksafety.cases import Counts
from isonomia.audits.ksafety.exact import Listed, exact_answer, list_cases, try_every_case
from isonomia.audits.ksafety.found import Find
from isonomia.audits.ksafety.kept import packed_totals, totals_of
from isonomia.audits.ksafety.steps import INTERRUPTED, Steps
from isonomia.audits.ksafety.tallies import Totals
from isonomia.audits.ksafety.verdicts import Outcome
from isonomia.audits.stating import why_stopped
from isonomia.engine.clock import Clock
from isonomia.engine.journal import Entry, once
from isonomia.errors import UsageError
from isonomia.populations.census import Census

__all__ = ["ENUMERABLE", "Tried", "complete", "try_all", "unfinished"]

ENUMERABLE = 2_000_000
"""How many cases are all tried where no budget is given."""


@dataclass(frozen=True, slots=True)
class Tried:
    """What all cases add up to, and why trying them ended early; ``None`` where it did not."""

    totals: Totals
    early: str | None


def try_all(steps: Steps) -> Tried | None:
    """Try every case; ``None`` where they are not all tried."""
    listed = None if steps.over else _list(steps)
    kept = once(steps.journal, "listed", lambda: _packed(listed))
    if not kept["listed"]:
        return None
    counted = _counted(steps, listed)
    return Tried(totals_of(counted, Counts(kept["rejected"], kept["without_choice"])), counted["early"])


def _list(steps: Steps) -> Listed | None:
    """Every case, where that is wanted and possible."""
    request, prop, runner = steps.request, steps.request.prop, steps.runner
    sampled = steps.subject.sample and steps.evidence.rated
    drawn = isinstance(request.population, Census) and not request.population.exact
    if prop.enumerate is False or steps.subject.fresh or sampled or drawn:
        if prop.enumerate:
            raise UsageError("expected a census to try every case of, but these inputs stand for others")
        return None
    limit = ENUMERABLE if request.budget.samples == float("inf") else request.budget.samples
    found = list_cases(runner, steps.bench.domain, float("inf") if prop.enumerate else limit)
    if found is None and prop.enumerate:
        raise UsageError("expected finitely many cases to try all of, but a choice is not from a finite range")
    return found


def _packed(listed: Listed | None) -> Entry:
    if listed is None:
        return {"listed": False}
    away = listed.turned_away
    return {"listed": True, "rejected": away.rejected, "without_choice": away.without_choice}


def _counted(steps: Steps, listed: Listed | None) -> Entry:
    """The counts: kept, or else measured; those of somebody who pressed Ctrl-C are not kept."""
    if listed is None:
        return once(steps.journal, "every case", dict)
    clock = Clock(steps.request.budget.seconds, steps.journal, "time of part")
    totals, early = try_every_case(steps.runner, steps.bench.domain, listed, steps.seen, steps.observer, clock)
    measured = {"early": early, **packed_totals(totals)}
    return measured if early == INTERRUPTED else once(steps.journal, "every case", lambda: measured)


def complete(steps: Steps, totals: Totals, *, interrupted: bool = False) -> Outcome:
    """What is known when every case was tried."""
    answer = exact_answer(totals, [item.rate for item in steps.program.spec.ensures])
    found = steps.found(_smallest, interrupted=interrupted)
    return Outcome(answer, totals, found, True, totals.tested, "every case was tried", steps.seconds())


def unfinished(steps: Steps, tried: Tried) -> Outcome:
    """What is known when not every case could be tried: a violation is one all the same."""
    totals, stopped = tried.totals, why_stopped(tried.early or INTERRUPTED, "cases")
    answer = False if any(totals.by_ensures[number] for number in steps.evidence.strict) else None
    remark = "the cases were tried in order, so that what was seen is no random sample of them"
    found = steps.found(lambda finds: [(find, False) for find in finds], interrupted=stopped == INTERRUPTED)
    return Outcome(answer, totals, found, False, totals.tested, stopped, steps.seconds(), (remark,))


def _smallest(finds: Sequence[Find]) -> list[tuple[Find, bool]]:
    """Among all cases nothing is smaller."""
    return [(find, True) for find in finds]
