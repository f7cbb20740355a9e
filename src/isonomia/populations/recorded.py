"""A population of which only the record is left."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from isonomia.errors import UsageError
from isonomia.populations.protocol import Wanted
from isonomia.populations.table import Table
from isonomia.spec.tree import Row, Value

__all__ = ["RecordedPopulation"]


@dataclass(frozen=True, slots=True, eq=False)
class RecordedPopulation:
    """What a finished check kept of a population: enough to repeat its reasoning, but nobody can be drawn.

    Attributes
    ----------
    kind, size, streams, names, assumptions, remarks
        As the population said of itself.
    stored_fingerprint
        Its fingerprint.
    known
        The values of a column, for the columns whose values were read.
    """

    kind: str
    size: int | None
    streams: tuple[Row | None, ...]
    names: tuple[str, ...]
    assumptions: tuple[str, ...]
    remarks: tuple[str, ...]
    stored_fingerprint: str
    known: Callable[[str], tuple[Value, ...]]

    def values(self, column: str) -> tuple[Value, ...]:
        """The values that occurred in a column."""
        return self.known(column)

    @property
    def finite(self) -> bool:
        """Whether its rows come to an end."""
        return self.size is not None

    def open(self, seed: np.random.SeedSequence, wanted: Wanted | None = None) -> RecordedPopulation:  # noqa: ARG002
        """Itself: whoever draws from it is refused."""
        return self

    def batch(self, start: int, n: int, rng: np.random.Generator, stream: int = 0) -> Table:
        """Refuse.

        Raises
        ------
        UsageError
            Always.
        """
        self._refuse(start, n, rng, stream)

    def _refuse(self, *_: object) -> NoReturn:
        raise UsageError("only the record of this population is here: nobody can be drawn from it")

    def fingerprint(self) -> str:
        """The fingerprint that the population had."""
        return self.stored_fingerprint
