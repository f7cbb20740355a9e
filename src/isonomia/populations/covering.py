"""Combinations of levels: all of them where they are few, otherwise some in which every pair occurs early."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

__all__ = ["combined"]

Combinations = NDArray[np.intp]

Pairs = NDArray[np.bool_]

PATIENCE = 4
"""How many proposals there are for each combination that is wanted; one that is known already is no gain."""

PROPOSED = 16
"""Combinations from which the one with most new pairs is taken."""


def combined(levels: Sequence[int], most: int, rng: np.random.Generator) -> Combinations:
    """Combinations of factors with so many levels each, a row each, none of them twice.

    All combinations, where there are at most ``most``. Otherwise ``most`` of them at most: that of all first levels,
    that of all second ones, and then greedily those in which most pairs of levels are new, as in D. M. Cohen,
    S. R. Dalal, M. L. Fredman and G. C. Patton, "The AETG system", IEEE Transactions on Software Engineering 23 (1997).
    """
    if prod(levels) <= most:
        return np.stack([part.ravel() for part in np.indices(levels)], axis=1).astype(np.intp)
    sizes = np.asarray(levels)
    offsets = np.cumsum(sizes) - sizes
    factor = np.repeat(np.arange(len(sizes)), sizes)
    new = factor[:, None] != factor[None, :]
    rows: dict[bytes, Combinations] = {}
    for row in (np.zeros(len(sizes), dtype=np.intp), np.minimum(1, sizes - 1)):
        _take(row, offsets, new, rows)
    for _ in range(PATIENCE * most):
        if len(rows) >= most:
            break
        _take(_proposed(sizes, offsets, new, rng), offsets, new, rows)
    return np.stack(list(rows.values()))[:most]


def _proposed(sizes: Combinations, offsets: Combinations, new: Pairs, rng: np.random.Generator) -> Combinations:
    """The one with most new pairs among some at random; any, where none is new."""
    proposed = rng.integers(0, sizes, size=(PROPOSED if new.any() else 1, len(sizes)))
    where = proposed + offsets
    gains = new[where[:, :, None], where[:, None, :]].sum(axis=(1, 2))
    return np.asarray(proposed[gains.argmax()])


def _take(row: Combinations, offsets: Combinations, new: Pairs, rows: dict[bytes, Combinations]) -> None:
    where = row + offsets
    new[np.ix_(where, where)] = False
    rows.setdefault(row.tobytes(), row)
