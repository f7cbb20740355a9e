"""What a check of a k-safety property is asked for, once its arguments have been checked."""

from __future__ import annotations

from dataclasses import dataclass, field

from isonomia.engine.budget import Budget
from isonomia.engine.journal import Blank, Journal
from isonomia.engine.schedule import Schedule
from isonomia.models.protocol import Model
from isonomia.populations.domains import Domain
from isonomia.populations.protocol import Population
from isonomia.spec.safety import Safety

__all__ = ["Request"]


@dataclass(frozen=True, slots=True)
class Request:
    """Everything that a check is asked for.

    Attributes
    ----------
    prop, model, population
        What must hold, of which model, for inputs from where: a population, or a domain of its own. ``None`` where an
        import of the property is to offer them.
    delta, budget, seed
        The risk, the most it may cost in cases and time, and what makes it repeatable.
    schedule, workers
        How large batches are, and how many threads ask the model.
    journal
        Where everything is kept that population and model say.
    """

    prop: Safety
    model: Model
    population: Population | Domain | None
    delta: float
    budget: Budget
    seed: int
    schedule: Schedule
    workers: int
    journal: Journal = field(default_factory=Blank)
