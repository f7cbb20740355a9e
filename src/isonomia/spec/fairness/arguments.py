"""Checks of what a property is asked for: every message names the argument, its value and its type."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf, isfinite
from typing import Any

import numpy as np

from isonomia.errors import UsageError

__all__ = ["exactly_one", "names_of", "number_within", "shown"]


def shown(value: Any) -> str:
    """A value and its type, as an error message shows them."""
    return f"{value!r} of type {type(value).__name__}"


def number_within(name: str, value: Any, low: float, high: float, *, above: bool = False, why: str = "") -> float:
    """A finite number between two others.

    Parameters
    ----------
    name, value
        The argument.
    low, high
        The range that it must lie in; ``high`` may be infinite.
    above
        Whether ``low`` itself is refused.
    why
        What the number is, for the message.
    """
    plain = value.item() if isinstance(value, np.generic) else value
    number = isinstance(plain, int | float) and not isinstance(plain, bool)
    if not number or not isfinite(plain) or not low <= plain <= high or (above and plain == low):
        raise UsageError(f"{name} must be a number {_span(low, high, above)}{why}, but it is {shown(value)}")
    return float(plain)


def _span(low: float, high: float, above: bool) -> str:
    if high == inf:
        return f"above {low:g}" if above else f"of at least {low:g}"
    return f"above {low:g} and at most {high:g}" if above else f"from {low:g} to {high:g}"


def exactly_one(**given: Any) -> str:
    """The name of the one argument that is not ``None``."""
    named = [name for name, value in given.items() if value is not None]
    if len(named) != 1:
        names = " and ".join(given)
        came = " and ".join(f"{name}={given[name]!r}" for name in named) or "none"
        raise UsageError(f"give exactly one of {names}, which says how far apart the groups may be, but {came} came")
    return named[0]


def names_of(argument: str, value: Any) -> tuple[str, ...]:
    """The names of one column, or of several different ones."""
    listed = [value] if isinstance(value, str) or not isinstance(value, Iterable) else list(value)
    for name in listed:
        if not isinstance(name, str) or not name:
            raise UsageError(
                f"{argument} must be the name of a column, or a list of such names, but it holds {shown(name)}"
            )
    if not listed or len(set(listed)) < len(listed):
        raise UsageError(f"{argument} must name one column or several different ones, but it is {value!r}")
    return tuple(listed)
