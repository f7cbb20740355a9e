"""Detectors over many streams at once, for as many false alarms as one can count.

A detector of the library goes through one stream. Its alarms at several thresholds, under both promises, need most of
the same work, and detectors of one group set their stakes after the same numbers of samples in all streams; so many
streams and both promises go side by side here. That the alarms are bit for bit those of ``Detector.observe`` is checked
by ``benchmarks.watch`` in each run, on some of the streams.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from isonomia.evidence.detectors import ALARM_SHARES, DISTANCES, SAFETY, Detector, Loan, _blocks, _owed, _pooled

__all__ = ["LOANS", "first_alarms"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

LOANS = (Loan(run_length=False), Loan(run_length=True))


def first_alarms(
    detector: Detector, streams: Sequence[tuple[Integers, Floats, Integers]], enough: Sequence[Sequence[float]]
) -> Integers:
    """When each stream gives its first alarm: by stream, loan and threshold of that loan; 0 for never.

    A stream has the group and the payoff of each sample that is in a group of the detector, and its place, from 1.
    """
    if len(detector.lows) > 1:
        return np.asarray([_of_groups(detector, *stream, enough) for stream in streams])
    longest = max(len(value) for _, value, _ in streams)
    values, places = np.zeros((longest, len(streams))), np.zeros((longest, len(streams)), dtype=np.int64)
    for column, (_, value, place) in enumerate(streams):
        values[: len(value), column], places[: len(value), column] = value, place
    lengths = np.asarray([len(value) for _, value, _ in streams])
    return _of_one_group(detector, values, places, lengths, enough)


def _of_one_group(
    detector: Detector, values: Floats, places: Integers, lengths: Integers, enough: Sequence[Sequence[float]]
) -> Integers:
    """Every sample is a block, so the stakes of all streams are set at the same time."""
    (length, streams), (low,) = values.shape, detector.lows
    state = detector.begin()
    moments = np.repeat(state.moments, streams, axis=0)
    fresh = np.zeros((streams, 3))
    always = np.zeros((streams, len(DISTANCES)))
    owed = [np.full((streams, len(DISTANCES)), -np.inf) for _ in LOANS]
    found = np.zeros((streams, len(LOANS), len(enough[0])), dtype=np.int64)
    done, middles = 0, np.full((streams, 1), detector.bound)
    while done < length:
        until = done + min(max(8, done // 8), 1024)
        moments = moments * 0.5 ** (fresh[:, :1] / 2_000.0) + fresh
        mean = moments[:, 1:2] / moments[:, :1]
        variance = np.maximum(moments[:, 2:] / moments[:, :1] - mean**2, 1e-12 * (1.0 + mean**2))
        wanted = (1.0 / np.sqrt(detector._spread_at(middles, variance))) * DISTANCES
        stakes = np.minimum(wanted, SAFETY / np.maximum(middles - low, 1e-300))
        value, end = values[done:until], places[done:until]
        before = np.concatenate([places[done - 1 : done] if done else np.zeros((1, streams), dtype=np.int64), end[:-1]])
        gains = np.log1p(stakes * (value - detector.bound)[..., None])
        wealth = np.cumsum(np.concatenate([always[None], gains]), axis=0)[1:]
        there = np.arange(done, done + len(value))[:, None] < lengths
        for number, loan in enumerate(LOANS):
            lent = np.where(there, loan.between(before, np.maximum(end, before)), 1.0)
            borrowed = np.log(lent)[..., None] - (wealth - gains)
            debts = np.logaddexp.accumulate(np.concatenate([owed[number][None], borrowed]), axis=0)[1:]
            owed[number] = debts[-1]
            _note(found[:, number], enough[number], debts + wealth, end, there)
        always = wealth[-1]
        square = np.cumsum(value**2, axis=0)[-1]
        fresh = np.stack([np.full(streams, float(len(value))), np.cumsum(value, axis=0)[-1], square], axis=-1)
        done = until
    return found


def _note(found: Integers, enough: Sequence[float], logs: Floats, ends: Integers, there: NDArray[np.bool_]) -> None:
    """Write down the first alarm of each stream that has none yet."""
    most = np.where(there, logs.max(axis=-1), -np.inf)
    for index, threshold in enumerate(enough):
        # The wealth of all bettors together is at most that of the best one: only there it must be computed.
        rows, columns = np.nonzero((most >= threshold - 1e-9) & (found[:, index] == 0))
        reached = _pooled(logs[rows, columns], ALARM_SHARES) >= threshold
        for row, column in zip(rows[reached].tolist(), columns[reached].tolist(), strict=True):
            if found[column, index] == 0:  # rows come in order
                found[column, index] = ends[row, column]


def _of_groups(
    detector: Detector, label: Integers, value: Floats, place: Integers, enough: Sequence[Sequence[float]]
) -> Integers:
    """One stream of several groups: as ``Detector.observe``, but for all promises at once."""
    ends, kept = _blocks(label, len(detector.lows))
    starts, state = np.append(0, ends[:-1]), detector.begin()
    owed = [np.full(len(DISTANCES), -np.inf) for _ in LOANS]
    found = np.zeros((len(LOANS), len(enough[0])), dtype=np.int64)
    block = 0
    while block < len(ends):
        if state.blocks >= state.stakes_until:
            state = detector._set_stakes(state)
        until = min(len(ends), block + state.stakes_until - state.blocks)
        rows = slice(starts[block], ends[until - 1])
        number = np.repeat(np.arange(until - block), ends[block:until] - starts[block:until])
        finished = place[ends[block:until] - 1]
        after, _ = detector._bet(state, label[rows], value[rows], kept[rows], number, finished)
        inside = kept[rows]
        among = (label[rows][inside], value[rows][inside], number[inside])
        groups, blocks = len(detector.lows), until - block
        counts = np.bincount(among[2] * groups + among[0], minlength=blocks * groups).reshape(blocks, groups)
        gains = detector._gains(state.stake_moments, *among, counts)[:, : len(DISTANCES)]
        against = after.edge_wealth[-blocks:, : len(DISTANCES)]
        before = np.append(state.used, finished[:-1])
        for which, loan in enumerate(LOANS):
            debts = _owed(owed[which], against - gains, loan.between(before, finished))
            owed[which] = debts[-1]
            heights = _pooled(debts + against, ALARM_SHARES)
            for index, threshold in enumerate(enough[which]):
                if found[which, index] == 0 and heights.max() >= threshold:
                    found[which, index] = finished[np.argmax(heights >= threshold)]
        state, block = replace(after), until
    return found
