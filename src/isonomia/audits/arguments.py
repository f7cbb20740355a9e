"""The arguments that several entry points take, each checked once, in the same way for every audit."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

import numpy as np

from isonomia.audits.protocol import AuditProperty
from isonomia.audits.registry import audit_for
from isonomia.engine.parameters import NullObserver, Observer
from isonomia.errors import UsageError, nearest
from isonomia.evidence.looks import planned_report
from isonomia.models.executable import ExecutableModel
from isonomia.models.http import HttpModel
from isonomia.models.protocol import Model, named_models, unwrap
from isonomia.populations.domains.protocol import is_domain
from isonomia.populations.finite import Sample
from isonomia.populations.profile import protected_attribute
from isonomia.populations.protocol import Population, is_population
from isonomia.populations.recorded import RecordedPopulation
from isonomia.spec.property import parse
from isonomia.spec.safety import property as safety_property

METHODS = ("auto", "bets", "region", "verifair", "exact")
"""Ways of deciding a property about rates; ``"auto"`` is a proof where that is cheap, else bets, else a region."""

CONTROLS = ("family", "discovery")
"""What is limited for single groups: the probability of any mistake, or the expected share of mistakes."""

_LEAST_DELTA = 1e-300
"""Much smaller values have no finite reciprocal in double precision."""


def checked_property(value: AuditProperty | str) -> AuditProperty:
    """The property, parsed where it is text."""
    if isinstance(value, str):
        return safety_property(value) if value.endswith(".nom") else parse(value)
    audit_for(value)
    return value


def checked_population(value: Any) -> Population:
    """The population; a bare table or a path counts as a sample."""
    if value is None:
        raise UsageError(
            "expected a population: Sample(table), Census(table), Generator(draw), Program(path) or Causal(...)",
            name="population",
        )
    if is_population(value) or is_domain(value):
        population: Population = value
        return population
    if callable(value):
        raise UsageError("expected a population, but got a function: wrap it, Generator(draw)")
    if isinstance(value, str | PathLike) or any(
        hasattr(value, name) for name in ("__len__", "__dataframe__", "collect", "to_table", "read_all")
    ):
        return Sample(value)
    raise UsageError(f"expected a population, but got {value!r} of type {type(value).__name__}: try Sample(table)")


def checked_delta(value: float) -> float:
    """The risk of a wrong answer."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not 0.0 < float(value) < 1.0:
        percent = isinstance(value, int | float) and not isinstance(value, bool) and 1 <= value < 100
        hint = f"{value:g}% is {value / 100:g}" if percent else "0.05 is common, 1e-6 is strict"
        raise UsageError(
            f"expected delta, the risk of a wrong answer, strictly between 0 and 1, but got delta={value!r}: {hint}"
        )
    if float(value) < _LEAST_DELTA:
        raise UsageError(f"expected delta of at least {_LEAST_DELTA:g}, but got delta={value!r}: 1e-6 is strict")
    return float(value)


def checked_numbers(name: str, values: Mapping[str, float]) -> dict[str, float]:
    """Numbers by the text that they belong to."""
    if not isinstance(values, Mapping) or not all(
        isinstance(value, int | float | np.number) for value in values.values()
    ):
        raise UsageError(f"expected {name} as {{text: number}}, but got {values!r}")
    return {text: float(value) for text, value in values.items()}


def checked_observer(value: Observer | None) -> Observer:
    """The observer of progress; a silent one where none is given."""
    if value is None:
        return NullObserver()
    missing = [name for name in ("begin", "advance", "end") if not hasattr(value, name)]
    if missing:
        raise UsageError(
            f"expected observer with begin, advance and end, but {value!r} has no {', '.join(missing)}", name="observer"
        )
    return value


def checked_method(value: str) -> str:
    """The name of a method."""
    if value not in METHODS:
        hint = nearest(str(value), METHODS)
        raise UsageError(f"expected method as one of {', '.join(METHODS)}, but got {value!r}.{hint}")
    return value


def checked_control(value: str) -> str:
    """Which mistakes about single groups are limited."""
    if value not in CONTROLS:
        hint = nearest(str(value), CONTROLS)
        raise UsageError(f"expected control as one of {', '.join(CONTROLS)}, but got {value!r}.{hint}")
    return value


def checked_growth(value: float) -> float:
    """The factor by which one batch may grow the sample."""
    if not isinstance(value, int | float) or not 1.0 < value <= 4.0:
        raise UsageError(f"expected growth above 1 and at most 4, but got growth={value!r}")
    return float(value)


def checked_flag(name: str, value: bool) -> bool:
    """A flag, which must be a boolean."""
    if not isinstance(value, bool):
        raise UsageError(f"expected {name} as True or False, but got {name}={value!r}")
    return value


STOPS = ("decided", "precise", "all")


def checked_stop(value: str, width: float | None, looks: str | int) -> str:
    """When a check ends."""
    if value not in STOPS:
        hint = nearest(value, STOPS) if isinstance(value, str) else ""
        raise UsageError(
            "expected stop as 'decided' (as soon as there is an answer), 'precise' (once the interval is as narrow as "
            f"width says, too) or 'all' (after all rows), but got stop={value!r}.{hint}"
        )
    if value != "decided" and looks != "any":
        raise UsageError(f"looks={looks!r} says when the check ends, and so does stop={value!r}: leave out one of them")
    if (value == "precise") != (width is not None):
        raise UsageError(f"expected width together with stop='precise', but got stop={value!r} and width={width!r}")
    return value


def checked_width(value: float | None) -> float | None:
    """How narrow the interval should be."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
        raise UsageError(f"expected width as a number above 0, but got width={value!r}")
    return float(value)


def checked_looks(value: str | int, method: str) -> str | int:
    """How often the draws are looked at."""
    number = isinstance(value, int | np.integer) and not isinstance(value, bool) and value >= 1
    if not number and value not in ("any", "once") and planned_report(value) is None:
        hint = nearest(value, ("any", "once")) if isinstance(value, str) else ""
        raise UsageError(
            "expected looks as 'any' (at any time), 'once' (at the end), a whole number of planned looks, or "
            "the number of this look and the row counts of the earlier looks, '3 of 5 after 2000, 4000', but got "
            f"looks={value!r}.{hint}"
        )
    if value != "any" and method != "auto":
        raise UsageError(f"looks={value!r} has its own method, but got method={method!r}: leave out one of the two")
    return int(value) if number else value


def counted_looks(value: str | int, population: Any) -> str | int:
    """For ``"of 5"`` the report that this is, where the earlier looks at the population are on record."""
    if not isinstance(value, str) or not re.fullmatch(r"of \d+", value):
        return value
    looks = population.looks if isinstance(population, Sample | RecordedPopulation) else None
    if looks is None:
        raise UsageError(
            f"expected which of the looks this is, since no record is kept, but got looks={value!r}: say '1 {value}', "
            f"then '2 {value} after 2000' with the number of rows at the first, or use isonomia run, which counts"
        )
    count = int(value.removeprefix("of "))
    if len(looks) >= count:
        rows = ", ".join(f"{size:,}" for size in looks)
        raise UsageError(
            f"expected at most {count} looks, as planned, but there were {len(looks)} before: at {rows} rows"
        )
    return f"{len(looks) + 1} {value}" + (f" after {', '.join(map(str, looks))}" if looks else "")


def checked_workers(value: int) -> int:
    """How many workers may query the model at once."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise UsageError(f"expected workers as a whole number of at least 1, but got workers={value!r}")
    return value


def checked_ranges(ranges: Mapping[str, tuple[float, float]]) -> dict[str, tuple[float, float]]:
    """The lowest and the highest value of columns, by name."""
    if not isinstance(ranges, Mapping):
        raise UsageError(f"expected ranges as {{'column': (low, high)}}, but got {ranges!r}")
    checked = {}
    for name, pair in ranges.items():
        try:
            low, high = (float(end) for end in pair)
        except (TypeError, ValueError):
            low = high = float("nan")
        if not (np.isfinite(low) and np.isfinite(high) and low < high):
            raise UsageError(f"expected the range of {name!r} as (low, high) with low < high, but got {pair!r}")
        checked[name] = (low, high)
    return checked


def outcomes_of(prop: AuditProperty) -> tuple[str, ...]:
    """The columns that a property uses as outcome, which the model is not given."""
    return audit_for(prop).outcomes(prop)


def refuse_unclear_outcome(model: Model, props: Sequence[AuditProperty], withheld: Sequence[str]) -> None:
    """Refuse to send a service or a program a column that may be the outcome.

    Raises
    ------
    UsageError
        If rows with such a column would leave this process, and the columns to send were not given.
    """
    several = named_models(model)
    for each in () if several is None else several.models.values():
        refuse_unclear_outcome(each, props, withheld)
    inner = unwrap(model)
    if not isinstance(inner, HttpModel | ExecutableModel) or inner.features is not None:
        return
    candidates = [name for prop in props for name in audit_for(prop).unclear_outcomes(prop)]
    unclear = [name for name in candidates if name not in withheld and protected_attribute(name) is None]
    if unclear:
        name = unclear[0]
        raise UsageError(
            f"the property uses {name!r}, which may be the outcome, and {model.name} would be sent this column. "
            f"Name the columns to send, with or without {name!r}: features=[...] of the model or in its file, or "
            f"--features COLUMN,... at the command line. A property with outcome={name!r} does not send it",
            name=name,
        )
