"""A sample: rows drawn from the population that the property is about."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike

import numpy as np

from isonomia.populations.columns import distinct
from isonomia.populations.files import table_from
from isonomia.populations.fingerprint import fingerprint_of, table_fingerprint
from isonomia.populations.protocol import Wanted
from isonomia.populations.rows import RowSource, random_order
from isonomia.populations.table import Table
from isonomia.spec.tree import Row, Value

__all__ = ["Sample"]


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Sample:
    """Rows that are independent draws from the real population.

    Each row is used once. When the rows run out the verdict may be *undecided*; it is never stretched by
    resampling.

    Parameters
    ----------
    data
        Any table that :meth:`Table.of` takes, or the path of a file that :func:`read_table` reads.
    shuffle
        Whether to use the rows in a random order fixed by the run's seed, so that a sorted file does no harm.
        Without it they come in the file's order, which must then itself be exchangeable.

    Raises
    ------
    DataError
        When the data cannot be read or is no table.
    """

    table: Table
    shuffle: bool

    def __init__(self, data: object | str | PathLike[str], *, shuffle: bool = True) -> None:
        object.__setattr__(self, "table", table_from(data))
        object.__setattr__(self, "shuffle", shuffle)

    @property
    def kind(self) -> str:
        """``"sample"``."""
        return "sample"

    @property
    def size(self) -> int:
        """How many rows there are."""
        return self.table.rows

    @property
    def streams(self) -> tuple[Row | None, ...]:
        """One stream, without a condition."""
        return (None,)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return self.table.names

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What a verdict about this population rests on, in words."""
        order = "" if self.shuffle else ", in the order in which they are given"
        return (f"the {self.size:,} rows are independent draws from the population{order}",)

    def values(self, column: str) -> tuple[Value, ...]:
        """List the values that occur in a column, missing ones aside, numbers before text, each ascending."""
        return distinct([self.table.column(column)], column)

    def open(self, seed: np.random.SeedSequence, wanted: Wanted | None = None) -> RowSource:  # noqa: ARG002
        """Open the sample for one run."""
        return RowSource(self.table, random_order(self.size, seed) if self.shuffle else None)

    def fingerprint(self) -> str:
        """Tell this sample from others; the same rows in another kind of table are the same sample."""
        return fingerprint_of(self.kind, str(self.shuffle), table_fingerprint(self.table))
