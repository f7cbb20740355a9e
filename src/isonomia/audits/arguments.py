"""The arguments that audits share, each checked once: what was expected, what came, and what to do."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any

import numpy as np

from isonomia.audits.ksafety.offered import is_domain
from isonomia.audits.rates.request import METHODS
from isonomia.engine.observer import Observer, Silent
from isonomia.errors import UsageError, nearest
from isonomia.models.protocol import Model
from isonomia.populations.protocol import Population
from isonomia.populations.sample import Sample
from isonomia.spec.principal import PrincipalFairness
from isonomia.spec.property import Property, parse
from isonomia.spec.responsiveness import Responsiveness
from isonomia.spec.safety import Safety
from isonomia.spec.safety import property as safety_property

__all__ = [
    "checked_delta",
    "checked_flag",
    "checked_growth",
    "checked_method",
    "checked_model",
    "checked_numbers",
    "checked_observer",
    "checked_population",
    "checked_property",
    "checked_ranges",
    "checked_workers",
    "refuse_rates_options",
]

_LEAST_DELTA = 1e-300
"""Smaller ones have no reciprocal in double precision."""


def checked_property(
    value: Property | PrincipalFairness | Responsiveness | Safety | str,
) -> Property | PrincipalFairness | Responsiveness | Safety:
    """What must hold, read where it came as text."""
    if isinstance(value, Property | PrincipalFairness | Responsiveness | Safety):
        return value
    if isinstance(value, str) and value.endswith(".nom"):
        return safety_property(value)
    if isinstance(value, str):
        return parse(value)
    raise UsageError(f"expected property as text or as a Property, but {value!r} of type {type(value).__name__} came")


def checked_model(model: Model | None) -> Model:
    """A model where there must be one."""
    if model is None:
        raise UsageError("this kind of property is about runs of a model: expected model, but none came")
    return model


def checked_population(value: Any) -> Population:
    """Whom it is about; a bare table or a path counts as a sample."""
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
        hasattr(value, name) for name in ("__len__", "__dataframe__", "collect", "to_table", "read_all")
    ):
        return Sample(value)
    raise UsageError(f"expected a population, but {value!r} of type {type(value).__name__} came: try Sample(table)")


def checked_delta(value: float) -> float:
    """The risk of a wrong answer."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not 0.0 < float(value) < 1.0:
        raise UsageError(
            f"expected delta, the risk of a wrong answer, strictly between 0 and 1, but delta={value!r} came: "
            "0.05 is common, 1e-6 is strict"
        )
    if float(value) < _LEAST_DELTA:
        raise UsageError(f"expected delta of at least {_LEAST_DELTA:g}, but delta={value!r} came: 1e-6 is strict")
    return float(value)


def refuse_rates_options(
    method: str, ranges: Mapping[str, tuple[float, float]], what: str = "principal fairness"
) -> None:
    """Refuse what only properties about rates have."""
    if method not in {"auto", "bets"} or ranges:
        raise UsageError(
            f"expected method='auto' and no ranges for {what}, but method={method!r} and "
            f"ranges={ranges!r} came: its bets have no alternative, and no means are asked for"
        )


def checked_numbers(name: str, values: Mapping[str, float]) -> dict[str, float]:
    """Numbers by the text that they belong to."""
    if not isinstance(values, Mapping) or not all(
        isinstance(value, int | float | np.number) for value in values.values()
    ):
        raise UsageError(f"expected {name} as {{text: number}}, but {values!r} came")
    return {text: float(value) for text, value in values.items()}


def checked_observer(value: Observer | None) -> Observer:
    """Who is told about progress, if it can be told; somebody who keeps silent where nobody is given."""
    if value is None:
        return Silent()
    missing = [name for name in ("begin", "advance", "end") if not hasattr(value, name)]
    if missing:
        raise UsageError(f"expected observer with begin, advance and end, but {value!r} has no {', '.join(missing)}")
    return value


def checked_method(value: str) -> str:
    """The name of a way of deciding."""
    if value not in METHODS:
        hint = nearest(str(value), METHODS)
        raise UsageError(f"expected method as one of {', '.join(METHODS)}, but {value!r} came.{hint}")
    return value


def checked_growth(value: float) -> float:
    """How much larger a batch may be than what came before."""
    if not isinstance(value, int | float) or not 1.0 < value <= 4.0:
        raise UsageError(f"expected growth above 1 and at most 4, but growth={value!r} came")
    return float(value)


def checked_flag(name: str, value: bool) -> bool:
    """Something that is said or not."""
    if not isinstance(value, bool):
        raise UsageError(f"expected {name} as True or False, but {name}={value!r} came")
    return value


def checked_workers(value: int) -> int:
    """How many may ask the model at once."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise UsageError(f"expected workers as a whole number of at least 1, but workers={value!r} came")
    return value


def checked_ranges(ranges: Mapping[str, tuple[float, float]]) -> dict[str, tuple[float, float]]:
    """The lowest and the highest value of columns, by name."""
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
