"""Steadiness: some rows are queried twice, to see whether a model changes its answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import ChangingModelError
from isonomia.models.checked import array_from, check_length, first_change
from isonomia.models.decoder import vectors_from
from isonomia.models.meter import current_meter, send
from isonomia.models.parallel import Workers, worker_name
from isonomia.models.protocol import Answer, Model, model_facts
from isonomia.populations.table import Table, joined
from isonomia.spec.columns import host, is_tensor

MAX_AGAIN = 32
"""The maximum number of rows that are queried again at one time."""

FIRST_AGAIN = 8
"""How many rows are queried again the first time, so that a short check does not miss a model that guesses."""

_SHARE = 20
_SECOND, _GROWTH = 160, 4
_ADVICE = "Fix this (set its seed, switch it to evaluation), or, "


@dataclass(frozen=True, slots=True, eq=False)
class _Question:
    """Rows that were sent to the model, what was requested, its answer, and which workers gave it, if that is known.

    With ``vectors``, the prediction of each row is several numbers, whatever the model calls them. Where these are some
    rows of a batch, ``rows`` says which.
    """

    table: Table
    want_score: bool
    want_prediction: bool
    answer: Answer
    workers: NDArray[np.str_] | None = None
    vectors: bool = False
    rows: NDArray[np.intp] | None = None

    @property
    def form(self) -> tuple[Any, ...]:
        """What questions must have in common to be asked together."""
        return self.want_score, self.want_prediction, self.table.kind, self.table.names


@dataclass(frozen=True, slots=True, eq=False)
class SteadinessReport:
    """What a worker that queries the model by itself hands to the watch of the process that gave it the work.

    Attributes
    ----------
    asked
        How many rows it queried.
    noted
        Some of these rows, with their answers.
    expected
        Rows that it did not ask about, with an earlier run's answers.
    """

    asked: int
    noted: tuple[_Question, ...]
    expected: tuple[_Question, ...]


@dataclass(slots=True, eq=False)
class Steadiness:
    """The watch for changed answers: which rows a model was queried about, and which of them again.

    The first repetition is in the first batch, the next ones after 160 rows, 640, 2,560 and so on. Each repeats a
    twentieth of the rows so far, at least 8 and at most 32, evenly spread over the batch. It also repeats the rows of
    the previous repetition, which catches a service that was replaced in the meantime. A model whose answers change
    with probability q is found with probability ``1 - (1 - q) ** again``.

    Where worker processes answer, another worker repeats a row than the one that answered first, so that workers with
    different models are found. A worker that asks the model by itself, about cases, points or pieces of a table, notes
    some rows of each piece of work (``hands_over``), and the watch of its caller has them repeated.

    Rows are repeated in reverse order. If the first batches have only a row or two each, their first 8 rows are
    repeated together, so that a model which compares the rows of a batch is found before a check can end.

    Which rows are repeated depends only on the sizes of the batches, and only first answers are passed on: the
    statistics are those of the model alone.

    Attributes
    ----------
    asked, again
        How many rows the model was queried about, and how many of them again.
    hands_over
        In a worker: how many rows are noted for the caller's watch. 0 elsewhere.
    repeats
        Whether rows are repeated here; not by a worker whose pieces of work are small.
    """

    asked: int = 0
    again: int = 0
    hands_over: int = 0
    repeats: bool = True
    _due: int = 1
    _expected: list[_Question] = field(default_factory=list, repr=False)
    _noted: list[_Question] = field(default_factory=list, repr=False)
    _earlier: _Question | None = field(default=None, repr=False)
    _first: list[_Question] | None = field(default_factory=list, repr=False)  # until they are repeated together

    def answer(
        self, model: Model, workers: Workers | None, table: Table, want_score: bool, want_prediction: bool
    ) -> Answer:
        """Query a model, which may be run by workers, and occasionally ask it again.

        Raises
        ------
        ChangingModelError
            When the second answer differs; with the row and both answers.
        """
        self.settle(model, workers)
        answer = send(model, table, want_score=want_score, want_prediction=want_prediction)
        names = None if workers is None else workers.last_workers
        question = _Question(table, want_score, want_prediction, answer, names)
        if self.hands_over:
            _add_rows(self._noted, question, self.hands_over)
        self._heard(model, workers, question, table.rows)
        return answer

    def handed(self) -> SteadinessReport:
        """What the caller's watch gets."""
        name = worker_name()
        noted = tuple(replace(each, workers=np.full(each.table.rows, name)) for each in self._noted)
        return SteadinessReport(self.asked, noted, tuple(self._expected))

    def take_over(self, model: Model, workers: Workers | None, handed: Sequence[SteadinessReport]) -> None:
        """Count the rows that workers queried themselves, and have other workers repeat some of them.

        Raises
        ------
        ChangingModelError
            As for :meth:`answer`.
        """
        for part in handed:
            for question in part.expected:
                _add_rows(self._expected, question, MAX_AGAIN)
        rows, noted = sum(part.asked for part in handed), [question for part in handed for question in part.noted]
        if not rows:
            return
        self.settle(model, workers)
        together = _joined(noted)
        if together is None:
            self.asked += rows
            return
        here = workers is None or workers.pool.executing.here
        self._heard(model, workers, replace(together, workers=None) if here else together, rows)

    def _heard(self, model: Model, workers: Workers | None, question: _Question, rows: int) -> None:
        self.asked += rows
        for due in self._due_again(question) if self.repeats else ():
            self._compare(model, workers, due)

    def _due_again(self, question: _Question) -> Iterator[_Question]:
        """The questions to repeat now: each has some or all of the rows of an earlier question."""
        if self.asked >= self._due:
            self._due = max(_SECOND, _GROWTH * self.asked)
            yield from self._sampled(question)
        if self._first is not None:
            self._first.append(question)
            if self.asked >= FIRST_AGAIN:
                first, self._first = self._first, None
                yield from self._together(first)

    def expect(self, table: Table, answer: Answer, *, vectors: bool = False) -> None:
        """Ask about some rows of a table, before anything else, to see whether it still gives an earlier run's answer.

        Of all the tables that are expected, ``MAX_AGAIN`` rows are queried.
        """
        if vectors and answer.prediction is not None:
            answer = replace(answer, prediction=np.asarray(answer.prediction.tolist()))
        question = _Question(table, answer.score is not None, answer.prediction is not None, answer, vectors=vectors)
        _add_rows(self._expected, question, self.hands_over or MAX_AGAIN)

    def settle(self, model: Model, workers: Workers | None) -> None:
        """Ask about the rows whose answers are expected; in a worker, that is left to the caller's watch.

        Raises
        ------
        ChangingModelError
            When an answer is not the expected one.
        """
        if self.hands_over:
            return
        expected, self._expected = self._expected, []
        for question in expected:
            self._compare(model, workers, question, "Begin a new run, without --resume, or ")

    def _together(self, first: Sequence[_Question]) -> Iterator[_Question]:
        """The rows of several batches, to be queried in a single batch."""
        if len(first) == 1 or self.again >= FIRST_AGAIN:
            return
        together = _joined(first)
        if together is None:
            return
        rows = np.arange(together.table.rows)[-(FIRST_AGAIN - self.again) :]
        sample = _some_rows(together, rows[::-1])
        if sample is not None:
            yield sample

    def _sampled(self, asked: _Question) -> Iterator[_Question]:
        """Some rows of a batch, and those that were sampled before."""
        count = min(MAX_AGAIN, max(FIRST_AGAIN, self.asked // _SHARE), asked.table.rows)
        rows = spread_evenly(asked.table.rows, count)
        # Never the whole batch, in which every row would be among the same rows as before.
        sample = _some_rows(asked, rows[:0:-1] if 1 < len(rows) == asked.table.rows else rows[::-1])
        if sample is None:
            return  # not one answer per row: the caller reports that
        earlier, self._earlier = self._earlier, sample
        yield sample
        if earlier is not None:
            yield earlier

    def _compare(self, model: Model, workers: Workers | None, question: _Question, advice: str = _ADVICE) -> None:
        """Ask again, about as many of the rows as the budget covers."""
        with current_meter().again(question.table.rows) as covered:
            if covered < question.table.rows:
                fewer = _some_rows(question, np.arange(covered)) if covered else None
                if fewer is None:
                    return
                question = fewer
            wanted = {"want_score": question.want_score, "want_prediction": question.want_prediction}
            if question.vectors:
                again = Answer(prediction=vectors_from(model, question.table))
            elif question.workers is not None and workers is not None:
                again = workers.answer_elsewhere(question.table, question.workers, **wanted)
            else:
                again = send(model, question.table, **wanted)
        self.again += question.table.rows
        for what, values in (("predictions", again.prediction), ("scores", again.score)):
            if values is not None:
                array = array_from(values, on_device=True)
                check_length(model, question.table, what, len(array) if array.ndim else 1)
        change = first_change(question.answer, again)
        if change is not None:
            raise ChangingModelError(
                f"{model.name} should give the same answer for the same person, but it gave {change.before} and then "
                f"{change.after} for this one: {{{question.table.shown(change.row)}}}. Either it answers at random, or "
                "its answer for a person depends on who else is in the batch, or it was changed in the meantime"
                f"{', or two workers have different models' if question.workers is not None else ''}. "
                f"{_random_model(model, advice)}"
            )


def _random_model(model: Model, advice: str) -> str:
    """What to do about a model that changes its answers."""
    if not model_facts(model).without_label:
        return f"{advice}if it is meant to answer at random, say so: random_model=True."
    return (
        f"{'' if advice == _ADVICE else advice}Hosted language models may change an answer even at temperature 0. A "
        "check that lets them is as valid: random_model=True, --random-model at the command line, or random = true of "
        "the model in an audit file. Answers that a cache has kept, all but the last batch, are not paid for again: "
        "iso.Cached(model, FILE), or --cache FILE."
    )


def _add_rows(questions: list[_Question], asked: _Question, most: int) -> None:
    """Add rows of a question, evenly spread, to questions that are about at most so many rows together."""
    left = most - sum(question.table.rows for question in questions)
    if left > 0:
        question = _some_rows(asked, spread_evenly(asked.table.rows, left))
        questions += [] if question is None else [question]


def spread_evenly(rows: int, most: int) -> NDArray[np.intp]:
    """At most so many of the numbers from 0 up to, but not including, ``rows``."""
    return np.unique(np.linspace(0, rows - 1, min(rows, most)).astype(np.intp))


def _joined(questions: Sequence[_Question]) -> _Question | None:
    """One question about the rows of several, of those that have the form of the last; ``None`` if they do not fit."""
    parts = [_some_rows(each, np.arange(each.table.rows)) for each in questions]
    alike = [part for part in parts if part is not None and part.form == questions[-1].form]
    if not alike or len({part.answer.classes for part in alike}) > 1:
        return None
    predictions = [part.answer.prediction for part in alike if part.answer.prediction is not None]
    scores = [part.answer.score for part in alike if part.answer.score is not None]
    workers = [part.workers for part in alike if part.workers is not None]
    return replace(
        alike[-1],
        table=joined([part.table for part in alike]),
        answer=Answer(
            np.concatenate(predictions) if len(predictions) == len(alike) else None,
            np.concatenate(scores) if len(scores) == len(alike) else None,
            alike[0].answer.classes,
        ),
        workers=np.concatenate(workers) if len(workers) == len(alike) else None,
    )


def _some_rows(asked: _Question, rows: NDArray[np.intp]) -> _Question | None:
    """The same question about some of its rows; ``None`` if there is not one answer per row."""
    parts: dict[str, NDArray[Any]] = {}
    for what, values in (("prediction", asked.answer.prediction), ("score", asked.answer.score)):
        if values is not None:
            array = array_from(values, on_device=True)
            if array.ndim == 0 or len(array) != asked.table.rows:
                return None
            parts[what] = host(array[rows.tolist()] if is_tensor(array) else array[rows])
    if not parts:
        return None
    answer = Answer(parts.get("prediction"), parts.get("score"), asked.answer.classes)
    workers = None if asked.workers is None else asked.workers[rows]
    return replace(asked, table=asked.table.take(rows), answer=answer, workers=workers, rows=rows)
