"""What would have been decided about the same people, had they belonged to another group."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from isonomia.spec.fairness.arguments import number_within
from isonomia.spec.fairness.compare import title
from isonomia.spec.fairness.events import both, condition_of, favourable_event, term_of
from isonomia.spec.fairness.groups import Group, GroupLike, claim_for, who_of
from isonomia.spec.fairness.tolerance import tolerance_of, toward
from isonomia.spec.fairness.under import under
from isonomia.spec.operators import P, prediction
from isonomia.spec.persons import do
from isonomia.spec.property import Property
from isonomia.spec.terms import Term
from isonomia.spec.tree import Value

__all__ = ["counterfactual", "counterfactual_effect"]


def counterfactual(
    attribute: str | Sequence[str],
    minority: GroupLike | None = None,
    majority: GroupLike | None = None,
    *,
    share: float,
    groups: Iterable[GroupLike] | None = None,
    decision: str | Term = prediction,
    given: str | Term | None = None,
) -> Property:
    """Most people would have been decided about in the same way, had they belonged to another group.

    It demands ``P[decision == do(attribute = majority).decision | attribute == minority] >= share``, for the same
    people with everything that does not depend on the attribute as it is. Without a majority, it is demanded of every
    group under the value of every other.

    It does **not** imply parity: groups may differ for reasons that do not depend on the attribute. It rests on the
    causal model, which no data can prove, and needs a population that has one.

    The other parameters are those that these properties share; ``isonomia.fairness`` describes them.

    Parameters
    ----------
    share
        Which share of the people must be decided about in the same way; above 0 and at most 1.
    decision
        What is decided: the model's ``prediction``, a column, or a condition such as ``score >= 0.7``.

    References
    ----------
    Kusner, Loftus, Russell and Silva (2017), "Counterfactual fairness".

    Examples
    --------
    >>> print(counterfactual("sex", "F", "M", share=0.95))
    P[prediction == do(sex = 'M').prediction | sex == 'F'] >= 0.95
    >>> print(counterfactual("race", share=0.9))
    for g in race: for h in race except g: P[prediction == do(race = h).prediction | race == g] >= 0.9
    """
    who, term = who_of(attribute, minority, majority, groups), term_of("decision", decision)
    condition, least = condition_of("given", given), number_within("share", share, 0, 1, above=True)

    def claim(group: Group, reference: Group) -> Property:
        same = term == under(do(reference.settings), term)
        return P(same, given=both(group.condition, condition)) >= least

    return claim_for(who, claim).named(title("counterfactual fairness", who))


def counterfactual_effect(
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
    """A group is selected about as often as it would have been, had its people belonged to another group.

    It compares ``P[favourable | minority]`` with ``P[do(attribute = majority).favourable | minority]``, the same people
    in both: the effect of the attribute on those who have it.

    It does **not** imply that any single person would have been decided about in the same way: gains and losses may
    cancel, which :func:`counterfactual` does not allow. It rests on the causal model, and needs a population that has
    one.

    The parameters are those that these properties share; ``isonomia.fairness`` describes them. A ratio is that of what
    is to what would have been, for every pair of groups; it has no value where nobody would have been selected.

    References
    ----------
    Zhang and Bareinboim (2018), "Fairness in decision-making: the causal explanation formula".

    Examples
    --------
    >>> print(counterfactual_effect("sex", "F", "M", difference=0.05))
    abs(P[prediction == 1 | sex == 'F'] - P[do(sex = 'M').prediction == 1 | sex == 'F']) <= 0.05
    """
    who, event = who_of(attribute, minority, majority, groups), favourable_event(favourable, decision)
    condition, tolerance = condition_of("given", given), tolerance_of(ratio, difference)

    def claim(group: Group, reference: Group) -> Property:
        people = both(group.condition, condition)
        return toward(tolerance, P(event, given=people), P(under(do(reference.settings), event), given=people))

    return claim_for(who, claim).named(title("counterfactual effect", who))
