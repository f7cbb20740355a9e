"""One verb for every audit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

import numpy as np

from isonomia.audits.ksafety import check_safety, is_domain
from isonomia.audits.ksafety.request import Request as SafetyRequest
from isonomia.audits.principal import check_principal
from isonomia.audits.principal.request import Request as PrincipalRequest
from isonomia.audits.rates import RatesPlan, check_rates, plan_rates
from isonomia.audits.rates.request import METHODS, Request
from isonomia.audits.responsiveness import check_responsiveness
from isonomia.audits.responsiveness.request import Request as ResponsivenessRequest
from isonomia.engine.budget import Budget
from isonomia.engine.observer import Observer, Silent
from isonomia.engine.schedule import Schedule
from isonomia.engine.seeds import fresh_seed, root
from isonomia.errors import UsageError, nearest
from isonomia.models.adapt import adapt
from isonomia.models.protocol import Model
from isonomia.populations.protocol import Population
from isonomia.populations.sample import Sample
from isonomia.records.verdict import Verdict
from isonomia.spec.principal import PrincipalFairness
from isonomia.spec.property import Property, parse
from isonomia.spec.responsiveness import Responsiveness
from isonomia.spec.safety import Safety
from isonomia.spec.safety import property as safety_property

__all__ = ["check", "plan"]

_LEAST_DELTA = 1e-300
"""Smaller ones have no reciprocal in double precision."""


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
        bare table or a path counts as a :class:`Sample`.
    delta
        The risk of a wrong answer, chosen before anything is seen.
    budget
        The most it may cost: people (``100_000``), a time (``"30s"``), or both (``"1e6, 5min"``).
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
    """
    number = fresh_seed() if seed is None else seed
    root(number)
    prop = _property(property)
    subject = (None if model is None else adapt(model, features)), _population(population)
    risk, limit, watcher = _delta(delta), Budget.of(budget), _observer(observer)
    options = _method(method), _ranges(ranges or {})
    pace = Schedule(growth=_growth(growth)), _workers(workers)
    if isinstance(prop, Safety):
        _refuse_rates_options(*options, "a k-safety property")
        return check_safety(
            SafetyRequest(prop, _asked(subject[0]), subject[1], risk, limit, int(number), *pace), watcher
        )
    if isinstance(prop, Responsiveness):
        _refuse_rates_options(*options, "responsiveness")
        return check_responsiveness(
            ResponsivenessRequest(prop, _asked(subject[0]), subject[1], risk, limit, int(number), pace[1]), watcher
        )
    if isinstance(prop, PrincipalFairness):
        _refuse_rates_options(*options)
        return check_principal(PrincipalRequest(prop, *subject, risk, limit, int(number), *pace), watcher)
    return check_rates(Request(prop, *subject, risk, limit, int(number), *options, *pace), watcher)


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
    """
    root(seed)
    means, parts = _numbers("guesses", guesses), _numbers("shares", shares or {})
    prop = _property(property)
    if not isinstance(prop, Property):
        came = "principal fairness" if isinstance(prop, PrincipalFairness) else f"a {type(prop).__name__}"
        raise UsageError(f"expected a property about rates to plan for, but {came} came")
    return plan_rates(prop, means, parts, _delta(delta), seed)


def _property(
    value: Property | PrincipalFairness | Responsiveness | Safety | str,
) -> Property | PrincipalFairness | Responsiveness | Safety:
    if isinstance(value, Property | PrincipalFairness | Responsiveness | Safety):
        return value
    if isinstance(value, str) and value.endswith(".nom"):
        return safety_property(value)
    if isinstance(value, str):
        return parse(value)
    raise UsageError(f"expected property as text or as a Property, but {value!r} of type {type(value).__name__} came")


def _asked(model: Model | None) -> Model:
    if model is None:
        raise UsageError("this kind of property is about runs of a model: expected model, but none came")
    return model


def _population(value: Any) -> Population:
    if value is None:
        raise UsageError(
            "expected a population: Sample(table), Census(table), Generator(draw), Program(path) or Causal(...)"
        )
    if all(hasattr(value, name) for name in ("kind", "streams", "open", "values")) or is_domain(value):
        found: Population = value
        return found
    if callable(value):
        raise UsageError("expected a population, but a function came: wrap it, Generator(draw)")
    if isinstance(value, str | PathLike) or any(
        hasattr(value, name) for name in ("__len__", "__dataframe__", "collect")
    ):
        return Sample(value)
    raise UsageError(f"expected a population, but {value!r} of type {type(value).__name__} came: try Sample(table)")


def _delta(value: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not 0.0 < float(value) < 1.0:
        raise UsageError(
            f"expected delta, the risk of a wrong answer, strictly between 0 and 1, but delta={value!r} came: "
            "0.05 is common, 1e-6 is strict"
        )
    if float(value) < _LEAST_DELTA:
        raise UsageError(f"expected delta of at least {_LEAST_DELTA:g}, but delta={value!r} came: 1e-6 is strict")
    return float(value)


def _refuse_rates_options(
    method: str, ranges: Mapping[str, tuple[float, float]], what: str = "principal fairness"
) -> None:
    if method not in {"auto", "bets"} or ranges:
        raise UsageError(
            f"expected method='auto' and no ranges for {what}, but method={method!r} and "
            f"ranges={ranges!r} came: its bets have no alternative, and no means are asked for"
        )


def _numbers(name: str, values: Mapping[str, float]) -> dict[str, float]:
    if not isinstance(values, Mapping) or not all(
        isinstance(value, int | float | np.number) for value in values.values()
    ):
        raise UsageError(f"expected {name} as {{text: number}}, but {values!r} came")
    return {text: float(value) for text, value in values.items()}


def _observer(value: Observer | None) -> Observer:
    if value is None:
        return Silent()
    missing = [name for name in ("begin", "advance", "end") if not hasattr(value, name)]
    if missing:
        raise UsageError(f"expected observer with begin, advance and end, but {value!r} has no {', '.join(missing)}")
    return value


def _method(value: str) -> str:
    if value not in METHODS:
        hint = nearest(str(value), METHODS)
        raise UsageError(f"expected method as one of {', '.join(METHODS)}, but {value!r} came.{hint}")
    return value


def _growth(value: float) -> float:
    if not isinstance(value, int | float) or not 1.0 < value <= 4.0:
        raise UsageError(f"expected growth above 1 and at most 4, but growth={value!r} came")
    return float(value)


def _workers(value: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise UsageError(f"expected workers as a whole number of at least 1, but workers={value!r} came")
    return value


def _ranges(ranges: Mapping[str, tuple[float, float]]) -> dict[str, tuple[float, float]]:
    if not isinstance(ranges, Mapping):
        raise UsageError(f"expected ranges as {{'column': (low, high)}}, but {ranges!r} came")
    checked = {}
    for name, pair in ranges.items():
        try:
            low, high = (float(end) for end in pair)
        except (TypeError, ValueError):
            low = high = float("nan")
        if not (np.isfinite(low) and np.isfinite(high) and low < high):
            raise UsageError(f"expected the range of {name!r} as (low, high) with low < high, but {pair!r} came")
        checked[name] = (low, high)
    return checked
