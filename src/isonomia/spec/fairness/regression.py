"""Equal means of a predicted number."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from isonomia.spec.fairness.compare import compare
from isonomia.spec.fairness.events import condition_of, term_of
from isonomia.spec.fairness.groups import GroupLike, who_of
from isonomia.spec.fairness.tolerance import difference_of_means
from isonomia.spec.operators import E, prediction
from isonomia.spec.property import Property
from isonomia.spec.terms import Term

__all__ = ["regression_parity"]


def regression_parity(
    attribute: str | Sequence[str],
    minority: GroupLike | None = None,
    majority: GroupLike | None = None,
    *,
    difference: float,
    low: float | None = None,
    high: float | None = None,
    groups: Iterable[GroupLike] | None = None,
    decision: str | Term = prediction,
    given: str | Term | None = None,
) -> Property:
    """A predicted number is on average about the same in one group as in another.

    It demands that ``E[decision | minority]`` and ``E[decision | majority]`` differ by at most ``difference``. With
    ``decision=score`` and ``given`` a positive outcome, it is the balance for the positive class of Kleinberg,
    Mullainathan and Raghavan (2017).

    It does **not** imply that the numbers are spread alike: one group may have all the extremes. It does not imply
    equal errors.

    The other parameters are those that these properties share; ``isonomia.fairness`` describes them.

    Parameters
    ----------
    difference
        How far the means may be apart, in the unit of the number.
    low, high
        Between which numbers it must lie; both or neither. Without them the range comes from ``ranges=`` of ``check``,
        or from the model where it is a score.
    decision
        The number: the model's prediction, or for example ``score``, a column, or an expression.

    References
    ----------
    Calders, Karim, Kamiran, Ali and Zhang (2013), "Controlling attribute effect in linear regression"; section 7 of
    Bastani, Zhang and Solar-Lezama (2019).

    Examples
    --------
    >>> print(regression_parity("sex", "F", "M", difference=500, low=0, high=9000))
    abs(E[prediction from 0 to 9000 | sex == 'F'] - E[prediction from 0 to 9000 | sex == 'M']) <= 500
    """
    term = term_of("decision", decision)
    return compare(
        "regression parity",
        who_of(attribute, minority, majority, groups),
        difference_of_means(difference),
        lambda group: E(term, given=group, low=low, high=high),
        given=condition_of("given", given),
    )
