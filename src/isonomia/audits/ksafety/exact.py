"""Trying every case there is."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import partial

from isonomia.audits.ksafety.cases import Cases, Counts, TooManyError, all_cases
from isonomia.audits.ksafety.running import Runner
from isonomia.audits.ksafety.seen import Seen
from isonomia.audits.ksafety.tallies import Totals, piece_of
from isonomia.engine.clock import Clock
from isonomia.engine.observer import Observer, Progress
from isonomia.errors import SpecError
from isonomia.populations.domains import Domain

__all__ = ["Listed", "exact_answer", "list_cases", "try_every_case"]


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
