"""Bets on a finite group keep their risk until the last person is drawn. Acceptance as in :mod:`simulation`."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom
from simulation import REPETITIONS, assert_calibrated, batches, yes_no_process

import isonomia as iso
from isonomia.evidence.bets import begin, step
from isonomia.evidence.confidence_sequences import log_finite_evidence


def urns(totals, successes, sizes, rng, repetitions):
    """Draw batch after batch from each urn until it is empty: yields counts of shape (repetitions, urns, 2)."""
    yes = np.broadcast_to(np.asarray(successes), (repetitions, len(totals))).copy()
    left = np.asarray(totals).copy()
    for size in sizes:
        n = np.minimum(size, left)
        if not n.any():
            return
        drawn = np.zeros_like(yes)
        for g, count in enumerate(n):
            if count:
                drawn[:, g] = rng.hypergeometric(yes[:, g], left[g] - yes[:, g], count)
        yes, left = yes - drawn, left - n
        yield np.stack([n - drawn, drawn], axis=-1).astype(float)


CASES = {
    "one small group": ([[1.0]], [0.3], [50], [15]),
    "one group of which nobody": ([[1.0]], [0.0], [80], [0]),
    "one group of which everybody": ([[-1.0]], [-1.0], [80], [80]),
    "one larger group": ([[-1.0]], [-0.1], [800], [80]),
    "a ratio of two groups of different size": ([[1.0, -0.8]], [0.0], [100, 400], [40, 200]),
    "a difference of two groups, one used up early": ([[-1.0, 1.0]], [0.1], [40, 600], [20, 360]),
}


@pytest.mark.parametrize("name", CASES)
def test_bets_keep_the_risk_until_the_group_is_used_up(name):
    sides, bounds, totals, successes = CASES[name]
    rng = np.random.default_rng(301)
    process = yes_no_process(sides, bounds, totals)
    state = begin(process, REPETITIONS)
    for counts in urns(totals, successes, batches(2 * max(totals), growth=0.15), rng, REPETITIONS):
        state = step(process, state, counts)
    assert np.allclose(state.tally.sum(axis=-1), totals)
    assert_calibrated(state.peak)


@pytest.mark.parametrize(("size", "total"), [(60, 18), (60, 0), (500, 20), (500, 480)])
def test_finite_evidence_keeps_the_true_total(size, total):
    rng = np.random.default_rng(302)
    drawn = np.zeros((REPETITIONS, 2))
    peak = np.zeros(REPETITIONS)
    for counts in urns([size], [total], batches(2 * size, growth=0.05), rng, REPETITIONS):
        drawn += counts[:, 0]
        n = drawn.sum(axis=1)
        evidence = log_finite_evidence(drawn[:, 1], n, np.full_like(n, size), np.full_like(n, total))
        peak = np.maximum(peak, evidence)
    assert_calibrated(peak)


SORTED = {"sex": ["F"] * 100 + ["M"] * 100, "hired": [1] * 60 + [0] * 40 + [0] * 60 + [1] * 40}
PEOPLE = {
    "counted where the budget allows it": iso.Census(SORTED),
    "with a causal model": iso.Causal({"age": "gaussian(0, 1)"}).about(iso.Census({**SORTED, "age": [0.5] * 200})),
}


@pytest.mark.parametrize("name", PEOPLE)
@pytest.mark.parametrize("budget", ["150 queries", 150])
def test_a_sorted_census_that_the_budget_does_not_cover_keeps_the_risk(name, budget):
    """Half of them are hired, those at the top of the table first: in its order, every check would be wrong."""
    wrong = [
        iso.check(
            "P[prediction] >= 0.51", lambda table: table["hired"], PEOPLE[name], budget=budget, delta=0.05, seed=seed
        ).answer
        == "holds"
        for seed in range(100)
    ]
    assert binom.sf(sum(wrong) - 1, len(wrong), 0.05) > 1e-6
