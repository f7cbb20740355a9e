"""The repair of each subgroup of a table: the least random change of decisions that a fair world can explain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.answers import Asker
from isonomia.audits.principal.findings import subgroup
from isonomia.audits.principal.question import PrincipalQuestion, ask_about
from isonomia.audits.principal.sampling import count
from isonomia.errors import DataError, NumericalError, UsageError
from isonomia.evidence.strata.assumptions import LinearAssumption
from isonomia.evidence.strata.bounds import Contradiction
from isonomia.evidence.strata.effects import Definition
from isonomia.evidence.strata.repair import Objective, Repair, adjust_outcomes, outcome_deviation, repair
from isonomia.evidence.strata.worlds import Observed
from isonomia.models.adapt import adapt
from isonomia.populations.finite import Census, Sample
from isonomia.populations.protocol import refuse_clusters
from isonomia.spec.principal import PrincipalFairness

REFUTED = 1e-3
"""The risk of calling true assumptions refuted."""


def repaired(
    counts: NDArray[np.int64],
    definition: Definition,
    *,
    objective: Objective,
    never_lower: bool,
    assumptions: Sequence[LinearAssumption],
) -> tuple[Repair, float]:
    """Find the least repair of a sample's subgroup, and how far its outcomes had to be moved for it.

    Guarantee: that of :func:`~isonomia.evidence.strata.repair.repair` for the counts, where they agree with the
    assumptions. Otherwise that of the table with the nearest outcomes that do: a repair changes decisions only, so no
    repair could make these counts agree.
    """
    table, moved = Observed.from_counts(counts), 0.0
    found = repair(table, definition, objective=objective, never_lower=never_lower, assumptions=assumptions)
    if isinstance(found, Contradiction) and not assumptions:
        raise NumericalError("expected a repair, since equal decisions for all are one, but the solver found none")
    if isinstance(found, Contradiction):
        table, moved = _agreeing(counts, table, assumptions)
        found = repair(table, definition, objective=objective, never_lower=never_lower, assumptions=assumptions)
    if isinstance(found, Contradiction):
        raise DataError("no change of decisions makes them fair under the assumptions: drop one, or never_lower")
    return found, moved


def _agreeing(
    counts: NDArray[np.int64], table: Observed, assumptions: Sequence[LinearAssumption]
) -> tuple[Observed, float]:
    agreed = adjust_outcomes(table, assumptions)
    if isinstance(agreed, Contradiction):
        raise DataError("the assumptions contradict each other, so that nothing can be repaired under them: drop one")
    most = outcome_deviation(counts.sum((1, 2)).tolist(), table.shape.outcomes, REFUTED)
    if agreed.distance > most:
        raise DataError(
            f"the outcomes contradict the assumptions: they are off by {agreed.distance:.3g} in sum, and by chance it "
            f"would hardly be more than {most:.3g}. Drop an assumption, or add to `given` what explains the outcomes"
        )
    return agreed.table, agreed.distance


def remedies(
    prop: PrincipalFairness,
    model: Any,
    people: Sample | Census,
    *,
    objective: Objective = "total",
    never_lower: bool = False,
) -> dict[str, Repair | None]:
    """Find the least repair of each subgroup, from all rows of a table.

    Guarantee: that of :func:`~isonomia.evidence.strata.repair.repair` for the table's own counts. A sample's counts are
    off by the order of ``1 / sqrt(n)``, and so is what is learned from them; where its outcomes contradict the
    assumptions by chance, the nearest that do not are used. The margin is not used: a repair aims for no difference.

    Parameters
    ----------
    prop, model, people
        As in a check.
    objective, never_lower
        As in :func:`~isonomia.evidence.strata.repair.repair`.

    Returns
    -------
    dict
        For each subgroup its repair; ``None`` where nobody has one of the attribute's values, or where the assumptions
        leave no repair.
    """
    refuse_clusters(people, "a repair")
    adapted = None if model is None else adapt(model)
    question = ask_about(prop, people, adapted)
    counts = count(question, people.table, None if adapted is None else Asker(adapted))
    found: dict[str, Repair | None] = {}
    for key, seen in counts.items():
        table = seen.reshape(question.shape.table).astype(np.int64)
        whole, sample = bool((seen.sum(axis=1) > 0).all()), isinstance(people, Sample)
        best = _best(table, question, objective, never_lower, of_a_sample=sample) if whole else None
        found[subgroup(question, key)] = best
    return found


def _best(
    counts: NDArray[np.int64],
    question: PrincipalQuestion,
    objective: Objective,
    never_lower: bool,
    *,
    of_a_sample: bool,
) -> Repair | None:
    """The repair of one subgroup; only a sample's outcomes can contradict true assumptions by chance."""
    definition, assumed = question.prop.definition, question.constraints
    if of_a_sample:
        try:
            return repaired(counts, definition, objective=objective, never_lower=never_lower, assumptions=assumed)[0]
        except DataError:
            return None
    table = Observed.from_counts(counts)
    found = repair(table, definition, objective=objective, never_lower=never_lower, assumptions=assumed)
    return found if isinstance(found, Repair) else None


def decisions_by(estimator: Any, X: Any, y: Any, cv: Any) -> tuple[Any, Any]:
    """Fit a classifier, and return it with its decisions about the given people.

    Parameters
    ----------
    estimator
        The classifier; a copy of it is fitted.
    X, y
        People and outcomes.
    cv
        Folds, for decisions about people that the classifier was not fitted on; ``None`` for decisions about those that
        it was fitted on; ``"prefit"`` where it is already fitted, and is left as it is.
    """
    from sklearn.base import clone
    from sklearn.model_selection import cross_val_predict

    if isinstance(cv, str):
        if cv != "prefit":
            raise UsageError(f"expected cv as a number of folds, None or 'prefit', but got {cv!r}")
        return estimator, estimator.predict(X)
    fitted = clone(estimator).fit(X, y)
    return fitted, fitted.predict(X) if cv is None else cross_val_predict(estimator, X, y, cv=cv)
