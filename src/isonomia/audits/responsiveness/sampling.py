"""Looking at what people can reach: all points where they are few, else rounds of draws until it is decided.

The loop is the engine's. Its steps are planned here: a listing of everything that some people can reach, or a round of
draws for all undecided people. The counts of each portion of people are kept in the journal, so that it is done
once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf, isinf
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.protocol import Check
from isonomia.audits.responsiveness.points import DrawnPortion, PointCounts, TargetTest, begin_draws, count_draws
from isonomia.audits.responsiveness.setup import ResponsivenessSetup, errors_by_row_of_table, packed, unpacked
from isonomia.audits.responsiveness.shares import DecisionRule, PointsByPerson
from isonomia.engine.loop import AGAIN, REPEATED, Outcome, Steps, changed_since, run_steps
from isonomia.engine.parameters import Observer, batch_rng
from isonomia.errors import DataError, IsonomiaError, UnreliableModelError
from isonomia.models.meter import QueryMeter, count, current_meter
from isonomia.models.steady import SteadinessReport
from isonomia.records.journal import Entry, TimeLimit, once
from isonomia.records.verdict import Expression
from isonomia.spec.responsiveness import Responsiveness

Indices: TypeAlias = NDArray[np.intp]
Floats: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]

_CHUNK = 200_000
"""How many points are sent to the model together; it bounds the memory."""
_FIRST_TIMED = 1_000
"""How many points are sent to the model together at first, where time is limited."""
_FIRST, _GROWTH = 8, 1.25
"""The draws of the first round, and the factor by which each later one increases the total; any sizes are valid."""
RESERVE = 0.1
"""The share of a query budget that is left for counterexamples."""
_STILL_LISTED = 100_000
"""A person with as many draws as points is decided by looking at all points, if there are at most this many."""


def sample_people(
    check: Check[Responsiveness],
    setup: ResponsivenessSetup,
    sampler: PointSampler,
    observer: Observer,
    rule: DecisionRule,
    compare: Callable[[PointsByPerson], Expression | None],
) -> Outcome[PointsByPerson]:
    """Look at what people can reach until the claim is decided, or the budget is spent, on the first people.

    ``compare`` gives the quantity of a claim about all people together, from counts; ``None`` where the claim is about
    each person, and all must be decided.

    The reason of the outcome is ``"decided"``, ``"budget"`` (in points or in time), ``"exhausted"`` where the draws
    that a person may have are used up, or ``"interrupted"``.
    """
    budget = PointBudget(check.budget.samples, TimeLimit(check.budget.seconds, check.journal, "time"), sampler)
    work = ResponsivenessWork(setup, sampler, rule, budget, compare)
    counts = PointsByPerson.empty(len(setup.few), ~setup.few)
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
class PointListing:
    """Look at everything that some people can reach."""

    who: Indices


@dataclass(frozen=True, slots=True, eq=False)
class DrawRound:
    """Draw ``size`` points for each of some people."""

    who: Indices
    number: int
    size: int


@dataclass(frozen=True, slots=True, eq=False)
class StepCounts:
    """The counts of a step, portion by portion of its people."""

    step: PointListing | DrawRound
    portions: list[tuple[Indices, PointCounts]]


@dataclass(frozen=True, slots=True)
class ResponsivenessWork:
    """What the engine's loop runs."""

    setup: ResponsivenessSetup
    sampler: PointSampler
    rule: DecisionRule
    budget: PointBudget
    compare: Callable[[PointsByPerson], Expression | None]

    def steps(self, counts: PointsByPerson) -> Steps[PointListing | DrawRound, PointsByPerson]:
        """List people with few points; draw from others until they are decided, or list them once that is no more work.

        A person with as many draws as points could as well have been listed.
        """
        prop, reach = self.setup.check.prop, self.setup.reach
        for who in self.budget.portions(np.flatnonzero(~counts.family), reach.counts):
            counts = yield PointListing(who)
        for number, size in enumerate(_round_sizes(prop, self.setup.check.population.kind == "sample")):
            if self._settled(counts):
                return "decided"
            if not self.rule.fixed and not prop.average:
                small = reach.listable(_STILL_LISTED) & counts.undecided & (counts.n >= reach.counts)
                for who in self.budget.portions(np.flatnonzero(small), reach.counts):
                    counts = yield PointListing(who)
            undecided = np.flatnonzero(counts.undecided)
            if self.budget.spent or not len(undecided):
                break
            counts = yield DrawRound(undecided, number, size)
        if self._settled(counts):
            return "decided"
        if self.budget.spent:
            return "budget"
        return "exhausted" if counts.undecided.any() else "decided"

    def _settled(self, counts: PointsByPerson) -> bool:
        compared = self.compare(counts)
        return compared is not None and compared.settled is not None

    def measure(self, step: PointListing | DrawRound) -> StepCounts:
        """Look at the points of a step.

        People whom the budget no longer covers in a round keep their earlier evidence. Who that is depends only on what
        was seen before, and evidence is valid whenever one stops, so the guarantee is not affected.
        """
        match step:
            case PointListing(who):
                return StepCounts(step, [(who, self.sampler.listed(who))])
            case DrawRound(who, number, size):
                portions = self.budget.portions(who, np.full(len(self.setup.reach.counts), float(size)))
                return StepCounts(step, list(self.sampler.drawn_portions(portions, size, number)))

    def absorb(self, counts: PointsByPerson, reading: StepCounts) -> PointsByPerson:
        """Add the counts; after a round, decide all people whom the evidence decides."""
        match reading.step:
            case PointListing():
                for who, points in reading.portions:
                    counts = counts.listed(who, points, self.rule)
                return counts
            case DrawRound(everyone, number, size):
                if self.setup.check.prop.average:
                    # In later rounds, all people have equally many draws, or the average would lean to some.
                    whole = sum(len(who) for who, _ in reading.portions) == len(everyone)
                    for who, points in reading.portions if whole or not number else ():
                        counts = counts.drawn(who, size, points.successes, self.rule)
                    return counts
                for who, points in reading.portions:
                    counts = counts.drawn(who, size, points.successes, self.rule)
                return counts.decided(self.rule)

    def asked(self, reading: StepCounts) -> int:
        """How many points a step had."""
        return sum(int(points.n.sum()) for _, points in reading.portions)

    def share(self, counts: PointsByPerson) -> float:
        """The share of people who are decided."""
        return 1.0 - int(counts.undecided.sum()) / len(counts.n)

    def progress_text(self, counts: PointsByPerson) -> str:
        """How many people are decided."""
        people = len(counts.n)
        return f"{people - int(counts.undecided.sum()):,} of {people:,} people decided"

    def compared(self, counts: PointsByPerson) -> Expression | None:
        """The quantity of a claim about all people together; nothing where each person has a share."""
        return self.compare(counts)


_DRAWS_FOR_AVERAGE = 20
"""The draws of each person of a sample whose average is asked for: how people differ then matters more than chance."""


def _round_sizes(prop: Responsiveness, sample: bool) -> Iterator[int]:
    """How many draws each round has for one person; an average over a sample has one round."""
    if prop.draws is not None or (prop.average and sample):
        yield prop.draws or min(_DRAWS_FOR_AVERAGE, prop.most_draws)
        return
    total = 0
    while total < prop.most_draws:
        size = min(max(_FIRST, round(total * (_GROWTH - 1.0))), prop.most_draws - total)
        total += size
        yield size


@dataclass(slots=True)
class PointBudget:
    """What may still be spent, in points and in time.

    ``spent`` says that people were left out because nothing was left for them.
    """

    samples: float
    clock: TimeLimit
    sampler: PointSampler
    spent: bool = False
    meter: QueryMeter = field(default_factory=current_meter)
    _looks: int = 0

    def portions(self, who: Indices, size: Floats) -> Iterator[Indices]:
        """People in portions that are looked at together, in order, without those for whom too little is left.

        ``size`` has, for all people and not only ``who``, how many points are to be looked at. Once people were left
        out, later calls give none. Where time is limited, portions start small: a portion takes hardly longer than
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


def _entry_of(counts: PointCounts) -> Entry:
    """Counts as plain values."""
    entry = {"n": packed(counts.n), "successes": packed(counts.successes)}
    weighed = {} if counts.share is None else {"share": packed(counts.share)}
    return {**entry, **weighed, "distinct": counts.distinct, "alike": counts.alike}


def _counts_of(entry: Entry, people: int) -> PointCounts:
    """Counts from plain values."""
    n, successes = (unpacked(entry[key], people).astype(np.float64) for key in ("n", "successes"))
    share = unpacked(entry["share"], people).astype(np.float64) if "share" in entry else None
    return PointCounts(n, successes, entry["distinct"], entry["alike"], share)


def _may_be_shares(counts: PointCounts) -> bool:
    """Whether the probabilities of the target, if there are any, fit the counts of points."""
    if counts.share is None:
        return True
    none, every = counts.successes == 0, counts.successes == counts.n
    inside = (counts.share > 0) & (counts.share <= 1.0)
    return bool(np.where(none, counts.share == 0, inside & (~every | (counts.share > 1.0 - 1e-9))).all())


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
        check, begun, handed = self.setup.check, list[Iterator[DrawnPortion]](), list[SteadinessReport]()
        if isinf(check.budget.seconds) and isinf(check.budget.queries) and check.pool is not None:
            listed = list(portions)
            new = [
                (who, part) for part, who in enumerate(listed) if check.journal.recall(_round_key(number, part)) is None
            ]
            portions = iter(listed)
            if len(new) > 1 and self.setup.shared is not None:
                drawn = begin_draws(check.pool, self.setup.shared, new, size, number)
                begun = [] if drawn is None else [drawn]
        for part, who in enumerate(portions):
            alone = partial(self._draw, who, size, number, part)
            draw = partial(self._drawn, begun, handed, alone)
            yield who, self._counts(_round_key(number, part), draw, np.full(len(who), float(size)), alone)
        check.required_model.take_over(handed)

    def _drawn(
        self, begun: list[Iterator[DrawnPortion]], handed: list[SteadinessReport], alone: Callable[[], PointCounts]
    ) -> PointCounts:
        """The next counts of the workers; those of this process ``alone`` without workers."""
        try:
            portion = next(begun[0]) if begun else None
        except UnreliableModelError:
            raise
        except IsonomiaError:
            portion = None  # unless it is a problem of the worker, it happens again here
            begun.clear()
        if portion is None:
            return alone()
        count(*portion.queries)
        handed.extend([] if portion.handed is None else [portion.handed])
        if self._alike:
            return portion.counts
        # Once looking for duplicate points was not worth it, it is not tried again.
        return replace(portion.counts, distinct=int(portion.counts.n.sum()), alike=False)

    def _counts(
        self, key: str, measure: Callable[[], PointCounts], n: Floats, alone: Callable[[], PointCounts]
    ) -> PointCounts:
        """The counts of some people's points; a record that does not have ``n`` points of each person is refused.

        Before the first counts of a check that resumes, some that were recalled are measured again ``alone``.
        """
        journal = self.setup.check.journal
        entry = journal.recall(key)
        if entry is not None:
            counts = _counts_of(entry, len(n))
            self._recalled.append((alone, counts))
        else:
            self._refuse_changed()
            counts = measure()
            journal.keep(key, partial(_entry_of, counts))
        self.points += int(counts.n.sum())
        self.distinct += counts.distinct
        self._alike = counts.alike
        if (counts.n == n).all() and (counts.successes <= counts.n).all() and _may_be_shares(counts):
            return counts
        raise DataError(f"expected the number of points checked for each person, but {key} of the record has others")

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
        with errors_by_row_of_table(self.setup.members.rows):
            points, target, people = self.setup.sets.points(who), self._target(), len(self.setup.sets)
        before = target.distinct
        with current_meter().untimed():  # the time was checked when these points were planned
            hits = target(points)
        n, successes = (np.bincount(owner, minlength=people)[who] for owner in (points.owner, points.owner[hits]))
        share = None
        if points.weights is not None:
            share = np.minimum(np.bincount(points.owner[hits], points.weights[hits], minlength=people)[who], 1.0)
        new = target.distinct - before
        return PointCounts(n.astype(np.float64), successes.astype(np.float64), new, target.alike, share)

    def _draw(self, who: Indices, size: int, number: int, part: int) -> PointCounts:
        rng = batch_rng(self.setup.check.seed, number, part)
        with errors_by_row_of_table(self.setup.members.rows):
            points = self.setup.sets.sample(size, rng, who.tolist())
        with current_meter().untimed():
            return count_draws(self._target(), points, len(who))

    def _target(self) -> TargetTest:
        self.setup.target.alike = self._alike
        return self.setup.target
