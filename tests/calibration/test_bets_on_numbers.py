"""Bets on the mean of a bounded number keep their risk, whatever its distribution.

Acceptance as in :mod:`simulation`.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import beta
from simulation import REPETITIONS, Floats, assert_calibrated, batches, cells, peaks

from isonomia.evidence.bet_evidence import BetEvidence, bets_for
from isonomia.evidence.bets import EProcess, begin, step
from isonomia.evidence.protocol import Grid, grid_for
from isonomia.spec.parser import parse_formula
from isonomia.spec.tree import leaves_of

COARSE = Grid((tuple(np.linspace(0.0, 1.0, 9).tolist()),))
SIZES = batches(5_000, growth=0.12)


def process_on(grid: Grid, mean: float, direction: float) -> EProcess:
    return EProcess.of([[direction * grid.values()[:, 0]]], [direction * mean], [grid.prior()])


def spread(x: Floats, nodes: int) -> Floats:
    """Tallies of numbers in [0, 1]: shape (repetitions, draws) to (repetitions, nodes)."""
    position = x * (nodes - 1)
    below = np.clip(np.floor(position), 0, nodes - 2)
    above = position - below
    where = (np.arange(len(x))[:, None] * nodes + below).astype(np.intp).ravel()
    flat = np.bincount(where, weights=(1.0 - above).ravel(), minlength=len(x) * nodes)
    flat += np.bincount(where + 1, weights=above.ravel(), minlength=len(x) * nodes)
    return flat.reshape(len(x), nodes)


def test_the_simulated_tally_is_the_grids_own():
    x = np.random.default_rng(3).beta(2.0, 3.0, size=(4, 50))
    assert np.allclose(spread(x, 9), [COARSE.tally([row]) for row in x])


@pytest.mark.parametrize("shape", [(0.5, 0.5), (2.0, 8.0), (0.1, 5.0)])
def test_bets_on_a_continuous_number_keep_the_risk_in_both_directions(shape):
    rng = np.random.default_rng(201)

    def draw(rng, size, repetitions):
        return spread(rng.beta(*shape, size=(repetitions, size)), 9)[:, None, :]

    processes = [process_on(COARSE, float(beta.mean(*shape)), direction) for direction in (1.0, -1.0)]
    for peak in peaks(processes, draw, batches(2_000, growth=0.12), rng, REPETITIONS):
        assert_calibrated(peak)


@pytest.mark.parametrize(
    "truth",
    [
        [0.0, 0.9, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.1],
        [0.01, 0.0, 0.0, 0.0, 0.99, 0.0, 0.0, 0.0, 0.0],
        [0.0, 0.0, 0.0, 0.5, 0.5, 0.0, 0.0, 0.0, 0.0],
    ],
)
def test_bets_on_a_two_point_number_keep_the_risk(truth):
    process = process_on(COARSE, float(np.asarray(truth) @ COARSE.values()[:, 0]), 1.0)
    assert_calibrated(peaks([process], cells([truth]), SIZES, np.random.default_rng(202), REPETITIONS)[0])


def test_bets_on_the_difference_of_two_numbers_keep_the_risk():
    nodes = COARSE.values()[:, 0]
    truths = [np.diff(beta.cdf(np.linspace(0, 1, 10), 2, 5)), np.diff(beta.cdf(np.linspace(0, 1, 10), 4, 5))]
    bound = float(truths[0] @ nodes - truths[1] @ nodes)
    process = EProcess.of([[nodes, -nodes]], [bound], [COARSE.prior()] * 2)
    assert_calibrated(peaks([process], cells(truths), SIZES, np.random.default_rng(203), REPETITIONS)[0])


def test_bets_on_the_full_grid_keep_the_risk():
    # Fewer looks than elsewhere: 129 cells are dear. In parts, to stay small in memory.
    grid = grid_for([(0.0, 1.0)])
    assert grid is not None
    truth = np.diff(beta.cdf(np.linspace(0.0, 1.0, 130), 1.5, 4.0))
    process = process_on(grid, float(truth @ grid.values()[:, 0]), 1.0)
    rng, found = np.random.default_rng(204), []
    for _ in range(10):
        state = begin(process, REPETITIONS // 10)
        for size in batches(2_000, single=12, first=2, growth=0.25):
            state = step(process, state, rng.multinomial(size, truth, size=REPETITIONS // 10)[:, None, :].astype(float))
        found.append(state.peak)
    assert_calibrated(np.concatenate(found))


def variance_at_most(limit: float, delta: float) -> BetEvidence:
    formula = parse_formula(f"E[s * s] - E[s] ** 2 <= {limit}")
    bets = bets_for(formula, dict.fromkeys(leaves_of(formula), (0.0, 1.0)), (None,), delta, cover=True)
    assert bets is not None
    assert bets.covered
    return bets


def tally(bets: BetEvidence, x: Floats) -> Floats:
    channel = bets.channels[0]
    return channel.grid.tally([x * x if "*" in str(leaf) else x for leaf in channel.leaves])


def test_bets_on_a_variance_at_its_limit_keep_the_risk_in_both_directions():
    """Of the polytopes that cover a hypothesis, those that hold the truth are ever refuted with this risk."""
    rng, bets = np.random.default_rng(7), variance_at_most(0.04, 0.1)
    low, high = tally(bets, np.asarray([0.2])), tally(bets, np.asarray([0.6]))
    true = [
        [each for each in (test.unsliced for test in side) if holds(each, 0.5 * (low + high))]
        for side in (bets.against, bets.in_favour)
    ]
    assert all(1 <= len(side) <= 3 for side in true)

    def draw(rng, size, repetitions):
        many = rng.binomial(size, 0.5, repetitions)[:, None, None]
        return np.asarray((size - many) * low + many * high)

    # Cells that the truth never falls into and that the prior has not are left out, which is quicker.
    cells = np.flatnonzero(low + high + true[0][0].prior[0])
    smaller = [
        EProcess.of([[row[cells]] for row in each.payoffs[:, 0]], each.bounds.tolist(), [each.prior[0][cells]])
        for each, *_ in true
    ]
    found = peaks(smaller, lambda *how: draw(*how)[..., cells], batches(600, growth=0.5), rng, 1_000)
    for peak in found:
        assert_calibrated(peak, (0.2, 0.1, 0.05))
    assert (found >= np.log(5.0)).any()


def holds(process: EProcess, shares: Floats) -> bool:
    return bool((process.payoffs[:, 0] @ shares <= process.bounds + 1e-12).all())


def test_a_variance_is_decided_by_a_twentieth_of_the_draws_that_separate_regions_need():
    rng, bets = np.random.default_rng(8), variance_at_most(0.05, 0.05)
    channel, state, seen = bets.channels[0], bets.begin(), 0
    while bets.decision(state) is None and seen < 3_000:
        x = rng.beta(2.0, 3.0, max(32, seen // 4))  # of variance 0.04; two regions need 21,000
        state, seen = bets.step(state, {channel: tally(bets, x)}), seen + len(x)
    assert bets.decision(state) is True
    assert seen <= 1_500
