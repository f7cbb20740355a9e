"""Repair: change decisions at random, as little as possible, until some fair world can produce the table.

A sample's outcomes may contradict an assumption by chance. Then no change of decisions helps, so the outcomes are first
adjusted, as little as possible, until they agree with the assumption.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations, product
from math import log
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isonomia.errors import DataError, UsageError
from isonomia.evidence.strata.bounds import (
    Contradiction,
    InfeasibilityProof,
    LinearProgram,
    OptimalityProof,
    Solution,
    solve,
)
from isonomia.evidence.strata.worlds import (
    Definition,
    LinearAssumption,
    Observed,
    TableShape,
    assumption_rows,
    fairness_rows,
    observation,
)

Floats = NDArray[np.float64]
Integers = NDArray[np.intp]
Move: TypeAlias = tuple[int, int, int]
"""An attribute value, a decision, and another decision that it may be changed to."""

Objective: TypeAlias = Literal["loss", "total", "changes", "accuracy"]

OBJECTIVES: dict[str, str] = {
    "total": "the least sum of the probabilities of change, as in the paper",
    "changes": "the fewest changed decisions",
    "accuracy": "the least lost accuracy; a gain counts, so that even a fair table may be changed for the better",
    "loss": "the least lost accuracy, then the fewest changes; a gain does not count, so a fair table is left as it is",
}
"""What a repair may minimise."""

NEGLIGIBLE_CHANGE = 1e-12
"""A probability of change up to this is rounding and counts as 0: a thousandth of the programs' accuracy. It changes a
repair by as much, but no verdict."""


@dataclass(frozen=True, slots=True, eq=False)
class Repair:
    """How to change decisions.

    Attributes
    ----------
    change
        Shape ``(attributes, predictions, predictions)``: the probability that a decision ``s`` for a person with
        attribute value ``a`` becomes ``s'`` is at ``[a, s, s']``; rows sum to 1.
    total
        The sum of the probabilities of change.
    changed
        The expected share of people whose decision changes.
    lost_accuracy
        By how much the share of decisions that equal the outcome falls; ``None`` where decisions and outcomes have
        different numbers of values.
    repaired
        The table afterwards.
    objective
        What was minimised.
    proof
        The proof that no other repair of this kind is better. Its solution begins with a fair world that produces the
        repaired table. ``None`` for a repair with a stated risk, which is certified on people instead.
    """

    change: Floats
    total: float
    changed: float
    lost_accuracy: float | None
    repaired: Observed
    objective: Objective
    proof: OptimalityProof | None

    @property
    def epsilon(self) -> Floats:
        """The paper's epsilons, for two decisions: at ``[a, b]`` the probability of forcing ``b`` where A = a."""
        if self.change.shape[1] != 2:
            count = self.change.shape[1]
            raise UsageError(f"expected two decisions for epsilons, but got {count}: use `change`", name="epsilon")
        return np.stack([self.change[:, 1, 0], self.change[:, 0, 1]], axis=-1)

    def apply(self, decisions: ArrayLike, attributes: ArrayLike, rng: np.random.Generator | ArrayLike) -> Integers:
        """Change decisions at random, each person independently.

        Parameters
        ----------
        decisions, attributes
            Numbers from 0, one decision and one attribute value for every person.
        rng
            One uniform number is drawn for every person, whether or not the decision can change, so that a person's
            number does not depend on the others' decisions. Or these numbers themselves.
        """
        limits = self.change.shape[1:]
        before, values = _codes("decisions", decisions, limits[0]), _codes("attributes", attributes, len(self.change))
        if before.shape != values.shape:
            raise DataError(f"expected one attribute value per decision, but got {values.size} and {before.size}")
        steps = np.cumsum(self.change, axis=-1)[values, before]
        steps[..., -1] = np.inf
        drawn = rng.random(before.shape) if isinstance(rng, np.random.Generator) else np.asarray(rng)
        return np.asarray((drawn[..., None] >= steps).sum(-1), dtype=np.intp)


def repair(
    observed: Observed,
    definition: Definition = 2,
    *,
    objective: Objective | None = "total",
    margin: float = 0.0,
    never_lower: bool = False,
    assumptions: Sequence[LinearAssumption] = (),
) -> Repair | Contradiction:
    """Find the best change of decisions after which some fair world can produce the table (the paper's section 3.3).

    Guarantee: the repaired table is compatible with the definition, and no other change that depends on the attribute
    value and the decision alone is better; the proof was checked. *Not* implied: that decisions are then fair. Where
    fair and unfair worlds produce the same table, no table can tell them apart; and a repair learned from a sample
    repairs the sample's table, which is off by the order of ``1 / sqrt(n)`` (Theorems 2 and 3).

    Parameters
    ----------
    observed
        The table. Its shares weigh the attribute values in ``changes`` and ``accuracy``.
    definition
        Which of the paper's definitions, 1 to 4.
    objective
        One of ``OBJECTIVES``; the paper's is ``"total"``. ``None`` for ``"loss"``, or ``"changes"`` where decisions and
        outcomes have different numbers of values.
    margin
        How large an effect ``tau'`` still counts as fair.
    never_lower
        Never change a decision to one with a smaller number: number decisions from the least to the most favourable.
    assumptions
        What the fair world must satisfy in addition.

    Returns
    -------
    Repair or Contradiction
        Without assumptions there is always a repair, since giving everyone the same decision is fair.

    Notes
    -----
    The paper forces decision ``b`` with probability ``epsilon_ab`` whatever the decision was, which for two decisions
    is the same as changing ``1 - b`` to ``b``. With more decisions, a probability for each pair of them can do all that
    forcing can, with fewer changes. As in the paper, the probabilities from ``s`` to ``s'`` and back sum to at most 1.
    """
    objective = checked_objective(observed, objective)
    moves = moves_of(observed, never_lower)
    cost = np.asarray([cost_of(observed, objective, move) for move in moves])
    answer = solve(_program(observed, definition, margin, moves, cost, assumptions))
    match answer:
        case InfeasibilityProof():
            return Contradiction(answer)
        case Solution(certificate=proof):
            change = changed_by(observed.shape, moves, proof.solution[observed.shape.worlds :])
            return repair_of(observed, change, objective, proof)


def remaining_unfairness(
    observed: Observed, definition: Definition = 2, *, assumptions: Sequence[LinearAssumption] = ()
) -> float | Contradiction:
    """The least sum of sizes of effects ``tau'`` in a world that produces the table (the paper's ``alpha``, Theorem 3).

    It is 0 exactly where some fair world produces the table. For a table of decisions after a repair it is how far they
    remain from fairness; for one learned from a sample, the order of ``1 / sqrt(n)``. The paper squares the effects.
    """
    shape = observed.shape
    fair = fairness_rows(shape, definition)
    shown = observation(shape).reshape(-1, shape.worlds)
    assumed, bound = assumption_rows(shape, assumptions)
    size = np.eye(len(fair))
    answer = solve(
        LinearProgram(
            cost=np.concatenate([np.zeros(shape.worlds), np.ones(2 * len(fair))]),
            equal=np.vstack(
                [np.hstack([shown, np.zeros((len(shown), 2 * len(fair)))]), np.hstack([fair, -size, size])]
            ),
            right=np.concatenate([observed.probabilities.ravel(), np.zeros(len(fair))]),
            below=np.hstack([assumed, np.zeros((len(assumed), 2 * len(fair)))]),
            bound=bound,
        )
    )
    return Contradiction(answer) if isinstance(answer, InfeasibilityProof) else max(answer.value, 0.0)


def checked_objective(observed: Observed, objective: Objective | None) -> Objective:
    """The objective, or the default for a table."""
    square = observed.shape.predictions == observed.shape.outcomes
    if objective is None:
        return "loss" if square else "changes"
    if objective not in OBJECTIVES:
        raise UsageError(f"expected objective {', '.join(map(repr, OBJECTIVES))}, but got {objective!r}")
    if not square and objective in {"loss", "accuracy"}:
        message = "expected as many decisions as outcomes for the accuracy, but their numbers differ"
        raise UsageError(message, name="objective")
    return objective


def moves_of(observed: Observed, never_lower: bool) -> list[Move]:
    """Every change of a decision that is allowed."""
    shape = observed.shape
    pairs = permutations(range(shape.predictions), 2)
    return [(a, s, t) for a, (s, t) in product(range(shape.attributes), pairs) if t > s or not never_lower]


def cost_of(observed: Observed, objective: Objective, move: Move) -> float:
    """What a move costs for each unit of its probability."""
    a, s, t = move
    cells = observed.probabilities[a, s]
    match objective:
        case "total":
            return 1.0
        case "changes":
            return float(observed.shares[a] * cells.sum())
        case "accuracy":
            return float(observed.shares[a] * (cells[s] - cells[t]))
        case "loss":
            # A thousandth for each change decides only between repairs that lose about the same.
            return float(observed.shares[a] * (max(cells[s] - cells[t], 0.0) + 1e-3 * cells.sum()))


def _program(
    observed: Observed,
    definition: Definition,
    margin: float,
    moves: list[Move],
    cost: Floats,
    assumptions: Sequence[LinearAssumption],
) -> LinearProgram:
    """The variables are the worlds' probabilities, then the probabilities of the moves."""
    shape = observed.shape
    fair = fairness_rows(shape, definition)
    shown = observation(shape).reshape(-1, shape.worlds)
    assumed, bound = assumption_rows(shape, assumptions)
    if margin > 0.0:
        assumed, bound = np.vstack([assumed, fair, -fair]), np.append(bound, np.full(2 * len(fair), margin))
        fair = fair[:0]
    limits = limits_of(moves)
    return LinearProgram(
        cost=np.concatenate([np.zeros(shape.worlds), cost]),
        equal=np.block([[shown, -_flows(observed, moves)], [fair, np.zeros((len(fair), len(moves)))]]),
        right=np.concatenate([observed.probabilities.ravel(), np.zeros(len(fair))]),
        below=np.block(
            [[assumed, np.zeros((len(assumed), len(moves)))], [np.zeros((len(limits), shape.worlds)), limits]]
        ),
        bound=np.concatenate([bound, np.ones(len(limits))]),
    )


def _flows(observed: Observed, moves: list[Move]) -> Floats:
    """What each move adds to each cell of the table: shape ``(cells of the table, moves)``."""
    flows = np.zeros((*observed.probabilities.shape, len(moves)))
    for number, (a, s, t) in enumerate(moves):
        flows[a, t, :, number] += observed.probabilities[a, s]
        flows[a, s, :, number] -= observed.probabilities[a, s]
    return flows.reshape(-1, len(moves))


def limits_of(moves: list[Move]) -> Floats:
    """Rows of moves whose probabilities sum to at most 1: all that leave a decision, and each move with its reverse."""
    leaving = {move[:2]: [other for other in moves if other[:2] == move[:2]] for move in moves}
    back = [[(a, s, t), (a, t, s)] for a, s, t in moves if s < t and (a, t, s) in moves]
    return np.asarray([[move in together for move in moves] for together in (*leaving.values(), *back)], np.float64)


def changed_by(shape: TableShape, moves: list[Move], chances: Floats) -> Floats:
    """The probability of each decision for each decision: shape ``(attributes, predictions, predictions)``."""
    change = np.zeros((shape.attributes, shape.predictions, shape.predictions))
    for move, chance in zip(moves, chances, strict=True):
        change[move] = 0.0 if chance <= NEGLIGIBLE_CHANGE else min(chance, 1.0)
    stays = np.arange(shape.predictions)
    change[:, stays, stays] = np.maximum(1.0 - change.sum(-1), 0.0)
    change.setflags(write=False)
    return change


def best_law(observed: Observed, never_lower: bool) -> Floats:
    """The same decision for all: the one that most often equals the outcome, or the highest."""
    shape = observed.shape
    frequent = np.einsum("a,asy->y", observed.shares, observed.probabilities)
    square = shape.predictions == shape.outcomes and not never_lower
    change = np.zeros((shape.attributes, shape.predictions, shape.predictions))
    change[:, :, int(frequent.argmax()) if square else shape.predictions - 1] = 1.0
    return change


def repair_of(observed: Observed, change: Floats, objective: Objective, proof: OptimalityProof | None = None) -> Repair:
    """What a change of decisions costs, and the table after it."""
    moves = moves_of(observed, never_lower=False)
    chances = np.asarray([change[move] for move in moves])
    table = np.einsum("ast,asy->aty", change, observed.probabilities)
    square = observed.shape.predictions == observed.shape.outcomes
    lost = float(chances @ [cost_of(observed, "accuracy", move) for move in moves]) if square else None
    changed = float(chances @ [cost_of(observed, "changes", move) for move in moves])
    return Repair(change, float(chances.sum()), changed, lost, Observed.of(table, observed.shares), objective, proof)


def _codes(name: str, values: ArrayLike, count: int) -> Integers:
    codes = np.asarray(values)
    if codes.ndim != 1 or (codes.size and (codes.dtype.kind not in "iub" or codes.min() < 0 or codes.max() >= count)):
        raise DataError(f"expected {name} as whole numbers from 0 to {count - 1}, but got {values!r}", name=name)
    return codes.astype(np.intp)


@dataclass(frozen=True, slots=True, eq=False)
class AdjustedTable:
    """A table whose outcomes were moved to agree with assumptions.

    Attributes
    ----------
    table
        The adjusted table, with the original's decisions within each attribute value and outcome.
    distance
        How far its outcomes are from the original ones: the absolute differences of their probabilities, summed over
        outcomes and attribute values.
    """

    table: Observed
    distance: float


def adjust_outcomes(observed: Observed, assumptions: Sequence[LinearAssumption]) -> AdjustedTable | Contradiction:
    """Move the outcomes of a table as little as possible, until some world has them and satisfies the assumptions.

    Guarantee: no outcomes of such a world are nearer; the solution was checked. Where the population's outcomes are
    those of such a world, they could have been chosen themselves, so the table's outcomes are at most twice as far from
    the population's as the sample's are. A contradiction means that no world at all satisfies the assumptions.
    """
    rates = observed.probabilities.sum(1)
    answer = solve(_outcome_program(observed.shape, rates, assumptions))
    match answer:
        case InfeasibilityProof():
            return Contradiction(answer)
        case Solution(value=distance, certificate=proof):
            moved = _outcomes(observed.shape) @ proof.solution[: observed.shape.worlds]
            return AdjustedTable(_with_outcomes(observed, moved.reshape(rates.shape)), max(distance, 0.0))


def outcome_deviation(people: Sequence[float], outcomes: int, delta: float) -> float:
    """How far the outcomes of independent draws are from the population's, except with probability ``delta``.

    Guarantee: the distance of :class:`AdjustedTable` between a sample's outcomes and the population's is larger with
    probability at most ``delta``. For each attribute value, ``k`` shares from ``n`` draws are off by ``eps`` or more
    with probability at most ``(2**k - 2) exp(-n eps**2 / 2)`` (Weissman and others 2003, Theorem 2.1). ``people`` says
    how many people have each attribute value, and ``delta`` is the risk for all values together.
    """
    needed = 2.0 * log((2.0**outcomes - 2.0) * len(people) / delta)
    return float(np.sqrt(needed / np.asarray(people, dtype=np.float64)).sum())


def _outcome_program(shape: TableShape, seen: Floats, assumptions: Sequence[LinearAssumption]) -> LinearProgram:
    """The variables are the worlds' probabilities, then how much each outcome's probability is raised, then lowered."""
    cells, worlds = seen.size, shape.worlds
    assumed, bound = assumption_rows(shape, assumptions)
    total_row = np.concatenate([np.ones(worlds), np.zeros(2 * cells)])
    return LinearProgram(
        cost=np.concatenate([np.zeros(worlds), np.ones(2 * cells)]),
        equal=np.vstack([np.hstack([_outcomes(shape), -np.eye(cells), np.eye(cells)]), total_row]),
        right=np.append(seen.ravel(), 1.0),
        below=np.hstack([assumed, np.zeros((len(assumed), 2 * cells))]),
        bound=bound,
    )


def _outcomes(shape: TableShape) -> Floats:
    """Which worlds show which outcome under which attribute value: shape ``(attributes * outcomes, worlds)``."""
    return np.asarray(observation(shape).reshape(*shape.table, shape.worlds).sum(1).reshape(-1, shape.worlds))


def _with_outcomes(observed: Observed, moved: Floats) -> Observed:
    """The table with other outcomes; an outcome that no one had gets the decisions of all people."""
    table, outcomes = observed.probabilities, observed.probabilities.sum(1, keepdims=True)
    of_all = np.broadcast_to(table.sum(2, keepdims=True), table.shape)
    decisions = np.where(outcomes > 0.0, table / np.where(outcomes > 0.0, outcomes, 1.0), of_all)
    shares = np.maximum(moved, 0.0) / np.maximum(moved, 0.0).sum(1, keepdims=True)
    return Observed.of(decisions * shares[:, None, :], observed.shares)
