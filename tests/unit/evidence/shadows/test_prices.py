"""Prices and the wealth they make: conventions at the edges."""

from __future__ import annotations

import numpy as np
import pytest

from isonomia.evidence.shadows.definitions import assumed_shadow, fair_shadow
from isonomia.evidence.shadows.prices import best_prices, certified_distance, cost
from isonomia.evidence.shadows.shadow import Shadow
from isonomia.evidence.shadows.wealth import begin, step
from isonomia.evidence.strata.effects import definition_effects
from isonomia.evidence.strata.worlds import Shape

BINARY = Shape()
FAIR = fair_shadow(BINARY, definition_effects(BINARY, 2))
UNFAIR_TABLE = np.asarray([[[0.2, 0.1, 0.6, 0.1], [0.8, 0.1, 0.05, 0.05]]])


def test_the_best_prices_cost_one_and_pay_the_estimate_over_its_projection():
    weights = np.asarray([[0.3, 0.7]])
    prices = best_prices(FAIR, UNFAIR_TABLE, weights, np.full(1, 1e-11))
    assert cost(FAIR, prices, weights)[0] == pytest.approx(1.0, abs=1e-8)
    projection = UNFAIR_TABLE / prices.factors
    np.testing.assert_allclose(projection.sum(axis=-1), 1.0, atol=1e-8)
    # The projection meets the broken side exactly: P(1, 0 | 0) + P(0, 0 | 1) = 1.
    assert projection[0, 0, 2] + projection[0, 1, 0] == pytest.approx(1.0, abs=1e-7)


def test_nothing_is_bet_where_the_estimate_is_fair():
    table = np.full((1, 2, 4), 0.25)
    assert (best_prices(FAIR, table, np.full((1, 2), 0.5), np.full(1, 1e-6)).factors == 1.0).all()


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
    shadow = Shadow.of(assumed_shadow(BINARY).shows, below=(never[None, :], np.zeros(1)))
    state = step(shadow, begin(shadow), np.asarray([[[5.0, 5.0, 0.0, 0.0], [4.0, 2.0, 2.0, 2.0]]]))
    state = step(shadow, state, np.asarray([[[5.0, 4.0, 1.0, 0.0], [4.0, 2.0, 2.0, 2.0]]]))
    assert state.peak[0] > 600


def observation_row(channel: int, cells: set[int]) -> list[float]:
    """1 in the worlds that show one of the cells."""
    shows = assumed_shadow(BINARY).shows[channel]
    return [float(any(shows[c, u] for c in cells)) for u in range(16)]
