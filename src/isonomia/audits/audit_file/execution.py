"""The checks of an audit, run and recorded: one after the other, or in parallel lanes.

Checks that share something which only one thread may use, or whose order matters, are in one lane and run one after
the other; lanes run in parallel. Sharing a model does not force a lane, since it admits only as many callers at once as
its owner allows (:class:`isonomia.models.parallel.Guarded`); unless it answers at random, where the order of the
queries would show in the verdicts.
"""

from __future__ import annotations

import signal
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from threading import Event, Thread, current_thread, main_thread
from types import FrameType
from typing import Any, TypeAlias

from isonomia.audits.audit_file.planner import PlannedCheck
from isonomia.audits.check import run_check
from isonomia.audits.known import remember, with_known
from isonomia.audits.registry import audit_for
from isonomia.engine.observer import Observer, Progress
from isonomia.errors import ChangingModelError, IsonomiaError, RecordError
from isonomia.models.parallel import Guarded, Spread
from isonomia.models.steady import Steady
from isonomia.models.wrappers import Cached
from isonomia.populations import Census, Sample
from isonomia.populations.table import Table
from isonomia.records.store import Known, Store
from isonomia.records.verdict import Verdict

INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True)
class Failed:
    """A property that could not be checked: the kind of error, and its message."""

    kind: str
    message: str


Outcome: TypeAlias = Verdict | Failed
"""The result of a check."""


@dataclass(slots=True)
class CheckRunner:
    """Runs the checks of an audit, each when it is called with its number; lanes may call it in parallel.

    An error that Isonomia raises on purpose belongs to the check and is recorded. An error of the store concerns the
    whole run, since nothing can be kept, and is raised; so is anything unforeseen.

    Attributes
    ----------
    store, run, planned
        Where results are written, the run, and all its checks.
    observe
        Gives the observer of a check, by its number.
    known_first
        Whether counterexamples that earlier runs found are tried before anything else. They are kept in any case.
    stop
        When it is set, running checks stop after the batch in flight.
    """

    store: Store
    run: str
    planned: Sequence[PlannedCheck]
    observe: Callable[[int], Observer]
    known_first: bool = False
    stop: Event = field(default_factory=Event)
    _changed_models: dict[int, str] = field(default_factory=dict, repr=False)

    def __call__(self, number: int) -> Outcome:
        """Run a check, and record its result."""
        pool = _shared_draws(self.planned[number])
        try:
            self._refuse_changed(pool)
            verdict = self._verdict(number)
        except RecordError:
            raise
        except IsonomiaError as error:
            failed = Failed(type(error).__name__, str(error))
            changed = isinstance(error, ChangingModelError)
            if changed and pool is not None:
                self._changed_models.setdefault(pool, self.planned[number].name)
            # Answers of a model that changes them must not be used when the run is resumed.
            self.store.fail(self.run, number, failed.kind, failed.message, forget=changed)
            return failed
        if verdict.stopped != INTERRUPTED:
            self.store.conclude(self.run, number, verdict)
        return verdict

    def _verdict(self, number: int) -> Verdict:
        known, check = Known(self.store.folder), self.planned[number].check
        if self.known_first:
            check = with_known(check, known)
        journal = self.store.journal(self.run, number)
        try:
            watching = _Stoppable(self.observe(number), self.stop)
            verdict = run_check(check.with_journal(journal), watching)
        finally:
            journal.close()
        # Its remark on known counterexamples is left out: the record must follow from what was measured.
        remember(known, check, verdict)
        return verdict

    def _refuse_changed(self, pool: int | None) -> None:
        if pool in self._changed_models:
            name = self._changed_models[pool]
            raise ChangingModelError(
                f"the model changed its answers while {name!r} was checked, with which this property "
                "shares them: nothing can be said about either. Fix the model, then begin a new run"
            )


@dataclass(frozen=True, slots=True)
class _Stoppable:
    """An observer that can end a check as Ctrl-C would, which reaches only the main thread."""

    observer: Observer
    stop: Event

    def begin(self, text: str) -> None:
        self.observer.begin(text)

    def advance(self, progress: Progress) -> None:
        self.observer.advance(progress)
        if self.stop.is_set():
            raise KeyboardInterrupt

    def end(self) -> None:
        self.observer.end()


def _shared_draws(each: PlannedCheck) -> int | None:
    return None if each.check.sharing is None else id(each.check.sharing)


def lanes(planned: Sequence[PlannedCheck], numbers: Sequence[int]) -> list[list[int]]:
    """Assign checks, by their numbers, to lanes, so that no two lanes share anything that matters.

    The numbers in a lane ascend, and the lanes are in the order of their first numbers.
    """
    found: list[tuple[set[Hashable], list[int]]] = []
    for number in numbers:
        common, members = set(_shares(planned[number])), [number]
        apart = []
        for tokens, others in found:
            if tokens & common:
                common |= tokens
                members += others
            else:
                apart.append((tokens, others))
        found = [*apart, (common, sorted(members))]
    return sorted(members for _, members in found)


def _shares(each: PlannedCheck) -> list[Hashable]:
    """What a check uses that at most one lane may use."""
    check = each.check
    shared: list[Hashable] = [*audit_for(check.prop).locks(check)]
    if check.model is not None and check.random_model:
        shared.append(("model", _gate(check.model)))
    if check.population is not None and not _is_held(check.population):
        shared.append(("population", id(check.population)))
    return shared


def _is_held(population: Any) -> bool:
    """Whether it is a table in memory, which nobody changes; anything else runs its own code to provide people."""
    return isinstance(population, Sample | Census) and isinstance(population.rows, Table)


def _gate(model: Any) -> int:
    """What identifies a model, inside everything that was wrapped around it for one check."""
    while isinstance(model, Cached | Spread | Steady):
        model = model.model
    return id(model.gate) if isinstance(model, Guarded) else id(model)


RunOne: TypeAlias = Callable[[int], Outcome]
Done: TypeAlias = Callable[[int, Outcome], None]

_POLL = 0.1
"""Seconds between two polls for Ctrl-C, which does not end a wait."""


def run_in_order(numbers: Sequence[int], run_one: RunOne, done: Done) -> None:
    """Run checks one after the other in this thread; Ctrl-C ends the running one, and the rest are not started."""
    try:
        for number in numbers:
            outcome = run_one(number)
            done(number, outcome)
            if getattr(outcome, "stopped", None) == INTERRUPTED:
                return
    except KeyboardInterrupt:
        return


def run_in_lanes(
    lanes: Sequence[Sequence[int]],
    threads: int,
    run_one: RunOne,
    done: Done,
    stop: Event,
    stopping: Callable[[], None] = lambda: None,
) -> None:
    """Run lanes of checks in several threads; ``done`` is called in the thread that calls this.

    The first Ctrl-C sets ``stop``, calls ``stopping`` and waits until every lane has ended the batch in flight; a
    second one does not wait.
    """
    lane_threads = _LaneThreads(deque(lanes), run_one, stop)
    for _ in range(threads):
        # Daemons are not waited for at the second Ctrl-C: what they have kept is in the store.
        Thread(target=lane_threads.work, daemon=True).start()
    with _interrupting_lanes(stop, lane_threads):
        while lane_threads.ended < threads:
            if lane_threads.asked_to_stop:
                lane_threads.asked_to_stop = False
                stopping()
            try:
                item = lane_threads.results.get(timeout=_POLL)
            except Empty:
                continue
            lane_threads.take(item, done)
    if lane_threads.problem is not None:
        raise lane_threads.problem


@contextmanager
def _interrupting_lanes(stop: Event, lane_threads: _LaneThreads) -> Iterator[None]:
    """Let Ctrl-C stop the lanes, not the main thread, which has to collect their results; a second one exits."""

    def stopped(number: int, frame: FrameType | None) -> None:
        if stop.is_set():
            signal.default_int_handler(number, frame)
        stop.set()
        lane_threads.asked_to_stop = True

    if current_thread() is not main_thread():
        yield  # only the main thread may handle signals
        return
    before = signal.signal(signal.SIGINT, stopped)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@dataclass(slots=True)
class _LaneThreads:
    """Threads that take one lane after the other."""

    lanes: deque[Sequence[int]]
    run_one: RunOne
    stop: Event
    results: SimpleQueue[tuple[int, Outcome] | BaseException | None] = field(default_factory=SimpleQueue)
    ended: int = 0
    asked_to_stop: bool = False
    problem: BaseException | None = None

    def work(self) -> None:
        """What each thread does; it always reports its end."""
        try:
            while not self.stop.is_set():
                for number in self.lanes.popleft():
                    if self.stop.is_set():
                        break
                    self.results.put((number, self.run_one(number)))
        except (IndexError, KeyboardInterrupt):
            pass  # nothing is left, or it was stopped
        except BaseException as error:  # whatever it is, the main thread must be told
            self.results.put(error)
        finally:
            self.results.put(None)

    def take(self, item: tuple[int, Outcome] | BaseException | None, done: Done) -> None:
        """Process a message of a thread."""
        match item:
            case None:
                self.ended += 1
            case BaseException() as error:
                self.problem = self.problem or error
                self.stop.set()
            case (number, outcome):
                done(number, outcome)
