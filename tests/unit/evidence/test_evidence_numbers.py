"""Small direct claims about cells, stakes, bets, mixtures, finite groups, exact intervals and many tests."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from isonomia.errors import UsageError
from isonomia.evidence import bets, newton, stakes
from isonomia.evidence.bets import EProcess, begin, paths, step
from isonomia.evidence.binomial import clopper_pearson, half_space_p_values, lower_limit, upper_limit
from isonomia.evidence.confidence_sequences import (
    divergence,
    drifting_interval,
    finite_interval,
    log_evidence,
    log_finite_evidence,
    mean_ends,
    mean_interval,
)
from isonomia.evidence.multiple import e_bh, holm
from isonomia.evidence.protocol import MAX_CELLS, PRIOR, Grid, grid_for
from isonomia.evidence.stakes import best_stakes, steady_stakes
from isonomia.evidence.verifair import adaptive_error
from raising import raises

YES_NO = np.asarray([0.0, 1.0])


def rates(*sides, bounds, sizes=None):
    payoffs = [[np.asarray([0.0, a]) for a in side] for side in sides]
    return EProcess.of(payoffs, bounds, [np.ones(2)] * len(sides[0]), sizes)


def counts(*pairs):
    return np.asarray([pairs], dtype=float)


# ---------------------------------------------------------------------------- cells


def test_a_grid_has_two_cells_for_a_rate_and_many_for_a_number():
    assert grid_for([None]).size == 2
    assert grid_for([(0.0, 10.0)]).size == 129
    assert grid_for([None, None]).size == 4
    assert grid_for([None, (0.0, 1.0)]).size <= MAX_CELLS


def test_too_many_leaves_have_no_grid():
    assert grid_for([None] * 10).size == MAX_CELLS
    assert grid_for([None] * 11) is None
    assert grid_for([(0.0, 1.0)] * 7) is None


def test_the_ends_of_a_range_are_counted_at_the_end_nodes():
    grid = Grid(((0.0, 1.0, 2.0),))
    assert grid.tally([np.asarray([0.0, 2.0, 2.0])]).tolist() == [1.0, 0.0, 2.0]
    assert grid.tally([np.asarray([0.5])]).tolist() == [0.5, 0.5, 0.0]


def test_an_empty_batch_has_an_empty_tally():
    assert grid_for([None]).tally([np.zeros(0, dtype=bool)]).tolist() == [0.0, 0.0]
    assert grid_for([(0.0, 1.0)]).tally([np.zeros(0)]).sum() == 0.0


def test_cells_are_ordered_like_their_values():
    grid = grid_for([None, None])
    tally = grid.tally([np.asarray([True, False, True]), np.asarray([False, False, True])])
    assert {tuple(v): n for v, n in zip(grid.values().tolist(), tally.tolist(), strict=True)} == {
        (0.0, 0.0): 1.0,
        (0.0, 1.0): 0.0,
        (1.0, 0.0): 1.0,
        (1.0, 1.0): 1.0,
    }


def test_the_prior_is_some_imagined_draws_at_the_corners():
    prior = grid_for([None, (0.0, 1.0)]).prior()
    assert prior.sum() == pytest.approx(PRIOR)
    assert np.count_nonzero(prior) == 4


# ---------------------------------------------------------------------------- stakes and bets


def test_nothing_is_staked_where_the_estimate_lies_in_the_polytope():
    estimate = np.asarray([[[0.8, 0.2]]])
    found = best_stakes(np.asarray([[[[0.0, 1.0]]]]), np.asarray([[0.5]]), estimate, np.ones((1, 1)))
    assert found.amounts.tolist() == [[0.0]]
    assert found.factors.tolist() == [[[1.0, 1.0]]]


def test_the_stakes_on_one_rate_are_the_likelihood_ratio():
    estimate = np.asarray([[[0.4, 0.6]]])
    found = best_stakes(np.asarray([[[[0.0, 1.0]]]]), np.asarray([[0.5]]), estimate, np.ones((1, 1)))
    assert found.factors[0, 0] == pytest.approx([0.4 / 0.5, 0.6 / 0.5])


def test_the_first_batch_of_a_channel_is_never_bet_on():
    process = rates([1.0], bounds=[0.1])
    state = step(process, begin(process), counts([0, 1000]))
    assert state.log_wealth[0] == 0.0
    assert step(process, state, counts([0, 10])).log_wealth[0] > 10.0


def test_a_channel_without_draws_in_a_batch_is_not_bet_on():
    process = rates([1.0, -1.0], bounds=[0.0])
    state = step(process, begin(process), counts([10, 90], [90, 10]))
    assert step(process, state, counts([0, 50], [0, 0])).log_wealth[0] == 0.0
    assert step(process, state, counts([0, 0], [0, 0])).log_wealth[0] == 0.0
    assert step(process, state, counts([0, 50], [50, 0])).log_wealth[0] > 0.0


def test_a_side_that_can_be_played_is_played_while_another_cannot():
    process = rates([1.0, 0.0], [0.0, 1.0], bounds=[0.1, 0.1])
    state = step(process, begin(process), counts([10, 90], [0, 0]))
    assert step(process, state, counts([10, 90], [0, 0])).log_wealth[0] > 10.0


def test_of_two_sides_the_one_whose_channel_was_drawn_is_bet_on():
    process = rates([1.0, 0.0], [0.0, 1.0], bounds=[0.1, 0.9])
    state = step(process, begin(process), counts([10, 90], [50, 50]))
    after = step(process, state, counts([1, 9], [0, 0]))
    rate = (90 + 1) / (100 + 2)
    assert after.bettors[0, -1] == pytest.approx(9 * np.log(rate / 0.1) + np.log((1 - rate) / 0.9))


def test_nothing_is_won_where_only_rounding_puts_the_estimate_outside():
    """0.91 - 0.8 * 0.66 exceeds the bound by one unit in its last place."""
    sides, estimate = [[1.0, -0.8], [0.0, 1.0]], [[1.0 - 0.91, 0.91], [1.0 - 0.66, 0.66]]
    assert 0.91 - 0.8 * 0.66 > 0.38199999999999995
    for ys, bounds in ((sides, [0.38199999999999995, 2.0]), (sides[:1], [0.38199999999999995])):
        assert stakes.best_gain(ys, bounds, estimate, [0.5, 0.5], [[3.0, 3.0], [3.0, 3.0]], 1e-11) == 0.0


@pytest.mark.parametrize("rounds", [1, 3])
def test_steady_stakes_that_are_cut_short_are_smaller_and_still_a_fair_bet(rounds, monkeypatch):
    payoffs = np.linspace(0.0, 1.0, 5).reshape(1, 1, 1, 5)
    estimate, weights = np.asarray([[[0.5, 0.1, 0.2, 0.1, 0.1]]]), np.ones((1, 1))
    distances = np.asarray([0.04, 0.64, 2.0])
    best = steady_stakes(payoffs, estimate, weights, distances)
    monkeypatch.setattr(stakes, "MAX_ROUNDS", rounds)
    amounts, least, factors = steady_stakes(payoffs, estimate, weights, distances)
    assert amounts == pytest.approx(best[0])
    assert (least < best[1]).all() if rounds == 1 else (least <= best[1]).all()
    assert (factors > 0).all()
    # One draw of any mean m that lies in the polytope m <= b pays at most 1 on average. The least payoff is 0 here.
    for chances in (estimate[0, 0], np.asarray([0.7, 0.0, 0.0, 0.0, 0.3]), np.asarray([0.0, 0.0, 1.0, 0.0, 0.0])):
        bound = float(chances @ payoffs[0, 0, 0])
        paid = np.log(factors[0, :, 0] @ chances) + 1.0 - least[0, :, 0] - amounts[0] * bound
        assert (paid <= 1e-12).all()


@pytest.mark.parametrize("even", [0.02, 0.3, 5.0])
def test_the_inverse_of_every_steady_factor_is_one_on_average_however_the_estimate_lies(even):
    rng, distances = np.random.default_rng(7), np.asarray([0.01, 0.2, 1.0, 4.0, 50.0])
    estimate = np.maximum(rng.dirichlet(np.full(9, even), size=(400, 2)), 1e-12)
    estimate /= estimate.sum(axis=-1, keepdims=True)
    payoffs, weights = rng.uniform(-1.0, 1.0, (400, 1, 2, 9)), np.full((400, 2), 0.5)
    _, _, factors = steady_stakes(payoffs, estimate, weights, distances)
    assert (factors > 0).all()
    inverse = (estimate[:, None] / factors).sum(axis=-1)
    assert inverse.min() > 1.0 - 1e-12
    assert inverse.max() < 1.0 + 1e-6


def test_steady_factors_are_positive_in_cells_that_have_no_share():
    estimate, payoffs = np.asarray([[[0.0, 0.3, 0.7, 0.0]]]), np.asarray([[[[-9.0, 0.5, 1.0, 9.0]]]])
    amounts, _, factors = steady_stakes(payoffs, estimate, np.ones((1, 1)), np.asarray([0.01, 0.5, 1e3]))
    assert (amounts > 0).all()
    assert (factors > 0).all()
    assert np.isfinite(np.log(factors)).all()


@pytest.mark.parametrize("direction", [1.0, -1.0])
@pytest.mark.parametrize("node", [0, 5, 99, 128])
@pytest.mark.parametrize("ends", [(0.0, 1.0), (0.0, 0.3), (0.0, 4.8)])
def test_a_trillion_draws_of_one_and_the_same_number_refute_what_is_false_and_no_tie(ends, node, direction):
    """The shares of all other cells fall to a trillionth there, and the stakes rise to what is allowed."""
    grid = grid_for([ends])
    assert grid is not None
    y = grid.values()[:, 0]
    for beyond in (0.0, 1e-6, -1e-6):
        process = EProcess.of([[direction * y]], [direction * float(y[node]) + beyond], [grid.prior()])
        state = begin(process)
        for draws in (10, 1_000, 1e6, 1e9, 1e11, 1e12, 1e12):
            state = step(process, state, draws * np.eye(len(y))[None, None, node])
        assert np.isfinite(state.bettors).all()
        assert state.peak[0] > 1e4 if beyond < 0 else state.peak[0] < 0.5
        assert beyond < 0 or (state.bettors[:, :-1] < 1e-3).all()


def test_nothing_is_staked_on_a_side_that_needs_a_channel_without_draws():
    payoffs = np.zeros((1, 1, 2, 2))
    payoffs[:, 0, :, 1] = [1.0, -0.8]
    found = best_stakes(payoffs, np.zeros((1, 1)), np.asarray([[[0.1, 0.9], [0.99, 0.01]]]), np.asarray([[1.0, 0.0]]))
    assert (found.amounts == 0).all()
    assert (found.factors == 1).all()


def test_a_mean_of_nothing_is_refuted_by_a_number_above_it_and_pays_nothing_otherwise():
    """No stake is the best one there: all are limited, and the limited one is searched among arrays."""
    process = EProcess.of([[np.asarray([0.0, 0.5, 1.0])]], [0.0], [np.asarray([1.0, 0.0, 1.0])])
    state = step(process, begin(process), counts([0, 5, 5]))
    assert step(process, state, counts([0, 1, 0])).log_wealth[0] > 10.0
    assert step(process, state, counts([1, 0, 0])).log_wealth[0] <= 0.0


def test_the_wealths_of_many_known_batches_are_those_of_step_after_step(monkeypatch):
    monkeypatch.setattr(bets, "MAX_NUMBERS", 2**10)  # so that they are found in parts
    cells, repetitions = 2**5 + 1, 17
    payoffs = np.linspace(0.0, 1.0, cells)
    ends = np.zeros(cells)
    ends[[0, -1]] = 1.0
    processes = [EProcess.of([[payoffs]], [bound], [ends]) for bound in np.linspace(0.2, 0.9, repetitions)]
    drawn = np.zeros((2, repetitions, 1, cells))
    drawn[:, :, 0, cells // 2] = 20.0
    found = paths(EProcess.stacked(processes), drawn)
    assert found.shape == (2, repetitions)
    for k in (0, repetitions - 1):
        state = step(processes[k], begin(processes[k]), drawn[0, [k]])
        assert found[0, k] == state.log_wealth[0] == 0.0
        assert found[1, k] == pytest.approx(step(processes[k], state, drawn[1, [k]]).log_wealth[0], abs=1e-6)
    assert found[1, 0] > 1.0 > found[1, -1]


@pytest.mark.parametrize("repetitions", [1, 30])
def test_what_a_no_pays_is_a_matter_of_where_payoffs_begin(repetitions):
    plain = rates([0.5], bounds=[0.1])
    moved = EProcess.of([[np.asarray([0.5, 1.0])]], [0.6], [np.ones(2)])
    first, second = begin(plain, repetitions), begin(moved, repetitions)
    for batch in ([5, 5], [4, 6], [3, 7]):
        drawn = np.tile(counts(batch), (repetitions, 1, 1))
        first, second = step(plain, first, drawn), step(moved, second, drawn)
    assert second.log_wealth == pytest.approx(first.log_wealth, abs=1e-5)
    assert first.log_wealth[0] > 1.0


def test_the_peak_never_falls():
    process = rates([1.0], bounds=[0.5])
    state = step(process, begin(process), counts([10, 90]))
    high = step(process, state, counts([0, 20]))
    low = step(process, high, counts([200, 0]))
    assert low.log_wealth[0] < high.log_wealth[0]
    assert low.peak[0] == high.peak[0]


def test_repetitions_do_not_touch_one_another():
    process = rates([1.0, -0.8], [-1.0, 1.0], bounds=[0.0, 0.1])
    rng = np.random.default_rng(1)
    batches = rng.integers(0, 20, size=(5, 3, 2, 2)).astype(float)
    together, alone = begin(process, 3), [begin(process) for _ in range(3)]
    for batch in batches:
        together = step(process, together, batch)
        alone = [step(process, state, batch[[k]]) for k, state in enumerate(alone)]
    assert together.log_wealth == pytest.approx([float(state.log_wealth[0]) for state in alone], abs=1e-6)


@pytest.mark.parametrize("bound", [-1.0, -1.0000000000000002])
def test_rounding_at_the_edge_of_what_is_possible_is_no_evidence(bound):
    # The hypothesis is a rate of 1 and nothing else ever comes. A bound that rounding moved past 1 changes nothing.
    process = rates([-1.0], bounds=[bound])
    state = begin(process)
    for _ in range(200):
        state = step(process, state, counts([0.0, 50_000.0]))
    assert state.peak[0] < 0.01


def test_a_rate_of_one_is_refuted_by_a_single_failure():
    process = rates([-1.0], bounds=[-1.0])
    state = step(process, begin(process), counts([0, 5]))
    assert step(process, state, counts([1, 0])).peak[0] > np.log(1e4)


def test_a_polytope_without_points_is_refuted_at_once():
    process = rates([1.0], [-1.0], bounds=[0.3, -0.5])
    state = step(process, begin(process), counts([6, 4]))
    assert step(process, state, counts([6, 4])).peak[0] > 100.0


def test_huge_counts_stay_finite():
    process = rates([1.0, -0.8], bounds=[0.0])
    state = step(process, begin(process), counts([5e8, 5e8], [5e8, 5e8]))
    state = step(process, state, counts([5e8, 5e8], [5e8, 5e8]))
    assert np.isfinite(state.log_wealth[0])
    assert state.log_wealth[0] > 1e6


def test_a_group_that_is_used_up_is_known():
    # 30 of 50 hired among the first; the second is still open. The hypothesis says that they are equal at most.
    process = rates([1.0, -1.0], bounds=[0.0], sizes=[50, 1000])
    state = step(process, begin(process), counts([20, 30], [60, 40]))
    state = step(process, state, counts([0, 0], [120, 80]))
    assert state.log_wealth[0] > 5.0


def test_the_same_side_twice_changes_nothing():
    once, twice = rates([1.0], bounds=[0.3]), rates([1.0], [1.0], bounds=[0.3, 0.3])
    results = []
    for process in (once, twice):
        state = step(process, begin(process), counts([50, 50]))
        results.append(step(process, state, counts([50, 50])).bettors[0, -1])
    assert results[0] == pytest.approx(results[1], rel=1e-5)


# ---------------------------------------------------------------------------- mixtures and finite groups


@pytest.mark.parametrize(("tally", "end"), [([100.0, 0.0], 0.0), ([0.0, 100.0], 1.0), ([0.0, 0.0], 0.3)])
def test_a_mean_at_the_end_of_its_range_is_not_refuted_by_draws_that_agree(tally, end):
    assert divergence(YES_NO, np.asarray([tally]), np.asarray([end]))[0] == 0.0
    assert log_evidence(YES_NO, np.asarray([tally]), np.asarray([end]))[0] <= 0.0


def test_a_mean_at_the_end_of_its_range_is_refuted_by_one_draw_that_differs():
    assert divergence(YES_NO, np.asarray([[99.0, 1.0]]), np.asarray([0.0]))[0] == np.inf


def test_the_interval_of_no_draws_is_the_whole_range():
    assert mean_interval(np.linspace(-1.0, 3.0, 9), np.zeros(9), 0.05) == (-1.0, 3.0)


def test_the_interval_of_equal_draws_keeps_their_value():
    low, high = mean_interval(YES_NO, np.asarray([1000.0, 0.0]), 1e-6)
    assert low == 0.0
    assert 0.0 < high < 0.05
    tally = np.zeros(129)
    tally[64] = 500.0
    low, high = mean_interval(np.linspace(0.0, 1.0, 129), tally, 1e-6)
    assert 0.4 < low < 0.5 < high < 0.6


def test_a_number_is_told_from_a_mean_near_the_other_end():
    # Nothing was seen at the upper end, where the best stake comes as near to ruin as it may.
    nodes, tally = np.linspace(-1.0, 3.0, 5), np.asarray([[5.0, 6.0, 9.0, 11.0, 0.0]])
    assert divergence(nodes, tally, np.asarray([2.6151380096940775]))[0] == pytest.approx(49.362, abs=1e-3)


def test_a_finite_group_is_unknown_at_first_and_known_at_last():
    assert finite_interval(0, 0, 10, 0.05) == (0.0, 1.0)
    assert finite_interval(3, 10, 10, 1e-300) == (0.3, 0.3)
    assert finite_interval(0, 10, 10, 0.05) == (0.0, 0.0)


def test_totals_that_the_draws_rule_out_are_refuted_at_once():
    evidence = log_finite_evidence(*(np.asarray(value, dtype=float) for value in ([3, 3], [5, 5], [10, 10], [2, 9])))
    assert evidence.tolist() == [np.inf, np.inf]


# ---------------------------------------------------------------------------- fixed numbers of draws, many tests


def test_exact_limits_have_their_conventions_at_the_ends():
    assert [float(end) for end in clopper_pearson(0, 0, 0.05)] == [0.0, 1.0]
    assert float(lower_limit(0, 7, 0.05)) == 0.0
    assert float(upper_limit(7, 7, 0.05)) == 1.0


@pytest.mark.parametrize("delta", [0.0, 1.0, -0.1, float("nan")])
def test_a_risk_outside_0_and_1_is_refused_by_name(delta):
    for call in (lambda: lower_limit(1, 2, delta), lambda: holm([0.1], delta), lambda: e_bh([1.0], delta)):
        with raises(UsageError, name="delta"):
            call()


def test_an_inequality_without_rates_is_true_or_not():
    assert half_space_p_values([[3, 4]], [[10, 10]], (0.0, 0.0), 0.0).tolist() == [1.0]
    assert half_space_p_values([[3, 4]], [[10, 10]], (0.0, 0.0), -0.1).tolist() == [0.0]


@pytest.mark.parametrize("tally", [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 0.0, 1.0]])
def test_a_mean_of_few_draws_has_no_limits_at_a_small_risk(tally):
    assert mean_ends(np.asarray([-2.0, 0.0, 2.0]), np.asarray([tally]), 1e-3) == (-2.0, 2.0)


def test_the_mean_of_drifting_means_lies_about_the_mean_of_the_draws():
    assert drifting_interval(0.0, 0.0, 0.05) == (0.0, 1.0)
    low, high = drifting_interval(30.0, 100.0, 0.05)
    assert 0.15 < low < 0.3 < high < 0.48
    assert drifting_interval(70.0, 100.0, 0.05) == pytest.approx((1.0 - high, 1.0 - low), abs=1e-9)
    nearer = drifting_interval(3_000.0, 10_000.0, 0.05)
    assert low < nearer[0] < 0.3 < nearer[1] < high
    least, most = drifting_interval(0.0, 100.0, 0.05)
    exact = 1.0 - 0.025**0.01  # where all means are the same, and somebody looks once
    assert least == 0.0
    assert exact < most < 1.6 * exact
    with raises(UsageError, 0, 1, name="delta"):
        drifting_interval(1.0, 2.0, 0.0)


def test_impossible_counts_are_refused_with_their_values():
    with raises(UsageError, "successes=3", "n=2"):
        upper_limit(3, 2, 0.05)


def test_values_that_are_no_p_values_or_e_values_are_refused():
    with raises(UsageError, "p_values", 0, 1, 1.2):
        holm([0.1, 1.2], 0.05)
    with raises(UsageError, "p_values", 0, 1, -0.25):
        holm([0.1, 1.0, -0.25, 0.0], 0.05)
    with raises(UsageError, "e_values", 0, "inf"):
        e_bh([5.0, np.nan], 0.05)
    with raises(UsageError, "p_values", (1, 1)):
        holm([[0.1]], 0.05)


def test_no_hypotheses_means_no_rejections():
    assert holm([], 0.05).tolist() == []
    assert e_bh([], 0.05).tolist() == []


def test_an_infinite_wealth_is_an_e_value():
    assert e_bh([np.inf, 0.0], 0.05).tolist() == [True, False]


def test_verifair_knows_nothing_before_the_first_draw():
    assert adaptive_error(0.05, 0) == float("inf")


@pytest.mark.parametrize("rounds", [1, 2])
@pytest.mark.parametrize("repetitions", [1, 3])
def test_a_search_for_stakes_that_is_cut_short_is_still_a_fair_bet(rounds, repetitions, monkeypatch):
    payoffs = np.zeros((repetitions, 1, 2, 2))
    payoffs[:, 0, :, 1] = [1.0, -0.8]
    estimate = np.broadcast_to(np.asarray([[0.1, 0.9], [0.99, 0.01]]), (repetitions, 2, 2))
    bounds, weights = np.zeros((repetitions, 1)), np.full((repetitions, 2), 0.5)
    best = best_stakes(payoffs, bounds, estimate, weights)
    for module in (stakes, newton):
        monkeypatch.setattr(module, "MAX_ROUNDS", rounds)
    rough = best_stakes(payoffs, bounds, estimate, weights)
    assert (rough.factors > 0).all()
    assert (rough.amounts > 0).all()

    def growth(found):
        logs = (weights[..., None] * estimate * np.log(found.factors)).sum(axis=(1, 2))
        return logs + (weights * (1.0 - found.intercepts)).sum(axis=1)

    assert (growth(rough) <= growth(best) + 1e-12).all()
    # One draw of each group under rates that lie in the polytope, p <= 0.8 q.
    for p, q in [(0.0, 0.0), (0.4, 0.5), (0.8, 1.0), (0.1, 0.9)]:
        chances = np.asarray([[1 - p, p], [1 - q, q]])
        means = (chances * rough.factors).sum(axis=-1)
        assert (np.log(means).sum(axis=1) + (1.0 - rough.intercepts).sum(axis=1) <= 1e-12).all()


def test_an_interval_far_from_zero_is_as_fine_as_its_numbers_can_tell():
    tally = np.asarray([30.0, 70.0])
    low, high = mean_interval(np.asarray([1e9, 1e9 + 1.0]), tally, 0.05)
    assert (low - 1e9, high - 1e9) == pytest.approx(mean_interval(YES_NO, tally, 0.05), abs=1e-6)


@pytest.mark.parametrize("repetitions", [1, 2])
def test_six_rounds_find_the_best_stakes_on_two_rates(repetitions, monkeypatch):
    rng = np.random.default_rng(0)
    for _ in range(100):
        h, weights = rng.uniform(0.05, 0.95, 2), np.tile(rng.dirichlet([2, 2]), (repetitions, 1))
        payoffs = np.zeros((repetitions, 1, 2, 2))
        payoffs[:, 0, :, 1] = [1.0, -rng.uniform(0.3, 1.2)]
        estimate = np.tile(np.stack([1 - h, h], axis=-1), (repetitions, 1, 1))
        gains = []
        for rounds in (40, 6):
            for module in (stakes, newton):
                monkeypatch.setattr(module, "MAX_ROUNDS", rounds)
            found = best_stakes(payoffs, np.zeros((repetitions, 1)), estimate, weights)
            logs = (estimate * np.log(found.factors)).sum(axis=-1) + 1.0 - found.intercepts
            gains.append((weights * logs).sum(axis=-1))
        assert gains[1] == pytest.approx(gains[0], abs=1e-10)


@pytest.mark.parametrize("mean", [0.1, 0.5, 0.9])
def test_a_number_seen_at_one_end_only_is_as_far_from_a_mean_as_a_rate_would_be(mean):
    nodes = np.linspace(0.0, 1.0, 129)
    low, high = np.zeros((1, 129)), np.zeros((1, 129))
    low[0, 0] = high[0, -1] = 20.0
    assert divergence(nodes, low, np.asarray([mean])) == pytest.approx([-20.0 * np.log1p(-mean)], abs=1e-5)
    assert divergence(nodes, high, np.asarray([mean])) == pytest.approx([-20.0 * np.log(mean)], abs=1e-5)


@pytest.mark.parametrize(("half_spaces", "bettors"), [(1, 11), (24, 241), (30, 1)])
def test_every_half_space_of_a_polytope_has_its_bettors_unless_there_are_many(half_spaces, bettors):
    process = rates(*[[1.0]] * half_spaces, bounds=[0.3] * half_spaces)
    state = begin(process)
    for _ in range(3):
        assert state.bettors.shape == (1, bettors)
        state = step(process, state, counts([5, 5]))
    assert state.log_wealth[0] > 0


# ---------------------------------------------------------------------------- steady bettors on the boundary


@pytest.mark.parametrize("seen", [[10, 10], [64, 64], [600, 600], [40, 90]])
def test_the_expected_factor_of_a_batch_about_one_rate_is_at_most_one(seen):
    process = rates([1.0], bounds=[0.5])
    state = begin(process)
    for batch in ([5, 6], seen):
        state = step(process, state, counts(batch))
    for n in (1, 3, 40):
        yes = np.arange(n + 1.0)
        after = [step(process, state, counts([n - k, k])).log_wealth[0] for k in yes]
        assert binom.pmf(yes, n, 0.5) @ np.exp(np.asarray(after) - state.log_wealth[0]) <= 1.0 + 1e-12


@pytest.mark.parametrize("seed", range(6))
def test_the_expected_factor_of_each_steady_bettor_is_one_on_its_boundary_and_never_more_in_the_half_space(seed):
    rng = np.random.default_rng(seed)
    y, estimate, draws = rng.normal(size=3), rng.beta(0.5, 0.5, size=3), np.asarray([2, 3, 4])
    bound = float(y @ rng.uniform(size=3))
    shares, weights = np.stack([1.0 - estimate, estimate], axis=-1)[None], draws[None] / 9.0
    p = stakes._on_the_boundary(y[None], np.asarray([bound]), estimate[None], weights)[0]
    inside = rng.uniform(size=(200, 3))
    inside = inside[inside @ y <= bound]
    for rates_, tight in ((p, abs(y @ p - bound) < 1e-9), *((q, False) for q in inside[:3])):
        mean = np.zeros(len(bets.DISTANCES))
        for yes in np.ndindex(3, 4, 5):
            drawn = np.stack([draws - yes, yes], axis=-1)[None].astype(float)
            gain = stakes.boundary_gains(y[None], np.asarray([bound]), shares, weights, drawn, bets.DISTANCES)[0]
            mean += np.prod(binom.pmf(yes, draws, rates_)) * np.exp(gain)
        assert (mean <= 1.0 + 1e-9).all()
        assert not tight or mean == pytest.approx(1.0)


def test_steady_bettors_on_one_rate_are_a_mixture_of_likelihood_ratios():
    """From the second batch on: before a group is seen nothing is staked on it."""
    rng, bound = np.random.default_rng(5), 0.8
    process, total = rates([1.0], bounds=[bound]), np.zeros(2)
    state, first = begin(process), np.asarray([1.0, 3.0])
    state = step(process, state, counts(first))
    for n in (1, 7, 40, 300):
        yes = rng.binomial(n, 0.85)
        batch = np.asarray([n - yes, yes])
        state, total = step(process, state, counts(batch)), total + batch
    d = bets.DISTANCES
    other = bound + bound * (1.0 - bound) * d / (np.sqrt(bound * (1.0 - bound)) + d * bound)
    expected = total[1] * np.log(other / bound) + total[0] * np.log((1.0 - other) / (1.0 - bound))
    assert state.bettors[0, :-1] == pytest.approx(expected)


def test_rates_on_the_boundary_are_near_the_projection_and_lie_on_it():
    rng, away, beside = np.random.default_rng(6), [], []
    for _ in range(200):
        y, h, w = rng.normal(size=2), rng.uniform(0.02, 0.98, size=2), rng.dirichlet([3.0, 3.0])
        bound = float(y @ np.clip(h + rng.normal(scale=0.1, size=2), 0.01, 0.99))
        p = stakes._on_the_boundary(y[None], np.asarray([bound]), h[None], w[None])[0]
        beside.append(abs(y @ p - bound))
        sign = 1.0 if y @ h > bound else -1.0
        payoffs = np.zeros((1, 1, 2, 2))
        payoffs[0, 0, :, 1] = sign * y
        found = best_stakes(payoffs, np.asarray([[sign * bound]]), np.stack([1 - h, h], axis=-1)[None], w[None])
        projected = h / found.factors[0, :, 1]
        away.append(np.abs(p - projected).max())
    assert np.quantile(away, 0.9) < 0.002
    assert max(away) < 0.1
    # Beside the boundary only where a rate had to be kept away from 0 or 1; the correction makes up for it.
    assert np.quantile(beside, 0.95) < 1e-9
    assert max(beside) < 0.02


@pytest.mark.parametrize("y", [[1.0], [-1.0], [1.0, -0.8], [0.0, 1.0], [0.3, -1.0, 0.5], [0.0, 0.0]])
@pytest.mark.parametrize("bound", [-2.0, 0.0, 0.1, 1.0, 2.0])
def test_steady_stakes_in_plain_numbers_and_in_arrays_gain_the_same(y, bound):
    rng, channels = np.random.default_rng(7), len(y)
    for share in ([0.5] * channels, [1.0, *[0.0] * (channels - 1)]):
        h, drawn = rng.beta(0.5, 0.5, size=channels), rng.integers(0, 40, size=(channels, 2)).astype(float)
        shares = np.stack([1.0 - h, h], axis=-1)
        several = stakes.boundary_gains(
            np.asarray([y]), np.asarray([bound]), shares[None], np.asarray([share]), drawn[None], bets.DISTANCES
        )[0]
        one = stakes.one_boundary_gain(y, bound, shares.tolist(), share, drawn.tolist(), bets.DISTANCES)
        assert several == pytest.approx(np.broadcast_to(one, several.shape), rel=1e-9, abs=1e-9)


def test_wealths_found_all_at_once_are_those_found_batch_by_batch_on_any_side_of_the_truth():
    rng = np.random.default_rng(5)
    processes = [rates([1.0], bounds=[bound]) for bound in (0.3, 0.42, 0.44, 0.45, 0.46, 0.5, 0.6)]
    yes = rng.binomial(40, 0.5, size=(12, len(processes), 1)).astype(float)
    drawn = np.stack([40.0 - yes, yes], axis=-1)
    found = paths(EProcess.stacked(processes), drawn)
    for k, process in enumerate(processes):
        state = begin(process)
        for batch in range(12):
            state = step(process, state, drawn[batch, [k]])
            assert found[batch, k] == pytest.approx(state.log_wealth[0], abs=1e-7)
