"""Properties written with Python operators.

>>> rate = lambda group: P(prediction == 1, given=col("sex") == group)
>>> rate("F") / rate("M") >= 0.8
Property("P[prediction == 1 | sex == 'F'] / P[prediction == 1 | sex == 'M'] >= 0.8")
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain, count
from typing import Any, overload

from isonomia.errors import UsageError
from isonomia.spec import construct
from isonomia.spec.lexemes import is_plain_name
from isonomia.spec.measures import Measure, MeasureLike, quantity_of
from isonomia.spec.property import Property
from isonomia.spec.terms import Term, TermLike, row_of, value_of
from isonomia.spec.text import to_text
from isonomia.spec.tree import Column, Each, Formula, Literal, Output, Rate, Row, Value, Variable
from isonomia.spec.walk import nodes

__all__ = ["E", "P", "col", "each", "maximum", "minimum", "prediction", "score"]

prediction = Term(Output("prediction"))
"""The model's prediction for a person."""

score = Term(Output("score"))
"""The model's score for a person; ``score["good"]`` is that of one class."""


def col(name: str) -> Term:
    """A column of the table.

    Parameters
    ----------
    name
        Its name, whatever characters it has.

    Examples
    --------
    >>> P(col("hired"), given=(col("sex") == "F") & (col("age") < 30)) >= 0.3
    Property("P[hired | sex == 'F' and age < 30] >= 0.3")
    """
    if not isinstance(name, str) or not name:
        raise UsageError(f"name must be the name of a column, but it is {name!r} of type {type(name).__name__}")
    return Term(Column(name))


def P(event: Term | bool, given: Term | None = None) -> Measure:  # noqa: N802  (as it is written everywhere)
    """The share of the population, or of a group, for whom an event is true.

    Parameters
    ----------
    event
        A condition on one person.
    given
        The condition that makes the group; everybody without one.

    Examples
    --------
    >>> P(prediction == 1, given=col("sex") == "F") / P(prediction == 1, given=col("sex") == "M") >= 0.8
    Property("P[prediction == 1 | sex == 'F'] / P[prediction == 1 | sex == 'M'] >= 0.8")
    """
    return Measure(Rate(_condition("event", event), _group(given)))


def E(  # noqa: N802  (as it is written everywhere)
    term: Term, given: Term | None = None, low: float | None = None, high: float | None = None
) -> Measure:
    """The mean of a number over the population, or over a group.

    Parameters
    ----------
    term
        A number about one person.
    given
        The condition that makes the group; everybody without one.
    low, high
        Between which numbers the term must lie; both or neither.

    Examples
    --------
    >>> abs(E(score, given=col("sex") == "F") - E(score, given=col("sex") == "M")) <= 0.05
    Property("abs(E[score | sex == 'F'] - E[score | sex == 'M']) <= 0.05")
    """
    if (low is None) != (high is None):
        raise UsageError(f"low and high go together, but low is {low!r} and high is {high!r}")
    ends = [None if end is None else construct.constant_value(quantity_of(end)) for end in (low, high)]
    return Measure(construct.mean(_condition("term", term), _group(given), ends[0], ends[1]))


def each(
    values: str | Term | Iterable[Value], claim: Callable[[Term], Property], *, excluding: Iterable[Value | Term] = ()
) -> Property:
    """The property that a claim holds for every value of a column.

    Parameters
    ----------
    values
        A column, or its name, for the values that occur in it; or a list of values.
    claim
        Makes the property of one value. It is called with a placeholder, so it must not depend on which value it is.
        The name of its parameter becomes the name of the variable.
    excluding
        Values to leave out; the variable of an enclosing ``each`` can be among them.

    Examples
    --------
    >>> each("race", lambda g: P(prediction == 1, given=col("race") == g) >= 0.5, excluding=["white"])
    Property("for g in race except 'white': P[prediction == 1 | race == g] >= 0.5")
    """
    source = _source(values)
    if isinstance(excluding, str | Term):
        raise UsageError(f"excluding must be a list of values, but it is {excluding!r}; write excluding=[...]")
    excluded = tuple(_excluded(value) for value in excluding)
    used = {node.name for node in excluded if isinstance(node, Variable)}
    tried = ((variable, _body(claim, variable)) for variable in _variables(claim))
    variable, body = next((name, body) for name, body in tried if name not in _bound(body) | used)
    return Property(Each(variable, source, excluded, body))


def _body(claim: Callable[[Term], Property], variable: str) -> Formula:
    body = claim(Term(Variable(variable)))
    if not isinstance(body, Property):
        raise UsageError(f"claim must return a property, but it returned {body!r} of type {type(body).__name__}")
    return body.formula


def _bound(formula: Formula) -> set[str]:
    return {node.variable for node in nodes(formula) if isinstance(node, Each)}


@overload
def minimum(*values: MeasureLike) -> Measure: ...
@overload
def minimum(first: Term, /, *values: TermLike) -> Term: ...
def minimum(*values: Any) -> Measure | Term:
    """The smallest of some measures, or for each person the smallest of some terms.

    Parameters
    ----------
    *values
        Measures such as ``P(...)``, terms such as ``col("age")``, and numbers.

    Examples
    --------
    >>> E(minimum(col("salary"), 100_000)) >= 40_000
    Property('E[min(salary, 100000)] >= 40000')
    """
    return _extreme("min", values)


@overload
def maximum(*values: MeasureLike) -> Measure: ...
@overload
def maximum(first: Term, /, *values: TermLike) -> Term: ...
def maximum(*values: Any) -> Measure | Term:
    """The largest of some measures, or for each person the largest of some terms.

    Parameters
    ----------
    *values
        Measures such as ``P(...)``, terms such as ``col("age")``, and numbers.

    Examples
    --------
    >>> maximum(P(col("hired")), 0.1) <= 0.5
    Property('max(P[hired], 0.1) <= 0.5')
    """
    return _extreme("max", values)


def _extreme(function: construct.Function, values: tuple[Any, ...]) -> Measure | Term:
    if any(isinstance(value, Term) for value in values):
        return Term(construct.call(function, tuple(map(row_of, values))))
    return Measure(construct.extreme(function, tuple(map(quantity_of, values))))


def _condition(name: str, value: Any) -> Row:
    if not isinstance(value, Term | bool):
        raise UsageError(
            f"{name} must be a term such as col('age') < 25, but it is {value!r} of type {type(value).__name__}"
        )
    return row_of(value)


def _group(given: Any) -> Row | None:
    return None if given is None else _condition("given", given)


def _source(values: Any) -> Column | tuple[Literal, ...]:
    if isinstance(values, str):
        values = col(values)
    if isinstance(values, Term):
        if not isinstance(values.node, Column):
            raise UsageError(
                f"values must be a column or a list of values, but it is the term `{to_text(values.node)}`"
            )
        return construct.source(values.node)
    if not isinstance(values, Iterable):
        raise UsageError(
            f"values must be a column or a list of values, but it is {values!r} of type {type(values).__name__}"
        )
    listed = tuple(Literal(value_of(value)) for value in values)
    if not listed:
        raise UsageError("values is empty, so the claim would be about nothing")
    return listed


def _excluded(value: Any) -> Literal | Variable:
    node = row_of(value)
    if not isinstance(node, Literal | Variable):
        raise UsageError(f"excluding must hold values, but it holds the term `{to_text(node)}`")
    return node


def _variables(claim: Any) -> Iterable[str]:
    """Names to try, the parameter's own first."""
    code = getattr(claim, "__code__", None)
    own = code.co_varnames[0] if code is not None and code.co_argcount else "g"
    name = own if is_plain_name(own) else "g"
    return chain([name], (f"{name}{number}" for number in count(2)))
