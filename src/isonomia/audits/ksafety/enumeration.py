"""Trying every case, where there are few enough: the answer is exact then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from math import inf

from isonomia.audits.ksafety.cases import Cases, all_cases
from isonomia.audits.ksafety.setup import INTERRUPTED, Setup
from isonomia.audits.ksafety.tally import Tally
from isonomia.audits.ksafety.verdict import SafetyOutcome
from isonomia.audits.ksafety.violations import Violation
from isonomia.audits.verdicts import why_stopped
from isonomia.engine.journal import Clock, Entry, once
from isonomia.engine.observer import Progress
from isonomia.errors import SpecError, UsageError
from isonomia.populations.finite import Census

__all__ = ["all_tried", "interrupted_outcome", "try_all"]

ENUMERABLE = 2_000_000
"""How many cases are all tried where no budget is given."""


def try_all(setup: Setup) -> tuple[Tally, str | None] | None:
    """Try every case: what they add up to, and why that ended early, ``"time"`` or ``"interrupted"``, where it did.

    ``None`` where not every case is to be tried.
    """
    listed = None if setup.finished else _list(setup)
    entry = once(setup.journal, "listed", lambda: _packed(listed))
    if not entry["listed"]:
        return None
    counted = once(setup.journal, "every case", dict) if listed is None else _counted(setup, listed[0])
    return Tally.unpack(counted, entry["rejected"], entry["without_choice"]), counted["early"]


def _list(setup: Setup) -> tuple[list[Cases], Tally] | None:
    """Every case in parts, where that is wanted and possible, and a tally of those that are turned away."""
    check, prop = setup.check, setup.check.prop
    runner = setup.runner
    sampled = setup.subject.sample and setup.evidence.rated
    drawn = isinstance(check.population, Census) and not check.population.exact
    if prop.enumerate is False or setup.subject.fresh or sampled or drawn:
        if prop.enumerate:
            raise UsageError("expected a census to try every case of, but these inputs stand for others")
        return None
    limit = ENUMERABLE if check.budget.samples == inf else check.budget.samples
    tally = Tally.empty(len(setup.program.ensures))
    listed = (
        all_cases(setup.program, setup.domain, inf if prop.enumerate else limit, tally) if not runner.draws else None
    )
    if listed is None:
        if prop.enumerate:
            raise UsageError("expected finitely many cases to try all of, but a choice is not from a finite range")
        return None
    parts = [part for part in listed if len(part)]
    if not parts:
        requires = setup.program.spec.requires
        raise SpecError(
            f"no case meets the preconditions: of {setup.domain.size:,} inputs with every choice, {tally.rejected:,} "
            f"cases are rejected and {tally.without_choice:,} have nothing to choose from. Loosen what is required",
            requires[0].place if requires else None,
        )
    return parts, tally


def _packed(listed: tuple[list[Cases], Tally] | None) -> Entry:
    if listed is None:
        return {"listed": False}
    tally = listed[1]
    return {"listed": True, "rejected": tally.rejected, "without_choice": tally.without_choice}


def _counted(setup: Setup, parts: Sequence[Cases]) -> Entry:
    """The counts of every case; those of somebody who pressed Ctrl-C are not kept."""
    tally, early = _tried(setup, parts)
    measured = {"early": early, **tally.pack(weighed=True)}
    return measured if early == INTERRUPTED else once(setup.journal, "every case", lambda: measured)


def _tried(setup: Setup, parts: Sequence[Cases]) -> tuple[Tally, str | None]:
    """Put every case to the model."""
    clock = Clock(setup.check.budget.seconds, setup.journal, "time of part")
    tally, size = Tally.empty(len(setup.program.ensures)), sum(map(len, parts))
    try:
        for part in parts:
            judgement = setup.runner.run(setup.domain, part)
            tally += judgement.tally(weighed=True)
            setup.violations.add(judgement)
            words = partial(_known, tally.violating, tally.tested, size)
            setup.observer.advance(Progress(tally.tested, size, tally.tested / size, clock.spent(), words, "cases"))
            if tally.tested < size and clock.is_up():
                return tally, "time"
    except KeyboardInterrupt:
        return tally, INTERRUPTED
    return tally, None


def _known(violating: int, tested: int, size: int) -> str:
    return f"{violating:,} violations in {tested:,} of {size:,} cases"


def all_tried(setup: Setup, tally: Tally, *, interrupted: bool = False) -> SafetyOutcome:
    """What is known when every case was tried."""
    answer = _exact_answer(tally, [item.rate for item in setup.program.spec.ensures])
    summary = setup.summary(_as_smallest, interrupted=interrupted)
    return SafetyOutcome(answer, tally, summary, True, tally.tested, "every case was tried", setup.seconds())


def _exact_answer(tally: Tally, rates: Sequence[float | None]) -> bool | None:
    """``True`` for holds, ``False`` for violated; ``None`` where cases that failed could make the difference."""
    certain = True
    for bad, failed, rate in zip(tally.bad_weight, tally.failed_weight, rates, strict=True):
        allowed = (1 - Fraction(repr(rate))) * tally.weight if rate is not None else Fraction(0)
        if bad > allowed:
            return False
        certain &= bad + failed <= allowed
    return True if certain else None


def _as_smallest(violations: Sequence[Violation]) -> list[Violation]:
    """Among all cases nothing is smaller."""
    return [replace(violation, minimal=True) for violation in violations]


def interrupted_outcome(setup: Setup, tally: Tally, early: str) -> SafetyOutcome:
    """What is known when not every case could be tried: a violation is one all the same."""
    stopped = why_stopped(early, "cases")
    answer = False if any(tally.by_ensures[number] for number in setup.evidence.strict) else None
    remark = "the cases were tried in order, so that what was seen is no random sample of them"
    summary = setup.summary(list, interrupted=stopped == INTERRUPTED)
    return SafetyOutcome(answer, tally, summary, False, tally.tested, stopped, setup.seconds(), (remark,))
