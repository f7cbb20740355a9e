"""Properties written with Python operators: P, E and each; col, prediction and score; other, do and as_if.

>>> rate = lambda group: P(prediction == 1, given=col("sex") == group)
>>> rate("F") / rate("M") >= 0.8
Property("P[prediction == 1 | sex == 'F'] / P[prediction == 1 | sex == 'M'] >= 0.8")

Call another version of a person with the column or answer that you want of it:

>>> do(sex="M")(prediction) == prediction
Term(do(sex = 'M').prediction == prediction)
>>> do(education=as_if(sex="M"))("income")
Term(do(education as if sex = 'M').income)
>>> abs(score - other(score)) <= abs(col("age") - other("age")) / 50
Term(abs(score - other.score) <= abs(age - other.age) / 50)
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import chain, count
from typing import Any, overload

from isonomia.errors import UsageError
from isonomia.spec import construct, tree
from isonomia.spec.property import (
    Measure,
    MeasureLike,
    Property,
    Term,
    TermLike,
    item_of,
    quantity_of,
    row_of,
    value_of,
)
from isonomia.spec.text import is_plain_name, shown, to_text

prediction = Term(tree.Output("prediction"))
"""The model's prediction for a person."""

score = Term(tree.Output("score"))
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
        raise UsageError(f"name must be the name of a column, but it is {shown(name)}")
    return Term(tree.Column(name))


def P(event: Term | bool, given: Term | None = None) -> Measure:  # noqa: N802  (as it is written everywhere)
    """The share of the population, or of a group, for whom an event is true.

    Parameters
    ----------
    event
        A condition on one person.
    given
        The condition that makes the group; everyone without one.

    Examples
    --------
    >>> P(prediction == 1, given=col("sex") == "F") / P(prediction == 1, given=col("sex") == "M") >= 0.8
    Property("P[prediction == 1 | sex == 'F'] / P[prediction == 1 | sex == 'M'] >= 0.8")
    """
    return Measure(tree.Rate(_condition("event", event), _group(given)))


def E(  # noqa: N802  (as it is written everywhere)
    term: Term, given: Term | None = None, low: float | None = None, high: float | None = None
) -> Measure:
    """The mean of a number over the population, or over a group.

    Parameters
    ----------
    term
        A number about one person.
    given
        The condition that makes the group; everyone without one.
    low, high
        The range of the term; both or neither.

    Examples
    --------
    >>> abs(E(score, given=col("sex") == "F") - E(score, given=col("sex") == "M")) <= 0.05
    Property("abs(E[score | sex == 'F'] - E[score | sex == 'M']) <= 0.05")
    """
    if (low is None) != (high is None):
        raise UsageError(f"low and high go together, but low is {low!r} and high is {high!r}")
    ends = [None if end is None else tree.constant_value(quantity_of(end)) for end in (low, high)]
    return Measure(construct.mean(_condition("term", term), _group(given), ends[0], ends[1]))


def each(
    values: str | Term | Iterable[tree.Value],
    claim: Callable[[Term], Property],
    *,
    excluding: Iterable[tree.Value | Term] = (),
) -> Property:
    """The property that a claim holds for every value of a column.

    Parameters
    ----------
    values
        A column, or its name, for the values that occur in it; or a list of values.
    claim
        Makes the property for one value. It is called with a placeholder, so it must not depend on which value it is.
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
    excluded = tuple(item_of(value, "excluding can only hold") for value in excluding)
    used = {node.name for node in excluded if isinstance(node, tree.Variable)}
    tried = ((variable, _body(claim, variable)) for variable in _variables(claim))
    variable, body = next((name, body) for name, body in tried if name not in _bound(body) | used)
    return Property(tree.Each(variable, source, excluded, body))


def _body(claim: Callable[[Term], Property], variable: str) -> tree.Formula:
    body = claim(Term(tree.Variable(variable)))
    if not isinstance(body, Property):
        raise UsageError(f"claim must return a property, but it returned {shown(body)}")
    return body.formula


def _bound(formula: tree.Formula) -> set[str]:
    return {node.variable for node in tree.nodes(formula) if isinstance(node, tree.Each)}


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


def _condition(name: str, value: Any) -> tree.Row:
    if not isinstance(value, Term | bool):
        raise UsageError(f"{name} must be a term such as col('age') < 25, but it is {shown(value)}")
    return row_of(value)


def _group(given: Any) -> tree.Row | None:
    return None if given is None else _condition("given", given)


def _source(values: Any) -> tree.Column | tuple[tree.Literal, ...]:
    if isinstance(values, str):
        values = col(values)
    if isinstance(values, Term):
        if not isinstance(values.node, tree.Column):
            raise UsageError(
                f"values must be a column or a list of values, but it is the term `{to_text(values.node)}`"
            )
        return construct.source(values.node)
    if not isinstance(values, Iterable):
        raise UsageError(f"values must be a column or a list of values, but it is {shown(values)}")
    listed = tuple(tree.Literal(value_of(value)) for value in values)
    if not listed:
        raise UsageError("values is empty, so the claim would be empty")
    return listed


def _variables(claim: Any) -> Iterable[str]:
    """Names to try, the parameter's own first."""
    code = getattr(claim, "__code__", None)
    own = code.co_varnames[0] if code is not None and code.co_argcount else "g"
    name = own if is_plain_name(own) else "g"
    return chain([name], (f"{name}{number}" for number in count(2)))


# ---------------------------------------------------------------------------- versions of a person


@dataclass(frozen=True, slots=True, repr=False)
class PersonVersion:
    """Another version of a person, as :data:`other` and :func:`do` give it.

    Call it with a column's name, a column, ``prediction`` or ``score`` to get that of this version.
    """

    version: tree.Version

    def __repr__(self) -> str:
        return f"PersonVersion({to_text(self.version)})"

    def __call__(self, what: str | Term) -> Term:
        """The value of a column for this version of the person, or what the model answers about it."""
        node = (what if isinstance(what, Term) else col(what)).node
        if not isinstance(node, tree.Column | tree.Output) or node.version is not None:
            message = f"what must be a column, prediction or score, but it is the term `{to_text(node)}`: take the"
            raise UsageError(
                f"{message} version of each column, as in {to_text(self.version)}.x + {to_text(self.version)}.y"
            )
        return Term(replace(node, version=self.version))


@dataclass(frozen=True, slots=True)
class Mediated:
    """What :func:`as_if` gives: the settings under which a variable takes the value that it would have had."""

    settings: tuple[tree.Setting, ...]


other = PersonVersion(tree.Other())
"""A second person, drawn independently from the same population: ``other("age")``, ``other(prediction)``."""


def do(changes: Mapping[str, Any] | None = None, /, **named: Any) -> PersonVersion:
    """The same person, had some variables been otherwise.

    Parameters
    ----------
    changes
        From a variable's name to what it is set to, for names that are not valid in Python.
    **named
        The same, by name. A value is text, a truth value, a number, a date, the placeholder of :func:`each`, or
        :func:`as_if`.

    Returns
    -------
    PersonVersion
        Call it with what you want of that version: ``do(sex="M")(prediction)``.

    Raises
    ------
    SpecError
        Where nothing is changed, or something twice.
    """
    items = tuple(_change(name, value) for name, value in _pairs(changes, named))
    return PersonVersion(construct.do(items))


def as_if(settings: Mapping[str, Any] | None = None, /, **named: Any) -> Mediated:
    """The value that a variable would have had under some settings: ``do(education=as_if(sex="M"))(prediction)``.

    Everything else stays as it is, so that only the effect through that variable counts.

    Parameters
    ----------
    settings, **named
        As for :func:`do`, without a further :func:`as_if`.

    Examples
    --------
    >>> from isonomia.spec import prediction
    >>> do(education=as_if(sex="M"))(prediction)
    Term(do(education as if sex = 'M').prediction)
    """
    return Mediated(tuple(_setting(name, value) for name, value in _pairs(settings, named)))


def pair_function(function: tree.PairFunction, columns: Iterable[str], name: str | None = None) -> Term:
    """A number about two people that a Python function computes, such as how different they are.

    Parameters
    ----------
    function
        Called once per batch with two mappings from a column's name to an array: one for the first person of each pair,
        one for the second. It returns one finite number for each pair, always the same for the same columns.
    columns
        The columns that it needs.
    name
        What to call it in text and reports; the function's own name without one. Text that has it cannot be read back.

    Examples
    --------
    >>> def apart(person, other):
    ...     return abs(person["age"] - other["age"]) / 50
    >>> pair_function(apart, ["age"])
    Term(apart(person, other))
    """
    if not callable(function) or not isinstance(function, Hashable):
        raise UsageError(f"function must be a function, but it is {shown(function)}")
    return Term(tree.PairCall(_function_name(function, name), function, _columns(columns)))


def _columns(columns: Any) -> tuple[str, ...]:
    if isinstance(columns, str) or not isinstance(columns, Iterable):
        raise UsageError(f"columns must be a list of names, but it is {shown(columns)}")
    listed = tuple(dict.fromkeys(columns))
    if not listed or not all(isinstance(column, str) and column for column in listed):
        raise UsageError(f"columns must be names of columns, at least one, but it is {list(listed)!r}")
    return listed


def _function_name(function: Any, name: Any) -> str:
    if name is None:
        own = getattr(function, "__name__", "")
        return own if is_plain_name(own) else "distance"
    if not isinstance(name, str) or not is_plain_name(name):
        raise UsageError(f"name must be letters, digits and _, and not a reserved word, but it is {shown(name)}")
    return name


# ---------------------------------------------------------------------------- changes


def _pairs(first: Any, named: Mapping[str, Any]) -> list[tuple[str, Any]]:
    if first is not None and not isinstance(first, Mapping):
        raise UsageError(f"expected changes as in do(sex='M') or do({{'years of age': 30}}), but got {shown(first)}")
    pairs = [*(first or {}).items(), *named.items()]
    for name, _ in pairs:
        if not isinstance(name, str) or not name:
            raise UsageError(f"the name to set must be a column, but it is {shown(name)}")
    return pairs


def _change(name: str, value: Any) -> tree.Change:
    return construct.as_if(name, value.settings) if isinstance(value, Mediated) else _setting(name, value)


def _setting(name: str, value: Any) -> tree.Setting:
    if isinstance(value, Mediated):
        raise UsageError(f"as_if(...) cannot stand inside as_if(...): set {name!r} to a value")
    return tree.Setting(name, item_of(value, "a variable can only be set to"))
