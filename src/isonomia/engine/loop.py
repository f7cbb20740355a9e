"""The loop: batches are measured in any order and absorbed in theirs, until decided or out of budget."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Generic, Protocol, TypeVar

from isonomia.engine.budget import Budget
from isonomia.engine.observer import Observer, Progress
from isonomia.engine.schedule import Schedule
from isonomia.errors import UsageError

__all__ = ["Outcome", "Plan", "Work", "run"]

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
        """Draw and ask: a pure function of the plan, so that batches may be measured in any order."""
        ...

    def absorb(self, state: State, reading: Reading) -> State:
        """Take in the next batch, in the order of the plans."""
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


def run(
    work: Work[Reading, State],
    schedule: Schedule,
    budget: Budget,
    observer: Observer,
    *,
    available: float = float("inf"),
    workers: int = 1,
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
    workers
        How many batches may be measured side by side, in threads. The outcome does not depend on it. With several
        streams batches are measured one by one, since what was seen decides how the next draws are spread.
    clock
        Where the time comes from.
    """
    _check_workers(workers)
    began = clock()
    state, samples = work.begin(), 0
    most = min(budget.samples, available)
    reason = "exhausted" if available <= budget.samples else "budget"
    if len(work.shares(state)) > 1:
        workers = 1
    try:
        # The spread is asked for when a batch is planned, and then the latest state is the one that counts.
        plans = _plans(schedule, most, lambda: work.shares(state))
        for reading in _readings(work.measure, plans, workers):
            state = work.absorb(state, reading)
            samples += work.asked(reading)
            elapsed = clock() - began
            observer.advance(Progress(samples, most, work.share(state), elapsed, partial(work.closing_in, state)))
            if work.decided(state):
                reason = "decided"
                break
            if elapsed >= budget.seconds:
                reason = "time"
                break
    except KeyboardInterrupt:
        reason = "interrupted"
    return Outcome(state, samples, reason, clock() - began)


def _plans(schedule: Schedule, most: float, spread: Callable[[], tuple[float, ...]]) -> Iterator[Plan]:
    start, reconsider = 0, 0
    shares: tuple[float, ...] = ()
    for index, size in enumerate(schedule.sizes()):
        n = int(min(size, most - start))
        if n <= 0:
            return
        if start >= reconsider:
            shares, reconsider = spread(), max(2 * start, 64)
        yield Plan(index, start, n, shares)
        start += n


def _check_workers(workers: int) -> None:
    if isinstance(workers, bool) or not isinstance(workers, int) or workers < 1:
        raise UsageError(f"expected workers as a whole number of at least 1, but workers={workers!r} came")


def _readings(measure: Callable[[Plan], Reading], plans: Iterable[Plan], workers: int) -> Iterator[Reading]:
    """Measure the plans, giving the readings in the plans' order."""
    if workers == 1:
        yield from map(measure, plans)
        return
    # Threads measure ahead of what is absorbed; what was measured in vain when the decision falls is thrown away.
    with ThreadPoolExecutor(max_workers=workers) as pool:
        ahead: deque[Future[Reading]] = deque()
        try:
            for plan in plans:
                ahead.append(pool.submit(measure, plan))
                if len(ahead) > workers:
                    yield ahead.popleft().result()
            while ahead:
                yield ahead.popleft().result()
        finally:
            for waiting in ahead:
                waiting.cancel()
