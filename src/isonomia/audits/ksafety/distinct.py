"""Counting what is distinct among very many cases, in little memory.

A case is remembered by 128 bits computed from its numbers. Among ``n`` cases, two different ones are taken for one
with probability below ``n**2 / 2**129``: 2e-27 for a million. A remembered case takes 16 bytes, and some 50 while new
ones are sorted in. Beyond ``MOST`` of them a random half is forgotten, and what is left counts double: then the count
is an estimate (adaptive sampling: Flajolet, "On adaptive sampling", Computing 43, 1990), whose relative standard error
is about ``1.2 / sqrt(MOST)``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["MOST", "Distinct", "digests", "first_of_each"]

Words = NDArray[np.uint64]

MOST = 2**22
"""How many are remembered exactly: 64 MiB."""

LATER = 2**16
"""New ones are sorted in when there are this many, or as many as are known already."""

_STARTS = (0x9E3779B97F4A7C15, 0xD1B54A32D192ED03)
_MIXERS = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)


def digests(columns: Sequence[NDArray[Any]], salt: int = 0) -> Words:
    """Two words for each case, the same for cases with the same numbers.

    Parameters
    ----------
    columns
        Whole or real numbers, one a case. The same number as a whole and as a real one counts as different, so a column
        has to keep its kind.
    salt
        Tells cases apart whose numbers mean something else.
    """
    lanes = np.empty((2, len(columns[0])), dtype=np.uint64)
    for lane, start in zip(lanes, _STARTS, strict=True):
        lane[:] = start ^ (salt % 2**64)
        _mix(lane)
        for column in columns:
            lane ^= _bits(column)
            _mix(lane)
    return lanes


def _bits(column: NDArray[Any]) -> Words:
    if column.dtype.kind == "f":
        # -0.0 is the same number as 0.0, although its bits differ.
        return (column.astype(np.float64) + 0.0).view(np.uint64)
    return column.astype(np.int64).view(np.uint64)


def _mix(lane: Words) -> None:
    """Scatter every bit over the word, reversibly: the last steps of SplitMix64 (Steele, Lea, Flood 2014)."""
    lane += np.uint64(_STARTS[0])
    lane ^= lane >> np.uint64(30)
    lane *= np.uint64(_MIXERS[0])
    lane ^= lane >> np.uint64(27)
    lane *= np.uint64(_MIXERS[1])
    lane ^= lane >> np.uint64(31)


def first_of_each(found: Words) -> NDArray[np.intp]:
    """Where each digest occurs for the first time, in the order of the digests."""
    # Sorting by one word is much faster; the second decides only where two cases share the first by accident.
    order = np.argsort(found[0], kind="stable")
    first, second = found[0][order], found[1][order]
    same = first[1:] == first[:-1]
    if (same & (second[1:] != second[:-1])).any():
        order = np.lexsort((found[1], found[0]))
        first, second = found[0][order], found[1][order]
        same = (first[1:] == first[:-1]) & (second[1:] == second[:-1])
    return np.asarray(order[np.concatenate([np.ones(min(len(order), 1), dtype=bool), ~same])])


@dataclass(slots=True)
class Distinct:
    """How many different cases there were.

    Attributes
    ----------
    most
        How many are remembered.
    halvings
        How often half of them were forgotten; 0 as long as the count is exact.
    """

    most: int = MOST
    halvings: int = 0
    _known: Words = field(default_factory=lambda: np.zeros((2, 0), dtype=np.uint64), repr=False)
    _waiting: list[Words] = field(default_factory=list, repr=False)
    _count: int = 0

    def __len__(self) -> int:
        """How many there were; about so many after a halving."""
        self._sort_in()
        return int(self._known.shape[1]) << self.halvings

    @property
    def exact(self) -> bool:
        """Whether the count is exact."""
        self._sort_in()
        return self.halvings == 0

    def add(self, found: Words) -> None:
        """Take in the digests of some cases."""
        kept = self._chosen(found)
        self._waiting.append(kept)
        self._count += kept.shape[1]
        if self._count >= max(LATER, self._known.shape[1]):
            self._sort_in()

    def _chosen(self, found: Words) -> Words:
        if not self.halvings:
            return found
        return found[:, found[0] >> np.uint64(64 - self.halvings) == 0]

    def _sort_in(self) -> None:
        if not self._waiting:
            return
        both = np.concatenate([self._known, *self._waiting], axis=1)
        self._waiting, self._count = [], 0
        self._known = both[:, first_of_each(both)]
        while self._known.shape[1] > self.most:
            self.halvings += 1
            self._known = self._chosen(self._known)
