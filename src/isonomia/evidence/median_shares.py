"""The share of a group's scores that lies above the median of all scores, which is unknown either.

Let ``m`` be a median of all scores, ``v`` a share, and ``k`` a number from 0 to 1. For a person of the group ``g`` with
score ``S``

    Z  =  1_g (1[S > m] - v)  -  k (1[S >= m] - 1/2)

has a mean of at most 0 if at most the share ``v`` of the group lies above ``m``: at least half of all lie at or above a
median. With ``k`` near the group's share among those who score about ``m``, the sum of ``Z`` hardly depends on ``m``:
people who come to lie on the other side change both parts alike. So a bet on ``Z`` for every ``m`` in a range that
holds the median but for a small risk loses little, while the counts above either end of the range are far apart. A
second bet in the same factors is that more people lie on one side of ``m`` than on the other.

Bets have a deadline, as those of :mod:`isonomia.evidence.deadline`. Stakes for ``m`` depend on earlier people only, by
how many of them lie on which side, so every ``m`` between two neighboring scores has the same bets. Of many people the
first ones, who are not bet on, cut the range, and a score between two cuts counts as if on the side that is worse.
Shares are cut too, and what refutes the upper end of a cell refutes the cell. The proof is on :doc:`the theory page
</theory/one-look>`.
"""

from __future__ import annotations

from math import ceil, log, log2, sqrt

import numpy as np
from numpy.typing import NDArray

from isonomia.evidence.binomial import lower_limit
from isonomia.evidence.deadline import AIM, ROUNDING, batch_sizes, hazard

Floats = NDArray[np.float64]

STEADY = 0.01
"""The part of the risk for the limit below which no cell is visited. Any part is valid; this costs half a percent."""

SINGLY, FIRST, FIRST_OF_MANY = 20_000, 1.0 / 64.0, 1.0 / 16.0
"""Up to this many people, medians are visited score by score; and the parts of the people who are not bet on. They say
how wide cells are to be. All change width and cost only."""

CELLS = 8.0
"""Cells of shares for each standard error, at least. More cost time; fewer widen an interval by half a cell."""

BATCH = 0.1
"""The largest part of the people left that a batch has. Larger batches are quicker; changes width only."""

CAP = 0.85
"""The largest part of the wealth that the bet on a share may lose. With ``MOST_APART`` it must stay below 1."""

APART, MOST_APART = 0.4, 0.1
"""How much, and how much at most, is bet on more people on one side of ``m`` than on the other. It makes up for what is
lost where the median is unlikely to lie. Changes width only; at most 0.1 keeps factors positive."""

TOGETHER = 32
"""How many cells are visited together. Changes cost only."""


def share_above_limit(own: Floats, others: Floats, inside: slice, risk: float, *, reverse: bool = False) -> float:
    """A lower limit of the share of a group above the median; with ``reverse``, of the share at or below it.

    Guarantee: for independent people, whose number does not depend on their scores, the probability that the median
    lies inside and the limit exceeds the share is at most ``risk``. It does not cover a second look.

    Parameters
    ----------
    own, others
        How many scores of the group, and of all others, are in each bin, in ascending order. The first and the last
        bin are all scores below and above the others; each other bin is one score that was seen, and what lies between
        it and the one before.
    inside
        The bins in which the median may lie.
    risk
        The probability that the limit may exceed the share.
    """
    n, size = float(own.sum() + others.sum()), float(own.sum())
    least = float(own[: inside.start].sum() if reverse else own[inside.stop :].sum())
    if size == 0.0:
        return 0.0
    below = float(lower_limit(least, size, STEADY * risk))
    batches = _batches(np.concatenate([own, others]))
    done = np.cumsum(batches.sum(axis=1))
    first = int(np.searchsorted(done, (FIRST if n <= SINGLY else FIRST_OF_MANY) * n)) + 1
    seen = batches[:first].sum(axis=0)
    share = (seen[: len(own)].sum() + 0.5) / (seen.sum() + 1.0)
    width = 2.0 ** -ceil(log2(CELLS * sqrt(n * share) * 2.0))
    if n <= SINGLY:
        # Between two scores that were seen, and at the upper one.
        at = np.arange(inside.start, inside.stop)
        low, high = np.repeat(at - 1, 2), np.stack([at - 1, at], axis=1).ravel()
    else:
        cuts = np.flatnonzero((seen[: len(own)] + seen[len(own) :])[:-1])
        low, high = np.concatenate([[0], cuts]), np.concatenate([cuts, [len(own) - 1]])
        chosen = (high >= inside.start) & (low < inside.stop - 1)
        low, high = low[chosen], high[chosen]
    sides = _sides(batches, low, high, reverse)
    cell, need = int(below / width) + 1, -log((1.0 - STEADY) * risk)
    while cell * width <= 1.0:
        shares = width * np.arange(cell, cell + TOGETHER, dtype=np.float64)
        left = np.flatnonzero(~_refuted(sides, done, first, shares, need))
        cell += int(left[0]) if len(left) else TOGETHER
        if len(left):
            break
    return max(below, width * (cell - 1))


def _batches(counts: Floats) -> Floats:
    """The people in a random order, counted by batch and bin."""
    rng, left, result = np.random.default_rng(0), counts.astype(np.int64), []
    for size in batch_sizes(int(left.sum()), BATCH):
        drawn = rng.multivariate_hypergeometric(left, size)
        left = left - drawn
        result.append(drawn)
    return np.asarray(result, dtype=np.float64)


def _sides(batches: Floats, low: NDArray[np.intp], high: NDArray[np.intp], reverse: bool) -> Floats:
    """By batch and range of the median, after bin ``low`` and up to bin ``high``: who lies where.

    Of the group and of the others: above the range, within, below. With ``reverse``, above and below change places.
    """
    parts: list[Floats] = []
    for each in (np.cumsum(each, axis=1) for each in np.split(batches, 2, axis=1)):
        sides = each[:, -1:] - each[:, high], each[:, high] - each[:, low], each[:, low]
        parts += sides[::-1] if reverse else sides
    return np.stack(parts)


def _refuted(sides: Floats, done: Floats, first: int, shares: Floats, need: float) -> NDArray[np.bool_]:
    """Which shares are refuted, together with all smaller ones, wherever the median lies."""
    seen, logs, n = np.cumsum(sides, axis=1), np.zeros((sides.shape[2], len(shares))), done[-1]
    left = np.arange(len(logs))  # medians for which a share is open still; stakes are 0 for all others
    for b in range(first, sides.shape[1]):
        left = left[(logs[left] < need + ROUNDING).any(axis=1)]
        if not len(left):
            break
        before, drawn = seen[:, b - 1, left, None], sides[:, b, left, None]
        rates = (before + 0.5) / (done[b - 1] + 3.0)
        # The balance at which the side on which people lie is uncorrelated with the bet.
        above = rates[0] / (size := rates[:3].sum(axis=0))
        k = np.clip(2.0 * size * (above * (1.0 - shares) + (1.0 - above) * shares), 0.0, 1.0)
        values = (1.0 - shares - 0.5 * k, -shares - 0.5 * k, -shares + 0.5 * k, -0.5 * k, -0.5 * k, 0.5 * k)
        mean, square = (sum(rate * value**power for rate, value in zip(rates, values, strict=True)) for power in (1, 2))
        spread = np.sqrt(np.maximum(square - mean**2, 1e-12) * (n - done[b - 1]))
        reached = logs[left]
        open_still = reached < need + ROUNDING
        stake = open_still * np.minimum(hazard(reached - need - AIM) / spread, CAP / (shares + 0.5 * k))
        away = 2.0 * (before[0] + before[3] - before[2] - before[5]) / (done[b - 1] + n / APART)
        side = open_still * np.clip(0.5 * away, -MOST_APART, MOST_APART) - 0.5 * k * stake
        # A score in the range of the median may lie above it, below it, or be the median.
        own, worst = shares * stake, np.abs(side)
        bets = stake - own + side, -own - worst, -own - side, side, -worst, -side
        for count, bet in zip(drawn, bets, strict=True):
            if count.any():
                reached += count * np.log1p(bet)
        logs[left] = reached
    return np.asarray((logs >= need + ROUNDING).all(axis=0))
