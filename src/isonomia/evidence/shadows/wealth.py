"""The wealth of one who bets against a shadow: ``begin`` and ``step``, as in :mod:`isonomia.evidence.bets`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from isonomia.evidence.bets import State
from isonomia.evidence.shadows.prices import best_prices, log_factor
from isonomia.evidence.shadows.shadow import Shadow

__all__ = ["State", "begin", "step"]

Floats = NDArray[np.float64]

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
