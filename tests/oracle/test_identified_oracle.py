"""Projections onto identified sets, and confidence bounds, against half-spaces, SciPy's optimisers and sharp bounds."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import rel_entr

from isonomia.evidence import bets
from isonomia.evidence.bets import EProcess
from isonomia.evidence.fair_worlds import assumed_set, effect_interval, fair_set
from isonomia.evidence.identified import bets as wealth
from isonomia.evidence.identified.bets import CellRegion, certified_distance
from isonomia.evidence.stakes import best_stakes
from isonomia.evidence.strata.bounds import Bounds, effect_bounds, normalised_bounds
from isonomia.evidence.strata.worlds import (
    Observed,
    PrincipalEffect,
    TableShape,
    definition_effects,
    effect_row,
    observation,
    stratum_row,
    unaffected,
)

BINARY = TableShape()
TABLE_4 = np.asarray([[0.53, 0.04, 0.11, 0.32], [0.90, 0.02, 0.03, 0.05]])


def four_sides() -> EProcess:
    """The fair tables of two values each: P(s, y | 0) + P(1 - s, y | 1) <= 1 for every s and y (Corollary 1)."""
    sides = [[np.eye(4)[2 * s + y], np.eye(4)[2 * (1 - s) + y]] for s in (0, 1) for y in (0, 1)]
    return EProcess.of(sides, [1.0] * 4, [np.full(4, wealth.PSEUDO_COUNT)] * 2)


def tables(rng: np.random.Generator, shape: TableShape, count: int) -> np.ndarray:
    return rng.dirichlet(np.full(shape.cells, 0.5), size=(count, shape.attributes)) * 0.999 + 0.001 / shape.cells


@pytest.mark.parametrize("definition", [1, 2])
def test_with_two_values_each_definitions_1_and_2_have_the_shadow_of_four_half_spaces(definition):
    rng = np.random.default_rng(1)
    estimate = np.concatenate([tables(rng, BINARY, 300), TABLE_4[None]])
    weights = rng.dirichlet([3.0, 3.0], size=len(estimate))
    process = four_sides()
    payoffs = np.broadcast_to(process.payoffs, (len(estimate), *process.payoffs.shape))
    bounds = np.broadcast_to(process.bounds, (len(estimate), 4))
    stakes = best_stakes(payoffs, bounds, estimate, weights)
    by_sides = (weights * ((estimate * np.log(stakes.factors)).sum(-1) + 1 - stakes.intercepts)).sum(-1)
    by_sides -= (stakes.amounts * bounds).sum(-1)
    identified = fair_set(BINARY, definition_effects(BINARY, definition))
    assert np.sum(by_sides > 1e-3) > 20
    np.testing.assert_allclose(certified_distance(identified, estimate, weights), by_sides, atol=3e-8)


def test_the_wealth_against_the_identified_set_is_the_wealth_against_its_half_spaces():
    rng = np.random.default_rng(2)
    process, identified = four_sides(), fair_set(BINARY, definition_effects(BINARY, 2))
    far = np.asarray([[0.3, 0.1, 0.4, 0.2], [0.85, 0.03, 0.07, 0.05]])
    by_sides, by_worlds = bets.begin(process, 50), wealth.begin(identified, 50)
    for size in [5] * 20 + [50] * 10:
        counts = np.stack([rng.multinomial(size, row, size=50) for row in far], axis=1).astype(float)
        by_sides, by_worlds = bets.step(process, by_sides, counts), wealth.step(identified, by_worlds, counts)
    assert np.median(by_worlds.log_wealth) > 10
    np.testing.assert_allclose(by_worlds.log_wealth, by_sides.bettors[:, -1], atol=0.02)


def smooth_log(q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The logarithm and its slope, continued by a parabola below 1e-5 so that no step of an optimiser runs off."""
    low = np.minimum(q / 1e-5 - 1.0, 0.0)
    value = np.log(np.maximum(q, 1e-5)) + low - 0.5 * low**2
    return value, np.where(low < 0, (1.0 - low) / 1e-5, 1.0 / np.maximum(q, 1e-5))


def least_divergence(shape: TableShape, rows: np.ndarray, estimate: np.ndarray, weights: np.ndarray) -> float:
    """The distance by sequential quadratic programming over the worlds: an upper bound, near the minimum."""
    shows, mass = observation(shape), weights[:, None] * estimate

    def distance(x):
        return float((mass * (np.log(estimate) - smooth_log(shows @ x)[0])).sum())

    def slope(x):
        return -((mass * smooth_log(shows @ x)[1])[:, :, None] * shows).sum((0, 1))

    equal = np.vstack([np.ones(shape.worlds), rows])
    right = np.append(1.0, np.zeros(len(rows)))
    found = minimize(
        distance,
        np.full(shape.worlds, 1 / shape.worlds),
        jac=slope,
        method="SLSQP",
        bounds=[(0, 1)] * shape.worlds,
        constraints={"type": "eq", "fun": lambda x: equal @ x - right, "jac": lambda _: equal},
        options={"maxiter": 500, "ftol": 1e-10},
    )
    assert found.success, found.message
    return float(found.fun)


@pytest.mark.parametrize("shape", [BINARY, TableShape(2, 2, 3), TableShape(2, 3, 2), TableShape(3, 2, 2)])
@pytest.mark.parametrize("definition", [1, 2, 3, 4])
def test_the_certified_distance_is_the_one_that_scipy_finds(shape, definition):
    rng = np.random.default_rng(3)
    effects = definition_effects(shape, definition)
    rows = np.asarray([effect_row(shape, effect) for effect in effects])
    for estimate in tables(rng, shape, 1):
        weights = rng.dirichlet(np.full(shape.attributes, 4.0))
        certified = float(certified_distance(fair_set(shape, effects), estimate[None], weights[None])[0])
        found = least_divergence(shape, rows, estimate, weights)
        assert certified <= found + 1e-7
        assert certified == pytest.approx(found, abs=2e-5)


@pytest.mark.parametrize("stratum", [unaffected(BINARY, 0), unaffected(BINARY, 1), unaffected(BINARY)])
@pytest.mark.parametrize("normalised", [False, True])
def test_confidence_bounds_shrink_to_the_sharp_bounds_and_always_enclose_them(stratum, normalised):
    effect = PrincipalEffect(stratum)
    observed = Observed.of(TABLE_4.reshape(2, 2, 2))
    sharp = normalised_bounds(observed, effect) if normalised else effect_bounds(observed, effect)
    assert isinstance(sharp, Bounds)
    widths = []
    for n in (1e3, 1e5, 1e9):
        interval = effect_interval(CellRegion(TABLE_4 * n, 0.05), BINARY, effect, normalised=normalised)
        assert isinstance(interval, tuple)
        assert interval[0] <= sharp.lower + 1e-9
        assert interval[1] >= sharp.upper - 1e-9
        widths.append(interval[1] - interval[0])
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] == pytest.approx(sharp.upper - sharp.lower, abs=1e-3)


@pytest.mark.parametrize("normalised", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_no_mixture_in_the_region_goes_beyond_the_bounds_and_some_nearly_reach_them(seed, normalised):
    rng = np.random.default_rng([4, seed])
    tally = np.stack([rng.multinomial(200, row) for row in tables(rng, BINARY, 1)[0]]).astype(float)
    region = CellRegion(tally, 0.1)
    effect = PrincipalEffect(unaffected(BINARY))
    row, shows = effect_row(BINARY, effect), observation(BINARY)
    over = stratum_row(BINARY, effect.stratum) if normalised else np.ones(16)
    shares = tally / tally.sum(axis=1, keepdims=True)

    def spare(x):
        return region.allowance - float((tally.sum(1)[:, None] * rel_entr(shares, np.maximum(shows @ x, 1e-12))).sum())

    # Any feasible start will do; the best of several is close to the maximum.
    best = -np.inf
    for start in (rng.dirichlet(np.ones(16)) for _ in range(4)):
        found = minimize(
            lambda x: -float(row @ x / (over @ x + 1e-12)),
            start,
            method="SLSQP",
            bounds=[(0, 1)] * 16,
            constraints=[
                {"type": "eq", "fun": lambda x: x.sum() - 1},
                {"type": "ineq", "fun": spare},
            ],
            options={"maxiter": 400, "ftol": 1e-10},
        )
        if spare(found.x) > -1e-4 and abs(found.x.sum() - 1) < 1e-6:
            best = max(best, -found.fun)
    interval = effect_interval(region, BINARY, effect, normalised=normalised)
    assert isinstance(interval, tuple)
    assert interval[1] >= best - 1e-4
    assert interval[1] == pytest.approx(best, abs=5e-3)
    assert assumed_set(BINARY).worlds == 16
