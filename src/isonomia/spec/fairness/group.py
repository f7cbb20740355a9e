"""Properties that compare groups: equal rates of favourable decisions, equal errors, equal reliability, equal means."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from isonomia.errors import UsageError, with_known_options
from isonomia.spec.fairness.comparison import (
    GroupLike,
    MinRatio,
    attributes_of,
    compare,
    compare_within,
    condition_of,
    difference_of_means,
    favourable_event,
    names_of,
    states_outcome,
    term_of,
    tolerance_of,
    who_of,
)
from isonomia.spec.operators import E, P, prediction
from isonomia.spec.property import Property, Term
from isonomia.spec.tree import Value


@with_known_options
def demographic_parity(
    attribute: str | Sequence[str],
    minority: GroupLike | None = None,
    majority: GroupLike | None = None,
    *,
    groups: Iterable[GroupLike] | None = None,
    ratio: float | None = None,
    difference: float | None = None,
    favourable: Value | Term = 1,
    decision: str | Term = prediction,
    given: str | Term | None = None,
) -> Property:
    """Favourable decisions are about as frequent in one group as in another.

    It demands ``P[favourable | minority] / P[favourable | majority] >= ratio``, or that the two rates differ by at most
    ``difference``. Also called statistical parity, or independence.

    It does **not** imply that the right people are selected: choosing the best of one group and anyone of the other
    satisfies it. It does not imply equal errors either, and where groups differ in who deserves the decision, it rules
    out a perfect model.

    The parameters are those that these properties share; ``isonomia.fairness`` describes them.

    References
    ----------
    Calders, Kamiran and Pechenizkiy (2009), "Building classifiers with independency constraints"; as a ratio, Feldman
    et al. (2015), "Certifying and removing disparate impact", and Definition 3.1 of Bastani, Zhang and Solar-Lezama
    (2019), "Probabilistic verification of fairness properties via concentration".

    Examples
    --------
    >>> print(demographic_parity("sex", "F", "M", ratio=0.8))
    P[prediction == 1 | sex == 'F'] / P[prediction == 1 | sex == 'M'] >= 0.8
    >>> print(demographic_parity("race", difference=0.1, decision="hired"))
    for g in race: for h in race except g: P[hired == 1 | race == g] - P[hired == 1 | race == h] <= 0.1
    """
    event = favourable_event(favourable, decision)
    return compare(
        "demographic parity",
        who_of(attribute, minority, majority, groups),
        tolerance_of(ratio, difference),
        lambda group: P(event, given=group),
        given=condition_of("given", given),
    )


@with_known_options
def four_fifths(
    attribute: str | Sequence[str],
    *,
    groups: Iterable[GroupLike] | None = None,
    favourable: Value | Term = 1,
    decision: str | Term = prediction,
    given: str | Term | None = None,
) -> Property:
    """Every group is selected at 80% of the rate of the most selected group, or more.

    It demands ``P[favourable | g] >= 0.8 * P[favourable | h]`` for all groups g and h, which is the same as comparing
    with the highest rate alone. Where no one at all is selected, it holds.

    It does **not** imply anything that demographic parity does not imply. In law it is a rule of thumb for when to look
    closer, not proof of discrimination or of its absence; the guidelines also set aside groups below 2% of the labor
    force in the relevant labor area (1607.15 A), and here ``groups`` says who counts.

    The parameters are those that these properties share; ``isonomia.fairness`` describes them.

    References
    ----------
    Uniform Guidelines on Employee Selection Procedures (1978), 29 CFR 1607.4(D).

    Examples
    --------
    >>> print(four_fifths("race"))
    for g in race: for h in race except g:
    P[prediction == 1 | race == g] >= 0.8 * P[prediction == 1 | race == h]
    """
    event = favourable_event(favourable, decision)
    return compare(
        "four-fifths rule",
        who_of(attribute, None, None, groups),
        MinRatio(0.8),
        lambda group: P(event, given=group),
        given=condition_of("given", given),
    )


@with_known_options
def conditional_parity(
    attribute: str | Sequence[str],
    minority: GroupLike | None = None,
    majority: GroupLike | None = None,
    *,
    strata: str | Sequence[str] = (),
    groups: Iterable[GroupLike] | None = None,
    ratio: float | None = None,
    difference: float | None = None,
    favourable: Value | Term = 1,
    decision: str | Term = prediction,
    given: str | Term | None = None,
) -> Property:
    """Demographic parity among people who are alike in the legitimate grounds for the decision.

    It demands demographic parity within every stratum: for every value of a column (``strata``), among the people for
    whom a condition is true (``given``), or both. Also called conditional statistical parity.

    It does **not** imply demographic parity: the groups may be spread differently over the strata. It does not ask
    whether the strata are themselves a product of discrimination.

    The other parameters are those that these properties share; ``isonomia.fairness`` describes them.

    Parameters
    ----------
    strata
        A column, or several for every combination of their values. A combination that does not occur for a group leaves
        the verdict undecided, so use few and coarse columns.

    References
    ----------
    Kamiran, Zliobaite and Calders (2013), "Quantifying explainable discrimination and removing illegal discrimination
    in automated decision making"; Corbett-Davies et al. (2017), "Algorithmic decision making and the cost of fairness".

    Examples
    --------
    >>> print(conditional_parity("sex", "F", "M", strata="job", ratio=0.8, decision="paid"))
    for s in job: P[paid == 1 | sex == 'F' and job == s] / P[paid == 1 | sex == 'M' and job == s] >= 0.8
    >>> print(conditional_parity("sex", "F", "M", given="age > 18", ratio=0.8, decision="paid"))
    P[paid == 1 | sex == 'F' and age > 18] / P[paid == 1 | sex == 'M' and age > 18] >= 0.8
    """
    who, event = who_of(attribute, minority, majority, groups), favourable_event(favourable, decision)
    columns = () if isinstance(strata, Sequence) and not strata else names_of("strata", strata)
    if not columns and given is None:
        raise UsageError("give strata, given or both; otherwise it is demographic_parity")
    if shared := set(columns) & set(attributes_of(who)):
        raise UsageError(f"strata must be other columns than attribute, but both name {shared.pop()!r}")
    return compare_within(
        "conditional parity",
        columns,
        who,
        tolerance_of(ratio, difference),
        lambda group: P(event, given=group),
        condition_of("given", given),
    )


@states_outcome
@with_known_options
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
        The column with the actual outcome, and its value for those who deserve the favourable decision. People whose
        outcome is missing are left out.

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


@states_outcome
@with_known_options
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
    such as being held before trial, these are the people who are wronged; then give the burden as ``favourable``, and
    prefer ``difference``, since the ratio for a minority is one-sided.

    It does **not** imply anything about those whose outcome is positive.

    The other parameters are those that these properties share; ``isonomia.fairness`` describes them.

    Parameters
    ----------
    outcome, positive
        The column with the actual outcome, and its value for those who deserve the decision. People whose outcome is
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


@states_outcome
@with_known_options
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
    both hold exactly unless the decisions are perfect or no one gets the favourable one (Chouldechova 2017; for scores,
    Kleinberg, Mullainathan and Raghavan 2017). It does not imply demographic parity.

    The other parameters are those that these properties share; ``isonomia.fairness`` describes them.

    Parameters
    ----------
    outcome, positive
        The column with the actual outcome, and its value for those who deserve the favourable decision. People whose
        outcome is missing are left out.

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


@states_outcome
@with_known_options
def predictive_parity(
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
    """A favourable decision means the same in every group: it is about as often followed by a positive outcome.

    It compares positive predictive values, ``P[outcome == positive | group and favourable]``.

    It does **not** imply equalized odds. Where the groups differ in how many outcomes are positive, the two cannot both
    hold exactly unless the decisions are perfect or no one gets the favourable one. It says nothing about those who get
    the other decision.

    The other parameters are those that these properties share; ``isonomia.fairness`` describes them.

    Parameters
    ----------
    outcome, positive
        The column with the actual outcome, and the value that justifies the favourable decision. People whose outcome
        is missing count as not positive; leave them out with ``given``.

    References
    ----------
    Chouldechova (2017), "Fair prediction with disparate impact"; Dieterich, Mendoza and Brennan (2016), "COMPAS risk
    scales: demonstrating accuracy equity and predictive parity".

    Examples
    --------
    >>> print(predictive_parity("sex", "F", "M", outcome="repaid", ratio=0.9))
    P[repaid == 1 | sex == 'F' and prediction == 1] / P[repaid == 1 | sex == 'M' and prediction == 1] >= 0.9
    """
    event, deserved = favourable_event(favourable, decision), term_of("outcome", outcome) == positive
    return compare(
        "predictive parity",
        who_of(attribute, minority, majority, groups),
        tolerance_of(ratio, difference),
        lambda group: P(deserved, given=group & event),
        given=condition_of("given", given),
    )


@states_outcome
@with_known_options
def accuracy_parity(
    attribute: str | Sequence[str],
    minority: GroupLike | None = None,
    majority: GroupLike | None = None,
    *,
    outcome: str | Term,
    positive: Value | None = None,
    groups: Iterable[GroupLike] | None = None,
    ratio: float | None = None,
    difference: float | None = None,
    favourable: Value | Term | None = None,
    decision: str | Term = prediction,
    given: str | Term | None = None,
) -> Property:
    """Decisions are about as often right in one group as in another. Also called overall accuracy equality.

    It compares ``P[decision == outcome | group]``. Where decision and outcome have different values, ``favourable`` and
    ``positive`` say what goes together: a decision is right when both are true or neither is.

    It does **not** imply equal errors of each kind: one group may bear the false positives and the other the false
    negatives.

    The other parameters are those that these properties share; ``isonomia.fairness`` describes them.

    Parameters
    ----------
    outcome
        The column that says what would have been right. People whose outcome is missing count as wrongly decided; leave
        them out with ``given``.
    positive, favourable
        The outcome that the favourable decision fits, and that decision; both, or neither where they are the same
        values.

    References
    ----------
    Berk, Heidari, Jabbari, Kearns and Roth (2021), "Fairness in criminal justice risk assessments: the state of the
    art".

    Examples
    --------
    >>> print(accuracy_parity("sex", "F", "M", outcome="repaid", ratio=0.9))
    P[prediction == repaid | sex == 'F'] / P[prediction == repaid | sex == 'M'] >= 0.9
    """
    right = _right(term_of("outcome", outcome), positive, favourable, decision)
    return compare(
        "accuracy parity",
        who_of(attribute, minority, majority, groups),
        tolerance_of(ratio, difference),
        lambda group: P(right, given=group),
        given=condition_of("given", given),
    )


def _right(outcome: Term, positive: Value | None, favourable: Value | Term | None, decision: str | Term) -> Term:
    if (positive is None) != (favourable is None):
        raise UsageError(f"positive and favourable go together, but got {positive!r} and {favourable!r}")
    if positive is None:
        return term_of("decision", decision) == outcome
    event = favourable_event(favourable, decision)
    return (event & (outcome == positive)) | (~event & (outcome != positive))


@with_known_options
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

    It does **not** imply that the distributions are equal: one group may have all the extremes. It does not imply
    equal errors.

    The other parameters are those that these properties share; ``isonomia.fairness`` describes them.

    Parameters
    ----------
    difference
        How far the means may be apart, in the unit of the number.
    low, high
        The range of the number; both or neither. Without them it comes from ``ranges=`` of ``check``, or from the model
        where the number is a score.
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
