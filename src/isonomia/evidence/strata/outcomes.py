"""Outcomes of a sample that contradict an assumption by chance, moved as little as possible until they do not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log

import numpy as np
from numpy.typing import NDArray

from isonomia.evidence.strata.assumptions import Constraint
from isonomia.evidence.strata.bounds import Contradiction
from isonomia.evidence.strata.certificates import Farkas, Program
from isonomia.evidence.strata.observed import Observed
from isonomia.evidence.strata.programs import Solved, solve
from isonomia.evidence.strata.worlds import Shape, observation

__all__ = ["Agreeing", "agreeing_outcomes", "chance"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Agreeing:
    """A table whose outcomes agree with assumptions.

    Attributes
    ----------
    table
        It has the decisions of the original within each attribute value and outcome.
    distance
        How far its outcomes are from the original ones: the absolute differences of their probabilities, summed over
        outcomes and attribute values.
    """

    table: Observed
    distance: float


def agreeing_outcomes(observed: Observed, assumptions: Sequence[Constraint]) -> Agreeing | Contradiction:
    """Move the outcomes of a table as little as possible, until some world has them and satisfies the assumptions.

    Guarantee: no outcomes that such a world has are nearer; the solution was checked. Where the population's outcomes
    are those of such a world, they are themselves among those that could have been chosen, so that the table's outcomes
    are at most twice as far from the population's as the sample's are. A contradiction means that no world at all
    satisfies the assumptions.

    Parameters
    ----------
    observed
        The table of a sample.
    assumptions
        From :func:`~isonomia.evidence.strata.assumptions.assume`.
    """
    seen = observed.probabilities.sum(1)
    found = solve(_program(observed.shape, seen, assumptions))
    match found:
        case Farkas():
            return Contradiction(found)
        case Solved(value=distance, certificate=proof):
            moved = _outcomes(observed.shape) @ proof.solution[: observed.shape.worlds]
            return Agreeing(_with_outcomes(observed, moved.reshape(seen.shape)), max(distance, 0.0))


def chance(people: Sequence[float], outcomes: int, delta: float) -> float:
    """How far the outcomes of independent draws are from the population's, but with probability at most ``delta``.

    Guarantee: the distance of :class:`Agreeing` between a sample's outcomes and the population's is larger with
    probability at most ``delta``. For each attribute value, ``k`` shares from ``n`` draws are off by ``eps`` or more
    with probability at most ``(2**k - 2) exp(-n eps**2 / 2)`` (Weissman and others 2003, Theorem 2.1).

    Parameters
    ----------
    people
        How many have each attribute value.
    outcomes
        How many outcomes there are.
    delta
        The risk, for all attribute values together.
    """
    needed = 2.0 * log((2.0**outcomes - 2.0) * len(people) / delta)
    return float(np.sqrt(needed / np.asarray(people, dtype=np.float64)).sum())


def _program(shape: Shape, seen: Floats, assumptions: Sequence[Constraint]) -> Program:
    """The variables are the worlds' probabilities, then how much each outcome's is raised, then lowered."""
    cells, worlds = seen.size, shape.worlds
    assumed = np.asarray([each.row for each in assumptions]).reshape(len(assumptions), worlds)
    everybody = np.concatenate([np.ones(worlds), np.zeros(2 * cells)])
    return Program(
        cost=np.concatenate([np.zeros(worlds), np.ones(2 * cells)]),
        equal=np.vstack([np.hstack([_outcomes(shape), -np.eye(cells), np.eye(cells)]), everybody]),
        right=np.append(seen.ravel(), 1.0),
        below=np.hstack([assumed, np.zeros((len(assumed), 2 * cells))]),
        bound=np.asarray([each.bound for each in assumptions], dtype=np.float64),
    )


def _outcomes(shape: Shape) -> Floats:
    """Which worlds show which outcome under which attribute value: shape ``(attributes * outcomes, worlds)``."""
    return np.asarray(observation(shape).reshape(*shape.table, shape.worlds).sum(1).reshape(-1, shape.worlds))


def _with_outcomes(observed: Observed, moved: Floats) -> Observed:
    """The table with other outcomes; where nobody has an outcome, its decisions are those of all."""
    table, outcomes = observed.probabilities, observed.probabilities.sum(1, keepdims=True)
    of_all = np.broadcast_to(table.sum(2, keepdims=True), table.shape)
    decisions = np.where(outcomes > 0.0, table / np.where(outcomes > 0.0, outcomes, 1.0), of_all)
    kept = np.maximum(moved, 0.0) / np.maximum(moved, 0.0).sum(1, keepdims=True)
    return Observed.of(decisions * kept[:, None, :], observed.shares)
