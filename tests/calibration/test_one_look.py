"""One look: how often it errs where the truth is on the boundary, and how often it decides where it is not.

Rejections of a claim about two rates grow with the first count and fall with the second. So for each second count there
is a least first one, and error rate and power are sums of binomials: exact, without any simulated table.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom, norm
from simulation import most_errors

import isonomia as iso
from isonomia.evidence.deadline import DeadlineDraws, DeadlineTest, batch_sizes
from isonomia.evidence.looks import looks_for
from isonomia.evidence.one_look import RateFraction, lower_end, proves_above, upper_end
from isonomia.evidence.protocol import grid_for
from isonomia.spec.property import parse
from isonomia.spec.tree import leaves_of

RATIO = RateFraction(0.0, (1.0, 0.0), 0.0, (0.0, 1.0))


def chance_of_proof(threshold: float, rates: tuple[float, float], sizes: tuple[int, int], delta: float) -> float:
    """The probability that one look proves a ratio above a threshold."""
    counts = np.arange(sizes[1] + 1)
    weights = binom.pmf(counts, sizes[1], rates[1])
    total, most = 0.0, sizes[0] + 1
    for count in counts[weights > 1e-7]:
        low, high = -1, most
        while high - low > 1:
            middle = (low + high) // 2
            if proves_above(RATIO, (middle, count), sizes, delta, threshold):
                high = middle
            else:
                low = middle
        total += weights[count] * binom.sf(high - 1, sizes[0], rates[0])
    return float(total)


@pytest.mark.parametrize(
    ("rates", "sizes"), [((0.24, 0.3), (60, 45)), ((0.04, 0.05), (90, 60)), ((0.792, 0.99), (30, 80))]
)
def test_a_ratio_on_the_boundary_is_proved_with_probability_at_most_delta(
    rates: tuple[float, float], sizes: tuple[int, int]
) -> None:
    error = chance_of_proof(rates[0] / rates[1], rates, sizes, 0.05)
    assert error <= 0.05


def test_a_ratio_away_from_the_threshold_is_proved_nearly_as_often_as_any_test_could() -> None:
    rates, sizes, threshold, delta = (0.3, 0.3), (150, 150), 0.7, 0.05
    spread = np.sqrt(rates[0] * (1 - rates[0]) / sizes[0] + threshold**2 * rates[1] * (1 - rates[1]) / sizes[1])
    ideal = norm.sf(norm.isf(delta) - (rates[0] - threshold * rates[1]) / spread)
    assert chance_of_proof(threshold, rates, sizes, delta) >= ideal - 0.03


@pytest.mark.parametrize(
    ("sizes", "rates"), [((1000, 1000), (0.24, 0.3)), ((200, 800), (0.24, 0.3)), ((100, 1900), (0.5, 0.6))]
)
def test_the_interval_of_a_ratio_is_hardly_wider_than_the_asymptotic_one(
    sizes: tuple[int, int], rates: tuple[float, float]
) -> None:
    yes = [round(n * p) for n, p in zip(sizes, rates, strict=True)]
    low, high = (end(RATIO, yes, sizes, 0.025) for end in (lower_end, upper_end))
    # The delta method on the ratio itself; on its logarithm the interval is a little wider than that.
    relative = np.sqrt(sum((1 - p) / (n * p) for n, p in zip(sizes, rates, strict=True)))
    assert high - low <= 1.06 * 2 * norm.isf(0.025) * relative * rates[0] / rates[1]


@pytest.mark.parametrize(
    ("top", "sizes", "rates", "most"),
    [
        ((1.0, -1.0, -1.0, 1.0), (1250, 1250, 1250, 1250), (0.3, 0.24, 0.5, 0.4), 1.11),
        ((1.0, -1.0, -1.0, 1.0), (300, 700, 1500, 2500), (0.3, 0.24, 0.5, 0.4), 1.11),
        ((0.5, 0.5, -1.0), (1000, 2000, 2000), (0.3, 0.24, 0.5), 1.06),
    ],
)
def test_the_interval_of_three_or_four_rates_is_little_wider_than_the_asymptotic_one(top, sizes, rates, most) -> None:
    yes = [round(n * p) for n, p in zip(sizes, rates, strict=True)]
    low, high = (end(RateFraction(0.0, top), yes, sizes, 0.025) for end in (lower_end, upper_end))
    spread = np.sqrt(sum(a**2 * p * (1 - p) / n for a, n, p in zip(top, sizes, rates, strict=True)))
    assert high - low <= most * 2 * norm.isf(0.025) * spread
    # By an exponential moment alone it would be wider than that by nearly a third.
    assert high - low <= 0.8 * 2 * np.sqrt(2 * np.log(1 / 0.025)) * spread


def test_a_threshold_is_decided_by_the_very_end_that_is_shown() -> None:
    for count in range(200, 300, 7):
        low = lower_end(RATIO, (count, 300), (1000, 1000), 0.05, 0.8)
        assert (low > 0.8) is proves_above(RATIO, (count, 300), (1000, 1000), 0.05, 0.8)


def counted(values: np.ndarray, sizes: list[int]) -> np.ndarray:
    grid = grid_for([(0.0, 1.0)])
    assert grid is not None
    return np.asarray([grid.tally([part]) for part in np.split(values, np.cumsum(sizes)[:-1])])


NODES = np.linspace(0.0, 1.0, 129)


def mean_test(draws: np.ndarray, delta: float, mean: float) -> DeadlineTest:
    counts = counted(draws, list(batch_sizes(len(draws))))
    return DeadlineTest(DeadlineDraws.separate([counts], [NODES]), RateFraction(0.0, (1.0,)), delta, delta, mean)


def difference_test(draws: np.ndarray, first: np.ndarray, delta: float, difference: float) -> DeadlineTest:
    sizes = list(batch_sizes(len(draws)))
    cuts = np.cumsum(sizes)[:-1]
    counts = [
        np.asarray(
            [counted(x[m], [int(m.sum())])[0] for x, m in zip(np.split(draws, cuts), np.split(of, cuts), strict=True)]
        )
        for of in (first, ~first)
    ]
    draws_of_both = DeadlineDraws.separate(counts, [NODES, NODES])
    return DeadlineTest(draws_of_both, RateFraction(0.0, (1.0, -1.0)), delta, delta, difference)


def overlap_test(member: np.ndarray, hit: np.ndarray, delta: float, difference: float) -> DeadlineTest:
    """``P[hit | member] - P[hit]``."""
    codes = np.split(2 * member + hit, np.cumsum(list(batch_sizes(len(hit))))[:-1])
    counts = np.asarray([np.bincount(part, minlength=4) for part in codes], dtype=float)
    members, values = np.asarray([[0, 1], [0, 1], [1, 1], [1, 1.0]]), np.asarray([[0, 0], [0, 1], [0, 0], [1, 1.0]])
    return DeadlineTest(
        DeadlineDraws(counts, members, values, False), RateFraction(0.0, (1.0, -1.0)), delta, delta, difference
    )


def test_limits_of_a_mean_miss_it_with_probability_at_most_delta_and_are_narrow() -> None:
    rng, delta, repetitions, missed, widths = np.random.default_rng(3), 0.05, 30, 0, []
    for _ in range(repetitions):
        draws = np.where(rng.random(600) < 0.1, 1.0, 0.1 * rng.random(600))
        limit = mean_test(draws, delta, 0.5).limit()
        missed += limit > 0.145
        assert limit <= draws.mean()
        widths.append((draws.mean() - limit) / (norm.isf(delta) * draws.std() / np.sqrt(len(draws))))
    assert missed <= most_errors(repetitions, delta)
    assert np.median(widths) <= 1.1, "steady stakes cost about sqrt(2 log(1 / delta)) over the normal quantile, 1.49"


def test_bets_with_a_deadline_reject_the_truth_with_probability_at_most_delta() -> None:
    rng, delta, runs, rejected = np.random.default_rng(4), 0.3, 80, np.zeros(5)
    for _ in range(runs):
        first, member = rng.permutation(np.arange(80) < 30), rng.random(100) < 0.15
        skewed = np.where(rng.random(80) < 0.1, 1.0, 0.1 * rng.random(80))
        ties = np.where(first, 0.25 * rng.integers(0, 4, 80), skewed)
        rejected += (
            mean_test(skewed, delta, 0.145).rejects(0.145),
            mean_test((rng.random(80) < 0.97).astype(float), delta, 0.97).rejects(0.97),
            difference_test(ties, first, delta, 0.23).rejects(0.23),
            overlap_test(member, rng.random(100) < 0.3, delta, 0.0).rejects(0.0),
            overlap_test(member, rng.random(100) < np.where(member, 0.9, 0.1), delta, 0.68).rejects(0.68),
        )
    assert rejected.max() <= most_errors(runs, delta)
    assert np.count_nonzero(rejected) >= 4, "the risk is used"


def test_one_look_at_a_difference_of_means_and_at_a_group_against_everyone_is_little_wider_than_asymptotic() -> None:
    rng, delta, widths = np.random.default_rng(5), 0.025, np.zeros((8, 2))
    for run in range(len(widths)):
        draws, first = rng.beta(2, 3, 800), rng.permutation(np.arange(800) < 400)
        difference = draws[first].mean() - draws[~first].mean()
        error = np.sqrt((draws[first].var() + draws[~first].var()) / 400)
        widths[run, 0] = (difference - difference_test(draws, first, delta, 0.0).limit()) / error
        member = rng.random(2_000) < 0.5
        hit = rng.random(2_000) < np.where(member, 0.24, 0.3)
        rate, every = hit[member].mean(), hit.mean()
        error = (member * (hit - rate) / member.mean() - hit + every).std() / np.sqrt(2_000)
        widths[run, 1] = (rate - every - overlap_test(member, hit, delta, 0.0).limit()) / error
    assert np.all(np.median(widths, axis=0) <= np.asarray([1.22, 1.2]) * norm.isf(delta))


def test_what_is_proved_at_one_risk_is_proved_at_every_larger_one() -> None:
    rng = np.random.default_rng(6)
    member = rng.random(600) < 0.3
    test = overlap_test(member, rng.random(600) < np.where(member, 0.2, 0.5), 0.01, 0.0)
    limits = [replace(test, delta=delta).limit() for delta in (0.01, 0.02, 0.05, 0.2)]
    assert limits == sorted(limits)
    assert -0.5 < limits[0] < limits[-1] < 0.0


def test_groups_on_the_boundary_are_named_with_probability_at_most_delta() -> None:
    delta, repetitions, sizes = 0.2, 300, (40, 60, 80)
    formula = parse(" and ".join(f"P[hired | race == '{name}'] >= 0.3" for name in "ABC")).formula
    comparisons = formula.operands
    evidence = looks_for(formula, dict.fromkeys(leaves_of(formula), (0.0, 1.0)), (None,), delta, (1,))
    rng, errors = np.random.default_rng(5), {True: 0, False: 0}
    for _ in range(repetitions):
        yes = rng.binomial(sizes, 0.3)
        pairs = zip(evidence.channels, sizes, yes, strict=True)
        tallies = {channel: np.asarray([n - hit, hit], dtype=float) for channel, n, hit in pairs}
        found = evidence.by_comparison(evidence.step(evidence.begin(), tallies), comparisons, False)
        for answer in errors:
            errors[answer] += any(each is answer for each, _ in found)
    # On the boundary every group holds, and comes as near to not holding as can be.
    assert max(errors.values()) <= most_errors(repetitions, delta)
    assert min(errors.values()) > 0


@pytest.mark.parametrize(("looks", "runs"), [("once", 1000), ("any", 50)])
def test_each_limit_of_the_interval_of_a_rate_is_wrong_with_probability_at_most_delta(looks: str, runs: int) -> None:
    delta, rate, wrong = 0.2, 0.301, np.zeros(2)
    for run in range(runs):
        rows = {"x": np.random.default_rng(run).random(300) < rate}
        verdict = iso.check("P[x] >= 0.3", population=iso.Sample(rows), delta=delta, looks=looks, seed=run)
        low, high = verdict.intervals["P[x]"]
        assert (low, high) == verdict.interval, "one quantity has one interval"
        wrong += (low > rate, high < rate)
    assert wrong.max() <= most_errors(runs, delta)
