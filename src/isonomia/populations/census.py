"""A census: the rows are the population."""

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

__all__ = ["Census"]


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Census:
    """Rows that are the whole population.

    A verdict is about these rows and nobody else; it says nothing of people who are not in the table.

    Parameters
    ----------
    data
        Any table that :meth:`Table.of` takes, or the path of a file that :func:`read_table` reads.
    exact
        Whether every row is evaluated, in the table's order, so that the verdict carries no risk of error.
        When the model is expensive, ``False`` draws the rows at random without replacement, in an order fixed
        by the run's seed, so that the audit may stop early.

    Raises
    ------
    DataError
        When the data cannot be read or is no table.
    """

    table: Table
    exact: bool

    def __init__(self, data: object | str | PathLike[str], *, exact: bool = True) -> None:
        object.__setattr__(self, "table", table_from(data))
        object.__setattr__(self, "exact", exact)

    @property
    def kind(self) -> str:
        """``"census"``."""
        return "census"

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
        return (f"the {self.size:,} rows are the whole population",)

    def values(self, column: str) -> tuple[Value, ...]:
        """List the values that occur in a column, missing ones aside, numbers before text, each ascending."""
        return distinct([self.table.column(column)], column)

    def open(self, seed: np.random.SeedSequence, wanted: Wanted | None = None) -> RowSource:  # noqa: ARG002
        """Open the census for one run."""
        return RowSource(self.table, None if self.exact else random_order(self.size, seed))

    def fingerprint(self) -> str:
        """Tell this census from others; the same rows in another kind of table are the same census."""
        return fingerprint_of(self.kind, str(self.exact), table_fingerprint(self.table))
