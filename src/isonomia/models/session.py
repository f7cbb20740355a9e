"""A model session: everything that stands between a check and its model, in one order.

A batch goes from :meth:`ModelSession.answer` to the model like this; what a session does not have is left out:

1. with a cache, it waits at the gate, which limits how many threads use the model at once. The gate is outside the
   cache, so that two threads never ask about the same missing row;
2. the cache answers the rows that it knows (:class:`~isonomia.models.cache.AnswerCache`); only the others go on;
3. the watch lets them pass, and has a few asked about a second time (:class:`~isonomia.models.steady.Steadiness`);
4. workers get a part of the rows each (:class:`~isonomia.models.parallel.Workers`). Work that was begun ahead is found
   by the identity of the table, so columns are withheld after this step and not before;
5. without a cache, the gate is here, in front of each copy of the model that threads share;
6. the outcome columns are taken away, and the model answers.

The answers go back the same way: joined in the order of the rows, compared with the second ones, stored in the cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from threading import BoundedSemaphore
from typing import Any

from isonomia.errors import ModelError
from isonomia.executors import Pool
from isonomia.models.cache import AnswerCache, Cached
from isonomia.models.checked import ask
from isonomia.models.executable import ExecutableModel
from isonomia.models.http import HttpModel
from isonomia.models.meter import send
from isonomia.models.parallel import Workers
from isonomia.models.protocol import Answer, AroundModel, Model, RecordedModel, unwrap
from isonomia.models.steady import Handed, Steadiness
from isonomia.populations.table import Table
from isonomia.wording import first_few, listed


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
    """

    model: Model
    withheld: tuple[str, ...] = ()
    cache: AnswerCache | None = None
    gate: BoundedSemaphore | None = field(default=None, repr=False)
    steady: Steadiness | None = None
    workers: Workers | None = field(default=None, repr=False)

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
        """Ask about every row of a table, and check the answers."""
        return ask(self, table, want_score, want_prediction)

    def close(self) -> None:
        """Drop everything that workers have begun ahead."""
        self.drop()

    def _entered(self) -> AbstractContextManager[Any]:
        return nullcontext() if self.gate is None else self.gate

    def _asked(self, table: Table, want_score: bool, want_prediction: bool) -> Answer:
        """Ask the model about the rows without the columns that are withheld."""
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
        """The session of a worker that asks the model by itself: without cache and workers, and with a fresh watch.

        The watch notes ``hands_over`` rows for the caller's watch; with 0 there is none. It ``repeats`` questions by
        itself only where its pieces of work are large.
        """
        watch = Steadiness(hands_over=hands_over, repeats=repeats) if hands_over else None
        return replace(self, cache=None, workers=None, steady=watch)

    def take_over(self, handed: Sequence[Handed]) -> None:
        """Let the watch go on from what workers that asked the model by themselves have handed over."""
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
        Whether a few rows are asked about twice.
    at_random
        Whether the model may answer at random: it is not watched, and a cache gives each stored answer once.
    """
    if isinstance(model, Cached):
        model = ModelSession(model.model, cache=model.cache)
    given = model if isinstance(model, ModelSession) else ModelSession(model)
    held = tuple(withheld) if _takes_all_columns(unwrap(given.model)) else ()
    plain = ModelSession(given.model, held, gate=given.gate if given.cache is None else None)
    return replace(
        plain,
        cache=None if given.cache is None else given.cache.for_check(given.model, at_random=at_random),
        gate=given.gate,
        steady=given.steady or (Steadiness() if watched and not at_random else None),
        workers=given.workers or (None if pool is None else Workers(plain, pool)),
    )


def _takes_all_columns(model: Model) -> bool:
    """Whether it is one of our adapters, and does not state which columns it reads."""
    ours = type(model).__module__.startswith("isonomia.models.") and not isinstance(model, RecordedModel)
    return ours and model.reads is None
