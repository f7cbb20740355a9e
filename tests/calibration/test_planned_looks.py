"""Planned looks: how often any of several reports on a growing table is wrong, where the truth is on the boundary."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import pytest
from scipy.stats import binom
from simulation import REPETITIONS, most_errors

from isonomia.evidence.binomial import lower_limit, planned_lower_limit, planned_upper_limit
from isonomia.evidence.looks import LookPlan
from isonomia.evidence.one_look import RateFraction, proves_above

DIFFERENCE = RateFraction(0.0, (1.0, -1.0))


def _boundaries(rate: float, sizes: Sequence[int], delta: float) -> list[int]:
    """The least number of successes at each look with which its lower limit exceeds a rate."""
    plan, found = LookPlan(len(sizes)), []
    for look in range(1, len(sizes) + 1):
        risks = [delta * plan.spent(number) for number in range(1, look + 1)]
        low, high = int(rate * sizes[look - 1]), sizes[look - 1] + 1
        while high - low > 1:
            middle = (low + high) // 2
            above = planned_lower_limit(middle, sizes[:look], risks, len(sizes)) > rate
            low, high = (low, middle) if above else (middle, high)
        found.append(high)
    return found


def _ever(rate: float, sizes: Sequence[int], boundaries: Sequence[int]) -> float:
    """The exact probability that the number of successes is at or above its boundary at some look."""
    left, before, ever = np.ones(1), 0, 0.0
    for size, boundary in zip(sizes, boundaries, strict=True):
        left = np.convolve(left, binom.pmf(np.arange(size - before + 1), size - before, rate))
        ever, left, before = ever + left[boundary:].sum(), left[:boundary], size
    return float(ever)


@pytest.mark.parametrize("delta", [0.1, 0.05, 1e-4])
@pytest.mark.parametrize(
    ("rate", "sizes"),
    [
        (0.5, (400, 800, 1200, 1600, 2000)),
        (0.03, (400, 800, 1200, 1600, 2000)),
        (0.9, (37, 150, 151, 700)),
        (0.3, (900, 1000)),
        (0.2, tuple(range(50, 501, 50))),
    ],
)
def test_the_exact_chance_that_any_report_excludes_a_rate_is_at_most_delta(
    rate: float, sizes: tuple[int, ...], delta: float
) -> None:
    chance = _ever(rate, sizes, _boundaries(rate, sizes, delta))
    assert chance <= delta
    assert chance >= 0.5 * delta, "the risk is used"


@pytest.mark.parametrize("delta", [1e-20, 1e-60, 1e-200])
@pytest.mark.parametrize(("rate", "sizes"), [(0.5, (700, 1400, 2000)), (0.1, (2000, 2100))])
def test_the_chance_is_at_most_delta_however_small_delta_is(rate: float, sizes: tuple[int, ...], delta: float) -> None:
    chance = _ever(rate, sizes, _boundaries(rate, sizes, delta))
    assert 0.0 < chance <= delta


def test_reports_with_exact_boundaries_are_wrong_in_at_most_delta_of_many_runs() -> None:
    sizes, delta = np.asarray([400, 800, 1200, 1600, 2000]), 0.1
    boundaries = np.asarray(_boundaries(0.5, tuple(sizes), delta))
    hits = np.random.default_rng(6).binomial(400, 0.5, (REPETITIONS, 5)).cumsum(axis=1)
    assert int((hits >= boundaries).any(axis=1).sum()) <= most_errors(REPETITIONS, delta)


def test_reports_on_two_rates_are_wrong_in_at_most_delta_of_many_runs() -> None:
    delta, plan, runs = 0.1, LookPlan(5), 1_000
    hits = np.random.default_rng(7).binomial(20, 0.4, (runs, 5, 2)).cumsum(axis=1)

    @cache
    def proved(look: int, first: int, second: int) -> bool:
        size, risk = 20 * look, delta * plan.share(look)
        return proves_above(DIFFERENCE, (first, second), (size, size), risk, 0.0)

    wrong = sum(any(proved(look + 1, *run[look]) for look in range(5)) for run in hits.tolist())
    assert wrong <= most_errors(runs, delta)


@pytest.mark.parametrize("count", range(1, 13))
def test_the_parts_of_all_looks_add_up_to_the_whole_risk(count: int) -> None:
    plan = LookPlan(count)
    assert sum(plan.share(number + 1) for number in range(count)) == pytest.approx(1.0)
    assert plan.spent(count) == 1.0


@pytest.mark.parametrize(("count", "delta"), [(2, 0.1), (5, 0.1), (5, 0.05), (5, 1e-3), (10, 0.05)])
@pytest.mark.parametrize(("n", "rate"), [(20_000, 0.4), (2_000, 0.5), (5_000, 0.02)])
def test_the_last_report_on_a_rate_is_at_most_a_thirtieth_wider_than_a_single_look(
    count: int, delta: float, n: int, rate: float
) -> None:
    sizes = [n * look // count for look in range(1, count + 1)]
    risks = [delta * LookPlan(count).spent(look) for look in range(1, count + 1)]
    hits = round(n * rate)
    width = rate - planned_lower_limit(hits, sizes, risks, count)
    assert width <= 1.03 * (rate - float(lower_limit(hits, n, delta)))
    mirrored = planned_upper_limit(n - hits, sizes, risks, count) - (1.0 - rate)
    assert mirrored == pytest.approx(width, rel=1e-6)
