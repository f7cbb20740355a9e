"""The one loop of all audits: measure a step, absorb it, and repeat until decided or out of budget.

Most audits measure batches (:func:`run`). A :class:`Schedule` fixes the size of each batch before its people are seen,
from how far the evidence has come. An audit that does not work in batches plans its own steps (:func:`run_steps`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf, isclose, isinf
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

import numpy as np

from isonomia.engine.lookahead import Lookahead, LooksAhead
from isonomia.engine.parameters import Budget, Observer, Progress
from isonomia.errors import ChangingModelError, DataError
from isonomia.models.meter import BudgetSpentError, QueryMeter, current_meter
from isonomia.models.steady import Steadiness
from isonomia.populations.protocol import BatchSizes
from isonomia.records.journal import BY_ROW, Entry, Journal, MissingEntryError, NullJournal, once, recall_if_any
from isonomia.records.verdict import Expression

CAUTION = 3.0
"""A batch takes at most one ``CAUTION``-th of the samples that seem to be missing, but never less than the minimum."""


AGAIN = 32
"""How many rows of a query budget are kept for second questions in the first batch, where that is at most a fifth."""


SPENT = "spent"
"""The journal key of the batch that the budget ended."""


RECONSIDER = 1.2
"""The total must grow by this factor before the spread over the streams is computed again, which takes time. From then
on, groups that are decided get no more people."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """Batches that are large while a decision is far away, and small when it is near.

    A decision can come only at the end of a batch, so small batches save people. Each batch has a fixed cost in time,
    so large batches save time. Sizes may depend on everything seen before, and on nothing seen later: that is all the
    guarantees require.

    Attributes
    ----------
    first
        The size of the first batches.
    growth
        Near the decision, each batch makes the total this many times as large; about half of ``growth - 1`` is wasted.
    early
        Far from the decision, each batch makes the total at most this many times as large: bets are only as good as the
        estimate from earlier batches.
    most
        The largest batch size, which bounds the memory.
    ends
        Totals at which a batch must end, in increasing order; sampling stops at the last. If there are any, batches are
        as large as they allow, whatever was seen.
    borders
        Totals at which a batch must end besides, in increasing order: where the table ended at earlier looks. Then the
        batches of every earlier look are the first ones of this.
    whole
        Whether a batch that the end of the table or of the budget would cut short is left out. Then no batch depends on
        the number of rows, and a longer table begins with the same batches.
    """

    first: int = 8
    growth: float = 1.01
    early: float = 1.08
    most: int = 2**18
    ends: tuple[int, ...] = ()
    borders: tuple[int, ...] = ()
    whole: bool = False

    def size(self, total: int, share: float) -> int:
        """The size of the next batch.

        Parameters
        ----------
        total
            How many people came before it.
        share
            How far the evidence has come, from 0 to 1. Evidence grows in proportion to the number of people, so about
            ``(1 - share) / share * total`` are still missing.
        """
        if self.ends:
            return min(next((end for end in self.ends if end > total), total) - total, self.most)
        missing = total * (1.0 - share) / share if share > 0 else float("inf")
        least, largest = (self.growth - 1.0) * total, (max(self.early, self.growth) - 1.0) * total
        wanted = min(max(missing / CAUTION, least), largest)
        border = next((border for border in self.borders if border > total), None)
        room = self.most if border is None else min(self.most, border - total)
        return min(max(self.first, int(wanted)), room)

    def along(self, looks: Sequence[int], *, whole: bool = False) -> Schedule:
        """The schedule for a table that had so many rows at earlier looks, or whose earlier looks are not on record.

        Whole batches grow by ``growth`` from the start, so that at the end of a table few rows are left over.
        """
        return replace(self, borders=tuple(looks), whole=whole, early=self.growth if whole else self.early)

    def of_sizes(self, sizes: BatchSizes) -> Schedule:
        """A schedule for a device, on which small batches take as long as large ones."""
        growth, early = max(self.growth, sizes.growth), max(self.early, sizes.early)
        return replace(self, first=sizes.first, growth=growth, early=early, most=sizes.most)

    def sizes(self) -> Iterator[int]:
        """The sizes of batches 0, 1, 2, ... if the decision were always near; an endless iterator."""
        total = 0
        while True:
            size = self.size(total, 1.0)
            total += size
            yield size


Step = TypeVar("Step")
Reading = TypeVar("Reading")
Reading_contra = TypeVar("Reading_contra", contravariant=True)
State = TypeVar("State")

Steps: TypeAlias = Generator[Step, State, str]
"""Yields the next step to measure, is sent the state after it, and returns the reason why it ended."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Batch number ``index``: ``n`` people, after ``start`` earlier ones.

    ``shares`` says how the people are spread over the population's streams; it is recomputed whenever the total has
    grown by a fifth since the last time.
    """

    index: int
    start: int
    n: int
    shares: tuple[float, ...]

    def by_stream(self) -> list[int]:
        """How many people come from each stream; each has its share of all so far, to within one person."""
        if len(self.shares) == 1:
            return [self.n]
        edges = np.concatenate([[0.0], np.cumsum(self.shares)])
        edges[-1] = 1.0
        # Rounding may leave a product just below a whole number; which person that moves does not matter.
        reached = np.floor(edges * (self.start + self.n) + 1e-9) - np.floor(edges * self.start + 1e-9)
        counts: list[int] = np.diff(np.maximum.accumulate(reached)).astype(int).tolist()
        return counts


@dataclass(frozen=True, slots=True)
class Outcome(Generic[State]):
    """How a run ended.

    Attributes
    ----------
    state
        The state after all absorbed batches.
    samples
        How many samples they had.
    reason
        ``"decided"``, ``"budget"``, ``"queries"``, ``"tokens"``, ``"USD"``, ``"time"``, ``"exhausted"`` or
        ``"interrupted"``.
    seconds
        The time taken.
    """

    state: State
    samples: int
    reason: str
    seconds: float


class LoopWork(Protocol, Generic[Reading_contra, State]):
    """What the loop needs of an audit, whatever its steps are."""

    def absorb(self, state: State, reading: Reading_contra) -> State:
        """Add the reading of a step to the state."""
        ...

    def asked(self, reading: Reading_contra) -> int:
        """How many samples a step actually had."""
        ...

    def share(self, state: State) -> float:
        """How far the evidence has come, from 0 to 1."""
        ...

    def progress_text(self, state: State) -> str:
        """One line on the findings so far, for a person who watches."""
        ...

    def compared(self, state: State) -> Expression | None:
        """The first compared quantity as known so far; ``None`` if the audit does not report it along the way."""
        ...


class BatchLoopWork(LoopWork[Reading, State], Protocol, Generic[Reading, State]):
    """What an audit hands to the loop that measures batches."""

    def begin(self) -> State:
        """The state before anything is absorbed."""
        ...

    def measure(self, plan: Plan) -> Reading:
        """Draw people and query the model: a pure function of the plan."""
        ...

    def shares(self, state: State) -> tuple[float, ...]:
        """How the next draws should be spread over the population's streams."""
        ...

    def decided(self, state: State) -> bool:
        """Whether to stop."""
        ...

    def pack(self, reading: Reading) -> Entry:
        """A reading as a journal keeps it."""
        ...

    def unpack(self, entry: Entry) -> Reading:
        """The reading that was packed."""
        ...


def run(
    work: BatchLoopWork[Reading, State],
    schedule: Schedule,
    budget: Budget,
    observer: Observer,
    *,
    available: float = inf,
    counted: str = "people",
    journal: Journal = NullJournal(),  # noqa: B008  (it has no state)
    steady: Steadiness | None = None,
    ahead: LooksAhead[Plan, Reading] | None = None,
    rows: int = 1,
    reserve: float = 0.0,
    first: bool = True,
    clock: Callable[[], float] | None = None,
) -> Outcome[State]:
    """Run batches until the work is decided, the population or the budget is used up, or the user presses Ctrl-C.

    Parameters
    ----------
    work
        What to measure and when to stop.
    schedule, budget, observer
        How large batches are, what they may cost in total, and who watches.
    available
        How many people the population has.
    counted
        What one sample is, for the observer: people, pairs of them, or cases.
    journal
        Where batches are kept, and from where those already kept are taken.
    steady
        The watch for changed answers of the model. Where a check with a watch resumes, some batches are measured again.
    ahead
        Lets workers start on batches before they are needed; ``None`` where there are no workers. Where the number of
        rows is limited, nothing is begun that may not be needed.
    rows
        How many rows one sample sends to the model.
    reserve
        Which share of a limited number of rows is left for later steps.
    first
        Whether the first batch is measured whatever the time.
    clock
        Where the time comes from; ``time.monotonic`` by default.
    """
    stopwatch, state, meter = _Stopwatch(clock or time.monotonic), work.begin(), current_meter()
    ahead = None if meter.limited else ahead
    foresight = None if ahead is None else Lookahead(ahead, work.measure, lambda plan: plan.n)
    readings = _Readings(work, journal, steady, stopwatch, meter, foresight, first)
    rate = _RowRate(meter, rows, (1.0 - reserve) * meter.queries, journal)
    batches = _batches(work, state, schedule, budget, available, journal, stopwatch, rate, foresight)
    max_samples = min(budget.samples, available)
    try:
        with meter.at_most(rate.limit - meter.rows):
            return run_steps(
                work,
                state,
                batches,
                readings.of,
                observer,
                elapsed=stopwatch.elapsed,
                most=max_samples,
                counted=counted,
                unused=(lambda: 0) if foresight is None else (lambda: foresight.not_needed),
            )
    finally:
        if foresight is not None:
            foresight.drop()


def run_steps(
    work: LoopWork[Reading, State],
    state: State,
    steps: Steps[Step, State],
    measure: Callable[[Step], Reading],
    observer: Observer,
    *,
    elapsed: Callable[[], float],
    most: float = inf,
    counted: str = "people",
    unused: Callable[[], int] = lambda: 0,
    interruptions: tuple[type[BaseException], ...] = (KeyboardInterrupt, MissingEntryError),
) -> Outcome[State]:
    """Measure and absorb one step after the other, starting from ``state``, until the steps end or are interrupted.

    Parameters
    ----------
    work, state
        How readings are absorbed, and the state to start from.
    steps, measure
        Which steps there are, and how to get the reading of one.
    observer, elapsed, most, counted, unused
        Who watches, and what is shown: the time taken, how many samples there can be, what they are, and how many were
        queried ahead without being needed.
    interruptions
        Exceptions that end the run without an error; the step during which one is raised is not absorbed.
    """
    samples = 0
    try:
        step, reason = _next_step(steps, None)
        while step is not None:
            reading = measure(step)
            state = work.absorb(state, reading)
            samples += work.asked(reading)
            words, known = partial(work.progress_text, state), partial(work.compared, state)
            observer.advance(Progress(samples, most, work.share(state), elapsed(), words, counted, known, unused()))
            step, reason = _next_step(steps, state)
    except BudgetSpentError as spent:
        reason = spent.reason
    except interruptions:
        reason = "interrupted"
    return Outcome(state, samples, reason, elapsed())


def _next_step(steps: Steps[Step, State], state: State | None) -> tuple[Step | None, str]:
    """The next step; or ``None`` and the reason for stopping."""
    try:
        return (next(steps) if state is None else steps.send(state)), ""
    except StopIteration as end:
        return None, str(end.value)


@dataclass(slots=True)
class _Stopwatch:
    """The time spent measuring, in this run and in the runs that it resumes."""

    clock: Callable[[], float]
    before: float = 0.0
    began: float = field(init=False)

    def __post_init__(self) -> None:
        self.began = self.clock()

    def elapsed(self) -> float:
        return self.before + self.clock() - self.began

    def was(self, elapsed: float) -> None:
        self.before, self.began = elapsed, self.clock()


@dataclass(slots=True)
class _RowRate:
    """How many samples the rest of the rows allows, going by what samples have cost so far.

    Attributes
    ----------
    meter
        Counts the rows.
    rows
        How many rows one sample sends, not counting the rows that are queried twice.
    limit
        The maximum number of rows that may be sent in all.
    journal
        Where the rows before the first batch are kept, so that a replay plans the same batches.
    """

    meter: QueryMeter
    rows: int
    limit: float
    journal: Journal
    _before: int = field(init=False)

    def __post_init__(self) -> None:
        if self.meter.limited:
            before = once(self.journal, "queries before", lambda: {"rows": self.meter.rows, **self.meter.ledger})
            self.meter.was(before["rows"], before)
        self._before = self.meter.rows

    def affordable(self, samples: int) -> float:
        """How many samples are covered, after ``samples`` earlier ones."""
        if not self.meter.limited:
            return inf
        covered = self.meter.covered // self.rows if self.meter.covered < inf else inf
        return min(covered, self._by_rows(samples)) if self.meter.queries < inf else covered

    def _by_rows(self, samples: int) -> float:
        left = self.limit - self.meter.rows
        if not samples:  # nothing is known yet of second questions
            return (left - min(left // 5, AGAIN)) // self.rows
        return left // max(self.rows, (self.meter.rows - self._before) / samples)


def _batches(
    work: BatchLoopWork[Reading, State],
    state: State,
    schedule: Schedule,
    budget: Budget,
    available: float,
    journal: Journal,
    stopwatch: _Stopwatch,
    rate: _RowRate,
    foresight: Lookahead[Plan, Reading] | None = None,
) -> Steps[Plan, State]:
    """Plan one batch after the other; what was seen so far decides its size and how it is spread."""
    index, start, reconsider = 0, 0, 0
    shares: tuple[float, ...] = ()
    while True:
        wanted, affordable = schedule.size(start, work.share(state)), rate.affordable(start)
        n = int(min(wanted, min(budget.samples, available) - start, affordable))
        if n <= 0 or (schedule.whole and n < wanted):
            if affordable < min(wanted, max(min(budget.samples, available) - start, 1)):
                return rate.meter.scarce
            return "exhausted" if start + n >= available else "budget" if start + n >= budget.samples else "queries"
        if start >= reconsider:
            shares, reconsider = work.shares(state), max(int(RECONSIDER * start), 64)
        plan = Plan(index, start, n, shares)
        if foresight is not None:
            limit = min(budget.samples, available)
            foresight.expect(plan, start, partial(_coming, schedule, work.share(state), start, limit, reconsider))
        rate.meter.promised = n * rate.rows
        state = yield plan
        rate.meter.promised = 0
        if work.decided(state):
            return "decided"
        if _out_of_time(budget, index, journal, stopwatch):
            return "time"
        index, start = index + 1, start + n


SURE = 1.5
"""Sizes of later batches count as certain if evidence growing up to this factor faster would not change them. A wrong
size costs time, and nothing else."""


def _coming(schedule: Schedule, share: float, total: int, limit: float, reconsider: int, plan: Plan) -> Iterator[Plan]:
    """The batches after ``plan``, as long as their sizes hardly depend on what will be seen and no decision is near."""
    while True:
        start = plan.start + plan.n
        expected = share * start / total if total else share
        sizes = {schedule.size(start, guess) for guess in (share, min(SURE * expected, 1.0))}
        n = int(min(*sizes, limit - start))
        cut_short = schedule.whole and n not in sizes
        again = len(plan.shares) > 1 and start >= reconsider
        if len(sizes) > 1 or n <= 0 or cut_short or expected >= 1.0 or again:
            return
        plan = Plan(plan.index + 1, start, n, plan.shares)
        yield plan


def _out_of_time(budget: Budget, index: int, journal: Journal, stopwatch: _Stopwatch) -> bool:
    """Whether the time is up; kept, so that a resumed or replayed run stops where the first one did."""
    if isinf(budget.seconds):
        return False
    return bool(once(journal, f"time {index}", lambda: {"up": stopwatch.elapsed() >= budget.seconds})["up"])


REPEATED = 32
"""How many samples are measured again, at least, before a check that resumes continues. A model that would now answer a
share q of all rows differently goes unnoticed with probability at most about ``(1 - q) ** REPEATED``."""


@dataclass(slots=True)
class _Readings(Generic[Reading, State]):
    """The readings of batches: recalled where the journal has them, else measured and kept."""

    work: BatchLoopWork[Reading, State]
    journal: Journal
    steady: Steadiness | None
    stopwatch: _Stopwatch
    meter: QueryMeter
    foresight: Lookahead[Plan, Reading] | None
    first: bool
    recalled: dict[Plan, Entry] = field(default_factory=dict)

    def of(self, plan: Plan) -> Reading:
        """The reading of a batch. That the budget ended a batch is kept, too, so that a replay ends there."""
        limited = self.meter.limited or self.meter.seconds < inf
        spent = recall_if_any(self.journal, SPENT) if limited else None
        if spent is not None and spent["batch"] == plan.index:
            raise BudgetSpentError(spent["reason"])
        entry = self.journal.recall(f"batch {plan.index}")
        if entry is not None:
            return self._recalled(plan, entry)
        try:
            self._refuse_changed()
            reading = self._measured(plan)
        except BudgetSpentError as error:
            reason = error.reason
            self.journal.keep(SPENT, lambda: {"batch": plan.index, "reason": reason})
            raise
        self.journal.keep(f"batch {plan.index}", lambda: {**self._costs(plan), **self.work.pack(reading)})
        return reading

    def _recalled(self, plan: Plan, entry: Entry) -> Reading:
        if entry["n"] != plan.n:
            raise DataError(
                f"expected {plan.n:,} people in batch {plan.index} of the record, but it has {entry['n']:,}: it was "
                "made by another check, or by another version. Begin a new run"
            )
        if self.foresight is not None:
            self.foresight.known()
        self.stopwatch.was(float(entry["seconds"]))
        self.recalled[plan] = entry
        reading = self.work.unpack(entry)
        self.meter.was(int(entry.get("queries", 0)), entry)
        return reading

    def _measured(self, plan: Plan) -> Reading:
        measure = self.work.measure if self.foresight is None else self.foresight.measure
        with self.meter.untimed() if self.first and not plan.index else nullcontext():
            return measure(plan)

    def _costs(self, plan: Plan) -> Entry:
        return {"n": plan.n, "seconds": self.stopwatch.elapsed(), "queries": self.meter.rows, **self.meter.ledger}

    def _refuse_changed(self) -> None:
        """Before the first new batch, measure the smallest of the recalled ones again, and refuse changed answers."""
        recalled, self.recalled = self.recalled, {}
        if self.steady is None:
            return
        samples = 0
        for plan in sorted(recalled, key=lambda plan: (plan.n, plan.index)):
            with self.meter.untimed():
                again, before = self.work.pack(self.work.measure(plan)), recalled[plan]
            if any(not _alike(again[name], before.get(name)) for name in again if name != BY_ROW):
                raise changed_since(f"the {plan.n:,} samples of batch {plan.index}")
            samples += plan.n
            if samples >= REPEATED:
                break
        self.steady.again += samples


def changed_since(what: str) -> ChangingModelError:
    """The error that the model answers differently than before a check resumed; ``what`` was queried."""
    return ChangingModelError(
        f"expected the answers that this run began with, but about {what} the model answers differently now: it was "
        "changed since, or it answers at random. Begin a new run, without --resume, or if it is meant to answer at "
        "random, say so: random_model=True"
    )


def _alike(one: Any, other: Any) -> bool:
    """Whether plain values are the same but for the rounding of numbers."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_alike(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(_alike, one, other))
    if isinstance(one, float) or isinstance(other, float):
        # Coarser than any rounding of a sum, and finer than what a changed answer moves: it cannot change a verdict.
        return isclose(one, other, rel_tol=1e-6, abs_tol=1e-6)
    return bool(one == other)
