"""Bets need little more than the fewest draws that any test of the same risk can take on average.

The information limit is computed here on its own: ``kl(delta, 1 - delta)`` over the distance to the boundary. Each
limit on the ratio lies three standard errors above what was measured (in comments), so that bounds which were a fifth
looser would be noticed.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import rel_entr
from simulation import cells, two_streams, yes_no_process

from isonomia.evidence.bets import EProcess, begin, step
from isonomia.evidence.protocol import Grid, grid_for

DELTA = 1e-6
NEEDED = (1.0 - 2.0 * DELTA) * np.log((1.0 - DELTA) / DELTA)


def stops(process: EProcess, draw, seed: int, repetitions: int = 1_000, first: int = 4) -> np.ndarray:
    """How many draws of each channel every repetition takes; batches grow by a hundredth."""
    rng, n = np.random.default_rng(seed), 0
    state, running, found = begin(process, repetitions), np.arange(repetitions), np.zeros(repetitions)
    while len(running):
        size = max(first, n // 100)
        n += size
        state = step(process, state, draw(rng, size, len(running)))
        won = state.peak >= np.log(1.0 / DELTA)
        found[running[won]] = n
        running = running[~won]
        state = state.rows(~won)
    return found


def bernoulli(p, q):
    return rel_entr(p, q) + rel_entr(1.0 - p, 1.0 - q)


def ratio_limit(a: float, b: float) -> float:
    """Draws of each stream, as many from either, to tell ``a / b`` from 0.8."""
    nearest = minimize_scalar(
        lambda q: bernoulli(a, 0.8 * q) + bernoulli(b, q), bounds=(1e-9, 1 - 1e-9), method="bounded"
    )
    return float(NEEDED / nearest.fun)


@pytest.mark.parametrize(
    ("a", "b", "most"),
    [(0.5, 0.5, 1.26), (0.3, 0.6, 1.25), (0.1, 0.2, 1.21), (0.85, 0.9, 1.21), (0.05, 0.05, 1.26)],
)
def test_two_streams_stop_near_the_information_limit(a, b, most):
    # Measured: 1.20, 1.19, 1.16, 1.16, 1.21, each with a standard error of 0.014.
    direction = 1.0 if a < 0.8 * b else -1.0
    process = yes_no_process([[-direction, 0.8 * direction]], [0.0])
    assert stops(process, two_streams([a, b]), 701).mean() / ratio_limit(a, b) < most


def test_one_rate_stops_near_the_information_limit():
    # Measured: 1.22, standard error 0.015.
    n = stops(yes_no_process([[1.0]], [0.1]), two_streams([0.15]), 702)
    assert n.mean() / (NEEDED / bernoulli(0.15, 0.1)) < 1.28


def test_a_number_of_small_variance_takes_far_fewer_draws_than_a_rate_of_the_same_mean():
    # Measured: 0.069 of what a rate takes.
    grid = grid_for([(0.0, 1.0)])
    assert grid is not None
    values = grid.values()[:, 0]
    truth = np.exp(-0.5 * ((values - 0.55) / 0.05) ** 2)
    truth /= truth.sum()
    process = EProcess.of([[values]], [0.5], [grid.prior()])
    n = stops(process, cells([truth]), 703, repetitions=100).mean()
    assert n < 0.075 * NEEDED / bernoulli(float(truth @ values), 0.5)


def test_two_events_of_one_group_use_that_they_go_together():
    # Measured: 1.18, standard error 0.013.
    # Hired and qualified of one group, nearly always both or neither: their difference hardly varies.
    grid = Grid(((0.0, 1.0), (0.0, 1.0)))
    truth = np.asarray([0.5, 0.02, 0.08, 0.4])
    process = EProcess.of([[grid.values() @ [1.0, -1.0]]], [0.0], [grid.prior()])
    # The nearest distribution without a difference moves only the two cells in which the events differ.
    limit = NEEDED / -np.log(1.0 - (np.sqrt(0.08) - np.sqrt(0.02)) ** 2)
    n = stops(process, cells([truth]), 704)
    assert n.mean() / limit < 1.24
    apart = minimize_scalar(lambda q: bernoulli(0.48, q) + bernoulli(0.42, q), bounds=(0.01, 0.99), method="bounded")
    assert n.mean() < 0.5 * NEEDED / apart.fun
