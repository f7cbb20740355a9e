"""One model, many workers: the rows of a batch are cut into parts, which the workers of an executor answer."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from platform import node
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import ModelError
from isonomia.executors import Pool, StartedTasks, TaskContext
from isonomia.models.checked import ask
from isonomia.models.meter import charge, unmetered
from isonomia.models.protocol import Answer, Model, asks_each
from isonomia.populations.table import Table
from isonomia.spec.columns import is_tensor, namespace

FEW, MANY = 16, 64
"""The largest number of parts for small and for large batches, as long as no part has more than ``MOST`` rows."""

LEAST, MOST = 4, 4096
"""The least and the most rows of a part. A model whose cost is per call is faster with more rows, one whose cost is per
row with fewer."""


def borders(rows: int) -> list[int]:
    """Where a batch is cut into parts. It depends only on the number of rows, not on the number of workers.

    A model may round differently when it is given other rows together, so it always gets the same parts.
    """
    size = max(LEAST, -(-rows // FEW))
    if size > MANY:
        size = max(MANY, -(-rows // MANY))
    return [*range(0, rows, min(size, MOST)), rows]


Question = tuple[Table, bool, bool]
"""Rows, and whether scores and predictions are requested."""


def answer_part(model: Model, question: Question) -> tuple[str, Answer]:
    """Ask the worker's copy of the model about a part, and say which worker it is; the caller was charged for it."""
    with unmetered():
        return worker_name(), ask(model, *question)


def answer_elsewhere(model: Model, item: tuple[Question, str]) -> Answer | None:
    """The same, unless this is the worker that is not to answer; it waits a moment then, so that another one can."""
    question, avoided = item
    if worker_name() == avoided:
        time.sleep(PAUSE)
        return None
    return answer_part(model, question)[1]


def worker_name() -> str:
    """What tells this process from others, on any machine."""
    return f"{node()} {os.getpid()}"


PAUSE, TRIES, FURTHER_TRIES = 0.05, 40, 2
"""How long, in seconds, a worker waits that is not to answer, and how often another one is looked for, the first time
and after none was found. Where none is found, as where there is only one, the same worker answers again; it changes
which disagreements are noticed."""


@dataclass(frozen=True, slots=True, eq=False)
class Workers:
    """The workers that run one model, each on some rows of a batch.

    A model answers for each person separately, so it does not matter which worker does. Each worker has one copy.

    Attributes
    ----------
    model
        The model.
    pool
        The workers.
    """

    model: Model
    pool: Pool = field(repr=False)
    _shared: list[TaskContext] = field(default_factory=list, repr=False)
    _begun: dict[int, tuple[Question, StartedTasks]] = field(default_factory=dict, repr=False)
    _lock: Any = field(default_factory=threading.Lock, repr=False)
    _last: list[NDArray[np.str_]] = field(default_factory=list, repr=False)
    _in_vain: list[str] = field(default_factory=list, repr=False)

    def begin(self, table: Table, want_score: bool, want_prediction: bool) -> None:
        """Let the workers start on a table that will be needed soon."""
        question = (table, want_score, want_prediction)
        tasks = self._tasks(question)
        with self._lock:
            self._begun[id(table)] = question, tasks

    def drop(self, table: Table | None = None) -> None:
        """Cancel the work on a table that was begun, or on all of them."""
        with self._lock:
            keys = list(self._begun) if table is None else [id(table)]
            dropped = [self._begun.pop(key) for key in keys if key in self._begun]
        for _, tasks in dropped:
            tasks.drop()

    def answer(self, table: Table, want_score: bool, want_prediction: bool) -> Answer:
        """Let the workers answer for the parts, and join the answers in order."""
        question = (table, want_score, want_prediction)
        with self._lock:
            before, tasks = self._begun.pop(id(table), (None, None))
        if tasks is None or before != question:
            tasks = self._tasks(question)
        answers = list(tasks.results())
        self._last[:] = [np.repeat([worker for worker, _ in answers], np.diff(borders(table.rows)))]
        return joined_answers([answer for _, answer in answers], self.model.name)

    @property
    def last_workers(self) -> NDArray[np.str_] | None:
        """Which worker answered for each row of the last table; ``None`` where all of them are in this process."""
        return self._last[0] if self._last and not self.pool.executing.here else None

    def answer_elsewhere(
        self, table: Table, workers: NDArray[np.str_], *, want_score: bool, want_prediction: bool
    ) -> Answer:
        """Let other workers answer than those which answered for each row before, wherever there are others.

        Two workers may have different models: one of another version, or with another random state.
        """
        charge(asks_each(self.model) * table.rows)
        names, which = np.unique(workers, return_inverse=True)
        groups = [np.flatnonzero(which == number) for number in range(len(names))]
        parts = [(self._read(table.take(rows)), want_score, want_prediction) for rows in groups]
        answers = [self._elsewhere(part, str(name)) for part, name in zip(parts, names, strict=True)]
        together, back = joined_answers(answers, self.model.name), np.argsort(np.concatenate(groups))
        prediction, score = (
            None if values is None else values[back.tolist()] if is_tensor(values) else values[back]
            for values in (together.prediction, together.score)
        )
        return Answer(prediction, score, together.classes)

    def _elsewhere(self, question: Question, avoided: str) -> Answer:
        tries = FURTHER_TRIES if self._in_vain else TRIES
        for _ in range(tries if self.pool.workers > 1 else 0):
            # Two at once: while the worker that is not to answer has one of them, another worker gets the other.
            begun = [
                self.pool.begin(answer_elsewhere, self._model(), [(question, avoided)], [question[0].rows])
                for _ in range(2)
            ]
            answers: list[Answer] = [answer for tasks in begun for answer in tasks.results() if answer is not None]
            if answers:
                return answers[0]
        self._in_vain.append(avoided)
        answer: Answer
        ((_, answer),) = self.pool.begin(answer_part, self._model(), [question], [question[0].rows]).results()
        return answer

    def _tasks(self, question: Question) -> StartedTasks:
        table, want_score, want_prediction = question
        charge(asks_each(self.model) * table.rows)
        table = self._read(table)
        parts = [table.slice(start, stop) for start, stop in pairwise(borders(table.rows))]
        questions = [(part, want_score, want_prediction) for part in parts]
        return self.pool.begin(answer_part, self._model(), questions, [part.rows for part in parts])

    def _read(self, table: Table) -> Table:
        """The columns that the model reads, where it says so: only these are sent."""
        reads = self.model.reads
        if reads is None or not set(reads) <= set(table.names):
            return table
        return table.select([name for name in table.names if name in reads])

    def _model(self) -> TaskContext:
        with self._lock:
            if not self._shared:
                self._shared.append(TaskContext(self.model, self.model.name))
        return self._shared[0]


def joined_answers(answers: Sequence[Answer], name: str) -> Answer:
    """The answers to several questions as one; ``name`` is the model's, for messages."""
    classes = answers[0].classes
    if any(answer.classes != classes for answer in answers):
        raise ModelError(f"{name} named its classes differently for different people of one batch")
    predictions, scores = [answer.prediction for answer in answers], [answer.score for answer in answers]
    return Answer(_concatenated(predictions), _concatenated(scores), classes)


def _concatenated(parts: Sequence[NDArray[Any] | None]) -> NDArray[Any] | None:
    arrays = [part for part in parts if part is not None]
    if arrays and is_tensor(arrays[0]):
        whole: NDArray[Any] = namespace(arrays[0]).concat(arrays)
        return whole
    return np.concatenate(arrays) if arrays else None
