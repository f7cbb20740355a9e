"""Running a block that is code: many cases side by side, their calls of the model gathered into one.

Each case runs in a thread of its own, but only one of them runs at any moment: it goes on until it asks the model or
ends, and hands the baton back. When every case has asked or ended, the model is called once for all. So a block may
loop, branch, call functions and build lists as it likes, and nothing in it runs at the same time as anything else. A
function of the domain that asks, such as one that plays a game with a policy, waits and is served in the same way.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from types import CodeType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.ksafety.blaming import BLOCK_FILE, blamed
from isonomia.audits.ksafety.evaluate import Batch
from isonomia.audits.ksafety.gathering import gathered
from isonomia.audits.ksafety.namespace import Asking, block_names
from isonomia.audits.ksafety.program import Program
from isonomia.audits.ksafety.values import Value, either
from isonomia.errors import SpecError
from isonomia.populations.columns import column_from

__all__ = ["SIDE_BY_SIDE", "run_coded"]

SIDE_BY_SIDE = 512
"""How many cases run side by side."""

GRACE = 1.0
"""Seconds that a case gets to end after it was told to."""


class _StopError(BaseException):
    """Raised inside a case that took too long; no ``except Exception`` of the block can hold it up."""


class _NoAnswerError(Exception):
    """Raised inside a case whose question the model could not answer."""


@dataclass(slots=True)
class _Case:
    """One case on its way through the block."""

    number: int
    work: Callable[[_Case], None]
    go: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    back: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    question: Asking | None = None
    answer: Any = None
    outputs: dict[str, Any] = field(default_factory=dict)
    error: BaseException | None = None
    done: bool = False
    cancelled: bool = False
    thread: threading.Thread | None = None

    def start(self) -> None:
        """Make the thread, which waits for the baton."""
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        self.go.acquire()
        try:
            if not self.cancelled:
                self.work(self)
        except BaseException as error:  # whatever the block raises is part of what is reported
            self.error = error
        self.done = True
        self.back.release()

    def ask(self, question: Asking) -> Any:
        """Called inside the case: hand the baton back and wait for the answer."""
        self.question = question
        self.back.release()
        self.go.acquire()
        answer, self.answer = self.answer, None
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def resume(self, seconds: float) -> bool:
        """Let the case go on until it asks or ends; whether it did so in time."""
        self.go.release()
        if self.back.acquire(timeout=seconds):
            return True
        if self.thread is not None and self.thread.ident is not None:
            number, error = ctypes.c_ulong(self.thread.ident), ctypes.py_object(_StopError)
            ctypes.pythonapi.PyThreadState_SetAsyncExc(number, error)
        self.back.acquire(timeout=GRACE)
        return False


def run_coded(program: Program, seconds: float, batch: Batch, seeds: NDArray[np.int64]) -> None:
    """Run the block for every case of a batch, and note its outputs.

    Parameters
    ----------
    program
        The specification in order; its code is run.
    seconds
        How long a case may take between two calls of the model.
    batch
        The cases, with everything that was computed before the block.
    seeds
        One a case, for the random numbers that the block draws.

    Raises
    ------
    SpecError
        Where a case takes longer than that.
    """
    assert program.code is not None
    compiled = compile(program.code.source, BLOCK_FILE, "exec")
    cases = [
        _Case(number, lambda case: _work(program, compiled, batch, int(seeds[case.number]), case))
        for number in range(batch.n)
    ]
    for start in range(0, len(cases), SIDE_BY_SIDE):
        _run_together(program, cases[start : start + SIDE_BY_SIDE], batch, seconds)
    _note(program, cases, batch)


def _work(program: Program, compiled: CodeType, batch: Batch, seed: int, case: _Case) -> None:
    names = block_names(program, batch, case.number, seed, case.ask)
    exec(compiled, names)  # the user gave permission, see check.py
    case.outputs = {name: names[name] for name in program.spec.outputs if name in names}


def _run_together(program: Program, cases: list[_Case], batch: Batch, seconds: float) -> None:
    for case in cases:
        case.start()
    running = cases
    while running:
        for case in running:
            if not case.resume(seconds):
                _release(running)
                raise SpecError(
                    f"the block did not end within {seconds:g} s for one case: does it loop for ever? "
                    "Allow more with seconds=...",
                    blamed(case.error, program.spec.block) or program.spec.block.place,
                )
        running = [case for case in running if not case.done]
        try:
            _answer(running, batch)
        except BaseException:
            _release(running)
            raise


def _release(running: list[_Case]) -> None:
    """Let every waiting case end, so that no thread is left behind."""
    for case in running:
        if not case.done:
            case.cancelled, case.answer = True, _StopError()
            case.go.release()


def _answer(waiting: list[_Case], batch: Batch) -> None:
    """Ask once for everything that is waiting, questions of each kind together."""
    kinds: dict[tuple[str, int], list[tuple[_Case, Asking]]] = {}
    for case in waiting:
        if case.question is not None:
            kind = (case.question.what, len(case.question.arguments))
            kinds.setdefault(kind, []).append((case, case.question))
    for asking in kinds.values():
        answers = gathered([question for _, question in asking], batch)
        for (case, _), (answer, reason) in zip(asking, answers, strict=True):
            case.answer, case.question = (_NoAnswerError(reason) if reason is not None else answer), None


def _note(program: Program, cases: list[_Case], batch: Batch) -> None:
    """Keep the outputs, and for which cases there are none."""
    why = [_problem(program, case) for case in cases]
    for reason in dict.fromkeys(item for item in why if item):
        batch.fault(np.array([item == reason for item in why]), reason, None)
    failed = np.array([item is not None for item in why], dtype=bool)
    for name in program.spec.outputs:
        values = [case.outputs.get(name) for case in cases]
        good = next((value for value, bad in zip(values, failed, strict=True) if not bad), 0)
        column = column_from([good if bad else value for value, bad in zip(values, failed, strict=True)], name)
        batch.known[program.finals[name]] = Value(column, either(failed if failed.any() else None))


def _problem(program: Program, case: _Case) -> str | None:
    if isinstance(case.error, _NoAnswerError):
        return str(case.error)
    if case.error is not None:
        place = blamed(case.error, program.spec.block)
        where = "" if place is None else f" (line {place.line})"
        return f"the block raised {type(case.error).__name__}: {case.error}{where}"
    lacking = [name for name in program.spec.outputs if name not in case.outputs]
    return f"the block did not set {lacking[0]}" if lacking else None
