"""Who answers for the model in a check, from the outside in.

=====================  ================================================================================================
:class:`SharedSource`  one check's way to what several checks of one population and model share
:class:`SharedDraws`   people drawn once, in numbered blocks, and the model's answer about each of them, asked for once
:class:`Asker`         the journal first; then the answers that an earlier pass over a census remembered
                       (:class:`RememberedAnswers`); then the model, in as many threads as are wished for
the model              as :mod:`isonomia.models.wrappers` has it: cached, watched for changed answers, behind a gate
=====================  ================================================================================================

Shared draws are an endless row of people, numbered from 0. Every check that draws from it sees the same people in the
same order, each check as many as it needs. The guarantee of each verdict is untouched: to every single check the draws
are as good as its own. What is true of all verdicts together follows by adding their risks: no independence is needed.
"""

from __future__ import annotations

import base64
import threading
import zlib
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import pairwise
from math import prod
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from isonomia.engine.journal import Blank, Entry, Journal
from isonomia.engine.seeds import batch_rng, root
from isonomia.errors import ModelError
from isonomia.models.checked import ask
from isonomia.models.protocol import Answer, Model
from isonomia.populations.protocol import Population, Source
from isonomia.populations.table import Table, joined
from isonomia.spec.tensors import host, is_tensor, namespace
from isonomia.spec.tree import Value

__all__ = ["Asker", "Asks", "RememberedAnswers", "SharedDraws", "SharedSource", "Sharing"]


class Asks(Protocol):
    """Whoever answers for a model."""

    @property
    def model(self) -> Model:
        """The model."""

    def __call__(self, table: Table, want_score: bool, want_prediction: bool) -> Answer:
        """What the model says about every row."""

    def close(self) -> None:
        """Let go of what was needed for asking."""


@dataclass(slots=True)
class Asker:
    """A model, and how many threads ask it side by side.

    A batch is cut into as many parts as there are threads, and the answers are joined again. Since the model answers
    for each person alone, the outcome does not depend on the number of threads.

    With a journal, answers are kept in the order of asking, and taken from there where they were kept before: a check
    that asks the same questions again after it was cut off asks the model only what is new. With a memory, so does a
    check that makes the same pass over everybody as one before it.
    """

    model: Model
    workers: int = 1
    journal: Journal = field(default_factory=Blank)
    memory: RememberedAnswers | None = None
    _questions: int = field(default=0, repr=False)
    _pool: ThreadPoolExecutor | None = field(default=None, repr=False)

    def __call__(self, table: Table, want_score: bool, want_prediction: bool) -> Answer:
        """Ask about every row of a table, unless that was asked before."""
        number, self._questions = self._questions, self._questions + 1
        kept = self.journal.recall(f"answer {number}")
        if kept is not None:
            return unpacked(kept)
        answer = self._remembered(number, table, want_score, want_prediction)
        self.journal.keep(f"answer {number}", lambda: packed(answer))
        return answer

    def _remembered(self, number: int, table: Table, want_score: bool, want_prediction: bool) -> Answer:
        memory = self.memory
        if memory is None:
            return self._ask(table, want_score, want_prediction)
        return memory.answer(
            number, want_score, want_prediction, lambda: self._ask(table, memory.want_score, memory.want_prediction)
        )

    def _ask(self, table: Table, want_score: bool, want_prediction: bool) -> Answer:
        parts = min(self.workers, table.rows)
        if parts == 1:
            return ask(self.model, table, want_score, want_prediction)
        if self._pool is None:
            self._pool = ThreadPoolExecutor(max_workers=self.workers)
        edges = np.linspace(0, table.rows, parts + 1).astype(int).tolist()
        pieces = [table.slice(start, stop) for start, stop in pairwise(edges)]
        answers = list(self._pool.map(lambda piece: ask(self.model, piece, want_score, want_prediction), pieces))
        return _joined(answers, self.model)

    def close(self) -> None:
        """Let the threads go."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool = None


def _joined(answers: list[Answer], model: Model) -> Answer:
    classes = answers[0].classes
    if any(answer.classes != classes for answer in answers):
        raise ModelError(f"{model.name} named its classes differently for different people of one batch")
    return Answer(
        _concatenated([answer.prediction for answer in answers]),
        _concatenated([answer.score for answer in answers]),
        classes,
    )


def _concatenated(parts: list[NDArray[Any] | None]) -> NDArray[Any] | None:
    found = [part for part in parts if part is not None]
    if found and is_tensor(found[0]):
        whole: NDArray[Any] = namespace(found[0]).concat(found)
        return whole
    return np.concatenate(found) if found else None


MAX_REMEMBERED = 2**24
"""People whose answers are remembered; of a longer table, each check asks about the rest itself."""


@dataclass(slots=True)
class RememberedAnswers:
    """The answers of one pass over everybody, for all checks that make the same pass.

    Attributes
    ----------
    want_prediction, want_score
        What the checks want, all of them together.
    answers
        What was said so far, by the number of the question.
    rows
        About how many people that was.
    """

    want_prediction: bool
    want_score: bool
    answers: dict[int, Answer] = field(default_factory=dict, repr=False)
    rows: int = 0

    def answer(self, number: int, want_score: bool, want_prediction: bool, ask_all: Callable[[], Answer]) -> Answer:
        """What was said to a question, or is now."""
        known = self.answers.get(number)
        if known is None:
            known = ask_all()
            self._remember(number, known)
        return Answer(
            known.prediction if want_prediction else None,
            known.score if want_score else None,
            known.classes if want_score else (),
        )

    def _remember(self, number: int, answer: Answer) -> None:
        """Keep an answer, unless there are so many already that a long table would fill the memory."""
        given = answer.prediction if answer.prediction is not None else answer.score
        self.rows += 0 if given is None else len(given)
        if self.rows <= MAX_REMEMBERED:
            self.answers[number] = answer


@dataclass(slots=True)
class Sharing:
    """What the checks of one population and one model have in common, opened when the first of them needs it.

    Attributes
    ----------
    population, model, seed, workers
        As every one of the checks has them.
    want_prediction, want_score
        What they want of the model, all of them together.
    """

    population: Population
    model: Model | None
    seed: int
    workers: int
    want_prediction: bool
    want_score: bool
    memory: RememberedAnswers = field(init=False, repr=False)
    _pool: SharedDraws | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        self.memory = RememberedAnswers(self.want_prediction, self.want_score)

    def shared(self) -> SharedSource:
        """A way to the pool for one check."""
        if self._pool is None:
            asker = None if self.model is None else Asker(self.model, self.workers)
            source = self.population.open(root(self.seed))
            self._pool = SharedDraws(source, asker, self.seed, self.want_prediction, self.want_score)
        return SharedSource(self._pool)


@dataclass(slots=True)
class SharedSource:
    """One check's way to a pool: it draws like a source, and asks like an asker.

    It is used by one check at a time. What it is asked about must be what it drew last; anything else goes to the model
    itself.
    """

    pool: SharedDraws
    _drawn: tuple[Table, int] | None = field(default=None, repr=False)

    @property
    def finite(self) -> bool:
        """Whether the people come to an end."""
        return self.pool.source.finite

    @property
    def model(self) -> Model:
        """Who is asked in the end."""
        assert self.pool.asker is not None
        return self.pool.asker.model

    def batch(self, start: int, n: int, rng: np.random.Generator, stream: int = 0) -> Table:  # noqa: ARG002
        """The next people; their randomness is the pool's own."""
        table = self.pool.people(start, n)
        self._drawn = table, start
        return table

    def __call__(self, table: Table, want_score: bool, want_prediction: bool) -> Answer:
        """What the model says about the people drawn last."""
        if self._drawn is None or self._drawn[0] is not table:
            assert self.pool.asker is not None
            return self.pool.asker(table, want_score, want_prediction)
        answer = self.pool.answer(self._drawn[1], table.rows)
        return Answer(
            answer.prediction if want_prediction else None,
            answer.score if want_score else None,
            answer.classes if want_score else (),
        )

    def close(self) -> None:
        """Nothing: the pool may serve others."""


FIRST, LARGEST = 64, 2**13
"""The size of the first block; each later one is as large as all before it together, up to the largest."""

KEPT = 128
"""Blocks of people that are kept; others are drawn again when somebody needs them, and come out the same."""


@dataclass(slots=True)
class SharedDraws:
    """People and answers that several checks share.

    Attributes
    ----------
    source
        Where people are drawn, one stream of them as they are.
    asker
        Who is asked about them; ``None`` where no check asks a model.
    seed
        The seed of the draws.
    want_prediction, want_score
        What the checks want of the model, all of them together, so that it is asked once.
    """

    source: Source
    asker: Asker | None
    seed: int
    want_prediction: bool = True
    want_score: bool = False
    _blocks: OrderedDict[int, Table] = field(default_factory=OrderedDict, repr=False)
    _answers: dict[int, _AnsweredBlock] = field(default_factory=dict, repr=False)
    _lock: threading.RLock = field(default_factory=threading.RLock, repr=False)

    def people(self, start: int, n: int) -> Table:
        """The people numbered from ``start`` up to ``start + n``, or what is left of them."""
        with self._lock:
            parts = [self._block(number).slice(first, last) for number, first, last in _parts(start, n)]
            found = [part for part in parts if part.rows]
            return joined(found) if found else parts[0]

    def answer(self, start: int, n: int) -> Answer:
        """What the model says about them; it is asked about those of whom nobody asked before."""
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
            assert self.asker is not None
            new = self.asker(block.slice(known.rows, last), self.want_score, self.want_prediction)
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
    """What the model answered; every bit of a number is kept."""
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
    # Quickly: what is kept is forgotten when the check has its verdict.
    squeezed = zlib.compress(np.ascontiguousarray(array).tobytes(), level=1)
    return {"dtype": array.dtype.str, "shape": list(array.shape), "bytes": base64.b64encode(squeezed).decode("ascii")}


def _unpacked(entry: dict[str, Any]) -> NDArray[Any]:
    if "values" in entry:
        return np.fromiter(entry["values"], dtype=object, count=len(entry["values"]))
    dtype, shape = np.dtype(entry["dtype"]), tuple(entry["shape"])
    size = dtype.itemsize * prod(shape)
    data = zlib.decompressobj().decompress(base64.b64decode(entry["bytes"]), max(size, 1))
    return np.frombuffer(data, dtype=dtype, count=prod(shape)).reshape(shape).copy()
