"""Intervals by inverting bets: what they leave, how wide they are, and that no value beyond them is left."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from math import inf, log, sqrt

import numpy as np
import pytest

from isonomia.engine.loop import Schedule
from isonomia.evidence.bet_evidence import bets_for
from isonomia.evidence.inversion import Inversion, inversion_for
from isonomia.spec.parser import parse_formula
from isonomia.spec.text import to_text
from isonomia.spec.tree import Comparison, Constant, leaves_of

RATIO = "P[y | g == 'a'] / P[y | g == 'b']"
DIFFERENCE = "P[y | g == 'a'] - P[y | g == 'b']"


def inversion(text: str, sizes: float | None = None, low: float = 0.0, high: float = 1.0) -> Inversion:
    formula = parse_formula(f"{text} >= 0.5")
    assert isinstance(formula, Comparison)
    ranges = dict.fromkeys(leaves_of(formula), (low, high))
    found = inversion_for(formula.first, ranges, (None,), None if sizes is None else dict.fromkeys(ranges, sizes))
    assert found is not None
    return found


def batches(inverted: Inversion, rates: list[float], people: int, seed: int) -> list[dict]:
    """People of equally large groups, in batches that grow."""
    rng, total, history = np.random.default_rng(seed), 0, []
    while total < people:
        n = min(Schedule().size(total, 0.5), people - total)
        total += n
        members = rng.multinomial(n, np.full(len(rates), 1 / len(rates)))
        yes = rng.binomial(members, rates)
        history.append(
            {c: np.asarray([m - k, k], float) for c, m, k in zip(inverted.channels, members, yes, strict=True)}
        )
    return history


def near(inverted: Inversion, history: list[dict]) -> tuple[float, float]:
    """The ratio and its standard error."""
    totals = [sum(batch[channel] for batch in history) for channel in inverted.channels]
    rates = [total[1] / total.sum() for total in totals]
    error = sqrt(sum((1 - p) / (p * total.sum()) for p, total in zip(rates, totals, strict=True)))
    return rates[0] / rates[1], rates[0] / rates[1] * error


def highest(inverted: Inversion, history: list[dict]) -> Callable[[np.ndarray, bool], np.ndarray]:
    """The highest log wealth against thresholds."""
    return lambda thresholds, above: inverted.paths(history)(thresholds, above).max(axis=0)


@pytest.mark.parametrize(("people", "most"), [(2_000, 0.36), (20_000, 0.12)])
def test_the_interval_of_a_ratio_is_as_narrow_as_the_bets_allow(people: int, most: float) -> None:
    inverted = inversion(RATIO)
    widths = []
    for seed in range(8):
        history = batches(inverted, [0.24, 0.30], people, seed)
        low, high = inverted.interval(history, 0.05, near(inverted, history), (0.0, inf))
        widths.append(high - low)
    assert np.mean(widths) <= most


@pytest.mark.parametrize(
    "text", [RATIO, "P[y | g == 'a'] - P[y | g == 'b']", "0.5 - P[y | g == 'a'] / P[y | g == 'b']"]
)
@pytest.mark.parametrize("delta", [0.2, 1e-3])
def test_no_value_beyond_the_interval_is_left_by_the_bets(text: str, delta: float) -> None:
    inverted = inversion(text)
    history = batches(inverted, [0.24, 0.30], 600, 3)
    ratio, error = near(inverted, history)
    spot = {RATIO: ratio, DIFFERENCE: -0.06}.get(text, 0.5 - ratio)
    low, high = inverted.interval(history, delta, (spot, error))
    wealth = highest(inverted, history)
    below, above = np.linspace(low - 3.0, low, 400), np.linspace(high, high + 3.0, 400)
    assert (wealth(below, False) >= log(1 / delta)).all()
    assert (wealth(above, True) >= log(1 / delta)).all()
    inside = np.linspace(low, high, 9)[1:-1]
    assert (wealth(inside, False) < log(1 / delta)).sum() + (wealth(inside, True) < log(1 / delta)).sum() >= 7


@pytest.mark.parametrize("sizes", [None, 4_000.0])
@pytest.mark.parametrize(("text", "threshold"), [(RATIO, 0.6), (RATIO, 1.1), ("P[y | g == 'a']", 0.2)])
def test_the_bets_against_a_threshold_are_those_of_a_claim_with_that_threshold(
    text: str, threshold: float, sizes: float | None
) -> None:
    inverted = inversion(text, sizes)
    history = batches(inverted, [0.24, 0.30][: len(inverted.channels)], 1_000, 5)
    claim = Comparison(inverted.quantity, ((">=", Constant(threshold)),))
    people = None if sizes is None else dict.fromkeys(inverted.ranges, sizes)
    evidence = bets_for(claim, inverted.ranges, (None,), 1e-300, people)
    assert evidence is not None
    state = evidence.begin()
    for batch in history:
        state = evidence.step(state, batch)
    found = [inverted.paths(history)(np.asarray([threshold]), above) for above in (False, True)]
    assert [path[-1, 0] for path in found] == pytest.approx([float(each.log_wealth[0]) for each in state], abs=1e-4)
    assert [path.max(initial=0.0) for path in found] == pytest.approx([float(each.peak[0]) for each in state], abs=1e-4)


def test_an_end_is_where_the_wealth_crosses_and_nested_risks_give_nested_intervals() -> None:
    inverted = inversion(RATIO)
    history = batches(inverted, [0.24, 0.30], 2_000, 1)
    ends = [inverted.interval(history, delta, near(inverted, history), (0.0, inf)) for delta in (0.05, 0.01, 1e-3)]
    for (low, high), (lower, higher) in pairwise(ends):
        assert lower < low < high < higher
    low, high = ends[0]
    wealth = highest(inverted, history)
    assert wealth(np.asarray([low]), False)[0] == pytest.approx(log(20), abs=0.15)
    assert wealth(np.asarray([high]), True)[0] == pytest.approx(log(20), abs=0.15)


def test_a_mean_and_an_extreme_are_inverted_too() -> None:
    mean = inversion("E[x]", low=0.0, high=10.0)
    rng = np.random.default_rng(2)
    history = [{mean.channels[0]: mean.channels[0].grid.tally([rng.uniform(2, 6, 50)])} for _ in range(20)]
    low, high = mean.interval(history, 0.05, (4.0, 0.04), (0.0, 10.0))
    assert 3.7 < low < 4.0 < high < 4.3
    largest = inversion("max(P[y | g == 'a'], P[y | g == 'b'])")
    counts = batches(largest, [0.24, 0.30], 2_000, 4)
    low, high = largest.interval(counts, 0.05, (0.30, 0.015), (0.0, 1.0))
    assert 0.24 < low < 0.30 < high < 0.37


def test_products_have_no_bets_to_invert() -> None:
    formula = parse_formula("P[y | g == 'a'] * P[y | g == 'b'] >= 0.5")
    assert isinstance(formula, Comparison)
    assert inversion_for(formula.first, dict.fromkeys(leaves_of(formula), (0.0, 1.0)), (None,)) is None


def against_everyone(inverted: Inversion, share: float, rates: tuple[float, float], seed: int) -> list[dict]:
    """2,000 people in batches, of whom a share is in the group; rates of the group and of the others."""
    (channel,), rng, total, history = inverted.channels, np.random.default_rng(seed), 0, []
    while total < 2_000:
        n = min(Schedule().size(total, 0.5), 2_000 - total)
        total += n
        inside = rng.random(n) < share
        yes = rng.random(n) < np.where(inside, *rates)
        shown = [yes if leaf.given is None else yes & inside for leaf in channel.leaves]
        history.append({channel: channel.grid.tally([inside, *shown])})
    return history


@pytest.mark.parametrize(("share", "most"), [(0.5, 1.9), (0.1, 2.2)])
def test_the_interval_of_a_group_against_everyone_is_near_the_asymptotic_one(share: float, most: float) -> None:
    inverted, ratios = inversion("P[y | g == 'a'] - P[y]"), []
    truth = 0.4 - (share * 0.4 + (1 - share) * 0.5)
    error = (1 - share) * sqrt(0.24 / (2_000 * share) + 0.25 / (2_000 * (1 - share)))
    for seed in range(4):
        history = against_everyone(inverted, share, (0.4, 0.5), seed)
        low, high = inverted.interval(history, 0.05, (truth, error), (-1.0, 1.0))
        assert low < truth < high
        refuted, left = (inverted.paths(history)(np.asarray([end]), True)[-1] for end in (high, truth))
        assert left < log(20.0) <= refuted + 1e-9
        ratios.append((high - low) / (2 * 1.96 * error))
    assert np.mean(ratios) <= most


def test_an_interval_holds_its_own_estimate_though_early_draws_were_far_from_it() -> None:
    inverted = inversion("P[y]")
    (channel,) = inverted.channels
    history = [{channel: np.asarray([5.0, 25.0])}, {channel: np.asarray([2.0, 28.0])}]
    history += [{channel: np.asarray([70.0, 30.0])} for _ in range(40)]
    estimate = sum(batch[channel][1] for batch in history) / sum(batch[channel].sum() for batch in history)
    assert highest(inverted, history)(np.asarray([estimate]), False)[0] > log(20)
    low, high = inverted.interval(history, 0.05, (estimate, 0.0075), (0.0, 1.0))
    assert low < estimate < high


def test_a_denominator_below_zero_turns_the_interval_round() -> None:
    plain, turned = (
        inversion("P[y | g == 'a'] / (2 - P[y | g == 'b'])"),
        inversion("P[y | g == 'a'] / (P[y | g == 'b'] - 2)"),
    )
    history = batches(plain, [0.24, 0.30], 1_000, 5)
    low, high = plain.interval(history, 0.05, (0.14, 0.01))
    assert 0.08 < low < 0.24 / 1.7 < high < 0.2
    assert turned.interval(history, 0.05, (-0.14, 0.01)) == pytest.approx((-high, -low))


def test_a_ratio_with_a_denominator_of_either_sign_is_refuted_on_both_sides() -> None:
    inverted = inversion("P[y | g == 'a'] / (P[y | g == 'b'] - P[y | g == 'c'])")
    assert inverted.affine is None
    rates = {"'a'": 0.9, "'b'": 0.1, "'c'": 0.6}
    groups = [next(name for name in rates if name in to_text(channel.given)) for channel in inverted.channels]
    batch = {c: np.asarray([1 - rates[g], rates[g]]) * 100 for c, g in zip(inverted.channels, groups, strict=True)}
    wealth = highest(inverted, [batch] * 5)
    at = np.asarray([-6.0, -1.8, 1.0])  # the ratio is 0.9 / (0.1 - 0.6)
    assert (wealth(at, False) > log(20)).tolist() == [True, False, False], "it is not at most -6"
    assert (wealth(at, True) > log(20)).tolist() == [False, False, True], "nor at least 1"


def test_a_value_whose_bets_are_made_on_other_draws_is_not_refuted() -> None:
    known = inversion("max(P[y | g == 'a'], P[y | g == 'b'])")
    history = batches(known, [0.24, 0.30], 2_000, 4)
    blind = replace(known, channels=known.channels[:1])
    far = np.asarray([0.9])
    assert highest(known, history)(far, True)[0] > log(1e6)
    assert highest(blind, history)(far, True)[0] == 0.0
