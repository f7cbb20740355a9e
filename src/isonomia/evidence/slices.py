"""The e-process against a polytope whose groups overlap: one slice for each value that a nuisance leaf might have.

A comparison of rates in overlapping groups is not linear in what one draw shows: the same draw informs both rates, and
what it says about one depends on the other. But *suppose* one of them, the sliced leaf ``s``, lies in ``[low, high]``.
Then every half-space ``sum of a_g theta_g <= b`` becomes a statement about the mean of what a single draw shows,

    E[ 1{in the others' group} (sum of a_g x_g - c) ] <= 0,      c = b - min(a_s low, a_s high),

and so do ``theta_s >= low`` and ``theta_s <= high``. Those are ordinary half-spaces over the cells of one channel that
sees both groups at once, and ordinary bets refute them. The truth lies in some slice, so refuting every slice at the
full risk refutes the polytope; ``delta`` is not divided.

A slice may be split at any time: both halves lie within it, so both inherit its wealth. So the number of
slices, and their width, change power and cost only.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from isonomia.evidence.bets import log_factor
from isonomia.evidence.stakes import Stakes, best_stakes

Floats = NDArray[np.float64]

FIRST_SLICES = 8
"""How many slices there are at the start: few, since they are split as draws come in. Any slicing is valid, so it
changes power and cost only."""

MAX_SLICES = 512
"""How many slices there may be, which bounds the cost of a batch; at this number they are no longer split.
Changes power and cost only."""

SLICES_TOGETHER = 8_192
"""How many slices all e-processes of one claim share: with them a batch takes less than a second.
Changes power and cost only."""

SPLIT_WIDTH = 0.1
"""A slice is split while it is wider than this share of the range divided by the root of the draws that inform it:
about a tenth of a standard error, so that the width costs little evidence. Changes power and cost only."""

NEGLIGIBLE_LOSS = 1e-5
"""Nats that a coarser search for stakes may lose over a batch. Changes power and cost only."""


@dataclass(frozen=True, slots=True)
class SlicedEProcess:
    """A polytope over overlapping groups, in terms of one channel that crosses them.

    Attributes
    ----------
    others
        What the leaves other than the sliced one contribute to each half-space in each cell, 0 outside their group:
        shape ``(half-spaces, cells)``.
    members
        1 in the cells of those leaves' group, 0 outside it: shape ``(half-spaces, cells)``.
    slopes, bounds
        The sliced leaf's coefficient and the right-hand side, for each half-space.
    value, present
        The sliced leaf in each cell, 0 where it is absent, and 1 in the cells of its group.
    span
        The sliced leaf's range.
    prior
        The weight of each cell in the estimate before anything is seen.
    needed
        The log wealth at which a slice is refuted, ``log(1 / delta)``.
    max_slices
        How many slices there may be.
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
    max_slices: int = MAX_SLICES

    def payoffs(self, low: Floats, high: Floats) -> Floats:
        """What a draw contributes to each half-space of each slice: ``(slices, half-spaces + 2, 1, cells)``."""
        ends = np.minimum(np.multiply.outer(low, self.slopes), np.multiply.outer(high, self.slopes))
        sides = self.others - self.members * (self.bounds - ends)[:, :, None]
        at_least = self.present * low[:, None] - self.value
        at_most = self.value - self.present * high[:, None]
        return np.concatenate([sides, at_least[:, None], at_most[:, None]], axis=1)[:, :, None, :]

    def informed(self, tally: Floats) -> NDArray[np.bool_]:
        """For each slice and half-space, whether both groups that it compares were seen: ``(slices, half-spaces)``."""
        own = tally @ self.members.T > 0
        sliced = (tally @ self.present > 0)[:, None] | (self.slopes == 0)
        return np.asarray(own & sliced)


@dataclass(frozen=True, slots=True)
class SlicedWealth:
    """The slices not refuted yet, with their wealths, and the tally that they share.

    ``stakes`` and ``intercepts`` are each slice's last bet, from which the search for the next one starts.
    """

    low: Floats
    high: Floats
    log_wealth: Floats
    slice_peak: Floats
    stakes: Floats
    intercepts: Floats
    tally: Floats

    def rows(self, which: NDArray[np.bool_] | NDArray[np.intp], tally: Floats) -> SlicedWealth:
        """Some of the slices, with another tally."""
        low, high, wealth, peak = self.low[which], self.high[which], self.log_wealth[which], self.slice_peak[which]
        return SlicedWealth(low, high, wealth, peak, self.stakes[which], self.intercepts[which], tally)

    @property
    def peak(self) -> Floats:
        """The least peak of any slice, as an array of one; infinite once every slice is refuted."""
        return np.asarray([self.slice_peak.min(initial=np.inf)])


def begin_slices(process: SlicedEProcess) -> SlicedWealth:
    """Cut the range into equal slices, each with a wealth of 1."""
    edges = np.linspace(*process.span, FIRST_SLICES + 1)
    none, stakes = np.zeros(FIRST_SLICES), np.zeros((FIRST_SLICES, len(process.slopes) + 2))
    intercepts, tally = np.ones((FIRST_SLICES, 1)), np.zeros(len(process.prior))
    return SlicedWealth(edges[:-1], edges[1:], none, none, stakes, intercepts, tally)


def step_slices(process: SlicedEProcess, state: SlicedWealth, counts: Floats) -> SlicedWealth:
    """Bet on one batch against every slice, drop the refuted ones, and split those that have become too wide.

    Guarantee: if the truth lies in the polytope, the slice that contains the sliced leaf's true value is ever dropped
    with probability at most ``exp(-needed)``.
    """
    shape = (len(state.low), len(counts))
    stakes, gain = bet_on_slices(
        process,
        (state.low, state.high),
        np.broadcast_to(state.tally, shape),
        np.broadcast_to(counts, shape),
        start=(state.stakes, state.intercepts),
    )
    wealth = state.log_wealth + gain
    peak = np.maximum(state.slice_peak, wealth)
    settled = SlicedWealth(state.low, state.high, wealth, peak, stakes.amounts, stakes.intercepts, state.tally)
    return _split(process, settled.rows(peak < process.needed, state.tally + counts))


def bet_on_slices(
    process: SlicedEProcess,
    ends: tuple[Floats, Floats],
    tally: Floats,
    counts: Floats,
    start: tuple[Floats, Floats] | None = None,
) -> tuple[Stakes, Floats]:
    """Bet on one batch against each slice, and settle: the stakes, and the logarithm of each slice's factor.

    Ends, tallies and counts have one row per slice.
    """
    payoffs = process.payoffs(*ends)
    # An empty group has no mean, so nothing may be concluded from the range of its mean: a half-space about a group not
    # seen yet is left out, which makes the polytope larger. ``best_stakes`` does that itself where every group has its
    # own channel.
    payoffs[:, : len(process.slopes)] *= process.informed(tally)[:, :, None, None]
    bounds = np.zeros(payoffs.shape[:2])
    estimate = tally + process.prior
    # Unseen cells are left out of the search. Factors are affine in each number and the prior has weight at every
    # corner, so factors are positive in those cells too.
    used = np.flatnonzero(estimate.any(axis=0))
    estimate = (estimate[:, used] / estimate.sum(axis=-1, keepdims=True))[:, None, :]
    # Before anything is seen there is nothing to go by: with a weight of 0 nothing is staked.
    weights = (tally.sum(axis=-1, keepdims=True) > 0).astype(float)
    tolerance = NEGLIGIBLE_LOSS / max(float(counts.sum(axis=-1).max(initial=0.0)), 1.0)
    stakes = best_stakes(payoffs[..., used], bounds, estimate, weights, start=start, tolerance=tolerance)
    hit = np.flatnonzero(counts.any(axis=0))
    factors = stakes.intercepts[:, :, None] + (stakes.amounts[:, :, None, None] * payoffs[..., hit]).sum(axis=1)
    gain = log_factor(stakes.amounts, stakes.intercepts, factors, bounds, counts[:, None, hit])
    return stakes, np.where((stakes.amounts > 0).any(axis=-1), gain, 0.0)


def _split(process: SlicedEProcess, state: SlicedWealth) -> SlicedWealth:
    """Halve slices until none is too wide; splitting depends only on counts, so it cannot favour an outcome."""
    informed = max(float(state.tally @ process.present), 1.0)
    widest = SPLIT_WIDTH * (process.span[1] - process.span[0]) / np.sqrt(informed)
    wide = state.high - state.low > widest
    while wide.any() and len(wide) + int(wide.sum()) <= process.max_slices:
        middle = 0.5 * (state.low + state.high)
        both = state.rows(np.concatenate([np.arange(len(wide)), np.flatnonzero(wide)]), state.tally)
        low = np.concatenate([state.low, middle[wide]])
        high = np.concatenate([np.where(wide, middle, state.high), state.high[wide]])
        state = replace(both, low=low, high=high)
        wide = high - low > widest
    return state
