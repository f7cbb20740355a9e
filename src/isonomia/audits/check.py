"""The entry points ``check`` and ``plan``; their arguments are checked once, in the same way for every audit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING, Any

from isonomia.audits.arguments import (
    checked_control,
    checked_delta,
    checked_flag,
    checked_growth,
    checked_looks,
    checked_method,
    checked_numbers,
    checked_observer,
    checked_population,
    checked_property,
    checked_ranges,
    checked_stop,
    checked_width,
    checked_workers,
    counted_looks,
    outcomes_of,
    refuse_unclear_outcome,
)
from isonomia.audits.given_models import several_models
from isonomia.audits.pieces import fingerprint_by_workers
from isonomia.audits.protocol import AuditProperty, Check
from isonomia.audits.registry import audit_for
from isonomia.audits.verdicts import INTERRUPTED, new_verdict, spent_in_words, why_stopped
from isonomia.engine.loop import Schedule
from isonomia.engine.parameters import Budget, Observer, derived_seed, root
from isonomia.errors import UsageError
from isonomia.evidence.looks import planned_report
from isonomia.executors import pool_for
from isonomia.models.adapt import adapt
from isonomia.models.meter import BudgetSpentError, QueryMeter, metering
from isonomia.models.protocol import Model, model_facts
from isonomia.models.session import ModelSession, open_session
from isonomia.populations.finite import Census, Sample
from isonomia.populations.protocol import Population, facts_of, fingerprint_if_any
from isonomia.records.journal import MissingEntryError, once, recall_if_any
from isonomia.records.verdict import Verdict
from isonomia.spec.principal import PrincipalFairness
from isonomia.spec.property import Property

if TYPE_CHECKING:
    from isonomia.audits.rates.plan import RatesPlan

ENDED = "ended"
"""The journal key of why the budget ended a check that has no answer."""


def check(
    property: AuditProperty | str,  # noqa: A002  (the word of the glossary)
    model: Any = None,
    population: Population | Any = None,
    *,
    delta: float = 0.05,
    budget: Budget | str | float | None = None,
    seed: int | None = None,
    method: str = "auto",
    ranges: Mapping[str, tuple[float, float]] | None = None,
    control: str = "family",
    features: Sequence[str] | None = None,
    growth: float = 1.01,
    workers: int = 1,
    executor: Executor | str | None = None,
    random_model: bool = False,
    looks: str | int = "any",
    stop: str = "decided",
    width: float | None = None,
    observer: Observer | None = None,
) -> Verdict:
    """Check whether a property holds of a model and a population.

    Parameters
    ----------
    property
        What must hold: text (``"P[prediction == 1 | sex == 'F'] >= 0.3"``), a property made with Python operators, a
        :class:`PrincipalFairness`, a :class:`Responsiveness`, or a k-safety property: the path of a ``.nom`` file, or
        one of ``safety``.
    model
        Anything with ``predict``, or callable on a batch. ``None`` if the table already has the columns that the
        property names, for example ``prediction``. Several models by name, ``{"new": a, "old": b}``, answer the same
        rows, as ``new.prediction`` and ``old.prediction``; each may be the name of a column with stored answers.
    population
        The population: :class:`Sample`, :class:`Census`, :class:`Generator`, :class:`Program` or :class:`Causal`. A
        bare table or a path counts as a :class:`Sample`. A k-safety property that imports a domain needs none.
    delta
        The risk of a wrong answer, chosen before any result is seen.
    budget
        The maximum cost: people (``100_000``), a time (``"30s"``), or both (``"1e6, 5min"``). The unit is that of the
        verdict: pairs of people if a property uses ``other``, cases for k-safety, reachable points for responsiveness.
    seed
        The seed of the order of rows and of all draws. By default it is derived from the property and the fingerprints
        of population and model, so that the same check gives the same verdict. The verdict says if one was chosen by
        hand: trying several until one decides breaks the guarantee.
    method
        ``"auto"`` proves a claim about a program or a causal model if that takes no longer than drawing from
        it; otherwise it uses bets if the property is linear in the rates, and a confidence region if it is not.
        ``"exact"``, ``"bets"``, ``"region"`` and ``"verifair"`` require that method.
    ranges
        The lowest and highest possible value of columns whose means the property uses.
    control
        The error rate for single groups that is controlled, if a property about rates makes a claim for every group.
        ``"family"``: the probability that any group is wrongly said to be violated is at most ``delta``, and so is the
        probability that any is wrongly said to hold (with planned looks, or one look at comparisons that share a group,
        at most ``2 * delta``). ``"discovery"``: among the groups that are said to be violated,
        the expected share of wrong ones is at most ``delta``, and likewise among those that are said to hold. The
        answer to the whole claim does not depend on it.
    features
        The columns that the model gets, in order, if it does not declare them itself.
    growth
        The factor by which each batch enlarges the sample when a decision is near; batches are larger while it is far.
        A check is decided at the end of a batch, so a smaller growth saves people, a larger one saves calls of the
        model.
    workers, executor
        The number of workers that query the model in parallel, each with a part of a batch, and where they run: in
        ``"threads"`` of this process, in ``"processes"``, on a cluster (``"dask:tcp://host:8786"``, ``"ray"``), or by
        any ``concurrent.futures.Executor``. The verdict does not depend on it. With an executor the model is queried
        ahead of need, so that workers do not wait for each other; some of these answers are never used.
    random_model
        Whether the model may answer differently for the same person. If not, a few rows are queried twice, and a
        changed answer is an error. If so, the verdict states it among its assumptions.
    looks
        The looks at the draws. ``"any"``: after every batch, and as often as you like; the check may stop as soon as it
        is decided. ``"once"``: all rows of a table, or as many people as the budget allows, and one look at the end. It
        needs fewer people and gives narrower intervals, but is valid for this one look only: repeating it on the same
        people until the answer is welcome breaks the guarantee. ``"3 of 5 after 2000, 4000"``: the third of five
        planned reports on a table that grows, with the numbers of rows at the earlier ones; most of ``delta`` is
        reserved for the last, whose intervals are hardly wider than those of a single look. A number: for a sample, one
        of that many reports, each with an equal part of ``delta``; for other populations, that many equally spaced
        looks in this check. Properties about rates have exact tests for this; elsewhere the verdict says that it was
        decided as under ``"any"``, which is valid for any number of looks.
    stop
        When a check of rates ends. ``"decided"``: as soon as there is an answer. ``"precise"``: once there is one and
        the interval of the first compared quantity is at most ``width`` wide. ``"all"``: when all rows were counted or
        the budget is spent. Answers and intervals stay valid no matter how long the check continues.
    width
        The width at which ``stop="precise"`` ends.
    observer
        Receives progress updates.

    Returns
    -------
    Verdict
        *holds*, *violated* or *undecided*. Guarantee: if the assumptions that the verdict lists are true, the
        probability that the answer is wrong is at most ``delta``, although the draws were looked at after every batch;
        with other ``looks``, if there were no other looks.

    Raises
    ------
    IsonomiaError
        With a message that says what was expected, what was received, and what to do.

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
    prepared = new_check(
        property,
        model,
        population,
        delta=delta,
        budget=budget,
        seed=seed,
        method=method,
        ranges=ranges,
        control=control,
        features=features,
        growth=growth,
        workers=workers,
        executor=executor,
        random_model=random_model,
        looks=looks,
        stop=stop,
        width=width,
    )
    return run_check(prepared, checked_observer(observer))


def new_check(
    property: AuditProperty | str,  # noqa: A002  (the word of the glossary)
    model: Any = None,
    population: Population | Any = None,
    *,
    delta: float = 0.05,
    budget: Budget | str | float | None = None,
    seed: int | None = None,
    method: str = "auto",
    ranges: Mapping[str, tuple[float, float]] | None = None,
    control: str = "family",
    features: Sequence[str] | None = None,
    growth: float = 1.01,
    workers: int = 1,
    executor: Executor | str | None = None,
    random_model: bool = False,
    looks: str | int = "any",
    stop: str = "decided",
    width: float | None = None,
    outcomes: Sequence[str] = (),
    seed_chosen: bool | None = None,
) -> Check[Any]:
    """Check every argument of :func:`check`, without running the check.

    ``outcomes`` are further columns that the model is not given, unless it names them itself. ``seed_chosen`` says
    whether the seed was chosen by hand; by default it was if there is one.
    """
    root(0 if seed is None else seed)
    prop = checked_property(property)
    audit = audit_for(prop)
    people: Any = None if population is None and audit.imports(prop) else checked_population(population)
    at_random = checked_flag("random_model", random_model)
    looks = checked_looks(counted_looks(looks, people), method)
    report = planned_report(looks) if looks != "any" else None
    if report is not None and isinstance(people, Sample) and people.looks is None:
        people = people.continuing(report[1])
    held = tuple(dict.fromkeys((*outcomes_of(prop), *outcomes)))
    alone = checked_workers(workers) == 1 and executor is None
    pool = None if alone else pool_for(executor, workers)
    if pool is not None and facts_of(people).device is not None:
        raise UsageError(
            "expected no workers and no executor for people on a device, where a batch is queried as a whole: "
            "leave them out, or leave out device",
            name="executor",
        )
    session: ModelSession | None = None
    allowed = Budget.of(budget)
    if allowed.costs and looks != "any":
        raise UsageError(
            f"expected no budget in {' or '.join(allowed.costs)} for planned looks, since the number of rows it "
            "covers is not known in advance: state samples or queries",
            name="budget",
        )
    adapted: Model | None
    if isinstance(model, Mapping):
        prop, adapted = several_models(model, prop, people, held, features=features, at_random=at_random)
        held = tuple(dict.fromkeys((*held, *outcomes_of(prop))))
    else:
        adapted = None if model is None else adapt(model, features)
    if adapted is not None:
        refuse_unclear_outcome(adapted, [prop], held)
        held = () if isinstance(model, Mapping) else held  # which several models were not given, each by itself
        facts = model_facts(adapted)
        allowed.check_costs(adapted)
        people, at_random = repeated(people, facts.repeats), at_random or facts.at_random
        session = open_session(adapted, withheld=held, pool=pool, at_random=at_random)
    new = Check(
        prop,
        session,
        people,
        delta=checked_delta(delta),
        budget=allowed,
        seed=0 if seed is None else int(seed),
        seed_chosen=seed is not None if seed_chosen is None else seed_chosen,
        schedule=Schedule(growth=checked_growth(growth)),
        pool=pool,
        method=checked_method(method),
        ranges=checked_ranges(ranges or {}),
        control=checked_control(control),
        random_model=at_random,
        looks=looks,
        stop=checked_stop(stop, checked_width(width), looks),
        width=checked_width(width),
    )
    if seed is None:
        if pool is not None:
            fingerprint_by_workers(pool, people)
        new = replace(new, seed=derived_seed(str(prop), *subjects(new)))
    return audit.prepare(new)


def repeated(people: Any, times: int) -> Any:
    """The population with every row repeated, so that the model is queried that many times about each row."""
    if times == 1:
        return people
    if not isinstance(people, Sample | Census):
        raise UsageError(
            "expected rows to repeat, in a Sample or a Census, for a model with repeats: other populations draw as "
            "often as needed, so leave repeats out",
            name="repeats",
        )
    return people.repeated(times)


def subjects(check: Check[Any]) -> tuple[str, str]:
    """The fingerprints of a check's population and model, for its seed; empty if it has no fingerprint.

    Looks at a table that grows must have the same seed. So of planned reports the rows of the first one count, and of
    rows in file order, which may be looked at again after more have come, the first row.
    """
    people = check.population
    if isinstance(people, Sample) and people.row_order == "file":
        known = people.first(1)
    elif isinstance(people, Sample) and people.looks is not None:
        known = people.first(people.looks[0] if people.looks else people.size)
    else:
        known = fingerprint_if_any(people) or ""
    return known, "" if check.model is None else check.model.fingerprint()


def run_check(check: Check[Any], observer: Observer) -> Verdict:
    """Run a check whose arguments are in order."""
    if check.pool is not None:
        fingerprint_by_workers(check.pool, check.population)
    budget, journal = check.budget, check.journal
    meter = QueryMeter(budget.queries, budget.seconds, budget.samples, costs=budget.costs)
    ended = recall_if_any(journal, ENDED) if meter.limited or meter.seconds < inf else None
    with metering(meter):
        try:
            verdict = audit_for(check.prop).run(check, observer)
        except BudgetSpentError as spent:  # in a step that has nothing to show without the rest of its answers
            reason = spent.reason
            ended = once(journal, ENDED, lambda: {"reason": reason})
        except MissingEntryError:
            if ended is None:
                raise
        if ended is not None:
            stopped = why_stopped(ended["reason"])
            verdict = new_verdict(check, None, method="exact", stopped=stopped, assumptions=())
    if check.model is None:
        return verdict
    watch = check.model.steady
    again = {"again": watch.again} if watch is not None and watch.again else {}
    costs: dict[str, Any] = {"rows": meter.rows, **again, **({"spent": meter.spent} if meter.spent else {})}
    try:
        costs = dict(costs if verdict.stopped == INTERRUPTED else once(journal, "queries", lambda: costs))
        cost = costs.get("spent", {})
        remarks = (*verdict.remarks, *spent_in_words(cost))
        return replace(verdict, queries=costs["rows"], repeated=costs.get("again"), spent=cost, remarks=remarks)
    except MissingEntryError:
        return verdict  # a record from before rows were counted


def prepare_sampling(check: Check[Property]) -> None:
    """Refuse a check of rates that could not be sampled, before anything is drawn."""
    from isonomia.audits.rates.question import ask_about
    from isonomia.audits.rates.sampling import prepare

    prepare(check, ask_about(check.prop, check.population, check.model, check.ranges))


def plan(
    property: Property | str,  # noqa: A002  (the word of the glossary)
    guesses: Mapping[str, float],
    *,
    shares: Mapping[str, float] | None = None,
    delta: float = 0.05,
    seed: int = 0,
) -> RatesPlan:
    """Forecast how many people a check will take, and the minimum that any method needs on average.

    Parameters
    ----------
    property
        What is to be checked.
    guesses
        A guess for each rate, by its text: ``{"P[hired | sex == 'F']": 0.3, "P[hired | sex == 'M']": 0.35}``.
    shares
        The share of the population that meets each condition, by its text; equal shares by default.
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
        given = "principal fairness" if isinstance(prop, PrincipalFairness) else f"a {type(prop).__name__}"
        raise UsageError(f"expected a property about rates to plan for, but got {given}", name="property")
    from isonomia.audits.rates.plan import plan_rates

    return plan_rates(prop, means, parts, checked_delta(delta), seed)
