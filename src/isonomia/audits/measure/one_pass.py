"""Every row counted by group: which column has which role, what the model answers, and what is counted of it.

Where decisions are stored, the engine that holds the table counts; with a model, rows are read batch by batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import methodcaller
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.measure.counts import (
    FINE,
    FINE_CODE_OF_SCORES,
    MISSING,
    UNIT,
    YES,
    GroupAttributes,
    GroupCounts,
    NumberCounts,
    PositiveValue,
    has_many_numbers,
    numbers_in,
)
from isonomia.audits.measure.limits import IntervalMethod, KeptRows
from isonomia.audits.measure.ordered import EngineScores, HeldScores
from isonomia.errors import DataError, UsageError, nearest
from isonomia.executors import Pool, StartedTasks, TaskContext
from isonomia.models.checked import ask
from isonomia.models.meter import charge, unmetered
from isonomia.models.protocol import Answer, Model
from isonomia.models.session import ModelSession
from isonomia.populations.cells import EngineTable, engine_table, group_cells, refuse_to_copy
from isonomia.populations.expressions import Expression, Translation, UncountableError
from isonomia.populations.streaming import AT_ONCE, LongTable, Rows
from isonomia.populations.table import Table, check_known
from isonomia.spec import tree

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
    decision: PositiveValue | None = field(init=False)
    outcome: PositiveValue | None = field(init=False)
    groups: list[GroupCounts] = field(init=False)
    probable: bool = field(init=False)
    median: float | None = field(init=False)

    def __post_init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        """Nothing is counted yet."""
        self.attributes = GroupAttributes(tuple(dict.fromkeys(name for by in self.by for name in by)), self.unknown)
        decision, outcome, self.median = self.columns.decision, self.columns.outcome, None
        self.decision = self.outcome = None
        if decision is not None:
            self.decision = PositiveValue("decision", "favourable", decision, self.favourable, may_be_number=True)
        if outcome is not None:
            self.outcome = PositiveValue("outcome", "positive", outcome, self.positive)
        self.groups = [GroupCounts(()), *(GroupCounts(by) for by in self.by)]
        low, high = self.ranges.get(str(self.columns.score), UNIT)
        self.probable = low >= 0.0 and high <= 1.0

    def count(self, limits: IntervalMethod) -> None:
        """Count every row."""
        if not self._by_engine(limits):
            name = self.columns.decision
            if self.decision is not None and self.decision.value is None and name not in self.columns.from_model:
                self.decision.numbers = has_many_numbers(self._parts(str(name)), str(name)) or None
            scores = HeldScores(self.groups)
            for table, answer in self._by_workers() or ((table, self._answer(table)) for table in self._batches()):
                self._add(table, answer, scores)
            self._order(scores, limits)
        for event in (self.decision, self.outcome):
            if event is not None:
                event.close()

    def _order(self, scores: HeldScores | EngineScores, limits: IntervalMethod) -> None:
        """Find the median of the scores, and who is above it and above scores about it."""
        n = scores.n
        if n == 0:
            return
        first, second, *about = scores.at([(n + 1) // 2, n // 2 + 1, *limits.ranks_about_median(n)])
        self.median = (first + second) / 2.0
        # The median may be the lowest of these scores: no score equal to it lies outside the range.
        cuts = sorted({*([float(np.nextafter(about[0], -np.inf))] if about else []), *about})
        for each, above in zip(self.groups, scores.above([self.median, *cuts]), strict=True):
            each.above = above

    def _parts(self, name: str) -> Iterator[NDArray[Any]]:
        if not isinstance(self.rows, LongTable):
            return iter([self.rows.column(name)])
        return (part.column(name) for part in self.rows.batches([name], plain=True))

    def _batches(self) -> Iterator[Table]:
        if not isinstance(self.rows, LongTable):
            for start in range(0, self.rows.rows, AT_ONCE):
                yield self.rows.slice(start, start + AT_ONCE)
            return
        yield from self.rows.batches(self._read(), plain=self.model is None)

    def _by_workers(self) -> Iterator[tuple[Table, Answer]] | None:
        """The batches of a long table in files, which workers read and sent to the model; ``None`` elsewhere.

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

    def _answer(self, table: Table) -> Answer:
        if self.model is None:
            return Answer()
        given = table.select(self.sent) if self.sent_blindly else table
        return ask(self.model, given, SCORE in self.columns.from_model, PREDICTION in self.columns.from_model)

    def _add(self, table: Table, answer: Answer, scores: HeldScores) -> None:
        codes = self.attributes.read(table)
        decided = self._column(self.columns.decision, table, answer)
        turned = self._column(self.columns.outcome, table, answer)
        decision, outcome = self._events(table.rows, decided, turned)
        numbers = self._numbers(decided, turned) if self.is_number else {}
        scored = self._column(self.columns.score, table, answer)
        if scored is not None:
            numbers["mean_score"] = numbers_in(scored, str(self.columns.score), "score")
            self._judge(numbers["mean_score"])
        places = [each.place(codes, table.rows) for each in self.groups]
        if "mean_score" in numbers:
            scores.add(numbers["mean_score"], places)
        for each, groups in zip(self.groups, places, strict=True):
            each.count(groups, decision, outcome)
            for name, values in numbers.items():
                self._counts(each, name).add(groups * 3 + outcome, each.size, values)
        if self.kept is not None:
            self._keep(decision, outcome, numbers, places)

    def _events(
        self, rows: int, decided: NDArray[Any] | None, turned: NDArray[Any] | None
    ) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
        """The decision and the outcome of each row; missing where they are numbers to be averaged."""
        nothing = np.full(rows, MISSING, dtype=np.int8)
        decision = nothing if self.decision is None or decided is None else self.decision.read(decided)
        if self.outcome is None or turned is None or self.is_number:
            return decision, nothing
        return decision, self.outcome.read(turned)

    def _keep(
        self,
        decision: NDArray[np.int8],
        outcome: NDArray[np.int8],
        numbers: dict[str, NDArray[np.float64]],
        places: Sequence[NDArray[np.intp]],
    ) -> None:
        """Keep what was read of each row, where rows belong together."""
        assert self.kept is not None, "rows belong together"
        self.kept.decision.append(decision)
        self.kept.outcome.append(outcome)
        if "mean_score" in numbers and self.calibrated:
            gaps = np.where(outcome == MISSING, np.nan, (outcome == YES) - numbers["mean_score"])
            numbers |= {"calibration": gaps}
        for name, values in numbers.items():
            self.kept.numbers.setdefault(name, []).append(values)
        for each, groups in zip(self.groups, places, strict=True):
            self.kept.groups.setdefault(each.by, []).append(groups)

    def _counts(self, groups: GroupCounts, name: str) -> NumberCounts:
        """Where numbers are counted."""
        if name not in groups.numbers:
            ends = self.ends(name)
            span = UNIT if name == "mean_score" and self.probable else ends
            groups.numbers[name] = NumberCounts(name.replace("_", " "), span, ends)
        return groups.numbers[name]

    def _judge(self, scores: NDArray[np.float64]) -> None:
        """Scores that are not between 0 and 1 are no probabilities; with a range, they are refused instead."""
        there = scores[~np.isnan(scores)]
        if str(self.columns.score) not in self.ranges and len(there) and (there.min() < 0.0 or there.max() > 1.0):
            self.probable = False
            for each in self.groups:
                if "mean_score" in each.numbers:
                    each.numbers["mean_score"].drop_bins()

    # ---------------------------------------------------------------------------------------- in the table's engine

    def _by_engine(self, limits: IntervalMethod) -> bool:
        """Let the engine of the table count, where the answer is the same as from its rows; says whether it did."""
        if self.model is not None or self.kept is not None:
            return False
        table = engine_table(self.rows, self._read())
        if table is None:
            return False
        try:
            self._count_cells(table, limits)
        except (UncountableError, DataError) as error:
            refuse_to_copy(self.rows, error)
            self._begin()
            return False
        return True

    def _count_cells(self, table: EngineTable, limits: IntervalMethod) -> None:
        columns, translation = self.columns, Translation(table.schema)
        keys = {name: translation.key(name) for name in self.attributes.names}
        if self.decision is not None and self.decision.value is None and columns.decision is not None:
            self.decision.numbers = table.has_many_numbers(columns.decision) or None
        events = () if self.is_number else (columns.decision, columns.outcome)
        chosen = keys | {name: translation.key(name) for name in events if name is not None}
        terms = self._terms()
        for term in terms.values():
            translation.add_term(term)
        rows, read = self.rows, self._read() if "mean_score" in terms or len(terms) > 1 else ()  # in several passes
        mark = rows.mark(read) if isinstance(rows, LongTable) else None
        for name in terms or ("",):
            self._group(table, chosen, name, translation, terms)
        if "mean_score" in terms:
            self._order_scores(table, limits, keys, translation.terms[terms["mean_score"]])
        if isinstance(rows, LongTable) and rows.mark(read) != mark:
            raise UncountableError("it changed while it was counted")

    def _order_scores(
        self, table: EngineTable, limits: IntervalMethod, keys: Mapping[str, Any], score: Expression
    ) -> None:
        counted = self.groups[0].numbers["mean_score"]
        bins = np.bincount(FINE_CODE_OF_SCORES, counted.n.sum(axis=(0, 1)), FINE + 1) if self.probable else None
        self._order(EngineScores(table, score, keys, self.attributes, self.groups, int(counted.n.sum()), bins), limits)

    def _terms(self) -> dict[str, tree.Row]:
        """The numbers that are averaged."""
        terms: dict[str, tree.Row] = {}
        decided, turned = (tree.Column(str(name)) for name in (self.columns.decision, self.columns.outcome))
        if self.is_number:
            terms["mean_decision"] = decided
        if self.is_number and self.columns.outcome is not None:
            error = tree.RowArithmetic("-", decided, turned)
            terms |= {"mean_outcome": turned, "mean_error": error, "mean_absolute_error": tree.Call("abs", (error,))}
        if self.columns.score is not None:
            terms["mean_score"] = tree.Column(self.columns.score)
        return terms

    def _group(
        self,
        table: EngineTable,
        keys: Mapping[str, Any],
        name: str,
        translation: Translation,
        terms: Mapping[str, tree.Row],
    ) -> None:
        """Count decisions and outcomes, and the numbers of a term with them."""
        checks, code, totals = translation.checked.values(), "\0code", None
        if not name:
            cells = group_cells(table.frame, table.size, keys, checks=checks)
        else:
            number, wanted = translation.terms[terms[name]], self._counts(GroupCounts(()), name)
            coded = dict(keys) if wanted.span is None else {**keys, code: _code(number, wanted)}
            cells = group_cells(table.frame, table.size, coded, {name: number}, checks, small=wanted.ends == UNIT)
            totals = cells.totals[name]
            least, most = wanted.ends or (-np.inf, np.inf)
            if totals.n.any() and (np.nanmin(totals.low) < least or np.nanmax(totals.high) > most):
                if name != "mean_score" or str(self.columns.score) in self.ranges:
                    raise UncountableError("a number is out of its range")
                self.probable = False
                self._group(table, keys, name, translation, terms)
                return
        codes = self.attributes.read(cells.table)
        there = set(cells.table.names)
        decided, turned = (
            cells.table.column(column) if column in there else None
            for column in (self.columns.decision, self.columns.outcome)
        )
        decision, outcome = self._events(len(cells.n), decided, turned)
        for each in self.groups:
            groups = each.place(codes, len(cells.n))
            if name == (next(iter(terms), "")):
                each.count(groups, decision, outcome, cells.n)
            elif (np.bincount(groups, cells.n, each.size) != each.cells.sum(axis=(1, 2))).any():
                raise UncountableError("the table changed")
            if totals is not None:
                bins = np.zeros(len(cells.n)) if code not in there else cells.table.column(code)
                self._counts(each, name).add_totals(groups * 3 + outcome, each.size, bins, totals)

    def _column(self, name: str | None, table: Table, answer: Answer) -> NDArray[Any] | None:
        if name is None:
            return None
        if name not in self.columns.from_model:
            return table.column(name)
        if name == PREDICTION:
            return answer.prediction
        assert answer.score is not None, "scores were requested"
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

    @property
    def calibrated(self) -> bool:
        """Whether scores are probabilities of the outcome."""
        return self.probable and self.columns.score is not None and self.outcome is not None and not self.is_number

    def ends(self, name: str) -> tuple[float, float] | None:
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


def _code(number: Any, counts: NumberCounts) -> Any:
    """The bins of numbers as an expression; null out of their range."""
    import narwhals as nw

    low, high = counts.span or (0.0, 0.0)
    return nw.when((number >= low) & (number <= high)).then(counts.code(number, methodcaller("floor")))
