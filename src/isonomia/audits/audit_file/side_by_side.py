"""Lanes of checks in threads: each lane in order, several lanes at once, one Ctrl-C for all of them."""

from __future__ import annotations

import signal
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from threading import Event, Thread, current_thread, main_thread
from types import FrameType
from typing import TypeAlias

from isonomia.audits.audit_file.carrying import INTERRUPTED, Outcome

__all__ = ["Done", "in_order", "side_by_side"]

Carry: TypeAlias = Callable[[int], Outcome]
Done: TypeAlias = Callable[[int, Outcome], None]

_LOOK = 0.1
"""Seconds between two looks for Ctrl-C, which does not end a wait."""


def in_order(numbers: Sequence[int], carry: Carry, done: Done) -> None:
    """Carry out checks one after the other in this thread; Ctrl-C ends the one that runs, and the row of them."""
    try:
        for number in numbers:
            outcome = carry(number)
            done(number, outcome)
            if getattr(outcome, "stopped", None) == INTERRUPTED:
                return
    except KeyboardInterrupt:
        return


def side_by_side(
    lanes: Sequence[Sequence[int]],
    threads: int,
    carry: Carry,
    done: Done,
    stop: Event,
    stopping: Callable[[], None] = lambda: None,
) -> None:
    """Carry out lanes of checks in several threads; what comes of them is told in the thread that calls this.

    The first Ctrl-C sets ``stop``, calls ``stopping`` and waits until every lane has ended the batch in flight; a
    second one does not wait.

    Raises
    ------
    KeyboardInterrupt
        At the second Ctrl-C.
    BaseException
        What one of the lanes raised, after the others have stopped.
    """
    crew = _Crew(deque(lanes), carry, stop)
    for _ in range(threads):
        # Nobody waits for a daemon when the second Ctrl-C comes: what it has kept is in the store.
        Thread(target=crew.work, daemon=True).start()
    with _one_for_all(stop, crew):
        while crew.told < threads:
            if crew.asked_to_stop:
                crew.asked_to_stop = False
                stopping()
            try:
                item = crew.results.get(timeout=_LOOK)
            except Empty:
                continue
            crew.take(item, done)
    if crew.problem is not None:
        raise crew.problem


@contextmanager
def _one_for_all(stop: Event, crew: _Crew) -> Iterator[None]:
    """Let Ctrl-C stop the lanes, and not the main thread, which has their results to take in; a second one leaves."""

    def stopped(number: int, frame: FrameType | None) -> None:
        if stop.is_set():
            signal.default_int_handler(number, frame)
        stop.set()
        crew.asked_to_stop = True

    if current_thread() is not main_thread():
        yield  # signals are not for others
        return
    before = signal.signal(signal.SIGINT, stopped)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@dataclass(slots=True)
class _Crew:
    """Threads that take one lane after the other."""

    lanes: deque[Sequence[int]]
    carry: Carry
    stop: Event
    results: SimpleQueue[tuple[int, Outcome] | BaseException | None] = field(default_factory=SimpleQueue)
    told: int = 0
    asked_to_stop: bool = False
    problem: BaseException | None = None

    def work(self) -> None:
        """What each thread does; it always says when it has ended."""
        try:
            while not self.stop.is_set():
                for number in self.lanes.popleft():
                    if self.stop.is_set():
                        break
                    self.results.put((number, self.carry(number)))
        except (IndexError, KeyboardInterrupt):
            pass  # nothing is left, or it was stopped
        except BaseException as error:  # whatever it is, the main thread must hear of it
            self.results.put(error)
        finally:
            self.results.put(None)

    def take(self, item: tuple[int, Outcome] | BaseException | None, done: Done) -> None:
        """Take in what a thread says."""
        match item:
            case None:
                self.told += 1
            case BaseException() as error:
                self.problem = self.problem or error
                self.stop.set()
            case (number, outcome):
                done(number, outcome)
