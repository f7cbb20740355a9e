"""A model session: everything that stands between a check and its model, in one order.

A batch goes from :meth:`ModelSession.answer` to the model like this; what a session does not have is left out:

1. with a cache, it waits at the gate, which limits how many threads use the model at once. The gate is outside the
   cache, so that two threads never ask about the same missing row;
2. the cache answers the rows that it knows (:class:`~isonomia.models.cache.AnswerCache`); only the others continue;
3. the steadiness watch lets them pass, and repeats a few (:class:`~isonomia.models.steady.Steadiness`);
4. workers get a part of the rows each (:class:`~isonomia.models.parallel.Workers`). Work that was begun ahead is found
   by the identity of the table, so columns are withheld after this step and not before;
5. without a cache, the gate is here, in front of each copy of the model that threads share;
6. the outcome columns are taken away, and the model answers.

The answers go back the same way: joined in the order of the rows, compared with the second ones, stored in the cache.

A check asks by calling the session, which checks the answers. There, one thing may stand in front of all this: the
journal of the check (:meth:`ModelSession.recorded`), tables that were sent to workers together
(:meth:`ModelSession.together`), or the answers that several checks share.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Hashable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from math import prod
from threading import BoundedSemaphore
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import ModelError, UsageError
from isonomia.executors import Pool
from isonomia.models.cache import AnswerCache, Cached
from isonomia.models.chat import ChatModel
from isonomia.models.checked import ask
from isonomia.models.decoder import VectorAnswers
from isonomia.models.executable import ExecutableModel
from isonomia.models.http import HttpModel
from isonomia.models.meter import charge, current_meter, send
from isonomia.models.named import NamedModels
from isonomia.models.parallel import Question, Workers
from isonomia.models.protocol import (
    Answer,
    AroundModel,
    Model,
    RecordedModel,
    asks_each,
    model_facts,
    named_models,
    unwrap,
)
from isonomia.models.steady import Steadiness, SteadinessReport
from isonomia.populations.table import Table, joined
from isonomia.records.journal import Entry, Journal, NullJournal
from isonomia.spec.columns import host
from isonomia.wording import first_few, listed


class SessionFront(Protocol):
    """What stands in front of a session; where it has no answer, it asks :meth:`ModelSession.ask`."""

    def answer(self, session: ModelSession, table: Table, want_score: bool, want_prediction: bool) -> Answer:
        """The answer for each row of a table."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class ModelSession(AroundModel):
    """A model as one check asks it; itself a model, with the same fingerprint.

    Attributes
    ----------
    model
        The model.
    withheld
        The columns that it is not given.
    cache
        Stored answers; ``None`` without a cache.
    gate
        Limits how many threads use the model at once; models that share a resource share their gate. A program at the
        other end of a pipe, or a function that keeps state between calls, may give wrong answers, and not only errors,
        when two threads ask it at once. ``None`` for no limit.
    steady
        The watch for changed answers; ``None`` where the model may answer at random, or is not watched.
    workers
        The workers that run the model; ``None`` where it runs here.
    vectors
        Whether each prediction is several numbers, such as a continuous action.
    front
        What stands in front of the session; ``None`` where the model itself is asked.
    """

    model: Model
    withheld: tuple[str, ...] = ()
    cache: AnswerCache | None = None
    gate: BoundedSemaphore | None = field(default=None, repr=False)
    steady: Steadiness | None = None
    workers: Workers | None = field(default=None, repr=False)
    vectors: bool = False
    front: SessionFront | None = field(default=None, repr=False)

    def answer(self, table: Table, *, want_score: bool, want_prediction: bool) -> Answer:
        """Answer for each row; every part of the session is given the session without itself.

        Raises
        ------
        ChangingModelError
            When the model changes an answer.
        ModelError
            If no column is left to ask about, or the model fails for lack of one that is withheld.
        """
        if self.cache is not None:
            with self._entered():
                return self.cache.answer(replace(self, cache=None, gate=None), table, want_score, want_prediction)
        if self.steady is not None:
            return self.steady.answer(replace(self, steady=None), self.workers, table, want_score, want_prediction)
        if self.workers is not None:
            return self.workers.answer(table, want_score, want_prediction)
        with self._entered():
            return self._asked(table, want_score, want_prediction)

    def __call__(self, table: Table, want_score: bool, want_prediction: bool) -> Answer:
        """Ask about every row of a table, check the answers, and count those without a label."""
        answers = self.ask if self.front is None else partial(self.front.answer, self)
        answer = answers(table, want_score, want_prediction)
        without_label = model_facts(self.model).without_label
        if without_label and answer.prediction is not None:
            rows, several = answer.prediction.tolist(), named_models(self.model)
            if several is None:
                by_model = {"": rows}
            else:
                columns = dict(zip(several.outputs, zip(*rows, strict=True), strict=True))
                by_model = {str(each.model): list(said) for each, said in columns.items() if each.name == "prediction"}
            for name, said in by_model.items():
                counts = {label: said.count(label) for label in without_label}
                own = {f"{label} of {name}": count for label, count in counts.items()} if name else {}
                current_meter().note({"answers": len(said), **counts, **own})
        return answer

    def ask(self, table: Table, want_score: bool, want_prediction: bool) -> Answer:
        """The same, whatever stands in front of the session."""
        return ask(VectorAnswers(self) if self.vectors else self, table, want_score, want_prediction)

    def recorded(
        self, journal: Journal, *, everybody: SharedAnswers | None = None, vectors: bool = False
    ) -> ModelSession:
        """The session that keeps its answers in a journal, in the order of the questions, and has them from there."""
        return replace(self, front=RecordedAnswers(journal, everybody), vectors=vectors)

    def stop_recording(self) -> None:
        """Keep and recall no more answers."""
        if isinstance(self.front, RecordedAnswers):
            self.front.journal = NullJournal()

    def together(self, questions: Sequence[Question]) -> ModelSession:
        """The session for some questions, about which workers start together.

        Tables of the same form are joined, so that a model whose calls are slow is called less often.
        """
        front = JoinedTables(self)
        forms: dict[Hashable, list[Question]] = {}
        for question in questions:
            forms.setdefault(_form(*question), []).append(question)
        for alike in forms.values():
            front.begin(alike)
        return replace(self, front=front)

    def close(self) -> None:
        """Drop what workers have begun ahead and is not needed yet."""
        if isinstance(self.front, JoinedTables):
            self.front.drop()
        else:
            self.drop()

    def _entered(self) -> AbstractContextManager[Any]:
        return nullcontext() if self.gate is None else self.gate

    def _asked(self, table: Table, want_score: bool, want_prediction: bool) -> Answer:
        """Query the model about the rows without the columns that are withheld."""
        held = [name for name in table.names if name in self.withheld]
        if not held:
            return send(self.model, table, want_score=want_score, want_prediction=want_prediction)
        left, names = [name for name in table.names if name not in held], listed([repr(name) for name in held])
        if not left:
            raise ModelError(f"there is nothing to ask {self.name} about: the only column is the outcome, {names}")
        try:
            return send(self.model, table.select(left), want_score=want_score, want_prediction=want_prediction)
        except Exception as error:
            if any(name in str(error) for name in self.withheld):
                raise ModelError(
                    f"{self.name} fails without {names}, which it is not given since the property uses it as the "
                    f"outcome ({type(error).__name__}: {error}). If it should be given it, name what it takes: "
                    "features=[...], --features NAME,... or features in an audit file"
                ) from error
            raise

    def fingerprint(self) -> str:
        """The model's fingerprint."""
        with self._entered():
            return self.model.fingerprint()

    @property
    def looks_ahead(self) -> bool:
        """Whether there are workers that can be asked ahead, and nothing stands in front of them."""
        return self.front is None and self.direct_workers is not None

    @property
    def direct_workers(self) -> Workers | None:
        """The workers that can be asked ahead; ``None`` without workers, and behind a cache, which comes first."""
        return self.workers if self.cache is None else None

    def begin(self, table: Table, want_score: bool, want_prediction: bool) -> None:
        """Let workers start on a table whose answers will be needed soon."""
        if self.direct_workers is not None:
            self.direct_workers.begin(table, want_score, want_prediction)

    def drop(self, table: Table | None = None) -> None:
        """Drop what workers have begun ahead: one table, or everything."""
        if self.direct_workers is not None:
            self.direct_workers.drop(table)

    def apart(self, hands_over: int = 0, *, repeats: bool = False) -> ModelSession:
        """The session of a worker that queries the model by itself: without cache and workers, and with a fresh watch.

        The watch notes ``hands_over`` rows for the caller's watch; with 0 there is no watch. It ``repeats`` questions
        itself only where its pieces of work are large.
        """
        watch = Steadiness(hands_over=hands_over, repeats=repeats) if hands_over else None
        return replace(self, cache=None, workers=None, steady=watch, vectors=False, front=None)

    def take_over(self, handed: Sequence[SteadinessReport]) -> None:
        """Let the watch continue from what workers that queried the model by themselves have handed over."""
        if self.steady is not None:
            self.steady.take_over(self._unwatched, self.workers, handed)

    def settle(self) -> None:
        """Ask about rows whose answers are known from an earlier run, to see whether they are still the same."""
        if self.steady is not None:
            self.steady.settle(self._unwatched, self.workers)

    @property
    def _unwatched(self) -> ModelSession:
        return replace(self, cache=None, gate=self.gate if self.cache is None else None, steady=None)

    def given_in_words(self, names: Sequence[str]) -> str:
        """Which columns the model is given: for services and programs, and where a column is held back; else empty."""
        inner = unwrap(self.model)
        if isinstance(inner, RecordedModel):
            return inner.given
        if isinstance(inner, NamedModels):
            return "; ".join(
                filter(
                    None,
                    (model.given_in_words(names) for model in inner.models.values() if isinstance(model, ModelSession)),
                )
            )
        held = [name for name in self.withheld if name in names]
        if not _takes_all_columns(inner) or (not held and not isinstance(inner, HttpModel | ExecutableModel)):
            return ""
        given = [name for name in names if name not in held]
        back = f", and not {listed(held)}, the outcome" if held else ""
        return (
            f"{self.name} is given {len(given)} of {len(names)} columns: {first_few(given)}{back}. Name the columns "
            "that it takes if it should be given others: features=[...], or --features COLUMN,... at the command line"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy in another process has its own gate, for one caller; cache, watch and workers stay here."""
        return _copied, (self.model, self.withheld, self.gate is not None)


def answers_from_outside(model: Model) -> bool:
    """Whether a model, or one of several, is a service, a language model or a program of its own: slow, or costly."""
    inner = unwrap(model)
    if isinstance(inner, NamedModels):
        return any(map(answers_from_outside, inner.models.values()))
    return isinstance(inner, ChatModel | HttpModel | ExecutableModel)


def _copied(model: Model, withheld: tuple[str, ...], gated: bool) -> ModelSession:
    return ModelSession(model, withheld, gate=BoundedSemaphore() if gated else None)


def open_session(
    model: Model,
    *,
    withheld: Sequence[str] = (),
    pool: Pool | None = None,
    watched: bool = True,
    at_random: bool = False,
) -> ModelSession:
    """Open the session of one check.

    Parameters
    ----------
    model
        The model, one with a cache, or a session whose gate, cache and watch are taken over.
    withheld
        Outcome columns. A model that is given what it should predict can repeat it, and every error rate would be 0.
        They are not withheld from a model that states which columns it reads, nor from a user's own :class:`Model`.
    pool
        The workers that run the model.
    watched
        Whether a few rows are queried twice.
    at_random
        Whether the model may answer at random: it is not watched, and a cache gives each stored answer once.
    """
    if isinstance(model, Cached):
        model = ModelSession(model.model, cache=model.cache)
    given = model if isinstance(model, ModelSession) else ModelSession(model)
    if pool is not None and model_facts(given.model).without_label:
        raise UsageError(
            "expected no workers and no executor for a language model, which sends several requests at once itself: "
            "give it parallel=8 instead",
            name="workers",
        )
    recorded = isinstance(given.model, RecordedModel)  # which is never asked
    held = tuple(withheld) if _takes_all_columns(unwrap(given.model)) else ()
    plain = ModelSession(given.model, held, gate=given.gate if given.cache is None else None)
    return replace(
        plain,
        cache=None if given.cache is None else given.cache.for_check(given.model, at_random=at_random),
        gate=given.gate,
        steady=given.steady or (Steadiness() if watched and not at_random and not recorded else None),
        workers=given.workers or (None if pool is None else Workers(plain, pool)),
    )


def _takes_all_columns(model: Model) -> bool:
    """Whether it is one of our adapters, and does not state which columns it reads."""
    ours = type(model).__module__.startswith("isonomia.models.") and not isinstance(model, RecordedModel)
    return ours and model.reads is None


@dataclass(slots=True, eq=False)
class RecordedAnswers:
    """A journal in front of a session: a check that was cut off and asks again queries the model only what is new.

    If ``everybody`` is given, a check takes the answers of an earlier check that made the same pass over all rows.
    """

    journal: Journal
    everybody: SharedAnswers | None = None
    questions: int = 0

    def answer(self, session: ModelSession, table: Table, want_score: bool, want_prediction: bool) -> Answer:
        """The answer that was kept for the next question, or else the model's."""
        number, self.questions = self.questions, self.questions + 1
        entry = self.journal.recall(f"answer {number}")
        if entry is not None:
            charge(asks_each(session) * table.rows)  # the run that is resumed sent them, and its budget continues
            current_meter().was(0, entry)
            answer = unpacked(entry)
            if session.steady is not None:
                session.steady.expect(table, answer, vectors=session.vectors)
            return answer
        if self.everybody is None:
            answer = session.ask(table, want_score, want_prediction)
        else:
            answer = self.everybody.answer(number, session, table).wanted(want_score, want_prediction)
        self.journal.keep(f"answer {number}", lambda: {**packed(answer), **current_meter().ledger})
        return answer


MAX_REMEMBERED = 2**24
"""How many people's answers are remembered; for the rest of a longer table, each check queries the model itself."""


@dataclass(slots=True, eq=False)
class SharedAnswers:
    """The answers of a pass over all rows, by the numbers of the questions, for all checks that make this pass.

    ``want_score`` and ``want_prediction`` are what the checks want of the model, all of them together.
    """

    want_score: bool
    want_prediction: bool
    known: dict[int, Answer] = field(default_factory=dict, repr=False)
    rows: int = 0

    def answer(self, number: int, session: ModelSession, table: Table) -> Answer:
        """The answer to a question, which another check may have asked before."""
        known = self.known.get(number)
        if known is None:
            known = session.ask(table, self.want_score, self.want_prediction)
            self.rows += table.rows
            if self.rows <= MAX_REMEMBERED:  # a long table would fill the memory
                self.known[number] = known
        return known


@dataclass(slots=True, eq=False)
class JoinedTables:
    """Tables that were sent to workers together, and the answers about each of them."""

    session: ModelSession
    groups: list[Question] = field(default_factory=list)
    places: dict[int, tuple[int, int]] = field(default_factory=dict)
    answers: dict[int, Answer] = field(default_factory=dict)

    def begin(self, alike: Sequence[Question]) -> None:
        """Let workers start on tables of the same form, joined."""
        start = 0
        for table, _, _ in alike:
            self.places[id(table)] = len(self.groups), start
            start += table.rows
        _, want_score, want_prediction = alike[0]
        self.groups.append((joined([table for table, _, _ in alike]), want_score, want_prediction))
        self.session.begin(*self.groups[-1])

    def answer(self, session: ModelSession, table: Table, want_score: bool, want_prediction: bool) -> Answer:
        """What the model says about one of the tables."""
        number, start = self.places[id(table)]
        if number not in self.answers:
            self.answers[number] = session.ask(*self.groups[number])
        return self.answers[number].about(slice(start, start + table.rows)).wanted(want_score, want_prediction)

    def drop(self) -> None:
        """Drop the answers that no check needed."""
        for number, (table, _, _) in enumerate(self.groups):
            if number not in self.answers:
                self.session.drop(table)


def _form(table: Table, want_score: bool, want_prediction: bool) -> Hashable:
    """A key that is equal for tables that can be joined without changing what the model is given of each row."""
    match table.kind:
        case "columns":
            types: Hashable = tuple((name, column.dtype) for name, column in table.native.items())
        case "array":
            types = table.native.dtype
        case "pandas" | "polars":
            types = tuple(map(str, table.native.dtypes))
        case "pyarrow":
            types = str(table.native.schema)
        case _:
            types = id(table)
    return table.kind, table.names, types, want_score, want_prediction


def packed(answer: Answer) -> Entry:
    """An answer as a journal keeps it, with every bit of a number."""
    return {
        "prediction": None if answer.prediction is None else packed_array(answer.prediction),
        "score": None if answer.score is None else packed_array(answer.score),
        "classes": list(answer.classes),
    }


def unpacked(entry: Entry) -> Answer:
    """The answer that was packed."""
    return Answer(
        None if entry["prediction"] is None else unpacked_array(entry["prediction"]),
        None if entry["score"] is None else unpacked_array(entry["score"]),
        tuple(entry["classes"]),
    )


def packed_array(array: NDArray[Any]) -> dict[str, Any]:
    """An array as a journal keeps it."""
    array = host(array)
    if array.dtype == object:
        return {"values": array.tolist()}
    # The fastest level: these entries are dropped once the check has its verdict.
    squeezed = zlib.compress(np.ascontiguousarray(array).tobytes(), level=1)
    return {"dtype": array.dtype.str, "shape": list(array.shape), "bytes": base64.b64encode(squeezed).decode("ascii")}


def unpacked_array(entry: dict[str, Any]) -> NDArray[Any]:
    """The array that was packed."""
    if "values" in entry:
        values = [tuple(value) if isinstance(value, list) else value for value in entry["values"]]
        return np.fromiter(values, dtype=object, count=len(values))
    dtype, shape = np.dtype(entry["dtype"]), tuple(entry["shape"])
    size = dtype.itemsize * prod(shape)
    data = zlib.decompressobj().decompress(base64.b64decode(entry["bytes"]), max(size, 1))
    return np.frombuffer(data, dtype=dtype, count=prod(shape)).reshape(shape).copy()
