"""Limits of many rates and ratios of clusters at once are those of each by itself, cluster by cluster."""

from __future__ import annotations

from math import log, sqrt

import numpy as np
import pytest

from isonomia.evidence import cluster_claims
from isonomia.evidence.cluster_claims import ROUNDS, SCAN, rate_limits, ratio_limits
from isonomia.evidence.clusters import ClusterBatch, ClusterTests

LARGEST, RISK = 24.0, 0.025


def histories(leaves: int, seed: int, clusters: int = 60) -> list[list[ClusterBatch]]:
    """Streams of clusters with other rates and sizes each; the last has real values."""
    rng, found = np.random.default_rng(seed), []
    for k in range(5):
        rows = rng.integers(0, 4 + 2 * k, (clusters, leaves)).astype(float)
        rows[0] = 3.0
        sums = rng.binomial(rows.astype(int), rng.beta(2, 2 + k, (clusters, 1))).astype(float)
        sums[0] = 1.0
        found.append(ClusterBatch.in_order(rows, rows * rng.random(rows.shape) if k == 4 else sums, 20))
    return found


def alone(history: list[ClusterBatch], leaves: int, deadline: int | None) -> tuple[float, float]:
    """The limits of one rate or ratio, by one test for each value: no values, sides or streams are joined."""
    rows, sums, times = (
        np.concatenate([getattr(batch, name) for batch in history]) for name in ("rows", "sums", "times")
    )
    means = (times @ sums) / (times @ rows)
    away = (sums - means * rows) / (times @ rows)
    estimate = float(means[0] / means[1]) if leaves == 2 else float(means[0])
    away = (away[:, 0] - estimate * away[:, 1]) / means[1] if leaves == 2 else away[:, 0]
    width = max(sqrt(float(times @ away**2)), 1e-3) * sqrt(2.0 * log(1.0 / RISK) + 1.0)
    limits, ends = (0.0, np.inf if leaves == 2 else 1.0), []
    for sign, limit in ((1.0, limits[0]), (-1.0, limits[1])):

        def refuted(value: float, sign: float = sign) -> bool:
            slopes = np.asarray([[sign, -sign * value if leaves == 2 else 0.0]])
            bound = np.asarray([0.0 if leaves == 2 else sign * value])
            tests = ClusterTests(tuple(range(leaves)), slopes, bound, LARGEST, True, RISK, deadline)
            return bool(tests.run(history)[0])

        values = [float(value) for value in np.clip(estimate - sign * width * SCAN, *limits)]
        values = list(dict.fromkeys([*values, limit] if np.isfinite(limit) else values))
        inside, outside = estimate, limit
        for _ in range(ROUNDS):
            last = max((k for k, value in enumerate(values) if not refuted(value)), default=-1)
            if last == len(values) - 1:
                break
            inside, outside = values[last] if last >= 0 else inside, values[last + 1]
            values = [*np.linspace(inside, outside, 10)[1:-1].tolist(), outside]
        ends.append(outside)
    return ends[0], ends[1]


@pytest.mark.parametrize("deadline", [None, 60])
@pytest.mark.parametrize("together", [1, 10_000])
def test_rates_bet_on_together_have_the_limits_of_each_alone(
    deadline: int | None, together: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster_claims, "TOGETHER", together)
    many = histories(1, 1)
    found = rate_limits(many, LARGEST, RISK, deadline)
    assert np.allclose(found, [alone(history, 1, deadline) for history in many], rtol=1e-9, atol=0.0)


@pytest.mark.parametrize("deadline", [None, 60])
def test_ratios_bet_on_together_have_the_limits_of_each_alone(deadline: int | None) -> None:
    many = histories(2, 2)[:2]
    found = ratio_limits(many, LARGEST, RISK, deadline)
    assert np.allclose(found, [alone(history, 2, deadline) for history in many], rtol=1e-9, atol=0.0)


@pytest.mark.parametrize(("clusters", "count"), [(60, 64), (64, 64), (130, 64), (7, 1), (0, 1)])
def test_batches_in_order_have_every_cluster_once(clusters: int, count: int) -> None:
    rng = np.random.default_rng(3)
    count = min(count, clusters) or 1
    rows = rng.integers(0, 3, (clusters, 2)).astype(float)
    sums = np.minimum(rows, rng.integers(0, 3, (clusters, 2)))
    batches = ClusterBatch.in_order(rows, sums, count)
    parts = zip(np.array_split(rows, count), np.array_split(sums, count), strict=True)
    for batch, part in zip(batches, parts, strict=True):
        both, times = np.unique(np.concatenate(part, axis=1), axis=0, return_counts=True)
        assert np.array_equal(np.concatenate([batch.rows, batch.sums], axis=1), both)
        assert np.array_equal(batch.times, times)
