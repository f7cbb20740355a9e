"""The layers between a check and its model, from the outside in.

=====================  ================================================================================================
:class:`SharedPeople`  what several checks of one population and model share: people drawn once, in numbered blocks, and
                       the model's answer about each of them, asked for once
:class:`Asker`         the journal first; then the answers of an earlier check's pass over a census, where they are
                       shared; then the model
the model              as :mod:`isonomia.models.session` has it: cached, watched for changed answers, behind a gate,
                       run by the workers of an executor
=====================  ================================================================================================

Shared draws are one sequence of people, numbered from 0. Every check that draws from it sees the same people in the
same order, as many as it needs. The guarantee of each verdict is untouched: to every single check the draws
are as good as its own. What is true of all verdicts together follows by adding their risks: no independence is needed.
"""

from __future__ import annotations

import base64
import threading
import zlib
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from isonomia.engine.parameters import batch_rng, root
from isonomia.models.checked import ask
from isonomia.models.decoder import VectorAnswers
from isonomia.models.meter import charge
from isonomia.models.protocol import Answer, Model
from isonomia.models.session import ModelSession
from isonomia.populations.protocol import Population, Source
from isonomia.populations.table import Table, joined
from isonomia.records.journal import Entry, Journal, NullJournal, ReadOnly
from isonomia.spec.columns import host
from isonomia.spec.tree import Value

Reading = TypeVar("Reading")


class Asks(Protocol):
    """Answers for a model; a session does, and so does what keeps or shares its answers."""

    @property
    def model(self) -> Model:
        """The model."""

    def __call__(self, table: Table, want_score: bool, want_prediction: bool) -> Answer:
        """What the model says about every row."""

    def close(self) -> None:
        """Drop what was begun: nothing more is asked."""


@dataclass(slots=True)
class Asker:
    """A model, and what it has answered.

    With a journal, answers are kept in the order of the questions, and read from there where they were kept before: a
    check that was cut off and asks the same questions again asks the model only what is new. Where it is ``shared``, so
    does a check that makes the same pass over everybody as an earlier one.
    """

    model: Model
    journal: Journal = field(default_factory=NullJournal)
    shared: SharedPeople | None = None
    _questions: int = field(default=0, repr=False)

    def __call__(self, table: Table, want_score: bool, want_prediction: bool) -> Answer:
        """Ask about every row of a table, unless that was asked before."""
        number, self._questions = self._questions, self._questions + 1
        kept = self.journal.recall(f"answer {number}")
        if kept is not None:
            charge(table.rows)  # the run that is resumed sent them, and its budget goes on
            answer, watch = unpacked(kept), None if self.session is None else self.session.steady
            if watch is not None and not isinstance(self.journal, ReadOnly):
                watch.expect(table, answer, vectors=isinstance(self.model, VectorAnswers))
            return answer
        if self.shared is None:
            answer = ask(self.model, table, want_score, want_prediction)
        else:
            answer = self.shared.answer_to(number, self.model, table, want_score, want_prediction)
        self.journal.keep(f"answer {number}", lambda: packed(answer))
        return answer

    @property
    def session(self) -> ModelSession | None:
        """The session of the check; ``None`` for a model that is asked without one."""
        model = self.model.model if isinstance(self.model, VectorAnswers) else self.model
        return model if isinstance(model, ModelSession) else None

    def close(self) -> None:
        """Drop everything that workers have begun ahead."""
        if self.session is not None:
            self.session.close()


@dataclass(slots=True)
class AskedTogether:
    """Tables that are sent to workers together, and the answers about each of them.

    Tables of the same form are joined, so that a model whose calls are slow is called less often.

    Attributes
    ----------
    session
        What asks the model, and its workers.
    """

    session: ModelSession
    _groups: list[tuple[Table, bool, bool]] = field(default_factory=list, repr=False)
    _places: dict[int, tuple[int, int]] = field(default_factory=dict, repr=False)
    _answers: dict[int, Answer] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, session: ModelSession, questions: Sequence[tuple[Table, bool, bool]]) -> AskedTogether:
        """Let workers start on some tables, each with whether scores and whether predictions are wanted."""
        made, forms = cls(session), dict[Hashable, list[tuple[Table, bool, bool]]]()
        for question in questions:
            forms.setdefault(_form(*question), []).append(question)
        for number, alike in enumerate(forms.values()):
            start = 0
            for table, _, _ in alike:
                made._places[id(table)] = number, start
                start += table.rows
            made._groups.append((joined([table for table, _, _ in alike]), *alike[0][1:]))
            session.begin(*made._groups[-1])
        return made

    @property
    def model(self) -> Model:
        """The model."""
        return self.session.model

    def __call__(self, table: Table, want_score: bool, want_prediction: bool) -> Answer:
        """What the model says about one of the tables."""
        number, start = self._places[id(table)]
        if number not in self._answers:
            self._answers[number] = self.session(*self._groups[number])
        answer, stop = self._answers[number], start + table.rows
        return Answer(
            answer.prediction[start:stop] if want_prediction and answer.prediction is not None else None,
            answer.score[start:stop] if want_score and answer.score is not None else None,
            answer.classes if want_score else (),
        )

    def close(self) -> None:
        """Drop the answers that nobody needed."""
        for number, (table, _, _) in enumerate(self._groups):
            if number not in self._answers:
                self.session.drop(table)


@dataclass(frozen=True, slots=True)
class BatchesAhead(Generic[Reading]):
    """Batches that were drawn and sent to workers together.

    Attributes
    ----------
    read
        Counts a batch, by its number among them.
    answers
        Answers for the model.
    """

    read: Callable[[int], Reading]
    answers: AskedTogether

    def reading(self, number: int) -> Reading:
        """The reading of one batch; waits for the answers."""
        return self.read(number)

    def drop(self) -> None:
        """Drop the rest, which nobody needs."""
        self.answers.close()


def _form(table: Table, want_score: bool, want_prediction: bool) -> Hashable:
    """A key that is equal for tables that can be joined without changing what the model is given of each row."""
    match table.kind:
        case "columns":
            types: Hashable = tuple((name, column.dtype) for name, column in table.native.items())
        case "array":
            types = table.native.dtype
        case "pandas" | "polars":
            types = tuple(map(str, table.native.dtypes))
        case "pyarrow":
            types = str(table.native.schema)
        case _:
            types = id(table)
    return table.kind, table.names, types, want_score, want_prediction


def _wanted(answer: Answer, want_score: bool, want_prediction: bool) -> Answer:
    """What is wanted of an answer that was given to several checks together."""
    return Answer(
        answer.prediction if want_prediction else None,
        answer.score if want_score else None,
        answer.classes if want_score else (),
    )


MAX_REMEMBERED = 2**24
"""How many people's answers are remembered; for the rest of a longer table, each check asks the model itself."""

FIRST, LARGEST = 64, 2**13
"""The size of the first block; each later one is as large as all before it together, up to the largest."""

KEPT = 128
"""Blocks of people kept in memory; others are drawn again when they are needed, and come out the same."""


@dataclass(slots=True)
class SharedPeople:
    """What the checks of one population and one model share: the people, and the model's answers about them.

    It is both a source of people and what answers about them, for one check at a time. Only answers about the table
    drawn last are shared; any other table goes to the model itself. The answers of a pass over a whole census are
    shared, too (:meth:`answer_to`).

    Attributes
    ----------
    population, session, seed
        As every one of the checks has them; no session where no check has a model.
    want_prediction, want_score
        What the checks want of the model, all of them together, so that it is asked once.
    """

    population: Population
    session: ModelSession | None
    seed: int
    want_prediction: bool = True
    want_score: bool = False
    _opened: Source | None = field(default=None, init=False, repr=False)
    _drawn: tuple[Table, int] | None = field(default=None, init=False, repr=False)
    _blocks: OrderedDict[int, Table] = field(default_factory=OrderedDict, init=False, repr=False)
    _answers: dict[int, _AnsweredBlock] = field(default_factory=dict, init=False, repr=False)
    _pass: dict[int, Answer] = field(default_factory=dict, init=False, repr=False)
    _pass_rows: int = field(default=0, init=False, repr=False)
    _lock: threading.RLock = field(default_factory=threading.RLock, init=False, repr=False)

    @property
    def source(self) -> Source:
        """Where people are drawn: one stream of them, as they are; opened when the first check needs it."""
        if self._opened is None:
            self._opened = self.population.open(root(self.seed))
        return self._opened

    @property
    def finite(self) -> bool:
        """Whether the people come to an end."""
        return self.source.finite

    @property
    def model(self) -> ModelSession:
        """The model, where there is one."""
        assert self.session is not None
        return self.session

    def batch(self, start: int, n: int, rng: np.random.Generator, stream: int = 0) -> Table:  # noqa: ARG002
        """The next people; the draws have their own randomness, so ``rng`` is not used."""
        table = self.people(start, n)
        self._drawn = table, start
        return table

    def __call__(self, table: Table, want_score: bool, want_prediction: bool) -> Answer:
        """What the model says about the people drawn last."""
        if self._drawn is None or self._drawn[0] is not table:
            return ask(self.model, table, want_score, want_prediction)
        return _wanted(self.answer(self._drawn[1], table.rows), want_score, want_prediction)

    def close(self) -> None:
        """Do nothing: other checks may go on."""

    def answer_to(self, number: int, model: Model, table: Table, want_score: bool, want_prediction: bool) -> Answer:
        """The answer to a numbered question of a pass over everybody, which another check may have asked before."""
        known = self._pass.get(number)
        if known is None:
            known = ask(model, table, self.want_score, self.want_prediction)
            self._pass_rows += table.rows
            if self._pass_rows <= MAX_REMEMBERED:  # a long table would fill the memory
                self._pass[number] = known
        return _wanted(known, want_score, want_prediction)

    def people(self, start: int, n: int) -> Table:
        """The people numbered from ``start`` up to ``start + n``, or what is left of them."""
        with self._lock:
            parts = [self._block(number).slice(first, last) for number, first, last in _parts(start, n)]
            found = [part for part in parts if part.rows]
            return joined(found) if found else parts[0]

    def answer(self, start: int, n: int) -> Answer:
        """What the model says about these people; it is asked only about those it has not answered yet."""
        with self._lock:
            parts = [self._answered(number, first, last) for number, first, last in _parts(start, n)]
        found = [part for part in parts if part is not None]
        return Answer(
            np.concatenate([part.prediction for part in found if part.prediction is not None])
            if self.want_prediction
            else None,
            np.concatenate([part.score for part in found if part.score is not None]) if self.want_score else None,
            found[0].classes,
        )

    def _block(self, number: int) -> Table:
        found = self._blocks.get(number)
        if found is None:
            start, stop = _edges(number)
            rng = batch_rng(self.seed, number, 0)
            found = self._blocks[number] = self.source.batch(start, stop - start, rng)
            while len(self._blocks) > KEPT:
                self._blocks.popitem(last=False)
        self._blocks.move_to_end(number)
        return found

    def _answered(self, number: int, first: int, last: int) -> Answer | None:
        known, block = self._answers.setdefault(number, _AnsweredBlock()), self._block(number)
        last = min(last, block.rows)
        if last > known.rows:
            new = ask(self.model, block.slice(known.rows, last), self.want_score, self.want_prediction)
            known.rows, known.classes = last, new.classes
            if new.prediction is not None:
                known.prediction[:] = [np.concatenate([*known.prediction, new.prediction])]
            if new.score is not None:
                known.score[:] = [np.concatenate([*known.score, new.score])]
        if last <= first:
            return None
        return Answer(
            known.prediction[0][first:last] if known.prediction else None,
            known.score[0][first:last] if known.score else None,
            known.classes,
        )


@dataclass(slots=True)
class _AnsweredBlock:
    """What the model said about the first people of a block."""

    rows: int = 0
    prediction: list[NDArray[Any]] = field(default_factory=list)
    score: list[NDArray[np.float64]] = field(default_factory=list)
    classes: tuple[Value, ...] = ()


def _edges(number: int) -> tuple[int, int]:
    """The first person of a block, and the one after its last."""
    doubling = int(np.log2(LARGEST // FIRST))
    if number == 0:
        return 0, FIRST
    if number <= doubling:
        return FIRST * 2 ** (number - 1), FIRST * 2**number
    start = LARGEST * (number - doubling)
    return start, start + LARGEST


def _parts(start: int, n: int) -> list[tuple[int, int, int]]:
    """Which blocks some people are in, and where in each."""
    number = 0
    if start >= LARGEST:
        number = start // LARGEST + int(np.log2(LARGEST // FIRST))
    elif start >= FIRST:
        number = int(np.log2(start // FIRST)) + 1
    parts, left = [], n
    while left > 0:
        first, stop = _edges(number)
        last = min(start + left, stop)
        parts.append((number, start - first, last - first))
        left -= last - start
        start, number = last, number + 1
    return parts


def packed(answer: Answer) -> Entry:
    """An answer as a journal keeps it, with every bit of a number."""
    return {
        "prediction": None if answer.prediction is None else _packed(answer.prediction),
        "score": None if answer.score is None else _packed(answer.score),
        "classes": list(answer.classes),
    }


def unpacked(entry: Entry) -> Answer:
    """The answer that was packed."""
    return Answer(
        None if entry["prediction"] is None else _unpacked(entry["prediction"]),
        None if entry["score"] is None else _unpacked(entry["score"]),
        tuple(entry["classes"]),
    )


def _packed(array: NDArray[Any]) -> dict[str, Any]:
    array = host(array)
    if array.dtype == object:
        return {"values": array.tolist()}
    # The fastest level: these entries are dropped once the check has its verdict.
    squeezed = zlib.compress(np.ascontiguousarray(array).tobytes(), level=1)
    return {"dtype": array.dtype.str, "shape": list(array.shape), "bytes": base64.b64encode(squeezed).decode("ascii")}


def _unpacked(entry: dict[str, Any]) -> NDArray[Any]:
    if "values" in entry:
        values = [tuple(value) if isinstance(value, list) else value for value in entry["values"]]
        return np.fromiter(values, dtype=object, count=len(values))
    dtype, shape = np.dtype(entry["dtype"]), tuple(entry["shape"])
    size = dtype.itemsize * prod(shape)
    data = zlib.decompressobj().decompress(base64.b64decode(entry["bytes"]), max(size, 1))
    return np.frombuffer(data, dtype=dtype, count=prod(shape)).reshape(shape).copy()
