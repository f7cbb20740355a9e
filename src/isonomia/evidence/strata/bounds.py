"""Sharp bounds on effects over all worlds that produce an observed table, by linear programming.

Linear programs by HiGHS, every answer with a certificate that is checked independently of the solver.

A program is ``min cost @ x`` over ``x >= 0`` with ``equal @ x == right`` and ``below @ x <= bound``. For any
multipliers ``y`` and ``z <= 0``,

    cost @ x  =  (cost - equal' y - below' z) @ x  +  y @ equal @ x  +  z @ below @ x
              >= (cost - equal' y - below' z) @ x  +  right @ y  +  bound @ z

for every feasible ``x``. So where the reduced costs in the brackets are not negative, ``right @ y + bound @ z`` is a
lower bound on the optimum; a feasible ``x`` that attains it is optimal. With ``cost = 0`` and a positive bound, no
feasible ``x`` exists (Farkas). All sums here are correctly rounded (``math.fsum``), so only the residuals of the
solver's numbers remain, and they are measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import NumericalError
from isonomia.evidence.strata.worlds import (
    SMALL,
    Definition,
    LinearAssumption,
    MergedCells,
    Observed,
    PrincipalEffect,
    assumption_rows,
    definition_effects,
    effect_row,
    effect_rows,
    observation,
    stratum_row,
)

Floats = NDArray[np.float64]

TOLERANCE = 1e-9
"""How far residuals may be from zero, relative to 1 + the largest number of the solution: ten times the tolerance asked
of the solver, and far below any probability that a sample could show. It *can* change an answer: a program that misses
feasibility by less than about twice as much counts as feasible, and a value is exact only to about this much times the
largest variable, which is 1 for probabilities and ``1 / P(stratum)`` for normalised effects."""


@dataclass(frozen=True, slots=True, eq=False)
class LinearProgram:
    """``min cost @ x`` over ``x >= 0`` with ``equal @ x == right`` and ``below @ x <= bound``."""

    cost: Floats
    equal: Floats
    right: Floats
    below: Floats
    bound: Floats


@dataclass(frozen=True, slots=True, eq=False)
class OptimalityProof:
    """A checked proof that a solution is optimal.

    Attributes
    ----------
    solution
        The variables.
    equal_multipliers, below_multipliers
        The dual variables; those of the inequalities are not positive.
    primal_residual
        How far the solution is from feasible: the largest violation of a constraint.
    dual_residual
        How far the multipliers are from feasible: the most negative reduced cost, as a positive number.
    gap
        How far the value is from the bound that the multipliers prove, as a positive number.

    Notes
    -----
    Where the variables sum to at most 1, as probabilities do, no feasible point has a cost below the value by more
    than ``gap + dual_residual``.
    """

    solution: Floats
    equal_multipliers: Floats
    below_multipliers: Floats
    primal_residual: float
    dual_residual: float
    gap: float


@dataclass(frozen=True, slots=True, eq=False)
class InfeasibilityProof:
    """A checked proof that no solution exists.

    Attributes
    ----------
    equal_multipliers, below_multipliers
        ``y`` and ``z <= 0``, none larger than 1 in size.
    violation
        ``right @ y + bound @ z > 0``: every ``x >= 0`` misses the constraints by at least this amount in total.
    dual_residual
        The largest entry of ``equal' y + below' z``, which should not be positive; 0 where it is not.
    """

    equal_multipliers: Floats
    below_multipliers: Floats
    violation: float
    dual_residual: float


def certify_optimal(program: LinearProgram, solution: Floats, y: Floats, z: Floats) -> OptimalityProof:
    """Check a solution and its multipliers; a residual or gap above the tolerance raises ``NumericalError``."""
    missed = [
        *np.abs(_residuals(program.equal, solution, program.right)),
        *_residuals(program.below, solution, program.bound),
        *-solution,
    ]
    reduced = _residuals(np.vstack([program.equal, program.below]).T, np.concatenate([y, z]), program.cost)
    value = fsum(program.cost * solution)
    proven = fsum([*(program.right * y), *(program.bound * z)])
    primal, dual = _worst(missed), _worst([*reduced, *z])
    _accept("primal residual", primal, solution)
    _accept("dual residual", dual, np.concatenate([y, z]))
    _accept("gap", abs(value - proven), solution)
    return OptimalityProof(solution, y, z, primal, dual, abs(value - proven))


def certify_infeasible(program: LinearProgram, y: Floats, z: Floats) -> InfeasibilityProof:
    """Check multipliers that prove that a program has no feasible point.

    Raises ``NumericalError`` unless they show a violation clearly larger than the residual could explain.
    """
    sums = _residuals(np.vstack([program.equal, program.below]).T, np.concatenate([y, z]), np.zeros_like(program.cost))
    residual = _worst([*sums, *z])
    violation = fsum([*(program.right * y), *(program.bound * z)])
    _accept("dual residual", residual, np.concatenate([y, z]))
    # Multipliers are at most 1 in size, so an accepted residual is at most twice the tolerance. Where the variables sum
    # to at most 1, as probabilities do, a feasible point could not explain a larger violation. The variables of a
    # normalised effect sum to 1 / P(stratum) and more, so this does not cover strata rarer than about 1e-6.
    if not violation > 2.0 * TOLERANCE:
        raise NumericalError(
            f"expected multipliers that prove infeasibility, but got a violation of only {violation:g}"
        )
    return InfeasibilityProof(y, z, violation, residual)


_MERGE = "The table may have probabilities too small to tell from 0; merge categories"


def _residuals(rows: Floats, x: Floats, right: Floats) -> Floats:
    """``rows @ x - right``, each entry correctly rounded where the products are exact."""
    return np.asarray(
        [fsum([*(row[row != 0.0] * x[row != 0.0]), -goal]) for row, goal in zip(rows, right, strict=True)]
    )


def _worst(violations: list[float]) -> float:
    return max(0.0, *map(float, violations))


def _accept(name: str, residual: float, numbers: Floats) -> None:
    allowed = TOLERANCE * (1.0 + float(np.max(np.abs(numbers), initial=0.0)))
    if not residual <= allowed:
        message = f"the solution of a linear program has a {name} of {residual:g}; expected at most {allowed:g}"
        raise NumericalError(f"{message}. {_MERGE}")


_TIGHT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
_ATTEMPTS: tuple[Mapping[str, Any], ...] = (_TIGHT, {**_TIGHT, "presolve": False}, {}, {"presolve": False})
"""The solver's settings, in the order in which they are tried: first the tightest that HiGHS accepts. On badly scaled
programs the tightest can make it give up where the usual ones lead to a solution that passes the same check. They
cannot make an answer wrong, since the check is the same."""


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """The least cost of a program, with its proof."""

    value: float
    certificate: OptimalityProof


def solve(program: LinearProgram) -> Solution | InfeasibilityProof:
    """Solve a program whose cost is bounded below.

    Guarantee: the solution passed ``certify_optimal``, or the proof of infeasibility passed ``certify_infeasible``,
    whatever the solver reported; where neither passes, ``NumericalError`` is raised. A program that misses feasibility
    by less than about ``2 * TOLERANCE`` counts as feasible.
    """
    errors: list[NumericalError] = []
    for options in _ATTEMPTS:
        try:
            return _attempt(program, options)
        except NumericalError as error:
            errors.append(error)
    raise NumericalError(str(errors[0]))


def _attempt(program: LinearProgram, options: Mapping[str, Any]) -> Solution | InfeasibilityProof:
    result = _highs(program, options)
    if result.status == 0:
        solution = np.maximum(result.x, 0.0)
        certificate = certify_optimal(program, solution, result.eqlin.marginals, result.ineqlin.marginals)
        return Solution(float(program.cost @ solution), certificate)
    return _infeasible(program, options, result.message)


def _infeasible(program: LinearProgram, options: Mapping[str, Any], message: str) -> InfeasibilityProof:
    """Prove infeasibility: minimise the total violation; the multipliers of that program are a Farkas proof."""
    equal, below, variables = len(program.right), len(program.bound), len(program.cost)
    relaxed = LinearProgram(
        np.concatenate([np.zeros(variables), np.ones(2 * equal + below)]),
        np.hstack([program.equal, np.eye(equal), -np.eye(equal), np.zeros((equal, below))]),
        program.right,
        np.hstack([program.below, np.zeros((below, 2 * equal)), -np.eye(below)]),
        program.bound,
    )
    result = _highs(relaxed, options)
    if result.status != 0 or result.fun <= 2.0 * TOLERANCE:
        problem = "expected a solution of a linear program or a proof of infeasibility, but the solver says"
        raise NumericalError(f"{problem}: {message} {_MERGE}")
    return certify_infeasible(program, result.eqlin.marginals, result.ineqlin.marginals)


def _highs(program: LinearProgram, options: Mapping[str, Any]) -> Any:
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


NEGLIGIBLE = 1e-9
"""A stratum whose probability cannot exceed this counts as empty; a table that misses fairness by no more counts as
fair. This is the accuracy of the linear programs. It can change answers only about strata and effects this small."""


@dataclass(frozen=True, slots=True, eq=False)
class Bounds:
    """The least and the greatest value, each attained by some distribution over worlds, each with its proof."""

    lower: float
    upper: float
    proofs: tuple[OptimalityProof, OptimalityProof]


@dataclass(frozen=True, slots=True, eq=False)
class Contradiction:
    """No distribution over worlds produces the table and satisfies the assumptions, with the proof."""

    proof: InfeasibilityProof


@dataclass(frozen=True, slots=True)
class EmptyStratum:
    """No distribution over worlds that produces the table has anyone in the stratum: nothing can be unfair there."""


@dataclass(frozen=True, slots=True, eq=False)
class FairWorld:
    """A distribution over worlds that produces the table and is fair; it need not be the true one."""

    world: Floats
    proof: OptimalityProof


def effect_bounds(
    observed: Observed,
    effect: PrincipalEffect,
    *,
    zero: Sequence[PrincipalEffect] = (),
    assumptions: Sequence[LinearAssumption] = (),
) -> Bounds | Contradiction:
    """Bound an unnormalised effect ``tau'``.

    Guarantee: the interval contains ``tau'`` of every distribution over worlds that produces the table, has the effects
    ``zero`` equal to 0 (for bounds that are jointly sharp) and satisfies the assumptions; and both ends are attained
    (the paper's section 3.2).
    """
    return _range(_program(observed, effect_row(observed.shape, effect), zero, assumptions))


def stratum_bounds(
    observed: Observed,
    effect: PrincipalEffect,
    *,
    zero: Sequence[PrincipalEffect] = (),
    assumptions: Sequence[LinearAssumption] = (),
) -> Bounds | Contradiction:
    """Bound the probability of an effect's stratum; the arguments are those of :func:`effect_bounds`."""
    return _range(_program(observed, stratum_row(observed.shape, effect.stratum), zero, assumptions))


def normalised_bounds(
    observed: Observed,
    effect: PrincipalEffect,
    *,
    zero: Sequence[PrincipalEffect] = (),
    assumptions: Sequence[LinearAssumption] = (),
) -> Bounds | Contradiction | EmptyStratum:
    """Bound a normalised effect ``tau = tau' / P(stratum)``; the arguments are those of :func:`effect_bounds`.

    Guarantee: as there, over the distributions that have someone in the stratum. Numerator and denominator vary
    together: the linear-fractional program becomes linear in ``u = w t`` with ``t = 1 / P(stratum)`` (Charnes and
    Cooper 1962). The ends are attained, since ``|tau'| <= P(stratum)`` keeps the program bounded. Its variables reach
    ``1 / P(stratum)``, so for a stratum of a few in a hundred million the solver is not accurate enough: then the
    bounds are -1 and 1, which always hold but are not sharp.
    """
    mass = stratum_row(observed.shape, effect.stratum)
    largest = solve(_program(observed, -mass, zero, assumptions))
    if isinstance(largest, InfeasibilityProof):
        return Contradiction(largest)
    if -largest.value <= NEGLIGIBLE:
        return EmptyStratum()
    program = _program(observed, effect_row(observed.shape, effect), zero, assumptions, mass)
    bounds = _range(_scaled(program))
    # The stratum need not be empty, as the program before has proved, so a contradiction here is due to rounding.
    return bounds if isinstance(bounds, Bounds) else Bounds(-1.0, 1.0, (largest.certificate, largest.certificate))


def fair_world(
    observed: Observed, definition: Definition, *, assumptions: Sequence[LinearAssumption] = ()
) -> FairWorld | Contradiction:
    """Look for a fair world that produces the table.

    Guarantee: a contradiction proves that every world that produces the table (and satisfies the assumptions) violates
    the definition. A fair world proves only that the table does not refute the definition.
    """
    zero = definition_effects(observed.shape, definition)
    answer = solve(_program(observed, np.zeros(observed.shape.worlds), zero, assumptions))
    match answer:
        case Solution(certificate=proof):
            return FairWorld(proof.solution, proof)
        case InfeasibilityProof():
            return Contradiction(answer)


def _program(
    observed: Observed,
    row: Floats,
    zero: Sequence[PrincipalEffect],
    assumptions: Sequence[LinearAssumption],
    mass: Floats | None = None,
) -> LinearProgram:
    """Minimise ``row @ w`` over the worlds that produce the table, or one of the tables between its ends.

    Where there are many worlds, cells that no row tells apart are merged; a row of zeros, which asks for a world, keeps
    them. ``mass`` is one more equation, without a right-hand side, for :func:`_scaled`.
    """
    shape = observed.shape
    fixed = effect_rows(shape, zero)
    below, bound = assumption_rows(shape, assumptions)
    scaled = np.zeros((0, shape.worlds)) if mass is None else mass[None]
    shown, right = observation(shape).reshape(-1, shape.worlds), observed.probabilities.ravel()
    if shape.worlds > SMALL and observed.ends is None and row.any():
        merged = MergedCells.of(shape, np.vstack([row, fixed, below, scaled]))
        kept, some = merged.representatives, merged.observation.any(axis=-1)
        row, fixed, below, scaled = row[kept], fixed[:, kept], below[:, kept], scaled[:, kept]
        table = observed.probabilities.reshape(shape.attributes, -1)
        shown, right = merged.observation[some], merged.sums(table)[some]
    equal = shown
    if observed.ends is not None:
        low, high = (end.ravel() for end in observed.ends)
        known, wide = low == high, low < high
        # Ends closer together than the solver's accuracy would make programs that it cannot tell from infeasible ones.
        low, high = np.maximum(low - TOLERANCE, 0.0), np.minimum(high + TOLERANCE, 1.0)
        equal = np.vstack([shown[known], np.ones((1, shape.worlds))])
        right = np.append(right[known], 1.0)
        below, bound = np.vstack([shown[wide], -shown[wide], below]), np.concatenate([high[wide], -low[wide], bound])
    return LinearProgram(
        cost=row,
        equal=np.vstack([scaled, equal, fixed]),
        right=np.concatenate([np.zeros(len(scaled)), right, np.zeros(len(fixed))]),
        below=below,
        bound=bound,
    )


def _scaled(program: LinearProgram) -> LinearProgram:
    """Charnes and Cooper's program in ``(w t, t)``: right-hand sides move to the new column, the stratum has mass 1.

    The stratum is the program's first equation.
    """
    right = np.zeros(len(program.right))
    right[0] = 1.0
    return LinearProgram(
        cost=np.append(program.cost, 0.0),
        equal=np.column_stack([program.equal, -program.right]),
        right=right,
        below=np.column_stack([program.below, -program.bound]),
        bound=np.zeros(len(program.bound)),
    )


def _range(program: LinearProgram) -> Bounds | Contradiction:
    """The least and the greatest cost."""
    ends: list[Solution] = []
    for cost in (program.cost, -program.cost):
        answer = solve(LinearProgram(cost, program.equal, program.right, program.below, program.bound))
        if isinstance(answer, InfeasibilityProof):
            return Contradiction(answer)
        ends.append(answer)
    least, most = ends
    return Bounds(least.value, -most.value, (least.certificate, most.certificate))
