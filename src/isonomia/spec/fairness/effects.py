"""What would be decided, were everybody of one group or everybody of another."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from isonomia.spec.fairness.arguments import number_within
from isonomia.spec.fairness.compare import relate, title
from isonomia.spec.fairness.events import condition_of, favourable_event, term_of
from isonomia.spec.fairness.groups import Group, GroupLike, claim_for, who_of
from isonomia.spec.fairness.tolerance import tolerance_of
from isonomia.spec.fairness.under import under
from isonomia.spec.operators import P, prediction
from isonomia.spec.persons import do
from isonomia.spec.property import Property
from isonomia.spec.terms import Term
from isonomia.spec.tree import Value

__all__ = ["causal", "no_causal_discrimination"]


def causal(
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
    """The attribute has little total effect on the decisions.

    It compares ``P[do(attribute = minority).favourable]`` with ``P[do(attribute = majority).favourable]``, over
    everybody: what would be decided, were all people of one group, or all of the other.

    It does **not** imply that nobody is affected: gains and losses may cancel, which :func:`no_causal_discrimination`
    does not allow. It counts every path from the attribute to the decision, legitimate ones too. It rests on the causal
    model, and needs a population that has one.

    The other parameters are those that these properties share; ``isonomia.fairness`` describes them.

    Parameters
    ----------
    given
        A condition on the people as they are.

    References
    ----------
    Kilbertus, Rojas-Carulla, Parascandolo, Hardt, Janzing and Schölkopf (2017), "Avoiding discrimination through causal
    reasoning".

    Examples
    --------
    >>> print(causal("sex", "F", "M", difference=0.05))
    abs(P[do(sex = 'F').prediction == 1] - P[do(sex = 'M').prediction == 1]) <= 0.05
    """
    event, condition = favourable_event(favourable, decision), condition_of("given", given)
    return relate(
        "causal fairness",
        who_of(attribute, minority, majority, groups),
        tolerance_of(ratio, difference),
        lambda group: P(under(do(group.settings), event), given=condition),
    )


def no_causal_discrimination(
    attribute: str | Sequence[str],
    minority: GroupLike | None = None,
    majority: GroupLike | None = None,
    *,
    share: float,
    groups: Iterable[GroupLike] | None = None,
    decision: str | Term = prediction,
    given: str | Term | None = None,
) -> Property:
    """Most people would be decided about in the same way, whichever group they belonged to.

    It demands ``P[do(attribute = minority).decision == do(attribute = majority).decision] >= share``, over everybody.

    It does **not** imply parity, and says nothing about which group gains where the decisions differ. It rests on the
    causal model, and needs a population that has one: where nothing else depends on the attribute, this is the test of
    flipping it alone.

    The other parameters are those that these properties share; ``isonomia.fairness`` describes them.

    Parameters
    ----------
    share
        Which share of the people must be decided about in the same way; above 0 and at most 1.
    decision
        What is decided: the model's ``prediction``, a column, or a condition such as ``score >= 0.7``.
    given
        A condition on the people as they are.

    References
    ----------
    Galhotra, Brun and Meliou (2017), "Fairness testing: testing software for discrimination".

    Examples
    --------
    >>> print(no_causal_discrimination("sex", "F", "M", share=0.99))
    P[do(sex = 'F').prediction == do(sex = 'M').prediction] >= 0.99
    """
    who, term = who_of(attribute, minority, majority, groups), term_of("decision", decision)
    condition, least = condition_of("given", given), number_within("share", share, 0, 1, above=True)

    def claim(group: Group, reference: Group) -> Property:
        same = under(do(group.settings), term) == under(do(reference.settings), term)
        return P(same, given=condition) >= least

    return claim_for(who, claim).named(title("no causal discrimination", who))
