"""Asking the model about a batch, in threads where that is wished for."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.rates.kept_answers import packed, unpacked
from isonomia.engine.journal import Blank, Journal
from isonomia.errors import ModelError
from isonomia.models.checked import ask
from isonomia.models.protocol import Answer, Model
from isonomia.populations.table import Table

__all__ = ["Asker", "Asks", "Memory"]

MOST_REMEMBERED = 2**24
"""People whose answers are remembered; of a longer table, each check asks about the rest itself."""


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
class Memory:
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
        if self.rows <= MOST_REMEMBERED:
            self.answers[number] = answer


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
    memory: Memory | None = None
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
    return np.concatenate(found) if found else None
