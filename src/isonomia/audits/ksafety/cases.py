"""Cases: which inputs and which random choices; every case that there is; and how they are judged.

A case is known completely before the model is queried: :func:`prepare` computes its variables and preconditions. Every
part of the audit queries the model through a :class:`CaseRunner`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.ksafety.blocks import run_block
from isonomia.audits.ksafety.compiler import CompiledSpec
from isonomia.audits.ksafety.evaluate import (
    Answers,
    Booleans,
    CaseEvaluation,
    CaseValues,
    Choices,
    GivenChoices,
    OpenChoiceError,
    evaluate,
    is_column,
    joined_truths,
    tested,
)
from isonomia.audits.ksafety.evidence import PAIRS, CaseTally, Cells, weight_of
from isonomia.audits.ksafety.functions import call_function
from isonomia.errors import ModelError, UnreliableModelError
from isonomia.models.meter import current_meter
from isonomia.models.session import ModelSession
from isonomia.populations.domains import Domain
from isonomia.populations.domains.protocol import DomainFacts
from isonomia.populations.table import Table
from isonomia.records.journal import Journal
from isonomia.spec.nomos.tree import Binary, Ensures, Requires, Var

CHUNK = 2**17
"""The maximum number of cases held in memory together while they are listed."""

PROBES = 8
"""Once a batch has failed, the rows that are tried one by one before all of them are."""


@dataclass(frozen=True, slots=True, eq=False)
class Cases:
    """A batch of cases.

    Attributes
    ----------
    inputs
        For each input of the specification, which of the domain's inputs each case has.
    choices
        For each random choice, in order, what each case chose.
    parts
        One over the probability of each case's choices, given its inputs.
    """

    inputs: tuple[NDArray[np.intp], ...]
    choices: tuple[NDArray[Any], ...] = ()
    parts: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def __len__(self) -> int:
        return len(self.inputs[0])

    def take(self, indices: NDArray[np.intp]) -> Cases:
        """The cases at these positions."""
        return Cases(
            tuple(column[indices] for column in self.inputs),
            tuple(column[indices] for column in self.choices),
            self.parts[indices] if len(self.parts) else self.parts,
        )

    def repeated(self, times: NDArray[np.int64], chosen: NDArray[np.int64]) -> Cases:
        """Each case the given number of times, with one more choice."""
        again = self.take(np.repeat(np.arange(len(self)), times))
        return Cases(again.inputs, (*again.choices, chosen), again.parts * np.repeat(times, times))

    def keys(self) -> NDArray[np.float64]:
        """A row for each case that identifies it."""
        return np.stack([np.asarray(column, dtype=np.float64) for column in (*self.inputs, *self.choices)], axis=1)


def joined_cases(parts: Sequence[Cases]) -> Cases:
    """Several batches of cases with equally many choices as one."""
    inputs = zip(*(part.inputs for part in parts), strict=True)
    choices = zip(*(part.choices for part in parts), strict=True)
    likely = [part.parts for part in parts]
    return Cases(
        tuple(np.concatenate(columns) for columns in inputs),
        tuple(np.concatenate(columns) for columns in choices),
        np.concatenate(likely) if all(len(one) for one in likely) else np.zeros(0, dtype=np.int64),
    )


def prepare(
    program: CompiledSpec, domain: Domain, inputs: Sequence[NDArray[np.intp]], choices: Choices
) -> CaseEvaluation:
    """Compute everything that needs no model, for cases with these inputs."""
    values = {name: CaseValues(domain.inputs(rows)) for name, rows in zip(program.spec.inputs, inputs, strict=True)}
    return prepare_known(program, domain, values, choices)


def prepare_known(
    program: CompiledSpec, domain: Domain, values: dict[str, CaseValues], choices: Choices
) -> CaseEvaluation:
    """The same for inputs whose values are given."""
    n = len(next(iter(values.values())).data)
    batch = CaseEvaluation(n, domain, values, choices, call_function)
    try:
        for step in program.preparation:
            _take(step, batch)
    except OpenChoiceError as choice:
        choice.rejected = ~batch.accepted
        raise
    batch.accepted &= ~batch.empty
    batch.unclear &= batch.accepted
    return batch


def _take(step: Var | Requires, batch: CaseEvaluation) -> None:
    if isinstance(step, Var):
        batch.values[step.name] = evaluate(step.value, batch)
        return
    met, no_value = tested(evaluate(step.condition, batch), batch, step.place)
    batch.accepted &= met | no_value
    batch.unclear |= no_value


@dataclass(frozen=True, slots=True, eq=False)
class CaseResults:
    """The result of some cases.

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
        For each case that violates, how many features its records differ in and how far, summed over the records that
        were sent to the model.
    pairs
        For a claim beyond noise, ``5 * changes + repeats`` for each case: how many of its four pairs of answers about
        the two records violate, and how many of its four pairs of answers about the same record. Else empty.
    """

    cases: Cases
    batch: CaseEvaluation
    violates: NDArray[np.bool_]
    failed: Booleans
    vacuous: Booleans
    reasons: Counter[str]
    changed: NDArray[np.float64]
    pairs: NDArray[np.intp] = field(default_factory=lambda: np.zeros(0, dtype=np.intp))

    @property
    def domain(self) -> Domain:
        """Where the inputs come from."""
        return self.batch.domain

    @property
    def violating(self) -> Booleans:
        """Cases in which some ``ensures`` is false."""
        return np.asarray(self.violates.any(axis=0))

    def tally(self, cells: Cells = ((), ()), *, weighed: bool = False) -> CaseTally:
        """Count them; ``weighed`` where they are part of a complete list."""
        tally = CaseTally(
            [int(np.count_nonzero(bad)) for bad in self.violates],
            len(self.failed),
            int(np.count_nonzero(self.violating)),
            int(np.count_nonzero(self.failed)),
            int(np.count_nonzero(self.vacuous)),
            Counter(self.reasons),
            cells=cells,
            pairs=np.bincount(self.pairs[~self.failed], minlength=PAIRS).tolist() if len(self.pairs) else [],
        )
        if weighed:
            parts = self.cases.parts
            tally.weight = weight_of(parts)
            tally.bad_weight = [weight_of(parts[bad]) for bad in self.violates]
            tally.failed_weight = [weight_of(parts[self.failed & ~bad]) for bad in self.violates]
        return tally


class JudgesCases(Protocol):
    """Judges cases in place of this process."""

    def judge(self, runner: CaseRunner, domain: Domain, cases: Cases) -> CaseResults | None:
        """Judge accepted cases; ``None`` where they have to be judged by this process."""
        ...


def recorded_session(model: ModelSession, domain: Domain, journal: Journal) -> ModelSession:
    """The session with a model that answers about inputs of this domain, and keeps its answers."""
    return model.recorded(journal, vectors=DomainFacts.of(domain).continuous)


@dataclass(frozen=True, slots=True)
class CaseRunner:
    """A compiled specification with a model.

    A batch on which the model raises is halved until the rows that it cannot answer are found. A model that fails on
    every row is an error; failures on some rows are part of what the audit reports.

    Attributes
    ----------
    program, session
        What is computed, and what answers for the model; ``None`` where no model is queried.
    seconds
        The time limit for one case of a block that is code.
    draws
        Whether the block is code that draws random numbers; then the last choice of a case is their seed.
    workers
        Judges cases in place of this process; ``None`` where nothing does.
    at_random
        Whether the model may answer at random. If not, it is queried once about equal records of a batch.
    """

    program: CompiledSpec
    session: ModelSession | None
    seconds: float
    draws: bool
    workers: JudgesCases | None = None
    at_random: bool = False

    def run(self, domain: Domain, cases: Cases) -> CaseResults:
        """Judge cases whose choices are made; all are accepted unless a choice is out of range."""
        batch = prepare(self.program, domain, cases.inputs, GivenChoices(cases.choices))
        return self.judge(batch, cases.take(np.flatnonzero(batch.accepted)))

    def judge(self, batch: CaseEvaluation, cases: Cases) -> CaseResults:
        """Query the model about every accepted case of a batch, which are ``cases``, and judge its answers."""
        judged = None if self.workers is None else self.workers.judge(self, batch.domain, cases)
        if judged is not None:
            return judged
        program, domain, batch = self.program, batch.domain, batch.accepted_only()
        if not batch.n:
            none = np.zeros(0, dtype=bool)
            nothing = np.zeros((len(program.ensures), 0), dtype=bool)
            return CaseResults(cases, batch, nothing, none, none, Counter(), np.zeros((2, 0)))
        batch.ask = lambda what, records: self.ask(what, domain, records)
        failed = batch.unclear.copy()
        if program.code is not None:
            seeds = cases.choices[-1].astype(np.int64) if self.draws else np.zeros(batch.n, dtype=np.int64)
            run_block(program, self.seconds, batch, seeds)
        for step in program.finish:
            batch.values[step.name] = evaluate(step.value, batch)
        violates, vacuous, pairs = [], [], np.zeros(0, dtype=np.intp)
        if program.at_random:
            changes, repeats, no_value = _beyond_noise(program, batch)
            failed |= no_value
            pairs = 5 * changes + repeats
            # Shown as violating: the answers about each record agree, and all of them violate.
            violates.append((changes == 4) & (repeats == 0) & ~failed)
            vacuous.append(np.zeros(batch.n, dtype=bool))
        for item in () if program.at_random else program.ensures:
            met, no_value, idle = _met(item, batch)
            failed |= no_value
            violates.append(~met & ~no_value & ~batch.unclear)
            vacuous.append(idle)
        bad = np.stack(violates)
        nothing = np.logical_and.reduce(vacuous) & ~failed
        changed = _changes(program, batch, np.logical_or.reduce(bad))
        return CaseResults(cases, batch, bad, failed, nothing, _reasons(batch, failed), changed, pairs)

    def ask(self, what: str, domain: Domain, records: Any) -> Answers:
        """The model's predictions, or scores, for records or for a table of its inputs.

        A model that answers for none of them is an error.
        """
        if isinstance(records, Table):
            return self._answers(what, records)
        same = None if self.at_random else domain.unique(records)
        if same is None:
            return self._in_pieces(what, domain, records)
        first, back = np.unique(same, return_index=True, return_inverse=True)[1:]
        if len(first) == len(same):
            return self._in_pieces(what, domain, records)
        data, why = self._in_pieces(what, domain, records.take(first))
        back = back.reshape(-1)
        return data[back], None if why is None else why[back]

    def _in_pieces(self, what: str, domain: Domain, records: Any) -> Answers:
        """Large records, such as images, are made and sent to the model in pieces of the domain's size."""
        n, size = len(records), DomainFacts.of(domain).together
        if size is None or n <= size:
            return self._answers(what, domain.table(records))
        parts = [np.arange(start, min(start + size, n), dtype=np.intp) for start in range(0, n, size)]
        return _joined([self._answers(what, domain.table(records.take(part))) for part in parts])

    def _answers(self, what: str, table: Table) -> Answers:
        whole = self._tried(what, table)
        if not isinstance(whole, ModelError):
            return whole, None
        if self._fails_everywhere(what, table):
            raise whole from whole.__cause__
        parts = self._halved(what, table)
        good = next((part for part in parts if isinstance(part, np.ndarray)), np.zeros(1))
        answers = np.concatenate([good[:1] if isinstance(part, str) else part for part in parts])
        why = [reason for part in parts for reason in ([part] if isinstance(part, str) else [None] * len(part))]
        return answers, np.fromiter(why, dtype=object, count=len(why))

    def _query(self, what: str, table: Table) -> NDArray[Any]:
        assert self.session is not None
        answer = self.session(table, want_score=what == "score", want_prediction=what == "predict")
        if what == "predict":
            assert answer.prediction is not None
            return answer.prediction
        assert answer.score is not None
        if answer.score.ndim == 2 and answer.score.shape[1] != 2:
            raise ModelError(
                f"score(...) is one number per case, but {self.session.name} gives one for each of "
                f"{answer.score.shape[1]} classes: use predict(...)"
            )
        return answer.score if answer.score.ndim == 1 else answer.score[:, -1]

    def _fails_everywhere(self, what: str, table: Table) -> bool:
        """Whether the model fails on each of a few rows, so that it is the model and not the rows."""
        rows = np.unique(np.linspace(0, table.rows - 1, PROBES).astype(int)).tolist()
        if len(rows) < PROBES:
            return False  # too few rows to tell; each is tried anyway
        return all(isinstance(self._tried(what, table.slice(row, row + 1)), ModelError) for row in rows)

    def _tried(self, what: str, table: Table) -> NDArray[Any] | ModelError:
        """The answers, or the error of a model that has none."""
        try:
            return self._query(what, table)
        except UnreliableModelError:
            raise
        except ModelError as error:
            return error

    def _halved(self, what: str, table: Table) -> list[NDArray[Any] | str]:
        """The answers in pieces; a text stands for a single row without one, and says why."""
        answers = self._tried(what, table)
        if not isinstance(answers, ModelError):
            return [answers]
        if table.rows == 1:
            cause = answers.__cause__
            return [f"the model raised {type(cause).__name__}: {cause}" if cause else "the model gave no answer"]
        middle = table.rows // 2
        return self._halved(what, table.slice(0, middle)) + self._halved(what, table.slice(middle, table.rows))


def _joined(parts: Sequence[Answers]) -> Answers:
    """The answers of several batches as those of one."""
    data = np.concatenate([answers for answers, _ in parts])
    if all(why is None for _, why in parts):
        return data, None
    return data, np.concatenate([np.full(len(answers), None) if why is None else why for answers, why in parts])


def _beyond_noise(program: CompiledSpec, batch: CaseEvaluation) -> tuple[NDArray[np.intp], NDArray[np.intp], Booleans]:
    """Ask a second time: how many of four pairs of answers violate, about two records, and about the same record.

    With the answers ``a``, ``a'`` about the first record and ``b``, ``b'`` about the second, the pairs about two
    records are ``ab``, ``ab'``, ``a'b`` and ``a'b'``; those about one are ``aa'``, ``a'a``, ``bb'`` and ``b'b``. Last,
    the cases in which something had no value.
    """
    item, names = program.ensures[0], [step.name for step in program.finish]
    first = [batch.values[name] for name in names]
    second = [evaluate(step.value, batch) for step in program.finish]
    failed = np.zeros(batch.n, dtype=bool)

    def violated(pairs: Sequence[tuple[CaseValues, CaseValues]]) -> NDArray[np.intp]:
        count = np.zeros(batch.n, dtype=np.intp)
        for pair in pairs:
            batch.values |= dict(zip(names, pair, strict=True))
            met, no_value, _ = _met(item, batch)
            failed[no_value] = True
            count += ~met
        return count

    one, other = zip(first, second, strict=True)
    repeats = violated([one, one[::-1], other, other[::-1]])
    changes = violated([(left, right) for left in one[::-1] for right in other[::-1]])
    return changes, repeats, failed


def _met(item: Ensures, batch: CaseEvaluation) -> tuple[Booleans, Booleans, Booleans]:
    """Where it is true, where it has no value, and where an implication is true because its condition is false."""
    condition = item.condition
    if isinstance(condition, Binary) and condition.operator == "==>":
        left, right = evaluate(condition.left, batch), evaluate(condition.right, batch)
        given, none = tested(left, batch, item.place)
        met, no_value = tested(joined_truths("==>", CaseValues(given, none), right), batch, item.place)
        return met, no_value, ~given & ~none
    met, no_value = tested(evaluate(condition, batch), batch, item.place)
    return met, no_value, np.zeros(batch.n, dtype=bool)


def _reasons(batch: CaseEvaluation, failed: Booleans) -> Counter[str]:
    """How many cases failed for each reason; one may have failed for the same reason twice, and counts once."""
    where: dict[str, Booleans] = {}
    for why, bad in batch.faults:
        where[why] = where[why] | bad if why in where else bad
    return Counter({why: hit for why, bad in where.items() if (hit := int(np.count_nonzero(bad & failed)))})


def _changes(program: CompiledSpec, batch: CaseEvaluation, violating: Booleans) -> NDArray[np.float64]:
    """How far the records that were sent to the model are from the first input; all records where none has a name.

    Only for cases that violate, since comparing records, such as images, can cost more than querying the model.
    """
    first = program.spec.inputs[0]
    apart = {first, *program.finals.values()}  # outputs are not changed inputs
    others = [name for name, value in batch.values.items() if name not in apart and not is_column(value)]
    compared = [name for name in others if name in program.compared] or others
    total, which = np.zeros((2, batch.n)), np.flatnonzero(violating)
    for name in compared if len(which) else ():
        pair = (batch.values[record].take(which).data for record in (first, name))
        total[:, which] += np.stack(batch.domain.distance(*pair))
    return total


def all_cases(runner: CaseRunner, domain: Domain, max_n: float, tally: CaseTally) -> list[Cases] | None:
    """Every case that there is, in parts; those that a precondition rejects are left out and counted.

    ``None`` where there are more than ``max_n``, a choice is not from a finite range, or the time is up.
    """
    inputs = len(runner.program.spec.inputs)
    total = domain.size**inputs
    if total > max_n:
        return None
    parts: list[Cases] = []
    for start in range(0, total, CHUNK):
        if start and current_meter().is_late:
            return None
        numbers = np.arange(start, min(start + CHUNK, total))
        columns = tuple(part.astype(np.intp) for part in np.unravel_index(numbers, (domain.size,) * inputs))
        begun = Cases(columns, (), np.ones(len(numbers), dtype=np.int64))
        completed = every_choice(runner, domain, begun, max_n - sum(map(len, parts)), tally)
        if completed is None:
            return None
        parts += completed
    return parts


def every_choice(
    runner: CaseRunner, domain: Domain, begun: Cases, max_n: float, tally: CaseTally
) -> list[Cases] | None:
    """Every way to complete cases whose first choices are made, in parts; ``None`` where there are too many."""
    parts: list[Cases] = []
    waiting = [begun]
    while waiting:
        cases = waiting.pop()
        try:
            batch = prepare(runner.program, domain, cases.inputs, GivenChoices(cases.choices))
        except OpenChoiceError as choice:
            completed = _completed(cases, choice, max_n, tally)
            if completed is None:
                return None
            waiting += completed
            continue
        tally.rejected += batch.rejected
        tally.without_choice += batch.without_choice
        accepted = cases.take(np.flatnonzero(batch.accepted))
        max_n -= len(accepted)
        if max_n < 0:
            return None
        parts.append(accepted)
    return parts


def _completed(cases: Cases, choice: OpenChoiceError, max_n: float, tally: CaseTally) -> list[Cases] | None:
    """The cases with one more choice, in parts that fit in memory; the first part is last in the list."""
    if choice.kind != "whole":
        return None
    low = np.ceil(choice.low)
    times = np.nan_to_num(np.maximum(np.floor(choice.high) - low + 1, 0.0), nan=0.0)
    tally.rejected += int(np.count_nonzero(choice.rejected))
    tally.without_choice += int(np.count_nonzero((times == 0) & ~choice.rejected))
    times[choice.rejected] = 0.0
    if times.sum() > max_n:
        return None
    keep = np.flatnonzero(times > 0)
    cases, low, count = cases.take(keep), low[keep].astype(np.int64), times[keep].astype(np.int64)
    parts = []
    for piece in _pieces(count):
        sizes = count[piece]
        offsets = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        parts.append(cases.take(piece).repeated(sizes, np.repeat(low[piece], sizes) + offsets))
    return parts[::-1]


def _pieces(sizes: NDArray[np.int64]) -> Sequence[NDArray[np.intp]]:
    if len(sizes) == 0:
        return []
    number = (np.cumsum(sizes) - 1) // CHUNK
    return np.split(np.arange(len(sizes)), np.flatnonzero(np.diff(number)) + 1)
