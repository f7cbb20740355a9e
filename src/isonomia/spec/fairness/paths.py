"""What the attribute does to the decision other than through accepted mediators."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from isonomia.errors import UsageError
from isonomia.spec.fairness.arguments import names_of, number_within
from isonomia.spec.fairness.compare import attributes_of, title
from isonomia.spec.fairness.events import both, condition_of, favourable_event
from isonomia.spec.fairness.groups import Group, GroupLike, claim_for, who_of
from isonomia.spec.fairness.under import under
from isonomia.spec.operators import P, prediction
from isonomia.spec.persons import as_if, do
from isonomia.spec.property import Property
from isonomia.spec.terms import Term
from isonomia.spec.tree import Value

__all__ = ["path_specific"]


def path_specific(
    attribute: str | Sequence[str],
    minority: GroupLike | None = None,
    majority: GroupLike | None = None,
    *,
    mediators: str | Sequence[str],
    shortfall: float,
    groups: Iterable[GroupLike] | None = None,
    favourable: Value | Term = 1,
    decision: str | Term = prediction,
    given: str | Term | None = None,
) -> Property:
    """With the mediators as if they belonged to the majority, a minority is selected about as often as the majority.

    It demands ``P[do(mediator as if attribute = majority).favourable | minority] - P[favourable | majority] >=
    -shortfall``: the mediator, such as education, may make a difference, and the attribute itself may not. Everything
    else about the minority stays as it is.

    It does **not** imply demographic parity: what goes through the mediators is accepted, and whether that is right is
    not asked. It is one-sided: the minority may do better. It rests on the causal model, and needs a population that
    has one.

    The other parameters are those that these properties share; ``isonomia.fairness`` describes them.

    Parameters
    ----------
    mediators
        The column, or the columns, through which the attribute may act.
    shortfall
        By how much the minority's rate may fall below the majority's; from 0 to 1.

    References
    ----------
    Nabi and Shpitser (2018), "Fair inference on outcomes"; Definition 3.3 of Bastani, Zhang and Solar-Lezama (2019),
    "Probabilistic verification of fairness properties via concentration".

    Examples
    --------
    >>> print(path_specific("sex", "F", "M", mediators="school", shortfall=0.1))
    P[do(school as if sex = 'M').prediction == 1 | sex == 'F'] - P[prediction == 1 | sex == 'M'] >= -0.1
    """
    who, event = who_of(attribute, minority, majority, groups), favourable_event(favourable, decision)
    condition, most = condition_of("given", given), number_within("shortfall", shortfall, 0, 1)
    through = names_of("mediators", mediators)
    if shared := set(through) & set(attributes_of(who)):
        raise UsageError(f"mediators must be other columns than attribute, but both name {shared.pop()!r}")

    def claim(group: Group, reference: Group) -> Property:
        person = do({name: as_if(reference.settings) for name in through})
        rate = P(under(person, event), given=both(group.condition, condition))
        return rate - P(event, given=both(reference.condition, condition)) >= 0 - most

    return claim_for(who, claim).named(f"{title('path-specific fairness', who)} through {' and '.join(through)}")
