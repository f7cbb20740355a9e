"""A pool: items go to the workers of an executor, results come back in order, and lost work is done again.

What all items share, such as a model, is pickled once. A worker that does not have it says so, and only then is it
sent: once to each worker, however many workers there are and whenever they join. (A small value is sent at once.)

What happens in a worker: the shared value is unpickled once and kept, then the items are worked on one by one.

Nothing raises here: an error of the work is part of the reply. So whatever an executor raises is its own failure, such
as a lost worker, and the work can be done again.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import signal
import sys
import threading
import time
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    wait,
)
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any
from weakref import WeakSet

from isonomia.errors import IsonomiaError, LostWorkerError, ModelError, UsageError
from isonomia.wording import words_of

KEPT = 8
"""How many shared values a worker keeps; it drops the least recently used one, which is sent again when needed."""

_kept: OrderedDict[str, Any] = OrderedDict()
_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class WorkerReply:
    """A worker's reply.

    Attributes
    ----------
    known
        Whether it has the shared value; if not, nothing was done, and the value has to be sent.
    values
        The result of each item.
    error
        What ended the work, if anything did.
    seconds
        The time that the work took.
    """

    known: bool = True
    values: tuple[Any, ...] = ()
    error: Exception | None = None
    seconds: float = 0.0


def work(function: Callable[[Any, Any], Any], token: str, packed: bytes | None, items: Sequence[Any]) -> WorkerReply:
    """Work on items with the shared value of this token; ``packed`` is that value, pickled, if it was sent along."""
    try:
        is_known, shared = _shared(token, packed)
    except _raised_by_work(True) as error:  # whatever a class does when it is unpickled
        return WorkerReply(error=_portable(error, "it could not be opened in a worker"))
    return done(function, shared, items, portable=True) if is_known else WorkerReply(known=False)


def done(
    function: Callable[[Any, Any], Any], shared: Any, items: Sequence[Any], *, portable: bool = False
) -> WorkerReply:
    """Work on items, one after the other, until one fails."""
    began, values = time.perf_counter(), []
    try:
        values = [function(shared, item) for item in items]
    except _raised_by_work(portable) as error:
        raised = error if isinstance(error, Exception) and not portable else _portable(error, "")
        return WorkerReply(error=raised, seconds=time.perf_counter() - began)
    return WorkerReply(values=tuple(values), seconds=time.perf_counter() - began)


def _raised_by_work(elsewhere: bool) -> tuple[type[BaseException], ...]:
    """What is an error of the work: also a ``KeyboardInterrupt``, in a process that leaves Ctrl-C to its caller."""
    alone = elsewhere and signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    return (Exception, SystemExit, GeneratorExit, *((KeyboardInterrupt,) if alone else ()))


def _shared(token: str, packed: bytes | None) -> tuple[bool, Any]:
    with _lock:
        if token not in _kept:
            if packed is None:
                return False, None
            paths, whole = pickle.loads(packed)
            sys.path += [path for path in paths if path not in sys.path and os.path.exists(path)]
            _kept[token] = pickle.loads(whole)
            while len(_kept) > KEPT:
                _kept.popitem(last=False)
        _kept.move_to_end(token)
        return True, _kept[token]


def _portable(error: BaseException, what: str) -> Exception:
    """An error that can be pickled: the error itself if possible, else a ``ModelError`` with its message."""
    if isinstance(error, IsonomiaError):
        try:
            pickle.loads(pickle.dumps(error))
            return error
        except Exception:
            return ModelError(str(error))
    message = f"{type(error).__name__}: {words_of(error)}"
    return ModelError(f"{what}: {message}" if what else message)


def begin_process() -> None:
    """Prepare a process of our own: leave Ctrl-C to the calling program, and exit when that program ends.

    With the processes that the model starts it is a group of its own, so that they can be ended together.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if os.name != "nt":
        os.setpgid(0, 0)
    from multiprocessing import parent_process
    from multiprocessing.connection import wait

    parent = parent_process()
    sentinel = None if parent is None else parent.sentinel
    if sentinel is not None:

        def leave() -> None:
            wait([sentinel])
            os._exit(1)

        threading.Thread(target=leave, daemon=True).start()


Function = Callable[[Any, Any], Any]
"""A function of the shared value and one item; it belongs to a module, so that every worker can import it."""

TRIES = 5
"""How often a piece of work is tried when its worker is lost each time. A model that ends its process would also end
the calling program, so the work is not tried there."""

REMADE = 3
"""How often in a row an executor is replaced without having done any work."""

SMALL = 2**18
"""A shared value of at most this many bytes is sent along with each piece of work the first time."""

POLL, LATE = 1.0, 15.0
"""Seconds between two looks at work that has not come back, and the shortest wait before overdue work is also given to
another worker. They affect only the time taken."""

DESERTED = 10.0
"""Seconds without any worker, in an executor that can tell, after which it is replaced. A restarted worker is back
within a few."""

TERMINATION = 2.0
"""Seconds that a process has to end by itself after a signal; then it is killed."""

LEAST = 0.005
"""Seconds of work that are worth a round trip to a worker; smaller pieces travel together."""

_GUESSED = 8
"""The assumed number of workers of an executor that does not say."""


_while_waiting: list[Callable[[], None]] = []


def while_waiting(call: Callable[[], None]) -> None:
    """Call a function about once a second in every thread that waits for other processes.

    If it raises, the wait ends, and so do these processes, unless they belong to the caller.
    """
    _while_waiting.append(call)


class ExecutorWarning(UserWarning):
    """Something cannot be sent to the workers of an executor, so this process computes it."""


@dataclass(slots=True)
class ExecutorKind:
    """How to get an executor.

    Attributes
    ----------
    open
        Opens one; called again if it was lost.
    workers
        How many workers it has; ``None`` if only the executor can tell.
    here
        Whether its workers are threads of this process, which need no copy of anything.
    lasting
        Whether it belongs to the caller, who alone can make a new one.
    name
        What it is called in messages.
    deserted
        Whether an executor has no worker left, and none will come.
    """

    open: Callable[[], Executor]
    workers: int | None = None
    here: bool = False
    lasting: bool = False
    name: str = "executor"
    deserted: Callable[[Any], bool] = lambda _: False


@dataclass(slots=True, eq=False, weakref_slot=True)
class TaskContext:
    """What all items share, as a value and pickled for other processes.

    Attributes
    ----------
    value
        The value itself.
    name
        What it is called in messages.
    """

    value: Any
    name: str
    _packed: bytes | None = field(default=None, repr=False)
    _token: str = field(default="", repr=False)

    def packed(self) -> tuple[str, bytes]:
        """A token that identifies the value, and the value as bytes.

        Raises
        ------
        UsageError
            If it cannot be pickled.
        """
        if self._packed is None:
            self._packed = _dumped(self.value, self.name)
            self._token = hashlib.sha256(self._packed).hexdigest()
        return self._token, self._packed


def _dumped(value: Any, name: str) -> bytes:
    try:
        whole = bytes(pickler().dumps(value, protocol=pickle.HIGHEST_PROTOCOL))
        # A worker that started earlier has the module search path that this process had then.
        return pickle.dumps(([os.path.abspath(path) for path in sys.path], whole))
    except Exception as error:  # each class raises its own
        raise UsageError(
            f"{name} cannot be sent to another process ({type(error).__name__}: {words_of(error)}). Give the model as "
            "a path or as module:object, which each worker opens itself, or call it in threads: executor='threads'"
        ) from error


def pickler() -> Any:
    """cloudpickle, which Dask, Ray and loky install: it pickles functions without a module, as in a notebook, by value.

    Where it is not installed, Python's own pickle, which pickles functions by name.
    """
    for module in ("cloudpickle", "joblib.externals.cloudpickle"):
        try:
            return import_module(module)
        except ImportError:
            continue
    return pickle


@dataclass(slots=True, eq=False)
class Pool:
    """The workers of an executor.

    Attributes
    ----------
    executing
        How to get the executor.
    """

    executing: ExecutorKind
    _executor: Executor | None = field(default=None, repr=False)
    _fruitless: int = field(default=0, repr=False)
    _ended: bool = field(default=False, repr=False)
    _pace: dict[str, float] = field(default_factory=dict, repr=False)
    _seen: WeakSet[TaskContext] = field(default_factory=WeakSet, repr=False)
    _lock: threading.RLock = field(default_factory=threading.RLock, repr=False)

    def begin(
        self, function: Function, shared: TaskContext, items: Sequence[Any], sizes: Sequence[int]
    ) -> StartedTasks:
        """Start work on items. Their sizes say how much work each is, only so that small ones travel together."""
        tasks = StartedTasks(self, function, shared, [])
        for first, last in self._grouped(shared, sizes):
            tasks.waiting.append(_Task(tuple(items[first:last]), sum(sizes[first:last])))
        for task in tasks.waiting:
            self._send(task, tasks, whole=self._is_new(shared))
        self._seen.add(shared)
        return tasks

    def stay_here(self, what: str, error: UsageError) -> None:
        """Warn that something is computed by this process because it cannot be sent."""
        message = f"{what} by this process, and only the model is called in {self.executing.name}: {error}"
        warnings.warn(message, ExecutorWarning, stacklevel=3)

    def _is_new(self, shared: TaskContext) -> bool:
        """Whether no worker can have the shared value yet, and it is too small for asking first to save time."""
        return not self.executing.here and shared not in self._seen and len(shared.packed()[1]) <= SMALL

    def _grouped(self, shared: TaskContext, sizes: Sequence[int]) -> Iterator[tuple[int, int]]:
        """Which items travel together: in no more pieces than the workers can use, and none too small."""
        total = max(sum(sizes), 1)
        pieces = min(len(sizes), 4 * self.workers)
        pace = self._pace.get(shared.name)
        if pace is not None:
            pieces = max(1, min(pieces, int(pace * total / LEAST)))
        first, reached, number = 0, 0, 1
        for index, size in enumerate(sizes):
            reached += size
            if index + 1 == len(sizes) or reached * pieces >= total * number:
                yield first, index + 1
                first = index + 1
                while reached * pieces >= total * number:
                    number += 1

    @property
    def workers(self) -> int:
        """How many workers there are, as far as that is known."""
        own = self.executing.workers or getattr(self._executor, "_max_workers", None)
        return own if isinstance(own, int) and own > 0 else _GUESSED

    def _send(self, task: _Task, tasks: StartedTasks, *, whole: bool = False) -> None:
        """Hand a piece of work to the executor; where that fails, the piece counts as lost."""
        call: tuple[Any, ...] = (done, tasks.function, tasks.shared.value, task.items)
        if not self.executing.here:
            token, packed = tasks.shared.packed()
            call = (work, tasks.function, token, packed if whole else None, task.items)
        executor = None
        try:
            executor = self._opened()
            with _interrupted_later() if hasattr(executor, "_processes") else nullcontext():
                task.future = executor.submit(*call)
        except Exception as error:  # each engine raises its own
            task.future = Future()
            task.future.set_exception(error)
        task.sent_to = executor

    def _opened(self) -> Executor:
        with self._lock:
            if self._executor is None:
                self._executor = self.executing.open()
            return self._executor

    def reply_to(self, task: _Task, tasks: StartedTasks) -> WorkerReply | None:
        """A worker's reply to a piece of work; ``None`` if it has to be done in this process."""
        while True:
            try:
                reply = self._waited(task, tasks)
            except (Exception, CancelledError) as error:
                if not self._again(task, tasks, error):
                    return None
                continue
            except BaseException:  # Ctrl-C, or the time is up: what a worker is doing is no longer wanted
                if not self.executing.here:
                    self.close()
                raise
            if reply.known:
                self._fruitless = 0
                self._note(tasks.shared.name, task, reply)
                return reply
            self._send(task, tasks, whole=True)
            self._send_whole(tasks)

    def _waited(self, task: _Task, tasks: StartedTasks) -> WorkerReply:
        """Wait for the first reply.

        An executor that was replaced in the meantime may never reply, and some engines forget the work of a lost
        worker. So work that takes far too long is also given to another worker, each time after a longer wait. If that
        does not help, and it is known how long such work takes, the executor is replaced. So is one that has no worker
        left.
        """
        deserted = 0.0
        pace = self._pace.get(tasks.shared.name)
        futures, due, waited, asked = [task.future], max(LATE, 10.0 * (pace or 0.0) * task.size), 0.0, 0
        while True:
            done, _ = wait([each for each in futures if each is not None], POLL, FIRST_COMPLETED)
            if done:
                return done.pop().result()
            if not self.executing.here:
                for call in _while_waiting:
                    call()
            waited += POLL
            current = task.sent_to if task.sent_to is self._executor else None
            deserted = deserted + POLL if current is not None and self.executing.deserted(current) else 0.0
            if deserted >= DESERTED:
                raise BrokenExecutor(f"{self.executing.name} has no worker left")
            gone = not self.executing.lasting and task.sent_to is not self._executor
            if gone or (waited >= due and not self.executing.here):
                if not gone and asked and pace is not None and not self.executing.lasting:
                    self._remake(task.sent_to, tasks.shared.name, TimeoutError(f"no reply within {waited:.0f} s"))
                self._send(task, tasks, whole=True)
                futures.append(task.future)
                due, asked = 2.0 * due, asked + 1

    def _send_whole(self, tasks: StartedTasks) -> None:
        """Send the shared value with other pieces, too, that reached a worker without it."""
        for task in tasks.waiting:
            future = task.future
            came = future is not None and future.done() and not future.cancelled() and future.exception() is None
            if future is not None and came and not future.result().known:
                self._send(task, tasks, whole=True)

    def _again(self, task: _Task, tasks: StartedTasks, error: BaseException) -> bool:
        """Send a lost piece of work again, to a new executor if need be; ``False`` if this process has to do it."""
        if self._ended:
            raise KeyboardInterrupt from error  # the program is about to end, and the work was not at fault
        task.tries += 1
        if task.tries >= TRIES and not self.executing.here:
            self._restart()
            raise LostWorkerError(
                f"{tasks.shared.name} was asked {TRIES} times in {self.executing.name}, and each time the worker was "
                f"lost ({type(error).__name__}: {words_of(error)}). {_why_lost(tasks.shared.name)}"
            ) from error
        if self.executing.lasting:
            return False
        if isinstance(error, BrokenExecutor) or task.sent_to is None or task.tries > 1:
            self._remake(task.sent_to, tasks.shared.name, error)
        self._send(task, tasks)
        return True

    def _remake(self, lost: Executor | None, name: str, error: BaseException) -> None:
        with self._lock:
            if lost is not None and self._executor is not lost:
                return  # another thread has replaced it
            self._fruitless += 1
            if self._fruitless > REMADE:
                self._restart()
                raise LostWorkerError(
                    f"{self.executing.name} cannot be used: it was opened {REMADE + 1} times, and no work came back "
                    f"({type(error).__name__}: {words_of(error)}). {_why_lost(name)}"
                ) from error
            self.close()

    def _restart(self) -> None:
        """Forget what went wrong: the next caller's model may work."""
        self._fruitless = 0
        self.close()

    def _note(self, name: str, task: _Task, reply: WorkerReply) -> None:
        """Learn how long work takes per unit of size: it decides which items travel together, and when one is late."""
        if reply.values and task.size:
            new, old = reply.seconds / task.size, self._pace.get(name)
            self._pace[name] = new if old is None else 0.7 * old + 0.3 * new

    def end(self) -> None:
        """Let the workers go for good: work that is waited for in another thread is not done again."""
        self._ended = True
        self.close()

    def close(self) -> None:
        """Let the workers go. Processes of our own are ended, also those that hang."""
        with self._lock:
            executor, self._executor = self._executor, None
        self._seen.clear()
        if executor is None or self.executing.lasting:
            return
        processes = list((getattr(executor, "_processes", None) or {}).values())
        try:
            executor.shutdown(wait=False, cancel_futures=True)
        except TypeError:  # loky cannot cancel
            executor.shutdown(wait=False)
        _end_processes(processes)


@contextmanager
def _interrupted_later() -> Iterator[None]:
    """Put off Ctrl-C: a pool that is interrupted while it starts a process loses sight of it, and never ends it."""
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    caught: list[tuple[Any, ...]] = []
    signal.signal(signal.SIGINT, lambda *given: caught.append(given))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if caught:
            before(*caught[0])


def _why_lost(name: str) -> str:
    return (
        f"{name} may end its process, or need more memory than the machine has: look at the output of the "
        "workers, or use no executor"
    )


def _end_processes(processes: Sequence[Any]) -> None:
    """End processes, by force if need be, and what the model has started in them.

    One that hangs would keep the calling program from ending, and so would a fork of it, which holds its pipes open.
    """
    for process in processes:
        process.terminate()
    last = time.monotonic() + TERMINATION
    for process in processes:
        process.join(max(last - time.monotonic(), 0.0))
        if process.exitcode is None:  # those of loky have no method for it
            os.kill(process.pid, signal.SIGTERM if os.name == "nt" else signal.SIGKILL)
        if os.name != "nt":
            with suppress(ProcessLookupError, PermissionError):  # it has no group, or nothing is left of it
                os.killpg(process.pid, signal.SIGKILL)


@dataclass(slots=True, eq=False)
class _Task:
    """Items that travel together."""

    items: tuple[Any, ...]
    size: int
    future: Future[WorkerReply] | None = None
    sent_to: Executor | None = None
    tries: int = 0


@dataclass(slots=True, eq=False)
class StartedTasks:
    """Work that was started.

    Attributes
    ----------
    pool, function, shared
        The pool that does it, the function, and what the items share.
    waiting
        The pieces whose results have not been taken yet, in order.
    """

    pool: Pool
    function: Function
    shared: TaskContext
    waiting: list[_Task]

    def results(self) -> Iterator[Any]:
        """The result of each item, in order.

        Raises
        ------
        Exception
            The first error raised by the work itself.
        """
        try:
            while self.waiting:
                task = self.waiting[0]
                reply = self.pool.reply_to(task, self)
                if reply is None:
                    reply = done(self.function, self.shared.value, task.items)
                if reply.error is not None:
                    raise reply.error
                self.waiting.pop(0)
                yield from reply.values
        finally:
            self.drop()

    def drop(self) -> None:
        """Cancel what is left."""
        for task in self.waiting:
            if task.future is not None:
                task.future.cancel()
        self.waiting.clear()
