"""One pass over the rows: which column has which role, what the model answers, and everything counted by group."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.measure.counts import (
    MISSING,
    PARTS,
    YES,
    GroupAttributes,
    GroupCounts,
    MeanCounts,
    PositiveValue,
    numbers_in,
)
from isonomia.audits.measure.limits import IntervalMethod, KeptRows
from isonomia.errors import UsageError, nearest
from isonomia.executors import Pool, StartedTasks, TaskContext
from isonomia.models.checked import ask
from isonomia.models.meter import charge, unmetered
from isonomia.models.protocol import Answer, Model
from isonomia.models.session import ModelSession
from isonomia.populations.streaming import AT_ONCE, LongTable, Rows
from isonomia.populations.table import Table, check_known

PREDICTION, SCORE = "prediction", "score"
"""The names of a model's answers, as in a property."""


@dataclass(frozen=True, slots=True)
class ColumnRoles:
    """Which column has which role; ``from_model`` are those that the model answers."""

    decision: str | None
    outcome: str | None
    score: str | None
    from_model: frozenset[str]


def columns_for(
    rows: Rows, model: Model | None, decision: str | None, outcome: str | None, score: str | None
) -> ColumnRoles:
    """Which column has which role, if the columns exist or the model provides them."""
    for name, value in (("decision", decision), ("outcome", outcome), ("score", score)):
        if value is not None and (not isinstance(value, str) or not value):
            raise UsageError(f"{name} should be the name of a column, but is {value!r} of type {type(value).__name__}")
    if model is not None and decision is None:
        decision = PREDICTION
    if decision is None and score is None:
        raise UsageError(
            "expected decision= or score=, the column to measure, or a model that decides, but got none",
            name="decision",
        )
    own = frozenset[str]()
    if model is not None:
        # As in a property: where there is a model, these are its answers, even if a column has the name.
        own = frozenset(name for name in (decision, score) if name in {PREDICTION, SCORE})
        if not own:
            raise UsageError(
                f"a model was given, but decision={decision!r} and score={score!r} are columns of the table: leave out "
                "the model, or leave out decision to measure its prediction",
                name="decision",
            )
    check_known([name for name in (decision, outcome, score) if name is not None and name not in own], rows.names)
    return ColumnRoles(decision, outcome, score, own)


TOGETHER = 4
"""How many batches a worker reads at a time; they begin at the same rows as in one process."""


@dataclass(frozen=True, slots=True, eq=False)
class _PassContext:
    """What is sent once to every worker that reads rows and queries the model about them.

    Attributes
    ----------
    table, model
        The rows, and the model.
    read, given, measured
        The columns that are read; those that the model is given, ``None`` for all; and those that are sent back.
    want_score, want_prediction
        Which outputs of the model are needed.
    """

    table: LongTable
    model: Model
    read: tuple[str, ...]
    given: tuple[str, ...] | None
    measured: tuple[str, ...]
    want_score: bool
    want_prediction: bool


def _answered_batches(context: _PassContext, piece: tuple[int, int]) -> list[tuple[Table, Answer]]:
    """What a worker does with some rows."""
    batches, (start, stop) = [], piece
    for table in context.table.batches(context.read, start=start):
        given = table if context.given is None else table.select(context.given)
        with unmetered():  # the caller was charged for the piece
            answer = ask(context.model, given, context.want_score, context.want_prediction)
        batches.append((table.select(context.measured), answer))
        start += table.rows
        if start >= stop:
            break
    return batches


def _in_order(pool: Pool, shared: TaskContext, rows: int) -> Iterator[tuple[Table, Answer]]:
    """The workers' answers about all rows, in order; only some pieces are in flight at a time: a table may be long."""
    step = TOGETHER * AT_ONCE
    pieces = [(start, min(start + step, rows)) for start in range(0, rows, step)]
    waves = [pieces[first : first + pool.workers] for first in range(0, len(pieces), pool.workers)]
    begun: list[StartedTasks] = []
    try:
        for number in range(len(waves)):
            for wave in waves[number + len(begun) : number + 2]:
                charge(sum(stop - start for start, stop in wave))
            begun += [
                pool.begin(_answered_batches, shared, wave, [stop - start for start, stop in wave])
                for wave in waves[number + len(begun) : number + 2]
            ]
            for batches in begun[0].results():
                yield from batches
            begun.pop(0)
    finally:
        for tasks in begun:
            tasks.drop()


@dataclass(slots=True)
class OnePass:
    """One pass over the rows."""

    rows: Rows
    model: ModelSession | None
    columns: ColumnRoles
    by: tuple[tuple[str, ...], ...]
    favourable: Any
    positive: Any
    unknown: frozenset[str]
    ranges: Mapping[str, tuple[float, float]]
    kept: KeptRows | None = None
    attributes: GroupAttributes = field(init=False)
    decision: PositiveValue | None = field(init=False, default=None)
    outcome: PositiveValue | None = field(init=False, default=None)
    groups: list[GroupCounts] = field(init=False)
    probable: bool = field(init=False, default=True)
    median: float | None = field(init=False, default=None)
    scores: list[NDArray[np.float64]] = field(init=False, default_factory=list)
    _rng: np.random.Generator = field(init=False)
    _median_ends: tuple[float, float] | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.attributes = GroupAttributes(tuple(dict.fromkeys(name for by in self.by for name in by)), self.unknown)
        columns = self.columns
        if columns.decision is not None:
            self.decision = PositiveValue(
                "decision", "favourable", columns.decision, self.favourable, may_be_number=True
            )
        if columns.outcome is not None:
            self.outcome = PositiveValue("outcome", "positive", columns.outcome, self.positive)
        self.groups = [GroupCounts(()), *(GroupCounts(by) for by in self.by)]
        # Decides at random which part of its group a row is in, for the intervals of means: a sorted file does no harm.
        self._rng = np.random.default_rng(0)

    def count(self) -> None:
        """Go through every row."""
        for table, answer in self._by_workers() or ((table, self._answer(table)) for table in self._batches()):
            self._add(table, answer)
        for event in (self.decision, self.outcome):
            if event is not None:
                event.close()
        if self.scores:
            self.scores = [np.concatenate(self.scores)]
            for each in self.groups:
                each.held = [np.concatenate(each.held)]
            if len(self.scores[0]):
                self.median = float(np.median(self.scores[0]))

    def _batches(self) -> Iterator[Table]:
        if not isinstance(self.rows, LongTable):
            for start in range(0, self.rows.rows, AT_ONCE):
                yield self.rows.slice(start, start + AT_ONCE)
            return
        yield from self.rows.batches(self._read(), plain=self.model is None)

    def _by_workers(self) -> Iterator[tuple[Table, Answer]] | None:
        """The batches of a long table in files, which workers read and put to the model; ``None`` elsewhere.

        They send back what is measured, batch by batch, without the columns that only the model needs. Sums of numbers
        depend on the order of adding, so the counting stays here.
        """
        workers = None if self.model is None else self.model.direct_workers
        if workers is None or not isinstance(self.rows, LongTable) or not self.rows.in_files:
            return None
        columns, measured = self.columns, self._measured
        context = _PassContext(
            LongTable(self.rows.reader),
            workers.model,
            self._read(),
            self.sent if self.sent_blindly else None,
            tuple(name for name in self.rows.names if name in measured),
            SCORE in columns.from_model,
            PREDICTION in columns.from_model,
        )
        return _in_order(workers.pool, TaskContext(context, workers.model.name), self.rows.rows)

    def _read(self) -> tuple[str, ...]:
        """The columns that are read of a long table, in its order."""
        wanted = self._measured
        if self.model is not None:
            own = self.model.reads
            wanted |= set(self.rows.names if own is None or not set(own) <= set(self.rows.names) else own)
        return tuple(name for name in self.rows.names if name in wanted)

    @property
    def _measured(self) -> set[str | None]:
        """The columns of the table that are measured, or define groups."""
        columns = self.columns
        return {*self.attributes.names, columns.decision, columns.outcome, columns.score} - columns.from_model

    @property
    def sent(self) -> tuple[str, ...]:
        """The columns that are given to a model that does not state what it reads: all but those that are measured."""
        measured = {self.columns.decision, self.columns.outcome, self.columns.score}
        return tuple(name for name in self.rows.names if name not in measured)

    @property
    def is_number(self) -> bool:
        """Whether the decision is a number that is averaged."""
        return self.decision is not None and bool(self.decision.numbers)

    @property
    def sent_blindly(self) -> bool:
        """Whether there is a model that does not state what it reads."""
        return self.model is not None and self.model.reads is None

    def around_median(self, limits: IntervalMethod) -> tuple[float, float]:
        """The values between which the median of the population lies; computed once."""
        if self._median_ends is None:
            self._median_ends = limits.around_median(self.scores[0])
        return self._median_ends

    def _answer(self, table: Table) -> Answer:
        if self.model is None:
            return Answer()
        given = table.select(self.sent) if self.sent_blindly else table
        return ask(self.model, given, SCORE in self.columns.from_model, PREDICTION in self.columns.from_model)

    def _add(self, table: Table, answer: Answer) -> None:
        codes = self.attributes.read(table)
        nothing = np.full(table.rows, MISSING, dtype=np.int8)
        decided = self._column(self.columns.decision, table, answer)
        decision = nothing if self.decision is None or decided is None else self.decision.read(decided)
        turned = self._column(self.columns.outcome, table, answer)
        numbers = self._numbers(decided, turned) if self.is_number else {}
        outcome = nothing if self.outcome is None or turned is None or numbers else self.outcome.read(turned)
        scored = self._column(self.columns.score, table, answer)
        score = None if scored is None else numbers_in(scored, str(self.columns.score), "score")
        if score is not None:
            numbers |= self._scored(score, outcome)
        # Early parts are small, so that the first stakes are learnt from few people.
        parts = (np.sqrt(self._rng.random(table.rows if numbers else 0)) * PARTS).astype(np.intp)
        if self.kept is not None:
            self.kept.decision.append(decision)
            self.kept.outcome.append(outcome)
            for name, values in numbers.items():
                self.kept.numbers.setdefault(name, []).append(values)
        for each in self.groups:
            groups = each.place(codes, table.rows)
            if self.kept is not None:
                self.kept.groups.setdefault(each.by, []).append(groups)
            each.count(groups, decision, outcome)
            if score is not None:
                each.score(groups, score, outcome, probable=self.probable)
            for name, values in numbers.items():
                counts = each.means.setdefault(name, MeanCounts(name.replace("_", " "), self._ends(name)))
                counts.add(groups, each.size, values, parts)

    def _column(self, name: str | None, table: Table, answer: Answer) -> NDArray[Any] | None:
        if name is None:
            return None
        if name not in self.columns.from_model:
            return table.column(name)
        if name == PREDICTION:
            return answer.prediction
        assert answer.score is not None, "scores were asked for"
        return answer.score if answer.score.ndim == 1 else answer.score[:, self._class(answer)]

    def _class(self, answer: Answer) -> int:
        """The class whose score is meant: the favourable one, or the second of two."""
        wanted = self.positive if self.favourable is None else self.favourable
        for index, value in enumerate(answer.classes):
            if wanted is not None and (value == wanted or str(value) == str(wanted)):
                return index
        if wanted is None and len(answer.classes) == 2:
            return 1
        listed = ", ".join(map(repr, answer.classes))
        raise UsageError(
            f"the model scores the classes {listed}: say with favourable= whose score is meant, but got {wanted!r}."
            f"{nearest(str(wanted), [str(value) for value in answer.classes])}"
        )

    def _numbers(self, decided: NDArray[Any] | None, turned: NDArray[Any] | None) -> dict[str, NDArray[np.float64]]:
        """The numbers of a regression."""
        assert decided is not None, "there is a decision"
        predicted = numbers_in(decided, str(self.columns.decision), "decision")
        if turned is None:
            return {"mean_decision": predicted}
        true = numbers_in(turned, str(self.columns.outcome), "outcome")
        error = predicted - true
        return {"mean_decision": predicted, "mean_outcome": true} | {
            "mean_error": error,
            "mean_absolute_error": np.abs(error),
        }

    def _scored(self, score: NDArray[np.float64], outcome: NDArray[np.int8]) -> dict[str, NDArray[np.float64]]:
        there = score[~np.isnan(score)]
        self.scores.append(there)
        if self.probable and len(there) and (there.min() < 0.0 or there.max() > 1.0):
            self.probable = False
            for each in self.groups:
                each.means.pop("calibration", None)
                each.binned[:] = 0.0
                if "mean_score" in each.means and str(self.columns.score) not in self.ranges:
                    each.means["mean_score"].ends = None
        if not self.probable or self.outcome is None or self.is_number:
            return {"mean_score": score}
        return {"mean_score": score, "calibration": np.where(outcome == MISSING, np.nan, (outcome == YES) - score)}

    def _ends(self, name: str) -> tuple[float, float] | None:
        """The values between which the numbers of a mean lie, if that is known."""
        decision, outcome = (self.ranges.get(str(column)) for column in (self.columns.decision, self.columns.outcome))
        match name:
            case "calibration":
                return -1.0, 1.0
            case "mean_score":
                return self.ranges.get(str(self.columns.score), (0.0, 1.0) if self.probable else None)
            case "mean_decision":
                return decision
            case "mean_outcome":
                return outcome
            case _ if decision is None or outcome is None:
                return None
            case _:
                least, most = decision[0] - outcome[1], decision[1] - outcome[0]
                return (least, most) if name == "mean_error" else (0.0, max(abs(least), abs(most)))
