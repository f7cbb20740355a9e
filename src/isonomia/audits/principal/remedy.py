"""The repair of each subgroup of a table."""

from __future__ import annotations

from typing import Any

from isonomia.audits.principal.counting import count
from isonomia.audits.principal.question import ask_about
from isonomia.audits.principal.wording import subgroup
from isonomia.audits.rates.asking import Asker
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
    off by the order of ``1 / sqrt(n)``, and so is what is learned from them. The margin is not used: a repair aims at
    no difference.

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
        changed = None
        if bool((seen.sum(axis=1) > 0).all()):
            changed = repair(
                Observed.from_counts(seen.reshape(question.shape.table)),
                prop.definition,
                objective=objective,
                never_lower=never_lower,
                assumptions=question.constraints,
            )
        found[subgroup(question, key)] = changed if isinstance(changed, Repair) else None
    return found
