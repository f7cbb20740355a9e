"""The exact limits of a paired difference, against every table of small sizes listed by brute force."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy.stats import multinomial

from isonomia.evidence.binomial import lower_limit, upper_limit
from isonomia.evidence.paired import NUISANCE_SHARE, _PairedTest, difference_limit, proves_difference

SIZES, DELTAS = (1, 2, 3, 7, 16), (0.4, 0.05, 1e-4)


def tables(n: int) -> list[tuple[int, int]]:
    return [(first, second) for first in range(n + 1) for second in range(n + 1 - first)]


@cache
def limits(n: int, delta: float) -> dict[tuple[int, int], float]:
    return {table: difference_limit(*table, n, delta) for table in tables(n)}


def rates(steps: int) -> list[tuple[float, float]]:
    """Pairs of rates all over the triangle, with the extreme ones."""
    grid = np.unique(np.concatenate([np.linspace(0, 1, steps), [1e-6, 1e-3, 0.01, 0.99, 1 - 1e-6]]))
    return [(float(p), float(q)) for p in grid for q in grid if p + q <= 1.0]


def chance(n: int, p: float, q: float, chosen: list[tuple[int, int]]) -> float:
    if not chosen:
        return 0.0
    counts = np.asarray([(a, b, n - a - b) for a, b in chosen])
    return float(multinomial.pmf(counts, n, [p, q, max(1.0 - p - q, 0.0)]).sum())


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("n", SIZES)
def test_the_limit_exceeds_the_difference_with_probability_at_most_delta_for_all_rates(n: int, delta: float) -> None:
    known = limits(n, delta)
    worst = max(
        chance(n, p, q, [table for table, limit in known.items() if limit > p - q + 1e-12]) for p, q in rates(25)
    )
    assert worst <= delta


def test_a_limit_whose_risk_is_a_fifth_too_large_is_noticed() -> None:
    n, delta = 16, 0.2
    known = limits(n, delta / 0.8)
    worst = max(
        chance(n, p, q, [table for table, limit in known.items() if limit > p - q + 1e-12]) for p, q in rates(25)
    )
    assert worst > delta


def likely(difference: float, n: int, delta: float, above: list[tuple[int, int]], box: tuple[float, float]) -> bool:
    """Whether some rates in the box with this difference give these tables more than the level."""
    low, high = max(box[0], -difference), min(box[1], (1 - difference) / 2)
    seconds = np.linspace(low, high, 60) if low <= high else []
    level = delta * (1 - NUISANCE_SHARE)
    return any(chance(n, max(q + difference, 0.0), q, above) > level for q in seconds)


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("n", SIZES)
def test_the_limit_is_the_one_that_a_fine_grid_of_rates_gives(n: int, delta: float) -> None:
    for table, limit in limits(n, delta).items():
        order = _PairedTest(*table, n, delta, delta)
        border = order._limit(np.asarray(table[0]), np.asarray(table[1]))
        above = [each for each in tables(n) if order._limit(np.asarray(each[0]), np.asarray(each[1])) >= border - 1e-12]
        risk = delta * NUISANCE_SHARE / 2
        box = float(lower_limit(table[1], n, risk)), float(upper_limit(table[1], n, risk))
        where = n, delta, above, box
        assert limit <= -1.0 or not likely(limit - 1e-9, *where), "differences below the limit are refuted"
        spread = order.scale
        assert (
            any(likely(limit + step * spread, *where) for step in np.linspace(0.0, 0.1, 6))
            or limit > 1.0 - 0.1 * spread
        )


@pytest.mark.parametrize("n", [*range(1, 30), 200])
def test_the_order_rises_with_the_first_count_and_falls_with_the_second(n: int) -> None:
    for delta in (0.9, 0.4, 0.05, 1e-3, 1e-12):
        order = _PairedTest(0, 0, n, delta, delta)
        first, second = np.meshgrid(np.arange(n + 1.0), np.arange(n + 1.0), indexing="ij")
        values = np.where(first + second <= n, order._limit(first, second), np.nan)
        assert not (np.diff(values, axis=0) < -1e-12).any()
        assert not (np.diff(values, axis=1) > 1e-12).any()


@pytest.mark.parametrize("n", [5, 16])
def test_a_threshold_is_decided_by_the_very_limit_that_is_shown(n: int) -> None:
    for threshold in (-0.3, -0.02, 0.0, 0.2):
        for table in tables(n):
            limit = difference_limit(*table, n, 0.05, threshold)
            assert (limit > threshold) is proves_difference(*table, n, 0.05, threshold)


def test_what_is_proved_at_one_risk_is_proved_at_every_larger_one() -> None:
    for table in tables(12):
        proved = [proves_difference(*table, 12, risk, -0.1, order=0.01) for risk in (0.01, 0.02, 0.05, 0.2, 0.5)]
        assert proved == sorted(proved)
