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
from collections import Counter, OrderedDict
from collections.abc import Callable, Container, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.answers import Asker
from isonomia.audits.ksafety.cases import Cases, Judgement, PreparedCases, Runner, prepare
from isonomia.audits.ksafety.compiler import CompiledSpec
from isonomia.audits.ksafety.evaluate import (
    MOST_TEXT,
    Booleans,
    ChoiceKind,
    Evaluation,
    GivenChoices,
    OpenChoiceError,
    Value,
    either,
    is_column,
)
from isonomia.audits.ksafety.functions import call_function
from isonomia.engine.journal import Apart, Blank, Entry, Journal
from isonomia.engine.parameters import root
from isonomia.errors import IsonomiaError, UnreliableModelError, UsageError
from isonomia.executors import Pool, Shared, Tasks, pickler
from isonomia.models.decoder import VectorAnswers
from isonomia.models.meter import count, current_meter, metering
from isonomia.models.parallel import borders
from isonomia.models.protocol import Model
from isonomia.models.session import ModelSession
from isonomia.models.steady import MAX_AGAIN, Handed, Steadiness
from isonomia.populations.domains import Domain, TableRecords
from isonomia.populations.domains.protocol import inner_domain
from isonomia.populations.table import Table

DRAWN = 4
"""How many draws of fresh inputs a worker keeps; others are drawn again, and come out the same."""

_lock = threading.RLock()
"""A user's functions may not be thread-safe: a process computes one slice at a time."""


@dataclass(frozen=True, slots=True)
class FreshDraw:
    """How inputs were drawn, so that a worker can draw the same ones.

    Attributes
    ----------
    start, n
        How many inputs came before, and how many there are.
    rng
        The randomness before the draw.
    """

    start: int
    n: int
    rng: np.random.Generator


@dataclass(slots=True, eq=False)
class CaseContext:
    """What is sent to every worker once.

    Attributes
    ----------
    program, seconds, draws
        As a :class:`Runner` has them.
    model
        The model; ``None`` where none is queried.
    vectors
        Whether the model answers with several numbers for each row.
    domain
        The inputs; for an unlimited population, a few examples of them.
    population, make, seed
        For fresh inputs: where they are drawn, what makes a domain of them, and the seed.
    at_random
        Whether the model may answer at random.
    """

    program: CompiledSpec
    seconds: float
    draws: bool
    model: ModelSession | None
    vectors: bool
    domain: Domain
    population: Any = None
    make: Callable[[Table], Domain] | None = None
    seed: int = 0
    at_random: bool = False
    _drawn: OrderedDict[str, Domain] = field(default_factory=OrderedDict)

    def domain_of(self, draw: FreshDraw | None) -> Domain:
        """The inputs of some cases."""
        if draw is None or self.make is None:
            return self.domain
        key = repr((draw.start, draw.n, draw.rng.bit_generator.state))
        if key not in self._drawn:
            source = self.population.open(root(self.seed))
            self._drawn[key] = self.make(source.batch(draw.start, draw.n, deepcopy(draw.rng)))
            while len(self._drawn) > DRAWN:
                self._drawn.popitem(last=False)
        return self._drawn[key]

    def runner(self, journal: Journal, hands_over: int) -> tuple[Runner, Steadiness | None]:
        """The runner that judges cases, and the watch on the model."""
        if self.model is None:
            return Runner(self.program, None, self.seconds, self.draws), None
        model = self.model.apart(hands_over)
        asker = Asker(VectorAnswers(model) if self.vectors else model, journal)
        return Runner(self.program, asker, self.seconds, self.draws, at_random=self.at_random), model.steady


@dataclass(frozen=True, slots=True, eq=False)
class CaseSlice:
    """Some cases of a batch.

    Attributes
    ----------
    cases
        Their inputs and choices.
    empty
        For each choice that was drawn, where there was nothing to choose from; empty where choices were given.
    draw
        How their inputs were drawn, where they are fresh.
    hands_over
        How many rows are noted for the watch on the model; 0 where it is not watched.
    keep, known
        Whether answers are to be sent back, and those kept before.
    """

    cases: Cases
    empty: tuple[Booleans, ...] = ()
    draw: FreshDraw | None = None
    hands_over: int = 0
    keep: bool = False
    known: Entry = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class JudgedSlice:
    """A worker's result for a slice.

    Attributes
    ----------
    prepared
        Which cases are accepted, and how many are not.
    violates, vacuous, changed, pairs
        As a :class:`Judgement` of the accepted ones has them.
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
        The model's answers.
    handed
        What the watch on the model gets; ``None`` where it is not watched.
    queries
        How many rows were sent to the model, and how many of them were second questions.
    """

    prepared: PreparedCases
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
    handed: Handed | None
    queries: tuple[int, int]


@dataclass(slots=True)
class _Answers:
    """A worker's journal for one slice."""

    entries: dict[str, Entry]
    keeps: bool

    def recall(self, key: str) -> Entry | None:
        return self.entries.get(key)

    def keep(self, key: str, make: Callable[[], Entry]) -> None:
        if self.keeps:
            self.entries[key] = make()


def judge_slice(context: CaseContext, item: CaseSlice) -> JudgedSlice:
    """What a worker does with some cases."""
    with _lock, metering(None) as meter:
        journal = _Answers(dict(item.known), item.keep)
        runner, watched = context.runner(journal, item.hands_over)
        domain, cases = context.domain_of(item.draw), item.cases
        batch = prepare(context.program, domain, cases.inputs, GivenChoices(cases.choices, item.empty))
        prepared, types = PreparedCases.of(batch), _types(batch)
        judgement = runner.judge(batch, cases.take(np.flatnonzero(prepared.accepted)))
        bad = np.flatnonzero(judgement.violating)
        values = {name: value.take(bad) for name, value in judgement.batch.values.items()}
        return JudgedSlice(
            prepared,
            judgement.violates,
            judgement.vacuous,
            judgement.changed,
            judgement.pairs,
            bool(judgement.failed.any()) or bool(judgement.reasons),
            _packed(values, domain) if len(bad) else b"",
            types,
            _types(judgement.batch) if len(judgement.cases) else None,
            batch.characters + judgement.batch.characters,
            {} if item.known or not item.keep else journal.entries,
            None if watched is None else watched.handed(),
            meter.sent,
        )


def prepare_slice(context: CaseContext, item: CaseSlice) -> PreparedSlice:
    """What a worker does with cases that are not put to the model."""
    with _lock:
        domain, cases = context.domain_of(item.draw), item.cases
        try:
            batch = prepare(context.program, domain, cases.inputs, GivenChoices(cases.choices))
        except OpenChoiceError as choice:
            rejected = PreparedCases(choice.rejected, 0, 0)
            return PreparedSlice(rejected, (), 0, (choice.kind, choice.low, choice.high))
        return PreparedSlice(PreparedCases.of(batch), _types(batch), batch.characters)


@dataclass(frozen=True, slots=True, eq=False)
class PreparedSlice:
    """A worker's result for cases that are not put to the model; where a choice is open, what could be chosen."""

    prepared: PreparedCases
    types: tuple[Any, ...]
    characters: int
    choice: tuple[ChoiceKind, NDArray[np.float64], NDArray[np.float64]] | None = None


def _types(batch: Evaluation) -> tuple[Any, ...]:
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


def _packed(values: Mapping[str, Value], domain: Domain) -> bytes:
    """Values as bytes, without the inputs that records may refer to: the receiver has these already."""
    names = {id(part): name for name, part in _parts_of(domain).items()}
    detached = {
        name: replace(value, data=_replaced(value.data, lambda part: _PartOfDomain(names[id(part)]), names))
        for name, value in values.items()
    }
    return bytes(pickler().dumps(detached, protocol=pickle.HIGHEST_PROTOCOL))


def _unpacked(packed: bytes, domain: Domain) -> dict[str, Value]:
    """The values that were packed, which refer to the same inputs here."""
    parts = _parts_of(domain)
    values: dict[str, Value] = pickle.loads(packed)
    return {
        name: replace(value, data=_replaced(value.data, lambda part: parts[part.name]))
        for name, value in values.items()
    }


def _parts_of(domain: Any) -> dict[str, Any]:
    inner = inner_domain(domain)
    return {each.name: getattr(inner, each.name) for each in fields(inner)} if is_dataclass(inner) else {}


def _replaced(records: Any, other: Callable[[Any], Any], known: Container[int] = ()) -> Any:
    """Records with every known part, or stand-in for one, replaced."""
    if not is_dataclass(records) or isinstance(records, type):
        return records
    own = {each.name: getattr(records, each.name) for each in fields(records)}
    return replace(
        records,
        **{name: other(part) for name, part in own.items() if id(part) in known or isinstance(part, _PartOfDomain)},
    )


# --------------------------------------------------------------------------------------------------------- who asks


@dataclass(frozen=True, slots=True, eq=False)
class JudgedCases:
    """The result of cases, and how many were left out before."""

    judgement: Judgement
    prepared: PreparedCases


@dataclass(slots=True, eq=False)
class BegunCases:
    """Cases that workers have started on."""

    domain: Domain
    cases: Cases
    keys: list[str]
    tasks: Tasks


@dataclass(slots=True, eq=False)
class CaseWorkers:
    """Lets workers judge cases, and joins their results.

    Attributes
    ----------
    pool, shared
        The workers, and what is sent to them once.
    journal
        Where answers are kept.
    model
        The model for cases that have to be judged here; ``None`` where none is queried.
    session
        What asks the model, with the watch on it; ``None`` where none is queried.
    state
        What all workers of a check have in common.
    """

    pool: Pool
    shared: Shared
    journal: Journal
    model: Model | None
    session: ModelSession | None
    state: SpreadState
    _runs: int = 0

    @property
    def active(self) -> bool:
        """Whether workers are given cases."""
        return not self.state.off

    def judge(self, runner: Runner, domain: Domain, cases: Cases) -> Judgement:
        """Judge cases whose choices are made; what workers cannot do is done here, by the runner."""
        key, self._runs = f"run {self._runs}", self._runs + 1
        begun = self.begin(domain, cases, (), key)
        judged = None if begun is None else self.finish(begun)
        return self.judge_here(runner, key).run(domain, cases) if judged is None else judged.judgement

    def judge_here(self, runner: Runner, key: str) -> Runner:
        """The runner for cases that are judged here.

        Answers are kept under a separate name: in another run, these cases may be judged by workers.
        """
        asker = None if self.model is None else Asker(self.model, Apart(self.journal, key))
        return replace(runner, asker=asker, workers=None)

    def begin(self, domain: Domain, cases: Cases, empty: Sequence[Booleans], key: str) -> BegunCases | None:
        """Let workers start on cases; ``None`` where they cannot, or rows are limited: theirs are counted too late."""
        draw = self._draw_of(domain)
        if current_meter().in_step:
            return None
        if self.state.off or not len(cases) or (draw is None and domain is not self.shared.value.domain):
            return None
        keep, items, keys, edges = _keeps(self.journal), [], [], list(pairwise(borders(len(cases))))
        hands_over = 0 if self.session is None or self.session.steady is None else -(-MAX_AGAIN // len(edges))
        for number, (start, stop) in enumerate(edges):
            rows = np.arange(start, stop, dtype=np.intp)
            keys.append(f"answer of {key} slice {number}")
            known = self.journal.recall(keys[-1]) if keep else None
            sliced = tuple(column[start:stop] for column in empty)
            entries = (known or {}).get("entries", {})
            items.append(CaseSlice(cases.take(rows), sliced, draw, hands_over, keep, entries))
        try:
            tasks = self.pool.begin(judge_slice, self.shared, items, [len(item.cases) for item in items])
        except UsageError as error:
            self._stay(error)
            return None
        return BegunCases(domain, cases, keys, tasks)

    def _draw_of(self, domain: Domain) -> FreshDraw | None:
        try:
            return self.state.draws.get(domain)
        except TypeError:  # not a domain that could have been drawn
            return None

    def _stay(self, error: UsageError) -> None:
        self.state.off = True
        self.pool.stay_here("the cases are computed", error)

    def finish(self, begun: BegunCases, wanted: int | None = None) -> JudgedCases | None:
        """The result of cases, of at most as many accepted ones as are wanted; ``None`` as for :meth:`judge`."""
        try:
            slices: list[JudgedSlice] = list(begun.tasks.results())
        except UnreliableModelError:
            raise
        except IsonomiaError:
            # It may be about cases that one process would not have reached: if not, it happens again here.
            self.state.off = True
            return None
        for part in slices:
            count(*part.queries)
        if self.session is not None:
            self.session.take_over([part.handed for part in slices if part.handed is not None])
        if not _fit(slices) or any(part.failed for part in slices):
            self.state.off = True
            return None
        for key, part in zip(begun.keys, slices, strict=True):
            if part.answers:
                self.journal.keep(key, partial(dict, entries=part.answers))
        prepared = _prepared(slices)
        return JudgedCases(_joined(begun, slices, np.flatnonzero(prepared.accepted)[:wanted]), prepared)

    def prepare(self, domain: Domain, cases: Cases) -> PreparedCases | None:
        """Which cases are accepted; ``None`` where that has to be computed here.

        Raises
        ------
        OpenChoiceError
            Where a choice is not made yet.
        """
        draw = self._draw_of(domain)
        if self.state.off or not len(cases) or (draw is None and domain is not self.shared.value.domain):
            return None
        rows = [np.arange(start, stop, dtype=np.intp) for start, stop in pairwise(borders(len(cases)))]
        items = [CaseSlice(cases.take(some), draw=draw) for some in rows]
        try:
            tasks = self.pool.begin(prepare_slice, self.shared, items, [len(some) for some in rows])
            slices: list[PreparedSlice] = list(tasks.results())
        except UsageError as error:
            self._stay(error)
            return None
        except UnreliableModelError:
            raise
        except IsonomiaError:
            self.state.off = True
            return None
        choice = slices[0].choice
        alike = all((part.choice is None) == (choice is None) for part in slices)
        if not alike or not _fit(slices):
            self.state.off = True
            return None
        prepared = _prepared(slices)
        if choice is None:
            return prepared
        ends = [np.concatenate([part.choice[end] for part in slices if part.choice is not None]) for end in (1, 2)]
        opened = OpenChoiceError(choice[0], *ends)
        opened.rejected = prepared.accepted
        raise opened


@dataclass(slots=True, eq=False)
class SpreadState:
    """What all workers of a check have in common.

    Attributes
    ----------
    off
        Whether cases are computed here from now on.
    draws
        How the inputs of each domain were drawn, where they are fresh.
    """

    off: bool = False
    draws: WeakKeyDictionary[Any, FreshDraw] = field(default_factory=WeakKeyDictionary)


def _keeps(journal: Journal) -> bool:
    """Whether a journal really keeps what is written to it."""
    while isinstance(journal, Apart):
        journal = journal.journal
    return not isinstance(journal, Blank)


def _fit(slices: Sequence[JudgedSlice] | Sequence[PreparedSlice]) -> bool:
    """Whether slices were computed just as the whole batch would have been."""
    if sum(part.characters for part in slices) > MOST_TEXT:
        return False
    later = [part.judged_types for part in slices if isinstance(part, JudgedSlice) and part.judged_types is not None]
    return all(part.types == slices[0].types for part in slices) and all(types == later[0] for types in later)


def _prepared(slices: Sequence[JudgedSlice] | Sequence[PreparedSlice]) -> PreparedCases:
    """What was prepared in all slices."""
    parts = [part.prepared for part in slices]
    accepted = np.concatenate([part.accepted for part in parts])
    return PreparedCases(accepted, sum(part.rejected for part in parts), sum(part.without_choice for part in parts))


def _joined(begun: BegunCases, slices: Sequence[JudgedSlice], which: NDArray[np.intp]) -> Judgement:
    """One judgement of the accepted cases that are wanted, from all slices."""
    violates = np.concatenate([part.violates for part in slices], axis=1)
    bad = np.flatnonzero(violates.any(axis=0))
    n = len(which)
    computed = [_unpacked(part.values, begun.domain) for part in slices if part.values]
    values: dict[str, Value] = {}
    if computed:
        # Nobody needs the values of cases that do not violate: those of the first that does stand in for them.
        positions = np.zeros(n, dtype=np.intp)
        positions[bad[bad < n]] = np.flatnonzero(bad < n)
        joined = {name: _one_value([part[name] for part in computed], begun.domain) for name in computed[0]}
        values = {name: value.take(positions) for name, value in joined.items()}
    batch = Evaluation(n, begun.domain, values, GivenChoices(()), call_function)
    none = np.zeros(n, dtype=bool)
    vacuous = np.concatenate([part.vacuous for part in slices])[:n]
    changed = np.concatenate([part.changed for part in slices], axis=1)[:, :n]
    pairs = np.concatenate([part.pairs for part in slices])[:n]
    return Judgement(begun.cases.take(which), batch, violates[:, :n], none, vacuous, Counter(), changed, pairs)


def _one_value(parts: Sequence[Value], domain: Domain) -> Value:
    data = [part.data for part in parts]
    joined = np.concatenate(data) if is_column(parts[0]) else data[0] if len(data) == 1 else domain.concatenate(data)
    masks = ([part.bad for part in parts], [part.null for part in parts])
    return Value(joined, *(_one_mask(given, list(map(len, data))) for given in masks))


def _one_mask(masks: Sequence[Booleans | None], lengths: Sequence[int]) -> Booleans | None:
    filled = [np.zeros(n, dtype=bool) if mask is None else mask for n, mask in zip(lengths, masks, strict=True)]
    return either(np.concatenate(filled))
