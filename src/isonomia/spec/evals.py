"""Named properties of evals: two models, or two versions of one, on the same rows.

``isonomia.evals`` describes the parameters that they share.
"""

from __future__ import annotations

from dataclasses import replace

from isonomia.errors import UsageError, with_known_options
from isonomia.spec import tree
from isonomia.spec.fairness.comparison import both, condition_of, number_within, term_of
from isonomia.spec.operators import col
from isonomia.spec.property import Property, Term
from isonomia.spec.text import shown

__all__ = ["better", "not_worse"]


@with_known_options
def not_worse(
    outcome: str | Term | None = None,
    *,
    margin: float = 0.02,
    score: tuple[float, float] | None = None,
    by: str | None = None,
    given: str | Term | None = None,
    new: str = "new",
    old: str = "old",
) -> Property:
    """The new model is right about as often as the old one, or more often: at most ``margin`` less.

    It does **not** imply that both are right on the same rows, nor, without ``by``, that no group got worse.

    The parameters are those that these properties share; ``isonomia.evals`` describes them.

    Examples
    --------
    >>> print(not_worse("label"))
    P[new.prediction == label] - P[old.prediction == label] >= -0.02
    >>> print(not_worse("label", by="topic", margin=0.05))
    for g in topic: P[new.prediction == label | topic == g] - P[old.prediction == label | topic == g] >= -0.05
    """
    number_within("margin", margin, 0.0, float("inf"))
    return _compared("not worse", ">=", -margin, (outcome, score, by, given), (new, old))


@with_known_options
def better(
    outcome: str | Term | None = None,
    *,
    margin: float = 0.0,
    score: tuple[float, float] | None = None,
    by: str | None = None,
    given: str | Term | None = None,
    new: str = "new",
    old: str = "old",
) -> Property:
    """The new model is right more often than the old one, by more than ``margin``.

    It does **not** imply that it is right wherever the old one is: see where they differ before a release.

    The parameters are those that these properties share; ``isonomia.evals`` describes them.

    Examples
    --------
    >>> print(better(score=(0, 1)))
    E[new.score from 0 to 1] - E[old.score from 0 to 1] > 0
    """
    number_within("margin", margin, 0.0, float("inf"))
    return _compared("better", ">", margin, (outcome, score, by, given), (new, old))


_What = tuple[str | Term | None, tuple[float, float] | None, str | None, str | Term | None]


def _compared(name: str, relation: tree.Relation, threshold: float, what: _What, models: tuple[str, str]) -> Property:
    outcome, score, by, given = what
    if outcome is not None and score is not None:
        raise UsageError("expected an outcome or the range of a score, but got both", name="score")
    condition, right = condition_of("given", given), None if outcome is None else term_of("outcome", outcome)
    among = None if condition is None else condition.node
    # Without an answer to compare with, both would count as wrong, and the difference would shrink.
    within = () if right is None else (tree.Mean(tree.Missing(right.node), among, 0.0, 0.0),)
    variable = "h" if by == "g" else "g"
    if by is not None:
        if not isinstance(by, str) or not by:
            raise UsageError(f"expected by as the name of a column, but got {shown(by)}", name="by")
        condition = both(Term(tree.Compare("==", col(by).node, tree.Variable(variable))), condition)
    row = None if condition is None else condition.node
    first, second = (_leaf(model, right, score, row) for model in models)
    difference = tree.Arithmetic("-", first, second)
    formula: tree.Formula = tree.Comparison(difference, ((relation, tree.Constant(threshold + 0.0)),))
    if by is not None:
        formula = tree.Each(variable, tree.Column(by), (), formula)
    outcomes = () if right is None else tree.columns_of(right.node)
    return replace(Property(formula, outcomes=outcomes, within=within), name=name)


def _leaf(model: str, right: Term | None, score: tuple[float, float] | None, given: tree.Row | None) -> tree.Leaf:
    if score is None:
        wanted = tree.Literal(1) if right is None else right.node
        return tree.Rate(tree.Compare("==", tree.Output("prediction", model=model), wanted), given)
    try:
        low, high = (float(end) for end in score)
    except (TypeError, ValueError):
        low = high = 0.0
    if not low < high:
        raise UsageError(f"expected score as (lowest, highest), but got {shown(score)}", name="score")
    return tree.Mean(tree.Output("score", model=model), given, low, high)
