"""Bets keep their promised risk when one looks after every batch and the truth lies on the boundary.

Every scenario puts the truth on the boundary of the polytope that is bet against, where errors are most frequent, and
counts a repetition as an error when its wealth *ever* reaches ``1/delta``. Acceptance is stated in :mod:`simulation`.
"""

from __future__ import annotations

import numpy as np
import pytest
from simulation import (
    REPETITIONS,
    assert_calibrated,
    batches,
    cells,
    error_rate,
    one_stream,
    peaks,
    two_streams,
    yes_no_process,
)

from isonomia.evidence.bets import EProcess
from isonomia.evidence.protocol import grid_for

LONG = batches(6_000)
SHORT = batches(4_000, single=25, growth=0.12)

RATES = {
    # name: sides, bounds, the draws; the truth is on the boundary of every side
    "one leaf, at most": ([[1.0]], [0.5], two_streams([0.5])),
    "one leaf, at least": ([[-1.0]], [-0.3], two_streams([0.3])),
    "one rare leaf": ([[1.0]], [0.02], two_streams([0.02])),
    "one frequent leaf": ([[1.0]], [0.98], two_streams([0.98])),
    "ratio, two streams": ([[1.0, -0.8]], [0.0], two_streams([0.4, 0.5])),
    "ratio the other way, two streams": ([[-1.0, 0.8]], [0.0], two_streams([0.24, 0.3])),
    "difference, two streams": ([[1.0, -1.0]], [0.1], two_streams([0.4, 0.3])),
    "ratio, one stream": ([[1.0, -0.8]], [0.0], one_stream([0.24, 0.3], [0.5, 0.5])),
    "ratio, one stream, a small group": ([[1.0, -0.8]], [0.0], one_stream([0.24, 0.3], [0.05, 0.95])),
    "ratio, one stream, a large group": ([[-1.0, 0.8]], [0.0], one_stream([0.016, 0.02], [0.95, 0.05])),
    "ratio, one stream, a small group of rare events": ([[1.0, -0.8]], [0.0], one_stream([0.016, 0.02], [0.05, 0.95])),
    "difference, one stream, frequent events": ([[1.0, -1.0]], [0.0], one_stream([0.98, 0.98], [0.3, 0.6])),
    "two half-spaces, the truth at the vertex": (
        [[1.0, -0.8], [-1.0, 1.0]],
        [0.0, 0.1],
        two_streams([0.4, 0.5]),
    ),
    "two half-spaces of one leaf each, at the vertex": ([[1.0, 0.0], [0.0, 1.0]], [0.4, 0.3], two_streams([0.4, 0.3])),
    "every group, the truth at the boundary of all": (
        [[-1.0, 0.0, 0.0, 0.8], [0.0, -1.0, 0.0, 0.8], [0.0, 0.0, -1.0, 0.8]],
        [0.0, 0.0, 0.0],
        one_stream([0.24, 0.24, 0.24, 0.3], [0.1, 0.2, 0.3, 0.4]),
    ),
    "every group fails, the truth at the boundary of all": (
        [[1.0, 0.0, 0.0, -0.8], [0.0, 1.0, 0.0, -0.8], [0.0, 0.0, 1.0, -0.8]],
        [0.0, 0.0, 0.0],
        one_stream([0.4, 0.4, 0.4, 0.5], [0.1, 0.2, 0.3, 0.4]),
    ),
}


@pytest.mark.parametrize("name", RATES)
def test_bets_on_rates_keep_the_risk_under_optional_stopping(name):
    sides, bounds, draw = RATES[name]
    sizes = LONG if len(sides) == 1 else SHORT
    peak = peaks([yes_no_process(sides, bounds)], draw, sizes, np.random.default_rng(101), REPETITIONS)[0]
    assert_calibrated(peak)


def test_a_union_is_refuted_wrongly_no_more_often_than_its_true_piece():
    # Claim: a < 0.3 and b < 0.6. Its negation is a union of two pieces; the truth lies on the boundary of one.
    processes = [yes_no_process([[-1.0, 0.0]], [-0.3]), yes_no_process([[0.0, -1.0]], [-0.6])]
    peak = peaks(processes, two_streams([0.3, 0.2]), LONG, np.random.default_rng(102), REPETITIONS)
    assert error_rate(peak[1], 0.05) > 0.99
    assert_calibrated(peak.min(axis=0))
    assert error_rate(peak.min(axis=0), 0.05) > 0.4 * 0.05


JOINT = {
    "identical events": [0.7, 0.0, 0.0, 0.3],
    "opposite events": [0.0, 0.3, 0.7, 0.0],
    "one implies the other": [0.3, 0.2, 0.0, 0.5],
}


@pytest.mark.parametrize("name", JOINT)
@pytest.mark.parametrize("direction", [1.0, -1.0])
def test_bets_on_two_events_of_one_group_keep_the_risk_however_dependent_they_are(name, direction):
    probabilities = np.asarray(JOINT[name])
    grid = grid_for([None, None])
    assert grid is not None
    pays = direction * (grid.values() @ np.asarray([1.0, -0.8]))
    process = EProcess.of([[pays]], [float(probabilities @ pays)], [grid.prior()])
    peak = peaks([process], cells([probabilities]), SHORT, np.random.default_rng(103), REPETITIONS)[0]
    assert_calibrated(peak)


def test_bets_on_categories_keep_the_risk():
    # Five categories; the side says that the first two together are at most half as frequent as the last two.
    truth = np.asarray([0.1, 0.15, 0.25, 0.3, 0.2])
    pays = np.asarray([1.0, 1.0, 0.0, -0.5, -0.5])
    process = EProcess.of([[pays]], [float(truth @ pays)], [np.full(5, 0.5)])
    assert_calibrated(peaks([process], cells([truth]), SHORT, np.random.default_rng(104), REPETITIONS)[0])


def test_bets_on_categories_keep_the_risk_at_a_vertex():
    truth = np.asarray([0.2, 0.3, 0.5])
    payoffs = [[np.asarray([1.0, 0.0, 0.0])], [np.asarray([0.0, 1.0, 0.0])]]
    process = EProcess.of(payoffs, [0.2, 0.3], [np.full(3, 0.5)])
    assert_calibrated(peaks([process], cells([truth]), SHORT, np.random.default_rng(105), REPETITIONS)[0])
