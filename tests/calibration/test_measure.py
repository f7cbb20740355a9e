"""How often the intervals of ``measure`` miss the truth: of rates, means, scores, and of ratios to the highest rate."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from simulation import REPETITIONS, most_errors

from isonomia.audits.measure.counts import UNIT, NumberCounts
from isonomia.audits.measure.limits import PARTS, IntervalMethod
from isonomia.audits.measure.ordered import HeldScores
from isonomia.evidence.confidence_sequences import mean_ends

DELTA = 0.1


def limits(looks: str | int = "once") -> IntervalMethod:
    return IntervalMethod(DELTA, looks, exact=False)


@pytest.mark.parametrize("looks", ["once", "any", 2])
def test_intervals_of_rates_miss_no_more_often_than_the_risk_says(looks: str | int) -> None:
    rng, repetitions = np.random.default_rng(1), REPETITIONS
    for rate, n in ((0.02, 40), (0.3, 100), (0.5, 15)):
        yes = rng.binomial(n, rate, repetitions).astype(float)
        low, high = limits(looks).rates(yes, np.full(repetitions, float(n)))
        missed = int(((low > rate) | (high < rate)).sum())
        assert missed <= most_errors(repetitions, DELTA)


RATES = {
    "two alike": ([0.3, 0.3], [12, 20]),
    "one clear": ([0.9, 0.2], [20, 15]),
    "three alike": ([0.4, 0.4, 0.4], [10, 12, 8]),
}


@pytest.mark.parametrize("name", RATES)
def test_ratios_to_the_highest_rate_miss_no_more_often_than_the_risk_says(name: str) -> None:
    """The truth is the ratio to the group that is highest in the population, whichever seems so in a table."""
    rates, sizes = map(np.asarray, RATES[name])
    rng, repetitions, groups = np.random.default_rng(2), 250, len(rates)
    missed, known = np.zeros(groups, dtype=int), {}
    for _ in range(repetitions):
        yes = rng.binomial(sizes, rates).astype(float)
        table = tuple(yes.tolist())
        if table not in known:
            known[table] = limits().ratios(yes, sizes.astype(float), range(groups), None)
        found = known[table]
        for group, (_, low, high) in enumerate(found):
            truth = rates[group] / rates.max()
            missed[group] += low is not None and high is not None and not low - 1e-9 <= truth <= high + 1e-9
    assert missed.max() <= most_errors(repetitions, DELTA)


@pytest.mark.parametrize("reference", [None, 0])
def test_ratios_of_many_groups_miss_no_more_often_than_the_risk_says(reference: int | None) -> None:
    rng, repetitions, groups = np.random.default_rng(5), 400, 50
    rates, sizes = np.full(groups, 0.4), np.full(groups, 30.0)
    missed = np.zeros(groups, dtype=int)
    for _ in range(repetitions):
        yes = rng.binomial(30, rates).astype(float)
        found = limits().ratios(yes, sizes, range(groups), reference)
        missed += [not low <= 1.0 <= high for _, low, high in found]
    assert missed.max() <= most_errors(repetitions, DELTA)


def test_ratios_to_a_clear_highest_group_are_as_narrow_as_to_one_that_is_named() -> None:
    yes, n = np.asarray([900.0, 400.0]), np.asarray([1500.0, 1500.0])
    (_, low, high), (_, named_low, named_high) = (
        limits().ratios(yes, n, [0, 1], None)[1],
        limits().ratios(yes, n, [0, 1], 0)[1],
    )
    assert high - low < 1.03 * (named_high - named_low)


SPREAD = {"even": (0.0, 1.0), "at the median": (0.4955, 0.01), "highest": (0.55, 0.45), "tied": None}
"""A fifth of all are of the group, with scores even over this range; the others between 0 and 1."""


def people_with_scores(mix: str, rng: np.random.Generator, n: int) -> tuple[Any, Any, tuple[float, float]]:
    """Who is in the group, the scores, and the shares above the median of the group and of the others."""
    own, scores, spread = rng.random(n) < 0.2, rng.random(n), SPREAD[mix]
    if spread is None:
        # The median is 1, which three quarters of the group have.
        scores = np.digitize(scores, [0.45, 0.7]).astype(float)
        scores[own] = np.digitize(rng.random(int(own.sum())), [0.05, 0.8])
        return own, scores, (0.2, 0.3)
    low, width = spread
    scores[own] = low + width * scores[own]
    median = (0.5 + 0.2 * low / width) / (0.2 / width + 0.8)
    return own, scores, (1.0 - (median - low) / width, 1.0 - median)


def counted_about_median(made: IntervalMethod, own: Any, scores: Any) -> tuple[Any, Any]:
    """How many of the group and of the others lie above the median and the values about it; and how many there are."""
    held, n = HeldScores([], [scores]), len(scores)
    about = held.at(made.ranks_about_median(n))
    cuts = [float(np.median(scores)), *sorted({float(np.nextafter(about[0], -np.inf)), *about})]
    above = [[float((scores[who] > cut).sum()) for cut in cuts] for who in (own, ~own)]
    return np.asarray(above), np.asarray([own.sum(), (~own).sum()], dtype=float)


@pytest.mark.parametrize("looks", ["once", "any"])
@pytest.mark.parametrize("mix", SPREAD)
def test_shares_above_the_median_miss_no_more_often_than_the_risk_says(mix: str, looks: str) -> None:
    """Also where all of a group lies near the median, or at it: the error of the median moves its share the most."""
    rng, repetitions, missed, ratio_missed, made = np.random.default_rng(3), 36, 0, 0, limits(looks)
    for number in range(repetitions):
        own, scores, truth = people_with_scores(mix, rng, 70)
        above, n = counted_about_median(made, own, scores)
        low, high = made.scoring(above, n)
        missed += not low[0] <= truth[0] <= high[0]
        assert low[0] <= above[0, 0] / max(n[0], 1.0) <= high[0]
        if number % 4:
            continue
        (_, first, last), _ = made.scoring_ratios(above, n, [0, 1], 1)
        ratio_missed += first is not None and last is not None and not first <= truth[0] / truth[1] <= last
    assert missed <= most_errors(repetitions, DELTA)
    assert ratio_missed <= most_errors(repetitions // 4, DELTA)


@pytest.mark.parametrize(("n", "most"), [(1_000, 1.55), (24_000, 2.0)])
def test_shares_above_the_median_have_intervals_not_far_from_the_asymptotic_ones(n: int, most: float) -> None:
    rng, made, widths = np.random.default_rng(8), IntervalMethod(0.05, "once", exact=False), []
    for _ in range(4):
        own = rng.random(n) < 0.5
        scores = rng.normal(size=n) - 0.5 * own
        low, high = made.scoring(*counted_about_median(made, own, scores))
        above = scores > np.median(scores)
        influence = own * (above - above[own].mean()) - 0.5 * (above - 0.5)
        widths.append((high[0] - low[0]) / (3.92 * influence.std() / np.sqrt(n) / 0.5))
    assert np.mean(widths) < most


@pytest.mark.parametrize("reverse", [False, True])
def test_limits_of_shares_above_the_median_rise_with_every_score_that_does(reverse: bool) -> None:
    """One after the other, people of the group move above everybody; the limit starts at 0 and ends near 1."""
    rng, limits_found, n = np.random.default_rng(9), [], 400
    own = rng.random(n) < 0.3
    for moved in (-1.5, -0.5, 0.0, 0.5, 1.5):
        scores = rng.normal(size=n) + moved * own
        made = limits()
        low, high = made.scoring(*counted_about_median(made, own, scores))
        limits_found.append(high[0] if reverse else low[0])
    assert limits_found == sorted(limits_found)
    assert limits_found[0] < 0.3
    assert limits_found[-1] > 0.7


MEANS = {
    "skewed": (lambda rng, shape: rng.beta(0.3, 1.2, shape), 0.2),
    "rare": (lambda rng, shape: (rng.random(shape) < 0.05) * 1.0, 0.05),
    "in one bin": (lambda rng, shape: 0.4 + rng.random(shape) / 1000.0, 0.4005),
    "at an edge": (lambda rng, shape: np.where(rng.random(shape) < 0.5, 0.5, np.nextafter(0.5, 0.0)), 0.5),
}


@pytest.mark.parametrize("looks", ["once", "any"])
@pytest.mark.parametrize("number", MEANS)
def test_intervals_of_means_miss_no_more_often_than_the_risk_says_however_rows_are_sorted(
    looks: str, number: str
) -> None:
    """Only counts by bin are used, so that the order of rows cannot matter; also where all numbers are in one bin."""
    rng, repetitions, n = np.random.default_rng(4), 600, 120
    draw, truth = MEANS[number]
    counts = NumberCounts("x", UNIT, UNIT)
    numbers = draw(rng, (repetitions, n)).ravel()
    counts.add(3 * np.repeat(np.arange(repetitions), n), repetitions, numbers)
    made, chosen = limits(looks), range(0, repetitions, 2 if looks == "once" else 20)
    found = [made.mean(counts.numbers(group), UNIT) for group in chosen]
    missed = sum(not low <= truth <= high for low, high in found)
    assert missed <= most_errors(len(chosen), DELTA)


def test_intervals_of_means_are_as_narrow_as_those_of_bets_on_rows() -> None:
    """Bets on single rows in random parts, whose values are known exactly, are the narrowest that bins could give."""
    rng, n = np.random.default_rng(6), 5_000
    numbers = rng.beta(2.0, 3.0, n)
    counts = NumberCounts("x", UNIT, UNIT)
    counts.add(np.zeros(n, dtype=np.intp), 1, numbers)
    low, high = limits().mean(counts.numbers(0), UNIT)
    nodes = np.unique(np.concatenate([UNIT, numbers]))
    parts = np.digitize(rng.random(n), np.cumsum(PARTS)[:-1])
    batches = np.stack([np.isin(nodes, numbers[parts == part]) for part in range(len(PARTS))]).astype(float)
    least, greatest = mean_ends(nodes, batches, DELTA / 2)
    assert high - low < 1.05 * (greatest - least)


def test_calibration_is_counted_from_the_bins_of_scores() -> None:
    rng, n = np.random.default_rng(7), 400
    scores, outcomes = rng.random(n).round(2), rng.integers(0, 2, n)
    both, gaps = NumberCounts("x", UNIT, UNIT), NumberCounts("gap", (-1.0, 1.0), (-1.0, 1.0))
    both.add(outcomes.astype(np.intp), 1, scores)
    gaps.add(np.zeros(n, dtype=np.intp), 1, outcomes - scores)
    found, plain = both.gaps(0), gaps.numbers(0)
    assert (found.n, float(found.total)) == (plain.n, pytest.approx(float(plain.total)))
    assert limits().mean(found, (-1.0, 1.0)) == pytest.approx(limits().mean(plain, (-1.0, 1.0)), abs=0.01)
