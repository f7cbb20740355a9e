"""One answer over many subgroups."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from isonomia.audits.principal.sampling import PooledWealth, named, pooled, weights_of
from isonomia.evidence.multiple import holm


def pooled_of_table(before: PooledWealth, logs: np.ndarray) -> PooledWealth:
    """The pool over all subgroups of a table."""
    return pooled(before, logs, weights_of(len(logs), len(logs), closed=True))


def test_with_a_closed_list_the_pool_is_the_usual_one() -> None:
    rng, ours, peak = np.random.default_rng(0), PooledWealth(), 0.0
    for _ in range(20):
        logs = rng.normal(size=5)
        ours, usual = pooled_of_table(ours, logs), np.log((np.exp(logs).prod() + np.exp(logs).mean()) / 2.0)
        peak = max(peak, usual)
        assert (ours.log_wealth, ours.peak) == pytest.approx((usual, peak))


def test_the_pooled_wealth_is_1_before_the_first_batch() -> None:
    assert PooledWealth() == PooledWealth(log_wealth=0.0, peak=0.0)
    assert pooled_of_table(PooledWealth(), np.zeros(3)) == PooledWealth()


def test_the_pool_is_half_product_half_average_and_keeps_its_peak() -> None:
    first = pooled_of_table(PooledWealth(), np.log([4.0, 2.0]))
    assert first.log_wealth == pytest.approx(np.log((8.0 + 3.0) / 2.0))
    second = pooled_of_table(first, np.log([0.1, 0.1]))
    assert second.log_wealth < 0
    assert second.peak == first.peak


def test_one_very_unfair_subgroup_among_many_losers_still_shows() -> None:
    logs = np.append(np.full(19, -2.0), 12.0)
    assert logs.sum() < 0
    assert pooled_of_table(PooledWealth(), logs).peak >= np.log(1 / 0.01)


def test_huge_wealths_do_not_overflow() -> None:
    assert pooled_of_table(PooledWealth(), np.array([5_000.0, 6_000.0])).peak == pytest.approx(11_000.0 - np.log(2.0))


def test_holm_asks_more_of_the_first_named_than_of_the_last() -> None:
    p_values = [1 / 61, 1 / 41, 1 / 21]
    assert holm(p_values, 0.05).tolist() == [True, True, True]
    assert holm([*p_values[1:], 1.0], 0.05).tolist() == [False, False, False]


def test_with_a_closed_list_names_are_holms() -> None:
    rng = np.random.default_rng(1)
    for _ in range(200):
        peaks = rng.exponential(3.0, size=6)
        assert named(peaks, weights_of(6, 6, closed=True), 0.05).tolist() == holm(np.exp(-peaks), 0.05).tolist()


@pytest.mark.parametrize("found", [3, 4, 10, 500])
def test_weights_never_sum_to_more_than_one_and_never_change(found: int) -> None:
    weights = weights_of(3, found, closed=False)
    assert weights.sum() <= 1.0
    assert (weights > 0).all()
    assert weights[:3].tolist() == weights_of(3, 3, closed=False).tolist()


def test_a_subgroup_that_turns_up_late_does_not_lift_the_pool() -> None:
    lost = np.asarray([-4.0, -5.0])
    before = pooled(PooledWealth(), lost, weights_of(2, 2, closed=False))
    after = pooled(PooledWealth(), np.append(lost, 0.0), weights_of(2, 3, closed=False))
    assert after.log_wealth == pytest.approx(before.log_wealth)


def test_subgroups_not_seen_yet_count_when_names_are_given() -> None:
    peaks = np.asarray([np.log(2 / 0.05) + 0.01, 0.0])
    assert named(peaks, weights_of(2, 2, closed=True), 0.05).tolist() == [True, False]
    assert named(peaks, weights_of(2, 2, closed=False), 0.05).tolist() == [False, False]


def test_names_after_the_pool_are_those_of_closed_testing() -> None:
    rng, weights, delta = np.random.default_rng(2), weights_of(4, 4, closed=True), 0.05
    proper = [set(chosen) for size in (1, 2, 3) for chosen in combinations(range(4), size)]
    seen = set()
    for _ in range(300):
        peaks = rng.exponential(3.0, size=4)
        refuted = [
            max(peaks[g] + np.log(weights[g] / weights[list(chosen)].sum()) for g in chosen) >= np.log(1 / delta)
            for chosen in proper
        ]
        expected = [all(no for no, chosen in zip(refuted, proper, strict=True) if g in chosen) for g in range(4)]
        assert named(peaks, weights, delta, together=True).tolist() == expected
        seen.add(sum(expected))
    assert seen == {0, 1, 2, 3, 4}
