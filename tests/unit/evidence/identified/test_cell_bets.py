"""Prices and the wealth they make: conventions at the edges."""

from __future__ import annotations

import numpy as np
import pytest

from isonomia.evidence.fair_worlds import assumed_set, fair_set
from isonomia.evidence.identified import identified_set as interior
from isonomia.evidence.identified.bets import (
    CellBet,
    begin,
    best_cell_bet,
    certified_distance,
    log_factor,
    payoff_bound,
    step,
)
from isonomia.evidence.identified.identified_set import IdentifiedSet, _solve_linear
from isonomia.evidence.strata.worlds import TableShape, assume, definition_effects

BINARY = TableShape()
FAIR = fair_set(BINARY, definition_effects(BINARY, 2))
UNFAIR_TABLE = np.asarray([[[0.2, 0.1, 0.6, 0.1], [0.8, 0.1, 0.05, 0.05]]])


def test_the_best_bet_pays_the_estimate_over_its_projection_and_one_on_average():
    weights = np.asarray([[0.3, 0.7]])
    bet = best_cell_bet(FAIR, UNFAIR_TABLE, weights, np.full(1, 1e-11))
    assert payoff_bound(FAIR, bet, weights)[0] == pytest.approx(1.0, abs=1e-8)
    projection = UNFAIR_TABLE / bet.factors
    np.testing.assert_allclose(projection.sum(axis=-1), 1.0, atol=1e-8)
    # The projection meets the broken side exactly: P(1, 0 | 0) + P(0, 0 | 1) = 1.
    assert projection[0, 0, 2] + projection[0, 1, 0] == pytest.approx(1.0, abs=1e-7)


def test_nothing_is_bet_where_the_estimate_is_fair():
    table = np.full((1, 2, 4), 0.25)
    assert (best_cell_bet(FAIR, table, np.full((1, 2), 0.5), np.full(1, 1e-6)).factors == 1.0).all()


def test_a_table_of_a_fair_world_has_distance_zero():
    assert certified_distance(FAIR, np.full((1, 2, 4), 0.25), np.full((1, 2), 0.5))[0] == 0.0


def test_the_distance_to_an_unfair_table_does_not_depend_on_how_many_are_asked_together():
    rng = np.random.default_rng(5)
    many = rng.dirichlet(np.full(4, 0.6), size=(300, 2))
    weights = np.full((300, 2), 0.5)
    together = certified_distance(FAIR, many, weights)
    alone = [certified_distance(FAIR, many[i : i + 1], weights[i : i + 1])[0] for i in range(0, 300, 37)]
    np.testing.assert_allclose(together[::37], alone, atol=1e-8)


def test_a_channel_without_draws_in_the_batch_is_not_bet_on():
    state = step(FAIR, begin(FAIR), 100 * UNFAIR_TABLE)
    counts = np.zeros((1, 2, 4))
    counts[0, 1] = [10.0, 0.0, 0.0, 0.0]
    assert step(FAIR, state, counts).log_wealth[0] == state.log_wealth[0]


def test_the_first_batch_and_an_empty_one_change_nothing():
    state = step(FAIR, begin(FAIR), 100 * UNFAIR_TABLE)
    assert state.log_wealth[0] == 0.0
    after = step(FAIR, state, np.zeros((1, 2, 4)))
    assert after.log_wealth[0] == 0.0
    np.testing.assert_array_equal(after.tally, state.tally)


def test_a_draw_that_no_admitted_world_can_show_refutes_outright():
    # Worlds whose prediction is 1 under the first attribute value have no probability.
    never = np.asarray(observation_row(0, {2, 3}))
    identified = IdentifiedSet.of(assumed_set(BINARY).observation, below=(never[None, :], np.zeros(1)))
    state = step(identified, begin(identified), np.asarray([[[5.0, 5.0, 0.0, 0.0], [4.0, 2.0, 2.0, 2.0]]]))
    state = step(identified, state, np.asarray([[[5.0, 4.0, 1.0, 0.0], [4.0, 2.0, 2.0, 2.0]]]))
    assert state.peak[0] > 600


def observation_row(channel: int, cells: set[int]) -> list[float]:
    """1 in the worlds that show one of the cells."""
    shows = assumed_set(BINARY).observation[channel]
    return [float(any(shows[c, u] for c in cells)) for u in range(16)]


def test_a_search_that_is_cut_short_costs_power_and_nothing_else(monkeypatch):
    weights = np.asarray([[0.3, 0.7]])
    best = certified_distance(FAIR, UNFAIR_TABLE, weights)[0]
    for rounds in (1, 2, 4):
        monkeypatch.setattr(interior, "MAX_ROUNDS", rounds)
        assert 0.0 <= certified_distance(FAIR, UNFAIR_TABLE, weights)[0] <= best + 1e-9
        bet = best_cell_bet(FAIR, UNFAIR_TABLE, weights, np.full(1, 1e-11))
        assert np.isfinite(bet.factors).all()
        assert (bet.factors > 0).all()
        assert (bet.inequality_multipliers >= 0).all()


def test_a_search_that_rounding_keeps_from_its_aim_gives_up_long_before_its_rounds_are_used_up(monkeypatch):
    taken, take = [], interior._newton_step

    def counted(*arguments):
        taken.append(1)
        return take(*arguments)

    monkeypatch.setattr(interior, "_newton_step", counted)
    best_cell_bet(FAIR, UNFAIR_TABLE, np.asarray([[0.3, 0.7]]), np.zeros(1))
    assert 5 < len(taken) < 20 < interior.MAX_ROUNDS


def test_a_singular_system_is_solved_with_a_ridge():
    matrix = np.asarray([[[1.0, 1.0], [1.0, 1.0]], [[2.0, 0.0], [0.0, 4.0]]])
    found = _solve_linear(matrix, np.asarray([[2.0, 2.0], [2.0, 2.0]]))
    assert found[0].sum() == pytest.approx(2.0, abs=1e-6)
    assert found[1] == pytest.approx([1.0, 0.5])


def test_one_draw_is_a_fair_bet_against_every_world_that_is_fair():
    weights = np.asarray([[0.3, 0.7]])
    bet = best_cell_bet(FAIR, UNFAIR_TABLE, weights, np.full(1, 1e-11))
    assert (bet.factors != 1.0).any()
    fair = np.asarray([[0.25, 0.25, 0.25, 0.25], [0.1, 0.4, 0.1, 0.4], [0.45, 0.05, 0.45, 0.05]])
    for law in fair:
        for channel in (0, 1):
            draws = np.zeros((4, 2, 4))
            draws[np.arange(4), channel, np.arange(4)] = 1.0
            four = CellBet(
                *(
                    np.repeat(part, 4, axis=0)
                    for part in (bet.factors, bet.equality_multipliers, bet.inequality_multipliers)
                )
            )
            assert law @ np.exp(log_factor(FAIR, four, draws)) <= 1.0 + 1e-9
    assert log_factor(FAIR, bet, np.zeros((1, 2, 4)))[0] == 0.0


def test_an_outcome_that_was_not_seen_neither_pays_nor_costs_however_small_its_factor():
    weights = np.asarray([[0.5, 0.5]])
    bet = best_cell_bet(FAIR, UNFAIR_TABLE, weights, np.full(1, 1e-11))
    counts = np.asarray([[[3.0, 2.0, 5.0, 0.0], [8.0, 2.0, 0.0, 0.0]]])
    found = []
    for least in (0.0, 1e-300):
        factors = np.where(counts > 0, bet.factors, least)
        found.append(
            log_factor(FAIR, CellBet(factors, bet.equality_multipliers, bet.inequality_multipliers), counts)[0]
        )
    assert np.isfinite(found[0])
    assert found[0] == pytest.approx(found[1], rel=1e-12)


def test_a_margin_lets_more_tables_be_fair():
    weights = np.full((1, 2), 0.5)
    effects = definition_effects(BINARY, 2)
    distances = [
        certified_distance(fair_set(BINARY, effects, margin), UNFAIR_TABLE, weights)[0]
        for margin in (0.0, 0.05, 0.2, 1.0)
    ]
    assert distances[0] > distances[1] > distances[2] >= distances[3] == 0.0
    assert distances[1] > 0.0


def test_a_channel_that_was_never_seen_is_not_bet_on():
    first = np.zeros((1, 2, 4))
    first[0, 0] = [1.0, 1.0, 97.0, 1.0]
    state = step(FAIR, begin(FAIR), first)
    then = np.zeros((1, 2, 4))
    then[0] = [[2.0, 1.0, 6.0, 1.0], [8.0, 1.0, 0.5, 0.5]]
    assert step(FAIR, state, then).log_wealth[0] == 0.0


@pytest.mark.parametrize(("words", "bound"), [("P[S0 == 1] <= 0.3", 0.3), ("P[S0 == 1] >= 0.9", 0.9)])
def test_the_distance_to_an_assumption_about_one_prediction_is_that_of_its_rate_to_the_bound(words, bound):
    identified = assumed_set(BINARY, assume(BINARY, words))
    weights, rate = np.asarray([[0.4, 0.6]]), UNFAIR_TABLE[0, 0, 2:].sum()
    nats = rate * np.log(rate / bound) + (1.0 - rate) * np.log((1.0 - rate) / (1.0 - bound))
    assert certified_distance(identified, UNFAIR_TABLE, weights)[0] == pytest.approx(0.4 * nats, abs=1e-7)


def test_a_margin_is_about_everybody_unless_it_is_said_to_be_about_the_stratum():
    weights, effects = np.full((1, 2), 0.5), definition_effects(BINARY, 2)
    plain, whole, part = (
        certified_distance(fair_set(BINARY, effects, 0.05, **options), UNFAIR_TABLE, weights)[0]
        for options in ({}, {"normalised": False}, {"normalised": True})
    )
    assert plain == whole < part
