"""Equal rates of favourable decisions among people whose outcome is the same."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from isonomia.spec.fairness.compare import compare
from isonomia.spec.fairness.events import condition_of, favourable_event, term_of
from isonomia.spec.fairness.groups import GroupLike, who_of
from isonomia.spec.fairness.tolerance import tolerance_of
from isonomia.spec.operators import P, prediction
from isonomia.spec.property import Property
from isonomia.spec.terms import Term
from isonomia.spec.tree import Value

__all__ = ["equal_opportunity", "equalized_odds", "predictive_equality"]


def equal_opportunity(
    attribute: str | Sequence[str],
    minority: GroupLike | None = None,
    majority: GroupLike | None = None,
    *,
    outcome: str | Term,
    positive: Value = 1,
    groups: Iterable[GroupLike] | None = None,
    ratio: float | None = None,
    difference: float | None = None,
    favourable: Value | Term = 1,
    decision: str | Term = prediction,
    given: str | Term | None = None,
) -> Property:
    """Those who deserve the favourable decision get it about as often in one group as in another.

    It compares true positive rates, ``P[favourable | group and outcome == positive]``.

    It does **not** imply anything about those whose outcome is not positive: false positives may fall on one group
    alone. It trusts the recorded outcome; where that is biased, so is this.

    The other parameters are those that these properties share; ``isonomia.fairness`` describes them.

    Parameters
    ----------
    outcome, positive
        The column that says what turned out, and its value for those who deserve the favourable decision. People
        whose outcome is missing are left out.

    References
    ----------
    Hardt, Price and Srebro (2016), "Equality of opportunity in supervised learning"; as a ratio, Definition 3.2 of
    Bastani, Zhang and Solar-Lezama (2019).

    Examples
    --------
    >>> print(equal_opportunity("sex", "F", "M", outcome="repaid", ratio=0.9))
    P[prediction == 1 | sex == 'F' and repaid == 1] / P[prediction == 1 | sex == 'M' and repaid == 1] >= 0.9
    """
    event, deserved = favourable_event(favourable, decision), term_of("outcome", outcome) == positive
    return compare(
        "equal opportunity",
        who_of(attribute, minority, majority, groups),
        tolerance_of(ratio, difference),
        lambda group: P(event, given=group & deserved),
        given=condition_of("given", given),
    )


def predictive_equality(
    attribute: str | Sequence[str],
    minority: GroupLike | None = None,
    majority: GroupLike | None = None,
    *,
    outcome: str | Term,
    positive: Value = 1,
    groups: Iterable[GroupLike] | None = None,
    ratio: float | None = None,
    difference: float | None = None,
    favourable: Value | Term = 1,
    decision: str | Term = prediction,
    given: str | Term | None = None,
) -> Property:
    """Those who do not deserve the decision get it about as often in one group as in another.

    It compares false positive rates, ``P[favourable | group and outcome != positive]``. Where the decision is a burden,
    such as being held before trial, these are the people who are wronged; put the burden as ``favourable`` then, and
    prefer ``difference``, since the ratio for a minority is one-sided.

    It does **not** imply anything about those whose outcome is positive.

    The other parameters are those that these properties share; ``isonomia.fairness`` describes them.

    Parameters
    ----------
    outcome, positive
        The column that says what turned out, and its value for those who deserve the decision. People whose outcome is
        missing are left out.

    References
    ----------
    Corbett-Davies et al. (2017), "Algorithmic decision making and the cost of fairness".

    Examples
    --------
    >>> print(predictive_equality("sex", "F", "M", outcome="guilty", difference=0.1, decision="jailed"))
    abs(P[jailed == 1 | sex == 'F' and guilty != 1] - P[jailed == 1 | sex == 'M' and guilty != 1]) <= 0.1
    """
    event, undeserved = favourable_event(favourable, decision), term_of("outcome", outcome) != positive
    return compare(
        "predictive equality",
        who_of(attribute, minority, majority, groups),
        tolerance_of(ratio, difference),
        lambda group: P(event, given=group & undeserved),
        given=condition_of("given", given),
    )


def equalized_odds(
    attribute: str | Sequence[str],
    minority: GroupLike | None = None,
    majority: GroupLike | None = None,
    *,
    outcome: str | Term,
    positive: Value = 1,
    groups: Iterable[GroupLike] | None = None,
    ratio: float | None = None,
    difference: float | None = None,
    favourable: Value | Term = 1,
    decision: str | Term = prediction,
    given: str | Term | None = None,
) -> Property:
    """Equal opportunity and predictive equality at once. Also called separation, or error rate balance.

    It does **not** imply predictive parity. Where the groups differ in how many outcomes are positive, the two cannot
    both hold exactly unless the decisions are perfect or nobody gets the favourable one (Chouldechova 2017; for scores,
    Kleinberg, Mullainathan and Raghavan 2017). It does not imply demographic parity.

    The other parameters are those that these properties share; ``isonomia.fairness`` describes them.

    Parameters
    ----------
    outcome, positive
        The column that says what turned out, and its value for those who deserve the favourable decision. People
        whose outcome is missing are left out.

    References
    ----------
    Hardt, Price and Srebro (2016), "Equality of opportunity in supervised learning".

    Examples
    --------
    >>> print(equalized_odds("sex", "F", "M", outcome="repaid", difference=0.1))
    abs(P[prediction == 1 | sex == 'F' and repaid == 1] - P[prediction == 1 | sex == 'M' and repaid == 1]) <= 0.1 and
    abs(P[prediction == 1 | sex == 'F' and repaid != 1] - P[prediction == 1 | sex == 'M' and repaid != 1]) <= 0.1
    """
    event, result = favourable_event(favourable, decision), term_of("outcome", outcome)
    return compare(
        "equalized odds",
        who_of(attribute, minority, majority, groups),
        tolerance_of(ratio, difference),
        lambda group: P(event, given=group & (result == positive)),
        lambda group: P(event, given=group & (result != positive)),
        given=condition_of("given", given),
    )
