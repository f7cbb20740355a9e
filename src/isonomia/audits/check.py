"""One verb for every audit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from isonomia.audits.answering import stated, watched
from isonomia.audits.arguments import (
    checked_delta,
    checked_flag,
    checked_growth,
    checked_method,
    checked_model,
    checked_numbers,
    checked_observer,
    checked_population,
    checked_property,
    checked_ranges,
    checked_workers,
    refuse_rates_options,
)
from isonomia.audits.ksafety.request import Request as SafetyRequest
from isonomia.audits.principal.request import Request as PrincipalRequest
from isonomia.audits.rates.request import Request
from isonomia.audits.responsiveness.request import Request as ResponsivenessRequest
from isonomia.engine.budget import Budget
from isonomia.engine.journal import Journal
from isonomia.engine.observer import Observer
from isonomia.engine.schedule import Schedule
from isonomia.engine.seeds import fresh_seed, root
from isonomia.errors import UsageError
from isonomia.models.adapt import adapt
from isonomia.populations.protocol import Population
from isonomia.records.verdict import Verdict
from isonomia.spec.principal import PrincipalFairness
from isonomia.spec.property import Property
from isonomia.spec.responsiveness import Responsiveness
from isonomia.spec.safety import Safety

if TYPE_CHECKING:
    from isonomia.audits.rates.plan import RatesPlan

__all__ = ["Arranged", "Options", "arrange", "carry_out", "check", "plan"]


def check(
    property: Property | PrincipalFairness | Responsiveness | Safety | str,  # noqa: A002  (the word of the glossary)
    model: Any = None,
    population: Population | Any = None,
    *,
    delta: float = 0.05,
    budget: Budget | str | float | None = None,
    seed: int | None = None,
    method: str = "auto",
    ranges: Mapping[str, tuple[float, float]] | None = None,
    features: Sequence[str] | None = None,
    growth: float = 1.01,
    workers: int = 1,
    random_model: bool = False,
    observer: Observer | None = None,
) -> Verdict:
    """Check whether a property holds of a model and a population.

    Parameters
    ----------
    property
        What must hold, as text (``"P[prediction == 1 | sex == 'F'] >= 0.3"``), made with Python operators, a
        :class:`PrincipalFairness`, a :class:`Responsiveness`, or a k-safety property: the path of a ``.nom`` file, or
        one of ``safety``.
    model
        Anything with ``predict``, or callable on a batch. ``None`` where the table already has what the property
        names, for example a column ``prediction``.
    population
        Whom it is about: :class:`Sample`, :class:`Census`, :class:`Generator`, :class:`Program` or :class:`Causal`. A
        bare table or a path counts as a :class:`Sample`. A k-safety property may go without, where it imports a domain.
    delta
        The risk of a wrong answer, chosen before anything is seen.
    budget
        The most it may cost: people (``100_000``), a time (``"30s"``), or both (``"1e6, 5min"``). What is counted is
        what the verdict counts: pairs of people where a property speaks of ``other``, cases for k-safety, points that
        people can reach for responsiveness.
    seed
        Makes it repeatable; a fresh one is taken, and stated in the verdict, where none is given.
    method
        ``"auto"`` takes bets where the property is linear in the rates and a confidence region elsewhere; ``"bets"``,
        ``"region"`` and ``"verifair"`` demand one of the three.
    ranges
        The lowest and highest possible value of columns whose means are asked for.
    features
        The columns that the model is given, in order, where it cannot say so itself.
    growth
        How much larger each batch makes the total when a decision is near; batches are larger while it is far. A
        decision falls at the end of a batch, so smaller is thriftier with people, larger with calls of the model.
    workers
        How many threads ask the model side by side, each about a part of a batch; the verdict does not depend on it.
    random_model
        Whether the model may answer the same person differently. Otherwise a few rows are asked about twice, and a
        changed answer is an error. Where it is allowed, the verdict states it among its assumptions.
    observer
        Who is told about progress.

    Returns
    -------
    Verdict
        *holds*, *violated* or *undecided*. Guarantee: if the assumptions that the verdict lists are true, the
        probability that the answer is wrong is at most ``delta``, although the draws were looked at after every batch.

    Raises
    ------
    IsonomiaError
        With a message that says what was expected, what came, and what to do.

    Examples
    --------
    >>> import isonomia as iso
    >>> people = {"sex": ["F", "M"] * 500, "hired": [1, 0, 0, 1, 1] * 200}
    >>> verdict = iso.check("P[hired == 1 | sex == 'F'] >= 0.4", population=iso.Sample(people), seed=1)
    >>> verdict.answer
    'holds'
    >>> iso.check("P[hired == 1] <= 60%", population=iso.Census(people)).method
    'exact'
    """
    options = Options(delta, budget, seed, method, ranges, features, growth, workers, random_model)
    return carry_out(arrange(property, model, population, options), checked_observer(observer))


@dataclass(frozen=True, slots=True)
class Options:
    """How a property is to be checked: the arguments of :func:`check` that have defaults, as they came."""

    delta: float = 0.05
    budget: Budget | str | float | None = None
    seed: int | None = None
    method: str = "auto"
    ranges: Mapping[str, tuple[float, float]] | None = None
    features: Sequence[str] | None = None
    growth: float = 1.01
    workers: int = 1
    random_model: bool = False


@dataclass(frozen=True, slots=True)
class Arranged:
    """A check whose arguments are all in order: what is asked, and whether the model may answer at random."""

    request: Request | PrincipalRequest | ResponsivenessRequest | SafetyRequest
    random_model: bool = False

    def with_journal(self, journal: Journal) -> Arranged:
        """The same check with a journal, in which it keeps what it measures and finds what it measured before."""
        return replace(self, request=replace(self.request, journal=journal))


def arrange(
    property: Property | PrincipalFairness | Responsiveness | Safety | str,  # noqa: A002  (the word of the glossary)
    model: Any = None,
    population: Population | Any = None,
    options: Options = Options(),  # noqa: B008  (it has no state)
) -> Arranged:
    """Check every argument of :func:`check`, and leave the check itself for later."""
    number = fresh_seed() if options.seed is None else options.seed
    root(number)
    prop = checked_property(property)
    imports = isinstance(prop, Safety) and bool(prop.spec.imports)  # an import may offer the inputs
    people: Any = None if population is None and imports else checked_population(population)
    random_model = checked_flag("random_model", options.random_model)
    asked = None if model is None else watched(adapt(model, options.features), random_model)
    common = checked_delta(options.delta), Budget.of(options.budget), int(number)
    how = checked_method(options.method), checked_ranges(options.ranges or {})
    pace = Schedule(growth=checked_growth(options.growth)), checked_workers(options.workers)
    if isinstance(prop, Safety):
        refuse_rates_options(*how, "a k-safety property")
        return Arranged(SafetyRequest(prop, checked_model(asked), people, *common, *pace), random_model)
    if isinstance(prop, Responsiveness):
        refuse_rates_options(*how, "responsiveness")
        return Arranged(ResponsivenessRequest(prop, checked_model(asked), people, *common, pace[1]), random_model)
    if isinstance(prop, PrincipalFairness):
        refuse_rates_options(*how)
        return Arranged(PrincipalRequest(prop, asked, people, *common, *pace), random_model)
    return Arranged(Request(prop, asked, people, *common, *how, *pace), random_model)


def carry_out(arranged: Arranged, observer: Observer) -> Verdict:
    """Carry out a check that was arranged."""
    verdict = _answered(arranged.request, observer)
    return stated(verdict, arranged.request.model, arranged.random_model, arranged.request.journal)


def _answered(
    request: Request | PrincipalRequest | ResponsivenessRequest | SafetyRequest, observer: Observer
) -> Verdict:
    """Hand a request to its audit, which is imported when it is asked for the first time."""
    match request:
        case SafetyRequest():
            from isonomia.audits.ksafety.check import check_safety

            return check_safety(request, observer)
        case ResponsivenessRequest():
            from isonomia.audits.responsiveness.check import check_responsiveness

            return check_responsiveness(request, observer)
        case PrincipalRequest():
            from isonomia.audits.principal.check import check_principal

            return check_principal(request, observer)
        case Request():
            from isonomia.audits.rates.check import check_rates

            return check_rates(request, observer)


def plan(
    property: Property | str,  # noqa: A002  (the word of the glossary)
    guesses: Mapping[str, float],
    *,
    shares: Mapping[str, float] | None = None,
    delta: float = 0.05,
    seed: int = 0,
) -> RatesPlan:
    """Say beforehand how many people a check will take, and how few any method could do with.

    Parameters
    ----------
    property
        What is to be checked.
    guesses
        What each rate might be, by its text: ``{"P[hired | sex == 'F']": 0.3, "P[hired | sex == 'M']": 0.35}``.
    shares
        Which share of the population meets each condition, by its text; equal shares where nothing is said.
    delta
        The risk.
    seed
        The forecast is a simulation; the seed makes it repeatable.

    Examples
    --------
    >>> import isonomia as iso
    >>> forecast = iso.plan("P[hired] >= 0.5", {"P[hired]": 0.6}, delta=1e-6)
    >>> forecast.limit < forecast.samples
    True
    """
    root(seed)
    means, parts = checked_numbers("guesses", guesses), checked_numbers("shares", shares or {})
    prop = checked_property(property)
    if not isinstance(prop, Property):
        came = "principal fairness" if isinstance(prop, PrincipalFairness) else f"a {type(prop).__name__}"
        raise UsageError(f"expected a property about rates to plan for, but {came} came")
    from isonomia.audits.rates.plan import plan_rates

    return plan_rates(prop, means, parts, checked_delta(delta), seed)
