"""Who is compared with whom."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import permutations
from operator import and_
from typing import Any, TypeAlias

from isonomia.errors import UsageError
from isonomia.spec.fairness.arguments import names_of, shown
from isonomia.spec.operators import col
from isonomia.spec.property import Property
from isonomia.spec.terms import Term, value_of
from isonomia.spec.tree import Column, Each, Formula, Junction, Literal, Value, Variable

__all__ = ["Against", "Group", "GroupLike", "Mutual", "Pair", "Who", "claim_for", "for_values", "who_of"]


@dataclass(frozen=True, slots=True)
class Group:
    """The people with certain values of the attributes; inside a ``for``, a value is its variable."""

    attributes: tuple[str, ...]
    values: tuple[Value | Term, ...]

    @property
    def condition(self) -> Term:
        """Whether a person belongs to the group."""
        return reduce(and_, (col(name) == value for name, value in self.settings.items()))

    @property
    def settings(self) -> dict[str, Value | Term]:
        """The value of each attribute."""
        return dict(zip(self.attributes, self.values, strict=True))


@dataclass(frozen=True, slots=True)
class Pair:
    """A minority is compared with a majority."""

    minority: Group
    majority: Group


@dataclass(frozen=True, slots=True)
class Against:
    """Each of several groups is compared with one majority; all other groups that occur where none are listed."""

    groups: tuple[Group, ...] | None
    majority: Group


@dataclass(frozen=True, slots=True)
class Mutual:
    """Each of several groups is compared with each other; all that occur where none are listed."""

    attributes: tuple[str, ...]
    groups: tuple[Group, ...] | None


GroupLike: TypeAlias = Value | Sequence[Value]
"""A group as people write it: a value, or one value for each of several attributes."""

Who: TypeAlias = Pair | Against | Mutual
Claim: TypeAlias = Callable[[Group, Group], Property]


def who_of(attribute: Any, minority: Any, majority: Any, groups: Any) -> Who:
    """Who is compared, from the arguments of a property.

    Raises
    ------
    UsageError
        Where they say too little, too much, or name no groups.
    """
    attributes = names_of("attribute", attribute)
    listed = None if groups is None else _listed(attributes, groups)
    if minority is not None and majority is None:
        raise UsageError(
            f"minority is {minority!r}, but majority is not given: name the group to compare with, or write "
            f"groups=[{minority!r}, ...] to compare every group with every other"
        )
    if minority is not None and groups is not None:
        raise UsageError(f"minority and groups cannot go together, but minority={minority!r} and groups={groups!r}")
    if majority is None:
        if listed is not None and len(listed) < 2:
            raise UsageError(f"groups must hold at least two different groups to compare, but it is {groups!r}")
        return Mutual(attributes, listed)
    reference = _group("majority", attributes, majority)
    if minority is None:
        return Against(None if listed is None else _without(reference, listed, groups), reference)
    smaller = _group("minority", attributes, minority)
    if smaller == reference:
        raise UsageError(f"minority and majority must be different groups, but both are {minority!r}")
    return Pair(smaller, reference)


def _group(argument: str, attributes: tuple[str, ...], value: Any) -> Group:
    """A group from a value, or from one value for each of several attributes."""
    if len(attributes) == 1 and (isinstance(value, str) or not isinstance(value, Iterable)):
        value = (value,)
    if isinstance(value, str) or not isinstance(value, Iterable) or len(values := tuple(value)) != len(attributes):
        raise UsageError(
            f"{argument} must hold one value for each of {', '.join(attributes)}, but it is {shown(value)}"
        )
    return Group(attributes, tuple(map(value_of, values)))


def _listed(attributes: tuple[str, ...], groups: Any) -> tuple[Group, ...]:
    if isinstance(groups, str) or not isinstance(groups, Iterable):
        raise UsageError(f"groups must be a list of groups, but it is {shown(groups)}")
    return tuple(dict.fromkeys(_group("every one of groups", attributes, value) for value in groups))


def _without(reference: Group, listed: tuple[Group, ...], groups: Any) -> tuple[Group, ...]:
    kept = tuple(group for group in listed if group != reference)
    if not kept:
        raise UsageError(f"groups must hold a group other than the majority, but it is {groups!r}")
    return kept


# ---------------------------------------------------------------------------- claims


def claim_for(who: Who, claim: Claim) -> Property:
    """The property that a claim holds for everybody who is to be compared.

    Parameters
    ----------
    who
        Who is compared.
    claim
        Makes the property of a group and the group that it is compared with.
    """
    match who:
        case Pair(minority, majority):
            return claim(minority, majority)
        case Against(groups, majority):
            return _against(groups, majority, claim)
        case Mutual(attributes, groups):
            return _mutual(attributes, groups, claim)


def _against(groups: tuple[Group, ...] | None, majority: Group, claim: Claim) -> Property:
    names = majority.attributes
    if len(names) > 1 and groups is not None:
        return _every(claim(group, majority) for group in groups)
    if len(names) > 1:
        return for_values("g", names, lambda group: claim(group, majority))
    variable = Variable("g")
    body = claim(Group(names, (Term(variable),)), majority).formula
    excluded = () if groups else (Literal(value_of(majority.values[0])),)
    return Property(Each(variable.name, _source(names[0], groups), excluded, body))


def _mutual(attributes: tuple[str, ...], groups: tuple[Group, ...] | None, claim: Claim) -> Property:
    if len(attributes) > 1 and groups is not None:
        return _every(claim(group, other) for group, other in permutations(groups, 2))
    if len(attributes) > 1:
        return for_values("g", attributes, lambda group: for_values("h", attributes, lambda h: claim(group, h)))
    group, other = Variable("g"), Variable("h")
    body = claim(Group(attributes, (Term(group),)), Group(attributes, (Term(other),))).formula
    source = _source(attributes[0], groups)
    return Property(Each(group.name, source, (), Each(other.name, source, (group,), body)))


def for_values(letter: str, columns: tuple[str, ...], claim: Callable[[Group], Property]) -> Property:
    """The property that a claim holds for every combination of the values of some columns."""
    variables = _variables(letter, columns)
    body: Formula = claim(Group(columns, tuple(map(Term, variables)))).formula
    for name, variable in reversed(list(zip(columns, variables, strict=True))):
        body = Each(variable.name, Column(name), (), body)
    return Property(body)


def _variables(letter: str, columns: tuple[str, ...]) -> tuple[Variable, ...]:
    if len(columns) == 1:
        return (Variable(letter),)
    return tuple(Variable(f"{letter}{number}") for number in range(1, len(columns) + 1))


def _source(column: str, groups: tuple[Group, ...] | None) -> Column | tuple[Literal, ...]:
    if groups is None:
        return Column(column)
    return tuple(Literal(value_of(group.values[0])) for group in groups)


def _every(properties: Iterator[Property]) -> Property:
    formulas = tuple(part.formula for part in properties)
    return Property(formulas[0] if len(formulas) == 1 else Junction("and", formulas))
