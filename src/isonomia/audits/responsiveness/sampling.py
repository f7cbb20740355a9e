"""Looking at what people can reach: all points where they are few, else rounds of draws until it is decided.

The loop is the engine's. Its steps are planned here: a listing of everything that some people can reach, or a round of
draws for everybody who is undecided. The counts of each portion of people are kept in the journal, so that it is done
once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from math import inf, isinf
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.protocol import Check
from isonomia.audits.responsiveness.counts import DecisionRule, PersonCounts
from isonomia.audits.responsiveness.points import DrawnPortion
from isonomia.audits.responsiveness.setup import ResponsivenessSetup, packed, unpacked
from isonomia.engine.journal import Clock, Entry, once
from isonomia.engine.loop import AGAIN, REPEATED, Outcome, Steps, changed_since, run_steps
from isonomia.engine.parameters import Observer, batch_rng
from isonomia.errors import DataError, IsonomiaError, UnreliableModelError
from isonomia.interventions import Points
from isonomia.models.meter import Meter, count, current_meter
from isonomia.models.steady import Handed
from isonomia.records.verdict import Expression
from isonomia.spec.responsiveness import Responsiveness

Indices: TypeAlias = NDArray[np.intp]
Floats: TypeAlias = NDArray[np.float64]

_CHUNK = 200_000
"""How many points are put to the model together; it bounds the memory."""
_FIRST_TIMED = 1_000
"""How many points are put to the model together at first, where time is limited."""
_FIRST, _GROWTH = 8, 1.25
"""The draws of the first round, and the factor by which each later one increases the total; any sizes are valid."""
RESERVE = 0.1
"""The share of a query budget that is left for counterexamples."""
_STILL_LISTED = 100_000
"""A person with as many draws as points is decided by looking at all points, if there are at most this many."""


def sample_people(
    check: Check[Responsiveness], setup: ResponsivenessSetup, sampler: PointSampler, observer: Observer
) -> Outcome[PersonCounts]:
    """Look at what people can reach until everybody is decided, or the budget is spent, on the first people.

    The reason of the outcome is ``"decided"``, ``"budget"`` (in points or in time), ``"exhausted"`` where the draws
    that a person may have are used up, or ``"interrupted"``.
    """
    budget = PointBudget(check.budget.samples, Clock(check.budget.seconds, check.journal, "time"), sampler)
    work = ResponsivenessWork(setup, sampler, DecisionRule.of(check.prop, check.delta), budget)
    counts = PersonCounts.empty(len(setup.few), ~setup.few)
    return run_steps(
        work,
        counts,
        work.steps(counts),
        work.measure,
        observer,
        elapsed=budget.clock.spent,
        counted="points",
        interruptions=(KeyboardInterrupt,),  # a record that lacks a step is refused, not treated as interrupted
    )


@dataclass(frozen=True, slots=True, eq=False)
class Listing:
    """Look at everything that some people can reach."""

    who: Indices


@dataclass(frozen=True, slots=True, eq=False)
class Round:
    """Draw ``size`` points for each of some people."""

    who: Indices
    number: int
    size: int


@dataclass(frozen=True, slots=True, eq=False)
class StepCounts:
    """The counts of a step, portion by portion of its people."""

    step: Listing | Round
    portions: list[tuple[Indices, PointCounts]]


@dataclass(frozen=True, slots=True)
class ResponsivenessWork:
    """What the engine's loop runs."""

    setup: ResponsivenessSetup
    sampler: PointSampler
    rule: DecisionRule
    budget: PointBudget

    def steps(self, counts: PersonCounts) -> Steps[Listing | Round, PersonCounts]:
        """List people with few points; draw from others until they are decided, or list them once that is no more work.

        A person with as many draws as points could as well have been listed.
        """
        prop, reach = self.setup.check.prop, self.setup.reach
        for who in self.budget.portions(np.flatnonzero(~counts.family), reach.counts):
            counts = yield Listing(who)
        for number, size in enumerate(_round_sizes(prop)):
            if not self.rule.fixed:
                small = reach.listable(_STILL_LISTED) & counts.undecided & (counts.n >= reach.counts)
                for who in self.budget.portions(np.flatnonzero(small), reach.counts):
                    counts = yield Listing(who)
            undecided = np.flatnonzero(counts.undecided)
            if self.budget.spent or not len(undecided):
                break
            counts = yield Round(undecided, number, size)
        if self.budget.spent:
            return "budget"
        return "exhausted" if counts.undecided.any() else "decided"

    def measure(self, step: Listing | Round) -> StepCounts:
        """Look at the points of a step.

        People whom the budget no longer covers in a round keep their earlier evidence. Who that is depends only on what
        was seen before, and evidence is valid whenever one stops, so the guarantee is not affected.
        """
        match step:
            case Listing(who):
                return StepCounts(step, [(who, self.sampler.listed(who))])
            case Round(who, number, size):
                portions = self.budget.portions(who, np.full(len(self.setup.reach.counts), float(size)))
                return StepCounts(step, list(self.sampler.drawn_portions(portions, size, number)))

    def absorb(self, counts: PersonCounts, reading: StepCounts) -> PersonCounts:
        """Add the counts; after a round, decide everybody whom the evidence allows to decide."""
        match reading.step:
            case Listing():
                for who, points in reading.portions:
                    counts = counts.listed(who, points.n, points.successes, self.rule)
                return counts
            case Round(_, _, size):
                for who, points in reading.portions:
                    counts = counts.drawn(who, size, points.successes, self.rule)
                return counts.decided(self.rule)

    def asked(self, reading: StepCounts) -> int:
        """How many points a step had."""
        return sum(int(points.n.sum()) for _, points in reading.portions)

    def share(self, counts: PersonCounts) -> float:
        """The share of people who are decided."""
        return 1.0 - int(counts.undecided.sum()) / len(counts.n)

    def closing_in(self, counts: PersonCounts) -> str:
        """How many people are decided."""
        people = len(counts.n)
        return f"{people - int(counts.undecided.sum()):,} of {people:,} people decided"

    def compared(self, counts: PersonCounts) -> Expression | None:  # noqa: ARG002
        """Nothing: there is no single quantity, since each person has a share."""
        return None


def _round_sizes(prop: Responsiveness) -> Iterator[int]:
    """How many draws each round has for one person."""
    if prop.draws is not None:
        yield prop.draws
        return
    total = 0
    while total < prop.most_draws:
        size = min(max(_FIRST, round(total * (_GROWTH - 1.0))), prop.most_draws - total)
        total += size
        yield size


@dataclass(slots=True)
class PointBudget:
    """What may still be spent, in points and in time.

    ``spent`` says that somebody was left out because nothing was left for them.
    """

    samples: float
    clock: Clock
    sampler: PointSampler
    spent: bool = False
    meter: Meter = field(default_factory=current_meter)
    _looks: int = 0

    def portions(self, who: Indices, size: Floats) -> Iterator[Indices]:
        """People in portions that are looked at together, in order, without those for whom too little is left.

        ``size`` has, for everybody and not only ``who``, how many points are to be looked at. Once somebody was left
        out, later calls give nobody. Where time is limited, portions start small: a portion takes hardly longer than
        all before it together.
        """
        waiting, before, planned = who[:0] if self.spent else who, self.sampler.points, 0
        while len(waiting):
            left = min(self.samples - before - planned, self._rows_left())
            enough = size[waiting] <= left
            self.spent |= not enough.all()
            waiting = waiting[enough]
            if not len(waiting) or self.clock.is_up():
                self.spent = True
                return
            total = np.cumsum(size[waiting])
            together = max(1, int(np.searchsorted(total, self._at_once(), side="right")))
            count = min(together, int(np.searchsorted(total, left, side="right")))
            planned += int(total[count - 1])
            self.meter.promised = int(total[count - 1])
            yield waiting[:count]
            waiting = waiting[count:]

    def _rows_left(self) -> float:
        """How many rows may still be sent for points; kept, so that a replay leaves out the same people."""
        if not self.meter.limited:
            return inf
        number, self._looks = self._looks, self._looks + 1
        rows = once(self.clock.journal, f"queries {number}", lambda: {"rows": self.meter.rows})["rows"]
        self.meter.was(rows)
        left = (1.0 - RESERVE) * self.meter.queries - float(rows)
        return left - min(left // 5, AGAIN)

    def _at_once(self) -> float:
        """How many points are looked at together."""
        return _CHUNK if isinf(self.clock.seconds) else min(_CHUNK, max(_FIRST_TIMED, self.sampler.points))


@dataclass(frozen=True, slots=True, eq=False)
class PointCounts:
    """The counts of some people's points.

    Attributes
    ----------
    n, successes
        For each of them, how many points were looked at, and how many have the target prediction.
    distinct
        How many rows the model was queried about.
    alike
        Whether it is still worth looking for duplicate points.
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
    def unpack(cls, entry: Entry, people: int) -> PointCounts:
        """From plain values."""
        n, successes = (unpacked(entry[key], people).astype(np.float64) for key in ("n", "successes"))
        return cls(n, successes, entry["distinct"], entry["alike"])


def _round_key(number: int, part: int) -> str:
    return f"round {number} part {part}"


@dataclass(slots=True)
class PointSampler:
    """Looks at points, and counts them and the rows that the model was queried about."""

    setup: ResponsivenessSetup
    points: int = 0
    distinct: int = 0
    _alike: bool = field(init=False)
    _listings: int = 0
    _recalled: list[tuple[Callable[[], PointCounts], PointCounts]] = field(default_factory=list)

    def __post_init__(self) -> None:
        # An answer at random about one point says nothing about another one, even an equal one.
        self._alike = not self.setup.check.random_model

    def listed(self, who: Indices) -> PointCounts:
        """Look at all points that some people can reach."""
        number, self._listings = self._listings, self._listings + 1
        listed = partial(self._list, who)
        return self._counts(f"listing {number}", listed, self.setup.reach.counts[who], listed)

    def drawn_portions(
        self, portions: Iterator[Indices], size: int, number: int
    ) -> Iterator[tuple[Indices, PointCounts]]:
        """Look at ``size`` draws for each person of a numbered round, portion by portion.

        Where time is not limited, workers draw all portions that are not in the journal at once. At the end of the
        round, other workers repeat some of their questions.
        """
        journal, fresh, handed = self.setup.check.journal, list[Iterator[DrawnPortion]](), list[Handed]()
        budget = self.setup.check.budget
        if isinf(budget.seconds) and isinf(budget.queries) and self.setup.check.pool is not None:
            listed = list(portions)
            portions, new = iter(listed), []
            for part, who in enumerate(listed):
                if journal.recall(_round_key(number, part)) is None:
                    new.append((who, part))
            if len(new) > 1 and self.setup.workers is not None:
                begun = self.setup.workers.drawn(new, size, number)
                fresh = [] if begun is None else [begun]
        for part, who in enumerate(portions):
            yield who, self._drawn(who, size, number, part, fresh, handed)
        self.setup.check.required_model.take_over(handed)

    def _drawn(
        self,
        who: Indices,
        size: int,
        number: int,
        part: int,
        fresh: list[Iterator[DrawnPortion]],
        handed: list[Handed],
    ) -> PointCounts:
        def draw() -> PointCounts:
            try:
                portion = next(fresh[0]) if fresh else None
            except UnreliableModelError:
                raise
            except IsonomiaError:
                portion = None  # unless it is a problem of the worker, it happens again here
                fresh.clear()
            if portion is None:
                return self._draw(who, size, number, part)
            count(*portion.queries)
            handed.extend([] if portion.handed is None else [portion.handed])
            # Once looking for duplicate points was not worth it, it is not tried again.
            distinct = portion.distinct if self._alike else len(who) * size
            alike = self._alike and portion.alike
            return PointCounts(np.full(len(who), float(size)), portion.successes, distinct, alike)

        alone = partial(self._draw, who, size, number, part)
        return self._counts(_round_key(number, part), draw, np.full(len(who), float(size)), alone)

    def _counts(
        self, key: str, measure: Callable[[], PointCounts], n: Floats, alone: Callable[[], PointCounts]
    ) -> PointCounts:
        """The counts of some people's points; a record that does not have ``n`` points of each person is refused.

        Before the first counts of a check that resumes, some that were recalled are measured again ``alone``.
        """
        journal = self.setup.check.journal
        entry = journal.recall(key)
        if entry is not None:
            counts = PointCounts.unpack(entry, len(n))
            self._recalled.append((alone, counts))
        else:
            self._refuse_changed()
            counts = measure()
            journal.keep(key, counts.pack)
        self.points += int(counts.n.sum())
        self.distinct += counts.distinct
        self._alike = counts.alike
        if (counts.n == n).all() and (counts.successes <= counts.n).all():
            return counts
        raise DataError(f"expected as many points of each person as were looked at, but {key} of the record has others")

    def _refuse_changed(self) -> None:
        """Look at the fewest recalled points again, at least ``REPEATED``, and refuse a model that changed."""
        recalled, self._recalled = sorted(self._recalled, key=lambda item: item[1].n.sum()), []
        watched, points = self.setup.check.required_model.steady, 0
        for measure, counts in recalled if watched is not None else ():
            if not np.array_equal(measure().successes, counts.successes):
                raise changed_since(f"{int(counts.n.sum()):,} points")
            points += int(counts.n.sum())
            if points >= REPEATED:
                break
        if watched is not None:
            watched.again += points

    def _list(self, who: Indices) -> PointCounts:
        points = self.setup.sets.points(who)
        hits, distinct, alike = self._hits(points)
        everybody = len(self.setup.sets)
        n, successes = (np.bincount(owner, minlength=everybody)[who] for owner in (points.owner, points.owner[hits]))
        return PointCounts(n.astype(np.float64), successes.astype(np.float64), distinct, alike)

    def _draw(self, who: Indices, size: int, number: int, part: int) -> PointCounts:
        rng = batch_rng(self.setup.check.seed, number, part)
        hits, distinct, alike = self._hits(self.setup.sets.sample(size, rng, who.tolist()))
        successes = hits.reshape(len(who), size).sum(axis=1)
        return PointCounts(np.full(len(who), float(size)), successes.astype(np.float64), distinct, alike)

    def _hits(self, points: Points) -> tuple[NDArray[np.bool_], int, bool]:
        """Which points have the target prediction, how many rows were queried, and whether duplicates are likely."""
        target = self.setup.target
        target.alike, before = self._alike, target.distinct
        with current_meter().untimed():  # the time was checked when these points were planned
            hits = target(points)
        return hits, target.distinct - before, target.alike
