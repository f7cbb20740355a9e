"""Batch after batch; the schedule.

How large the batches are: each is fixed before its people are seen, from how far the evidence has come.

The loop: batch after batch is measured and absorbed, until decided or out of budget.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from math import isinf
from typing import Generic, Protocol, TypeVar

from isonomia.engine.budget import Budget
from isonomia.engine.journal import Blank, Keeping, NothingMoreError, once
from isonomia.engine.observer import Observer, Progress
from isonomia.errors import DataError
from isonomia.records.verdict import Expression

__all__ = ["Outcome", "Plan", "Schedule", "Work", "run"]


CAUTION = 3.0
"""A batch takes one part in so many of what seems to be missing."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """Batches that are large while a decision is far, and small when it is near.

    A decision can come only at the end of a batch, so small batches save people; each batch costs time of its own, so
    large ones save that. Sizes may depend on everything seen before, and on nothing seen later: that is all that the
    guarantees ask for.

    Attributes
    ----------
    first
        The size of the first batches.
    growth
        Near the decision, each batch makes the total this many times as large; about half of ``growth - 1`` is drawn
        in vain.
    early
        Far from it, each batch makes the total at most this many times as large: bets are only as good as the estimate
        from earlier batches.
    most
        The largest batch, which bounds the memory.
    """

    first: int = 8
    growth: float = 1.01
    early: float = 1.08
    most: int = 2**18

    def size(self, total: int, share: float) -> int:
        """The size of the next batch.

        Parameters
        ----------
        total
            How many people came before it.
        share
            How far the evidence has come, from 0 to 1. Evidence grows in proportion to people, so what is missing is
            ``(1 - share) / share`` times as many as there were.
        """
        missing = total * (1.0 - share) / share if share > 0 else float("inf")
        least, largest = (self.growth - 1.0) * total, (max(self.early, self.growth) - 1.0) * total
        wanted = min(max(missing / CAUTION, least), largest)
        return min(max(self.first, int(wanted)), self.most)

    def sizes(self) -> Iterator[int]:
        """The size of batch 0, 1, 2, ... were the decision always near, without end."""
        total = 0
        while True:
            size = self.size(total, 1.0)
            total += size
            yield size


Reading = TypeVar("Reading")
State = TypeVar("State")


@dataclass(frozen=True, slots=True)
class Plan:
    """Batch number ``index``: ``n`` people, before whom ``start`` others come.

    ``shares`` says how the people are spread over the population's streams; it is reconsidered whenever twice as many
    were asked as at the last time.
    """

    index: int
    start: int
    n: int
    shares: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Outcome(Generic[State]):
    """How a run ended.

    Attributes
    ----------
    state
        What the absorbed batches add up to.
    samples
        How many people they had.
    reason
        ``"decided"``, ``"budget"``, ``"time"``, ``"exhausted"`` or ``"interrupted"``.
    seconds
        The time taken.
    """

    state: State
    samples: int
    reason: str
    seconds: float


class Work(Protocol, Generic[Reading, State]):
    """What an audit hands to the loop."""

    def begin(self) -> State:
        """Nothing absorbed yet."""
        ...

    def measure(self, plan: Plan) -> Reading:
        """Draw and ask: a pure function of the plan."""
        ...

    def absorb(self, state: State, reading: Reading) -> State:
        """Take in the next batch."""
        ...

    def shares(self, state: State) -> tuple[float, ...]:
        """How the next draws should be spread over the population's streams."""
        ...

    def asked(self, reading: Reading) -> int:
        """How many people a batch really had."""
        ...

    def decided(self, state: State) -> bool:
        """Whether to stop."""
        ...

    def share(self, state: State) -> float:
        """How far the evidence has come, from 0 to 1."""
        ...

    def closing_in(self, state: State) -> str:
        """A line on what is known, for a person who watches."""
        ...

    def compared(self, state: State) -> Expression | None:
        """What is known of the first compared quantity; ``None`` where that is not told along the way."""
        ...


def run(
    work: Work[Reading, State],
    schedule: Schedule,
    budget: Budget,
    observer: Observer,
    *,
    available: float = float("inf"),
    counted: str = "people",
    keeping: Keeping[Reading] | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Outcome[State]:
    """Run batches until the work is decided, nothing is left, the budget is spent, or somebody presses Ctrl-C.

    Parameters
    ----------
    work
        What to measure and when to stop.
    schedule, budget, observer
        How large batches are, what they may cost in all, who watches.
    available
        How many people the population has.
    counted
        What is asked about, for who watches: people, pairs of them, or cases.
    keeping
        Where batches are kept, and taken from where they were kept before; ``None`` where they are not.
    clock
        Where the time comes from.

    Raises
    ------
    DataError
        Where the journal has a batch that this check would never have drawn.
    """
    watch = _Watch(clock)
    state, samples = work.begin(), 0
    most = min(budget.samples, available)
    reason = "exhausted" if available <= budget.samples else "budget"
    planner = _Planner(schedule, most)
    try:
        while (plan := planner.next(work, state)) is not None:
            reading = work.measure(plan) if keeping is None else _kept(work, plan, keeping, watch)
            state = work.absorb(state, reading)
            samples += work.asked(reading)
            words, known = partial(work.closing_in, state), partial(work.compared, state)
            observer.advance(Progress(samples, most, work.share(state), watch.elapsed(), words, counted, known))
            if work.decided(state):
                reason = "decided"
                break
            if _out_of_time(budget, plan, keeping, watch):
                reason = "time"
                break
    except (KeyboardInterrupt, NothingMoreError):
        reason = "interrupted"
    return Outcome(state, samples, reason, watch.elapsed())


@dataclass(slots=True)
class _Watch:
    """The time that was spent measuring, in this run and in those that it goes on from."""

    clock: Callable[[], float]
    before: float = 0.0
    began: float = field(init=False)

    def __post_init__(self) -> None:
        self.began = self.clock()

    def elapsed(self) -> float:
        return self.before + self.clock() - self.began

    def was(self, elapsed: float) -> None:
        self.before, self.began = elapsed, self.clock()


def _out_of_time(budget: Budget, plan: Plan, keeping: Keeping[Reading] | None, watch: _Watch) -> bool:
    """Whether the time is up; kept, so that who goes on from a journal stops where its writer did."""
    if isinf(budget.seconds):
        return False
    journal = Blank() if keeping is None else keeping.journal
    return bool(once(journal, f"time {plan.index}", lambda: {"up": watch.elapsed() >= budget.seconds})["up"])


def _kept(work: Work[Reading, State], plan: Plan, keeping: Keeping[Reading], watch: _Watch) -> Reading:
    """What a batch comes to: recalled where it was kept, else measured and kept."""
    key = f"batch {plan.index}"
    kept = keeping.journal.recall(key)
    if kept is None:
        reading = work.measure(plan)
        keeping.journal.keep(key, lambda: {"n": plan.n, "seconds": watch.elapsed(), **keeping.pack(reading)})
        return reading
    if kept["n"] != plan.n:
        raise DataError(
            f"expected {plan.n:,} people in batch {plan.index} of the record, but it has {kept['n']:,}: it was made by "
            "another check, or by another version. Begin anew"
        )
    watch.was(float(kept["seconds"]))
    return keeping.unpack(kept)


@dataclass(slots=True)
class _Planner:
    """Plans one batch after the other; what was seen decides their sizes and how they are spread."""

    schedule: Schedule
    most: float
    index: int = 0
    start: int = 0
    shares: tuple[float, ...] = ()
    reconsider: int = 0

    def next(self, work: Work[Reading, State], state: State) -> Plan | None:
        """The next batch, or ``None`` where nobody is left to ask."""
        n = int(min(self.schedule.size(self.start, work.share(state)), self.most - self.start))
        if n <= 0:
            return None
        if self.start >= self.reconsider:
            self.shares, self.reconsider = work.shares(state), max(2 * self.start, 64)
        plan = Plan(self.index, self.start, n, self.shares)
        self.index, self.start = self.index + 1, self.start + n
        return plan
