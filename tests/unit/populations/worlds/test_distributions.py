import numpy as np
import pytest
from scipy import stats

from isonomia.populations.worlds.run import DisjointIntervals, StepTable, normal_between, normal_mass

TABLES = {
    "one cell": ((2.0, 5.0, 1.0),),
    "side by side": ((0.0, 1.0, 0.25), (1.0, 3.0, 0.5), (3.0, 3.5, 0.25)),
    "gaps": ((-4.0, -3.0, 0.2), (0.0, 1.0, 0.5), (9.0, 10.0, 0.3)),
    "zero cells": ((0.0, 1.0, 0.0), (1.0, 2.0, 0.6), (2.0, 5.0, 0.0), (5.0, 6.0, 0.4), (6.0, 7.0, 0.0)),
    "rounded sum": ((0.0, 1.0, 0.3333333), (1.0, 2.0, 0.6666669)),
}
SHARES = np.linspace(0.0, 1.0, 1001)


@pytest.fixture(params=TABLES)
def cells(request):
    return TABLES[request.param]


def naive_quantile(cells, u):
    """Go through the cells until the share is used up."""
    left = u * sum(p for _, _, p in cells)
    last = None
    for low, high, p in cells:
        if p == 0:
            continue
        if left < p:
            return low + left / p * (high - low)
        left, last = left - p, high
    return last


def naive_below(cells, value):
    total = sum(p for _, _, p in cells)
    return sum(p * min(max((value - low) / (high - low), 0.0), 1.0) for low, high, p in cells) / total


def test_a_quantile_is_what_going_through_the_cells_gives(cells):
    inside = SHARES[(SHARES * 1000 % 7 != 0) & (SHARES < 1)]  # away from the edges, where two cells may both be right
    expected = [naive_quantile(cells, u) for u in inside]
    found = StepTable(cells).quantile(inside)
    jump = np.abs(found - expected) > 1e-9
    assert all(abs(naive_below(cells, value) - u) < 1e-9 for value, u in zip(found[jump], inside[jump], strict=True))
    assert np.mean(jump) < 0.01


def test_the_share_undoes_the_quantile(cells):
    table = StepTable(cells)
    np.testing.assert_allclose(table.share(table.quantile(SHARES)), SHARES, atol=1e-12)


def test_the_share_is_the_probability_below(cells):
    values = np.linspace(-5.0, 11.0, 333)
    np.testing.assert_allclose(StepTable(cells).share(values), [naive_below(cells, v) for v in values], atol=1e-12)


def test_every_quantile_can_occur_and_nothing_in_a_gap_can(cells):
    table = StepTable(cells)
    assert table.possible(table.quantile(SHARES)).all()
    middles = np.asarray([(low + high) / 2 for low, high, _ in cells])
    assert table.possible(middles).tolist() == [p > 0 for _, _, p in cells]
    assert not table.possible(np.asarray([-100.0, 100.0, np.nan])).any()


def test_draws_follow_the_density(cells):
    draws = StepTable(cells).quantile(np.random.default_rng(1).random(20_000))
    result = stats.kstest(draws, lambda values: np.asarray([naive_below(cells, v) for v in values]))
    assert result.pvalue > 1e-6


@pytest.mark.parametrize(
    "pieces", [((0.5, 1.5),), ((-np.inf, 0.25),), ((0.5, 0.75), (5.5, np.inf)), ((-np.inf, np.inf),), ((20.0, 30.0),)]
)
def test_a_part_of_a_density_is_what_rejection_leaves(cells, pieces):
    table, wanted = StepTable(cells), DisjointIntervals(pieces)
    inside, mass = table.within(wanted)
    draws = table.quantile((np.arange(100_000) + 0.5) / 100_000)
    left = draws[wanted.inside(draws)]
    assert mass == pytest.approx(len(left) / len(draws), abs=1e-4)
    assert (inside is None) == (mass == 0)
    if inside is not None and len(left) > 100:
        found = inside.quantile(np.random.default_rng(2).random(20_000))
        assert wanted.inside(found).all()
        assert stats.ks_2samp(found, left).pvalue > 1e-6


# ---------------------------------------------------------------------------- normal draws

ENDS = [
    (-1.0, 1.0),
    (0.0, 0.5),
    (-np.inf, -3.0),
    (3.0, np.inf),
    (8.0, 9.0),
    (-9.0, -8.0),
    (20.0, np.inf),
    (-37.0, -36.0),
    (36.0, 37.0),
    (-np.inf, np.inf),
    (-2.0, 30.0),
    (5.0, 5.001),
]


@pytest.mark.parametrize(("low", "high"), ENDS)
def test_the_mass_between_two_numbers_is_accurate_in_both_tails(low, high):
    found = normal_mass(np.asarray([low]), np.asarray([high]))[0]
    if np.isfinite(high) and high - low < 0.01:
        expected = stats.norm.pdf((low + high) / 2) * (high - low)
        assert found == pytest.approx(expected, rel=1e-5)
    elif low > 0:
        assert found == pytest.approx(stats.norm.sf(low) - stats.norm.sf(high), rel=1e-10)
    else:
        assert found == pytest.approx(stats.norm.cdf(high) - stats.norm.cdf(low), rel=1e-10)
    assert found > 0


@pytest.mark.parametrize(("low", "high"), ENDS)
def test_draws_between_two_numbers_are_those_of_a_truncated_normal(low, high):
    u = (np.arange(2_000) + 0.5) / 2_000
    found = normal_between(u, np.full(2_000, low), np.full(2_000, high))
    assert ((found >= low) & (found <= high)).all()
    assert np.all(np.diff(found) * (1 if found[-1] > found[0] else -1) >= 0)  # monotone in the share
    expected = stats.truncnorm.ppf(u, low, high)
    np.testing.assert_allclose(np.sort(found), expected, rtol=1e-7, atol=1e-9)


def test_rows_with_different_ends_do_not_mix():
    lows, highs = np.asarray([3.0, -1.0, -5.0]), np.asarray([np.inf, 1.0, -4.0])
    together = normal_between(np.full(3, 0.3), lows, highs)
    alone = [normal_between(np.asarray([0.3]), lows[[i]], highs[[i]])[0] for i in range(3)]
    assert together.tolist() == alone
