"""Similar people are treated similarly."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf

from isonomia.spec.fairness.arguments import number_within
from isonomia.spec.fairness.distance import Distance, distance_of
from isonomia.spec.fairness.events import condition_of, term_of
from isonomia.spec.fairness.under import under
from isonomia.spec.operators import P, score
from isonomia.spec.persons import other
from isonomia.spec.property import Property
from isonomia.spec.terms import Term

__all__ = ["individual"]


def individual(
    distance: Distance,
    *,
    share: float,
    lipschitz: float = 1.0,
    decision: str | Term = score,
    columns: Iterable[str] | None = None,
    given: str | Term | None = None,
) -> Property:
    """Of random pairs of people, most are treated no more differently than they are different.

    It demands ``P[abs(decision - other.decision) <= lipschitz * distance] >= share``, where the second person is drawn
    independently of the first.

    It does **not** imply that *every* pair is treated so: very similar people are rarely drawn together, and a sharp
    step of the model concerns few pairs. It does not imply parity between groups. All that it says of justice lies in
    the distance.

    Parameters
    ----------
    distance
        How different two people are, in one of four ways: a mapping from columns to scales, for the sum of
        ``abs(age - other.age) / scale``, where ``"differs"`` in place of a scale counts 1 when two categories differ; a
        row expression, as text or as a term, that speaks of ``other``; or a Python function, given to ``columns``'
        values of the first and of the second people, which returns one number a pair. A pair whose distance is missing
        counts against the property; a missing category counts as not different.
    share
        Which share of the pairs must be treated so; above 0 and at most 1.
    lipschitz
        How much more the decision may differ than the people do.
    decision
        The number that is decided: the model's ``score``, its ``prediction`` where that is a number, or a column.
    columns
        The columns that a Python function needs.
    given
        A condition that both people meet.

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
    term, apart = term_of("decision", decision), distance_of(distance, columns)
    factor = number_within("lipschitz", lipschitz, 0, inf, above=True)
    condition = condition_of("given", given)
    event = abs(term - under(other, term)) <= (apart if factor == 1 else factor * apart)
    both = None if condition is None else condition & under(other, condition)
    least = number_within("share", share, 0, 1, above=True)
    return (P(event, given=both) >= least).named("individual fairness")
