"""From cases to judgements.

Asking the model about records, and finding out which ones it cannot answer for.

Asking the model about a batch of cases, and judging what it answers.

From cases to judgements: the one way in which every part of the audit asks the model.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.answers import Asker
from isonomia.audits.ksafety.blocks import run_coded
from isonomia.audits.ksafety.cases import Cases, Prepared, prepare
from isonomia.audits.ksafety.evaluate import (
    Answered,
    Batch,
    Booleans,
    Given,
    Value,
    evaluate,
    is_column,
    joined,
    joined_values,
    tested,
)
from isonomia.audits.ksafety.program import Program
from isonomia.errors import ModelError, UnreliableModelError
from isonomia.populations.domains import Domain
from isonomia.populations.table import Table
from isonomia.spec.nomos.tree import Binary, Ensures

__all__ = ["Judged", "Questioner", "RunBlock", "Runner", "judge"]


PROBES = 8
"""Rows that are asked about one by one, once a batch has failed, before all of them are."""


@dataclass(slots=True)
class Questioner:
    """Asks a model about whole batches.

    A batch on which the model raises is halved until the rows are found that it cannot answer for. A model that fails
    on every row is an error of its own; one that fails on some is part of what the audit reports.

    Attributes
    ----------
    asker
        The model.
    calls, rows
        How often it was called, and about how many rows in all.
    """

    asker: Asker
    calls: int = 0
    rows: int = 0

    def __call__(self, what: str, domain: Domain, records: Any) -> Answered:
        """The model's answers for records, or for a table of what it is to be given: predictions, or scores.

        Raises
        ------
        ModelError
            Where it answers for none of them.
        """
        if isinstance(records, Table):
            return self._answers(what, records)
        same = domain.unique(records)
        if same is None:
            return self._in_pieces(what, domain, records)
        first, back = np.unique(same, return_index=True, return_inverse=True)[1:]
        if len(first) == len(same):
            return self._in_pieces(what, domain, records)
        return self._in_pieces(what, domain, records.take(first)).take(back.reshape(-1))

    def _in_pieces(self, what: str, domain: Domain, records: Any) -> Answered:
        """Large records, such as images, are made and put to the model as many at a time as the domain says."""
        n, most = len(records), getattr(domain, "together", None)
        if most is None or n <= most:
            return self._answers(what, domain.table(records))
        places = [np.arange(start, min(start + most, n), dtype=np.intp) for start in range(0, n, most)]
        return joined([self._answers(what, domain.table(records.take(part))) for part in places])

    def _answers(self, what: str, table: Table) -> Answered:
        try:
            return Answered(self._asked(what, table))
        except UnreliableModelError:
            raise
        except ModelError as error:
            if self._fails_everywhere(what, table):
                raise error from error.__cause__
        parts = self._halved(what, table)
        good = next((part for part in parts if isinstance(part, np.ndarray)), np.zeros(1))
        answers = np.concatenate([good[:1] if isinstance(part, str) else part for part in parts])
        why = [reason for part in parts for reason in ([part] if isinstance(part, str) else [None] * len(part))]
        return Answered(answers, np.fromiter(why, dtype=object, count=len(why)))

    def _asked(self, what: str, table: Table) -> NDArray[Any]:
        self.calls += 1
        self.rows += table.rows
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
        places = np.unique(np.linspace(0, table.rows - 1, PROBES).astype(int)).tolist()
        if len(places) < PROBES:
            return False  # too few rows to tell; each is asked about anyway
        return not any(self._answers_for(what, table.slice(index, index + 1)) for index in places)

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


RunBlock = Callable[[Batch, NDArray[np.int64]], None]
"""Runs a block that is code for every case of a batch, and notes its outputs; the numbers seed its draws."""


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """What came of the accepted cases of a batch.

    Attributes
    ----------
    batch
        Every value that was computed.
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

    batch: Batch
    violates: NDArray[np.bool_]
    failed: Booleans
    vacuous: Booleans
    reasons: Counter[str]
    changed: NDArray[np.float64]

    @property
    def violating(self) -> Booleans:
        """Cases in which some ``ensures`` is false."""
        return np.asarray(self.violates.any(axis=0))


def judge(
    program: Program,
    prepared: Prepared,
    questioner: Questioner,
    run_block: RunBlock | None,
    seeds: NDArray[np.int64],
) -> Judged:
    """Ask the model about every accepted case, and say what is true of its answers."""
    keep = np.flatnonzero(prepared.accepted)
    batch = _accepted(prepared, keep)
    domain = batch.domain
    if not len(keep):
        return _nothing(program, batch)
    batch.ask = lambda what, records: questioner(what, domain, records)
    unclear = prepared.unclear[keep]
    failed = unclear.copy()
    if program.code is not None:
        assert run_block is not None
        run_block(batch, seeds)
    for step in program.finish:
        batch.known[step.name] = evaluate(step.value, batch)
    violates, vacuous = [], []
    for item in program.ensures:
        met, no_value, idle = _met(item, batch)
        failed |= no_value
        violates.append(~met & ~no_value & ~unclear)
        vacuous.append(idle)
    bad = np.stack(violates)
    nothing = np.logical_and.reduce(vacuous) & ~failed
    changed = _changes(program, domain, batch, np.logical_or.reduce(bad))
    return Judged(batch, bad, failed, nothing, _reasons(batch, failed), changed)


def _accepted(prepared: Prepared, keep: NDArray[np.intp]) -> Batch:
    before = prepared.batch
    known = {name: value.take(keep) for name, value in before.known.items()}
    batch = Batch(len(keep), before.domain, known, before.supply, before.call)
    batch.faults = [(why, bad[keep]) for why, bad in before.faults]
    return batch


def _nothing(program: Program, batch: Batch) -> Judged:
    none = np.zeros(0, dtype=bool)
    return Judged(batch, np.zeros((len(program.ensures), 0), dtype=bool), none, none, Counter(), np.zeros((2, 0)))


def _met(item: Ensures, batch: Batch) -> tuple[Booleans, Booleans, Booleans]:
    """Where it is true, where it has no value, and where an implication is true for want of its condition."""
    condition = item.condition
    if isinstance(condition, Binary) and condition.operator == "==>":
        left, right = evaluate(condition.left, batch), evaluate(condition.right, batch)
        told, none = tested(left, batch, item.place)
        met, no_value = tested(joined_values("==>", Value(told, none), right), batch, item.place)
        return met, no_value, ~told & ~none
    met, no_value = tested(evaluate(condition, batch), batch, item.place)
    return met, no_value, np.zeros(batch.n, dtype=bool)


def _reasons(batch: Batch, failed: Booleans) -> Counter[str]:
    """How many cases failed for each reason; one may have failed for the same reason twice, and counts once."""
    where: dict[str, Booleans] = {}
    for why, bad in batch.faults:
        where[why] = where[why] | bad if why in where else bad
    return Counter({why: hit for why, bad in where.items() if (hit := int(np.count_nonzero(bad & failed)))})


def _changes(program: Program, domain: Domain, batch: Batch, violating: Booleans) -> NDArray[np.float64]:
    """How far the records that were put to the model are from the first input; all records where none has a name.

    Only for cases that violate, since comparing records, such as images, can cost more than asking the model.
    """
    first = program.spec.inputs[0]
    others = [name for name, value in batch.known.items() if name != first and not is_column(value)]
    compared = [name for name in others if name in program.compared] or others
    total, which = np.zeros((2, batch.n)), np.flatnonzero(violating)
    for name in compared if len(which) else ():
        pair = (batch.known[record].take(which).data for record in (first, name))
        total[:, which] += np.stack(domain.distance(*pair))
    return total


@dataclass(frozen=True, slots=True)
class Runner:
    """A specification in order, a model, and how long a block may take.

    Attributes
    ----------
    program, questioner, seconds
        What is computed, who is asked, and the time for one case of a block that is code.
    draws
        Whether the block is code that draws; then the last choice of a case is the seed of its draws.
    """

    program: Program
    questioner: Questioner
    seconds: float
    draws: bool

    def judged(self, prepared: Prepared, seeds: NDArray[np.int64]) -> Judged:
        """Ask about the accepted cases of a batch; ``seeds`` has one for each of them."""
        block: RunBlock | None = None
        if self.program.code is not None:
            block = partial(run_coded, self.program, self.seconds)
        return judge(self.program, prepared, self.questioner, block, seeds)

    def run(self, domain: Domain, cases: Cases) -> tuple[Judged, Cases]:
        """Compute cases from their choices; gives the accepted ones, which are all unless a choice is out of range."""
        prepared = prepare(self.program, domain, cases.inputs, Given(list(cases.choices)))
        accepted = cases.take(np.flatnonzero(prepared.accepted))
        return self.judged(prepared, self.seeds(accepted)), accepted

    def seeds(self, cases: Cases) -> NDArray[np.int64]:
        """The seeds of what the block draws."""
        return cases.choices[-1].astype(np.int64) if self.draws else np.zeros(len(cases), dtype=np.int64)
