"""Sharp bounds on effects over all worlds that produce an observed table, by linear programming."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isonomia.evidence.strata.assumptions import Constraint
from isonomia.evidence.strata.effects import (
    Definition,
    Effect,
    definition_effects,
    effect_row,
    effect_rows,
    stratum_row,
)
from isonomia.evidence.strata.linear_programs import TOLERANCE, Farkas, Optimal, Program, Solved, solve
from isonomia.evidence.strata.worlds import Observed, observation

__all__ = [
    "SMALLEST",
    "Bounds",
    "Contradiction",
    "FairWorld",
    "NobodyThere",
    "effect_bounds",
    "fair_world",
    "normalised_bounds",
    "stratum_bounds",
]

Floats = NDArray[np.float64]

SMALLEST = 1e-9
"""A stratum that can have no larger probability counts as empty; a table that misses fairness by no more, as fair."""


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
class NobodyThere:
    """No distribution over worlds that produces the table has anybody in the stratum: nothing can be unfair in it."""


@dataclass(frozen=True, slots=True, eq=False)
class FairWorld:
    """A distribution over worlds that produces the table and is fair; that it exists does not mean that it is ours."""

    world: Floats
    proof: Optimal


def effect_bounds(
    observed: Observed, effect: Effect, *, zero: Sequence[Effect] = (), assumptions: Sequence[Constraint] = ()
) -> Bounds | Contradiction:
    """Bound an unnormalised effect ``tau'``.

    Guarantee: the interval holds ``tau'`` of every distribution over worlds that produces the table, has the effects
    ``zero`` equal to 0 and satisfies the assumptions; and both ends are attained (the paper's section 3.2).

    Parameters
    ----------
    observed
        The table.
    effect
        What to bound.
    zero
        Effects that are fixed at zero, for bounds that are jointly sharp.
    assumptions
        From :func:`~isonomia.evidence.strata.assumptions.assume`.
    """
    return _range(observed, effect_row(observed.shape, effect), zero, assumptions)


def stratum_bounds(
    observed: Observed, effect: Effect, *, zero: Sequence[Effect] = (), assumptions: Sequence[Constraint] = ()
) -> Bounds | Contradiction:
    """Bound the probability of an effect's stratum; the arguments are those of :func:`effect_bounds`."""
    return _range(observed, stratum_row(observed.shape, effect.stratum), zero, assumptions)


def normalised_bounds(
    observed: Observed, effect: Effect, *, zero: Sequence[Effect] = (), assumptions: Sequence[Constraint] = ()
) -> Bounds | Contradiction | NobodyThere:
    """Bound a normalised effect ``tau = tau' / P(stratum)``; the arguments are those of :func:`effect_bounds`.

    Guarantee: as there, over the distributions that have somebody in the stratum. Numerator and denominator vary
    together: the linear-fractional program becomes linear in ``u = w t`` with ``t = 1 / P(stratum)`` (Charnes and
    Cooper 1962). The ends are attained, since ``|tau'| <= P(stratum)`` keeps the program bounded.
    """
    masses = stratum_bounds(observed, effect, zero=zero, assumptions=assumptions)
    if isinstance(masses, Contradiction):
        return masses
    if masses.upper <= SMALLEST:
        return NobodyThere()
    program = _scaled(_program(observed, effect_row(observed.shape, effect), zero, assumptions), effect, observed)
    return _both(program)


def fair_world(
    observed: Observed, definition: Definition, *, assumptions: Sequence[Constraint] = ()
) -> FairWorld | Contradiction:
    """Look for a fair world that produces the table.

    Guarantee: a contradiction proves that every world that produces the table (and satisfies the assumptions) violates
    the definition. A fair world proves nothing but that the table cannot tell.
    """
    zero = definition_effects(observed.shape, definition)
    found = solve(_program(observed, np.zeros(observed.shape.worlds), zero, assumptions))
    match found:
        case Solved(certificate=proof):
            return FairWorld(proof.solution, proof)
        case Farkas():
            return Contradiction(found)


def _range(
    observed: Observed, row: Floats, zero: Sequence[Effect], assumptions: Sequence[Constraint]
) -> Bounds | Contradiction:
    return _both(_program(observed, row, zero, assumptions))


def _program(observed: Observed, row: Floats, zero: Sequence[Effect], assumptions: Sequence[Constraint]) -> Program:
    """Minimise ``row @ w`` over the worlds that produce the table."""
    shape = observed.shape
    fixed = effect_rows(shape, zero)
    return Program(
        cost=row,
        equal=np.vstack([observation(shape).reshape(-1, shape.worlds), fixed]),
        right=np.concatenate([observed.probabilities.ravel(), np.zeros(len(fixed))]),
        below=np.asarray([each.row for each in assumptions]).reshape(len(assumptions), shape.worlds),
        bound=np.asarray([each.bound for each in assumptions], dtype=np.float64),
    )


def _scaled(program: Program, effect: Effect, observed: Observed) -> Program:
    """Charnes and Cooper's program in ``(w t, t)``: right-hand sides move to the new column, the stratum has mass 1."""
    mass = np.append(stratum_row(observed.shape, effect.stratum), 0.0)
    return Program(
        cost=np.append(program.cost, 0.0),
        equal=np.vstack([np.column_stack([program.equal, -program.right]), mass]),
        right=np.append(np.zeros(len(program.right)), 1.0),
        below=np.column_stack([program.below, -program.bound]),
        bound=np.zeros(len(program.bound)),
    )


def _both(program: Program) -> Bounds | Contradiction:
    ends: list[Solved] = []
    for cost in (program.cost, -program.cost):
        found = solve(Program(cost, program.equal, program.right, program.below, program.bound))
        if isinstance(found, Farkas):
            return Contradiction(found)
        ends.append(found)
    least, most = ends
    return Bounds(least.value, -most.value, (least.certificate, most.certificate))
