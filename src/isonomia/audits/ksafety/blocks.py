"""Running a block that is code: many cases side by side, with their queries of the model gathered into one call.

Each case runs in a thread of its own, but only one of them runs at any moment: it goes on until it queries the model or
ends, and then hands control back. When every case has queried or ended, the model is called once for all. So a block
may loop, branch, call functions and build lists as it likes, and nothing in it runs at the same time as anything else.
A function of the domain that queries the model, such as one that plays a game with a policy, waits in the same way.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import CodeType, SimpleNamespace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.ksafety.compiler import CompiledSpec
from isonomia.audits.ksafety.evaluate import (
    CaseEvaluation,
    CaseValues,
    GivenChoices,
    RandomChoices,
    constant_column,
    either,
    is_column,
)
from isonomia.audits.ksafety.functions import BUILT_IN, objects_column
from isonomia.errors import ModelError, Place, SpecError, UsageError
from isonomia.populations.domains import Function
from isonomia.populations.domains.protocol import one_record
from isonomia.spec.nomos.tree import CONSTANTS, FunctionCall, Name, PythonBlock, ScalarLiteral

BLOCK_FILE = "<block>"
"""The file name of a block, for Python."""

MAX_THREADS = 512
"""The maximum number of cases that run side by side."""

GRACE = 1.0
"""Seconds that a case has to end after it was stopped."""

Question: TypeAlias = tuple[str, tuple[CaseValues, ...], int]
"""The function that queries, such as ``predict`` or one of the domain, its arguments, and its random seed (or 0)."""


def run_block(program: CompiledSpec, seconds: float, batch: CaseEvaluation, seeds: NDArray[np.int64]) -> None:
    """Run the block for every case of a batch, and note its outputs.

    A case may take at most ``seconds`` between two queries of the model; taking longer is an error. Each case has one
    seed, for the random numbers that the block draws.
    """
    assert program.code is not None
    compiled = compile(program.code.source, BLOCK_FILE, "exec")
    cases = [
        _Case(number, lambda case: _work(program, compiled, batch, int(seeds[case.number]), case))
        for number in range(batch.n)
    ]
    for start in range(0, len(cases), MAX_THREADS):
        _run_together(program, cases[start : start + MAX_THREADS], batch, seconds)
    _note(program, cases, batch)


class _StopError(BaseException):
    """Raised inside a case that took too long; no ``except Exception`` in the block catches it."""


@dataclass(slots=True)
class _Case:
    """One running case of the block."""

    number: int
    work: Callable[[_Case], None]
    go: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    back: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    question: Question | None = None
    answer: Any = None
    outputs: dict[str, Any] = field(default_factory=dict)
    error: BaseException | None = None
    done: bool = False
    cancelled: bool = False
    thread: threading.Thread | None = None

    def start(self) -> None:
        """Start the thread, which waits for its turn."""
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        self.go.acquire()
        try:
            if not self.cancelled:
                self.work(self)
        except BaseException as error:  # whatever the block raises is reported
            self.error = error
        self.done = True
        self.back.release()

    def ask(self, question: Question) -> Any:
        """Called inside the case: hand control back and wait for the answer."""
        self.question = question
        self.back.release()
        self.go.acquire()
        answer, self.answer = self.answer, None
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def resume(self, seconds: float) -> bool:
        """Let the case continue until it queries or ends; returns whether it did so in time."""
        self.go.release()
        if self.back.acquire(timeout=seconds):
            return True
        if self.thread is not None and self.thread.ident is not None:
            number, error = ctypes.c_ulong(self.thread.ident), ctypes.py_object(_StopError)
            ctypes.pythonapi.PyThreadState_SetAsyncExc(number, error)
        self.back.acquire(timeout=GRACE)
        return False


def _work(program: CompiledSpec, compiled: CodeType, batch: CaseEvaluation, seed: int, case: _Case) -> None:
    names = _block_names(program, batch, case.number, seed, case.ask)
    exec(compiled, names)  # the user gave permission, see check.py
    case.outputs = {name: names[name] for name in program.spec.outputs if name in names}


def _run_together(program: CompiledSpec, cases: list[_Case], batch: CaseEvaluation, seconds: float) -> None:
    for case in cases:
        case.start()
    running = cases
    while running:
        for case in running:
            if not case.resume(seconds):
                _release(running)
                raise SpecError(
                    f"the block did not end within {seconds:g} s for one case: does it loop forever? "
                    "Allow more with seconds=...",
                    _line_of(case.error, program.spec.block) or program.spec.block.place,
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


def _answer(waiting: list[_Case], batch: CaseEvaluation) -> None:
    """Answer all waiting cases, questions of each kind together."""
    kinds: dict[tuple[str, int], list[tuple[_Case, Question]]] = {}
    for case in waiting:
        if case.question is not None:
            function, arguments, _ = case.question
            kinds.setdefault((function, len(arguments)), []).append((case, case.question))
    for asking in kinds.values():
        answers = _answers_to([question for _, question in asking], batch)
        for (case, _), (answer, reason) in zip(asking, answers, strict=True):
            case.answer, case.question = (ModelError(reason) if reason is not None else answer), None


def _answers_to(questions: Sequence[Question], batch: CaseEvaluation) -> list[tuple[Any, str | None]]:
    """Answer questions to one function, all with the same number of arguments, by one call.

    Each answer is a plain value and the reason why it is missing; ``None`` where it is not.
    """
    function, first, _ = questions[0]
    values = {
        f"argument {index}": _column([arguments[index] for _, arguments, _ in questions], batch)
        for index in range(len(first))
    }
    seeds = np.array([seed for _, _, seed in questions], dtype=np.int64)
    together = CaseEvaluation(len(questions), batch.domain, values, GivenChoices([seeds]), batch.call, batch.ask)
    answer = batch.call(together, FunctionCall(function, tuple(Name(name) for name in values)))
    return list(zip(answer.data.tolist(), _reasons(together, answer), strict=True))


def _column(values: Sequence[CaseValues], batch: CaseEvaluation) -> CaseValues:
    """One argument of every case, records or a column; a record may be missing in some."""
    if all(is_column(value) for value in values):
        return CaseValues(objects_column([value.data.tolist()[0] for value in values], "an argument"))
    standing_in = next(value.data for value in values if not is_column(value))
    null = np.array([is_column(value) for value in values], dtype=bool)
    records = batch.domain.concatenate([standing_in if is_column(value) else value.data for value in values])
    return CaseValues(records, null=either(null))


def _reasons(together: CaseEvaluation, answer: CaseValues) -> list[str | None]:
    """Why a case has no answer: the first thing that went wrong for it."""
    reasons: list[str | None] = [None] * together.n
    if answer.bad is not None:
        for index in np.flatnonzero(answer.bad).tolist():
            first = (why for why, bad in together.faults if bad[index])
            reasons[index] = next(first, "there is no answer for it")
    return reasons


def _note(program: CompiledSpec, cases: list[_Case], batch: CaseEvaluation) -> None:
    """Keep the outputs, and note the cases that have none."""
    why = [_problem(program, case) for case in cases]
    for reason in dict.fromkeys(item for item in why if item):
        batch.fault(np.array([item == reason for item in why]), reason, None)
    failed = np.array([item is not None for item in why], dtype=bool)
    for name in program.spec.outputs:
        values = [case.outputs.get(name) for case in cases]
        good = next((value for value, bad in zip(values, failed, strict=True) if not bad), 0)
        filled = [good if bad else value for value, bad in zip(values, failed, strict=True)]
        made = _as_value(filled, batch, name)
        batch.values[program.finals[name]] = CaseValues(made.data, either(failed), made.null)


def _as_value(values: Sequence[Any], batch: CaseEvaluation, name: str) -> CaseValues:
    """A block's output in each case: records, where each is one or missing, or else a column of any values."""
    if any(isinstance(value, BlockRecord) for value in values) and all(
        isinstance(item, BlockRecord | None) for item in values
    ):
        return _column([_value(value) for value in values], batch)
    return CaseValues(objects_column([_own(value) for value in values], name))


def _own(value: Any) -> Any:
    """A value, or a record as the object or the plain values that it is."""
    if not isinstance(value, BlockRecord):
        return value
    return one_record(value.batch.domain)(value.data, 0)


def _problem(program: CompiledSpec, case: _Case) -> str | None:
    if isinstance(case.error, ModelError):
        return str(case.error)
    if case.error is not None:
        place = _line_of(case.error, program.spec.block)
        where = "" if place is None else f" (line {place.line})"
        return f"the block raised {type(case.error).__name__}: {case.error}{where}"
    lacking = [name for name in program.spec.outputs if name not in case.outputs]
    return f"the block did not set {lacking[0]}" if lacking else None


def _line_of(error: BaseException | None, block: PythonBlock) -> Place | None:
    """The line of the block that was running when an exception was raised; ``None`` if the block was not running.

    If the exception came from deeper down, it is the line that made the call.
    """
    trace, number = (None if error is None else error.__traceback__), None
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == BLOCK_FILE:
            number = trace.tb_lineno
        trace = trace.tb_next
    return None if number is None else block.line(number)


@dataclass(frozen=True, slots=True, eq=False)
class BlockRecord:
    """One record, as a block sees it: ``x["age"]`` reads a feature."""

    batch: CaseEvaluation
    data: Any

    def __getitem__(self, feature: str | int) -> Any:
        value, _ = self.batch.domain.get(self.data, self.batch.domain.feature(feature))
        return value.tolist()[0]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BlockRecord) and bool(self.batch.domain.equal(self.data, other.data)[0])


def _block_names(
    program: CompiledSpec, batch: CaseEvaluation, case: int, seed: int, ask: Callable[[Question], Any]
) -> dict[str, Any]:
    """Every name that a block may use, for one case."""
    one = np.array([case], dtype=np.intp)
    single = CaseEvaluation(1, batch.domain, {}, RandomChoices(np.random.default_rng(seed)), batch.call)
    functions: dict[str, Any] = {
        name: _function(name, single)
        for name in (*BUILT_IN, *batch.domain.functions)
        if name not in {"abs", "min", "max"}
    }
    functions |= {what: _asker(what, ask) for what in ("predict", "score") if what not in batch.domain.functions}
    functions |= {
        name: _player(name, function, single, ask) for name, function in batch.domain.functions.items() if function.asks
    }
    names: dict[str, Any] = {**CONSTANTS, **functions}
    names |= {name: SimpleNamespace(**functions) for name in program.spec.imports}
    for name, value in batch.values.items():
        if name.isidentifier():
            names[name] = _plain(value.take(one), single)
    return names


def _asker(what: str, ask: Callable[[Question], Any]) -> Callable[[Any], Any]:
    def query(record: Any) -> Any:
        if not isinstance(record, BlockRecord):
            raise UsageError(f"{what}(...) takes a record, but got {record!r} of type {type(record).__name__}")
        return ask((what, (CaseValues(record.data),), 0))

    return query


def _player(name: str, function: Function, batch: CaseEvaluation, ask: Callable[[Question], Any]) -> Callable[..., Any]:
    """A function of the domain that queries the model: it waits until all cases have come this far."""

    def play(*arguments: Any) -> Any:
        seed = 0
        if function.random:
            drawn, _ = batch.choices.choose("seed", np.zeros(1), np.zeros(1))
            seed = int(drawn[0])
        return ask((name, tuple(_value(argument) for argument in arguments), seed))

    return play


def _function(name: str, batch: CaseEvaluation) -> Callable[..., Any]:
    """A function of the language or the domain, for one case."""

    def called(*arguments: Any) -> Any:
        nodes: list[Name | ScalarLiteral] = []
        batch.values.clear()
        batch.empty[:] = False
        for number, argument in enumerate(arguments):
            if number == 1 and name in {"getFeat", "setFeat", "randFeat"}:
                nodes.append(ScalarLiteral(argument))
                continue
            batch.values[f"argument {number}"] = _value(argument)
            nodes.append(Name(f"argument {number}"))
        result = batch.call(batch, FunctionCall(name, tuple(nodes)))
        if result.bad is not None and result.bad.any():
            raise ValueError(f"{name}(...) has no value here")
        return _plain(result, batch)

    return called


def _value(argument: Any) -> CaseValues:
    if isinstance(argument, BlockRecord):
        return CaseValues(argument.data)
    plain = argument is None or isinstance(argument, str | int | float | np.generic)
    return CaseValues(constant_column(argument, 1) if plain else objects_column([argument], "an argument"))


def _plain(value: CaseValues, batch: CaseEvaluation) -> Any:
    if is_column(value):
        return value.data.tolist()[0]
    return None if value.null is not None and value.null[0] else BlockRecord(batch, value.data)
