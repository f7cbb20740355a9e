"""Which rows of a table lie at the ends of its columns: smallest, largest, zero, missing, and each of few values."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["rows_at_ends"]

FEW = 8
"""As many different values as a column may have for each of them to count as an end."""

LOOKED_THROUGH = 2**15
"""Rows that are looked through; of a longer table so many at random, and those with a smallest or largest number."""

Booleans = NDArray[np.bool_]


def rows_at_ends(columns: Sequence[NDArray[Any]], most: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """The positions of at most ``most`` rows that are at ends of columns, those at many ends at once first.

    Every end that occurs has its turn: of the rows that are there, the one that is at most other ends as well. Of rows
    at the same ends one is taken, at random, and others only where there is room. What is frequent needs no such
    search, since whoever draws at random meets it.
    """
    if not columns or not len(columns[0]):
        return np.zeros(0, dtype=np.intp)
    looked = _looked_through(columns, rng)
    ends = [end for column in columns for end in _ends(column[looked])]
    if not ends:
        return np.asarray(looked[rng.permutation(len(looked))[:most]])
    marks = np.stack([ends[place] for place in rng.permutation(len(ends))])
    at = marks.sum(axis=0)
    order = np.lexsort((rng.random(len(looked)), -at))[: np.count_nonzero(at)]
    keys = rng.integers(0, 2**63, len(marks), dtype=np.uint64) @ marks.astype(np.uint64)  # one for each set of ends
    first = np.sort(np.unique(keys[order], return_index=True)[1])
    chosen = order[first][_in_turn(marks[:, order[first]], most)]
    return np.asarray(looked[np.concatenate([chosen, np.delete(order, first)])[:most]])


def _in_turn(marks: Booleans, most: int) -> NDArray[np.intp]:
    """One end after the other, the first row that is there and was not taken yet."""
    each = [np.flatnonzero(end)[:most].tolist() for end in marks]
    turns = (place for place in chain.from_iterable(zip_longest(*each)) if place is not None)
    return np.fromiter(dict.fromkeys(turns), dtype=np.intp)


def _looked_through(columns: Sequence[NDArray[Any]], rng: np.random.Generator) -> NDArray[np.intp]:
    n = len(columns[0])
    if n <= LOOKED_THROUGH:
        return np.arange(n)
    numbers = [column for column in columns if column.dtype.kind in "iuf" and not _missing(column).all()]
    outermost = [end(column) for column in numbers for end in (_smallest, _largest)]
    some = rng.choice(n, LOOKED_THROUGH, replace=False)
    return np.unique(np.concatenate([some, np.asarray(outermost, dtype=np.intp)]))


def _smallest(column: NDArray[Any]) -> int:
    return int(np.nanargmin(column) if column.dtype.kind == "f" else np.argmin(column))


def _largest(column: NDArray[Any]) -> int:
    return int(np.nanargmax(column) if column.dtype.kind == "f" else np.argmax(column))


def _ends(column: NDArray[Any]) -> list[Booleans]:
    """For each end of a column, which rows are there; none for a column that is the same everywhere."""
    missing = _missing(column)
    match column.dtype.kind:
        case "b":
            found = [column, ~column]
        case "i" | "u" | "f":
            found = [] if missing.all() else _of_numbers(column)
        case _:
            found = _of_values(column, missing)
    return [end for end in (*found, missing) if end.any() and not end.all()]


def _of_numbers(column: NDArray[Any]) -> list[Booleans]:
    ends = [column == column[_smallest(column)], column == column[_largest(column)]]
    inside = (column == 0) & ~ends[0] & ~ends[1]
    return [*ends, inside]


def _of_values(column: NDArray[Any], missing: Booleans) -> list[Booleans]:
    """Each of few values; of many texts, the shortest and the longest."""
    values = [value for value, gone in zip(column.tolist(), missing, strict=True) if not gone]
    known = dict.fromkeys(map(str, values))
    texts = np.array(["" if gone else str(value) for value, gone in zip(column.tolist(), missing, strict=True)])
    if len(known) <= FEW:
        return [(texts == value) & ~missing for value in known]
    lengths = np.where(missing, -1, np.char.str_len(texts))
    told = lengths[~missing]
    return [lengths == told.min(), lengths == told.max()]


def _missing(column: NDArray[Any]) -> Booleans:
    if column.dtype.kind == "f":
        return np.asarray(np.isnan(column))
    if column.dtype.kind in "biu":
        return np.zeros(len(column), dtype=bool)
    return np.array([value is None or value != value for value in column.tolist()], dtype=bool)
