"""A property: a formula that a person can name, read, join with others and print."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

from isonomia.errors import SpecError, UsageError
from isonomia.spec.english import explain
from isonomia.spec.parser import parse_formula
from isonomia.spec.text import to_text
from isonomia.spec.tree import Connective, Formula, Implies, Junction, Mean, Not
from isonomia.spec.walk import DEEPEST, depth_of


@dataclass(frozen=True, slots=True, repr=False)
class Property:
    """A claim about a model and a population.

    Two properties are equal if their formulas are; names do not matter.

    Attributes
    ----------
    formula
        What is claimed.
    name
        What people call it, for reports.
    outcomes
        The columns with actual outcomes, where a named property has them. An audited model is not given them, unless it
        names them as its inputs.
    within
        Numbers that must lie in their range, each as the mean of the people for whom it must. A check refuses rows
        where one is missing or outside, which conditions such as ``score < 0.5`` would leave out unnoticed.
    """

    formula: Formula
    name: str | None = field(default=None, compare=False)
    outcomes: tuple[str, ...] = field(default=(), compare=False)
    within: tuple[Mean, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        if depth_of(self.formula) > DEEPEST + 5:
            raise SpecError(f"this is nested more than {DEEPEST} levels deep: split the property into several")

    def __str__(self) -> str:
        return to_text(self.formula)

    def __repr__(self) -> str:
        named = "" if self.name is None else f", name={self.name!r}"
        return f"Property({str(self)!r}{named})"

    def explain(self) -> str:
        """Say in plain English what is claimed."""
        return explain(self.formula)

    def named(self, name: str) -> Property:
        """The same property under a name."""
        if not isinstance(name, str):
            raise UsageError(f"name must be a str, but it is {name!r} of type {type(name).__name__}")
        return replace(self, name=name)

    def implies(self, other: Property) -> Property:
        """The property that holds where this one does not, or where the other one does."""
        return Property(Implies(self.formula, _formula(other)), None, *_stated(self, other))

    def __and__(self, other: Property) -> Property:
        return Property(_joined("and", self.formula, _formula(other)), None, *_stated(self, other))

    def __or__(self, other: Property) -> Property:
        return Property(_joined("or", self.formula, _formula(other)), None, *_stated(self, other))

    def __rand__(self, other: Any) -> Property:
        return Property(_joined("and", _formula(other), self.formula))

    def __ror__(self, other: Any) -> Property:
        return Property(_joined("or", _formula(other), self.formula))

    def __invert__(self) -> Property:
        return Property(Not(self.formula), None, self.outcomes, self.within)

    def __bool__(self) -> NoReturn:
        raise UsageError(
            f"the property {str(self)!r} is neither true nor false before it is checked: join properties by &, | and ~ "
            "(not by and, or, not), and write x.between(low, high) in place of low <= x <= high"
        )


def parse(text: str) -> Property:
    """Read a property from text.

    Parameters
    ----------
    text
        Such as ``P[prediction == 1 | sex == 'F'] >= 0.8``.

    Raises
    ------
    SpecError
        Where the text is not a property; the error points at the place.

    Examples
    --------
    >>> parse("P[hired | woman] >= 80%").named("enough women")
    Property('P[hired | woman] >= 0.8', name='enough women')
    """
    return Property(parse_formula(text))


def _formula(other: Any) -> Formula:
    if not isinstance(other, Property):
        hint = ": read it first, parse(...)" if isinstance(other, str) else ""
        raise UsageError(f"expected a property, but got {other!r} of type {type(other).__name__}{hint}")
    formula: Formula = other.formula
    return formula


def _stated(first: Property, second: Property) -> tuple[tuple[str, ...], tuple[Mean, ...]]:
    """The outcomes and ranges that two properties state together."""
    outcomes = tuple(dict.fromkeys((*first.outcomes, *second.outcomes)))
    return outcomes, tuple(dict.fromkeys((*first.within, *second.within)))


def _joined(connective: Connective, left: Formula, right: Formula) -> Junction:
    return Junction(connective, (*_operands(connective, left), *_operands(connective, right)))


def _operands(connective: Connective, formula: Formula) -> tuple[Formula, ...]:
    if isinstance(formula, Junction) and formula.connective == connective:
        return formula.operands
    return (formula,)
