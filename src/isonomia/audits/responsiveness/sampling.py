"""Listing and rounds of draws.

Looking at points of some people: what that comes to is kept, so that it is done once.

Looking at what people can reach: all of it where it is little, else draw after draw until they are decided.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import isinf

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.protocol import Check
from isonomia.audits.responsiveness.counting import Counted, Rule, begin
from isonomia.audits.responsiveness.members import packed, unpacked
from isonomia.audits.responsiveness.setup import Bench, Reach, kept
from isonomia.engine.journal import Clock, Entry
from isonomia.engine.observer import Observer, Progress
from isonomia.engine.seeds import batch_rng
from isonomia.errors import DataError
from isonomia.interventions import Points
from isonomia.spec.responsiveness import Responsiveness

__all__ = ["INTERRUPTED", "SPENT", "Looked", "Looker", "Portion", "look"]


Places = NDArray[np.intp]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Portion:
    """What looking at some people's points came to.

    Attributes
    ----------
    n, successes
        For each of them, how many points were looked at, and how many have the target prediction.
    distinct
        About how many rows the model was asked.
    alike
        Whether it is worth looking for points that are the same, from now on.
    """

    n: Floats
    successes: Floats
    distinct: int
    alike: bool

    def pack(self) -> Entry:
        """As plain values."""
        counts = {"n": packed(self.n), "successes": packed(self.successes)}
        return {**counts, "distinct": self.distinct, "alike": self.alike}

    @classmethod
    def unpack(cls, entry: Entry, people: int) -> Portion:
        """From plain values."""
        n, successes = (unpacked(entry[key], people).astype(np.float64) for key in ("n", "successes"))
        return cls(n, successes, entry["distinct"], entry["alike"])

    def refuse_others(self, n: Floats, key: str) -> Portion:
        """Itself, where so many points of each person were looked at, as they should have been.

        Raises
        ------
        DataError
            Where it was another number, as in a record that was changed.
        """
        if (self.n == n).all() and (self.successes <= self.n).all():
            return self
        raise DataError(f"expected as many points of each person as were looked at, but {key} of the record has others")


@dataclass(slots=True)
class Looker:
    """Looks at points, and counts how many that were.

    Attributes
    ----------
    bench
        What looking needs.
    points, distinct
        How many points were looked at so far, and about how many rows the model was asked.
    """

    bench: Bench
    points: int = 0
    distinct: int = 0
    _alike: bool = True
    _listings: int = 0

    def listed(self, who: Places) -> Portion:
        """Look at all that some people can reach."""
        number, self._listings = self._listings, self._listings + 1
        key = f"listing {number}"
        return self._looked(key, who, lambda: self._list(who)).refuse_others(self.bench.reach.counts[who], key)

    def drawn(self, who: Places, size: int, number: int, part: int) -> Portion:
        """Look at so many draws for each of some people, in a part of a numbered round."""
        key = f"round {number} part {part}"
        found = self._looked(key, who, lambda: self._draw(who, size, number, part))
        return found.refuse_others(np.full(len(who), float(size)), key)

    def _looked(self, key: str, who: Places, measure: Callable[[], Portion]) -> Portion:
        people = len(who)
        found = kept(
            self.bench.request.journal, key, measure, Portion.pack, lambda entry: Portion.unpack(entry, people)
        )
        self.points += int(found.n.sum())
        self.distinct += found.distinct
        self._alike = found.alike
        return found

    def _list(self, who: Places) -> Portion:
        points = self.bench.sets.points(who)
        hits, distinct, alike = self._hits(points)
        everybody = len(self.bench.sets)
        n, successes = (np.bincount(owner, minlength=everybody)[who] for owner in (points.owner, points.owner[hits]))
        return Portion(n.astype(np.float64), successes.astype(np.float64), distinct, alike)

    def _draw(self, who: Places, size: int, number: int, part: int) -> Portion:
        rng = batch_rng(self.bench.request.seed, number, part)
        hits, distinct, alike = self._hits(self.bench.sets.sample(size, rng, who.tolist()))
        successes = hits.reshape(len(who), size).sum(axis=1)
        return Portion(np.full(len(who), float(size)), successes.astype(np.float64), distinct, alike)

    def _hits(self, points: Points) -> tuple[NDArray[np.bool_], int, bool]:
        """Which points have the target prediction, about how many rows that took, and whether some are still alike."""
        target = self.bench.target
        target.alike, before = self._alike, target.distinct
        hits = target(points)
        return hits, target.distinct - before, target.alike


INTERRUPTED, SPENT = "interrupted", "the budget is spent"

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


def look(request: Check[Responsiveness], reach: Reach, looker: Looker, observer: Observer) -> Looked:
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


def _sizes(request: Check[Responsiveness]) -> Iterator[int]:
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
