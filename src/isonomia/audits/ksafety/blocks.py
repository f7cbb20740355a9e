"""Blocks that are code.

What a block that is run as Python finds: its inputs and variables, and functions that ask, read, set and draw.

Questions of many cases as one: a call for a whole batch, and the answer of each case from it.

Which line of a specification an exception in its block comes from.

Running a block that is code: many cases side by side, their calls of the model gathered into one.

Each case runs in a thread of its own, but only one of them runs at any moment: it goes on until it asks the model or
ends, and hands the baton back. When every case has asked or ended, the model is called once for all. So a block may
loop, branch, call functions and build lists as it likes, and nothing in it runs at the same time as anything else. A
function of the domain that asks, such as one that plays a game with a policy, waits and is served in the same way.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import CodeType, SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.ksafety.evaluate import Batch, Drawn, Given, Value, constant_column, either, is_column
from isonomia.audits.ksafety.functions import BUILT_IN
from isonomia.audits.ksafety.program import Program
from isonomia.errors import Place, SpecError, UsageError
from isonomia.populations.columns import column_from
from isonomia.populations.domains import Function
from isonomia.spec.nomos.tree import CONSTANTS, FunctionCall, Name, PythonBlock, ScalarLiteral

__all__ = ["BLOCK_FILE", "SIDE_BY_SIDE", "Asking", "Record", "blamed", "block_names", "gathered", "run_coded"]


@dataclass(frozen=True, slots=True)
class Asking:
    """A question to the model that waits for others of its kind to be asked together.

    Attributes
    ----------
    what
        The function that asks: ``predict``, ``score``, or one of the domain, such as ``play``.
    arguments
        What it was called with, in this case.
    seed
        What it draws from; 0 where it draws nothing.
    """

    what: str
    arguments: tuple[Value, ...]
    seed: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Record:
    """One record, as a block sees it: ``x["age"]`` reads a feature."""

    batch: Batch
    data: Any

    def __getitem__(self, feature: str | int) -> Any:
        value, _ = self.batch.domain.get(self.data, self.batch.domain.feature(feature))
        return value.tolist()[0]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Record) and bool(self.batch.domain.equal(self.data, other.data)[0])


def block_names(program: Program, batch: Batch, case: int, seed: int, ask: Callable[[Asking], Any]) -> dict[str, Any]:
    """Every name that a block may use, for one case."""
    one = np.array([case], dtype=np.intp)
    single = Batch(1, batch.domain, {}, Drawn(np.random.default_rng(seed)), batch.call)
    functions: dict[str, Any] = {
        name: _function(name, single)
        for name in (*BUILT_IN, *batch.domain.functions)
        if name not in {"abs", "min", "max"}
    }
    functions |= {what: _asker(what, ask) for what in ("predict", "score")}
    functions |= {
        name: _player(name, function, single, ask) for name, function in batch.domain.functions.items() if function.asks
    }
    names: dict[str, Any] = {**CONSTANTS, **functions}
    names |= {name: SimpleNamespace(**functions) for name in program.spec.imports}
    for name, value in batch.known.items():
        if name.isidentifier():
            names[name] = _plain(value.take(one), single)
    return names


def _asker(what: str, ask: Callable[[Asking], Any]) -> Callable[[Any], Any]:
    def asked(record: Any) -> Any:
        if not isinstance(record, Record):
            raise UsageError(f"{what}(...) takes a record, but {record!r} of type {type(record).__name__} came")
        return ask(Asking(what, (Value(record.data),)))

    return asked


def _player(name: str, function: Function, batch: Batch, ask: Callable[[Asking], Any]) -> Callable[..., Any]:
    """A function of the domain that asks the model: it waits until all cases have got as far."""

    def asked(*arguments: Any) -> Any:
        seed = 0
        if function.random:
            drawn, _ = batch.supply.choose("seed", np.zeros(1), np.zeros(1))
            seed = int(drawn[0])
        return ask(Asking(name, tuple(_value(argument) for argument in arguments), seed))

    return asked


def _function(name: str, batch: Batch) -> Callable[..., Any]:
    """A function of the language or the domain, for one case."""

    def called(*arguments: Any) -> Any:
        nodes: list[Name | ScalarLiteral] = []
        batch.known.clear()
        batch.empty[:] = False
        for number, argument in enumerate(arguments):
            if number == 1 and name in {"getFeat", "setFeat", "randFeat"}:
                nodes.append(ScalarLiteral(argument))
                continue
            batch.known[f"argument {number}"] = _value(argument)
            nodes.append(Name(f"argument {number}"))
        found = batch.call(batch, FunctionCall(name, tuple(nodes)))
        if found.bad is not None and found.bad.any():
            raise ValueError(f"{name}(...) has no value here")
        return _plain(found, batch)

    return called


def _value(argument: Any) -> Value:
    return Value(argument.data) if isinstance(argument, Record) else Value(constant_column(argument, 1))


def _plain(value: Value, batch: Batch) -> Any:
    return value.data.tolist()[0] if is_column(value) else Record(batch, value.data)


def gathered(questions: Sequence[Asking], batch: Batch) -> list[tuple[Any, str | None]]:
    """Answer questions to one function, with equally many arguments each, by one call.

    Returns
    -------
    list
        For each question its answer as a plain value, and why there is none; ``None`` where there is one.
    """
    width = len(questions[0].arguments)
    known = {
        f"argument {place}": _joined([question.arguments[place] for question in questions], batch)
        for place in range(width)
    }
    seeds = np.array([question.seed for question in questions], dtype=np.int64)
    together = Batch(len(questions), batch.domain, known, Given([seeds]), batch.call, batch.ask)
    found = batch.call(together, FunctionCall(questions[0].what, tuple(Name(name) for name in known)))
    return list(zip(found.data.tolist(), _reasons(together, found), strict=True))


def _joined(values: Sequence[Value], batch: Batch) -> Value:
    """One argument of every case, records or a column."""
    if all(is_column(value) for value in values):
        return Value(column_from([value.data.tolist()[0] for value in values], "an argument"))
    return Value(batch.domain.concatenate([value.data for value in values]))


def _reasons(together: Batch, found: Value) -> list[str | None]:
    """Why a case has no answer: the first thing that went wrong for it."""
    reasons: list[str | None] = [None] * together.n
    if found.bad is not None:
        for place in np.flatnonzero(found.bad).tolist():
            told = (why for why, bad in together.faults if bad[place])
            reasons[place] = next(told, "there is no answer for it")
    return reasons


BLOCK_FILE = "<block>"
"""What a block is called where Python asks for the name of a file."""


def blamed(error: BaseException | None, block: PythonBlock) -> Place | None:
    """The line of the block that was running when an exception was raised; ``None`` where it was none of them.

    What the block calls may have raised deeper down; the line is the one that called.
    """
    trace, number = (None if error is None else error.__traceback__), None
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == BLOCK_FILE:
            number = trace.tb_lineno
        trace = trace.tb_next
    return None if number is None else block.line(number)


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
