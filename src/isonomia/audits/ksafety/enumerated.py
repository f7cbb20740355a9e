"""Every case.

Trying every case there is.

The step that tries every case, where there are few enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

from isonomia.audits.ksafety.cases import Cases, Counts, TooManyError, all_cases
from isonomia.audits.ksafety.evidence import Totals, piece_of
from isonomia.audits.ksafety.runner import Runner
from isonomia.audits.ksafety.setup import INTERRUPTED, Steps
from isonomia.audits.ksafety.verdict import Outcome
from isonomia.audits.ksafety.violations import Find, Seen, packed_totals, totals_of
from isonomia.audits.verdicts import why_stopped
from isonomia.engine.journal import Clock, Entry, once
from isonomia.engine.observer import Observer, Progress
from isonomia.errors import SpecError, UsageError
from isonomia.populations.domains import Domain
from isonomia.populations.finite import Census

__all__ = [
    "ENUMERABLE",
    "Listed",
    "Tried",
    "complete",
    "exact_answer",
    "list_cases",
    "try_all",
    "try_every_case",
    "unfinished",
]


@dataclass(frozen=True, slots=True, eq=False)
class Listed:
    """Every case that meets the preconditions, in parts, and how many do not."""

    parts: list[Cases]
    turned_away: Counts

    @property
    def size(self) -> int:
        """How many cases there are."""
        return sum(len(part) for part in self.parts)


def list_cases(runner: Runner, domain: Domain, most: float) -> Listed | None:
    """List every case; ``None`` where they are infinitely many or more than ``most``.

    Raises
    ------
    SpecError
        Where no case meets the preconditions.
    """
    if runner.draws:
        return None
    counts = Counts()
    try:
        listed = Listed([part for part in all_cases(runner.program, domain, most, counts) if len(part)], counts)
    except TooManyError:
        return None
    if listed.size == 0:
        requires = runner.program.spec.requires
        raise SpecError(
            f"no case meets the preconditions: of {domain.size:,} inputs with every choice, {counts.rejected:,} cases "
            f"are rejected and {counts.without_choice:,} have nothing to choose from. Loosen what is required",
            requires[0].place if requires else None,
        )
    return listed


def try_every_case(
    runner: Runner, domain: Domain, listed: Listed, seen: Seen, observer: Observer, clock: Clock
) -> tuple[Totals, str | None]:
    """Put every case to the model; says why it ended early, ``"time"`` or ``"interrupted"``, where it did."""
    totals, size = Totals(len(runner.program.ensures)), listed.size
    totals.turned_away = listed.turned_away
    try:
        for part in listed.parts:
            judged, cases = runner.run(domain, part)
            totals.add(piece_of(judged))
            totals.weigh(judged, cases)
            seen.add(judged, cases, domain)
            told = partial(_told, totals.violating, totals.tested, size)
            observer.advance(Progress(totals.tested, size, totals.tested / size, clock.spent(), told, "cases"))
            if totals.tested < size and clock.is_up():
                return totals, "time"
    except KeyboardInterrupt:
        return totals, "interrupted"
    return totals, None


def _told(violating: int, tested: int, size: int) -> str:
    return f"{violating:,} violations in {tested:,} of {size:,} cases"


def exact_answer(totals: Totals, rates: list[float | None]) -> bool | None:
    """``True`` for holds, ``False`` for violated; ``None`` where cases that failed could make the difference."""
    certain = True
    for bad, failed, rate in zip(totals.bad_weight, totals.failed_weight, rates, strict=True):
        allowed = (1 - Fraction(repr(rate))) * totals.weight if rate is not None else Fraction(0)
        if bad > allowed:
            return False
        certain &= bad + failed <= allowed
    return True if certain else None


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
