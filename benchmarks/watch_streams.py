"""Detectors over many streams at once, for as many false alarms as one can count.

A detector of the library goes through one stream, and looks at many samples at a time. Here hundreds of streams go side
by side, sample by sample or block by block, under both promises, and wealth is multiplied instead of adding up
logarithms. That the alarms are those of ``Detector.observe``, to the sample, is checked by ``benchmarks.watch`` in each
run on some of the streams.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isonomia.evidence.detectors import (
    ALARM_SHARES,
    DISTANCES,
    LEAST_IN_BLOCK,
    MEMORY,
    MOST_IN_BLOCK,
    SAFETY,
    Detector,
    Loan,
)

__all__ = ["LOANS", "first_alarms"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

LOANS = (Loan(run_length=False), Loan(run_length=True))


@dataclass(frozen=True, slots=True)
class Blocks:
    """The blocks of many streams: by block and stream the place of its last sample, 0 where there is none any more.

    ``counts``, ``totals`` and ``squares`` are those of the payoffs of each group. ``values`` are the payoffs themselves
    where every sample is a block.
    """

    ends: Integers
    counts: Floats
    totals: Floats
    squares: Floats
    values: Floats | None = None


def first_alarms(
    detector: Detector, streams: Sequence[tuple[Integers, Floats]], enough: Sequence[Sequence[float]]
) -> Integers:
    """When each stream gives its first alarm: by stream, loan and threshold of that loan; 0 for never.

    A stream has the group among those of the detector (-1 for none) and the payoff of each sample. With several groups,
    payoffs are 0 or one other value.
    """
    blocks = _single(streams) if len(detector.lows) == 1 else _of_groups(detector, streams)
    length, count = blocks.ends.shape
    moments = np.repeat(detector.begin().moments[None], count, axis=0)
    wealth = np.zeros((len(LOANS), count, len(DISTANCES)))
    thresholds = np.exp(np.asarray(enough))
    found = np.zeros((count, len(LOANS), thresholds.shape[1]), dtype=np.int64)
    loans = np.stack([_lent(loan, blocks.ends) for loan in LOANS], axis=1)[..., None]
    done = 0
    while done < length:
        part = slice(done, min(length, done + min(max(8, done // 8), 1024)))
        bet = _bet_on_one(detector, moments, blocks) if blocks.values is not None else None
        for number in range(part.start, part.stop):
            factors = _factors(detector, moments, blocks, number) if bet is None else bet(number)
            wealth += loans[number]
            wealth *= factors
            heights = wealth @ ALARM_SHARES
            for which in np.flatnonzero(heights.max(axis=1) >= thresholds[:, 0]):
                for index, threshold in enumerate(thresholds[which]):
                    new = (heights[which] >= threshold) & (found[:, which, index] == 0) & (blocks.ends[number] > 0)
                    found[new, which, index] = blocks.ends[number][new]
        fresh = [each[part].sum(axis=0) for each in (blocks.counts, blocks.totals, blocks.squares)]
        moments = moments * 0.5 ** (fresh[0][..., None] / MEMORY) + np.stack(fresh, axis=-1)
        done = part.stop
    return found


def _lent(loan: Loan, ends: Integers) -> Floats:
    """What is lent before each block; nothing after the last one of a stream. One column, where it is always so."""
    if (ends == ends[:, :1]).all():
        ends = ends[:, :1]
    before = np.concatenate([np.zeros_like(ends[:1]), ends[:-1]])
    return np.where(ends > 0, loan.between(before, np.maximum(ends, before)), 0.0)


def _estimates(moments: Floats) -> tuple[Floats, Floats]:
    mean = moments[..., 1] / moments[..., 0]
    return mean, np.maximum(moments[..., 2] / moments[..., 0] - mean**2, 1e-12 * (1.0 + mean**2))


def _bet_on_one(detector: Detector, moments: Floats, blocks: Blocks) -> Callable[[int], Floats]:
    """By how much one sample multiplies the wealth of each bettor, in each stream."""
    _, variance = _estimates(moments)
    middle, (low,) = np.full_like(variance, detector.bound), detector.lows
    scale = 1.0 / np.sqrt(detector._spread_at(middle, variance))
    stakes = np.minimum(scale * DISTANCES, SAFETY / max(detector.bound - low, 1e-300))
    assert blocks.values is not None
    values = blocks.values
    return lambda number: np.asarray(1.0 + stakes * (values[number] - detector.bound)[:, None])


def _factors(detector: Detector, moments: Floats, blocks: Blocks, number: int) -> Floats:
    """By how much a block of several groups multiplies the wealth of each bettor, in each stream."""
    mean, variance = _estimates(moments)
    counts, low = blocks.counts[number], np.asarray(detector.lows)
    share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1.0)
    share = np.where(share > 0.0, share, 1.0)  # beyond the end of a stream
    middles = _on_the_boundary(detector, mean, variance, share)
    scale = 1.0 / np.sqrt((detector._spread_at(middles, variance) / share).sum(axis=1, keepdims=True))
    down = ((middles - low) / share).max(axis=1, keepdims=True)
    stakes = np.minimum(scale * DISTANCES, SAFETY / np.maximum(down, 1e-300))
    logs = np.zeros_like(stakes)
    for group, (least, most) in enumerate(zip(detector.lows, detector.highs, strict=True)):
        payoff = least if least else most  # or 0
        times = blocks.totals[number, :, group, None] / payoff
        for value, often in ((payoff, times), (0.0, counts[:, group, None] - times)):
            logs += often * np.log1p(stakes * ((value - middles[:, group]) / share[:, group])[:, None])
    return np.exp(logs)


def _on_the_boundary(detector: Detector, mean: Floats, variance: Floats, share: Floats) -> Floats:
    """As ``Detector._on_the_boundary``, with an estimate for each row."""
    low, high = np.asarray(detector.lows), np.asarray(detector.highs)
    missing, give = detector.bound - mean.sum(axis=1, keepdims=True), variance / share
    middles = mean + missing * give / give.sum(axis=1, keepdims=True)
    for _ in range(len(low)):
        middles = np.clip(middles, low, high)
        missing = detector.bound - middles.sum(axis=1, keepdims=True)
        room = np.where(missing > 0, high - middles, middles - low)
        total = room.sum(axis=1, keepdims=True)
        middles = middles + np.where(total > 0, missing * room / np.maximum(total, 1e-300), 0.0)
    return np.asarray(middles)


def _single(streams: Sequence[tuple[Integers, Floats]]) -> Blocks:
    """Every sample is a block."""
    within = [np.flatnonzero(label >= 0) for label, _ in streams]
    shape = (max(map(len, within)), len(streams))
    ends, values = np.zeros(shape, dtype=np.int64), np.zeros(shape)
    for column, (rows, (_, payoffs)) in enumerate(zip(within, streams, strict=True)):
        ends[: len(rows), column], values[: len(rows), column] = rows + 1, payoffs[rows]
    counts = (ends > 0).astype(float)[..., None]
    return Blocks(ends, counts, values[..., None], (values**2)[..., None], values)


def _of_groups(detector: Detector, streams: Sequence[tuple[Integers, Floats]]) -> Blocks:
    """A block ends as soon as each group has a few samples in it; of each group it uses so many at most."""
    labels, payoffs = (np.stack([stream[k] for stream in streams], axis=1) for k in (0, 1))
    (length, count), groups = labels.shape, len(detector.lows)
    most = length // (groups * LEAST_IN_BLOCK)
    ends, every = np.zeros((most, count), dtype=np.int64), np.arange(count)
    counts, totals, squares = (np.zeros((most, count, groups)) for _ in range(3))
    number, seen = np.zeros(count, dtype=np.int64), np.zeros((count, groups), dtype=np.int64)
    sums = np.zeros((count, groups, 2))
    for place in range(length):
        label, payoff = labels[place], payoffs[place]
        seen[every, label] += 1
        used = np.where(seen[every, label] <= MOST_IN_BLOCK, payoff, 0.0)
        sums[every, label, 0] += used
        sums[every, label, 1] += used**2
        full = np.flatnonzero((seen >= LEAST_IN_BLOCK).all(axis=1))
        if len(full):
            at = number[full], full
            ends[at], counts[at] = place + 1, np.minimum(seen[full], MOST_IN_BLOCK)
            totals[at], squares[at] = sums[full, :, 0], sums[full, :, 1]
            number[full] += 1
            seen[full], sums[full] = 0, 0.0
    last = number.max()
    return Blocks(ends[:last], counts[:last], totals[:last], squares[:last])
