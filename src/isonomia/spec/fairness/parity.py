"""Equal rates of favourable decisions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from isonomia.errors import UsageError
from isonomia.spec.fairness.arguments import names_of
from isonomia.spec.fairness.compare import attributes_of, compare, compare_within
from isonomia.spec.fairness.events import condition_of, favourable_event
from isonomia.spec.fairness.groups import GroupLike, who_of
from isonomia.spec.fairness.tolerance import Ratio, tolerance_of
from isonomia.spec.operators import P, prediction
from isonomia.spec.property import Property
from isonomia.spec.terms import Term
from isonomia.spec.tree import Value

__all__ = ["conditional_parity", "demographic_parity", "four_fifths"]


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

    It does **not** imply that the right people are selected: choosing the best of one group and anybody of the other
    satisfies it. It does not imply equal errors either, and where groups differ in what decides, it rules out a perfect
    model.

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
    with the highest rate alone. Where nobody at all is selected, it holds.

    It does **not** imply anything that demographic parity does not imply. In law it is a rule of thumb for when to look
    closer, no proof of discrimination or of its absence; the rule also sets aside groups that are less than 2% of those
    concerned, and here ``groups`` says who counts.

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
        Ratio(0.8),
        lambda group: P(event, given=group),
        given=condition_of("given", given),
    )


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
    """Demographic parity among people who are alike in what may legitimately decide.

    It demands demographic parity within every stratum: for every value of a column (``strata``), among the people for
    whom a condition is true (``given``), or both. Also called conditional statistical parity.

    It does **not** imply demographic parity: the strata may differ in how the groups are spread over them. Whether the
    strata are themselves a product of discrimination is not asked.

    The other parameters are those that these properties share; ``isonomia.fairness`` describes them.

    Parameters
    ----------
    strata
        A column, or several for every combination of their values. A combination that does not occur for a group leaves
        the verdict undecided, so use few and coarse ones.

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
        raise UsageError(
            "give strata, given or both, which say who is compared with whom; otherwise it is demographic_parity"
        )
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
