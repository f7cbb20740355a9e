"""Checks that constraints share: what they are given is looked at once, when they are made."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import isfinite
from typing import Any

from isonomia.errors import UsageError

__all__ = ["check_number", "check_one_of", "check_truth", "names_of", "numbers_of"]


def names_of(kind: str, names: object, field: str = "names", least: int = 1) -> tuple[str, ...]:
    """The names of features as a tuple; they must be text, distinct, and at least so many."""
    found = (names,) if isinstance(names, str) else tuple(names) if isinstance(names, Iterable) else ()
    if len(found) < least or not all(isinstance(name, str) and name for name in found):
        raise UsageError(f"{field} of the {kind} constraint should be names of features, but they are {names!r}")
    repeated = [name for place, name in enumerate(found) if name in found[:place]]
    if repeated:
        raise UsageError(f"{field} of the {kind} constraint has {repeated[0]!r} twice; name each feature once")
    return found


def numbers_of(kind: str, field: str, values: object, count: int) -> tuple[float, ...]:
    """So many finite numbers as a tuple."""
    found: Sequence[Any] = tuple(values) if isinstance(values, Iterable) and not isinstance(values, str) else ()
    if len(found) != count:
        raise UsageError(f"{field} of the {kind} constraint should be {count} numbers, but it is {values!r}")
    for value in found:
        check_number(kind, field, value)
    return tuple(float(value) for value in found)


def check_number(kind: str, field: str, value: object) -> None:
    """Refuse what is no finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        raise UsageError(f"{field} of the {kind} constraint should be a finite number, but it is {value!r}")


def check_one_of(kind: str, field: str, value: object, allowed: Sequence[str]) -> None:
    """Refuse what is not among the allowed words."""
    if value not in allowed:
        raise UsageError(
            f"{field} of the {kind} constraint should be one of {', '.join(map(repr, allowed))}, but it is {value!r}"
        )


def check_truth(kind: str, field: str, value: object) -> None:
    """Refuse what is neither true nor false."""
    if not isinstance(value, bool):
        raise UsageError(f"{field} of the {kind} constraint should be true or false, but it is {value!r}")
