"""From groups, measures and a tolerance to a property: the one construction behind every comparison of groups."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import and_
from typing import TypeAlias

from isonomia.spec.fairness.events import both
from isonomia.spec.fairness.groups import Group, Mutual, Who, claim_for, for_values
from isonomia.spec.fairness.tolerance import Tolerance, mutual, toward
from isonomia.spec.measures import Measure
from isonomia.spec.property import Property
from isonomia.spec.terms import Term

__all__ = ["MeasureOf", "attributes_of", "compare", "compare_within", "relate", "title"]

MeasureOf: TypeAlias = Callable[[Term], Measure]
"""Makes the measure of a group from the condition that says who belongs to it."""


def compare(name: str, who: Who, tolerance: Tolerance, *measures: MeasureOf, given: Term | None = None) -> Property:
    """The property that each of some measures is within the tolerance for everybody who is to be compared.

    Parameters
    ----------
    name
        What the property is called.
    who
        Who is compared with whom.
    tolerance
        How far their measures may be apart.
    measures
        What is compared.
    given
        The people whom the whole property is about; everybody without one.
    """

    def among(measure: MeasureOf) -> Callable[[Group], Measure]:
        return lambda group: measure(both(group.condition, given))

    return relate(name, who, tolerance, *map(among, measures))


def relate(name: str, who: Who, tolerance: Tolerance, *measures: Callable[[Group], Measure]) -> Property:
    """The same for measures that need to know the group itself, and not only who belongs to it."""
    apart = mutual if isinstance(who, Mutual) else toward

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
    return who.attributes if isinstance(who, Mutual) else who.majority.attributes
