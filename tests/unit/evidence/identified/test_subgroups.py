"""Many subgroups, one claim."""

from __future__ import annotations

import numpy as np
import pytest

from isonomia.evidence.multiple import (
    OverallWealth,
    average_wealth,
    joint_wealth,
    unfair_at_discovery_rate,
    unfair_at_family_risk,
    update_overall,
)


def test_the_product_adds_logarithms_and_the_average_averages_wealths():
    logs = np.log([4.0, 0.5, 2.0])
    assert joint_wealth(logs) == pytest.approx(np.log(4.0))
    assert average_wealth(logs) == pytest.approx(np.log(6.5 / 3.0))


def test_the_wealth_against_all_subgroups_is_1_before_the_first_batch():
    assert OverallWealth() == OverallWealth(log_wealth=0.0, peak=0.0)
    assert update_overall(OverallWealth(), [0.0, 0.0, 0.0]) == OverallWealth()


def test_overall_is_half_product_half_average_and_keeps_its_peak():
    first = update_overall(OverallWealth(), np.log([4.0, 2.0]))
    assert first.log_wealth == pytest.approx(np.log((8.0 + 3.0) / 2.0))
    second = update_overall(first, np.log([0.1, 0.1]))
    assert second.log_wealth < 0
    assert second.peak == first.peak


def test_one_very_unfair_subgroup_among_many_losers_still_shows():
    logs = np.append(np.full(19, -2.0), 12.0)
    assert joint_wealth(logs) < 0
    assert update_overall(OverallWealth(), logs).peak >= np.log(1 / 0.01)


def test_huge_wealths_do_not_overflow():
    assert update_overall(OverallWealth(), [5_000.0, 6_000.0]).peak == pytest.approx(11_000.0 - np.log(2.0))
    assert unfair_at_discovery_rate([5_000.0, -5_000.0], 0.05).tolist() == [True, False]
    assert unfair_at_family_risk([5_000.0, 0.0], 0.05).tolist() == [True, False]


def test_holm_asks_more_of_the_first_named_than_of_the_last():
    peaks = [np.log(61.0), np.log(41.0), np.log(21.0)]
    assert unfair_at_family_risk(peaks, 0.05).tolist() == [True, True, True]
    assert unfair_at_family_risk([*peaks[1:], 0.0], 0.05).tolist() == [False, False, False]
