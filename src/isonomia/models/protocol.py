"""What every model can do, and what it answers; :func:`describe` says in one line what a model is.

:class:`RecordedModel` stands in for a model of which only the record of a finished check is left.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import DataError, UsageError
from isonomia.populations.table import Table
from isonomia.spec.tree import Output, Value


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """What a model says about a batch.

    Attributes
    ----------
    prediction
        One prediction for each row; ``None`` if it was not requested, or the model gives none.
    score
        One number for each row, or for each row and class; ``None`` likewise.
    classes
        The class that each column of a two-dimensional ``score`` belongs to; empty otherwise.
    """

    prediction: NDArray[Any] | None = None
    score: NDArray[np.float64] | None = None
    classes: tuple[Value, ...] = ()

    def wanted(self, want_score: bool, want_prediction: bool) -> Answer:
        """What is requested of an answer that has more."""
        return Answer(
            self.prediction if want_prediction else None,
            self.score if want_score else None,
            self.classes if want_score else (),
        )

    def about(self, rows: slice | NDArray[np.intp]) -> Answer:
        """What it says about some of the rows."""
        prediction, score = (None if values is None else values[rows] for values in (self.prediction, self.score))
        return Answer(prediction, score, self.classes)


class Model(Protocol):
    """What is audited: a black box that answers for whole batches.

    Query a model through :func:`isonomia.models.ask`, which checks what it answers.

    A model may also have a method ``describe``, which says in one line what it is. :func:`isonomia.models.adapt` also
    takes a model without ``reads``, and gives it all columns.
    """

    @property
    def name(self) -> str:
        """What to call it in messages and reports."""

    @property
    def score_range(self) -> tuple[float, float] | None:
        """The least and the greatest score it can give; ``None`` when that is unknown."""

    @property
    def classes(self) -> tuple[Value, ...]:
        """The classes that it can predict; empty when that is unknown."""

    @property
    def reads(self) -> tuple[str, ...] | None:
        """The columns that it reads, the only ones read from a long table; ``None`` if it takes whatever there is."""

    def answer(self, table: Table, *, want_score: bool, want_prediction: bool) -> Answer:
        """Answer for each row of a table; what is not wanted may be left out."""

    def fingerprint(self) -> str:
        """Tell this model from others, as 64 hexadecimal digits."""


def describe(model: Model) -> str:
    """Say in one line what a model is, where it came from, what it takes and what it gives.

    A model with a method ``describe`` says so itself; any other is described by its class and name.

    Parameters
    ----------
    model
        What :func:`adapt` or :func:`load_model` returned.
    """
    return model.describe() if isinstance(model, Described) else f"{type(model).__name__} {model.name}"


@runtime_checkable
class Described(Protocol):
    """A model that says itself what it is."""

    def describe(self) -> str:
        """Say in one line what it is."""


class PassesOn:
    """What passes rows on to other models; they are charged where they end."""

    __slots__ = ()


class SeveralModels(PassesOn, ABC):
    """Several models by name, which answer about the same rows as one."""

    __slots__ = ()

    models: Mapping[str, Model]
    outputs: tuple[Output, ...]

    @abstractmethod
    def split(self, answer: Answer) -> dict[Output, NDArray[Any]]:
        """What each output of a property is for each row."""


class AroundModel(PassesOn):
    """What stands around a model has the model's name, range, classes, columns and fingerprint."""

    __slots__ = ()

    model: Model

    @property
    def name(self) -> str:
        """The model's name."""
        return self.model.name

    @property
    def score_range(self) -> tuple[float, float] | None:
        """The model's range."""
        return self.model.score_range

    @property
    def classes(self) -> tuple[Value, ...]:
        """The model's classes."""
        return self.model.classes

    @property
    def reads(self) -> tuple[str, ...] | None:
        """The columns that the model reads."""
        return self.model.reads

    def fingerprint(self) -> str:
        """The model's fingerprint."""
        return self.model.fingerprint()

    def describe(self) -> str:
        """Say in one line what the model is."""
        return describe(self.model)


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What a model may state of how it answers; the defaults are those of one that states nothing.

    Attributes
    ----------
    at_random
        Whether it may answer the same row differently.
    repeats
        How often each row of a table is queried, as a cluster.
    without_label
        The predictions that stand for an answer without a label. A verdict says how many there were.
    costs
        What a budget can limit besides rows, ``"tokens"`` and ``"USD"``, because a bound is known before a request.
    least_batch
        How many rows a batch of a check should have at least.
    """

    at_random: bool = False
    repeats: int = 1
    without_label: tuple[str, ...] = ()
    costs: tuple[str, ...] = ()
    least_batch: int = 1

    @property
    def entry(self) -> dict[str, Any]:
        """What a journal keeps of them, for :meth:`recorded`: rows are repeated already, and labels counted."""
        return {"random": self.at_random, "costs": list(self.costs), "batch": self.least_batch}

    @classmethod
    def recorded(cls, entry: Mapping[str, Any]) -> ModelFacts:
        """The facts of a model that was asked when the journal was written."""
        facts = cls(entry.get("random", False), 1, (), tuple(entry.get("costs", ())), entry.get("batch", 1))
        if type(facts.at_random) is not bool or type(facts.least_batch) is not int or facts.least_batch < 1:
            raise DataError(f"expected the record to say how a model answers, but got {str(entry)[:80]}")
        return facts


@runtime_checkable
class WithModelFacts(Protocol):
    """A model that states how it answers."""

    @property
    def facts(self) -> ModelFacts:
        """The facts."""


def model_facts(model: Model | None) -> ModelFacts:
    """The facts that a model states, whatever stands around it; the defaults for one that states none."""
    inner = None if model is None else unwrap(model)
    return inner.facts if isinstance(inner, WithModelFacts) else ModelFacts()


@dataclass(frozen=True, slots=True, eq=False)
class OwnModel(AroundModel):
    """A user's own model that does not state in a tuple which columns it reads.

    ``columns`` are those that it reads; ``None`` where it does not say, and is given all of them.
    """

    model: Model
    columns: tuple[str, ...] | None

    @property
    def reads(self) -> tuple[str, ...] | None:
        """The columns that it reads."""
        return self.columns

    def answer(self, table: Table, *, want_score: bool, want_prediction: bool) -> Answer:
        """The model's answer."""
        return self.model.answer(table, want_score=want_score, want_prediction=want_prediction)


def unwrap(model: Model) -> Model:
    """The model itself, without what this package put around it; the user's own wrappers stay."""
    while isinstance(model, AroundModel):
        model = model.model
    return model


@dataclass(frozen=True, slots=True)
class RecordedModel:
    """What a finished check kept of a model: its name and fingerprint, but nothing that could be asked.

    Attributes
    ----------
    name, score_range, classes
        As the model said of itself.
    stored_fingerprint
        Its fingerprint.
    remark
        The remark of a cache of its answers at the end; ``None`` if there was no cache.
    given
        Which columns it was given, in words; empty where that is obvious.
    facts
        What it stated of how it answers.
    reads
        ``None``: it reads nothing.
    """

    name: str
    score_range: tuple[float, float] | None
    classes: tuple[Value, ...]
    stored_fingerprint: str
    remark: str | None = None
    given: str = ""
    facts: ModelFacts = ModelFacts()
    reads: None = None

    @classmethod
    def of(cls, entry: Mapping[str, Any], remark: str | None = None) -> RecordedModel | None:
        """The model in the entry of a journal; ``None`` if the check had none."""
        if not entry:
            return None
        span, classes = entry["score_range"], entry["classes"]
        texts = isinstance(entry["name"], str) and isinstance(entry["fingerprint"], str)
        if not texts or len({(type(value), value) for value in classes}) < len(classes):
            raise DataError(f"expected a model's description in the record, but got {str(entry)[:80]}")
        ends = None if span is None else (float(span[0]), float(span[1]))
        facts = ModelFacts.recorded(entry.get("facts", {}))
        given = str(entry.get("given", ""))
        return cls(entry["name"], ends, tuple(classes), entry["fingerprint"], remark, given, facts)

    def answer(self, table: Table, *, want_score: bool, want_prediction: bool) -> Answer:  # noqa: ARG002
        """Refuse."""
        raise UsageError(f"only the record of {self.name} is here: it cannot be called")

    def fingerprint(self) -> str:
        """The fingerprint that the model had."""
        return self.stored_fingerprint


def named_models(model: Model | None) -> SeveralModels | None:
    """The models by name, without their wrappers; ``None`` for a single model or no model."""
    inner = None if model is None else unwrap(model)
    return inner if isinstance(inner, SeveralModels) else None


def asks_each(model: Model) -> int:
    """How many models answer each row."""
    several = named_models(model)
    return 1 if several is None else len(several.models)


def model_names(model: Model | None) -> tuple[str, ...] | None:
    """The names of several models; empty for a single model or no model, ``None`` if only a record is left."""
    if model is not None and isinstance(unwrap(model), RecordedModel):
        return None
    several = named_models(model)
    return () if several is None else tuple(several.models)
