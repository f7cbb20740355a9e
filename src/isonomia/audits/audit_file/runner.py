"""Running an audit file: begin a run, resume it, and run its checks, in parallel where they can be.

A run is resumed only with the models and the people that it began with. A check that was begun refuses others itself.
But a run is one record, and those of its checks that have a verdict, or were not begun, would not notice: then its
verdicts would be about different models or different people.

A new run of a file whose tables have grown continues the last one (:class:`EarlierLooks`): it has the same seed, and
the rows of the last one come first, in the same order. So both are looks at the same bets.

The checks of an audit, run and recorded: one after the other, or in parallel lanes.

Checks that share something which only one thread may use, or whose order matters, are in one lane and run one after
the other; lanes run in parallel. Sharing a model does not force a lane, since it admits only as many callers at once as
its owner allows (the gate of a :class:`isonomia.models.session.ModelSession`); unless it answers at random, where the
order of the queries would show in the verdicts.
"""

from __future__ import annotations

import hashlib
import os
import signal
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Event, Thread, current_thread, main_thread
from types import FrameType
from typing import Any, TypeAlias

from isonomia.audits.audit_file.permissions import code_digest
from isonomia.audits.audit_file.planner import PlannedCheck
from isonomia.audits.audit_file.reader import DEFAULT, AuditFile
from isonomia.audits.check import run_check
from isonomia.audits.registry import audit_for, remember, with_known
from isonomia.engine.parameters import Observer, Progress
from isonomia.errors import ChangingModelError, IsonomiaError, RecordError
from isonomia.executors import close_pools
from isonomia.models.protocol import named_models, unwrap
from isonomia.models.session import ModelSession
from isonomia.populations import Census, Sample
from isonomia.populations.protocol import Directable, fingerprint_if_any, is_population
from isonomia.populations.table import Table
from isonomia.records.store import KnownCounterexamples, RunRecord, Store
from isonomia.records.verdict import Verdict

INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True)
class FailedCheck:
    """A property that could not be checked: the kind of error, and its message."""

    kind: str
    message: str


Outcome: TypeAlias = Verdict | FailedCheck
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
            failed = FailedCheck(type(error).__name__, str(error))
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
        known, check = KnownCounterexamples(self.store.folder), self.planned[number].check
        if self.known_first:
            check = with_known(check, known)
        journal = self.store.journal(self.run, number)
        try:
            watching = _Stoppable(self.observe(number), self.stop)
            verdict = run_check(replace(check, journal=journal), watching)
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
    joined: list[tuple[set[Hashable], list[int]]] = []
    for number in numbers:
        common, members = set(_shares(planned[number])), [number]
        apart = []
        for tokens, others in joined:
            if tokens & common:
                common |= tokens
                members += others
            else:
                apart.append((tokens, others))
        joined = [*apart, (common, sorted(members))]
    return sorted(members for _, members in joined)


def _shares(each: PlannedCheck) -> list[Hashable]:
    """What a check uses that at most one lane may use."""
    check = each.check
    shared: list[Hashable] = [*audit_for(check.prop).locks(check)]
    if check.model is not None and check.random_model:
        several = named_models(check.model)
        for model in [check.model] if several is None else several.models.values():
            gate = model.gate if isinstance(model, ModelSession) else None
            shared.append(("model", id(gate or unwrap(model))))
    if check.population is not None and not _is_held(check.population):
        shared.append(("population", id(check.population)))
    return shared


def _is_held(population: Any) -> bool:
    """Whether it is a table in memory, which does not change; anything else runs its own code to provide people."""
    return isinstance(population, Sample | Census) and isinstance(population.rows, Table)


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
            if _is_interrupted(outcome):
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
            close_pools()  # a worker that hangs would keep this program from ending
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
        except BaseException as error:  # of any kind: the main thread raises it
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


def refuse_others(store: Store, run: str, planned: Sequence[PlannedCheck]) -> None:
    """Refuse a model or a population that has changed since a check of the run looked at it."""
    now: dict[tuple[str, int], str | None] = {}
    for number, what, entry in store.introductions(run):
        check = planned[number].check
        subject: Any = check.model if what == "model" else check.population
        # A population that was focused on groups, or turned into a domain, is not the one that the file names.
        other = what == "population" and not (is_population(subject) and subject.kind == entry.get("kind"))
        if subject is None or isinstance(subject, Directable) or other:
            continue
        key = what, id(subject)
        if key not in now:
            now[key] = fingerprint_if_any(subject)
        if now[key] != entry.get("fingerprint"):
            name = planned[number].definition.get(what, DEFAULT)
            called = "" if name == DEFAULT else f" {name!r}"
            raise RecordError(
                f"expected the {what}{called} of {planned[number].name!r} as it was when run {run} began, but it has "
                "changed: begin a new run"
            )


@dataclass(frozen=True, slots=True)
class StartedRun:
    """A run in the store: its name, and the verdicts that it already has."""

    run: str
    verdicts: tuple[Verdict | None, ...]


@dataclass(slots=True)
class EarlierLooks:
    """The looks at the tables of an audit file that the store has on record, up to the last run of the file.

    Guarantee: where rows are independent draws and a table's rows stay in place, only followed by more, the answer to a
    property is wrong *at any of these looks* with probability at most its ``delta``. What breaks the chain, such as
    changed rows, is said in the verdict's assumptions. Proof: ``docs/theory/growth.md``.

    Attributes
    ----------
    run
        The last run, if any.
    resumed
        Whether that run is resumed, and this is no new look.
    tables
        The tables of this run, by name, as they are recorded: filled by :meth:`continued`.
    """

    run: RunRecord | None = None
    resumed: bool = False
    tables: dict[str, dict[str, Any]] = field(default_factory=dict)

    @classmethod
    def of(cls, store: Store, file: AuditFile, resumed: RunRecord | None = None) -> EarlierLooks:
        """The looks of the runs of a file, which is known by its name: its text may change."""
        if resumed is not None:
            return cls(resumed, resumed=True)
        runs = (run for run in store.runs() if Path(run.request.get("file", "")).name == file.path.name)
        return cls(next((run for run in runs if run.request.get("tables")), None))

    @property
    def seed(self) -> int | None:
        """The seed of the first look, which every later one keeps; ``None`` where there was none."""
        return None if self.run is None else int(self.run.request["seed"])

    def continued(self, seed: int, name: str, sample: Sample) -> Sample:
        """A sample of the file that knows the earlier looks at it, given the seed of this run."""
        before = {} if self.run is None else self.run.request.get("tables", {}).get(name, {})
        if self.resumed:
            return sample.continuing(before.get("looks", ()), before.get("note", ""))
        looks, note = [*before.get("looks", ()), *([before["rows"]] if before else [])], before.get("note", "")
        broken = self._broken(before, seed, sample) if before else None
        if self.run is not None and broken is not None:
            looks = []
            note = f"the risk does not cover looks up to run {self.run.id}: after it, {broken}"
        grown = sample.continuing(looks, note)
        rows = {"rows": grown.size, "fingerprint": grown.first(grown.size), "order": grown.row_order}
        self.tables[name] = rows | {"looks": list(grown.looks or ()), "note": grown.note}
        return grown

    def _broken(self, before: Mapping[str, Any], seed: int, sample: Sample) -> str | None:
        """Why a table is not the one of the last run with rows added, in words; ``None`` if it is."""
        if seed != self.seed:
            return "the seed has changed"
        if before["order"] != sample.row_order:
            return "the order of the rows has changed"
        if before["rows"] > sample.size:
            return f"rows were removed; before, there were {before['rows']:,}"
        if before["fingerprint"] != sample.first(before["rows"]):
            return f"the first {before['rows']:,} rows have changed"
        return None


def begin_run(
    store: Store,
    file: AuditFile,
    planned: Sequence[PlannedCheck],
    seed: int,
    options: Sequence[str] = (),
    tables: Mapping[str, Any] | None = None,
    seed_chosen: bool | None = None,
) -> StartedRun:
    """Record a new run: the command's ``options`` that are needed again to resume it, and the sampled ``tables``.

    ``seed_chosen`` says whether the seed was chosen by hand; a replay in full expects the default one where it was not.
    """
    request = {"file": str(file.path), "text": file.text, "digest": digest(file), "seed": seed, "files": file.files}
    request |= {"code": code_digest(file), "options": list(options), "tables": dict(tables or {})}
    request |= {} if seed_chosen is None else {"seed_chosen": seed_chosen}
    checks = [(each.name, each.definition, _options(each)) for each in planned]
    run = store.begin(file.content.get("title") or file.path.stem, request, checks)
    return StartedRun(run, (None,) * len(planned))


def _options(each: PlannedCheck) -> dict[str, Any]:
    return {"delta": each.check.delta, "line": each.line, "explanation": each.check.prop.explain()}


def resumable(store: Store, file: AuditFile) -> RunRecord:
    """The latest run of this file that did not end or had a failure; else its latest run, which is complete."""
    runs = [run for run in store.runs() if run.request.get("digest") == digest(file)]
    if not runs:
        raise RecordError(
            f"expected a run of {file.path} in {store.folder}, but no run has the file's current content: "
            "begin a new run, without --resume"
        )
    return next((run for run in runs if is_open(store, run)), runs[0])


def is_open(store: Store, run: RunRecord) -> bool:
    """Whether a run did not end, or had a failure."""
    return run.ended is None or any(check.error is not None for check in store.checks(run.id))


def resume_run(store: Store, file: AuditFile, run: RunRecord, planned: Sequence[PlannedCheck]) -> StartedRun:
    """Resume a run: checks that have a verdict keep it, those that failed are tried again."""
    checks = store.checks(run.id)
    before = run.request.get("files", file.files)
    changed = sorted(name for name in {*before, *file.files} if before.get(name) != file.files.get(name))
    if changed:
        raise RecordError(
            f"expected {changed[0]} as it was when run {run.id} began, but it has changed: begin a new run"
        )
    if [check.name for check in checks] != [each.name for each in planned]:
        raise RecordError(f"expected the properties that run {run.id} began with, but got others: begin a new run")
    refuse_others(store, run.id, planned)
    code = code_digest(file)
    if run.request.get("code", code) != code:
        raise RecordError(
            f"expected the code that {file.path} names, including its imports from the folder, as it was when run "
            f"{run.id} began, but it has changed: begin a new run"
        )
    return StartedRun(run.id, tuple(check.verdict for check in checks))


def run_checks(
    store: Store,
    started: StartedRun,
    planned: Sequence[PlannedCheck],
    observe: Callable[[int], Observer],
    tell: Callable[[int, Outcome], None],
    jobs: int | None = 1,
    stopping: Callable[[], None] = lambda: None,
    *,
    known_first: bool = False,
) -> list[Outcome | None]:
    """Run every check that has no verdict yet, and record each result as soon as it is there.

    A failing check does not affect the others. Ctrl-C keeps the results so far; checks that were
    running have no verdict in the store, and continue where they were when the run is resumed.

    ``jobs`` checks may run in parallel, if they share nothing; ``None``: one per core. The verdicts
    do not depend on it. ``tell`` is always called in the thread that calls this. The returned list has ``None`` for a
    check that was not reached.
    """
    outcomes: list[Outcome | None] = list(started.verdicts)
    for number, verdict in enumerate(started.verdicts):
        if verdict is not None:
            tell(number, verdict)

    def done(number: int, outcome: Outcome) -> None:
        outcomes[number] = outcome
        tell(number, outcome)

    runner = CheckRunner(store, started.run, planned, observe, known_first)
    left = [number for number, outcome in enumerate(outcomes) if outcome is None]
    separate = lanes(planned, left)
    threads = min(_cores() if jobs is None else jobs, len(separate))
    with store.kept_open():
        if threads <= 1:
            run_in_order(left, runner, done)
        else:
            run_in_lanes(separate, threads, runner, done, runner.stop, stopping)
        if not cut_off(outcomes):
            store.end(started.run)
    return outcomes


def cut_off(outcomes: Sequence[Outcome | None]) -> bool:
    """Whether something is left to do: a check that was not reached, or was interrupted."""
    return any(outcome is None or _is_interrupted(outcome) for outcome in outcomes)


def _is_interrupted(outcome: Outcome) -> bool:
    return isinstance(outcome, Verdict) and outcome.stopped == INTERRUPTED


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def digest(file: AuditFile) -> str:
    """Identifies the text of an audit file."""
    return hashlib.sha256(file.text.encode("utf-8")).hexdigest()
