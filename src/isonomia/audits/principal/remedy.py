"""The repair of each subgroup of a table."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.principal.counting import count
from isonomia.audits.principal.question import Question, ask_about
from isonomia.audits.principal.repairing import repaired
from isonomia.audits.principal.wording import subgroup
from isonomia.audits.rates.asking import Asker
from isonomia.errors import DataError
from isonomia.evidence.strata.observed import Observed
from isonomia.evidence.strata.repair import Objective, Repair, repair
from isonomia.models.adapt import adapt
from isonomia.populations.census import Census
from isonomia.populations.sample import Sample
from isonomia.spec.principal import PrincipalFairness

__all__ = ["remedies"]


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
    assumptions by chance, the nearest that do not are used. The margin is not used: a repair aims at no difference.

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
    counts: NDArray[np.int64], question: Question, objective: Objective, never_lower: bool, *, of_a_sample: bool
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
