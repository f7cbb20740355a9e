"""How often the intervals of ``measure`` miss the truth: of rates, means, scores, and of ratios to the highest rate."""

from __future__ import annotations

import numpy as np
import pytest
from simulation import REPETITIONS, most_errors

from isonomia.audits.measure.counts import NODES, PARTS, MeanCounts
from isonomia.audits.measure.limits import IntervalMethod

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
        below, above = made.around_median(scores)
        cuts = (above, float(np.median(scores)), below)
        counts = [np.bincount(group[scores > cut], minlength=2).astype(float) for cut in cuts]
        n = np.bincount(group, minlength=2).astype(float)
        low, high = made.scoring(counts[0], counts[2], n)
        missed += not low[0] <= truth[0] <= high[0]
        (_, first, last), _ = made.scoring_ratios((counts[0], counts[1], counts[2]), n, [0, 1], 1)
        ratio_missed += not first <= truth[0] / truth[1] <= last
    assert missed <= most_errors(repetitions, DELTA)
    assert ratio_missed <= most_errors(repetitions, DELTA)


@pytest.mark.parametrize("looks", ["once", "any"])
def test_intervals_of_means_miss_no_more_often_than_the_risk_says_however_rows_are_sorted(looks: str) -> None:
    rng, repetitions, n = np.random.default_rng(4), 600, 120
    for draw, truth in ((lambda: rng.beta(0.3, 1.2, n), 0.2), (lambda: (rng.random(n) < 0.05) * 1.0, 0.05)):
        counts = MeanCounts("x", (0.0, 1.0))
        numbers = np.concatenate([np.sort(draw()) for _ in range(repetitions)])
        groups = np.repeat(np.arange(repetitions), n)
        parts = (np.sqrt(rng.random(len(numbers))) * PARTS).astype(np.intp)
        counts.add(groups, repetitions, numbers, parts)
        assert counts.tallies.shape == (repetitions, PARTS, NODES)
        made, chosen = limits(looks), range(0, repetitions, 2 if looks == "once" else 10)
        missed = sum(not low <= truth <= high for low, high in (made.mean(counts, group) for group in chosen))
        assert missed <= most_errors(len(chosen), DELTA)
