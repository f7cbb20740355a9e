"""The one construction behind every comparison of groups: who is compared with whom, and how far apart they may be.

:func:`who_of` says who is compared, :func:`tolerance_of` how far apart they may be, and :func:`compare` makes the
property from these and from measures of a group. The rest reads arguments; an error names the argument with its value
and type.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce, wraps
from itertools import permutations
from math import inf, isfinite
from operator import and_
from typing import Any, ParamSpec, TypeAlias

import numpy as np

from isonomia.errors import UsageError
from isonomia.spec import tree
from isonomia.spec.operators import PersonVersion, col, prediction
from isonomia.spec.parser import parse_condition
from isonomia.spec.property import Measure, Property, Term, value_of
from isonomia.spec.text import shown, to_text

_Arguments = ParamSpec("_Arguments")

# ---------------------------------------------------------------------------- arguments


def number_within(name: str, value: Any, low: float, high: float, *, above: bool = False, why: str = "") -> float:
    """The argument ``name`` as a finite number from ``low``, or above it, to ``high``, which may be infinite."""
    plain = value.item() if isinstance(value, np.generic) else value
    number = isinstance(plain, int | float) and not isinstance(plain, bool)
    if not number or not isfinite(plain) or not low <= plain <= high or (above and plain == low):
        raise UsageError(f"{name} must be a number {_span(low, high, above)}{why}, but it is {shown(value)}")
    return float(plain)


def _span(low: float, high: float, above: bool) -> str:
    if high == inf:
        return f"above {low:g}" if above else f"of at least {low:g}"
    return f"above {low:g} and at most {high:g}" if above else f"from {low:g} to {high:g}"


def names_of(argument: str, value: Any) -> tuple[str, ...]:
    """The names of one column, or of several different ones."""
    listed = [value] if isinstance(value, str) or not isinstance(value, Iterable) else list(value)
    for name in listed:
        if not isinstance(name, str) or not name:
            raise UsageError(f"{argument} must be the name of a column, or a list, but it holds {shown(name)}")
    if not listed or len(set(listed)) < len(listed):
        raise UsageError(f"{argument} must name one column or several different ones, but it is {value!r}")
    return tuple(listed)


def states_outcome(make: Callable[_Arguments, Property]) -> Callable[_Arguments, Property]:
    """Let properties remember the columns of their ``outcome``: an audited model is not given them."""

    @wraps(make)
    def made(*arguments: _Arguments.args, **options: _Arguments.kwargs) -> Property:
        prop = make(*arguments, **options)
        return replace(prop, outcomes=tree.columns_of(term_of("outcome", options["outcome"]).node))

    return made


def term_of(argument: str, value: Any) -> Term:
    """A term, or the column of this name."""
    if isinstance(value, Term):
        return value
    if isinstance(value, str) and value:
        return col(value)
    raise UsageError(f"{argument} must be the name of a column, or a term such as prediction, but it is {shown(value)}")


def favourable_event(favourable: Any, decision: Any) -> Term:
    """That a person gets the favourable decision: a condition by itself, or a value of the decision."""
    term = term_of("decision", decision)
    if not isinstance(favourable, Term):
        event: Term = term == favourable
        return event
    if term.node != prediction.node:
        raise UsageError(f"favourable is the condition {favourable!r}, so decision must not be given, as {decision!r}")
    return favourable


def condition_of(argument: str, value: Any) -> Term | None:
    """A condition from a term or from text; ``None`` without one."""
    if value is None or isinstance(value, Term):
        return value
    if isinstance(value, str):
        return Term(parse_condition(value))
    raise UsageError(f"{argument} must be a condition, such as col('age') >= 18 or its text, but it is {shown(value)}")


def both(first: Term, second: Term | None) -> Term:
    """Both conditions joined, or only the first where there is no second."""
    return first if second is None else first & second


# ---------------------------------------------------------------------------- who is compared with whom


@dataclass(frozen=True, slots=True)
class Group:
    """The people with certain values of the attributes; inside a ``for``, a value is its variable."""

    attributes: tuple[str, ...]
    values: tuple[tree.Value | Term, ...]

    @property
    def condition(self) -> Term:
        """Whether a person belongs to the group."""
        return reduce(and_, (col(name) == value for name, value in self.settings.items()))

    @property
    def settings(self) -> dict[str, tree.Value | Term]:
        """The value of each attribute."""
        return dict(zip(self.attributes, self.values, strict=True))


@dataclass(frozen=True, slots=True)
class Pair:
    """A minority is compared with a majority."""

    minority: Group
    majority: Group


@dataclass(frozen=True, slots=True)
class AgainstOne:
    """Each of several groups is compared with one majority; without a list, all other groups that occur."""

    groups: tuple[Group, ...] | None
    majority: Group


@dataclass(frozen=True, slots=True)
class AllPairs:
    """Each of several groups is compared with every other; without a list, all groups that occur."""

    attributes: tuple[str, ...]
    groups: tuple[Group, ...] | None


GroupLike: TypeAlias = tree.Value | Sequence[tree.Value]
"""A group as people write it: a value, or one value for each of several attributes."""

Who: TypeAlias = Pair | AgainstOne | AllPairs
Claim: TypeAlias = Callable[[Group, Group], Property]


def who_of(attribute: Any, minority: Any, majority: Any, groups: Any) -> Who:
    """Who is compared, from the arguments of a property."""
    attributes = names_of("attribute", attribute)
    listed = None if groups is None else _listed(attributes, groups)
    if minority is not None and majority is None:
        raise UsageError(
            f"minority is {minority!r}, but majority is not given: name it, or write groups=[{minority!r}, ...]"
        )
    if minority is not None and groups is not None:
        raise UsageError(f"minority and groups cannot go together, but minority={minority!r} and groups={groups!r}")
    if majority is None:
        if listed is not None and len(listed) < 2:
            raise UsageError(f"groups must hold at least two different groups to compare, but it is {groups!r}")
        return AllPairs(attributes, listed)
    reference = _group("majority", attributes, majority)
    if minority is None:
        return AgainstOne(None if listed is None else _without(reference, listed, groups), reference)
    smaller = _group("minority", attributes, minority)
    if smaller == reference:
        raise UsageError(f"minority and majority must be different groups, but both are {minority!r}")
    return Pair(smaller, reference)


def _group(argument: str, attributes: tuple[str, ...], value: Any) -> Group:
    """A group from a value, or from one value for each of several attributes."""
    if len(attributes) == 1 and (isinstance(value, str) or not isinstance(value, Iterable)):
        value = (value,)
    if isinstance(value, str) or not isinstance(value, Iterable) or len(values := tuple(value)) != len(attributes):
        raise UsageError(f"{argument} must hold one value for each of {', '.join(attributes)}, not {shown(value)}")
    return Group(attributes, tuple(map(value_of, values)))


def _listed(attributes: tuple[str, ...], groups: Any) -> tuple[Group, ...]:
    if isinstance(groups, str) or not isinstance(groups, Iterable):
        raise UsageError(f"groups must be a list of groups, but it is {shown(groups)}")
    return tuple(dict.fromkeys(_group("every one of groups", attributes, value) for value in groups))


def _without(reference: Group, listed: tuple[Group, ...], groups: Any) -> tuple[Group, ...]:
    others = tuple(group for group in listed if group != reference)
    if not others:
        raise UsageError(f"groups must hold a group other than the majority, but it is {groups!r}")
    return others


def claim_for(who: Who, claim: Claim) -> Property:
    """The property that a claim about a group and its reference group holds for all groups to be compared."""
    match who:
        case Pair(minority, majority):
            return claim(minority, majority)
        case AgainstOne(groups, majority):
            excluded = () if groups else (tree.Literal(value_of(majority.values[0])),)
            return _for_groups("g", majority.attributes, groups, lambda group: claim(group, majority), *excluded)
        case AllPairs(attributes, groups):
            return _mutual(attributes, groups, claim)


def _mutual(attributes: tuple[str, ...], groups: tuple[Group, ...] | None, claim: Claim) -> Property:
    if len(attributes) > 1 and groups is not None:
        return _every(claim(group, other) for group, other in permutations(groups, 2))

    def with_others(group: Group) -> Property:
        return _for_groups("h", attributes, groups, lambda other: claim(group, other), tree.Variable("g"))

    return _for_groups("g", attributes, groups, with_others)


def _for_groups(
    letter: str,
    attributes: tuple[str, ...],
    groups: tuple[Group, ...] | None,
    claim: Callable[[Group], Property],
    *excluded: tree.Literal | tree.Variable,
) -> Property:
    """The property that a claim holds for every listed group, or without a list for all groups that occur.

    With a single attribute, groups with an excluded value are left out.
    """
    if len(attributes) > 1 and groups is not None:
        return _every(claim(group) for group in groups)
    if len(attributes) > 1:
        return for_values(letter, attributes, claim)
    body = claim(Group(attributes, (Term(tree.Variable(letter)),))).formula
    return Property(tree.Each(letter, _source(attributes[0], groups), excluded, body))


def for_each_group(name: str, attribute: Any, groups: Any, claim: Callable[[Group], Property]) -> Property:
    """The property that a claim holds for every group by itself: for those listed, or all that occur."""
    attributes = names_of("attribute", attribute)
    listed = None if groups is None else _listed(attributes, groups)
    if listed == ():
        raise UsageError(f"groups must hold at least one group, but it is {groups!r}")
    return _for_groups("g", attributes, listed, claim).named(f"{name} by {' and '.join(attributes)}")


def for_values(letter: str, columns: tuple[str, ...], claim: Callable[[Group], Property]) -> Property:
    """The property that a claim holds for every combination of the values of some columns."""
    variables = _variables(letter, columns)
    body: tree.Formula = claim(Group(columns, tuple(map(Term, variables)))).formula
    for name, variable in reversed(list(zip(columns, variables, strict=True))):
        body = tree.Each(variable.name, tree.Column(name), (), body)
    return Property(body)


def _variables(letter: str, columns: tuple[str, ...]) -> tuple[tree.Variable, ...]:
    if len(columns) == 1:
        return (tree.Variable(letter),)
    return tuple(tree.Variable(f"{letter}{number}") for number in range(1, len(columns) + 1))


def _source(column: str, groups: tuple[Group, ...] | None) -> tree.Column | tuple[tree.Literal, ...]:
    if groups is None:
        return tree.Column(column)
    return tuple(tree.Literal(value_of(group.values[0])) for group in groups)


def _every(properties: Iterator[Property]) -> Property:
    formulas = tuple(part.formula for part in properties)
    return Property(formulas[0] if len(formulas) == 1 else tree.Junction("and", formulas))


# ---------------------------------------------------------------------------- how far apart they may be


@dataclass(frozen=True, slots=True)
class MinRatio:
    """One measure is at least this share of the other."""

    least: float


@dataclass(frozen=True, slots=True)
class MaxDifference:
    """Two measures differ by at most this much."""

    most: float


Tolerance: TypeAlias = MinRatio | MaxDifference


def tolerance_of(ratio: float | None, difference: float | None) -> Tolerance:
    """The tolerance from two arguments of a property, of which exactly one must be given."""
    if (ratio is None) == (difference is None):
        given = "neither" if ratio is None else f"ratio={ratio!r} and difference={difference!r}"
        raise UsageError(f"give exactly one of ratio and difference, but got {given}")
    if ratio is not None:
        return MinRatio(number_within("ratio", ratio, 0, 1, above=True, why=" (0.8 is the four-fifths rule)"))
    return MaxDifference(number_within("difference", difference, 0, 1, why=" (rates differ by at most 1)"))


def difference_of_means(difference: float) -> MaxDifference:
    """A tolerance for means, which can lie further apart than 1."""
    return MaxDifference(number_within("difference", difference, 0, inf))


def toward(tolerance: Tolerance, measure: Measure, reference: Measure) -> Property:
    """A measure compared with that of one reference group.

    A ratio is one-sided: the measure may be any amount larger. A difference is two-sided.
    """
    match tolerance:
        case MinRatio(least):
            return measure / reference >= least
        case MaxDifference(most):
            return abs(measure - reference) <= most


def mutual(tolerance: Tolerance, measure: Measure, other: Measure) -> Property:
    """A measure compared with another one, in a claim that makes the opposite comparison as well.

    The ratio is multiplied out, since among many groups one may have a rate of zero: 0 >= 0.8 * 0 is true, and 0 / 0
    has no value.
    """
    match tolerance:
        case MinRatio(least):
            return measure >= least * other
        case MaxDifference(most):
            return measure - other <= most


# ---------------------------------------------------------------------------- properties


MeasureOf: TypeAlias = Callable[[Term], Measure]
"""Makes the measure of a group from the condition that says who belongs to it."""


def compare(name: str, who: Who, tolerance: Tolerance, *measures: MeasureOf, given: Term | None = None) -> Property:
    """The property that each of some measures is within the tolerance for all groups to be compared.

    The whole property is about the people who meet ``given``; about everyone without it.
    """

    def among(measure: MeasureOf) -> Callable[[Group], Measure]:
        return lambda group: measure(both(group.condition, given))

    return relate(name, who, tolerance, *map(among, measures))


def relate(name: str, who: Who, tolerance: Tolerance, *measures: Callable[[Group], Measure]) -> Property:
    """The same for measures that need the group itself, not only the condition for belonging to it."""
    apart = mutual if isinstance(who, AllPairs) else toward

    def claim(group: Group, reference: Group) -> Property:
        return reduce(and_, (apart(tolerance, measure(group), measure(reference)) for measure in measures))

    return claim_for(who, claim).named(title(name, who))


def compare_within(
    name: str, strata: tuple[str, ...], who: Who, tolerance: Tolerance, measure: MeasureOf, given: Term | None
) -> Property:
    """The same within every combination of the values of some columns."""
    if not strata:
        return compare(name, who, tolerance, measure, given=given)

    def claim(stratum: Group) -> Property:
        return compare(name, who, tolerance, measure, given=both(stratum.condition, given))

    return for_values("s", strata, claim).named(f"{title(name, who)} within {' and '.join(strata)}")


def title(name: str, who: Who) -> str:
    """The name of a property with its attributes: ``demographic parity by sex and race``."""
    return f"{name} by {' and '.join(attributes_of(who))}"


def attributes_of(who: Who) -> tuple[str, ...]:
    """The attributes by which people are grouped."""
    return who.attributes if isinstance(who, AllPairs) else who.majority.attributes


def under(person: PersonVersion, term: Term) -> Term:
    """The same term with every column and every answer of the model taken from another version of the person.

    A term that already refers to other versions is refused: a version of a version has no meaning here.
    """

    def moved(row: tree.Row) -> tree.Row:
        match row:
            case tree.Column(version=None) | tree.Output(version=None):
                return person(Term(row)).node
            case tree.Column() | tree.Output() | tree.PairCall():
                raise UsageError(
                    f"expected a term about a person as they are, but `{to_text(row)}` speaks of another version"
                )
            case _:
                return tree.rebuilt(row, moved)

    return Term(moved(term.node))
