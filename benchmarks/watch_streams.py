"""Detectors over many streams at once, for as many false alarms as one can count.

A detector of the library goes through one stream, and looks at many samples at a time. Here hundreds of streams go side
by side, sample by sample or block by block, under both promises, and wealth is multiplied instead of adding up
logarithms. That the alarms are those of ``Detector.observe``, to the sample, is checked by ``benchmarks.watch`` in each
run on some of the streams.
"""

from __future__ import annotations

from collections.abc import Sequence
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

    ``counts``, ``totals`` and ``squares`` are those of the payoffs of each group, by block, group and stream.
    """

    ends: Integers
    counts: Floats
    totals: Floats
    squares: Floats


def first_alarms(
    detector: Detector, streams: Sequence[tuple[Integers, Floats]], enough: Sequence[Sequence[float]]
) -> Integers:
    """When each stream gives its first alarm: by stream, loan and threshold of that loan; 0 for never.

    A stream has the group among those of the detector (-1 for none) and the payoff of each sample. With several groups,
    payoffs are 0 or one other value.
    """
    alone = len(detector.lows) == 1
    blocks = _single(streams) if alone else _of_groups(detector, streams)
    length, count = blocks.ends.shape
    moments = [np.repeat(each[:, None], count, axis=1) for each in detector.begin().moments.T]
    wealth = np.zeros((len(LOANS), len(DISTANCES), count))
    thresholds = np.exp(np.asarray(enough))
    found = np.zeros((count, len(LOANS), thresholds.shape[1]), dtype=np.int64)
    loans = np.stack([_lent(loan, blocks.ends) for loan in LOANS], axis=1)[:, :, None]
    done = 0
    while done < length:
        part = slice(done, min(length, done + min(max(8, done // 8), 1024)))
        mean = moments[1] / moments[0]
        variance = np.maximum(moments[2] / moments[0] - mean**2, 1e-12 * (1.0 + mean**2))
        stakes = _stakes(detector, np.full_like(variance, detector.bound), variance, np.ones_like(variance))
        for number in range(part.start, part.stop):
            if alone:
                factors = 1.0 + stakes * (blocks.totals[number] - detector.bound)
            else:
                factors = _factors(detector, mean, variance, blocks, number)
            wealth += loans[number]
            wealth *= factors
            heights = ALARM_SHARES @ wealth
            for which in np.flatnonzero(heights.max(axis=1) >= thresholds[:, 0]):
                for index, threshold in enumerate(thresholds[which]):
                    new = (heights[which] >= threshold) & (found[:, which, index] == 0) & (blocks.ends[number] > 0)
                    found[new, which, index] = blocks.ends[number][new]
        fresh = [each[part].sum(axis=0) for each in (blocks.counts, blocks.totals, blocks.squares)]
        weight = 0.5 ** (fresh[0] / MEMORY)
        moments = [before * weight + new for before, new in zip(moments, fresh, strict=True)]
        done = part.stop
    return found


def _lent(loan: Loan, ends: Integers) -> Floats:
    """What is lent before each block; nothing after the last one of a stream. One column, where it is always so."""
    if (ends == ends[:, :1]).all():
        ends = ends[:, :1]
    before = np.concatenate([np.zeros_like(ends[:1]), ends[:-1]])
    return np.where(ends > 0, loan.between(before, np.maximum(ends, before)), 0.0)


def _stakes(detector: Detector, middles: Floats, variance: Floats, share: Floats) -> Floats:
    """The stake of each bettor, in each stream."""
    spread = detector._spread_at(middles.T, variance.T).T
    scale = 1.0 / np.sqrt((spread / share).sum(axis=0))
    down = ((middles - np.asarray(detector.lows)[:, None]) / share).max(axis=0)
    return np.minimum(DISTANCES[:, None] * scale, SAFETY / np.maximum(down, 1e-300))


def _factors(detector: Detector, mean: Floats, variance: Floats, blocks: Blocks, number: int) -> Floats:
    """By how much a block of several groups multiplies the wealth of each bettor, in each stream."""
    counts = blocks.counts[number]
    share = counts / np.maximum(counts.sum(axis=0), 1.0)
    share = np.where(share > 0.0, share, 1.0)  # beyond the end of a stream
    middles = _on_the_boundary(detector, mean, variance, share)
    stakes = _stakes(detector, middles, variance, share)
    logs = np.zeros_like(stakes)
    for group, (least, most) in enumerate(zip(detector.lows, detector.highs, strict=True)):
        payoff = least if least else most  # or 0
        times = np.rint(blocks.totals[number, group] / payoff)
        for value, often in ((payoff, times), (0.0, counts[group] - times)):
            logs += often * np.log1p(stakes * ((value - middles[group]) / share[group]))
    return np.exp(logs)


def _on_the_boundary(detector: Detector, mean: Floats, variance: Floats, share: Floats) -> Floats:
    """As ``Detector._on_the_boundary``, with an estimate for each stream."""
    low, high = np.asarray(detector.lows)[:, None], np.asarray(detector.highs)[:, None]
    missing, give = detector.bound - mean.sum(axis=0), variance / share
    middles = mean + missing * give / give.sum(axis=0)
    for _ in range(len(low)):
        middles = np.clip(middles, low, high)
        missing = detector.bound - middles.sum(axis=0)
        room = np.where(missing > 0, high - middles, middles - low)
        total = room.sum(axis=0)
        middles = middles + np.where(total > 0, missing * room / np.maximum(total, 1e-300), 0.0)
    return np.asarray(middles)


def _single(streams: Sequence[tuple[Integers, Floats]]) -> Blocks:
    """Every sample is a block."""
    within = [np.flatnonzero(label >= 0) for label, _ in streams]
    shape = (max(map(len, within)), len(streams))
    ends, values = np.zeros(shape, dtype=np.int64), np.zeros(shape)
    for column, (rows, (_, payoffs)) in enumerate(zip(within, streams, strict=True)):
        ends[: len(rows), column], values[: len(rows), column] = rows + 1, payoffs[rows]
    return Blocks(ends, (ends > 0)[:, None].astype(float), values[:, None], (values**2)[:, None])


def _of_groups(detector: Detector, streams: Sequence[tuple[Integers, Floats]]) -> Blocks:
    """A block ends as soon as each group has a few samples in it; of each group it uses so many at most."""
    groups = len(detector.lows)
    labels, payoffs = (np.stack([stream[k] for stream in streams], axis=1) for k in (0, 1))
    length, count = labels.shape
    most = length // (groups * LEAST_IN_BLOCK)
    ends = np.zeros((most, count), dtype=np.int64)
    kept = np.zeros((3, most, groups, count))  # counts, totals, squares
    number, seen, sums = np.zeros(count, dtype=np.int64), np.zeros((groups, count)), np.zeros((3, groups, count))
    every = np.arange(groups)[:, None]
    for place in range(length):
        member = labels[place] == every
        seen += member
        used = member & (seen <= MOST_IN_BLOCK)
        paid = used * payoffs[place]
        sums[0] += used
        sums[1] += paid
        sums[2] += paid * paid
        full = np.flatnonzero(seen.min(axis=0) >= LEAST_IN_BLOCK)
        if len(full):
            at = number[full]
            ends[at, full] = place + 1
            kept[:, at, :, full] = sums[:, :, full].transpose(2, 0, 1)
            number[full] += 1
            seen[:, full], sums[:, :, full] = 0.0, 0.0
    last = int(number.max())
    return Blocks(ends[:last], *(each[:last] for each in kept))
