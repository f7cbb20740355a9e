"""Properties of decisions one by one: similar people are treated similarly, and no one otherwise in another group.

The second kind needs a causal model: what would be decided about people, had they belonged to another group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from math import inf
from operator import add
from typing import Any, TypeAlias

from isonomia.errors import UsageError, with_known_options
from isonomia.spec.fairness.comparison import (
    Group,
    GroupLike,
    attributes_of,
    both,
    claim_for,
    condition_of,
    favourable_event,
    names_of,
    number_within,
    relate,
    term_of,
    title,
    tolerance_of,
    toward,
    under,
    who_of,
)
from isonomia.spec.operators import P, as_if, col, do, other, pair_function, prediction, score
from isonomia.spec.parser import parse_condition
from isonomia.spec.property import Property, Term
from isonomia.spec.text import shown, to_text
from isonomia.spec.tree import Other, Value, versions_of

Distance: TypeAlias = Mapping[str, float | str] | str | Term | Callable[[Any, Any], Any]
"""Scales of columns; a row expression that refers to ``other``, as text or as a term; or a function of two people."""


@with_known_options
def individual(
    distance: Distance,
    *,
    share: float,
    lipschitz: float = 1.0,
    decision: str | Term = score,
    columns: Iterable[str] | None = None,
    given: str | Term | None = None,
) -> Property:
    """In most random pairs, two people are treated no more differently than they are different.

    It demands ``P[abs(decision - other.decision) <= lipschitz * distance] >= share``, where the second person is drawn
    independently of the first.

    It does **not** imply this for *every* pair: very similar people are rarely drawn together, and a sharp step of the
    model concerns few pairs. It does not imply parity between groups. Whether it is just depends on the distance alone.

    Parameters
    ----------
    distance
        How different two people are, in one of four ways: a mapping from columns to scales, for the sum of
        ``abs(age - other.age) / scale``, where ``"differs"`` in place of a scale counts 1 when two categories differ; a
        row expression, as text or as a term, that refers to ``other``; or a Python function, called with the values of
        ``columns`` for the first and for the second people, which returns one number per pair. A pair whose distance is
        missing counts against the property; a missing category counts as not different.
    share
        The share of pairs for which it must be true; above 0 and at most 1.
    lipschitz
        How much more the decision may differ than the people do.
    decision
        The decision as a number: the model's ``score``, its ``prediction`` where that is a number, or a column.
    columns
        The columns that a Python function needs.
    given
        A condition that both people must meet.

    References
    ----------
    Dwork, Hardt, Pitassi, Reingold and Zemel (2012), "Fairness through awareness"; for random pairs, section 7 of
    Bastani, Zhang and Solar-Lezama (2019).

    Examples
    --------
    >>> print(individual({"age": 50, "job": "differs"}, share=0.95))
    P[abs(score - other.score) <= abs(age - other.age) / 50 + (job != other.job)] >= 0.95
    >>> print(individual("abs(age - other.age)", lipschitz=0.1, share=0.95, decision="pay"))
    P[abs(pay - other.pay) <= 0.1 * abs(age - other.age)] >= 0.95
    """
    term, apart = term_of("decision", decision), _distance(distance, columns)
    factor = number_within("lipschitz", lipschitz, 0, inf, above=True)
    condition = condition_of("given", given)
    event = abs(term - under(other, term)) <= (apart if factor == 1 else factor * apart)
    given_both = None if condition is None else condition & under(other, condition)
    least = number_within("share", share, 0, 1, above=True)
    return (P(event, given=given_both) >= least).named("individual fairness")


def _distance(distance: Any, columns: Iterable[str] | None = None) -> Term:
    """The term that says how different a person and the second one are."""
    if callable(distance) and not isinstance(distance, Term):
        if columns is None:
            raise UsageError(f"columns must say which columns {distance!r} needs, such as columns=['age', 'hours']")
        return pair_function(distance, columns)
    if columns is not None:
        raise UsageError(f"columns is only for a Python function, but distance is {shown(distance)}")
    if isinstance(distance, Mapping):
        return _scaled(distance)
    if not isinstance(distance, str | Term):
        raise UsageError(
            "distance must be scales of columns such as {'age': 50, 'sex': 'differs'}, an expression such as "
            f'"abs(age - other.age) / 50", or a function of two people, but it is {shown(distance)}'
        )
    return _between_two(distance if isinstance(distance, Term) else Term(parse_condition(distance)))


def _scaled(scales: Mapping[Any, Any]) -> Term:
    if not scales:
        raise UsageError("distance names no column, so any two people would be alike: such as {'age': 50}")
    return reduce(add, (_one_column(name, scale) for name, scale in scales.items()))


def _one_column(name: Any, scale: Any) -> Term:
    column = col(name)
    if isinstance(scale, str):
        if scale != "differs":
            raise UsageError(f"distance[{name!r}] must be a number or 'differs', but it is {shown(scale)}")
        differs: Term = column != other(column)
        return differs
    number = number_within(f"distance[{name!r}]", scale, 0, inf, above=True, why=" (or 'differs' for a category)")
    apart = abs(column - other(column))
    return apart if number == 1 else apart / _plain(number)


def _plain(number: float) -> float:
    """A whole number without its point, as people write it."""
    return int(number) if number.is_integer() and abs(number) < 1e15 else number


def _between_two(term: Term) -> Term:
    if Other() not in versions_of(term.node):
        raise UsageError(f"distance must refer to `other`, as abs(age - other.age), but it is `{to_text(term.node)}`")
    return term


# ---------------------------------------------------------------------------- had they belonged to another group


@with_known_options
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
    """Most people would have received the same decision, had they belonged to another group.

    It demands ``P[decision == do(attribute = majority).decision | attribute == minority] >= share``, for the same
    people with everything that does not depend on the attribute as it is. Without a majority, it demands this of every
    group under the value of every other.

    It does **not** imply parity: groups may differ for reasons that do not depend on the attribute. It rests on the
    causal model, which no data can prove, and needs a population that has one.

    The other parameters are those that these properties share; ``isonomia.fairness`` describes them.

    Parameters
    ----------
    share
        The share of people who must receive the same decision; above 0 and at most 1.
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


@with_known_options
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

    It does **not** imply that any single person would have received the same decision: gains and losses may cancel,
    which :func:`counterfactual` does not allow. It rests on the causal model, and needs a population that has one.

    The parameters are those that these properties share; ``isonomia.fairness`` describes them. A ratio is that of what
    is to what would have been, for every pair of groups; it is undefined where no one would have been selected.

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


@with_known_options
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
    everyone: what would be decided if all people were of one group, or all of the other.

    It does **not** imply that no one is affected: gains and losses may cancel, which :func:`no_causal_discrimination`
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


@with_known_options
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
    """Most people would receive the same decision, whichever group they belonged to.

    It demands ``P[do(attribute = minority).decision == do(attribute = majority).decision] >= share``, over everyone.

    It does **not** imply parity, and says nothing about which group gains where the decisions differ. It rests on the
    causal model, and needs a population that has one. Where nothing else depends on the attribute, this tests what
    changes when the attribute alone is flipped.

    The other parameters are those that these properties share; ``isonomia.fairness`` describes them.

    Parameters
    ----------
    share
        The share of people who must receive the same decision; above 0 and at most 1.
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


@with_known_options
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

    It does **not** imply demographic parity: effects through the mediators are accepted, without asking whether that is
    right. It is one-sided: the minority may do better. It rests on the causal model, and needs a population that has
    one.

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
