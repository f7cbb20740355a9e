"""How far two measures may be apart."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TypeAlias

from isonomia.spec.fairness.arguments import exactly_one, number_within
from isonomia.spec.measures import Measure
from isonomia.spec.property import Property

__all__ = ["Difference", "Ratio", "Tolerance", "difference_of_means", "mutual", "tolerance_of", "toward"]


@dataclass(frozen=True, slots=True)
class Ratio:
    """One measure is at least this share of the other."""

    least: float


@dataclass(frozen=True, slots=True)
class Difference:
    """Two measures differ by at most this much."""

    most: float


Tolerance: TypeAlias = Ratio | Difference


def tolerance_of(ratio: float | None, difference: float | None) -> Tolerance:
    """The tolerance that two arguments of a property state, one of which is given."""
    if exactly_one(ratio=ratio, difference=difference) == "ratio":
        return Ratio(number_within("ratio", ratio, 0, 1, above=True, why=" (0.8 is the four-fifths rule)"))
    return Difference(number_within("difference", difference, 0, 1, why=" (rates differ by at most 1)"))


def difference_of_means(difference: float) -> Difference:
    """A tolerance for means, which can lie further apart than 1."""
    return Difference(number_within("difference", difference, 0, inf))


def toward(tolerance: Tolerance, measure: Measure, reference: Measure) -> Property:
    """A measure compared with that of one reference group.

    A ratio is one-sided: the measure may be any amount larger. A difference is two-sided.
    """
    match tolerance:
        case Ratio(least):
            return measure / reference >= least
        case Difference(most):
            return abs(measure - reference) <= most


def mutual(tolerance: Tolerance, measure: Measure, other: Measure) -> Property:
    """A measure compared with another one, in a claim that makes the opposite comparison as well.

    The ratio is multiplied out, since among many groups somebody's rate may be zero: 0 >= 0.8 * 0 is true, and 0 / 0
    has no value.
    """
    match tolerance:
        case Ratio(least):
            return measure >= least * other
        case Difference(most):
            return measure - other <= most
