"""What a check of principal fairness is asked for, once its arguments have been checked."""

from __future__ import annotations

from dataclasses import dataclass, field

from isonomia.engine.budget import Budget
from isonomia.engine.journal import Blank, Journal
from isonomia.engine.schedule import Schedule
from isonomia.models.protocol import Model
from isonomia.populations.protocol import Population
from isonomia.spec.principal import PrincipalFairness

__all__ = ["Request"]


@dataclass(frozen=True, slots=True)
class Request:
    """Everything that a check is asked for.

    Attributes
    ----------
    prop, model, population
        What must hold, of which model, for whom.
    delta, budget, seed
        The risk, the most it may cost, and what makes it repeatable.
    schedule, workers
        How large batches are, and how many threads ask the model.
    journal
        Where everything is kept that population and model say.
    """

    prop: PrincipalFairness
    model: Model | None
    population: Population
    delta: float
    budget: Budget
    seed: int
    schedule: Schedule
    workers: int
    journal: Journal = field(default_factory=Blank)
