"""The e-process against a polytope whose groups overlap: one bet for each value that a nuisance leaf might have.

A comparison of rates in overlapping groups is not linear in what one draw shows: the same draw informs both rates, and
what it says about one depends on the other. But *suppose* that one of them, the sliced leaf, has the value ``s``. Then
every half-space ``sum of a_g theta_g <= b`` says something about the mean of what a single draw shows, and so does the
supposition, whatever the number ``k``:

    E[ y(s) ] <= 0,    y(s) = 1{in the others' group} (sum of a_g x_g - b + a_s s) + k 1{in the sliced group} (s - x_s).

With ``k`` near ``-a_s P[others' group] / P[sliced group]``, the mean of ``y(s)`` does not depend on ``s``: a wrong
supposition wins nothing, and what is unknown about ``s`` costs next to nothing. ``k`` comes from earlier draws.

All values of ``s`` are covered, not only a grid of them. In a *slice* ``[low, high]`` all suppositions have the same
stakes. A factor is then affine in ``s``, the logarithm of a bettor's wealth is concave in ``s``, and so the lesser of
its values at the two ends is a lower bound for the whole slice. The truth lies in some slice, so refuting every
slice at the full risk refutes the polytope; ``delta`` is not divided.

A slice may be split at any time: a concave function lies above its chord, so in the middle a bettor has at least the
mean of the logarithms at the ends. So the number of slices, and their width, change power and cost only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from isonomia.evidence.bets import CELL_DISTANCES, CELL_SHARES, pooled

Floats = NDArray[np.float64]

FIRST_SLICES = 16
"""How many slices there are at the start: few, since they are split as draws come in. Any slicing is valid, so it
changes power and cost only."""

MAX_SLICES = 512
"""How many slices there may be, which bounds the cost of a batch; at this number they are no longer split.
Changes power and cost only."""

SLICES_TOGETHER = 8_192
"""How many slices all e-processes of one claim share: with them a batch takes less than a second.
Changes power and cost only."""

SLICES_OF_EACH = 64
"""How many slices polytopes side by side may have on average; those far from the truth soon have none.
Changes power and cost only."""

SPLIT_WIDTH = 0.35
"""A slice is split while it is wider than this share of the range divided by the root of the draws that inform it:
about a standard error, over which wealth hardly depends on the value. Changes power and cost only."""

MOST = 0.99
"""The largest part of the money that a draw can lose. Below 1 every stake is valid, so it changes power only."""

ROUNDS = 1
"""Rounds of Newton's method for the bettor who follows the estimate. Every stake is valid: changes power only."""


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

    Of several polytopes side by side (:meth:`stacked`), the first four have a leading axis.
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

    @classmethod
    def stacked(cls, processes: Sequence[SlicedEProcess], needed: float) -> SlicedEProcess:
        """Polytopes side by side that have the same channel, sliced leaf and number of half-spaces."""
        return replace(
            processes[0],
            others=np.stack([process.others for process in processes]),
            members=np.stack([process.members for process in processes]),
            slopes=np.stack([process.slopes for process in processes]),
            bounds=np.stack([process.bounds for process in processes]),
            needed=needed,
            max_slices=max(MAX_SLICES, SLICES_OF_EACH * len(processes)),
        )

    def of_slices(self, polytope: NDArray[np.intp]) -> tuple[Floats, Floats, Floats, Floats]:
        """Others, members, slopes and bounds of each slice's polytope."""
        parts = self.others, self.members, self.slopes, self.bounds
        one, other, third, fourth = parts if self.others.ndim == 3 else [part[None] for part in parts]
        if len(one) == 1:
            return one, other, third, fourth
        return one[polytope], other[polytope], third[polytope], fourth[polytope]


@dataclass(frozen=True, slots=True)
class SlicedWealth:
    """The slices not refuted yet, and the tally that they share.

    Attributes
    ----------
    polytope
        The number of the polytope that a slice belongs to.
    ends
        Where each slice begins and ends: shape ``(slices, 2)``.
    bettors
        The log wealth of each bettor at either end, as if it had started with 1: shape ``(slices, 2, bettors)``.
    stakes
        The last stakes of the bettor who follows the estimate, on each half-space and with it on the value: shape
        ``(slices, half-spaces, 2)``.
    slice_peak
        The running maximum of the log wealth that all bettors have together, throughout the slice.
    tally
        How many draws fell into each cell.
    """

    polytope: NDArray[np.intp]
    ends: Floats
    bettors: Floats
    stakes: Floats
    slice_peak: Floats
    tally: Floats

    def rows(self, which: NDArray[np.bool_] | NDArray[np.intp], tally: Floats) -> SlicedWealth:
        """Some of the slices, with another tally."""
        stakes, peak = self.stakes[which], self.slice_peak[which]
        return SlicedWealth(self.polytope[which], self.ends[which], self.bettors[which], stakes, peak, tally)

    @property
    def log_wealth(self) -> Floats:
        """A lower bound of the log wealth throughout each slice."""
        return _throughout(self.bettors)

    @property
    def peak(self) -> Floats:
        """The least peak of any slice, as an array of one; infinite once every slice is refuted."""
        return np.asarray([self.slice_peak.min(initial=np.inf)])

    def peaks(self, polytopes: int) -> Floats:
        """The same for each polytope."""
        least = np.full(polytopes, np.inf)
        np.minimum.at(least, self.polytope, self.slice_peak)
        return least


def begin_slices(process: SlicedEProcess) -> SlicedWealth:
    """Cut the range into equal slices, each with a wealth of 1."""
    edges = np.linspace(*process.span, FIRST_SLICES + 1)
    polytopes = len(process.others) if process.others.ndim == 3 else 1
    half_spaces = process.slopes.shape[-1]
    ends = np.tile(np.stack([edges[:-1], edges[1:]], axis=-1), (polytopes, 1))
    bettors = np.zeros((len(ends), 2, half_spaces * len(CELL_DISTANCES) + 1))
    number = np.repeat(np.arange(polytopes), FIRST_SLICES)
    stakes = np.zeros((len(ends), half_spaces, 2))
    return SlicedWealth(number, ends, bettors, stakes, np.zeros(len(ends)), np.zeros(len(process.prior)))


def step_slices(process: SlicedEProcess, state: SlicedWealth, counts: Floats) -> SlicedWealth:
    """Bet on one batch against every slice, drop the refuted ones, and split those that have become too wide.

    Guarantee: if the truth lies in a polytope, its slice that contains the sliced leaf's true value is ever dropped
    with probability at most ``exp(-needed)``.
    """
    stakes, gained = bet_on_slices(process, state, state.tally[None], counts[None])
    bettors = state.bettors + gained
    peak = np.maximum(state.slice_peak, _throughout(bettors))
    settled = SlicedWealth(state.polytope, state.ends, bettors, stakes, peak, state.tally)
    left = peak < process.needed
    return _split(process, settled.rows(left, state.tally + counts))


def _throughout(bettors: Floats) -> Floats:
    """The log wealth of all bettors together, each at the end where it has less."""
    half_spaces = bettors.shape[-1] // len(CELL_DISTANCES)
    shares = np.append(np.tile(CELL_SHARES / half_spaces, half_spaces), 1.0 - CELL_SHARES.sum())
    return pooled(bettors.min(axis=-2), shares)


def bet_on_slices(process: SlicedEProcess, state: SlicedWealth, tally: Floats, counts: Floats) -> tuple[Floats, Floats]:
    """The stakes of the bettor who follows the estimate, and what each bettor gains on a batch at either end.

    Tallies and counts have one row per slice, or one for all. Steady bettors stake what is best at a fixed distance
    from each half-space; one goes by the estimate, and by the half-space that it violates most. Stakes are the same
    throughout a slice and come from earlier batches.
    """
    others, members, slopes, bounds = process.of_slices(state.polytope)
    # Every cell that can occur is a mean of corners, which have weight before anything is seen; the others are left
    # out. A factor is affine in each number, so what is positive at all corners is positive everywhere.
    estimate = tally + process.prior
    used = np.flatnonzero(estimate.any(axis=0))
    estimate = estimate[:, used] / estimate.sum(axis=-1, keepdims=True)
    # An empty group has no mean, so nothing may be concluded from it: a half-space about an unseen group is not bet on.
    informed = (np.einsum("rc,rjc->rj", tally, members) > 0) & ((tally @ process.present > 0)[:, None] | (slopes == 0))
    members, present = members[..., used], process.present[used]
    slope = np.stack([members * slopes[..., None], np.broadcast_to(present, members.shape)], axis=2)
    level = np.stack(
        [others[..., used] - members * bounds[..., None], np.broadcast_to(-process.value[used], members.shape)], axis=2
    )
    # What a unit of each stake adds in each cell, at either end: shape (slices, half-spaces, 2 ends, 2 stakes, cells).
    shown = level[:, :, None] + slope[:, :, None] * state.ends[:, None, :, None, None]
    hit = np.flatnonzero(counts[:, used].any(axis=0))
    drawn = counts[:, used[hit]]

    hedge = -np.einsum("rc,rjc->rj", estimate, slope[:, :, 0]) / (estimate @ present)[:, None]
    payoffs = shown[:, :, :, 0] + hedge[:, :, None, None] * shown[:, :, :, 1]
    middle = payoffs.mean(axis=2)
    mean, square = np.einsum("rjc,rc->rj", middle, estimate), np.einsum("rjc,rjc,rc->rj", middle, middle, estimate)
    spread = np.sqrt(np.maximum(square - mean * mean, _TINY))
    max_stake = np.where(informed, MOST / np.maximum(-payoffs.min(axis=(2, 3)), _TINY), 0.0)
    steady = np.minimum(CELL_DISTANCES / spread[..., None], max_stake[..., None])
    logs = np.log(1.0 + steady[:, :, None, :, None] * payoffs[:, :, :, None, hit])
    gained = np.einsum("rjedc,rc->rejd", logs, drawn).reshape(len(state.ends), 2, -1)

    stakes = _better(state.stakes, shown, estimate)
    rows, told = np.arange(len(mean)), np.argmax(np.where(informed, mean / spread, -np.inf), axis=1)
    factors = 1.0 + np.einsum("rs,resc->rec", stakes[rows, told], shown[rows, told][..., hit])
    by_estimate = np.einsum("rec,rc->re", np.log(factors), drawn) * informed.any(axis=1)[:, None]
    return stakes, np.concatenate([gained, by_estimate[..., None]], axis=-1)


_TINY = 1e-300
"""Keeps a divisor away from 0 where nothing can be won or lost."""


def _better(stakes: Floats, shown: Floats, estimate: Floats) -> Floats:
    """Stakes on each half-space, and on the value, that come nearer to the best ones on the estimate.

    Newton's method from the last batch's stakes; a step ends before a factor is below ``1 - MOST`` or a stake on a
    half-space is negative.
    """
    middle = shown.mean(axis=2)
    for _ in range(ROUNDS):
        part = middle / (1.0 + np.einsum("rjs,rjsc->rjc", stakes, middle))[:, :, None]
        gradient = np.einsum("rjsc,rc->rjs", part, estimate)
        bend = np.einsum("rjsc,rjtc,rc->rjst", part, part, estimate)
        (a, b), (_, d) = np.moveaxis(bend, (2, 3), (0, 1))
        a, d = a * (1.0 + 1e-9) + _TINY, d * (1.0 + 1e-9) + _TINY
        g, h = np.moveaxis(gradient, 2, 0)
        first = np.maximum((d * g - b * h) / (a * d - b * b), -0.9 * stakes[..., 0])
        step = np.stack([first, (h - b * first) / d], axis=-1)
        room = np.einsum("rjs,rjesc->rjec", stakes, shown) + MOST
        fall = -np.einsum("rjs,rjesc->rjec", step, shown)
        with np.errstate(divide="ignore", invalid="ignore"):
            length = np.where(fall > 0.0, 0.9 * room / fall, 1.0).min(axis=(2, 3))
        stakes = stakes + np.minimum(length, 1.0)[..., None] * step
    return stakes


def _split(process: SlicedEProcess, state: SlicedWealth) -> SlicedWealth:
    """Halve slices until none is too wide; splitting depends only on counts, so it cannot favour an outcome."""
    informed = max(float(state.tally @ process.present), 1.0)
    widest = SPLIT_WIDTH * (process.span[1] - process.span[0]) / np.sqrt(informed)
    wide = state.ends[:, 1] - state.ends[:, 0] > widest
    while wide.any() and len(wide) + int(wide.sum()) <= process.max_slices:
        both = state.rows(np.concatenate([np.arange(len(wide)), np.flatnonzero(wide)]), state.tally)
        ends, bettors, number = both.ends.copy(), both.bettors.copy(), len(wide)
        for array, middles in ((ends, state.ends[wide].mean(axis=1)), (bettors, state.bettors[wide].mean(axis=1))):
            array[:number, 1][wide] = middles
            array[number:, 0] = middles
        state = replace(both, ends=ends, bettors=bettors)
        wide = ends[:, 1] - ends[:, 0] > widest
    return state
