"""How different two people are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import reduce
from math import inf
from operator import add
from typing import Any, TypeAlias

from isonomia.errors import UsageError
from isonomia.spec.fairness.arguments import number_within, shown
from isonomia.spec.names import versions_of
from isonomia.spec.operators import col
from isonomia.spec.parse import parse_condition
from isonomia.spec.persons import other, pair_function
from isonomia.spec.terms import Term
from isonomia.spec.text import to_text
from isonomia.spec.versions import Other

__all__ = ["Distance", "distance_of"]

Distance: TypeAlias = Mapping[str, float | str] | str | Term | Callable[[Any, Any], Any]
"""Scales of columns; a row expression that speaks of ``other``, as text or as a term; or a function of two people."""


def distance_of(distance: Any, columns: Iterable[str] | None = None) -> Term:
    """The term that says how different a person and the second one are.

    Raises
    ------
    UsageError
        Where it says nothing, or speaks of one person only.
    """
    if callable(distance) and not isinstance(distance, Term):
        if columns is None:
            raise UsageError(f"columns must say which columns {distance!r} needs, such as columns=['age', 'hours']")
        return pair_function(distance, columns)
    if columns is not None:
        raise UsageError(f"columns go with a Python function only, but distance is {shown(distance)}")
    if isinstance(distance, Mapping):
        return _scaled(distance)
    if not isinstance(distance, str | Term):
        raise UsageError(
            "distance must be scales of columns such as {'age': 50, 'sex': 'differs'}, an expression such as "
            f'"abs(age - other.age) / 50", or a function of two people, but it is {shown(distance)}'
        )
    return _between_two(distance if isinstance(distance, Term) else Term(parse_condition(distance)))


def _scaled(scales: Mapping[Any, Any]) -> Term:
    if not scales:
        raise UsageError("distance names no column, so any two people would be alike: such as {'age': 50}")
    return reduce(add, (_one_column(name, scale) for name, scale in scales.items()))


def _one_column(name: Any, scale: Any) -> Term:
    column = col(name)
    if isinstance(scale, str):
        if scale != "differs":
            raise UsageError(f"distance[{name!r}] must be a number or 'differs', but it is {shown(scale)}")
        differs: Term = column != other(column)
        return differs
    number = number_within(f"distance[{name!r}]", scale, 0, inf, above=True, why=" (or 'differs' for a category)")
    apart = abs(column - other(column))
    return apart if number == 1 else apart / _plain(number)


def _plain(number: float) -> float:
    """A whole number without its point, as people write it."""
    return int(number) if number.is_integer() and abs(number) < 1e15 else number


def _between_two(term: Term) -> Term:
    if Other() not in versions_of(term.node):
        raise UsageError(
            f"distance must speak of the second person too, such as abs(age - other.age), but it is "
            f"`{to_text(term.node)}`"
        )
    return term
