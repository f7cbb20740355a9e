"""Sharp bounds on effects over all worlds that produce an observed table, by linear programming."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isonomia.evidence.strata.assumptions import LinearAssumption, assumption_rows
from isonomia.evidence.strata.effects import (
    Definition,
    PrincipalEffect,
    definition_effects,
    effect_row,
    effect_rows,
    stratum_row,
)
from isonomia.evidence.strata.linear_programs import TOLERANCE, Farkas, LinearProgram, Optimal, Solution, solve
from isonomia.evidence.strata.worlds import Observed, observation

Floats = NDArray[np.float64]

NEGLIGIBLE = 1e-9
"""A stratum whose probability cannot exceed this counts as empty; a table that misses fairness by no more counts as
fair. This is the accuracy of the linear programs. It can change answers only about strata and effects this small."""


@dataclass(frozen=True, slots=True, eq=False)
class Bounds:
    """The least and the greatest value, each attained by some distribution over worlds, each with its proof."""

    lower: float
    upper: float
    proofs: tuple[Optimal, Optimal]

    def covers(self, value: float = 0.0) -> bool:
        """Whether the value lies within. Covering zero proves nothing: fair *and* unfair worlds produce the table."""
        return self.lower - TOLERANCE <= value <= self.upper + TOLERANCE


@dataclass(frozen=True, slots=True, eq=False)
class Contradiction:
    """No distribution over worlds produces the table and satisfies the assumptions, with the proof."""

    proof: Farkas


@dataclass(frozen=True, slots=True)
class EmptyStratum:
    """No distribution over worlds that produces the table has anybody in the stratum: nothing can be unfair there."""


@dataclass(frozen=True, slots=True, eq=False)
class FairWorld:
    """A distribution over worlds that produces the table and is fair; it need not be the true one."""

    world: Floats
    proof: Optimal


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

    Guarantee: as there, over the distributions that have somebody in the stratum. Numerator and denominator vary
    together: the linear-fractional program becomes linear in ``u = w t`` with ``t = 1 / P(stratum)`` (Charnes and
    Cooper 1962). The ends are attained, since ``|tau'| <= P(stratum)`` keeps the program bounded. Its variables reach
    ``1 / P(stratum)``, so for a stratum of a few in a hundred million the solver is not accurate enough: then the
    bounds are -1 and 1, which always hold but are not sharp.
    """
    masses = stratum_bounds(observed, effect, zero=zero, assumptions=assumptions)
    if isinstance(masses, Contradiction):
        return masses
    if masses.upper <= NEGLIGIBLE:
        return EmptyStratum()
    program = _program(observed, effect_row(observed.shape, effect), zero, assumptions)
    bounds = _range(_scaled(program, effect, observed))
    # The stratum need not be empty, as the program before has proved, so a contradiction here is due to rounding.
    return bounds if isinstance(bounds, Bounds) else Bounds(-1.0, 1.0, masses.proofs)


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
        case Farkas():
            return Contradiction(answer)


def _program(
    observed: Observed, row: Floats, zero: Sequence[PrincipalEffect], assumptions: Sequence[LinearAssumption]
) -> LinearProgram:
    """Minimise ``row @ w`` over the worlds that produce the table, or one of the tables between its ends."""
    shape = observed.shape
    fixed = effect_rows(shape, zero)
    below, bound = assumption_rows(shape, assumptions)
    shown = observation(shape).reshape(-1, shape.worlds)
    equal, right = shown, observed.probabilities.ravel()
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
        equal=np.vstack([equal, fixed]),
        right=np.concatenate([right, np.zeros(len(fixed))]),
        below=below,
        bound=bound,
    )


def _scaled(program: LinearProgram, effect: PrincipalEffect, observed: Observed) -> LinearProgram:
    """Charnes and Cooper's program in ``(w t, t)``: right-hand sides move to the new column, the stratum has mass 1."""
    mass = np.append(stratum_row(observed.shape, effect.stratum), 0.0)
    return LinearProgram(
        cost=np.append(program.cost, 0.0),
        equal=np.vstack([np.column_stack([program.equal, -program.right]), mass]),
        right=np.append(np.zeros(len(program.right)), 1.0),
        below=np.column_stack([program.below, -program.bound]),
        bound=np.zeros(len(program.bound)),
    )


def _range(program: LinearProgram) -> Bounds | Contradiction:
    """The least and the greatest cost."""
    ends: list[Solution] = []
    for cost in (program.cost, -program.cost):
        answer = solve(LinearProgram(cost, program.equal, program.right, program.below, program.bound))
        if isinstance(answer, Farkas):
            return Contradiction(answer)
        ends.append(answer)
    least, most = ends
    return Bounds(least.value, -most.value, (least.certificate, most.certificate))
