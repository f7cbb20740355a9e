"""What each audit is asked for (to become one Check).

What a check is asked for, once its arguments have been checked.

What a check of a k-safety property is asked for, once its arguments have been checked.

What a check of principal fairness is asked for, once its arguments have been checked.

What a check of responsiveness is asked for, once its arguments have been checked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from isonomia.audits.answers import Sharing
from isonomia.engine.budget import Budget
from isonomia.engine.journal import Blank, Journal
from isonomia.engine.loop import Schedule
from isonomia.models.protocol import Model
from isonomia.populations.domains import Domain
from isonomia.populations.protocol import Population
from isonomia.spec.principal import PrincipalFairness
from isonomia.spec.property import Property
from isonomia.spec.responsiveness import Responsiveness
from isonomia.spec.safety import Safety

__all__ = ["METHODS", "PrincipalRequest", "RatesRequest", "ResponsivenessRequest", "SafetyRequest"]


METHODS = ("auto", "bets", "region", "verifair")


@dataclass(frozen=True, slots=True)
class RatesRequest:
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


@dataclass(frozen=True, slots=True)
class SafetyRequest:
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


@dataclass(frozen=True, slots=True)
class PrincipalRequest:
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


@dataclass(frozen=True, slots=True)
class ResponsivenessRequest:
    """Everything that a check is asked for.

    Attributes
    ----------
    prop, model, population
        What must hold, of which model, for whom.
    delta, budget, seed
        The risk, the most it may cost, and what makes it repeatable.
    workers
        How many threads ask the model.
    journal
        Where everything is kept that population and model say.
    """

    prop: Responsiveness
    model: Model
    population: Population
    delta: float
    budget: Budget
    seed: int
    workers: int
    journal: Journal = field(default_factory=Blank)
