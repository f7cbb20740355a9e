"""From cases to judgements: the one way in which every part of the audit asks the model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.answers import Asker
from isonomia.audits.ksafety.blocks import run_block
from isonomia.audits.ksafety.cases import Cases, prepare
from isonomia.audits.ksafety.compiler import CompiledSpec
from isonomia.audits.ksafety.evaluate import (
    Answers,
    Booleans,
    Evaluation,
    GivenChoices,
    Value,
    evaluate,
    is_column,
    joined_truths,
    tested,
)
from isonomia.audits.ksafety.tally import Cells, Tally, weight_of
from isonomia.errors import ModelError, UnreliableModelError
from isonomia.populations.domains import Domain
from isonomia.populations.table import Table
from isonomia.spec.nomos.tree import Binary, Ensures

__all__ = ["Judgement", "Runner"]


PROBES = 8
"""Rows that are asked about one by one, once a batch has failed, before all of them are."""


@dataclass(frozen=True, slots=True, eq=False)
class Judgement:
    """What came of some cases.

    Attributes
    ----------
    cases, batch
        The cases, all of them accepted, and every value that was computed.
    violates
        For each ``ensures``, the cases in which it is false.
    failed
        Cases in which something that was needed could not be computed: the model raised, a number was divided by zero.
        With several ``ensures``, one can be false where another has no value.
    vacuous
        Cases in which every ``ensures`` is an implication whose condition is false, so that nothing was tested.
    reasons
        Why cases failed, and how many.
    changed
        For each case that violates, how many features its records differ in and how far, all that were put to the
        model together.
    """

    cases: Cases
    batch: Evaluation
    violates: NDArray[np.bool_]
    failed: Booleans
    vacuous: Booleans
    reasons: Counter[str]
    changed: NDArray[np.float64]

    @property
    def domain(self) -> Domain:
        """Where the inputs come from."""
        return self.batch.domain

    @property
    def violating(self) -> Booleans:
        """Cases in which some ``ensures`` is false."""
        return np.asarray(self.violates.any(axis=0))

    def tally(self, cells: Cells = ((), ()), *, weighed: bool = False) -> Tally:
        """Count them; ``weighed`` where they are of a complete list."""
        tally = Tally(
            [int(np.count_nonzero(bad)) for bad in self.violates],
            len(self.failed),
            int(np.count_nonzero(self.violating)),
            int(np.count_nonzero(self.failed)),
            int(np.count_nonzero(self.vacuous)),
            Counter(self.reasons),
            cells=cells,
        )
        if weighed:
            parts = self.cases.parts
            tally.weight = weight_of(parts)
            tally.bad_weight = [weight_of(parts[bad]) for bad in self.violates]
            tally.failed_weight = [weight_of(parts[self.failed & ~bad]) for bad in self.violates]
        return tally


@dataclass(frozen=True, slots=True)
class Runner:
    """A compiled specification with a model.

    A batch on which the model raises is halved until the rows are found that it cannot answer for. A model that fails
    on every row is an error of its own; one that fails on some is part of what the audit reports.

    Attributes
    ----------
    program, asker
        What is computed, and who answers for the model.
    seconds
        The time for one case of a block that is code.
    draws
        Whether the block is code that draws; then the last choice of a case is the seed of its draws.
    """

    program: CompiledSpec
    asker: Asker
    seconds: float
    draws: bool

    def run(self, domain: Domain, cases: Cases) -> Judgement:
        """Judge cases by their choices; all are accepted unless a choice is out of range."""
        batch = prepare(self.program, domain, cases.inputs, GivenChoices(cases.choices))
        return self.judge(batch, cases.take(np.flatnonzero(batch.accepted)))

    def judge(self, batch: Evaluation, cases: Cases) -> Judgement:
        """Ask the model about every accepted case of a batch, which are ``cases``, and judge what it answers."""
        program, domain, batch = self.program, batch.domain, batch.accepted_only()
        if not batch.n:
            none = np.zeros(0, dtype=bool)
            nothing = np.zeros((len(program.ensures), 0), dtype=bool)
            return Judgement(cases, batch, nothing, none, none, Counter(), np.zeros((2, 0)))
        batch.ask = lambda what, records: self.ask(what, domain, records)
        failed = batch.unclear.copy()
        if program.code is not None:
            seeds = cases.choices[-1].astype(np.int64) if self.draws else np.zeros(batch.n, dtype=np.int64)
            run_block(program, self.seconds, batch, seeds)
        for step in program.finish:
            batch.values[step.name] = evaluate(step.value, batch)
        violates, vacuous = [], []
        for item in program.ensures:
            met, no_value, idle = _met(item, batch)
            failed |= no_value
            violates.append(~met & ~no_value & ~batch.unclear)
            vacuous.append(idle)
        bad = np.stack(violates)
        nothing = np.logical_and.reduce(vacuous) & ~failed
        changed = _changes(program, batch, np.logical_or.reduce(bad))
        return Judgement(cases, batch, bad, failed, nothing, _reasons(batch, failed), changed)

    def ask(self, what: str, domain: Domain, records: Any) -> Answers:
        """The model's answers for records, or for a table of what it is to be given: predictions, or scores.

        A model that answers for none of them is an error.
        """
        if isinstance(records, Table):
            return self._answers(what, records)
        same = domain.unique(records)
        if same is None:
            return self._in_pieces(what, domain, records)
        first, back = np.unique(same, return_index=True, return_inverse=True)[1:]
        if len(first) == len(same):
            return self._in_pieces(what, domain, records)
        data, why = self._in_pieces(what, domain, records.take(first))
        back = back.reshape(-1)
        return data[back], None if why is None else why[back]

    def _in_pieces(self, what: str, domain: Domain, records: Any) -> Answers:
        """Large records, such as images, are made and put to the model as many at a time as the domain says."""
        n, size = len(records), getattr(domain, "together", None)
        if size is None or n <= size:
            return self._answers(what, domain.table(records))
        parts = [np.arange(start, min(start + size, n), dtype=np.intp) for start in range(0, n, size)]
        return _joined([self._answers(what, domain.table(records.take(part))) for part in parts])

    def _answers(self, what: str, table: Table) -> Answers:
        try:
            return self._asked(what, table), None
        except UnreliableModelError:
            raise
        except ModelError as error:
            if self._fails_everywhere(what, table):
                raise error from error.__cause__
        parts = self._halved(what, table)
        good = next((part for part in parts if isinstance(part, np.ndarray)), np.zeros(1))
        answers = np.concatenate([good[:1] if isinstance(part, str) else part for part in parts])
        why = [reason for part in parts for reason in ([part] if isinstance(part, str) else [None] * len(part))]
        return answers, np.fromiter(why, dtype=object, count=len(why))

    def _asked(self, what: str, table: Table) -> NDArray[Any]:
        answer = self.asker(table, want_score=what == "score", want_prediction=what == "predict")
        if what == "predict":
            assert answer.prediction is not None
            return answer.prediction
        assert answer.score is not None
        if answer.score.ndim == 2 and answer.score.shape[1] != 2:
            raise ModelError(
                f"score(...) is one number a case, but {self.asker.model.name} gives one for each of "
                f"{answer.score.shape[1]} classes: use predict(...)"
            )
        return answer.score if answer.score.ndim == 1 else answer.score[:, -1]

    def _fails_everywhere(self, what: str, table: Table) -> bool:
        """Whether the model fails on each of a few rows, so that it is the model and not the rows."""
        rows = np.unique(np.linspace(0, table.rows - 1, PROBES).astype(int)).tolist()
        if len(rows) < PROBES:
            return False  # too few rows to tell; each is asked about anyway
        return not any(self._answers_for(what, table.slice(row, row + 1)) for row in rows)

    def _answers_for(self, what: str, table: Table) -> bool:
        try:
            self._asked(what, table)
        except UnreliableModelError:
            raise
        except ModelError:
            return False
        return True

    def _halved(self, what: str, table: Table) -> list[NDArray[Any] | str]:
        """The answers in pieces; a text stands for a single row without one, and says why."""
        try:
            return [self._asked(what, table)]
        except UnreliableModelError:
            raise
        except ModelError as error:
            if table.rows == 1:
                cause = error.__cause__
                return [f"the model raised {type(cause).__name__}: {cause}" if cause else "the model gave no answer"]
        middle = table.rows // 2
        return self._halved(what, table.slice(0, middle)) + self._halved(what, table.slice(middle, table.rows))


def _joined(parts: Sequence[Answers]) -> Answers:
    """The answers of several batches as those of one."""
    data = np.concatenate([answers for answers, _ in parts])
    if all(why is None for _, why in parts):
        return data, None
    return data, np.concatenate([np.full(len(answers), None) if why is None else why for answers, why in parts])


def _met(item: Ensures, batch: Evaluation) -> tuple[Booleans, Booleans, Booleans]:
    """Where it is true, where it has no value, and where an implication is true for want of its condition."""
    condition = item.condition
    if isinstance(condition, Binary) and condition.operator == "==>":
        left, right = evaluate(condition.left, batch), evaluate(condition.right, batch)
        given, none = tested(left, batch, item.place)
        met, no_value = tested(joined_truths("==>", Value(given, none), right), batch, item.place)
        return met, no_value, ~given & ~none
    met, no_value = tested(evaluate(condition, batch), batch, item.place)
    return met, no_value, np.zeros(batch.n, dtype=bool)


def _reasons(batch: Evaluation, failed: Booleans) -> Counter[str]:
    """How many cases failed for each reason; one may have failed for the same reason twice, and counts once."""
    where: dict[str, Booleans] = {}
    for why, bad in batch.faults:
        where[why] = where[why] | bad if why in where else bad
    return Counter({why: hit for why, bad in where.items() if (hit := int(np.count_nonzero(bad & failed)))})


def _changes(program: CompiledSpec, batch: Evaluation, violating: Booleans) -> NDArray[np.float64]:
    """How far the records that were put to the model are from the first input; all records where none has a name.

    Only for cases that violate, since comparing records, such as images, can cost more than asking the model.
    """
    first = program.spec.inputs[0]
    others = [name for name, value in batch.values.items() if name != first and not is_column(value)]
    compared = [name for name in others if name in program.compared] or others
    total, which = np.zeros((2, batch.n)), np.flatnonzero(violating)
    for name in compared if len(which) else ():
        pair = (batch.values[record].take(which).data for record in (first, name))
        total[:, which] += np.stack(batch.domain.distance(*pair))
    return total
