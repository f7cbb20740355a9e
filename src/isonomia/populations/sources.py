"""Opened tables: rows in order, at random, streamed.

Batches of a finite table: in its own order, or in a random one fixed by the run's seed.

An opened table that is read as it goes: batches in its own order, of any size.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import UsageError
from isonomia.populations.streaming import LongTable
from isonomia.populations.table import Table, joined

__all__ = ["LongSource", "RowSource", "WithReplacement", "check_request", "random_order"]


# The order has a child of the seed to itself, far from the children that number the batches.
_ORDER_CHILD = 2**32 - 1


def random_order(rows: int, seed: np.random.SeedSequence) -> NDArray[np.intp]:
    """Give a permutation of the rows, uniform over all of them and fixed by the seed."""
    child = np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, _ORDER_CHILD), pool_size=seed.pool_size)
    return np.random.default_rng(child).permutation(rows).astype(np.intp)


def check_request(start: int, n: int, stream: int, streams: int) -> None:
    """Refuse a batch that no population can give."""
    if start < 0 or n < 1:
        raise UsageError(f"a batch needs start >= 0 and n >= 1, but start is {start} and n is {n}.")
    if not 0 <= stream < streams:
        raise UsageError(f"stream should be at least 0 and below {streams}, but is {stream}.")


@dataclass(frozen=True, slots=True, eq=False)
class RowSource:
    """An opened table.

    Attributes
    ----------
    table
        All rows.
    order
        Which row comes when; ``None`` for the table's own order.
    """

    table: Table
    order: NDArray[np.intp] | None

    @property
    def finite(self) -> bool:
        """Whether each row counts once."""
        return True

    def batch(self, start: int, n: int, rng: np.random.Generator, stream: int = 0) -> Table:  # noqa: ARG002
        """Give the rows numbered from ``start`` up to ``start + n``, or what is left of them."""
        check_request(start, n, stream, streams=1)
        if self.order is None:
            return self.table.slice(start, start + n)
        return self.table.take(self.order[start : start + n])


@dataclass(frozen=True, slots=True, eq=False)
class WithReplacement:
    """An opened table whose rows are drawn independently, so that one may come twice."""

    table: Table

    @property
    def finite(self) -> bool:
        """Whether each row counts once."""
        return False

    def batch(self, start: int, n: int, rng: np.random.Generator, stream: int = 0) -> Table:
        """Give ``n`` rows drawn with the batch's own randomness."""
        check_request(start, n, stream, streams=1)
        return self.table.take(rng.integers(0, self.table.rows, size=n).astype(np.intp))


@dataclass(slots=True, eq=False)
class LongSource:
    """A table that is read as it goes, opened for one run.

    Asked in order, it reads each row once. Asked for rows that it has passed, it begins anew, so that the rows depend
    on the arguments alone.

    Attributes
    ----------
    table
        The table.
    columns
        The columns that are read; ``None`` for all.
    """

    table: LongTable
    columns: tuple[str, ...] | None = None
    _first: int = field(default=0, init=False)  # the number of the first row of what is held
    _held: Table | None = field(default=None, init=False)
    _coming: Iterator[Table] | None = field(default=None, init=False)

    @property
    def finite(self) -> bool:
        """Whether each row counts once."""
        return True

    def batch(self, start: int, n: int, rng: np.random.Generator, stream: int = 0) -> Table:  # noqa: ARG002
        """Give the rows numbered from ``start`` up to ``start + n``, or what is left of them."""
        check_request(start, n, stream, streams=1)
        stop = min(start + n, self.table.rows)
        if start >= stop:
            return self.table.empty(self.columns)
        parts = []
        while start < stop:
            held = self._holding(start)
            end = min(stop, self._first + held.rows)
            parts.append(held.slice(start - self._first, end - self._first) if end - start < held.rows else held)
            start = end
        # Several parts become one table anew, which like any cut numbers its rows and shares nothing.
        return parts[0] if len(parts) == 1 else joined(parts).copy()

    def _holding(self, row: int) -> Table:
        """Read on until what is held has a row."""
        if self._held is None or row < self._first or self._coming is None:
            self._begin(row)
        while self._held is None or row >= self._first + self._held.rows:
            self._first += 0 if self._held is None else self._held.rows
            assert self._coming is not None
            self._held = next(self._coming)
        return self._held

    def _begin(self, row: int) -> None:
        self._first, self._held = row, None
        self._coming = self.table.batches(self.columns, start=row)

    def __getstate__(self) -> tuple[LongTable, tuple[str, ...] | None]:
        """A reading that has begun cannot be sent elsewhere; there it begins anew."""
        return self.table, self.columns

    def __setstate__(self, state: tuple[LongTable, tuple[str, ...] | None]) -> None:
        self.table, self.columns = state
        self._first, self._held, self._coming = 0, None, None
