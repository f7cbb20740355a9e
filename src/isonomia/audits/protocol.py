"""What a check is, and what an audit is.

A :class:`Check` is a property, a model and a population, with everything that is decided before anything is seen: the
risk, the budget, the seed. An :class:`Audit` knows one kind of property and runs its checks. Each audit is a folder
beside this file and a line in :mod:`isonomia.audits.registry`; whatever runs, stores, repeats or shows checks goes
through this protocol and never asks which audit it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Protocol, TypeVar

from isonomia.audits.answers import Sharing
from isonomia.engine.budget import Budget
from isonomia.engine.journal import Blank, Journal
from isonomia.engine.loop import Schedule
from isonomia.errors import UsageError
from isonomia.models.protocol import Model

__all__ = ["AuditProperty", "Check"]


class AuditProperty(Protocol):
    """What must hold. Its text, ``str(property)``, says all of it."""

    @property
    def name(self) -> str | None:
        """What it is called; ``None`` where it has no name."""
        ...

    def explain(self) -> str:
        """The property in plain English."""
        ...


P = TypeVar("P", covariant=True)


@dataclass(frozen=True, slots=True)
class Check(Generic[P]):
    """Everything that a check is asked for.

    Attributes
    ----------
    prop, model, population
        What must hold, of which model, for whom. The model is ``None`` where the population has all that the property
        names; the population is a domain, or ``None``, for some k-safety properties.
    delta, budget, seed
        The risk, the most it may cost, and what makes it repeatable.
    schedule, workers
        How large batches are, and how many threads ask the model.
    method, ranges
        Which evidence decides, and the ranges of columns whose means are asked for: for rates only.
    random_model
        Whether the model may answer the same person differently.
    journal
        Keeps everything that the population and the model say.
    sharing
        What the check has in common with others of the same population and model; ``None`` where it stands alone.
    """

    prop: P
    model: Model | None = None
    population: Any = None
    delta: float = 0.05
    budget: Budget = field(default_factory=Budget)
    seed: int = 0
    schedule: Schedule = field(default_factory=Schedule)
    workers: int = 1
    method: str = "auto"
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    random_model: bool = False
    journal: Journal = field(default_factory=Blank)
    sharing: Sharing | None = None

    def with_journal(self, journal: Journal) -> Check[P]:
        """The same check with a journal, in which it keeps what it measures and finds what it measured before."""
        return replace(self, journal=journal)

    @property
    def required_model(self) -> Model:
        """The model, of a check that cannot do without one."""
        if self.model is None:
            raise UsageError("this kind of property is about runs of a model: expected model, but none came")
        return self.model
