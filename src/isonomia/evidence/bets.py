"""The e-process against a polytope: a wealth that is not expected to grow while the polytope contains the truth.

The algorithm is ``begin`` and ``step``. The wealth is divided among several bettors. One stakes what would have done
best on the estimate. The others are steady: each assumes that the truth lies a fixed distance outside one half-space,
in standard deviations of a draw, and stakes what would be best in that case. They lose little while the estimate is
still noise, and one of them is near the truth. The wealth is the total over all bettors: on every batch it is an
average of bets, so it is an e-process. All arrays have a leading axis of *repetitions*: independent copies of the same
e-process, one for an ordinary check, thousands for a simulation or for an audit of many people.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from isonomia.evidence.stakes import (
    MAX_SPREAD,
    TOLERANCE,
    best_gain,
    best_stakes,
    boundary_gains,
    one_boundary_gain,
    one_channel_gain,
    one_yes_no_gain,
    steady_stakes,
)

Floats = NDArray[np.float64]

MAX_HALF_SPACES = 24
"""How many half-spaces of one polytope are bet on at once. Up to this many, each half-space has its own steady bettors,
and all half-spaces share the steady bettors' money equally; with more there is no steady bettor. The work of a bet
grows with the cube of the number, and a projection rarely lies on more. Changes power and cost only."""

DISTANCES: Floats = 0.0035 * 2.0 ** np.arange(10.0)
"""How far outside the half-space each steady bettor on rates assumes the truth to lie: evenly spread on a logarithmic
scale, since nobody knows beforehand whether a truth is near or far. A truth at half or twice a distance is found nearly
as soon; what is nearer is left to the bettor who follows the estimate. Any stakes fixed before the draws are valid, so
the distances change power and cost only."""

SHARES = np.asarray([0.012, 0.03, 0.08, 0.15, 0.14, 0.13, 0.12, 0.09, 0.09, 0.09])
"""What these bettors start with; the bettor who follows the estimate has the rest. Validity needs only that all shares
add up to 1; they change how many draws a verdict takes. They are nearly equal, with less at both ends, where the truths
of ``benchmarks/limit.py`` are rare: so its 43 pairs of rates take few draws on average, and no pair takes many."""

SHARES_OF_ONE = np.asarray([0.004, 0.006, 0.012, 0.03, 0.11, 0.12, 0.21, 0.24, 0.08, 0.15])
"""The same where there is one rate, which is seldom as near to its threshold as two rates are to each other."""

CELL_DISTANCES = np.asarray([0.00125, 0.0025, 0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32])
CELL_SHARES = np.asarray([0.008, 0.008, 0.014, 0.04, 0.065, 0.098, 0.097, 0.08, 0.0035])
"""The same where a channel has more than two cells: numbers, and groups that overlap."""

STEADY_TOGETHER = 0.5
"""What the steady bettors on several half-spaces have together. Each of them bets on one half-space, so the other half
is for the one who goes by the estimate, and bets on all. Changes power only."""

ONE_BY_ONE, PLAIN = 24, 10
"""Plain numbers are quicker than short arrays: up to ``ONE_BY_ONE`` rows for the bettor who follows the estimate, and
up to ``PLAIN`` payoffs in all rows together for all bettors. Changes cost only."""

FEW_CELLS = 16
"""The same for a single channel of up to this many cells. Both ways end within ``TOLERANCE`` of the best stakes, but
not at the same stakes: over a thousand draws the gains differ by up to 2e-4 nats. So a decision can come a batch sooner
or later, but no guarantee changes."""

MAX_NUMBERS = 2**20
"""How many numbers :func:`paths` holds at once, which limits the memory to 8 MiB per array. Changes cost only."""

SEVERAL = 256
"""Up to this many rows of several half-spaces over yes/no leaves are bet on in plain numbers, as a single row is. With
more, arrays are quicker; their stakes differ in the seventh digit, which changes no guarantee."""


@dataclass(frozen=True, slots=True)
class EProcess:
    """A polytope in terms of the channels that inform it: all that the bets against it depend on except the draws.

    Attributes
    ----------
    payoffs
        What a draw in a cell adds to the left-hand side of a half-space: shape ``(half-spaces, channels, cells)``.
    bounds
        The right-hand side of each half-space.
    prior
        The weight of each cell in the estimate before anything is seen: shape ``(channels, cells)``; zero for cells
        that a channel does not have.
    sizes
        How many people a channel has in all, for draws without replacement; infinite for independent draws.

    Where repetitions are about different polytopes, each array has a leading axis of them (:meth:`stacked`).
    """

    payoffs: Floats
    bounds: Floats
    prior: Floats
    sizes: Floats

    @classmethod
    def of(
        cls,
        payoffs: Sequence[Sequence[Floats]],
        bounds: Sequence[float],
        priors: Sequence[Floats],
        sizes: Sequence[float] | None = None,
    ) -> EProcess:
        """Pad ragged lists: ``payoffs[half_space][channel]`` and ``priors[channel]`` have one value per cell.

        Payoffs without values are zero.
        """
        cells = max(len(prior) for prior in priors)
        channels = len(priors)
        padded = np.zeros((len(bounds), channels, cells))
        for j, half_space in enumerate(payoffs):
            for g, row in enumerate(half_space):
                if len(row):
                    padded[j, g, : len(row)] = row
        weights = np.zeros((channels, cells))
        for g, prior in enumerate(priors):
            weights[g, : len(prior)] = prior
        people = np.full(channels, np.inf) if sizes is None else np.asarray(sizes, dtype=float)
        return cls(padded, np.asarray(bounds, dtype=float), weights, people)

    @classmethod
    def stacked(cls, processes: Sequence[EProcess]) -> EProcess:
        """Several e-processes of one shape side by side, each a repetition of its own."""
        return cls(
            np.stack([process.payoffs for process in processes]),
            np.stack([process.bounds for process in processes]),
            np.stack([process.prior for process in processes]),
            np.stack([process.sizes for process in processes]),
        )

    def take(self, rows: NDArray[np.intp]) -> EProcess:
        """Some of the repetitions of a stack."""
        return EProcess(self.payoffs[rows], self.bounds[rows], self.prior[rows], self.sizes[rows])


@dataclass(frozen=True, slots=True)
class Wealth:
    """What persists between batches: the wealth and the tally, of constant size whatever the number of draws.

    Attributes
    ----------
    log_wealth
        The logarithm of the wealth now, one value per repetition.
    peak
        Its running maximum: by Ville's inequality it reaches ``log(1/delta)`` with probability at most ``delta`` while
        the hypothesis contains the truth.
    tally
        How many draws fell into each cell: shape ``(repetitions, channels, cells)``.
    """

    log_wealth: Floats
    peak: Floats
    tally: Floats


@dataclass(frozen=True, slots=True)
class DividedWealth(Wealth):
    """A wealth that is divided among bettors.

    Attributes
    ----------
    bettors
        The log wealth of each bettor as if each had started with 1: shape ``(repetitions, bettors)``.
    """

    bettors: Floats

    @property
    def parts(self) -> tuple[Floats, ...]:
        """Its arrays, in the order in which it is made from them."""
        return self.log_wealth, self.peak, self.tally, self.bettors

    def rows(self, which: NDArray[np.bool_] | NDArray[np.intp] | slice) -> DividedWealth:
        """Some of the repetitions."""
        return DividedWealth(*(part[which] for part in self.parts))

    @classmethod
    def stacked(cls, states: Sequence[DividedWealth]) -> DividedWealth:
        """The repetitions of several states, one after the other."""
        return cls(*map(np.concatenate, zip(*(state.parts for state in states), strict=True)))


def begin(process: EProcess, repetitions: int = 1) -> DividedWealth:
    """Start with a wealth of 1 and nothing seen."""
    nothing = np.zeros(repetitions)
    tally = np.zeros((repetitions, *process.prior.shape[-2:]))
    return DividedWealth(nothing, nothing, tally, np.zeros((repetitions, len(shares_of(process.payoffs.shape)))))


def step(process: EProcess, state: DividedWealth, counts: Floats) -> DividedWealth:
    """Fix the bet from earlier batches and from the number of draws alone, then settle it on the batch.

    Parameters
    ----------
    process
        The polytope and its channels.
    state
        The state after the earlier batches.
    counts
        The draws of this batch in each cell: shape ``(repetitions, channels, cells)``. A number between two nodes of
        its grid counts for both in proportion (see :mod:`isonomia.evidence.protocol`).

    Notes
    -----
    Guarantee: if the truth lies in the polytope, and within each channel the draws of a batch are independent given
    the past (or are drawn without replacement from ``sizes`` people), then ``exp(log_wealth)`` is a non-negative
    supermartingale that starts at 1, for any sequence of batch sizes fixed before the batch's outcomes are seen.
    Hence ``P(there is a batch with peak >= log(1/delta)) <= delta``. Proof: ``docs/theory/bets.md``.
    """
    payoffs, bounds = process.payoffs, process.bounds
    if payoffs.ndim == 3:
        repetitions = len(state.log_wealth)
        payoffs = payoffs[None] if repetitions == 1 else np.broadcast_to(payoffs, (repetitions, *payoffs.shape))
        bounds = bounds[None] if repetitions == 1 else np.broadcast_to(bounds, (repetitions, *bounds.shape))
    payoffs, bounds = remaining(payoffs, bounds, process.sizes, state.tally)
    estimate = state.tally + process.prior
    estimate = estimate / estimate.sum(axis=-1, keepdims=True)
    has_draws = np.asarray(state.tally.any(axis=-1))
    bettors = state.bettors + gains(payoffs, bounds, estimate, has_draws, counts)
    log_wealth = pooled(bettors, shares_of(payoffs.shape))
    return DividedWealth(log_wealth, np.maximum(state.peak, log_wealth), state.tally + counts, bettors)


def paths(process: EProcess, counts: Floats) -> Floats:
    """The log wealth after every batch, when all draws are already known: shape ``(batches, repetitions)``.

    The stakes on a batch depend only on the earlier batches, so all bets can be computed at once. The result is the
    same as calling :func:`step` batch by batch.

    Parameters
    ----------
    process
        Several e-processes side by side, as :meth:`EProcess.stacked` makes them.
    counts
        The draws of each batch: shape ``(batches, repetitions, channels, cells)``.
    """
    batches, repetitions = counts.shape[:2]
    few = max(1, int(MAX_NUMBERS / max(batches * counts.shape[2] * counts.shape[3] * process.payoffs.shape[1], 1)))
    if repetitions > few:
        parts = np.array_split(np.arange(repetitions), -(-repetitions // few))
        return np.concatenate([paths(process.take(rows), counts[:, rows]) for rows in parts], axis=1)
    before = (np.cumsum(counts, axis=0) - counts).reshape(-1, *counts.shape[2:])

    def repeated(array: Floats) -> Floats:
        return np.broadcast_to(array, (batches, *array.shape)).reshape(-1, *array.shape[1:])

    payoffs, bounds = remaining(repeated(process.payoffs), repeated(process.bounds), repeated(process.sizes), before)
    estimate = before + repeated(process.prior)
    estimate = estimate / estimate.sum(axis=-1, keepdims=True)
    has_draws = np.asarray(before.any(axis=-1))
    gained = gains(payoffs, bounds, estimate, has_draws, counts.reshape(before.shape)).reshape(batches, repetitions, -1)
    return pooled(np.cumsum(gained, axis=0), shares_of(process.payoffs.shape))


def pooled(bettors: Floats, shares: Floats) -> Floats:
    """The total log wealth of bettors who started with these shares; the last axis is that of the bettors."""
    highest = bettors.max(axis=-1)
    # As a difference from the highest, so that if no bettor has won anything the total is exactly 0.
    return np.asarray(highest + np.log1p(np.expm1(bettors - highest[..., None]) @ shares))


def shares_of(shape: tuple[int, ...]) -> Floats:
    """What the steady bettors on each half-space start with, and then the one who follows the estimate."""
    return _shares(*shape[-3:])


@cache
def _shares(half_spaces: int, channels: int, cells: int) -> Floats:
    steady = CELL_SHARES if cells > 2 else SHARES if channels > 1 else SHARES_OF_ONE
    if half_spaces > 1:
        steady = np.tile(steady * (STEADY_TOGETHER / steady.sum() / half_spaces), half_spaces)
    if half_spaces > MAX_HALF_SPACES:
        steady = np.zeros(0)
    return np.append(steady, 1.0 - steady.sum())


def gains(
    payoffs: Floats,
    bounds: Floats,
    estimate: Floats,
    seen: NDArray[np.bool_],
    counts: Floats,
    tolerance: float = TOLERANCE,
) -> Floats:
    """The log wealth that each bettor gains on a batch, for each row of the arrays: shape ``(rows, bettors)``."""
    steady = payoffs.shape[1] if payoffs.shape[1] <= MAX_HALF_SPACES else 0
    payoffs, bounds = _most_telling(payoffs, bounds, estimate)
    weights = weights_of(seen, counts)
    few = payoffs.shape[-1] == 2 and len(payoffs) <= PLAIN and int(np.count_nonzero(payoffs)) <= PLAIN
    if few and steady and not payoffs[..., 0].any():
        return _plain_gains(payoffs, bounds, estimate, weights, counts, tolerance)
    distances = DISTANCES if payoffs.shape[-1] == 2 else CELL_DISTANCES
    gained = np.zeros((len(payoffs), steady * len(distances) + 1))
    gained[:, -1] = estimate_gains(payoffs, bounds, estimate, weights, counts, tolerance)
    if steady == 1:
        gained[:, :-1] = steady_gains(payoffs, bounds[:, 0], estimate, weights, counts)
    elif steady:
        sides = [np.repeat(array, steady, axis=0) for array in (estimate, weights, counts)]
        result = steady_gains(payoffs.reshape(-1, 1, *payoffs.shape[2:]), bounds.ravel(), *sides)
        gained[:, :-1] = result.reshape(len(payoffs), -1)
    return gained


def _plain_gains(
    payoffs: Floats, bounds: Floats, estimate: Floats, weights: Floats, counts: Floats, tolerance: float
) -> Floats:
    """The same for a few rows of yes/no leaves, in plain numbers."""
    gained, hard = np.zeros((len(payoffs), payoffs.shape[1] * len(DISTANCES) + 1)), []
    arrays = payoffs[..., 1], bounds, estimate, weights, counts
    for index, (ys, limits, shares, parts, draws) in enumerate(zip(*(a.tolist() for a in arrays), strict=True)):
        for j, (y, bound) in enumerate(zip(ys, limits, strict=True)):
            there = slice(j * len(DISTANCES), (j + 1) * len(DISTANCES))
            gained[index, there] = one_boundary_gain(y, bound, shares, parts, draws, DISTANCES)
        gain = best_gain(ys, limits, shares, parts, draws, tolerance)
        if gain is None:
            hard.append(index)
        else:
            gained[index, -1] = gain
    if hard:
        part = payoffs[hard], bounds[hard], estimate[hard], weights[hard], counts[hard]
        gained[hard, -1] = estimate_gains(*part, tolerance)
    return gained


def _yes_no(payoffs: Floats) -> bool:
    """Whether there is one half-space, over yes/no leaves."""
    return payoffs.shape[1] == 1 and payoffs.shape[-1] == 2 and not payoffs[..., 0].any()


def weights_of(seen: NDArray[np.bool_], counts: Floats) -> Floats:
    """The share of a batch that each channel has; 0 before a channel has been seen, so that it is not bet on."""
    draws = counts.sum(axis=-1)
    return np.where(seen, draws / np.maximum(draws.sum(axis=-1, keepdims=True), 1.0), 0.0)


def estimate_gains(
    payoffs: Floats, bounds: Floats, estimate: Floats, weights: Floats, counts: Floats, tolerance: float = TOLERANCE
) -> Floats:
    """The log wealth gained by the bettor who follows the estimate, for each row of the arrays."""
    if len(payoffs) <= ONE_BY_ONE and _yes_no(payoffs):
        arrays = payoffs[:, 0, :, 1], bounds[:, 0], estimate, weights, counts
        rows = zip(*(array.tolist() for array in arrays), strict=True)
        return np.asarray([one_yes_no_gain(y, b, h, w, drawn, tolerance) for y, b, h, w, drawn in rows])
    if len(payoffs) <= ONE_BY_ONE and payoffs.shape[1:3] == (1, 1) and payoffs.shape[-1] <= FEW_CELLS:
        arrays = payoffs[:, 0, 0], bounds[:, 0], estimate[:, 0], weights[:, 0], counts[:, 0]
        rows = zip(*(array.tolist() for array in arrays), strict=True)
        plain = [one_channel_gain(y, b, h, w, drawn, tolerance) for y, b, h, w, drawn in rows]
        if None not in plain:
            return np.asarray(plain, dtype=float)
    if payoffs.shape[1] > 1 and payoffs.shape[-1] == 2 and len(payoffs) <= SEVERAL and not payoffs[..., 0].any():
        arrays = payoffs[..., 1], bounds, estimate, weights, counts
        several = [
            best_gain(y, b, h, w, c, tolerance) for y, b, h, w, c in zip(*map(np.ndarray.tolist, arrays), strict=True)
        ]
        hard = [index for index, gain in enumerate(several) if gain is None]
        if len(hard) < len(several):
            together = np.asarray([gain or 0.0 for gain in several])
            if hard:
                left = payoffs[hard], bounds[hard], estimate[hard], weights[hard], counts[hard]
                together[hard] = estimate_gains(*left, tolerance)
            return together
    channels = _channel_of_each(payoffs)
    if channels is not None:
        own = payoffs[:, np.arange(len(channels)), channels]
        known = _likelihood_ratio(
            own.reshape(-1, 2),
            bounds.ravel(),
            estimate[:, channels].reshape(-1, 2),
            weights[:, channels].ravel(),
            counts[:, channels].reshape(-1, 2),
        )
        if known is not None:
            return np.asarray(known.reshape(bounds.shape).sum(axis=-1))
    gained = np.zeros(len(payoffs))
    # Where the estimate lies in the polytope the best stake is 0, as it is in one of the two directions of every claim.
    outside = np.flatnonzero((np.einsum("rsgc,rgc->rs", payoffs, estimate) > bounds).any(axis=-1))
    if len(outside):
        part = payoffs[outside], bounds[outside], estimate[outside], weights[outside]
        stakes = best_stakes(*part, tolerance=tolerance)
        won = log_factor(stakes.amounts, stakes.intercepts, stakes.factors, bounds[outside], counts[outside])
        gained[outside] = np.where((stakes.amounts > 0).any(axis=-1), won, 0.0)
    return gained


def _channel_of_each(payoffs: Floats) -> NDArray[np.intp] | None:
    """The channel of each half-space, where each is about one rate and no two about the same; ``None`` elsewhere.

    The projection onto such a box goes rate by rate, so the best bet against it is the product of the bets against its
    sides.
    """
    if payoffs.shape[-1] != 2 or payoffs.shape[1] > payoffs.shape[2]:
        return None
    touched = payoffs.any(axis=(0, -1))
    alone = bool((touched.sum(axis=-1) == 1).all() and (touched.sum(axis=0) <= 1).all())
    return np.argmax(touched, axis=-1) if alone else None


def _likelihood_ratio(
    payoffs: Floats, bounds: Floats, estimate: Floats, weights: Floats, counts: Floats
) -> Floats | None:
    """The same for one half-space over one rate, where the best bet is the likelihood ratio against the bound.

    ``None`` where a stake would be larger than is allowed, or a bound lies at the edge of what is possible.
    """
    if payoffs[:, 0].any():
        return None
    rows = np.flatnonzero((weights > 0) & (payoffs[:, 1] * estimate[:, 1] > bounds))
    gained = np.zeros(len(payoffs))
    if not len(rows):
        return gained
    share = bounds[rows] / payoffs[rows, 1]
    miss, hit = estimate[rows].T
    if not bool(np.all((share > 0) & (share < 1) & (np.abs(hit - share) < MAX_SPREAD * share * (1.0 - share)))):
        return None
    gained[rows] = counts[rows, 0] * np.log(miss / (1.0 - share)) + counts[rows, 1] * np.log(hit / share)
    return gained


def _most_telling(payoffs: Floats, bounds: Floats, estimate: Floats) -> tuple[Floats, Floats]:
    """The half-spaces that the estimate violates by the most standard deviations; the others are not bet on.

    Fewer half-spaces make a larger polytope, so the bet is valid whichever half-spaces are left out.
    """
    if payoffs.shape[1] <= MAX_HALF_SPACES:
        return payoffs, bounds
    mean = np.einsum("rsgc,rgc->rsg", payoffs, estimate)
    spread = np.einsum("rsgc,rgc->rs", payoffs**2, estimate) - (mean**2).sum(axis=-1)
    score = (mean.sum(axis=-1) - bounds) / np.sqrt(np.maximum(spread, 1e-300))
    chosen = np.argpartition(-score, MAX_HALF_SPACES, axis=-1)[:, :MAX_HALF_SPACES]
    return np.take_along_axis(payoffs, chosen[:, :, None, None], axis=1), np.take_along_axis(bounds, chosen, axis=1)


def steady_gains(payoffs: Floats, bounds: Floats, estimate: Floats, weights: Floats, counts: Floats) -> Floats:
    """What the steady bettors gain, in the sense of :func:`log_factor`: shape ``(rows, distances)``.

    With more than two cells in a channel their stakes do not depend on the bound, and ``bounds`` may have a second
    axis, for half-spaces that differ only in their bound; then the shape is ``(rows, bounds, distances)``.
    """
    if payoffs.shape[-1] == 2:
        no, yes = np.moveaxis(payoffs[:, 0], -1, 0)
        return boundary_gains(yes - no, bounds - no.sum(axis=-1), estimate, weights, counts, DISTANCES)
    amounts, least, factors = steady_stakes(payoffs, estimate, weights, CELL_DISTANCES)
    numbers = counts.sum(axis=-1)
    won = np.einsum("rjgc,rgc->rj", np.log(factors), counts) + np.einsum("rjg,rg->rj", 1.0 - least, numbers)
    total, lowest = numbers.sum(axis=-1), payoffs[:, 0].min(axis=-1).sum(axis=-1)
    if bounds.ndim == 2:
        amounts, won, total, lowest = amounts[:, None], won[:, None], total[:, None], lowest[:, None]
    # Measured from the lowest possible mean, as the factors are: at a tie both are the same number, for any draws.
    return np.where(amounts > 0, won - amounts * (total * (bounds - lowest))[..., None], 0.0)


def log_factor(amounts: Floats, intercepts: Floats, factors: Floats, bounds: Floats, counts: Floats) -> Floats:
    """The logarithm of one batch's factor.

    Guarantee: for *any* stakes ``mu >= 0`` and intercepts with positive factors, fixed before the outcomes are seen,
    the expected factor is at most 1 when the truth lies in the polytope. With ``tau_jg`` the true mean of ``y_jg``, the
    expectation is at most ``exp(sum_g n_g (z_g - 1) + n sum_j mu_j sum_g tau_jg)``, since ``1 + x <= exp(x)``, and the
    subtracted correction is no smaller than that exponent because ``sum_g tau_jg <= b_j``.
    """
    draws = np.einsum("rgc->rg", counts)
    total = draws.sum(axis=-1)
    logs = np.log(np.where(counts > 0, factors, 1.0))
    correction = np.einsum("rg,rg->r", draws, 1.0 - intercepts) - total * np.einsum("rs,rs->r", amounts, bounds)
    return np.asarray(np.einsum("rgc,rgc->r", counts, logs) + correction)


def remaining(payoffs: Floats, bounds: Floats, sizes: Floats, tally: Floats) -> tuple[Floats, Floats]:
    """Payoffs and bounds of the same polytopes in terms of the people not drawn yet, for each row of the arrays.

    If ``n`` of ``N`` people are drawn, with sum ``s``, the overall mean is ``(s + (N - n) m) / N``, where ``m`` is the
    mean of the people left: the coefficients shrink by ``(N - n) / N`` and ``s / N`` moves to the right-hand side.
    """
    if not np.isfinite(sizes).any():
        return payoffs, bounds
    drawn = tally.sum(axis=-1)
    people = np.maximum(sizes, 1.0)  # an empty group never pays
    left = np.where(np.isfinite(people), np.maximum(1.0 - drawn / people, 0.0), 1.0)
    weight = np.where(np.isfinite(people), 1.0 / people, 0.0)
    shown = tally * weight[..., None]
    return payoffs * left[:, None, :, None], bounds - np.einsum("rjgc,rgc->rj", payoffs, shown)
