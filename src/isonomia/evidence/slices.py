"""Bets against a polytope whose groups overlap: one slice for each value that the shared leaf might have.

A rate given one group against a rate given an overlapping one is no linear matter: the same draw informs both, and what
it says about one depends on the other. But *suppose* one of them, the sliced leaf ``s``, lies in ``[low, high]``. Then
every side ``sum of a_g theta_g <= b`` becomes a statement about the mean of what a single draw shows,

    E[ 1{in the others' group} (sum of a_g x_g - c) ] <= 0,      c = b - min(a_s low, a_s high),

and so do ``theta_s >= low`` and ``theta_s <= high``. Those are ordinary half-spaces over the cells of one channel that
sees both groups at once, and ordinary bets refute them. The truth lies in some slice, so refuting every slice at the
full risk refutes the polytope; nothing is divided.

A slice may be split at any time: both halves lie within it, so both inherit its wealth.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isonomia.evidence.bets import log_factor
from isonomia.evidence.stakes import best_stakes

__all__ = ["SliceGame", "SliceState", "begin_slices", "play", "step_slices"]

Floats = NDArray[np.float64]

FIRST = 8
"""Slices at the start."""

MOST = 512
"""Slices at any time; when there are as many, they are no longer split."""

FINE = 0.1
"""A slice is split while it is wider than this share of the range over the root of the draws that inform it."""


@dataclass(frozen=True, slots=True)
class SliceGame:
    """A polytope over overlapping groups, seen through one channel that crosses them.

    Attributes
    ----------
    others
        What the leaves other than the sliced one contribute to each side in each cell, 0 outside their group: shape
        ``(sides, cells)``.
    members
        1 in the cells of those leaves' group, 0 outside it: shape ``(sides, cells)``.
    slopes, bounds
        The sliced leaf's coefficient and the right-hand side, for each side.
    value, present
        The sliced leaf in each cell, 0 where it is absent, and 1 in the cells of its group.
    span
        The sliced leaf's range.
    prior
        The weight of each cell in the estimate before anything is seen.
    needed
        The evidence at which a slice is refuted, ``log(1 / delta)``.
    """

    others: Floats
    members: Floats
    slopes: Floats
    bounds: Floats
    value: Floats
    present: Floats
    span: tuple[float, float]
    prior: Floats
    needed: float

    def payoffs(self, low: Floats, high: Floats) -> Floats:
        """What a draw in each cell contributes to each side of each slice: ``(slices, sides + 2, 1, cells)``."""
        ends = np.minimum(np.multiply.outer(low, self.slopes), np.multiply.outer(high, self.slopes))
        sides = self.others - self.members * (self.bounds - ends)[:, :, None]
        at_least = self.present * low[:, None] - self.value
        at_most = self.value - self.present * high[:, None]
        return np.concatenate([sides, at_least[:, None], at_most[:, None]], axis=1)[:, :, None, :]


@dataclass(frozen=True, slots=True)
class SliceState:
    """The slices not refuted yet, with their wealths, and the counts that they share."""

    low: Floats
    high: Floats
    log_wealth: Floats
    slice_peak: Floats
    tally: Floats

    @property
    def peak(self) -> Floats:
        """The least peak of any slice, as an array of one; infinite once every slice is refuted."""
        return np.asarray([self.slice_peak.min(initial=np.inf)])


def begin_slices(game: SliceGame) -> SliceState:
    """Cut the range into equal slices, each with a wealth of 1."""
    edges = np.linspace(*game.span, FIRST + 1)
    return SliceState(edges[:-1], edges[1:], np.zeros(FIRST), np.zeros(FIRST), np.zeros(len(game.prior)))


def step_slices(game: SliceGame, state: SliceState, counts: Floats) -> SliceState:
    """Play one batch against every slice, drop the refuted ones, and split those that have become too wide.

    Guarantee: if the truth lies in the polytope, the slice that holds the sliced leaf's true value is ever dropped with
    probability at most ``exp(-needed)``.
    """
    rows = len(state.low)
    gain = play(
        game,
        state.low,
        state.high,
        np.broadcast_to(state.tally, (rows, len(counts))),
        np.broadcast_to(counts, (rows, len(counts))),
    )
    wealth = state.log_wealth + gain
    peak = np.maximum(state.slice_peak, wealth)
    alive = peak < game.needed
    kept = SliceState(state.low[alive], state.high[alive], wealth[alive], peak[alive], state.tally + counts)
    return _split(game, kept)


def play(game: SliceGame, low: Floats, high: Floats, tally: Floats, counts: Floats) -> Floats:
    """The logarithm of each slice's factor for one batch; slices, tallies and counts have a row each."""
    bounds = np.zeros((len(low), len(game.slopes) + 2))
    estimate = tally + game.prior
    estimate = (estimate / estimate.sum(axis=-1, keepdims=True))[:, None, :]
    # Before anything is seen there is nothing to go by: a weight of 0 keeps the purse shut.
    weights = (tally.sum(axis=-1, keepdims=True) > 0).astype(float)
    stakes = best_stakes(game.payoffs(low, high), bounds, estimate, weights)
    gain = log_factor(stakes.on_sides, stakes.rests, stakes.factors, bounds, counts[:, None, :])
    return np.where((stakes.on_sides > 0).any(axis=-1), gain, 0.0)


def _split(game: SliceGame, state: SliceState) -> SliceState:
    """Halve slices until none is wide; splitting looks at counts only, so it cannot favour an outcome."""
    informed = max(float(state.tally @ game.present), 1.0)
    widest = FINE * (game.span[1] - game.span[0]) / np.sqrt(informed)
    low, high, wealth, peak = state.low, state.high, state.log_wealth, state.slice_peak
    wide = high - low > widest
    while wide.any() and len(low) + int(wide.sum()) <= MOST:
        middle = 0.5 * (low + high)
        low, high = np.concatenate([low, middle[wide]]), np.concatenate([np.where(wide, middle, high), high[wide]])
        wealth, peak = np.concatenate([wealth, wealth[wide]]), np.concatenate([peak, peak[wide]])
        wide = high - low > widest
    return SliceState(low, high, wealth, peak, state.tally)
