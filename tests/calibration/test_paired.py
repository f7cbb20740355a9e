"""Pairs: how often claims about the same rows err on the boundary, and how often they decide away from it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom
from simulation import REPETITIONS, assert_calibrated, batches, cells, most_errors, peaks

import isonomia as iso
from isonomia.evidence.bets import EProcess
from isonomia.evidence.cluster_claims import ClusterEvidence
from isonomia.evidence.clusters import ClusterBatch
from isonomia.evidence.paired import difference_limit, proves_difference
from isonomia.evidence.protocol import grid_for
from isonomia.spec.property import parse
from isonomia.spec.tree import leaves_of

RUNS = 2000


def chance_of_proof(n: int, p: float, q: float, threshold: float, delta: float) -> float:
    """The probability that one look proves ``p - q`` above a threshold: exact, since it rises with the first count."""
    counts = np.arange(n + 1)
    weights = binom.pmf(counts, n, q)
    total = 0.0
    for count in counts[weights > 1e-9]:
        low, high = -1, n - count + 1
        while high - low > 1:
            middle = (low + high) // 2
            if proves_difference(middle, count, n, delta, threshold):
                high = middle
            else:
                low = middle
        total += weights[count] * binom.sf(high - 1, n - count, min(p / (1 - q), 1.0))
    return float(total)


@pytest.mark.parametrize(
    ("n", "second", "threshold"),
    [
        (4, 0.3, 0.0),
        (30, 0.01, 0.0),
        (30, 0.45, 0.0),
        (120, 0.03, 0.0),
        (120, 0.04, -0.02),
        (60, 0.2, -0.2),
        (60, 0.05, 0.6),
        (500, 0.002, 0.0),
    ],
)
def test_a_difference_on_the_boundary_is_proved_with_probability_at_most_delta(
    n: int, second: float, threshold: float
) -> None:
    assert chance_of_proof(n, second + threshold, second, threshold, 0.05) <= 0.05


def test_a_risk_that_is_a_fifth_too_large_is_noticed() -> None:
    rates = np.linspace(0.02, 0.45, 12)
    assert max(chance_of_proof(120, q, q, 0.0, 0.05 / 0.8) for q in rates) > 0.05
    assert max(chance_of_proof(120, q, q, 0.0, 0.05) for q in rates) > 0.04, "and little of the risk is left unused"


@pytest.mark.parametrize(
    ("n", "first", "second", "threshold", "least"),
    [
        (500, 0.08, 0.03, 0.0, 0.955),  # the asymptotic test of McNemar: 0.966, without a guarantee
        (500, 0.06, 0.06, -0.05, 0.91),
        (100, 0.3, 0.15, 0.0, 0.71),
    ],
)
def test_one_look_decides_nearly_as_often_as_asymptotic_tests(
    n: int, first: float, second: float, threshold: float, least: float
) -> None:
    assert chance_of_proof(n, first, second, threshold, 0.05) >= least


BOUNDARIES = {
    "few disagree": (200, (0.03, 0.03), 0.0),
    "many disagree": (80, (0.45, 0.45), 0.0),
    "margin": (150, (0.02, 0.07), -0.05),
    "tiny": (6, (0.4, 0.4), 0.0),
    "almost always tied": (300, (0.002, 0.002), 0.0),
}


def pairs(rng: np.random.Generator, n: int, rates: tuple[float, float]) -> dict[str, np.ndarray]:
    """Answers of two models to the same questions; on the others both are right, or both are wrong."""
    draws = rng.random(n)
    first, second = draws < rates[0], (draws >= rates[0]) & (draws < sum(rates))
    both = rng.random(n) < 0.7
    return {"a": np.where(first | second, first, both), "b": np.where(first | second, second, both)}


@pytest.mark.parametrize("name", BOUNDARIES)
def test_each_limit_of_pairs_on_the_boundary_is_wrong_with_probability_at_most_delta(name: str) -> None:
    n, (p, q), threshold = BOUNDARIES[name]
    rng, delta, known, wrong = np.random.default_rng(7), 0.1, dict[tuple[int, int], float](), np.zeros(2)
    for first, second, _ in rng.multinomial(n, [p, q, 1 - p - q], size=RUNS):
        for end, table in enumerate([(int(first), int(second)), (int(second), int(first))]):
            if table not in known:
                known[table] = difference_limit(*table, n, delta)
            wrong[end] += known[table] > (threshold, -threshold)[end] + 1e-12
    assert wrong.max() <= most_errors(RUNS, delta)


@pytest.mark.parametrize("name", BOUNDARIES)
def test_the_answer_at_one_look_is_the_side_on_which_the_interval_lies(name: str) -> None:
    n, rates, threshold = BOUNDARIES[name]
    rng, answers = np.random.default_rng(7), set[str]()
    for run in range(40):
        rows = iso.Sample(pairs(rng, n, rates))
        verdict = iso.check(f"P[a] - P[b] > {threshold}", population=rows, delta=0.6, looks="once", seed=run)
        low, high = verdict.interval
        answers.add(verdict.answer)
        assert verdict.answer == ("holds" if low > threshold else "violated" if high <= threshold else "undecided")
    assert len(answers) > 1


@pytest.mark.parametrize("direction", [1.0, -1.0])
@pytest.mark.parametrize("name", BOUNDARIES)
def test_bets_on_pairs_on_the_boundary_keep_the_risk_after_every_batch(name: str, direction: float) -> None:
    n, (p, q), _ = BOUNDARIES[name]
    grid = grid_for([None, None])
    assert grid is not None
    chance = {(1, 0): p, (0, 1): q, (1, 1): 0.7 * (1 - p - q), (0, 0): 0.3 * (1 - p - q)}
    truth = np.asarray([chance[tuple(int(x) for x in cell)] for cell in grid.values()])
    pays = direction * (grid.values() @ np.asarray([1.0, -1.0]))
    process = EProcess.of([[pays]], [float(truth @ pays)], [grid.prior()])
    draws = batches(2 * n, single=10, growth=0.2)
    assert_calibrated(peaks([process], cells([truth]), draws, np.random.default_rng(8), REPETITIONS)[0], (0.1, 0.05))


WHOLE = 250
"""Whole checks, of whose bets the test above simulates many more."""


@pytest.mark.parametrize("name", ["many disagree", "margin"])
def test_any_look_at_pairs_on_the_boundary_errs_with_probability_at_most_delta(name: str) -> None:
    n, rates, threshold = BOUNDARIES[name]
    rng, wrong, delta = np.random.default_rng(8), 0, 0.1
    for run in range(WHOLE):
        rows = iso.Sample(pairs(rng, n, rates))
        verdict = iso.check(f"P[a] - P[b] > {threshold}", population=rows, delta=delta, seed=run, growth=2.0)
        wrong += verdict.answer == "holds"
    assert wrong <= most_errors(WHOLE, delta)


def test_looking_any_time_saves_rows_where_one_model_is_better() -> None:
    rng, decided, rows = np.random.default_rng(9), 0, []
    for run in range(100):
        sample = iso.Sample(pairs(rng, 500, (0.08, 0.03)))
        verdict = iso.check("P[a] - P[b] > 0", population=sample, seed=run)
        decided += verdict.answer == "holds"
        rows.append(verdict.samples)
    assert decided >= 0.7 * 100
    assert np.mean(rows) <= 380


def test_one_look_at_paired_means_is_nearly_as_narrow_as_the_interval_of_one_mean() -> None:
    rng, widths, missed, delta = np.random.default_rng(10), [], 0, 0.05
    for run in range(100):
        base = rng.random(400)
        new = np.clip(base + 0.1 * rng.standard_normal(400), 0, 1)
        old = np.clip(base + 0.1 * rng.standard_normal(400), 0, 1)
        claim = "E[new from 0 to 1] - E[old from 0 to 1] >= 0"
        verdict = iso.check(claim, population=iso.Sample({"new": new, "old": old}), looks="once", seed=run, delta=delta)
        low, high = verdict.interval
        missed += low > 0 or high < 0
        widths.append((high - low) / (2 * 1.645 * np.std(new - old) / 20))
    assert missed <= most_errors(100, 2 * delta)
    assert np.median(widths) <= 1.6


def clusters_of_pairs(rng: np.random.Generator, clusters: int, size: int) -> list[ClusterBatch]:
    """Clusters in each of which all rows speak for the same model, or for neither; no model is better on average."""
    kind = rng.choice([-1, 0, 1], size=clusters, p=[0.15, 0.7, 0.15])
    both = rng.binomial(size, 0.6, clusters)
    first = np.where(kind == 1, size, np.where(kind == -1, 0, both))
    second = np.where(kind == -1, size, np.where(kind == 1, 0, both))
    rows = np.full((clusters, 2), float(size))
    return ClusterBatch.in_order(rows, np.stack([first, second], axis=-1).astype(float), 10)


@pytest.mark.parametrize("deadline", [None, 40])
def test_pairs_in_clusters_on_the_boundary_err_with_probability_at_most_delta(deadline: int | None) -> None:
    claim = parse("P[a] - P[b] > 0").formula
    leaves = leaves_of(claim)
    evidence = ClusterEvidence(claim, leaves, dict.fromkeys(leaves, (0.0, 1.0)), 0.1, 5.0, deadline)
    rng, wrong, runs = np.random.default_rng(12), 0, 500  # test_clusters has the same bets a thousand times each
    for _ in range(runs):
        wrong += evidence.run(clusters_of_pairs(rng, 40, 5)) is True
    assert wrong <= most_errors(runs, 0.1)


def test_pairs_in_clusters_are_decided_as_one_mean_of_each_row() -> None:
    rng, answers = np.random.default_rng(13), []
    task, hard = np.repeat(np.arange(300), 4), np.repeat(rng.random(300), 4)
    rows = {"task": task, "a": (hard < 0.68).astype(int), "b": (hard < 0.6).astype(int)}
    for claim in ("P[a == 1] - P[b == 1] > 0", "E[a - b from -1 to 1] > 0"):
        for looks in ("any", "once"):
            verdict = iso.check(claim, population=iso.Sample(rows, cluster="task"), seed=1, looks=looks)
            assert verdict.answer == "holds"
            answers.append((verdict.samples, *verdict.interval))
    np.testing.assert_allclose(answers[:2], answers[2:], rtol=0.05, atol=0.01)
