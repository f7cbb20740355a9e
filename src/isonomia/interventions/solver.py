"""Asking HiGHS, through SciPy, for a point that satisfies linear rows."""

from __future__ import annotations

import numpy as np

from isonomia.errors import NumericalError
from isonomia.interventions.constraints.moves import Bools, Floats

__all__ = ["SLACK", "cheapest"]

SLACK = 1e-6
"""HiGHS satisfies rows and integrality up to this."""
_OPTIMAL, _INFEASIBLE = 0, 2


def cheapest(
    cost: Floats, whole: Bools, bounds: tuple[Floats, Floats], rows: tuple[Floats, Floats, Floats]
) -> Floats | None:
    """A point of least cost; ``None`` where no point satisfies the rows.

    Parameters
    ----------
    cost
        For each variable.
    whole
        Whether each variable is a whole number.
    bounds
        The least and the greatest value of each variable.
    rows
        The matrix, and the least and greatest value of each row.

    Raises
    ------
    NumericalError
        Where the solver cannot say, or its point breaks the rows.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp

    between = LinearConstraint(*rows) if len(rows[1]) else ()
    # Its presolve sometimes fails on a small program that has no whole solution; without it, it answers.
    for presolve in (True, False):
        found = milp(
            cost,
            integrality=whole.astype(int),
            bounds=Bounds(*bounds),
            constraints=between,
            options={"presolve": presolve},
        )
        if found.status == _INFEASIBLE:
            return None
        if found.status == _OPTIMAL and found.x is not None:
            _check(np.asarray(found.x), rows)
            return np.asarray(found.x, dtype=np.float64)
    raise NumericalError(f"the solver could not say whether linear rows can be satisfied: {found.message}")


def _check(point: Floats, rows: tuple[Floats, Floats, Floats]) -> None:
    matrix, low, high = rows
    values = matrix @ point
    slack = 10 * SLACK * (1.0 + np.abs(matrix) @ np.abs(point))
    if ((values < low - slack) | (values > high + slack)).any():
        raise NumericalError("the solver answered with a point that breaks the rows it was given")
