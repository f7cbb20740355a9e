"""Individual fairness: people who are similar are treated similarly."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import reduce
from math import inf
from operator import add
from typing import Any, TypeAlias

from isonomia.errors import UsageError, with_known_options
from isonomia.spec.fairness.comparison import condition_of, number_within, shown, term_of, under
from isonomia.spec.operators import P, col, other, pair_function, score
from isonomia.spec.parser import parse_condition
from isonomia.spec.property import Property, Term
from isonomia.spec.text import to_text
from isonomia.spec.tree import Other, versions_of

Distance: TypeAlias = Mapping[str, float | str] | str | Term | Callable[[Any, Any], Any]
"""Scales of columns; a row expression that refers to ``other``, as text or as a term; or a function of two people."""


@with_known_options
def individual(
    distance: Distance,
    *,
    share: float,
    lipschitz: float = 1.0,
    decision: str | Term = score,
    columns: Iterable[str] | None = None,
    given: str | Term | None = None,
) -> Property:
    """In most random pairs, two people are treated no more differently than they are different.

    It demands ``P[abs(decision - other.decision) <= lipschitz * distance] >= share``, where the second person is drawn
    independently of the first.

    It does **not** imply this for *every* pair: very similar people are rarely drawn together, and a sharp step of the
    model concerns few pairs. It does not imply parity between groups. Whether it is just depends on the distance alone.

    Parameters
    ----------
    distance
        How different two people are, in one of four ways: a mapping from columns to scales, for the sum of
        ``abs(age - other.age) / scale``, where ``"differs"`` in place of a scale counts 1 when two categories differ; a
        row expression, as text or as a term, that refers to ``other``; or a Python function, called with the values of
        ``columns`` for the first and for the second people, which returns one number per pair. A pair whose distance is
        missing counts against the property; a missing category counts as not different.
    share
        The share of pairs for which it must be true; above 0 and at most 1.
    lipschitz
        How much more the decision may differ than the people do.
    decision
        The decision as a number: the model's ``score``, its ``prediction`` where that is a number, or a column.
    columns
        The columns that a Python function needs.
    given
        A condition that both people must meet.

    References
    ----------
    Dwork, Hardt, Pitassi, Reingold and Zemel (2012), "Fairness through awareness"; for random pairs, section 7 of
    Bastani, Zhang and Solar-Lezama (2019).

    Examples
    --------
    >>> print(individual({"age": 50, "job": "differs"}, share=0.95))
    P[abs(score - other.score) <= abs(age - other.age) / 50 + (job != other.job)] >= 0.95
    >>> print(individual("abs(age - other.age)", lipschitz=0.1, share=0.95, decision="pay"))
    P[abs(pay - other.pay) <= 0.1 * abs(age - other.age)] >= 0.95
    """
    term, apart = term_of("decision", decision), _distance(distance, columns)
    factor = number_within("lipschitz", lipschitz, 0, inf, above=True)
    condition = condition_of("given", given)
    event = abs(term - under(other, term)) <= (apart if factor == 1 else factor * apart)
    both = None if condition is None else condition & under(other, condition)
    least = number_within("share", share, 0, 1, above=True)
    return (P(event, given=both) >= least).named("individual fairness")


def _distance(distance: Any, columns: Iterable[str] | None = None) -> Term:
    """The term that says how different a person and the second one are."""
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
