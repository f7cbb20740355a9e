"""Repair with a stated risk: whatever the population's table, some fair world explains the repaired decisions.

A repair that is learned from a sample puts the sample's table on the edge of what fair worlds can produce, so the
population's table is beyond the edge about half of the time. Here part of the people teach repairs that go further and
further inside, and the others certify one of them.

*Facets.* The tables that a fair world can produce form a polytope: its corners are the tables of the corners of the
fair worlds, and its facets ``y . table <= 0`` are found from these (Quickhull). A change of decisions ``T`` leaves the
population's table inside exactly where ``(T' y) . table <= 0`` for every facet, a statement about a mean in each group.

*The test.* While one of these statements is false, its bets reach ``1 / delta`` with probability at most ``delta``; a
repair is certified where *all* have reached it, so no part of the risk is spent on their number. In a block with
``n_a`` people of group ``a`` a person in cell ``c`` pays ``1 - (k / n_a) (b_ac - p_a)``, with ``b = T' y``, a stake
``k >= 0``, and ``p_a`` that sum to 0. Where the sum of the means of ``b_a`` is not negative, the logarithm of the
expected product is at most ``-k`` times that sum. Stakes look ahead to the last block, as a normal test would:
``phi(z) / Phi(z)``, with ``z`` the quantile of ``delta`` times the wealth.

*The order.* Repairs are tested from the most cautious one on, and the last before the first failure is taken: then one
that is wrong was certified only if the first wrong one was, which has probability at most ``delta`` (fixed-sequence
testing, Maurer, Hothorn and Lehmacher 1995).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from isonomia.errors import NumericalError, UsageError
from isonomia.evidence.confidence_sequences import check_delta
from isonomia.evidence.strata.repair import (
    Move,
    Objective,
    Repair,
    best_law,
    changed_by,
    checked_objective,
    cost_of,
    limits_of,
    moves_of,
    repair_of,
)
from isonomia.evidence.strata.worlds import (
    Definition,
    LinearAssumption,
    Observed,
    TableShape,
    assumption_rows,
    fairness_rows,
    observation,
    worlds,
)

Floats = NDArray[np.float64]

STRENGTHS = (6.0, 5.0, 4.0, 3.5, 3.0, 2.75, 2.5, 2.25, 2.0, 1.75, 1.5, 1.25, 1.0, 0.5, 0.0)
"""How far inside repairs aim to be, in standard deviations of the people who certify. More of them only make the choice
finer: they change the price of a repair, not its risk."""

BLOCKS = 32
"""Blocks of people between which stakes are chosen again. Changes power only."""

LEAST_FACTOR = 0.1
"""The least that a person pays: a stake that could lose more is lowered. Changes power only."""

MAX_CORNERS = 1000
"""More corners of the fair worlds, or ten dimensions and more, would take minutes; the repair is then refused."""

ROUNDING = 1e-9
"""Numbers up to this are 0 in a facet. It can change an answer about facets this near to each other."""


@dataclass(frozen=True, slots=True, eq=False)
class CertifiedRepair:
    """A repair, and how it was certified.

    Attributes
    ----------
    repair
        The change of decisions.
    delta
        The risk that no world whose effects are at most the margin explains the decisions of the population.
    strength
        How far inside it aims to be, in standard deviations; ``None`` if all decisions have the same distribution.
    """

    repair: Repair
    delta: float
    strength: float | None


def certified_repair(
    learned: NDArray[np.int64],
    blocks: NDArray[np.int64],
    definition: Definition = 2,
    *,
    delta: float,
    margin: float = 0.0,
    objective: Objective | None = None,
    never_lower: bool = False,
    assumptions: Sequence[LinearAssumption] = (),
) -> CertifiedRepair:
    """Find a change of decisions that a fair world explains in the population, except with probability ``delta``.

    Guarantee: let the people be independent draws given their attribute values, none of them used to fit the
    classifier, and let the assumptions be true. Then the probability that the repaired decisions of the population have
    a table that no world with all effects at most ``margin`` in size produces is at most ``delta``. *Not* implied: that
    the decisions are fair, as in :func:`~isonomia.evidence.strata.repair.repair`.

    Parameters
    ----------
    learned
        Counts of the people used to learn the repairs: shape ``(attributes, predictions, outcomes)``.
    blocks
        Counts of the others, block by block; people were assigned to blocks, and to these two parts, at random.
    definition, objective, never_lower
        As in :func:`~isonomia.evidence.strata.repair.repair`.
    delta, margin
        The risk, and how large an effect ``tau'`` still counts as fair.
    assumptions
        About outcomes alone, such as "outcome never falls".

    Notes
    -----
    Where nothing else can be certified, every person gets a decision from the same law, whatever their own was: that is
    fair by all definitions. With ``margin=0`` nothing else exists where the table identifies an effect, as in
    Definition 3.
    """
    check_delta(delta)
    shape = TableShape(*learned.shape)
    facets = fair_facets(shape, definition, margin, assumptions)
    people = blocks.sum((0, 2, 3)).astype(np.float64)
    # Half a person in each cell, so that no spread is taken for 0.
    observed = Observed.from_counts(learned + 0.5)
    observed = Observed.of(observed.probabilities, (learned.sum((1, 2)) + people) / (learned.sum() + people.sum()))
    moves = moves_of(observed, never_lower)
    path = _path(observed, facets, moves, checked_objective(observed, objective), people)
    changes = [changed_by(observed.shape, moves, chances) for chances in path]
    chosen = None
    for number, change in enumerate(changes):
        if not _certified(change, facets, observed, blocks, delta):
            break
        chosen = number
    change = best_law(observed, never_lower) if chosen is None else changes[chosen]
    alike = float(np.ptp(change.reshape(-1, shape.predictions), axis=0).max()) < ROUNDING
    strength = None if chosen is None or alike else STRENGTHS[chosen]
    table = Observed.from_counts(learned + blocks.sum(0))
    return CertifiedRepair(repair_of(table, change, checked_objective(observed, objective)), delta, strength)


def split_at_random(counts: NDArray[np.int64], rng: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Split the people of a table at random: a third teaches repairs, the blocks of the others certify one.

    Returns
    -------
    tuple
        The counts of those who teach, and of each block, as :func:`certified_repair` takes them.
    """
    left = counts.ravel().astype(np.int64)
    people = int(left.sum())
    sizes = [people // 3, *np.diff(np.linspace(people // 3, people, BLOCKS + 1).astype(np.int64)).tolist()]
    parts = np.zeros((BLOCKS + 1, *counts.shape), dtype=np.int64)
    for part, size in zip(parts, sizes, strict=True):
        drawn = rng.multivariate_hypergeometric(left, size)
        part[...] = drawn.reshape(counts.shape)
        left = left - drawn
    return parts[0], parts[1:]


def _path(observed: Observed, facets: Floats, moves: list[Move], objective: Objective, people: Floats) -> list[Floats]:
    """The cheapest changes that are inside by each strength, the most cautious first.

    A facet's standard deviation is a convex function of the change, so its tangents bound it from below; they are added
    until none is missing.
    """
    from scipy.optimize import linprog

    cost = np.asarray([cost_of(observed, objective, move) for move in moves])
    attributes, predictions, outcomes = observed.shape.table
    slopes = np.zeros((len(facets), attributes, predictions, outcomes, len(moves) + 1))
    slopes[..., 0] = facets
    for number, (a, s, t) in enumerate(moves, start=1):
        slopes[:, a, s, :, number] = facets[:, a, t] - facets[:, a, s]
    q = observed.probabilities
    means = np.einsum("ast,fastm->fam", q, slopes)
    spread = np.einsum("ast,fastm,fastk,a->fmk", q, slopes, slopes, 1.0 / people)
    spread -= np.einsum("fam,fak,a->fmk", means, means, 1.0 / people)
    middle, limits = means.sum(1), limits_of(moves)
    tangents: list[tuple[int, Floats]] = [(facet, np.zeros(len(moves) + 1)) for facet in range(len(facets))]
    path: list[Floats] = []
    for strength in STRENGTHS:
        chances = np.zeros(len(moves))
        for _ in range(60):
            rows = np.asarray([middle[facet] + strength * tangent for facet, tangent in tangents])
            program = linprog(
                cost,
                A_ub=np.vstack([rows[:, 1:], limits]) if len(rows) else limits,
                b_ub=np.concatenate([-rows[:, 0], np.ones(len(limits))]) if len(rows) else np.ones(len(limits)),
                bounds=(0.0, 1.0),
            )
            if program.status != 0:
                break
            chances = np.asarray(program.x)
            point = np.append(1.0, chances)
            deviations = np.sqrt(np.maximum(np.einsum("m,fmk,k->f", point, spread, point), 1e-18))
            missed = np.flatnonzero(middle @ point + strength * deviations > 1e-6)
            if not len(missed):
                break
            tangents += [(int(facet), spread[facet] @ point / deviations[facet]) for facet in missed]
        path.append(chances)
    return path


def _certified(change: Floats, facets: Floats, observed: Observed, blocks: NDArray[np.int64], delta: float) -> bool:
    """Whether the bets on every facet reach ``1 / delta``; the observed table only guides the stakes."""
    payoffs = np.einsum("ast,faty->fasy", change, facets).reshape(len(facets), observed.shape.attributes, -1)
    open_facets = payoffs[payoffs.max(axis=2).sum(axis=1) > ROUNDING]
    if not len(open_facets):
        return True
    q = observed.probabilities.reshape(observed.shape.attributes, -1)
    counts = blocks.reshape(len(blocks), *q.shape).astype(np.float64)
    people = counts.sum(axis=2)
    counts, people = counts[(people > 0).all(axis=1)], people[(people > 0).all(axis=1)]
    means = (open_facets * q).sum(axis=2)
    variances = np.maximum((open_facets**2 * q).sum(axis=2) - means**2, 1e-12)
    log_wealth, peak = np.zeros(len(open_facets)), np.zeros(len(open_facets))
    need = np.log(1.0 / delta)
    # Information of each block for each facet: the reciprocal of the variance of its sum of means.
    information = 1.0 / (variances[None] / people[:, None, :]).sum(axis=2)
    left = information[::-1].cumsum(axis=0)[::-1]
    for block, n, told, rest in zip(counts, people, information, left, strict=True):
        parts = variances / n
        p = means - means.sum(axis=1, keepdims=True) * parts / parts.sum(axis=1, keepdims=True)
        z = ndtri(np.clip(delta * np.exp(np.minimum(log_wealth, need)), 1e-300, 1.0 - 1e-12))
        stake = np.exp(-0.5 * z**2) / np.sqrt(2.0 * np.pi) / np.maximum(delta * np.exp(log_wealth), 1e-300)
        stake = stake / np.sqrt(rest) * told
        off = open_facets - p[:, :, None]
        worst = np.maximum((off / n[:, None]).max(axis=(1, 2)), 1e-300)
        stake = np.where(peak >= need, 0.0, np.minimum(stake, (1.0 - LEAST_FACTOR) / worst))
        log_wealth = log_wealth + (block * np.log1p(-stake[:, None, None] * off / n[:, None])).sum(axis=(1, 2))
        peak = np.maximum(peak, log_wealth)
    return bool((peak >= need).all())


def fair_facets(
    shape: TableShape, definition: Definition, margin: float = 0.0, assumptions: Sequence[LinearAssumption] = ()
) -> Floats:
    """The facets of the tables of worlds with all effects at most ``margin``, by their rows over cells.

    A table is one of these exactly where ``sum(facet * table) <= 0`` for each: shape ``(facets, attributes,
    predictions, outcomes)``. Left out are facets that every table satisfies, and those about outcomes alone, which no
    change of decisions can break while the assumptions are true.
    """
    given, bounds = assumption_rows(shape, assumptions)
    if len(given) and not _about_outcomes(shape, given):
        message = (
            "expected assumptions about outcomes alone for a repair with a stated risk, but one is about decisions"
        )
        raise UsageError(f"{message}: drop it, or leave out delta", name="assumptions")
    return _facets(shape, definition, margin, given.tobytes(), tuple(bounds.tolist()))


@lru_cache(maxsize=16)
def _facets(
    shape: TableShape, definition: Definition, margin: float, given: bytes, bounds: tuple[float, ...]
) -> Floats:
    fair = fairness_rows(shape, definition)
    below = np.frombuffer(given).reshape(len(bounds), shape.worlds)
    limits = np.asarray(bounds)
    if margin > 0.0:
        below = np.vstack([below, fair, -fair])
        limits, fair = np.concatenate([limits, np.full(2 * len(fair), margin)]), fair[:0]
    corners = _corners(shape, fair, below, limits)
    from scipy.linalg import null_space, qr

    # Coordinates are cells, not combinations of them, so that corners keep exact numbers.
    away = corners - corners[0]
    triangle, order = qr(away, mode="r", pivoting=True)[-2:]
    rank = int((np.abs(np.diag(triangle)) > ROUNDING).sum())
    across = null_space(away, rcond=ROUNDING).T
    normals, offsets = _hull(corners[:, order[:rank]])
    rows = np.vstack([np.zeros((len(normals), corners.shape[1])), across, -across])
    rows[: len(normals), order[:rank]] = normals
    offsets = np.concatenate([offsets, -across @ corners[0], across @ corners[0]])
    # Each group's cells sum to 1, so a constant can be part of the first group's.
    facets = rows.reshape(-1, *shape.table).copy()
    facets[:, 0] += offsets[:, None, None]
    facets[np.abs(facets) < ROUNDING] = 0.0
    cells = facets.reshape(len(facets), shape.attributes, -1)
    possible = cells.max(axis=2).sum(axis=1) > ROUNDING
    decided = np.ptp(facets, axis=2).max(axis=(1, 2)) > ROUNDING
    informative = np.unique(np.round(facets[possible & decided], 9), axis=0)
    informative.setflags(write=False)
    return informative


def _hull(points: Floats) -> tuple[Floats, Floats]:
    """Normals and offsets of the convex hull: ``normal . x + offset <= 0``."""
    from scipy.spatial import ConvexHull, QhullError

    points = np.unique(np.round(points, 12), axis=0)
    if points.shape[1] == 1:
        return np.asarray([[1.0], [-1.0]]), np.asarray([-points.max(), points.min()])
    if points.shape[1] >= 11 or len(points) > MAX_CORNERS:
        raise _too_large(f"{len(points)} corners in {points.shape[1]} dimensions")
    try:
        equations = np.unique(np.round(ConvexHull(points).equations, 10), axis=0)
    except QhullError as error:
        raise NumericalError(f"expected the facets of the fair tables, but got none: {error}") from error
    return equations[:, :-1], equations[:, -1]


def _too_large(size: str) -> UsageError:
    return UsageError(
        f"expected few groups, decisions and outcomes for a repair with a stated risk, but fair tables have {size}: "
        "merge values, or leave out delta",
        name="delta",
    )


def _corners(shape: TableShape, fair: Floats, below: Floats, limits: Floats) -> Floats:
    """The tables of the corners of the fair worlds: basic solutions, from one world of each kind.

    Worlds with the same column in all constraints are of one kind; a corner has at most one of a kind, so every choice
    of one stands in for another.
    """
    rows = np.vstack([np.ones((1, shape.worlds)), fair, below])
    right = np.concatenate([[1.0], np.zeros(len(fair)), limits])
    columns, kind = np.unique(rows.T, axis=0, return_inverse=True)
    slack = np.zeros((len(below), rows.shape[0]))
    slack[:, 1 + len(fair) :] = np.eye(len(below))
    every = np.vstack([columns, slack])
    size = int(np.linalg.matrix_rank(every))
    if comb(len(every), size) > 300_000:
        raise _too_large(f"{len(columns)} kinds of worlds")
    shown = observation(shape).reshape(-1, shape.worlds).T
    of_kind = [shown[kind.ravel() == number] for number in range(len(columns))]
    results: dict[bytes, Floats] = {}
    supports = np.asarray(list(combinations(range(len(every)), size)), dtype=np.intp)
    for first in range(0, len(supports), 20_000):
        part = supports[first : first + 20_000]
        systems = every[part].transpose(0, 2, 1)
        weights = np.einsum("kij,j->ki", np.linalg.pinv(systems), right)
        missed = np.abs(np.einsum("kij,kj->ki", systems, weights) - right).max(axis=1)
        for support, weight in zip(part[missed < 1e-9], weights[missed < 1e-9], strict=True):
            if weight.min() < -1e-9:
                continue
            used = (weight > 1e-9) & (support < len(columns))
            mixed = np.zeros((1, shown.shape[1]))
            for number, share in zip(support[used], weight[used], strict=True):
                mixed = (mixed[:, None, :] + share * of_kind[number][None]).reshape(-1, shown.shape[1])
                if len(mixed) > 20 * MAX_CORNERS:
                    raise _too_large(f"more than {20 * MAX_CORNERS} corners")
            results |= {np.round(table, 9).tobytes(): table for table in mixed}
    if not results:
        raise UsageError("expected assumptions that leave a fair world, but none satisfies them", name="assumptions")
    return np.asarray(list(results.values()))


def _about_outcomes(shape: TableShape, rows: Floats) -> bool:
    outcomes = worlds(shape)[:, 1] @ (shape.outcomes ** np.arange(shape.attributes))
    return all(np.ptp(rows[:, outcomes == each], axis=1).max() == 0.0 for each in np.unique(outcomes))
