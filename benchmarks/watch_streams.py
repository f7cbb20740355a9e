"""Detectors over many streams at once, for as many false alarms as one can count.

A detector of the library goes through one stream, and looks at many samples at a time. Here hundreds of streams go side
by side, sample by sample, under both promises, and wealth is multiplied instead of adding up logarithms. That the
alerts are those of ``Detector.observe``, to the sample, is checked by ``benchmarks.watch`` in each run on some of the
streams.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from isonomia.evidence.detectors import (
    ALERT_SHARES,
    DISTANCES,
    LEAST_WEIGHT,
    MEMORY,
    MOST_LEAD,
    MOST_SCARCE,
    MOST_WEIGHT,
    SAFETY,
    Detector,
    RestartWeights,
)

__all__ = ["RESTARTS", "first_alerts"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

RESTARTS = (RestartWeights(run_length=False), RestartWeights(run_length=True))


def first_alerts(
    detector: Detector, streams: Sequence[tuple[Integers, Floats]], enough: Sequence[Sequence[float]]
) -> Integers:
    """When each stream gives its first alert: by stream, restart weights and threshold; 0 for never.

    A stream has the group among those of the detector, one or two (-1 for none), and the payoff of each sample. Blocks
    that the library would close at a price, since one group stays away, do not occur in these streams.
    """
    if len(detector.lows) == 1:
        return _one_group(detector, streams, np.exp(np.asarray(enough)))
    return _two_groups(detector, streams, np.exp(np.asarray(enough)))


def _note(found: Integers, wealth: Floats, thresholds: Floats, ends: Integers, who: Integers) -> None:
    """Note where the wealth of these streams, by kind of restart weights and bettor, is enough for the first time."""
    heights = ALERT_SHARES @ wealth
    for which in np.flatnonzero(heights.max(axis=1) >= thresholds[:, 0]):
        for index, threshold in enumerate(thresholds[which]):
            new = (heights[which] >= threshold) & (found[who, which, index] == 0) & (ends > 0)
            found[who[new], which, index] = ends[new]


def _one_group(detector: Detector, streams: Sequence[tuple[Integers, Floats]], thresholds: Floats) -> Integers:
    """Every sample is a block."""
    within = [np.flatnonzero(label >= 0) for label, _ in streams]
    length, count = max(map(len, within)), len(streams)
    ends, values = np.zeros((length, count), dtype=np.int64), np.zeros((length, count))
    for column, (rows, (_, payoffs)) in enumerate(zip(within, streams, strict=True)):
        ends[: len(rows), column], values[: len(rows), column] = rows + 1, payoffs[rows]
    moments = np.repeat(detector.begin().moments.T[:, 0, None], count, axis=1)
    wealth = np.zeros((len(RESTARTS), len(DISTANCES), count))
    found = np.zeros((count, len(RESTARTS), thresholds.shape[1]), dtype=np.int64)
    weights = np.stack([_restarted(restarts, ends) for restarts in RESTARTS], axis=1)[:, :, None]
    done, who = 0, np.arange(count)
    while done < length:
        part = slice(done, min(length, done + min(max(8, done // 8), 1024)))
        stakes = _stakes(detector, moments[:, None], np.ones((1, count)))[1]
        for number in range(part.start, part.stop):
            wealth += weights[number]
            wealth *= 1.0 + stakes * (values[number] - detector.bound)
            _note(found, wealth, thresholds, ends[number], who)
        fresh = np.stack([(ends[part] > 0).sum(axis=0), values[part].sum(axis=0), (values[part] ** 2).sum(axis=0)])
        moments = moments * 0.5 ** (fresh[0] / MEMORY) + fresh
        done = part.stop
    return found


def _restarted(restarts: RestartWeights, ends: Integers) -> Floats:
    """The weight before each sample; 0 after the last one of a stream. One column, where it is always so."""
    if (ends == ends[:, :1]).all():
        ends = ends[:, :1]
    before = np.concatenate([np.zeros_like(ends[:1]), ends[:-1]])
    return np.where(ends > 0, restarts.between(before, np.maximum(ends, before)), 0.0)


def _two_groups(detector: Detector, streams: Sequence[tuple[Integers, Floats]], thresholds: Floats) -> Integers:
    """A block ends as soon as both groups have the same total weight in it."""
    labels, payoffs = (np.stack([stream[k] for stream in streams], axis=1) for k in (0, 1))
    count, every = len(streams), np.arange(len(streams))
    moments = np.repeat(detector.begin().moments.T[:, :, None], count, axis=2)
    fresh, arrivals, came = np.zeros_like(moments), np.ones((2, count)), np.zeros((2, count))
    usual, middles, stakes = np.ones((2, count)), np.zeros((2, count)), np.zeros((len(DISTANCES), count))
    totals, factors = np.zeros((2, count)), np.ones((len(DISTANCES), count))
    wealth, weights = np.zeros((len(RESTARTS), len(DISTANCES), count)), np.zeros((len(RESTARTS), count))
    restarted, blocks, until = (np.zeros(count, dtype=np.int64) for _ in range(3))
    found = np.zeros((count, len(RESTARTS), thresholds.shape[1]), dtype=np.int64)
    for place, (label, payoff) in enumerate(zip(labels, payoffs, strict=True), start=1):
        inside, empty = label >= 0, totals.max(axis=0) == 0.0
        due = np.flatnonzero(inside & empty & (blocks >= until))
        if len(due):
            weight = 0.5 ** (fresh[0][:, due] / MEMORY)
            moments[:, :, due] = moments[:, :, due] * weight + fresh[:, :, due]
            arrivals[:, due] = arrivals[:, due] * 0.5 ** (came[:, due].sum(axis=0) / MEMORY) + came[:, due]
            fresh[:, :, due], came[:, due] = 0.0, 0.0
            share = np.maximum(arrivals[:, due], arrivals[:, due].max(axis=0) / MOST_SCARCE)
            usual[:, due] = share.sum(axis=0) / share
            middles[:, due], stakes[:, due] = _stakes(detector, moments[:, :, due], usual[:, due])
            until[due] = blocks[due] + np.minimum(np.maximum(8, blocks[due] // 8), 1024)
        mine, other, step = totals[label, every], totals[1 - label, every], usual[label, every]
        gap, ahead = other - mine, mine + step - other
        overtakes = (gap < LEAST_WEIGHT * step) & (ahead <= MOST_LEAD * usual.max(axis=0))
        behind = np.minimum(other, mine + MOST_WEIGHT * step)
        new = np.where(overtakes, mine + step, np.where(gap > 0.0, behind, mine))
        new = np.where(inside, new, mine)
        used = new > mine
        first = np.flatnonzero(empty & used)
        for which, restarts in enumerate(RESTARTS):
            weights[which, first] = restarts.between(restarted[first], np.full(len(first), place + 1))
        restarted[first] = place + 1
        factors *= 1.0 + stakes * (np.where(used, new - mine, 0.0) * (payoff - middles[label, every]))
        totals[label, every] = new
        came[label, every] += inside
        for power in range(3):
            fresh[power, label, every] += used * payoff**power
        ended = np.flatnonzero(used & (new == other))
        if len(ended):
            wealth[:, :, ended] = (wealth[:, :, ended] + weights[:, None, ended]) * factors[:, ended]
            factors[:, ended], totals[:, ended] = 1.0, 0.0
            blocks[ended] += 1
            _note(found, wealth[:, :, ended], thresholds, np.full(len(ended), place), ended)
    return found


def _stakes(detector: Detector, moments: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """The point of the boundary, by group and stream, and the stake of each bettor in each stream."""
    low, high = np.asarray(detector.lows)[:, None], np.asarray(detector.highs)[:, None]
    mean = moments[1] / moments[0]
    variance = np.maximum(moments[2] / moments[0] - mean**2, 1e-12 * (1.0 + mean**2))
    middles, most = np.full_like(mean, detector.bound), weights
    if len(low) > 1:
        most = np.maximum(np.minimum(MOST_WEIGHT * weights, MOST_LEAD * weights.max(axis=0)), weights)
        give = variance * weights
        middles = mean + (detector.bound - mean.sum(axis=0)) * give / give.sum(axis=0)
        for _ in range(len(low)):
            middles = np.clip(middles, low, high)
            missing = detector.bound - middles.sum(axis=0)
            room = np.where(missing > 0, high - middles, middles - low)
            middles = middles + missing * room / np.maximum(room.sum(axis=0), 1e-300)
    scale = 1.0 / np.sqrt((detector._spread_at(middles.T, variance.T).T * weights).sum(axis=0))
    down = ((middles - low) * most).max(axis=0)
    return middles, np.minimum(DISTANCES[:, None] * scale, SAFETY / np.maximum(down, 1e-300))
