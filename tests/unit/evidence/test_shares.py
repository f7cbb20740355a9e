"""Wealths and intervals of many shares, and how many draws a claim takes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad

from isonomia.errors import UsageError
from isonomia.evidence.binomial import (
    clopper_pearson,
    draws_for_power,
    draws_for_width,
    least_draws,
    least_sequential_draws,
    power_below,
    upper_limit,
)
from isonomia.evidence.confidence_sequences import (
    anytime_interval,
    log_wealth_above,
    log_wealth_below,
    mean_interval,
    tail_above,
    tail_below,
)
from raising import raises


@pytest.mark.parametrize(("s", "n", "threshold"), [(0, 10, 0.1), (3, 10, 0.1), (1, 40, 0.1), (7, 9, 0.6), (0, 0, 0.3)])
def test_wealths_are_the_mean_likelihood_ratio_over_the_alternatives(s: int, n: int, threshold: float) -> None:
    def mean_ratio(low: float, high: float) -> float:
        def weighted(angle: float) -> float:  # q = sin(angle)^2 has the arcsine law where the angle is uniform
            q = np.sin(angle) ** 2
            return float((q / threshold) ** s * ((1 - q) / (1 - threshold)) ** (n - s))

        ends = np.arcsin(np.sqrt([low, high]))
        return quad(weighted, *ends)[0] / (ends[1] - ends[0])

    assert np.exp(log_wealth_above(s, n, threshold)) == pytest.approx(mean_ratio(threshold, 1.0), rel=1e-8)
    assert np.exp(log_wealth_below(s, n, threshold)) == pytest.approx(mean_ratio(0.0, threshold), rel=1e-8)


def test_a_fair_bet_loses_on_average_wherever_the_null_is_true() -> None:
    n = 12
    for share in (0.0, 0.1, 0.2):
        chance = np.asarray([probability(n, s, share) for s in range(n + 1)])
        assert (chance * np.exp(log_wealth_above(np.arange(n + 1), n, 0.2))).sum() <= 1 + 1e-12
        chance = np.asarray([probability(n, s, 1 - share) for s in range(n + 1)])
        assert (chance * np.exp(log_wealth_below(np.arange(n + 1), n, 0.8))).sum() <= 1 + 1e-12


def probability(n: int, s: int, share: float) -> float:
    from math import comb

    return comb(n, s) * share**s * (1 - share) ** (n - s)


def test_the_interval_of_many_is_that_of_each() -> None:
    yes, n = np.asarray([0, 3, 10, 250]), np.asarray([10, 10, 10, 1_000])
    low, high = anytime_interval(yes, n, 0.05)
    for j in range(len(n)):
        one = mean_interval(np.asarray([0.0, 1.0]), np.asarray([n[j] - yes[j], yes[j]], dtype=float), 0.05)
        assert (low[j], high[j]) == pytest.approx(one, abs=1e-9)


def test_without_draws_the_interval_is_everything() -> None:
    low, high = anytime_interval([0], [0], 0.05)
    assert (low[0], high[0]) == (0.0, 1.0)


def test_tails_agree_with_clopper_and_pearson() -> None:
    yes = np.arange(60)
    refuted = tail_below(yes, 100, 0.3) <= 0.05
    np.testing.assert_array_equal(refuted, upper_limit(yes, 100, 0.05) <= 0.3)
    assert tail_above(0, 100, 0.3) == pytest.approx(1.0)


def test_huge_evidence_neither_overflows_nor_becomes_nonsense() -> None:
    assert log_wealth_above(50_000, 100_000, 0.1) > 1_000
    assert log_wealth_below(50_000, 100_000, 0.1) == -np.inf


def test_planning_numbers_of_the_paper_and_their_corrections() -> None:
    assert draws_for_width(0.05, 0.1) == 402
    assert least_draws(0.05, 0.1) == 29
    assert power_below(254, 0.01, 0.1, 0.05) == pytest.approx(0.709, abs=5e-4)
    assert draws_for_power(0.01, 0.1, 0.05, 0.8, lasting=False) == 287
    assert draws_for_power(0.01, 0.1, 0.05, 0.8) == 312
    assert float(upper_limit(4, 254, 0.01)) == pytest.approx(0.045, abs=5e-5)


def test_one_draw_less_than_the_least_never_suffices() -> None:
    for delta, threshold in ((0.05, 0.1), (0.01, 0.3), (1e-6, 0.02), (0.25, 0.5)):
        n = least_draws(delta, threshold)
        assert tail_below(0, n, threshold) <= delta * (1 + 1e-9) < tail_below(0, n - 1, threshold) * (1 + 2e-9)
        n = least_sequential_draws(delta, threshold)
        assert log_wealth_below(0, n, threshold) >= np.log(1 / delta) > log_wealth_below(0, n - 1, threshold)


def test_bad_numbers_are_refused_with_their_names() -> None:
    with raises(UsageError, 0, 1, name="threshold"):
        log_wealth_above(1, 2, 0.0)
    with raises(UsageError, "successes=3", "n=2"):
        log_wealth_below(3, 2, 0.1)
    with raises(UsageError, 0, 1, "delta=1.5"):
        least_draws(1.5, 0.1)
    with raises(UsageError, 0, 0.1, 0.2):
        power_below(10, 0.05, 0.1, 0.2)
    with pytest.raises(UsageError, match="too near"):
        draws_for_power(0.05, 0.1, 0.0999999, 0.8)


@pytest.mark.parametrize("n", [1.0, 20.0, 1e6, 1e17])
def test_an_interval_reaches_the_end_that_nothing_speaks_against_and_never_closes_to_it(n: float) -> None:
    low, high = anytime_interval([0.0, n], [n, n], 0.05)
    assert (low[0], high[1]) == (0.0, 1.0)
    assert 0.0 < high[0] < 1.0
    assert 0.0 < low[1] < 1.0
    assert high[0] == pytest.approx(1.0 - low[1], abs=1e-15)


@pytest.mark.parametrize("delta", [0.0, 1.0, -0.1])
def test_an_interval_at_no_risk_is_refused(delta: float) -> None:
    with raises(UsageError, name="delta"):
        anytime_interval(np.asarray([1]), np.asarray([2]), delta)


@pytest.mark.parametrize(("delta", "threshold"), [(0.05, 0.3), (0.01, 0.01), (1e-6, 0.003), (0.5, 0.9)])
def test_one_draw_less_than_the_sequential_least_never_suffices(delta: float, threshold: float) -> None:
    n = least_sequential_draws(delta, threshold)
    assert log_wealth_below(0, n, threshold) >= np.log(1 / delta)
    assert n == 1 or log_wealth_below(0, n - 1, threshold) < np.log(1 / delta)
    assert n >= least_draws(delta, threshold)


def test_a_wish_that_takes_many_thousand_draws_is_granted() -> None:
    n = draws_for_power(0.05, 0.5, 0.49, 0.8)
    # (0.5 z_0.95 + 0.5 z_0.8)**2 / 0.01**2, up to continuity
    assert n == pytest.approx(15_453, rel=0.02)
    assert power_below(n, 0.05, 0.5, 0.49) >= 0.8
    assert power_below(n - 1, 0.05, 0.5, 0.49) < 0.8


@pytest.mark.parametrize(("threshold", "share", "power"), [(0.1, 0.05, 0.9), (0.2, 0.15, 0.9), (0.05, 0.02, 0.8)])
def test_a_lasting_number_of_draws_is_the_first_after_which_the_power_never_falls_short(
    threshold: float, share: float, power: float
) -> None:
    n = draws_for_power(0.05, threshold, share, power)
    powers = [power_below(k, 0.05, threshold, share) for k in range(1, 3 * n)]
    assert n == max(k for k, found in enumerate(powers, start=1) if found < power) + 1
    first = draws_for_power(0.05, threshold, share, power, lasting=False)
    assert first == next(k for k, found in enumerate(powers, start=1) if found >= power)
    assert first < n


def test_one_bad_number_among_many_is_refused() -> None:
    for s, n in [([1, 5], [3, 4]), ([-1, 2], [3, 4])]:
        with raises(UsageError, 0, 1, 3, 4):
            anytime_interval(np.asarray(s), np.asarray(n), 0.05)
    for wrong in ({"delta": 2.0, "width": 0.1}, {"delta": 0.1, "width": 2.0}):
        with pytest.raises(UsageError, match="strictly between 0 and 1"):
            draws_for_width(**wrong)
    for wrong in ({"delta": 0.0}, {"threshold": 1.0}, {"share": 0.3}, {"share": -0.1}, {"power": 1.0}):
        with pytest.raises(UsageError, match=r"expected .* but"):
            draws_for_power(**{"delta": 0.1, "threshold": 0.3, "share": 0.1, "power": 0.8, **wrong})


def test_a_share_of_nothing_is_claimed_below_as_soon_as_it_can_be() -> None:
    n = least_draws(0.05, 0.1)
    assert power_below(n, 0.05, 0.1, 0.0) == 1.0
    assert power_below(n - 1, 0.05, 0.1, 0.0) == 0.0


@pytest.mark.parametrize("n", [57, 58, 400])
def test_a_width_that_is_just_reached_suffices(n: int) -> None:
    low, high = clopper_pearson(np.asarray([n // 2, (n + 1) // 2]), n, 0.05)
    width = float((high - low).max())
    assert draws_for_width(0.05, width) <= n
    assert draws_for_width(0.05, np.nextafter(width, 0.0)) > n - 2
