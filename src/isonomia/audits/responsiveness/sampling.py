"""Looking at what people can reach: all of it where it is little, else draw after draw until they are decided."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import isinf

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.responsiveness.counting import Counted, Rule, begin
from isonomia.audits.responsiveness.looking import Looker
from isonomia.audits.responsiveness.reach import Reach
from isonomia.audits.responsiveness.request import Request
from isonomia.engine.clock import Clock
from isonomia.engine.observer import Observer, Progress

__all__ = ["INTERRUPTED", "SPENT", "Looked", "look"]

INTERRUPTED, SPENT = "interrupted", "the budget is spent"

Places = NDArray[np.intp]
Floats = NDArray[np.float64]

_CHUNK = 200_000
"""Points that the model is asked about together."""
_FIRST_TIMED = 1_000
"""Points that the model is asked about together at first, where the time is limited."""
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
    """Look at what people can reach until everybody is decided or the budget is spent: then on the first of them."""
    rule, prop = Rule.of(request.prop, request.delta), request.prop
    few = reach.listable(prop.most_listed)
    counted = begin(len(few), ~few)
    purse = Purse(request.budget.samples, Clock(request.budget.seconds, request.journal, "time"), looker)
    try:
        for who in purse.portions(np.flatnonzero(few), reach.counts):
            counted = _list(looker, counted, who, rule)
            _tell(observer, looker, counted, purse.clock.spent())
        for number, size in enumerate(_sizes(request)):
            counted = _settle_small(reach, looker, counted, rule, purse)
            undecided = np.flatnonzero(counted.undecided)
            if purse.is_empty or not len(undecided):
                break
            counted = _draw(looker, counted, undecided, size, number, rule, purse)
            _tell(observer, looker, counted, purse.clock.spent())
    except KeyboardInterrupt:
        return Looked(counted, INTERRUPTED)
    return Looked(counted, SPENT if purse.is_empty else _why(counted, rule, prop.most_draws))


@dataclass(slots=True)
class Purse:
    """What may still be spent, in points and in time.

    Attributes
    ----------
    samples, clock
        The most points, and the time.
    looker
        Knows how many points were looked at.
    is_empty
        Whether somebody was left out because nothing was left for them.
    """

    samples: float
    clock: Clock
    looker: Looker
    is_empty: bool = False

    def portions(self, who: Places, size: Floats) -> Iterator[Places]:
        """People in portions that are looked at together, in order, without those for whom too little is left.

        Once somebody was left out, nobody is looked at for anything else. Where the time is limited, portions begin
        small: a portion takes hardly longer than all before it together.

        Parameters
        ----------
        who
            The people.
        size
            How many points of each person, of these and of all others, are to be looked at.
        """
        waiting = who[:0] if self.is_empty else who
        while len(waiting):
            left = self.samples - self.looker.points
            enough = size[waiting] <= left
            self.is_empty |= not enough.all()
            waiting = waiting[enough]
            if not len(waiting) or self.clock.is_up():
                self.is_empty = True
                return
            total = np.cumsum(size[waiting])
            together = max(1, int(np.searchsorted(total, self._at_once(), side="right")))
            count = min(together, int(np.searchsorted(total, left, side="right")))
            yield waiting[:count]
            waiting = waiting[count:]

    def _at_once(self) -> float:
        """How many points are looked at together."""
        return _CHUNK if isinf(self.clock.seconds) else min(_CHUNK, max(_FIRST_TIMED, self.looker.points))


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


def _list(looker: Looker, counted: Counted, who: Places, rule: Rule) -> Counted:
    found = looker.listed(who)
    return counted.listed(who, found.n, found.successes, rule)


def _settle_small(reach: Reach, looker: Looker, counted: Counted, rule: Rule, purse: Purse) -> Counted:
    """Settle those who were drawn from as often as they have points by looking at all, as far as the budget goes."""
    if rule.fixed:
        return counted
    small = reach.listable(_STILL_LISTED) & counted.undecided & (counted.n >= reach.counts)
    for who in purse.portions(np.flatnonzero(small), reach.counts):
        counted = _list(looker, counted, who, rule)
    return counted


def _draw(
    looker: Looker, counted: Counted, undecided: Places, size: int, number: int, rule: Rule, purse: Purse
) -> Counted:
    """One round: as many draws for each who is undecided, then names for whom they suffice.

    Whom the budget does not reach any more keeps the evidence of before. Who that is depends on what was seen earlier
    only, and evidence is valid whenever one stops, so that it costs nothing of the guarantee.
    """
    sizes = np.full(len(counted.n), float(size))
    for part, who in enumerate(purse.portions(undecided, sizes)):
        counted = counted.drawn(who, size, looker.drawn(who, size, number, part).successes, rule)
    return counted.named(rule)


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
