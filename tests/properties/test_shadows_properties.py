"""Whatever the prices: no bet against the shadow that holds the truth can be expected to win."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from isonomia.evidence.identified.bets import Prices, best_prices, certified_distance, cost
from isonomia.evidence.identified.definitions import fair_shadow
from isonomia.evidence.strata.effects import definition_effects, effect_rows
from isonomia.evidence.strata.worlds import Shape, worlds

SHAPES = (Shape(), Shape(2, 2, 3), Shape(2, 3, 2))
seeds = st.integers(0, 2**32 - 1)


def fair_mixture(shape: Shape, rng: np.random.Generator, sparsity: float) -> np.ndarray:
    """A random mixture, averaged with the one in which everybody's two predictions are swapped: fair by symmetry."""
    every = worlds(shape)
    order = {tuple(world.ravel()): index for index, world in enumerate(every)}
    swapped = [order[(*world[0][::-1], *world[1])] for world in every]
    x = rng.dirichlet(np.full(shape.worlds, sparsity))
    return 0.5 * (x + x[swapped])


@settings(max_examples=150, deadline=None)
@given(seeds, st.sampled_from(SHAPES), st.sampled_from([1, 2, 3, 4]), st.sampled_from([0.0, 0.1]), st.floats(0.02, 2.0))
def test_no_prices_at_all_can_be_expected_to_win(seed, shape, definition, margin, sparsity):
    rng = np.random.default_rng(seed)
    effects = definition_effects(shape, definition)
    x = fair_mixture(shape, rng, sparsity)
    assert np.abs(effect_rows(shape, effects) @ x).max() < 1e-12
    shadow = fair_shadow(shape, effects, margin)
    truth = shadow.shows @ x[shadow.kept]
    n = rng.integers(1, 50, size=2)
    prices = Prices(
        np.exp(rng.normal(scale=rng.uniform(0.1, 3.0), size=(1, 2, shape.cells))),
        rng.normal(scale=3.0, size=(1, len(shadow.equal))),
        np.abs(rng.normal(scale=3.0, size=(1, len(shadow.below)))),
    )
    weights = (n / n.sum())[None]
    expected = (n * np.log((truth * prices.factors[0]).sum(axis=1))).sum()
    assert expected - n.sum() * np.log(cost(shadow, prices, weights)[0]) <= 1e-9


@settings(max_examples=100, deadline=None)
@given(seeds, st.sampled_from(SHAPES), st.sampled_from([1, 2, 3, 4]), st.floats(0.02, 2.0), st.floats(0.05, 0.95))
def test_a_fair_table_has_no_distance_and_others_have_no_more_than_to_any_fair_table(
    seed, shape, definition, sparsity, share
):
    rng = np.random.default_rng(seed)
    shadow = fair_shadow(shape, definition_effects(shape, definition))
    table = 0.99 * (shadow.shows @ fair_mixture(shape, rng, sparsity)[shadow.kept]) + 0.01 / shape.cells
    weights = np.asarray([[share, 1.0 - share]])
    assert certified_distance(shadow, table[None], weights)[0] <= 1e-8
    other = rng.dirichlet(np.full(shape.cells, sparsity), size=2)
    away = (weights[0][:, None] * np.where(other > 0, other * np.log(np.maximum(other, 1e-300) / table), 0.0)).sum()
    assert certified_distance(shadow, other[None], weights)[0] <= away + 1e-9


@settings(max_examples=100, deadline=None)
@given(seeds, st.sampled_from(SHAPES), st.sampled_from([1, 2, 3, 4]), st.floats(0.02, 1.0))
def test_the_solver_reaches_its_own_upper_bound(seed, shape, definition, sparsity):
    # The projection that the prices imply is nearly in the shadow, so that the certified distance is nearly the least.
    rng = np.random.default_rng(seed)
    shadow = fair_shadow(shape, definition_effects(shape, definition))
    table = 0.99 * rng.dirichlet(np.full(shape.cells, sparsity), size=(1, 2)) + 0.01 / shape.cells
    weights = np.asarray([[0.4, 0.6]])
    prices = best_prices(shadow, table, weights, np.full(1, 1e-9))
    projection = table / prices.factors
    projection = projection / projection.sum(axis=-1, keepdims=True)
    assert certified_distance(shadow, projection, weights)[0] <= 1e-6
