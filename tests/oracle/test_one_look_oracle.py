"""Limits for one look against brute force: every table that there can be, and every pair of rates on a fine grid."""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import binom, norm

from isonomia.evidence import one_look
from isonomia.evidence.binomial import lower_limit, upper_limit
from isonomia.evidence.one_look import NUISANCE_SHARE, RateFraction, lower_end, proves_above, upper_end
from isonomia.evidence.tail_bounds import BoundedRates, SmoothTail, moment_refutes

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
def ends(fraction: RateFraction, delta: float) -> tuple[np.ndarray, np.ndarray]:
    """Both limits of every table."""
    tables = list(product(*(range(n + 1) for n in SIZES)))
    shape = tuple(n + 1 for n in SIZES)
    low = np.asarray([lower_end(fraction, table, SIZES, delta) for table in tables]).reshape(shape)
    high = np.asarray([upper_end(fraction, table, SIZES, delta) for table in tables]).reshape(shape)
    return low, high


def misses(fraction: RateFraction, low: np.ndarray, high: np.ndarray) -> tuple[float, float]:
    """How often each end misses, exactly, at the rates of the grid where it does so most often."""
    first, second = (binom.pmf(np.arange(n + 1), n, GRID[:, None]) for n in SIZES)
    truth = value(fraction, *np.meshgrid(GRID, GRID, indexing="ij"))[:, :, None, None]
    chance = np.einsum("ai,bj->abij", first, second)
    wrong = (low > truth + 1e-12, high < truth - 1e-12)
    too_high, too_low = (np.where(missed, chance, 0.0).sum(axis=(2, 3)).max() for missed in wrong)
    return float(too_high), float(too_low)


@pytest.mark.parametrize(
    ("fraction", "delta"),
    [(RATIO, DELTA), (DIFFERENCE, DELTA), (BOTH, DELTA), (SHARE, DELTA), (DIFFERENCE, 0.6)],
)
def test_each_end_misses_with_probability_at_most_delta_whatever_the_rates(
    fraction: RateFraction, delta: float
) -> None:
    too_high, too_low = misses(fraction, *ends(fraction, delta))
    assert too_high <= delta
    assert too_low <= delta
    # Not wastefully safe: at some rates the risk is nearly used up.
    assert min(too_high, too_low) >= 0.8 * delta


@pytest.mark.parametrize("fraction", [RATIO, DIFFERENCE])
def test_each_end_is_as_safe_where_probabilities_are_bounded_between_points(
    fraction: RateFraction, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As for many draws; here for so few that all tables can be gone through."""
    for name in ("LARGE", "FEW"):
        monkeypatch.setattr(one_look, name, 0)
    too_high, too_low = misses(fraction, *ends.__wrapped__(fraction, DELTA))
    assert 0.8 * DELTA <= min(too_high, too_low) <= max(too_high, too_low) <= DELTA


@pytest.mark.parametrize("points", [5, 129])
def test_between_points_no_probability_is_above_the_bound(points: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(one_look, "POINTS", points)
    rng, bounds, exceeded = np.random.default_rng(2), [], 0
    for _ in range(60):
        n = rng.integers(30, 400, 2)
        seen = rng.binomial(n, rng.uniform(0.2, 0.8, 2))
        fraction = (RATIO, DIFFERENCE, BOTH)[rng.integers(3)]
        test = one_look._TwoRates(one_look._Table.of(fraction, seen, n), 0.05, 0.05)
        c = test.centre - rng.uniform(1.5, 2.5) * test.scale
        bound, across = test._bound(c), np.linspace(*test._box, 2001)
        if bound is not None:
            along = test._along(c, across)
            largest = test._probability(along, across).max()
            seldom = slice(None, None, 2000 // (points - 1))
            bounds.append(bound / largest)
            exceeded += largest > 1.0001 * test._probability(along[seldom], across[seldom]).max()
    assert len(bounds) > 40
    assert min(bounds) >= 1.0
    if points == 5:
        assert exceeded > 10  # the greatest at the points themselves is no bound
    else:
        assert np.median(bounds) < 1.01


@pytest.mark.parametrize("fraction", [RATIO, DIFFERENCE])
def test_limits_a_fifth_too_tight_would_be_noticed(fraction: RateFraction) -> None:
    low, high = ends(fraction, DELTA)
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
    assert 0.3 * delta < worst <= delta


APART = RateFraction(0.0, (1.0, -1.0, -1.0, 1.0))
OVER_TWO = RateFraction(0.0, (1.0, 0.0, 0.0), 0.0, (0.0, 0.5, 0.5))


@pytest.mark.parametrize(
    ("fraction", "sizes", "threshold"), [(APART, (3, 3, 2, 3), -0.3), (OVER_TWO, (6, 4, 5), 0.8)], ids=["4", "3"]
)
def test_values_of_several_rates_are_proved_wrongly_with_probability_at_most_delta(fraction, sizes, threshold) -> None:
    delta, tables = 0.1, np.asarray(list(product(*(range(n + 1) for n in sizes))))
    proved = np.asarray([proves_above(fraction, table, sizes, delta, threshold) for table in tables])
    # The last rate puts the quantity on the threshold.
    slopes = np.asarray(fraction.top) - threshold * np.asarray(fraction.bottom)
    grid = np.linspace(0.04, 0.96, 24 if len(sizes) == 3 else 12)
    rates = np.asarray(list(product(grid, repeat=len(sizes) - 1)))
    last = (threshold * fraction.base - fraction.constant - rates @ slopes[:-1]) / slopes[-1]
    rates = np.column_stack([rates, last])[(last >= 0.0) & (last <= 1.0)]
    wrong = tails(tables[proved], np.asarray(sizes), slopes, -np.inf, rates)
    assert 0.3 * delta < wrong.max() <= delta


def tails(tables: np.ndarray, sizes: np.ndarray, weights: np.ndarray, reached: float, rates: np.ndarray) -> np.ndarray:
    """``P(T >= reached)``, exactly, at each row of rates."""
    inside = tables[(tables / sizes) @ weights >= reached - 1e-12]
    chances = [binom.pmf(np.arange(n + 1), n, rates[:, g, None])[:, inside[:, g]] for g, n in enumerate(sizes.tolist())]
    return np.asarray(np.prod(chances, axis=0).sum(axis=-1))


def test_no_bound_on_a_tail_is_below_what_it_bounds() -> None:
    rng = np.random.default_rng(3)
    for _ in range(60):
        k = int(rng.integers(1, 5))
        sizes, weights = rng.integers(2, 7, size=k), rng.uniform(0.2, 1.0, size=k)
        low = rng.uniform(0.0, 0.5, size=k)
        high = low + rng.uniform(0.05, 0.5, size=k)
        slopes = weights * rng.uniform(0.8, 1.2, size=k)
        bound = float(slopes @ (low + rng.uniform(0.1, 0.9) * (high - low)))
        rates = low + rng.random((400, k)) * (high - low)
        # Along the line from the lowest corner, up to the hyperplane or out of the box.
        rates = low + (rates - low) * ((bound - slopes @ low) / ((rates - low) @ slopes))[:, None]
        rates = rates[(rates <= high).all(axis=1)]
        tables = np.asarray(list(product(*(range(n + 1) for n in sizes))))
        reached = float(weights @ (rng.binomial(sizes, np.minimum(high + 0.1, 1.0)) / sizes))
        largest = float(tails(tables, sizes, weights, reached, rates).max(initial=0.0))
        if not 1e-6 < largest < 0.9:
            continue
        level, hypothesis = largest * (1.0 - 1e-7), BoundedRates(low, high, slopes, bound)
        n = sizes.astype(float)
        assert not SmoothTail(weights, n, reached, low, high, level).refutes(hypothesis)
        assert not moment_refutes(weights, n, reached, hypothesis, level, 3.0)
        wide = min(3.0 * largest + 0.1, 0.99)  # of so few tables one more or less is much
        assert SmoothTail(weights, n, reached, low, high, wide).refutes(hypothesis)


def test_the_bound_at_given_rates_is_the_probability_itself() -> None:
    sizes, rates, weights = np.asarray([6, 6, 6, 6]), np.asarray([0.3, 0.6, 0.2, 0.5]), np.ones(4)
    tables = np.asarray(list(product(range(7), repeat=4)))
    exactly = float(tails(tables, sizes, weights, 2.5, rates[None])[0])
    for part, refuted in ((1.003, True), (0.999, False)):
        tail = SmoothTail(weights, sizes.astype(float), 2.5, rates, rates, part * exactly)
        assert tail.refutes(BoundedRates(rates, rates, weights, 4.0)) is refuted


@pytest.mark.parametrize(
    ("successes", "n", "value", "above"),
    [((7, 4), (37, 37), 0.0, True), ((11, 9), (13, 10), 0.0, True), ((12, 17), (17, 19), 5.0, False)],
)
def test_a_value_that_no_likely_rate_has_is_refuted(successes, n, value: float, above: bool) -> None:
    ratio = RateFraction(0.0, (1.0, 0.0), 0.0, (0.0, 1.0))
    assert proves_above(ratio, successes, n, 0.05, value) is above
    assert proves_above(ratio.negated, successes, n, 0.05, -value) is not above


@pytest.mark.parametrize("fraction", [APART, OVER_TWO])
def test_the_estimate_lies_between_the_limits_of_several_rates_whatever_the_table(fraction: RateFraction) -> None:
    rng = np.random.default_rng(5)
    for _ in range(15):
        n = rng.choice([1, 2, 5, 30, 400, 20_000], len(fraction.top)).tolist()
        yes = [int(rng.choice([0, size, rng.integers(0, size + 1)])) for size in n]
        delta, threshold = float(rng.choice([0.4, 0.05, 1e-3, 1e-8, 1e-12])), float(rng.choice([0.0, 0.8, 1.0, -0.2]))
        low, high = (end(fraction, yes, n, delta, threshold) for end in (lower_end, upper_end))
        assert low <= high
        rates = np.asarray(yes) / n
        if fraction.base + np.dot(fraction.bottom, rates) > 0:
            assert low <= value(fraction, *rates) + 1e-12
            assert high >= value(fraction, *rates) - 1e-12
