"""Other versions of a person, and functions of two people, written in Python.

>>> from isonomia.spec.operators import col, prediction, score
>>> do(sex="M")(prediction) == prediction
Term(do(sex = 'M').prediction == prediction)
>>> do(education=as_if(sex="M"))("income")
Term(do(education as if sex = 'M').income)
>>> abs(score - other(score)) <= abs(col("age") - other("age")) / 50
Term(abs(score - other.score) <= abs(age - other.age) / 50)
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from isonomia.errors import UsageError
from isonomia.spec import construct
from isonomia.spec.lexemes import is_plain_name
from isonomia.spec.operators import col
from isonomia.spec.terms import Term, item_of
from isonomia.spec.text import to_text
from isonomia.spec.tree import Column, Output, PairCall, PairFunction
from isonomia.spec.versions import Change, Other, Setting, Version

__all__ = ["Mediated", "PersonVersion", "as_if", "do", "other", "pair_function"]


@dataclass(frozen=True, slots=True, repr=False)
class PersonVersion:
    """Another version of a person, as :data:`other` and :func:`do` give it.

    It is called with a column's name, or with a column, ``prediction`` or ``score``, and gives that of this version.
    """

    version: Version

    def __repr__(self) -> str:
        return f"PersonVersion({to_text(self.version)})"

    def __call__(self, what: str | Term) -> Term:
        """What this version of the person has under a name, or what the model answers about it."""
        node = (what if isinstance(what, Term) else col(what)).node
        if not isinstance(node, Column | Output) or node.version is not None:
            raise UsageError(
                f"what must be a column, prediction or score, but it is the term `{to_text(node)}`: take the version "
                f"of each column by itself, as in {to_text(self.version)}.x + {to_text(self.version)}.y"
            )
        return Term(replace(node, version=self.version))


@dataclass(frozen=True, slots=True)
class Mediated:
    """What :func:`as_if` gives: the settings under which a variable takes the value that it would have had."""

    settings: tuple[Setting, ...]


other = PersonVersion(Other())
"""A second person, drawn independently from the same population: ``other("age")``, ``other(prediction)``."""


def do(changes: Mapping[str, Any] | None = None, /, **named: Any) -> PersonVersion:
    """The same person, had some variables been otherwise.

    Parameters
    ----------
    changes
        From a variable's name to what it is set to, for names that are no Python names.
    **named
        The same, by name. A value is text, a truth value, a number, a date, the placeholder of :func:`each`, or
        :func:`as_if`.

    Returns
    -------
    PersonVersion
        To be called with what is wanted of that version: ``do(sex="M")(prediction)``.

    Raises
    ------
    SpecError
        Where nothing is changed, or something twice.
    """
    items = tuple(_change(name, value) for name, value in _pairs(changes, named))
    return PersonVersion(construct.do(items))


def as_if(settings: Mapping[str, Any] | None = None, /, **named: Any) -> Mediated:
    """The value that a variable would have had under some settings: ``do(education=as_if(sex="M"))(prediction)``.

    Everything else stays as it is, so that only what goes through that variable counts.

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


def pair_function(function: PairFunction, columns: Iterable[str], name: str | None = None) -> Term:
    """A number about two people that a Python function computes, such as how different they are.

    Parameters
    ----------
    function
        Called once a batch with two mappings, of the first and of the second person of each pair, from a column's name
        to an array. It returns one finite number for each pair, and always the same for the same columns.
    columns
        The columns that it needs.
    name
        What to call it in text and reports; its own name without one. Text that has it cannot be read back.

    Examples
    --------
    >>> def apart(person, other):
    ...     return abs(person["age"] - other["age"]) / 50
    >>> pair_function(apart, ["age"])
    Term(apart(person, other))
    """
    if not callable(function) or not isinstance(function, Hashable):
        raise UsageError(f"function must be a function, but it is {function!r} of type {type(function).__name__}")
    return Term(PairCall(_function_name(function, name), function, _columns(columns)))


def _columns(columns: Any) -> tuple[str, ...]:
    if isinstance(columns, str) or not isinstance(columns, Iterable):
        raise UsageError(f"columns must be a list of names, but it is {columns!r} of type {type(columns).__name__}")
    listed = tuple(dict.fromkeys(columns))
    if not listed or not all(isinstance(column, str) and column for column in listed):
        raise UsageError(f"columns must be names of columns, at least one, but it is {list(listed)!r}")
    return listed


def _function_name(function: Any, name: Any) -> str:
    if name is None:
        own = getattr(function, "__name__", "")
        return own if is_plain_name(own) else "distance"
    if not isinstance(name, str) or not is_plain_name(name):
        raise UsageError(
            f"name must be made of letters, digits and _, and be no reserved word, but it is {name!r} of type "
            f"{type(name).__name__}"
        )
    return name


# ---------------------------------------------------------------------------- changes


def _pairs(first: Any, named: Mapping[str, Any]) -> list[tuple[str, Any]]:
    if first is not None and not isinstance(first, Mapping):
        raise UsageError(
            f"expected what is set by name, as in do(sex='M') or do({{'years of age': 30}}), but got {first!r} of type "
            f"{type(first).__name__}"
        )
    pairs = [*(first or {}).items(), *named.items()]
    for name, _ in pairs:
        if not isinstance(name, str) or not name:
            raise UsageError(
                f"what is set must be the name of a column, but it is {name!r} of type {type(name).__name__}"
            )
    return pairs


def _change(name: str, value: Any) -> Change:
    return construct.as_if(name, value.settings) if isinstance(value, Mediated) else _setting(name, value)


def _setting(name: str, value: Any) -> Setting:
    if isinstance(value, Mediated):
        raise UsageError(f"as_if(...) cannot stand inside as_if(...): set {name!r} to a value")
    return Setting(name, item_of(value, "a variable can only be set to"))
