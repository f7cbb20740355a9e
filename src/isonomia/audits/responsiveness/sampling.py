"""Looking at what people can reach: all of it where it is little, else draw after draw until they are decided."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.responsiveness.counting import Counted, Rule, begin
from isonomia.audits.responsiveness.looking import Looker
from isonomia.audits.responsiveness.reach import Reach
from isonomia.audits.responsiveness.request import Request
from isonomia.engine.clock import Clock
from isonomia.engine.observer import Observer, Progress

__all__ = ["INTERRUPTED", "Looked", "look"]

INTERRUPTED = "interrupted"

Places = NDArray[np.intp]

_CHUNK = 200_000
"""Points that the model is asked about together."""
_FIRST, _GROWTH = 8, 1.25
"""The draws of the first round, and how much each later round makes of the total."""
_STILL_LISTED = 100_000
"""A person who was drawn from as often as they have points is settled by looking at all, up to so many."""


@dataclass(frozen=True, slots=True, eq=False)
class Looked:
    """What came of looking: the counts, and why it stopped."""

    counted: Counted
    stopped: str


def look(request: Request, reach: Reach, looker: Looker, observer: Observer) -> Looked:
    """Look at what people can reach until everybody is decided or the budget is spent."""
    rule, prop = Rule.of(request.prop, request.delta), request.prop
    few = reach.listable(prop.most_listed)
    counted = begin(len(few), ~few)
    purse = Purse(request.budget.samples, Clock(request.budget.seconds, request.journal, "time"), looker)
    try:
        for who in _portions(np.flatnonzero(few), reach.counts):
            if purse.spent(int(reach.counts[who].sum())):
                return Looked(counted, "the budget is spent")
            counted = _list(looker, counted, who, rule)
            _tell(observer, looker, counted, purse.clock.spent())
        for number, size in enumerate(_sizes(request)):
            counted, enough = _settle_small(reach, looker, counted, rule, purse)
            if not enough:
                return Looked(counted, "the budget is spent")
            undecided = np.flatnonzero(counted.undecided)
            if not len(undecided):
                break
            if purse.spent(size * len(undecided)):
                return Looked(counted, "the budget is spent")
            counted = _draw(looker, counted, undecided, size, number, rule)
            _tell(observer, looker, counted, purse.clock.spent())
    except KeyboardInterrupt:
        return Looked(counted, INTERRUPTED)
    return Looked(counted, _why(counted, rule, prop.most_draws))


@dataclass(frozen=True, slots=True)
class Purse:
    """What may still be spent, in points and in time."""

    samples: float
    clock: Clock
    looker: Looker

    def spent(self, more: int) -> bool:
        """Whether so many points more are too many, or the time is up."""
        return self.looker.points + more > self.samples or self.clock.is_up()


def _why(counted: Counted, rule: Rule, most: int) -> str:
    if not counted.undecided.any():
        return "all was looked at" if counted.exact.all() else "everybody is decided"
    return "the draws that were fixed beforehand are used up" if rule.fixed else f"{most:,} draws did not decide it"


def _sizes(request: Request) -> Iterator[int]:
    """How many draws each round has for one person."""
    if request.prop.draws is not None:
        yield request.prop.draws
        return
    total, most = 0, request.prop.most_draws
    while total < most:
        size = min(max(_FIRST, round(total * (_GROWTH - 1.0))), most - total)
        total += size
        yield size


def _portions(who: Places, size: NDArray[np.float64]) -> Iterator[Places]:
    """People in portions that have about so many points together."""
    if len(who):
        portion = np.cumsum(size[who]) // _CHUNK
        yield from np.split(who, np.flatnonzero(np.diff(portion)) + 1)


def _list(looker: Looker, counted: Counted, who: Places, rule: Rule) -> Counted:
    found = looker.listed(who)
    return counted.listed(who, found.n, found.successes, rule)


def _settle_small(reach: Reach, looker: Looker, counted: Counted, rule: Rule, purse: Purse) -> tuple[Counted, bool]:
    """Settle those who were drawn from as often as they have points by looking at all; whether the budget sufficed."""
    if rule.fixed:
        return counted, True
    small = reach.listable(_STILL_LISTED) & counted.undecided & (counted.n >= reach.counts)
    for who in _portions(np.flatnonzero(small), reach.counts):
        if purse.spent(int(reach.counts[who].sum())):
            return counted, False
        counted = _list(looker, counted, who, rule)
    return counted, True


def _draw(looker: Looker, counted: Counted, undecided: Places, size: int, number: int, rule: Rule) -> Counted:
    """One round: as many draws for everybody who is undecided, then names for whom they suffice."""
    successes = np.zeros(len(undecided))
    per_call = max(1, _CHUNK // size)
    for part, first in enumerate(range(0, len(undecided), per_call)):
        mine = slice(first, first + per_call)
        successes[mine] = looker.drawn(undecided[mine], size, number, part).successes
    return counted.drawn(undecided, size, successes, rule).named(rule)


def _tell(observer: Observer, looker: Looker, counted: Counted, seconds: float) -> None:
    left = int(counted.undecided.sum())
    people = len(counted.n)
    observer.advance(
        Progress(
            samples=looker.points,
            most=float("inf"),
            share=1.0 - left / people,
            seconds=seconds,
            closing_in=lambda: f"{people - left:,} of {people:,} people decided",
            counted="points",
        )
    )
