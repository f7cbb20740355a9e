"""Equal reliability of what is decided."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from isonomia.errors import UsageError
from isonomia.spec.fairness.compare import compare
from isonomia.spec.fairness.events import condition_of, favourable_event, term_of
from isonomia.spec.fairness.groups import GroupLike, who_of
from isonomia.spec.fairness.tolerance import tolerance_of
from isonomia.spec.operators import P, prediction
from isonomia.spec.property import Property
from isonomia.spec.terms import Term
from isonomia.spec.tree import Value

__all__ = ["accuracy_parity", "predictive_parity"]


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
    hold exactly unless the decisions are perfect or nobody gets the favourable one. It says nothing about those who get
    the other decision.

    The other parameters are those that these properties share; ``isonomia.fairness`` describes them.

    Parameters
    ----------
    outcome, positive
        The column that says what turned out, and the value that justifies the favourable decision. People whose outcome
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
        raise UsageError(
            f"positive and favourable go together, but positive is {positive!r} and favourable is {favourable!r}"
        )
    if positive is None:
        return term_of("decision", decision) == outcome
    event = favourable_event(favourable, decision)
    return (event & (outcome == positive)) | (~event & (outcome != positive))
