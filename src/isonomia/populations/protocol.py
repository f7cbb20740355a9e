"""What every population can do."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from isonomia.populations.table import Table
from isonomia.spec.tree import Row, Value

__all__ = ["Population", "Source"]


class Source(Protocol):
    """A population opened for one run: it knows the run's seed."""

    def batch(self, start: int, n: int, rng: np.random.Generator, stream: int = 0) -> Table:
        """Give the people numbered from ``start`` up to ``start + n`` of a stream.

        Parameters
        ----------
        start
            The number of the first person asked for, counted from 0.
        n
            How many are asked for, at least 1. A finite population gives what is left, which may be no row at
            all.
        rng
            The batch's own randomness. An unlimited population draws with it; a finite one has no need of it.
        stream
            Which of the population's streams to draw from.

        Notes
        -----
        The rows depend on the arguments and on the seed only, so batches may be asked for in any order.
        """


class Population(Protocol):
    """Whom a property is about, and what may be assumed about the rows that stand for them."""

    @property
    def kind(self) -> str:
        """What kind it is: ``"sample"``, ``"census"`` or ``"generator"``."""

    @property
    def size(self) -> int | None:
        """How many rows there are in all; ``None`` when they are unlimited."""

    @property
    def streams(self) -> tuple[Row | None, ...]:
        """The condition that each separate stream satisfies; ``(None,)`` for a single ordinary one."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What a verdict about this population rests on, in words."""

    def values(self, column: str) -> tuple[Value, ...]:
        """List the values that occur in a column, missing ones aside, numbers before text, each ascending."""

    def open(self, seed: np.random.SeedSequence) -> Source:
        """Open the population for one run."""

    def fingerprint(self) -> str:
        """Tell this population from others, as 64 hexadecimal digits."""
