"""Stakes against projections found by a general optimiser."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import rel_entr

from isonomia.evidence.newton import TOLERANCE, Problem, climb_to_the_top
from isonomia.evidence.stakes import Stakes, best_stakes, yes_no_stakes


def value(found: Stakes, bounds, estimate, weights) -> float:
    """What the stakes gain on the estimate, in nats a draw."""
    logs = np.log(found.factors[0])
    by_channel = (estimate * np.where(estimate > 0, logs, 0.0)).sum(axis=-1) + 1.0 - found.rests[0]
    return float(weights @ by_channel - found.on_sides[0] @ bounds)


def projected(a, b, h, w) -> float:
    """The least weighted divergence from rates ``h`` to rates with ``a q <= b``."""

    def cost(q):
        return float(w @ (rel_entr(h, q) + rel_entr(1.0 - h, 1.0 - q)))

    def slope(q):
        return w * ((1.0 - h) / (1.0 - q) - h / q)

    starts = [np.full(len(h), 0.5), np.full(len(h), 0.1), np.clip(h, 0.05, 0.95)]
    sides = {"type": "ineq", "fun": lambda q: b - a @ q, "jac": lambda _: -a}
    options = {"maxiter": 500, "ftol": 1e-13}
    found = [
        minimize(cost, q, jac=slope, bounds=[(1e-6, 1 - 1e-6)] * len(h), constraints=sides, options=options)
        for q in starts
    ]
    feasible = [one.fun for one in found if np.all(b - a @ np.clip(one.x, 0, 1) > -1e-7)]
    assert feasible
    return min(feasible)


def instance(rng: np.random.Generator, sides: int, channels: int):
    a = rng.normal(size=(sides, channels))
    inside = rng.uniform(0.1, 0.9, size=channels)
    b = a @ inside + rng.uniform(0.0, 0.1, size=sides)
    return a, b, rng.uniform(0.02, 0.98, size=channels), rng.dirichlet(np.full(channels, 2.0))


@pytest.mark.filterwarnings("ignore:Values in x were outside bounds")
@pytest.mark.parametrize("shape", [(1, 1), (1, 2), (1, 4), (2, 2), (3, 2), (3, 4), (5, 3)])
def test_stakes_gain_what_the_projection_costs(shape):
    rng = np.random.default_rng(1)
    for _ in range(25):
        a, b, h, w = instance(rng, *shape)
        payoffs = np.stack([np.zeros_like(a), a], axis=-1)
        estimate = np.stack([1.0 - h, h], axis=-1)
        found = best_stakes(payoffs[None], b[None], estimate[None], w[None])
        assert value(found, b, estimate, w) == pytest.approx(projected(a, b, h, w), abs=2e-6, rel=1e-5)


@pytest.mark.filterwarnings("ignore:Values in x were outside bounds")
def test_stakes_on_cells_gain_what_the_projection_of_the_distribution_costs():
    rng = np.random.default_rng(2)
    for _ in range(25):
        h = rng.dirichlet(np.ones(5))
        y = rng.normal(size=(2, 5))
        b = y @ rng.dirichlet(np.ones(5))
        sides = [
            {"type": "ineq", "fun": lambda q, y=y, b=b: b - y @ q},
            {"type": "eq", "fun": lambda q: q.sum() - 1.0},
        ]
        nearest = minimize(
            lambda q, h=h: float(rel_entr(h, q).sum()),
            np.full(5, 0.2),
            jac=lambda q, h=h: -h / q,
            bounds=[(1e-7, 1.0)] * 5,
            constraints=sides,
            options={"maxiter": 500, "ftol": 1e-13},
        )
        found = best_stakes(y[None, :, None, :], b[None], h[None, None], np.ones((1, 1)))
        assert value(found, b, h[None], np.ones(1)) == pytest.approx(nearest.fun, abs=2e-6, rel=1e-5)


def test_both_solvers_agree_on_rates():
    rng = np.random.default_rng(3)
    for channels in (1, 2, 3):
        a = rng.normal(size=(200, channels))
        b = (a * rng.uniform(0.05, 0.95, size=a.shape)).sum(axis=1)
        h, w = rng.uniform(1e-4, 1 - 1e-4, size=a.shape), rng.dirichlet(np.ones(channels), size=200)
        payoffs = np.stack([np.zeros_like(a), a], axis=-1)[:, None]
        arguments = (payoffs, b[:, None], np.stack([1.0 - h, h], axis=-1), w, np.ones((200, 1), dtype=bool))
        problem = Problem.of(*arguments)
        one, other = yes_no_stakes(problem), Stakes(*climb_to_the_top(problem, None, TOLERANCE))
        for row in range(200):
            gains = [
                value(
                    Stakes(found.on_sides[[row]], found.rests[[row]], found.factors[[row]]),
                    b[row, None],
                    arguments[2][row],
                    w[row],
                )
                for found in (one, other)
            ]
            assert gains[0] == pytest.approx(gains[1], abs=1e-8)


def test_no_solution_gains_more_than_a_point_of_the_polytope_allows():
    # Weak duality at random points of random polytopes, whatever the accuracy of the solver.
    rng = np.random.default_rng(4)
    for _ in range(200):
        a, b, h, w = instance(rng, int(rng.integers(1, 5)), int(rng.integers(1, 5)))
        q = rng.uniform(0.001, 0.999, size=(500, len(h)))
        q = q[(q @ a.T <= b).all(axis=1)]
        payoffs = np.stack([np.zeros_like(a), a], axis=-1)
        estimate = np.stack([1.0 - h, h], axis=-1)
        gain = value(best_stakes(payoffs[None], b[None], estimate[None], w[None]), b, estimate, w)
        costs = (w * (rel_entr(h, q) + rel_entr(1.0 - h, 1.0 - q))).sum(axis=1)
        assert gain <= costs.min(initial=np.inf) + 1e-9


def test_a_search_that_sets_out_from_old_stakes_ends_where_any_other_does():
    rng = np.random.default_rng(5)
    for _ in range(100):
        a, b, h, w = instance(rng, int(rng.integers(1, 4)), int(rng.integers(1, 4)))
        payoffs = np.stack([np.zeros_like(a), a], axis=-1)[None]
        estimate = np.stack([1.0 - h, h], axis=-1)[None]
        fresh = best_stakes(payoffs, b[None], estimate, w[None])
        old = (fresh.on_sides * rng.uniform(0.0, 3.0), np.full((1, len(w)), rng.uniform(0.2, 2.0)))
        again = best_stakes(payoffs, b[None], estimate, w[None], start=old)
        gains = [value(found, b, estimate[0], w) for found in (fresh, again)]
        assert gains[0] == pytest.approx(gains[1], abs=1e-7)
