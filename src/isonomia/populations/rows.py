"""Batches of a finite table: in its own order, or in a random one fixed by the run's seed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import UsageError
from isonomia.populations.table import Table

__all__ = ["RowSource", "WithReplacement", "check_request", "random_order"]

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
