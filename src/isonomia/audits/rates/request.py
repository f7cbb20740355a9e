"""What a check is asked for, once its arguments have been checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from isonomia.audits.rates.sharing import Sharing
from isonomia.engine.budget import Budget
from isonomia.engine.journal import Blank, Journal
from isonomia.engine.schedule import Schedule
from isonomia.models.protocol import Model
from isonomia.populations.protocol import Population
from isonomia.spec.property import Property

__all__ = ["METHODS", "Request"]

METHODS = ("auto", "bets", "region", "verifair")


@dataclass(frozen=True, slots=True)
class Request:
    """Everything that a check is asked for.

    Attributes
    ----------
    prop, model, population
        What must hold, of which model, for whom.
    delta, budget, seed
        The risk, the most it may cost, and what makes it repeatable.
    method
        One of ``METHODS``: bets where the property allows them and a region elsewhere, or one of the three by name.
    ranges
        The ranges of columns, for means.
    schedule, workers
        How large batches are, and how many threads ask the model.
    journal
        Where everything is kept that population and model say.
    sharing
        What it has in common with other checks of the same population and model; ``None`` where it stands alone.
    """

    prop: Property
    model: Model | None
    population: Population
    delta: float
    budget: Budget
    seed: int
    method: str
    ranges: Mapping[str, tuple[float, float]]
    schedule: Schedule
    workers: int
    journal: Journal = field(default_factory=Blank)
    sharing: Sharing | None = None
