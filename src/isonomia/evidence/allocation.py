"""Allocation: where groups can be drawn separately, more draws go to the stream that matters more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from isonomia.evidence.by_bets import BetEvidence
from isonomia.evidence.information import distance, truth_at
from isonomia.evidence.slices import SliceGame
from isonomia.evidence.tables import Table
from isonomia.spec.tree import Leaf

__all__ = ["best_shares", "split"]

Floats = NDArray[np.float64]

LEAST = 0.02
"""No stream gets less than this share of an even split's draws: an estimate that is wrong must be able to recover."""


def best_shares(evidence: BetEvidence, means: Mapping[Leaf, float], streams: int, rounds: int = 120) -> Floats:
    """The shares of draws for each stream that make the evidence grow fastest at the given means.

    They maximise the information distance to the nearest parameters with the other answer (Garivier and Kaufmann 2016).
    That distance is concave in the shares; its slope along a stream is what that stream's draws contribute at the
    projection, so multiplicative steps climb it. Where groups of one stream overlap the shares stay even. Validity does
    not depend on the shares: they are fixed before the draws are seen.
    """
    shares = np.full(streams, 1.0 / streams)
    if any(isinstance(table.game, SliceGame) for table in (*evidence.against, *evidence.in_favour)):
        return shares
    truth = truth_at(evidence, means)
    tables = evidence.against if truth is not False else evidence.in_favour
    tables = tuple(table for table in tables if table.channels)
    if truth is None or not tables:
        return shares
    best, best_value = shares, -1.0
    for turn in range(rounds):
        value, slope = _nearest(tables, means, shares)
        if value > best_value:
            best, best_value = shares, value
        # Every share keeps its least, so that the climb cannot leave a stream for good.
        step = 1.0 / (1.0 + 0.1 * turn)
        shares = shares * np.exp(step * (slope - slope.mean()) / max(float(np.abs(slope).max()), 1e-300))
        shares = np.maximum(shares / shares.sum(), LEAST / streams)
        shares = shares / shares.sum()
    return best


def split(n: int, shares: Floats, start: int) -> NDArray[np.int64]:
    """Divide the draws numbered from ``start`` up to ``start + n`` over the streams.

    Whatever the batches, each stream has its share of all draws so far to within one draw.
    """
    if len(shares) == 1:
        return np.asarray([n])
    edges = np.concatenate([[0.0], np.cumsum(shares)])
    edges[-1] = 1.0
    reached = np.floor(edges * (start + n) + 1e-9) - np.floor(edges * start + 1e-9)
    return np.asarray(np.diff(np.maximum.accumulate(reached)), dtype=np.int64)


def _nearest(tables: Sequence[Table], means: Mapping[Leaf, float], shares: Floats) -> tuple[float, Floats]:
    """The distance to the nearest polytope, and its slope in each stream's share."""
    found = []
    for table in tables:
        reach = distance(table, means, [shares[channel.stream] for channel in table.channels])
        slope = np.zeros(len(shares))
        for channel, nats in zip(table.channels, reach.by_channel, strict=True):
            slope[channel.stream] += nats
        found.append((reach.total, slope))
    return min(found, key=lambda item: item[0])
