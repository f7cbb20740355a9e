"""Solving linear programs, every answer with a certificate that was checked apart from the solver."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import NumericalError
from isonomia.evidence.strata.certificates import (
    TOLERANCE,
    Farkas,
    Optimal,
    Program,
    certify_infeasible,
    certify_optimal,
)

__all__ = ["Solved", "solve"]

Floats = NDArray[np.float64]

_TIGHT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
_ATTEMPTS: tuple[Mapping[str, Any], ...] = (_TIGHT, {**_TIGHT, "presolve": False}, {}, {"presolve": False})
"""The solver's settings, in the order in which they are tried. On badly scaled programs tight tolerances can make it
give up where the usual ones lead to a solution that passes the same check."""


@dataclass(frozen=True, slots=True, eq=False)
class Solved:
    """The least cost of a program, with its proof."""

    value: float
    certificate: Optimal


def solve(program: Program) -> Solved | Farkas:
    """Solve a program whose cost is bounded below.

    Guarantee: the answer passed ``certify_optimal``, or the proof that there is none passed ``certify_infeasible``,
    whatever the solver thought of it. A program that misses feasibility by less than about 1e-9 counts as feasible.

    Raises
    ------
    NumericalError
        Where neither can be certified.
    """
    troubles: list[str] = []
    for options in _ATTEMPTS:
        try:
            return _attempt(program, options)
        except NumericalError as error:
            troubles.append(str(error))
    raise NumericalError(troubles[0])


def _attempt(program: Program, options: Mapping[str, Any]) -> Solved | Farkas:
    found = _highs(program, options)
    if found.status == 0:
        solution = np.maximum(found.x, 0.0)
        certificate = certify_optimal(program, solution, found.eqlin.marginals, found.ineqlin.marginals)
        return Solved(float(program.cost @ solution), certificate)
    return _infeasible(program, options, found.message)


def _infeasible(program: Program, options: Mapping[str, Any], message: str) -> Farkas:
    """Prove infeasibility: minimise the total violation, whose multipliers are Farkas'."""
    equal, below, variables = len(program.right), len(program.bound), len(program.cost)
    relaxed = Program(
        np.concatenate([np.zeros(variables), np.ones(2 * equal + below)]),
        np.hstack([program.equal, np.eye(equal), -np.eye(equal), np.zeros((equal, below))]),
        program.right,
        np.hstack([program.below, np.zeros((below, 2 * equal)), -np.eye(below)]),
        program.bound,
    )
    found = _highs(relaxed, options)
    if found.status != 0 or found.fun <= 2.0 * TOLERANCE:
        raise NumericalError(
            "expected a solution of a linear program or a proof that there is none, but the solver says: "
            f"{message} The table may have probabilities too small to tell from 0; merge categories"
        )
    return certify_infeasible(program, found.eqlin.marginals, found.ineqlin.marginals)


def _highs(program: Program, options: Mapping[str, Any]) -> Any:
    from scipy.optimize import linprog

    return linprog(
        program.cost,
        A_ub=program.below,
        b_ub=program.bound,
        A_eq=program.equal,
        b_eq=program.right,
        method="highs-ds",
        options=dict(options),
    )
