"""The repair of one subgroup of a sample, also where assumptions are made that its outcomes contradict by chance."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import DataError, NumericalError
from isonomia.evidence.strata.assumptions import Constraint
from isonomia.evidence.strata.bounds import Contradiction
from isonomia.evidence.strata.effects import Definition
from isonomia.evidence.strata.observed import Observed
from isonomia.evidence.strata.outcomes import agreeing_outcomes, chance
from isonomia.evidence.strata.repair import Objective, Repair, repair

__all__ = ["repaired"]

REFUTED = 1e-3
"""The risk of calling assumptions refuted that are true."""


def repaired(
    counts: NDArray[np.int64],
    definition: Definition,
    *,
    objective: Objective,
    never_lower: bool,
    assumptions: Sequence[Constraint],
) -> tuple[Repair, float]:
    """Find the least repair of a sample's subgroup, and how far its outcomes had to be moved for it.

    Guarantee: that of :func:`~isonomia.evidence.strata.repair.repair` for the counts, where they agree with the
    assumptions. Otherwise that of the table with the nearest outcomes that do: a repair changes decisions, so that no
    repair could make these counts agree.

    Raises
    ------
    DataError
        Where the assumptions are refuted: by themselves, by the outcomes at a risk of 0.001, or since no decisions
        could ever be fair under them.
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


def _agreeing(counts: NDArray[np.int64], table: Observed, assumptions: Sequence[Constraint]) -> tuple[Observed, float]:
    agreed = agreeing_outcomes(table, assumptions)
    if isinstance(agreed, Contradiction):
        raise DataError("the assumptions contradict each other, so that nothing can be repaired under them: drop one")
    most = chance(counts.sum((1, 2)).tolist(), table.shape.outcomes, REFUTED)
    if agreed.distance > most:
        raise DataError(
            f"the outcomes contradict the assumptions: they are off by {agreed.distance:.3g} in sum, and by chance it "
            f"would hardly be more than {most:.3g}. Drop an assumption, or add to `given` what explains the outcomes"
        )
    return agreed.table, agreed.distance
