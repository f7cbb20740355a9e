"""How often the intervals of ``measure`` miss the truth: of rates, means, scores, and of ratios to the highest rate."""

from __future__ import annotations

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


@pytest.mark.parametrize("mix", ["even", "at the median"])
def test_shares_above_the_median_miss_no_more_often_than_the_risk_says(mix: str) -> None:
    """Also where all of a group lies near the median: then the error of the median moves its share the most."""
    rng, repetitions, missed, ratio_missed = np.random.default_rng(3), 1000, 0, 0
    low_end, width = (0.0, 1.0) if mix == "even" else (0.4955, 0.01)
    # A fifth of all are of the group, even between its ends; the others between 0 and 1. So half of all lie below m:
    m = (0.5 + 0.2 * low_end / width) / (0.2 / width + 0.8)
    truth = 1.0 - (m - low_end) / width, 1.0 - m
    made = limits()
    for _ in range(repetitions):
        group, scores = (rng.random(300) > 0.2).astype(int), rng.random(300)
        scores[group == 0] = low_end + width * scores[group == 0]
        held, rank = HeldScores([], [scores]), made.rank_below_median(300)
        below, above = held.at([rank, 301 - rank])
        cuts = (above, float(np.median(scores)), below)
        counts = [np.bincount(group[scores > cut], minlength=2).astype(float) for cut in cuts]
        n = np.bincount(group, minlength=2).astype(float)
        low, high = made.scoring(counts[0], counts[2], n)
        missed += not low[0] <= truth[0] <= high[0]
        (_, first, last), _ = made.scoring_ratios((counts[0], counts[1], counts[2]), n, [0, 1], 1)
        ratio_missed += not first <= truth[0] / truth[1] <= last
    assert missed <= most_errors(repetitions, DELTA)
    assert ratio_missed <= most_errors(repetitions, DELTA)


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
