"""Looking at what people can reach: all of it where it is little, else draw after draw until they are decided."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from time import monotonic

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.responsiveness.counting import Counted, Rule, begin
from isonomia.audits.responsiveness.reaching import Reaching
from isonomia.audits.responsiveness.request import Request
from isonomia.engine.observer import Observer, Progress
from isonomia.engine.seeds import batch_rng
from isonomia.interventions import ReachableSets

__all__ = ["Looked", "listable", "look"]

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


def listable(sets: ReachableSets, most: int) -> NDArray[np.bool_]:
    """Whose points can all be looked at, being at most so many, with no chance after an action."""
    if sets.by_chance:
        return np.zeros(len(sets), dtype=bool)
    return sets.counts() <= most


def look(request: Request, sets: ReachableSets, reaching: Reaching, observer: Observer) -> Looked:
    """Look at what people can reach until everybody is decided or the budget is spent."""
    rule, prop, began = Rule.of(request.prop, request.delta), request.prop, monotonic()
    few = listable(sets, prop.most_listed)
    counted = begin(len(sets), ~few)
    try:
        for who in _portions(np.flatnonzero(few), sets.counts()):
            if _spent(request, reaching, int(sets.counts()[who].sum()), began):
                return Looked(counted, "the budget is spent")
            counted = _list(sets, reaching, counted, who, rule)
            _tell(observer, reaching, counted, monotonic() - began)
        for number, size in enumerate(_sizes(request)):
            counted, enough = _settle_small(request, sets, reaching, counted, rule, began)
            if not enough:
                return Looked(counted, "the budget is spent")
            undecided = np.flatnonzero(counted.undecided)
            if not len(undecided):
                break
            if _spent(request, reaching, size * len(undecided), began):
                return Looked(counted, "the budget is spent")
            counted = _draw(request, sets, reaching, counted, undecided, size, number, rule)
            _tell(observer, reaching, counted, monotonic() - began)
    except KeyboardInterrupt:
        return Looked(counted, "interrupted")
    return Looked(counted, _why(counted, rule, prop.most_draws))


def _why(counted: Counted, rule: Rule, most: int) -> str:
    if not counted.undecided.any():
        return "all was looked at" if counted.exact.all() else "everybody is decided"
    return "the draws that were fixed beforehand are used up" if rule.fixed else f"{most:,} draws did not decide it"


def _spent(request: Request, reaching: Reaching, more: int, began: float) -> bool:
    budget = request.budget
    return reaching.points + more > budget.samples or monotonic() - began >= budget.seconds


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


def _list(sets: ReachableSets, reaching: Reaching, counted: Counted, who: Places, rule: Rule) -> Counted:
    points = sets.points(who)
    hits = reaching(points)
    n = np.bincount(points.owner, minlength=len(sets))[who].astype(np.float64)
    successes = np.bincount(points.owner[hits], minlength=len(sets))[who].astype(np.float64)
    return counted.listed(who, n, successes, rule)


def _settle_small(
    request: Request, sets: ReachableSets, reaching: Reaching, counted: Counted, rule: Rule, began: float
) -> tuple[Counted, bool]:
    """Settle those who were drawn from as often as they have points by looking at all; whether the budget sufficed."""
    if rule.fixed:
        return counted, True
    small = listable(sets, _STILL_LISTED) & counted.undecided & (counted.n >= sets.counts())
    for who in _portions(np.flatnonzero(small), sets.counts()):
        if _spent(request, reaching, int(sets.counts()[who].sum()), began):
            return counted, False
        counted = _list(sets, reaching, counted, who, rule)
    return counted, True


def _draw(
    request: Request,
    sets: ReachableSets,
    reaching: Reaching,
    counted: Counted,
    undecided: Places,
    size: int,
    number: int,
    rule: Rule,
) -> Counted:
    """One round: as many draws for everybody who is undecided, then names for whom they suffice."""
    successes = np.zeros(len(undecided))
    per_call = max(1, _CHUNK // size)
    for part, first in enumerate(range(0, len(undecided), per_call)):
        who = undecided[first : first + per_call]
        hits = reaching(sets.sample(size, batch_rng(request.seed, number, part), who.tolist()))
        successes[first : first + per_call] = hits.reshape(len(who), size).sum(axis=1)
    return counted.drawn(undecided, size, successes, rule).named(rule)


def _tell(observer: Observer, reaching: Reaching, counted: Counted, seconds: float) -> None:
    left = int(counted.undecided.sum())
    people = len(counted.n)
    observer.advance(
        Progress(
            samples=reaching.points,
            most=float("inf"),
            share=1.0 - left / people,
            seconds=seconds,
            closing_in=lambda: f"{people - left:,} of {people:,} people decided",
            counted="points",
        )
    )
