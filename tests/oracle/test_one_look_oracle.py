"""Limits for one look against brute force: every table that there can be, and every pair of rates on a fine grid."""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import binom, norm

from isonomia.evidence.binomial import lower_limit, upper_limit
from isonomia.evidence.one_look import NUISANCE_SHARE, RateFraction, lower_end, proves_above, upper_end

RATIO = RateFraction(0.0, (1.0, 0.0), 0.0, (0.0, 1.0))
DIFFERENCE = RateFraction(0.0, (1.0, -1.0))
BOTH = RateFraction(0.1, (1.0, 0.7))
SHARE = RateFraction(0.0, (1.0, 0.0), 0.0, (1.0, 1.0))
SIZES, DELTA = (7, 6), 0.1
GRID = np.linspace(0.01, 0.99, 99)


def value(fraction: RateFraction, *rates: np.ndarray) -> np.ndarray:
    above = fraction.constant + sum(a * p for a, p in zip(fraction.top, rates, strict=True))
    return above / (fraction.base + sum(b * p for b, p in zip(fraction.bottom, rates, strict=True)))


@cache
def ends(fraction: RateFraction) -> tuple[np.ndarray, np.ndarray]:
    """Both limits of every table."""
    tables = list(product(*(range(n + 1) for n in SIZES)))
    shape = tuple(n + 1 for n in SIZES)
    low = np.asarray([lower_end(fraction, table, SIZES, DELTA) for table in tables]).reshape(shape)
    high = np.asarray([upper_end(fraction, table, SIZES, DELTA) for table in tables]).reshape(shape)
    return low, high


def misses(fraction: RateFraction, low: np.ndarray, high: np.ndarray) -> tuple[float, float]:
    """How often each end misses, exactly, at the rates of the grid where it does so most often."""
    first, second = (binom.pmf(np.arange(n + 1), n, GRID[:, None]) for n in SIZES)
    truth = value(fraction, *np.meshgrid(GRID, GRID, indexing="ij"))[:, :, None, None]
    chance = np.einsum("ai,bj->abij", first, second)
    wrong = (low > truth + 1e-12, high < truth - 1e-12)
    too_high, too_low = (np.where(missed, chance, 0.0).sum(axis=(2, 3)).max() for missed in wrong)
    return float(too_high), float(too_low)


@pytest.mark.parametrize("fraction", [RATIO, DIFFERENCE, BOTH, SHARE])
def test_each_end_misses_with_probability_at_most_delta_whatever_the_rates(fraction: RateFraction) -> None:
    too_high, too_low = misses(fraction, *ends(fraction))
    assert too_high <= DELTA
    assert too_low <= DELTA
    # Not wastefully safe: at some rates the risk is nearly used up.
    assert min(too_high, too_low) >= 0.8 * DELTA


@pytest.mark.parametrize("fraction", [RATIO, DIFFERENCE])
def test_limits_a_fifth_too_tight_would_be_noticed(fraction: RateFraction) -> None:
    low, high = ends(fraction)
    estimates = value(fraction, *np.meshgrid(*((np.arange(n + 1) + 0.5) / (n + 1) for n in SIZES), indexing="ij"))
    tight = estimates - 0.8 * (estimates - low), estimates + 0.8 * (high - estimates)
    assert max(misses(fraction, *tight)) > DELTA


def test_the_limit_of_one_rate_is_that_of_clopper_and_pearson() -> None:
    rate = RateFraction(0.0, (1.0,))
    assert lower_end(rate, (3,), (20,), 0.05) == pytest.approx(float(lower_limit(3, 20, 0.05)))
    assert upper_end(rate, (3,), (20,), 0.05) == pytest.approx(float(upper_limit(3, 20, 0.05)))
    doubled = RateFraction(1.0, (-2.0,))
    assert lower_end(doubled, (3,), (20,), 0.05) == pytest.approx(1.0 - 2.0 * float(upper_limit(3, 20, 0.05)))


def approximate_limit(first: int, second: int, sizes: tuple[int, int], delta: float) -> float:
    """By which tables are ordered for the lower limit of a ratio, written out once more."""
    z = norm.isf(delta)
    n = np.asarray(sizes) + z**2
    u, v = (np.asarray([first, second]) + z**2 / 2) / n

    def excess(c: float) -> float:
        return float(u - c * v - z * np.sqrt(u * (1 - u) / n[0] + c**2 * v * (1 - v) / n[1]))

    return 0.0 if excess(0.0) < 0 else float(brentq(excess, 0.0, u / v, xtol=1e-13))


@pytest.mark.parametrize("table", [(9, 7), (4, 10), (12, 3)])
def test_the_limit_of_a_ratio_is_the_least_over_a_fine_grid_of_rates(table: tuple[int, int]) -> None:
    sizes, delta = (15, 12), 0.05
    order = np.asarray(
        [[approximate_limit(i, j, sizes, delta) for j in range(sizes[1] + 1)] for i in range(sizes[0] + 1)]
    )
    as_strong = order >= order[table] - 1e-9
    grid = np.linspace(1e-4, 1 - 1e-4, 1500)
    first, second = (binom.pmf(np.arange(n + 1), n, grid[:, None]) for n in sizes)
    chance = first @ as_strong @ second.T
    gamma = delta * NUISANCE_SHARE
    allowed = chance > delta - gamma
    # One of the two rates is kept within its Clopper-Pearson interval; which one is a matter of cost.
    found = []
    for kept in (0, 1):
        low, high = (float(end(table[kept], sizes[kept], gamma / 4)) for end in (lower_limit, upper_limit))
        inside = (grid >= low) & (grid <= high)
        box = inside[:, None] if kept == 0 else inside[None, :]
        ratio = np.where(allowed & box, grid[:, None] / grid[None, :], np.inf)
        found.append(float(ratio.min()))
    limit = lower_end(RATIO, table, sizes, delta)
    assert limit <= max(found)
    assert limit >= min(found) - 0.03 * (table[0] / sizes[0]) / (table[1] / sizes[1])


def test_three_rates_miss_with_probability_at_most_delta() -> None:
    mixed, sizes, delta = RateFraction(0.0, (0.5, 0.5, -1.0)), (3, 2, 3), 0.1
    tables = np.asarray(list(product(*(range(n + 1) for n in sizes))))
    limits = np.asarray([lower_end(mixed, table, sizes, delta) for table in tables])
    grid = np.linspace(0.05, 0.95, 10)
    worst = 0.0
    for rates in product(grid, repeat=3):
        chance = np.prod([binom.pmf(tables[:, g], sizes[g], rates[g]) for g in range(3)], axis=0)
        worst = max(worst, float(chance[limits > np.dot(mixed.top, rates) + 1e-12].sum()))
    assert 0.01 * delta < worst <= delta


@pytest.mark.parametrize(
    ("successes", "n", "value", "above"),
    [((7, 4), (37, 37), 0.0, True), ((11, 9), (13, 10), 0.0, True), ((12, 17), (17, 19), 5.0, False)],
)
def test_a_value_that_no_likely_rate_has_is_refuted(successes, n, value: float, above: bool) -> None:
    ratio = RateFraction(0.0, (1.0, 0.0), 0.0, (0.0, 1.0))
    assert proves_above(ratio, successes, n, 0.05, value) is above
    assert proves_above(ratio.negated, successes, n, 0.05, -value) is not above
