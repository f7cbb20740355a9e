"""The e-process against it.

Prices: the bet against a shadow that would have done best on the estimate, and why any prices are sound.

One batch brings ``n_a`` draws of channel ``a``, ``n`` in all; ``w_a = n_a / n``. A bet pays ``f_ac > 0`` for a draw of
channel ``a`` in cell ``c``, and puts a price ``k`` on each equation and ``l >= 0`` on each inequality. What it costs is

    T = max over worlds u of ( sum_a w_a f_a(cell of u in a) - k . E_u - l . G_u )  +  k . e  +  l . g,

and the batch's factor is the product of what its draws pay, over ``T`` to the power ``n``.

*No prices can be expected to win.* Let the truth be ``t_a = M_a x`` for an admitted mixture ``x``. Given which channel
each draw belongs to, the draws are independent, so the expected product is ``prod_a (t_a . f_a)^(n_a)``. By the
inequality of the means that is at most ``(sum_a w_a t_a . f_a)^n``, and

    sum_a w_a t_a . f_a  =  sum_u x_u sum_a w_a f_a(u)  <=  max_u ( ... )  +  k . E x  +  l . G x  <=  T,

because ``x`` is a distribution, ``E x = e``, ``G x <= g`` and ``l >= 0``. So the factor's expectation is at most 1
whatever the prices are: a maximum over known worlds is all that is needed, no solver is trusted.

*The best prices are a projection.* On draws distributed like ``h`` a batch is expected to gain ``n S``,

    S = sum_a w_a sum_c h_ac log f_ac - log T  <=  sum_a w_a KL(h_a | q_a)        for every q in the shadow

(the same inequality with ``t = q``, and Jensen's), with equality for ``f = h / p`` where ``p`` is the shadow's nearest
point to ``h`` (convex duality). So ``S`` is also a certified lower bound on the distance from ``h`` to the shadow.

The wealth of one who bets against a shadow: ``begin`` and ``step``, as in :mod:`isonomia.evidence.bets`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isonomia.evidence.bets import State
from isonomia.evidence.identified.identified_set import Shadow
from isonomia.evidence.identified.projection import solve

__all__ = ["Prices", "State", "begin", "best_prices", "certified_distance", "cost", "growth", "log_factor", "step"]


Floats = NDArray[np.float64]

ENORMOUS = 1e300
"""The most that a draw pays, and one over the least."""


@dataclass(frozen=True, slots=True)
class Prices:
    """A bet; a row a repetition.

    Attributes
    ----------
    factors
        ``f``, of shape ``(repetitions, channels, cells)``, positive.
    on_equal
        ``k``, of shape ``(repetitions, equations)``.
    on_below
        ``l``, of shape ``(repetitions, inequalities)``, at least 0.
    """

    factors: Floats
    on_equal: Floats
    on_below: Floats


def best_prices(shadow: Shadow, estimate: Floats, weights: Floats, tolerance: Floats) -> Prices:
    """Project the estimate onto the shadow, and price each cell at estimate over projection.

    Parameters
    ----------
    shadow
        The hypothesis, which must admit a mixture.
    estimate
        ``h``, of shape ``(repetitions, channels, cells)``; positive.
    weights
        ``w``, of shape ``(repetitions, channels)``, summing to at most 1. A channel of weight 0 is not bet on: its
        draws pay what the others cost on average, 1.
    tolerance
        The accuracy of ``S`` aimed at, in nats a draw, for each repetition. Where less can be won, nothing is bet.
    """
    share = weights.sum(axis=-1)
    factors = np.ones_like(estimate)
    on_equal, on_below = np.zeros((len(estimate), len(shadow.equal))), np.zeros((len(estimate), len(shadow.below)))
    rows = np.flatnonzero(share > 0)
    part = share[rows, None]
    within = (weights[rows] / part)[:, :, None]
    seen = (within * estimate[rows])[:, shadow.possible]
    found = solve(shadow, seen / np.maximum(seen.sum(axis=-1, keepdims=True), 1e-300), tolerance[rows])
    # A cell that no world shows costs nothing, however much is paid for it: such a draw refutes the shadow outright.
    paid = np.full((len(rows), shadow.channels, shadow.cells), ENORMOUS)
    shares = np.broadcast_to(np.where(within > 0, within, 1.0), paid.shape)
    paid[:, shadow.possible] = np.clip(found.v / shares[:, shadow.possible], 1.0 / ENORMOUS, ENORMOUS)
    factors[rows] = np.where(within > 0, paid, 1.0)
    on_equal[rows], on_below[rows] = part * found.eta[:, 1:], part * np.maximum(found.lam, 0.0)
    prices = Prices(factors, on_equal, on_below)
    idle = ~(growth(shadow, prices, estimate, weights) > tolerance)
    factors[idle], on_equal[idle], on_below[idle] = 1.0, 0.0, 0.0
    return prices


def cost(shadow: Shadow, prices: Prices, weights: Floats) -> Floats:
    """``T``: what the dearest world is worth, and what the constraints cost. Positive where the shadow is not empty."""
    paid = (weights[:, :, None] * prices.factors).reshape(len(weights), -1)
    worth = paid @ shadow.shows.reshape(-1, shadow.worlds)
    worth -= prices.on_equal @ shadow.equal + prices.on_below @ shadow.below
    return np.asarray(worth.max(axis=-1) + prices.on_equal @ shadow.equal_to + prices.on_below @ shadow.at_most)


def log_factor(shadow: Shadow, prices: Prices, counts: Floats) -> Floats:
    """The logarithm of one batch's factor.

    Guarantee: for *any* positive factors, any ``on_equal`` and any ``on_below >= 0`` that were fixed before the
    outcomes of the batch were seen, the expected factor is at most 1 when the truth lies in the shadow. The proof is
    at the top of this module; it uses nothing else.
    """
    draws = counts.sum(axis=-1)
    total = draws.sum(axis=-1)
    weights = draws / np.maximum(total, 1.0)[:, None]
    logs = np.log(np.where(counts > 0, prices.factors, 1.0))
    price = np.log(np.maximum(cost(shadow, prices, weights), 1e-300))
    return np.asarray((counts * logs).sum(axis=(-2, -1)) - np.where(total > 0, total * price, 0.0))


def certified_distance(shadow: Shadow, estimate: Floats, weights: Floats, tolerance: float = 1e-9) -> Floats:
    """A lower bound on ``min over q in the shadow of sum_a w_a KL(h_a | q_a)``, near it when the solver did well.

    Guarantee: never more than the minimum, whatever the solver did (up to rounding), by the inequality for ``S``.
    """
    prices = best_prices(shadow, estimate, weights, np.full(len(estimate), tolerance))
    return np.maximum(growth(shadow, prices, estimate, weights), 0.0)


def growth(shadow: Shadow, prices: Prices, estimate: Floats, weights: Floats) -> Floats:
    """``S``, for weights that sum to at most 1."""
    rest = 1.0 - weights.sum(axis=-1)
    paid = (weights * (estimate * np.log(prices.factors)).sum(axis=-1)).sum(axis=-1)
    price = np.maximum(cost(shadow, prices, weights) + rest, 1e-300)
    return np.asarray(paid - np.log(price))


IMAGINED = 0.5
"""Draws of each cell that the estimate starts from (Krichevsky and Trofimov 1981)."""

WORTH = 1e-4
"""Nats a batch that are not worth another round of the solver; hundreds of batches lose a few hundredths in all."""


def begin(shadow: Shadow, repetitions: int = 1) -> State:
    """Start with a wealth of 1 and nothing seen."""
    return State(np.zeros(repetitions), np.zeros(repetitions), np.zeros((repetitions, shadow.channels, shadow.cells)))


def step(shadow: Shadow, state: State, counts: Floats) -> State:
    """Fix the prices from earlier batches and from the number of draws alone, then let the batch settle them.

    Parameters
    ----------
    shadow
        The hypothesis that is bet against; it must admit a mixture.
    state
        What earlier batches left.
    counts
        The draws of this batch: shape ``(repetitions, channels, cells)``.

    Notes
    -----
    Guarantee: if the truth lies in the shadow, and given the past and the channel of each draw the draws of a batch
    are independent with the channel's probabilities, then ``exp(log_wealth)`` is a non-negative supermartingale that
    starts at 1, for any batch sizes fixed before the batch's outcomes are seen. Hence, by Ville's inequality,
    ``P(there is a batch with peak >= log(1/delta)) <= delta``.
    """
    draws = counts.sum(axis=-1)
    total = draws.sum(axis=-1)
    estimate = state.tally + IMAGINED
    estimate = estimate / estimate.sum(axis=-1, keepdims=True)
    # Before a channel has been seen there is nothing to go by: its weight of 0 keeps the purse shut.
    weights = np.where(state.tally.any(axis=-1), draws / np.maximum(total, 1.0)[:, None], 0.0)
    prices = best_prices(shadow, estimate, weights, np.clip(WORTH / np.maximum(total, 1.0), 1e-10, 1e-4))
    log_wealth = state.log_wealth + log_factor(shadow, prices, counts)
    return State(log_wealth, np.maximum(state.peak, log_wealth), state.tally + counts)
