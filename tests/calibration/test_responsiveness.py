"""Error rates and power of the responsiveness audit, looked at after every round, on the boundary and off it.

False alarms: with fixed seeds a test either always fails or never; a method that keeps its promise fails each with
probability at most 1e-6.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray
from scipy.stats import binom

import isonomia as iso
from isonomia.audits.responsiveness.shares import DecisionRule, PointsByPerson
from isonomia.evidence.confidence_sequences import anytime_interval, log_wealth_above, log_wealth_below
from isonomia.interventions import Feature, Interventions

Wealth = Callable[[ArrayLike, ArrayLike, float], NDArray[np.float64]]

FALSE_ALARM = 1e-6
THRESHOLD = 0.1


def most_errors(repetitions: int, delta: float) -> int:
    return int(binom.ppf(1.0 - FALSE_ALARM, repetitions, delta))


def rounds(rule: DecisionRule, share: NDArray[np.float64], seed: int, total: int = 3_000) -> PointsByPerson:
    """The audit's own counting, with draws from known shares."""
    rng = np.random.default_rng(seed)
    counted = PointsByPerson.empty(len(share), np.ones(len(share), dtype=bool))
    drawn = 0
    while drawn < total and counted.undecided.any():
        size = max(8, drawn // 4)
        who = np.flatnonzero(counted.undecided)
        counted = counted.drawn(who, size, rng.binomial(size, share[who]).astype(float), rule).decided(rule)
        drawn += size
    return counted


@pytest.mark.parametrize("wealth", [log_wealth_above, log_wealth_below])
def test_on_the_boundary_the_wealth_seldom_ever_reaches_its_goal(wealth: Wealth) -> None:
    rng = np.random.default_rng(1)
    repetitions, peak = 20_000, np.zeros(20_000)
    yes, n = np.zeros(repetitions, dtype=np.intp), 0
    for size in [1] * 100 + [20] * 145:
        yes, n = yes + rng.binomial(size, THRESHOLD, repetitions), n + size
        peak = np.maximum(peak, wealth(np.arange(n + 1), n, THRESHOLD)[yes])
    for delta in (0.05, 0.01):
        assert (peak >= np.log(1 / delta)).sum() <= most_errors(repetitions, delta)


def test_intervals_hold_their_share_at_all_looks_together() -> None:
    rng = np.random.default_rng(2)
    repetitions, delta, share = 5_000, 0.05, 0.07
    yes, n, missed = np.zeros(repetitions), 0, np.zeros(repetitions, dtype=bool)
    for size in [2] * 30 + [15] * 40:
        yes, n = yes + rng.binomial(size, share, repetitions), n + size
        low, high = anytime_interval(yes, n, delta)
        missed |= (low > share) | (high < share)
    assert missed.sum() <= most_errors(repetitions, delta)


def test_hardly_a_family_has_anybody_called_fixed_wrongly() -> None:
    """Thirty people on the boundary among seventy who are truly fixed, so that Holm's steps go down."""
    rule = DecisionRule(THRESHOLD, False, 0.05, "family", False)
    share = np.asarray([THRESHOLD] * 30 + [0.0] * 70)
    families = 400
    wrong = sum(bool(rounds(rule, share, seed, 1_000).unresponsive[:30].any()) for seed in range(families))
    assert wrong <= most_errors(families, 0.05)


def test_the_share_of_false_discoveries_is_kept() -> None:
    """The mean of shares between 0 and 1 exceeds its expectation by t with probability at most exp(-2 R t^2)."""
    rule = DecisionRule(THRESHOLD, False, 0.05, "discovery", False)
    share = np.asarray([THRESHOLD] * 60 + [0.0] * 40)
    families = 400
    found = [rounds(rule, share, 10_000 + seed, 1_000).unresponsive for seed in range(families)]
    false = np.mean([item[:60].sum() / max(item.sum(), 1) for item in found])
    assert false <= 0.05 + np.sqrt(np.log(1 / FALSE_ALARM) / (2 * families))
    assert np.mean([item[60:].mean() for item in found]) > 0.99


def test_a_fixed_number_of_draws_keeps_its_level_too() -> None:
    rule = DecisionRule(THRESHOLD, False, 0.05, "family", True)
    rng = np.random.default_rng(3)
    families, people = 2_000, 20
    wrong = 0
    for _ in range(families):
        counted = PointsByPerson.empty(people, np.ones(people, dtype=bool))
        yes = rng.binomial(150, THRESHOLD, people).astype(float)
        decided = counted.drawn(np.arange(people), 150, yes, rule).decided(rule)
        wrong += bool(decided.unresponsive.any())
    assert wrong <= most_errors(families, 0.05)


def test_everybody_is_called_responsive_wrongly_seldom_though_nothing_is_split() -> None:
    rule = DecisionRule(THRESHOLD, False, 0.05, "family", False)
    share = np.asarray([THRESHOLD - 1e-9] + [0.6] * 20)
    families, wrong = 1_000, 0
    for seed in range(families):
        counted = rounds(rule, share, 50_000 + seed, 1_000)
        wrong += counted.holds_for_all(counted.above, counted.responsive, rule)
    assert wrong <= most_errors(families, 0.05)


def test_easy_people_cost_tens_of_draws_and_hard_ones_more() -> None:
    rule = DecisionRule(THRESHOLD, False, 0.05, "family", False)
    share = np.asarray([0.0] * 400 + [0.5] * 400 + [0.2] * 200)
    counted = rounds(rule, share, 7)
    assert not counted.undecided.any()
    assert counted.unresponsive[:400].all()
    assert counted.responsive[400:].mean() > 0.99
    assert counted.n[400:800].mean() < 40
    assert counted.n[:400].mean() < 150
    assert counted.n[800:].mean() > counted.n[400:800].mean() * 5


def test_the_power_test_can_fail() -> None:
    """Without evidence nobody is decided: the decisions above come from the draws."""
    rule = DecisionRule(THRESHOLD, False, 0.05, "family", False)
    nothing = PointsByPerson.empty(10, np.ones(10, dtype=bool))
    assert nothing.decided(rule).undecided.all()
    assert replace(nothing, below=np.full(10, 50.0)).decided(rule).unresponsive.all()


def _two_people(ways: int) -> tuple[Interventions, iso.Census]:
    """Somebody with these ways among a million points, and somebody with half a million."""
    features = (Feature("x", "integer", 0, 999_999), Feature("g", "integer", 0, 1_000_000, actionable=False))
    return Interventions(features), iso.Census({"x": [999_999] * 2, "g": [ways, 500_000]})


def test_nobody_is_called_precluded_for_whom_the_check_itself_has_found_a_way() -> None:
    """The ways lie amid the range, where only draws find them; with 1,000 in a million, about 4 in 10 checks do."""
    changes, people = _two_people(1000)

    def middle(rows: Any) -> Any:
        return (np.abs(np.asarray(rows["x"]) - 444_444) < np.asarray(rows["g"]) / 2).astype(int)

    holds = 0
    for run in range(100):
        verdict = iso.check(iso.responsiveness.preclusion(changes, 1), middle, people, delta=0.1, seed=run)
        assert verdict.answer in {"holds", "violated"}
        assert all(item["point"] is None for item in verdict.counterexamples)
        holds += verdict.answer == "holds"
    assert holds > 30
    assert ">= 0.01 where points are drawn" in verdict.text


def test_a_way_at_the_end_of_a_range_is_found_however_small_its_share() -> None:
    changes, people = _two_people(1000)

    def least(rows: Any) -> Any:
        return (np.asarray(rows["x"]) < np.asarray(rows["g"])).astype(int)

    for run in range(100):
        assert iso.check(iso.responsiveness.preclusion(changes, 1), least, people, delta=0.1, seed=run).holds


def test_a_share_at_the_tested_threshold_is_called_precluded_with_probability_at_most_delta() -> None:
    """The threshold that the text states: a share of exactly 0.01."""
    rule, runs = DecisionRule(0.01, False, 0.1, "family", False, one_is_enough=True), 1000
    wrong = sum(bool(rounds(rule, np.asarray([0.01]), seed).unresponsive[0]) for seed in range(runs))
    assert wrong <= most_errors(runs, 0.1)
