"""No bet against an identified set that contains the truth can be expected to win, whatever the bet."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from isonomia.evidence.fair_worlds import fair_set
from isonomia.evidence.identified.bets import CellBet, best_cell_bet, certified_distance, payoff_bound
from isonomia.evidence.strata.worlds import TableShape, definition_effects, effect_rows, worlds

SHAPES = (TableShape(), TableShape(2, 2, 3), TableShape(2, 3, 2))
seeds = st.integers(0, 2**32 - 1)


def fair_mixture(shape: TableShape, rng: np.random.Generator, sparsity: float) -> np.ndarray:
    """A random mixture, averaged with the one in which everybody's two predictions are swapped: fair by symmetry."""
    every = worlds(shape)
    order = {tuple(world.ravel()): index for index, world in enumerate(every)}
    swapped = [order[(*world[0][::-1], *world[1])] for world in every]
    x = rng.dirichlet(np.full(shape.worlds, sparsity))
    return 0.5 * (x + x[swapped])


@settings(max_examples=150, deadline=None)
@given(seeds, st.sampled_from(SHAPES), st.sampled_from([1, 2, 3, 4]), st.sampled_from([0.0, 0.1]), st.floats(0.02, 2.0))
def test_no_bet_at_all_can_be_expected_to_win(seed, shape, definition, margin, sparsity):
    rng = np.random.default_rng(seed)
    effects = definition_effects(shape, definition)
    x = fair_mixture(shape, rng, sparsity)
    assert np.abs(effect_rows(shape, effects) @ x).max() < 1e-12
    identified = fair_set(shape, effects, margin)
    truth = identified.observation @ x[identified.kept_worlds]
    n = rng.integers(1, 50, size=2)
    bet = CellBet(
        np.exp(rng.normal(scale=rng.uniform(0.1, 3.0), size=(1, 2, shape.cells))),
        rng.normal(scale=3.0, size=(1, len(identified.equal))),
        np.abs(rng.normal(scale=3.0, size=(1, len(identified.below)))),
    )
    weights = (n / n.sum())[None]
    expected = (n * np.log((truth * bet.factors[0]).sum(axis=1))).sum()
    assert expected - n.sum() * np.log(payoff_bound(identified, bet, weights)[0]) <= 1e-9


@settings(max_examples=100, deadline=None)
@given(seeds, st.sampled_from(SHAPES), st.sampled_from([1, 2, 3, 4]), st.floats(0.02, 2.0), st.floats(0.05, 0.95))
def test_a_fair_table_has_no_distance_and_others_have_no_more_than_to_any_fair_table(
    seed, shape, definition, sparsity, share
):
    rng = np.random.default_rng(seed)
    identified = fair_set(shape, definition_effects(shape, definition))
    table = (
        0.99 * (identified.observation @ fair_mixture(shape, rng, sparsity)[identified.kept_worlds])
        + 0.01 / shape.cells
    )
    weights = np.asarray([[share, 1.0 - share]])
    assert certified_distance(identified, table[None], weights)[0] <= 1e-8
    other = rng.dirichlet(np.full(shape.cells, sparsity), size=2)
    away = (weights[0][:, None] * np.where(other > 0, other * np.log(np.maximum(other, 1e-300) / table), 0.0)).sum()
    assert certified_distance(identified, other[None], weights)[0] <= away + 1e-9


@settings(max_examples=100, deadline=None)
@given(seeds, st.sampled_from(SHAPES), st.sampled_from([1, 2, 3, 4]), st.floats(0.02, 1.0))
def test_the_solver_reaches_its_own_upper_bound(seed, shape, definition, sparsity):
    # The projection that the bet implies is nearly in the set, so that the certified distance is nearly the least.
    rng = np.random.default_rng(seed)
    identified = fair_set(shape, definition_effects(shape, definition))
    table = 0.99 * rng.dirichlet(np.full(shape.cells, sparsity), size=(1, 2)) + 0.01 / shape.cells
    weights = np.asarray([[0.4, 0.6]])
    bet = best_cell_bet(identified, table, weights, np.full(1, 1e-9))
    projection = table / bet.factors
    projection = projection / projection.sum(axis=-1, keepdims=True)
    assert certified_distance(identified, projection, weights)[0] <= 1e-6
