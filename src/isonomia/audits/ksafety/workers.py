"""Cases judged by the workers of an executor.

Each worker has the specification, the inputs and the model once. It is given the inputs and the choices of some cases,
computes everything that a case needs, queries its own copy of the model, and sends back which cases violate. Choices
are made beforehand, by the caller, in the order in which one process alone would make them.

The result of a case depends on that case alone, with few exceptions: the type of a column may depend on all of its
values, and reasons for failures are given for a batch. So a batch whose parts do not fit together, or in which
something failed, is computed here again, and from then on the workers only query the model. The verdict is that of one
process, whatever happens.
"""

from __future__ import annotations

import pickle
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.ksafety.cases import CaseResults, CaseRunner, Cases, JudgedCases, prepare, recorded_session
from isonomia.audits.ksafety.evaluate import (
    MOST_TEXT,
    Booleans,
    CaseEvaluation,
    CaseValues,
    GivenChoices,
    either,
    is_column,
)
from isonomia.audits.ksafety.functions import call_function
from isonomia.errors import IsonomiaError, UnreliableModelError, UsageError
from isonomia.executors import Pool, StartedTasks, TaskContext, pickler
from isonomia.models.meter import count, current_meter, metering
from isonomia.models.parallel import borders
from isonomia.models.session import ModelSession
from isonomia.models.steady import MAX_AGAIN, SteadinessReport
from isonomia.populations.domains import Domain, TableRecords
from isonomia.populations.domains.protocol import inner_domain
from isonomia.records.journal import Entry, Journal, NamespacedJournal, NullJournal

_lock = threading.RLock()
"""A user's functions may not be thread-safe: a process computes one slice at a time."""


@dataclass(frozen=True, slots=True, eq=False)
class CaseContext:
    """What is sent to every worker once: the runner without a model, the model, and the inputs.

    The model is ``None`` where none is queried.
    """

    runner: CaseRunner
    model: ModelSession | None
    domain: Domain


@dataclass(frozen=True, slots=True, eq=False)
class CaseSlice:
    """Some cases of a batch.

    Attributes
    ----------
    cases
        Their inputs and choices.
    empty
        For each choice that was drawn, where there was nothing to choose from; empty where choices were given.
    hands_over
        How many rows are noted for the watch on the model; 0 where it is not watched.
    recorded
        The answers in the journal; ``None`` where answers are not to be sent back.
    """

    cases: Cases
    empty: tuple[Booleans, ...]
    hands_over: int
    recorded: Entry | None


@dataclass(frozen=True, slots=True, eq=False)
class JudgedSlice:
    """A worker's result for a slice.

    Attributes
    ----------
    accepted, rejected, without_choice
        Which cases are accepted, and how many are not, and why.
    violates, vacuous, changed, pairs
        As a :class:`CaseResults` of the accepted ones has them.
    failed
        Whether something could not be computed in one of them.
    values
        Everything that was computed for those that violate, packed.
    types, judged_types
        The types of all columns in the order of computing: those before the model was queried, and those after it,
        ``None`` where no case was accepted.
    characters
        How many characters the concatenated texts have.
    answers
        The model's new answers.
    handed
        What the watch on the model gets; ``None`` where it is not watched.
    queries
        How many rows were sent to the model, and how many of them were second questions.
    """

    accepted: Booleans
    rejected: int
    without_choice: int
    violates: NDArray[np.bool_]
    vacuous: Booleans
    changed: NDArray[np.float64]
    pairs: NDArray[np.intp]
    failed: bool
    values: bytes
    types: tuple[Any, ...]
    judged_types: tuple[Any, ...] | None
    characters: int
    answers: Entry
    handed: SteadinessReport | None
    queries: tuple[int, int]


@dataclass(frozen=True, slots=True)
class _SliceJournal:
    """A worker's journal for one slice."""

    entries: dict[str, Entry]

    def recall(self, key: str) -> Entry | None:
        return self.entries.get(key)

    def keep(self, key: str, make: Callable[[], Entry]) -> None:
        self.entries[key] = make()


def judge_slice(context: CaseContext, item: CaseSlice) -> JudgedSlice:
    """What a worker does with some cases."""
    with _lock, metering(None) as meter:
        entries, runner, watched = dict(item.recorded or {}), context.runner, None
        if context.model is not None:
            model = context.model.apart(item.hands_over)
            journal = NullJournal() if item.recorded is None else _SliceJournal(entries)
            runner, watched = replace(runner, session=recorded_session(model, context.domain, journal)), model.steady
        cases = item.cases
        batch = prepare(runner.program, context.domain, cases.inputs, GivenChoices(cases.choices, item.empty))
        accepted, types = batch.accepted.copy(), _types(batch)
        rejected, without_choice = batch.rejected, batch.without_choice
        judgement = runner.judge(batch, cases.take(np.flatnonzero(accepted)))
        bad = np.flatnonzero(judgement.violating)
        values = {name: value.take(bad) for name, value in judgement.batch.values.items()}
        return JudgedSlice(
            accepted,
            rejected,
            without_choice,
            judgement.violates,
            judgement.vacuous,
            judgement.changed,
            judgement.pairs,
            bool(judgement.failed.any()) or bool(judgement.reasons),
            _packed(values, context.domain) if len(bad) else b"",
            types,
            _types(judgement.batch) if len(judgement.cases) else None,
            batch.characters + judgement.batch.characters,
            {} if item.recorded else entries,
            None if watched is None else watched.handed(),
            meter.sent,
        )


def _types(batch: CaseEvaluation) -> tuple[Any, ...]:
    """The types of all columns. The length of texts and objects does not matter."""
    types = [None if kind is None else kind.kind if kind.kind in "USO" else kind.str for kind in batch.types]
    changed = [
        (name, {column: values.dtype.kind for column, values in value.data.changed.items()})
        for name, value in batch.values.items()
        if isinstance(value.data, TableRecords)
    ]
    return (*types, *changed)


# -------------------------------------------------------------------------------------------------- what is sent back


@dataclass(frozen=True, slots=True)
class _PartOfDomain:
    """Stands for a part of the domain, which both caller and worker have."""

    name: str


def _packed(values: Mapping[str, CaseValues], domain: Domain) -> bytes:
    """Values as bytes, without the inputs that records may refer to: the receiver has these already."""
    stand_ins = {id(part): _PartOfDomain(name) for name, part in _parts_of(domain).items()}
    detached = {name: _replaced(value, lambda part: stand_ins.get(id(part), part)) for name, value in values.items()}
    return bytes(pickler().dumps(detached, protocol=pickle.HIGHEST_PROTOCOL))


def _unpacked(packed: bytes, domain: Domain) -> dict[str, CaseValues]:
    """The values that were packed, which refer to the same inputs here."""
    parts = _parts_of(domain)
    values: dict[str, CaseValues] = pickle.loads(packed)
    return {
        name: _replaced(value, lambda part: parts[part.name] if isinstance(part, _PartOfDomain) else part)
        for name, value in values.items()
    }


def _parts_of(records: Any) -> dict[str, Any]:
    inner = inner_domain(records)
    return {each.name: getattr(inner, each.name) for each in fields(inner)} if is_dataclass(inner) else {}


def _replaced(value: CaseValues, other: Callable[[Any], Any]) -> CaseValues:
    """A value with other parts of its records."""
    own = {} if isinstance(value.data, type) else _parts_of(value.data)
    changed = {name: part for name, before in own.items() if (part := other(before)) is not before}
    return replace(value, data=replace(value.data, **changed)) if changed else value


# ------------------------------------------------------------------------------------------------------ in this process


@dataclass(frozen=True, slots=True, eq=False)
class BegunCases:
    """Cases that workers have started on, and the journal keys of their slices."""

    domain: Domain
    cases: Cases
    keys: list[str]
    tasks: StartedTasks


@dataclass(slots=True, eq=False)
class CaseWorkers:
    """Lets workers judge cases, and joins their results.

    Attributes
    ----------
    pool, shared
        The workers, and what is sent to them once.
    session
        Asks the model about cases that have to be judged here; ``None`` where none is queried.
    off
        Set once all cases are computed here; one flag for all workers of a check.
    """

    pool: Pool
    shared: TaskContext
    session: ModelSession | None
    off: threading.Event
    _runs: int = 0

    @property
    def active(self) -> bool:
        """Whether workers are given cases."""
        return not self.off.is_set()

    def judge(self, runner: CaseRunner, domain: Domain, cases: Cases) -> CaseResults:
        """Judge cases whose choices are made; what workers cannot do is done here, by the runner."""
        key, self._runs = f"run {self._runs}", self._runs + 1
        begun = self.begin(domain, cases, (), key)
        judged = None if begun is None else self.finish(begun)
        return self.judge_here(runner, key).run(domain, cases) if judged is None else judged.judgement

    def judge_here(self, runner: CaseRunner, key: str) -> CaseRunner:
        """The runner for cases that are judged here.

        Answers are kept under a separate name: in another run, these cases may be judged by workers.
        """
        session = self.session
        if session is not None:
            session = session.recorded(NamespacedJournal(session.journal, key), vectors=session.vectors)
        return replace(runner, session=session, workers=None)

    def begin(self, domain: Domain, cases: Cases, empty: Sequence[Booleans], key: str) -> BegunCases | None:
        """Let workers start on cases; ``None`` where they cannot, or rows are limited: theirs are counted too late."""
        here = self.off.is_set() or domain is not self.shared.value.domain
        if here or not len(cases) or current_meter().in_step:
            return None
        items, keys, edges = [], [], list(pairwise(borders(len(cases))))
        session = self.session
        hands_over = 0 if session is None or session.steady is None else -(-MAX_AGAIN // len(edges))
        for number, (start, stop) in enumerate(edges):
            keys.append(f"answer of {key} slice {number}")
            recorded = None
            if session is not None and _is_recording(session.journal):
                recorded = (session.journal.recall(keys[-1]) or {}).get("entries", {})
            part = cases.take(np.arange(start, stop, dtype=np.intp))
            items.append(CaseSlice(part, tuple(column[start:stop] for column in empty), hands_over, recorded))
        try:
            tasks = self.pool.begin(judge_slice, self.shared, items, [len(item.cases) for item in items])
        except UsageError as error:
            self.off.set()
            self.pool.stay_here("the cases are computed", error)
            return None
        return BegunCases(domain, cases, keys, tasks)

    def finish(self, begun: BegunCases, wanted: int | None = None) -> JudgedCases | None:
        """The result of cases, at most as many accepted ones as are wanted; ``None`` where workers cannot give it."""
        try:
            slices: list[JudgedSlice] = list(begun.tasks.results())
        except UnreliableModelError:
            raise
        except IsonomiaError:
            # It may be about cases that one process would not have reached: if not, it happens again here.
            self.off.set()
            return None
        for part in slices:
            count(*part.queries)
        if self.session is not None:
            self.session.take_over([part.handed for part in slices if part.handed is not None])
        if not _fit(slices) or any(part.failed for part in slices):
            self.off.set()
            return None
        for key, part in zip(begun.keys, slices, strict=True):
            if part.answers and self.session is not None:
                self.session.journal.keep(key, partial(dict, entries=part.answers))
        accepted = np.flatnonzero(np.concatenate([part.accepted for part in slices]))[:wanted]
        rejected, without_choice = (sum(part.rejected for part in slices), sum(part.without_choice for part in slices))
        return JudgedCases(_joined(begun, slices, accepted), rejected, without_choice)


def _is_recording(journal: Journal) -> bool:
    """Whether a journal really keeps what is written to it."""
    while isinstance(journal, NamespacedJournal):
        journal = journal.journal
    return not isinstance(journal, NullJournal)


def _fit(slices: Sequence[JudgedSlice]) -> bool:
    """Whether slices were computed just as the whole batch would have been."""
    if sum(part.characters for part in slices) > MOST_TEXT:
        return False
    later = [part.judged_types for part in slices if part.judged_types is not None]
    return all(part.types == slices[0].types for part in slices) and all(types == later[0] for types in later)


def _joined(begun: BegunCases, slices: Sequence[JudgedSlice], which: NDArray[np.intp]) -> CaseResults:
    """One judgement of the accepted cases that are wanted, from all slices."""
    violates = np.concatenate([part.violates for part in slices], axis=1)
    bad = np.flatnonzero(violates.any(axis=0))
    n = len(which)
    computed = [_unpacked(part.values, begun.domain) for part in slices if part.values]
    values: dict[str, CaseValues] = {}
    if computed:
        # The values of cases that do not violate are not needed: those of the first that does stand in for them.
        positions = np.zeros(n, dtype=np.intp)
        positions[bad[bad < n]] = np.flatnonzero(bad < n)
        joined = {name: _one_value([part[name] for part in computed], begun.domain) for name in computed[0]}
        values = {name: value.take(positions) for name, value in joined.items()}
    batch = CaseEvaluation(n, begun.domain, values, GivenChoices(()), call_function)
    none = np.zeros(n, dtype=bool)
    vacuous = np.concatenate([part.vacuous for part in slices])[:n]
    changed = np.concatenate([part.changed for part in slices], axis=1)[:, :n]
    pairs = np.concatenate([part.pairs for part in slices])[:n]
    return CaseResults(begun.cases.take(which), batch, violates[:, :n], none, vacuous, Counter(), changed, pairs)


def _one_value(parts: Sequence[CaseValues], domain: Domain) -> CaseValues:
    data = [part.data for part in parts]
    joined = np.concatenate(data) if is_column(parts[0]) else data[0] if len(data) == 1 else domain.concatenate(data)
    masks = ([part.bad for part in parts], [part.null for part in parts])
    return CaseValues(joined, *(_one_mask(given, list(map(len, data))) for given in masks))


def _one_mask(masks: Sequence[Booleans | None], lengths: Sequence[int]) -> Booleans | None:
    filled = [np.zeros(n, dtype=bool) if mask is None else mask for n, mask in zip(lengths, masks, strict=True)]
    return either(np.concatenate(filled))
