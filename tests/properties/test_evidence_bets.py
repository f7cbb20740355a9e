"""What holds for every bet, whatever its stakes: the expected factor of a batch is at most 1 where the truth is."""

from __future__ import annotations

from itertools import product
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isonomia.evidence.bets import EProcess, begin, log_factor, paths, step
from isonomia.evidence.protocol import Grid, grid_for

few = settings(derandomize=True, deadline=None, max_examples=80)
seeds = st.integers(0, 2**32 - 1)


def expectation(amounts, intercepts, factors, bounds, draws, rates) -> float:
    """The exact expectation of a batch's factor over binomial outcomes."""
    total = 0.0
    for yes in product(*(range(n + 1) for n in draws)):
        chance = np.prod([comb(n, k) * p**k * (1 - p) ** (n - k) for n, k, p in zip(draws, yes, rates, strict=True)])
        counts = np.stack([np.subtract(draws, yes), yes], axis=-1)[None].astype(float)
        total += chance * np.exp(log_factor(amounts, intercepts, factors, bounds, counts)[0])
    return float(total)


@few
@given(seed=seeds, draws=st.lists(st.integers(0, 4), min_size=1, max_size=3), sides=st.integers(1, 3))
def test_any_stakes_are_a_fair_bet_against_the_polytope(seed, draws, sides):
    rng = np.random.default_rng(seed)
    if not any(draws):
        return
    channels = len(draws)
    rates = rng.choice([0.0, 1.0, *rng.random(3)], size=channels)
    a = rng.normal(size=(sides, channels))
    # A channel without draws in this batch may not be staked on.
    a[:, np.asarray(draws) == 0] = 0.0
    bounds = a @ rates + rng.choice([0.0, 0.05], size=sides)
    mu = rng.exponential(1.0, size=sides) * rng.integers(0, 2, size=sides)
    weights = np.maximum(np.asarray(draws) / sum(draws), 1e-9)
    lean = (mu @ a) / weights
    intercepts = np.maximum(-lean, 0.0) + rng.exponential(0.7, size=channels) + 1e-3
    factors = np.stack([intercepts, intercepts + lean], axis=-1)
    assert (factors > 0).all()
    assert expectation(mu[None], intercepts[None], factors[None], bounds[None], draws, rates) <= 1.0 + 1e-9


@few
@given(seed=seeds, draws=st.lists(st.integers(0, 4), min_size=2, max_size=2))
def test_the_step_that_is_played_is_a_fair_bet_after_any_past(seed, draws):
    rng = np.random.default_rng(seed)
    rates = rng.choice([0.0, 1.0, *rng.random(3)], size=2)
    a = rng.normal(size=(int(rng.integers(1, 4)), 2))
    bounds = a @ rates
    process = EProcess.of([[np.asarray([0.0, x]) for x in side] for side in a], bounds.tolist(), [np.ones(2)] * 2)
    past = rng.integers(0, 30, size=(1, 2, 2)) * rng.integers(0, 2, size=(1, 2, 1))
    state = step(process, begin(process), past.astype(float))
    mean = 0.0
    for yes in product(*(range(n + 1) for n in draws)):
        chance = np.prod([comb(n, k) * p**k * (1 - p) ** (n - k) for n, k, p in zip(draws, yes, rates, strict=True)])
        counts = np.stack([np.subtract(draws, yes), yes], axis=-1)[None].astype(float)
        if chance > 0:
            mean += chance * np.exp((step(process, state, counts).log_wealth - state.log_wealth)[0])
    assert mean <= 1.0 + 1e-9


@few
@given(seed=seeds)
def test_the_step_without_replacement_is_a_fair_bet_after_any_past(seed):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 12, size=2)
    yes = np.asarray([rng.integers(0, size + 1) for size in sizes])
    a = rng.normal(size=(int(rng.integers(1, 3)), 2))
    process = EProcess.of(
        [[np.asarray([0.0, x]) for x in side] for side in a], (a @ (yes / sizes)).tolist(), [np.ones(2)] * 2, sizes
    )
    drawn = np.asarray([rng.integers(0, size + 1) for size in sizes])
    seen = np.asarray([rng.hypergeometric(y, n - y, d) if d else 0 for y, n, d in zip(yes, sizes, drawn, strict=True)])
    state = step(process, begin(process), np.stack([drawn - seen, seen], axis=-1)[None].astype(float))
    left, good = sizes - drawn, yes - seen
    draws = [int(rng.integers(0, min(3, n) + 1)) for n in left]
    mean = 0.0
    for k in product(*(range(n + 1) for n in draws)):
        chance = np.prod(
            [comb(g, x) * comb(m - g, n - x) / comb(m, n) for g, m, n, x in zip(good, left, draws, k, strict=True)]
        )
        if chance > 0:
            counts = np.stack([np.subtract(draws, k), k], axis=-1)[None].astype(float)
            mean += chance * np.exp((step(process, state, counts).log_wealth - state.log_wealth)[0])
    assert mean <= 1.0 + 1e-9


@few
@given(seed=seeds, n=st.integers(1, 50))
def test_a_tally_keeps_the_number_of_draws_and_every_mean(seed, n):
    rng = np.random.default_rng(seed)
    for kinds in ([(-2.0, 5.0)], [None, (0.0, 10.0)], [(0.0, 1.0), (1.0, 2.0)], [None, None, None]):
        grid = grid_for(kinds)
        assert grid is not None
        columns = [rng.random(n) < 0.5 if kind is None else rng.uniform(*kind, size=n) for kind in kinds]
        tally = grid.tally(columns)
        assert (tally >= 0).all()
        assert np.isclose(tally.sum(), n)
        assert np.allclose(tally @ grid.values() / n, [column.mean() for column in columns])


@few
@given(seed=seeds)
def test_a_tally_never_raises_a_wealth(seed):
    rng = np.random.default_rng(seed)
    grid = Grid((tuple(np.linspace(0.0, 1.0, 5)), tuple(np.linspace(-1.0, 2.0, 4))))
    columns = [rng.random(20), rng.uniform(-1.0, 2.0, size=20)]
    slopes = rng.normal(size=2)
    values = grid.values() @ slopes
    rest = -values.min() + rng.exponential(0.5) + 1e-3
    exact = np.log(rest + np.stack(columns, axis=-1) @ slopes).sum()
    assert grid.tally(columns) @ np.log(rest + values) <= exact + 1e-9


@pytest.mark.parametrize("people", [None, [400.0, 500.0]])
@pytest.mark.parametrize("sides", [1, 2])
@pytest.mark.parametrize("channels", [1, 2])
def test_bets_that_are_made_all_at_once_come_to_the_same_as_step_after_step(people, sides, channels):
    rng = np.random.default_rng(sides)
    sizes = None if people is None else people[:channels]
    processes = [
        EProcess.of(
            [[np.asarray([0.0, rng.normal()]) for _ in range(channels)] for _ in range(sides)],
            rng.normal(scale=0.2, size=sides).tolist(),
            [np.ones(2)] * channels,
            sizes,
        )
        for _ in range(6)
    ]
    yes = rng.integers(0, 7, size=(12, 6, channels)).astype(float)
    counts = np.stack([rng.integers(0, 5, size=yes.shape).astype(float), yes], axis=-1)
    together, alone = EProcess.stacked(processes), [begin(process) for process in processes]
    state, found = begin(together, 6), paths(together, counts)
    for k, batch in enumerate(counts):
        state = step(together, state, batch)
        alone = [step(processes[r], alone[r], batch[r : r + 1]) for r in range(6)]
        assert found[k] == pytest.approx(state.log_wealth, abs=1e-7)
        assert found[k] == pytest.approx([float(one.log_wealth[0]) for one in alone], abs=1e-7)
