"""Sample and Census.

A sample: rows drawn from the population that the property is about.

A census: the rows are the population.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from os import PathLike

import numpy as np

from isonomia.populations.columns import distinct
from isonomia.populations.files import Rows, rows_from
from isonomia.populations.fingerprint import fingerprint_of, rows_fingerprint
from isonomia.populations.protocol import Wanted
from isonomia.populations.sources import LongSource, RowSource, random_order
from isonomia.populations.streaming import LongTable
from isonomia.populations.table import Table
from isonomia.spec.tree import Row, Value

__all__ = ["Census", "Sample"]


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Sample:
    """Rows that are independent draws from the real population.

    Each row is used once. When the rows run out the verdict may be *undecided*; it is never stretched by
    resampling.

    Parameters
    ----------
    data
        Any table that :meth:`Table.of` takes, the path of a file that :func:`read_table` reads, a folder of Parquet or
        Arrow files, or a pattern such as ``"people/*.parquet"``.
    shuffle
        Whether to use the rows in a random order fixed by the run's seed, so that a sorted file does no harm.
        Without it they come in the file's order, which must then itself be exchangeable.

    Raises
    ------
    DataError
        When the data cannot be read or is no table, or when it would have to be held and does not fit into memory.

    Notes
    -----
    In a random order all rows are held. With ``shuffle=False`` a folder, a pattern, a Parquet or Arrow file of more
    than 256 MiB, a polars ``LazyFrame``, a DuckDB relation or a pyarrow ``Dataset`` is read batch by batch, and only as
    far as the check goes.

    Examples
    --------
    >>> from isonomia import check
    >>> people = Sample({"sex": ["F", "M"] * 500, "hired": [1, 1, 0, 1] * 250})
    >>> check("P[hired | sex == 'F'] >= 0.3", population=people, seed=1).answer
    'holds'
    """

    rows: Rows
    shuffle: bool
    _kept: dict[str, str] | None = field(repr=False)  # what was computed of a file that was read

    def __init__(self, data: object | str | PathLike[str], *, shuffle: bool = True) -> None:
        found = rows_from(data)
        object.__setattr__(self, "rows", found.table() if isinstance(found, LongTable) and shuffle else found)
        object.__setattr__(self, "shuffle", shuffle)
        object.__setattr__(self, "_kept", {} if isinstance(data, str | PathLike) else None)

    @property
    def table(self) -> Table:
        """All rows in memory.

        Raises
        ------
        DataError
            When they do not fit.
        """
        return self.rows.table() if isinstance(self.rows, LongTable) else self.rows

    @property
    def kind(self) -> str:
        """``"sample"``."""
        return "sample"

    @property
    def size(self) -> int:
        """How many rows there are."""
        return self.rows.rows

    @property
    def streams(self) -> tuple[Row | None, ...]:
        """One stream, without a condition."""
        return (None,)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return self.rows.names

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What a verdict about this population rests on, in words."""
        order = "" if self.shuffle else ", in the order in which they are given"
        return (f"the {self.size:,} rows are independent draws from the population{order}",)

    def order(self, column: str) -> tuple[str, ...]:
        """The order declared for a column of categories, such as low, mid, high; empty where there is none."""
        return self.rows.order(column)

    def values(self, column: str) -> tuple[Value, ...]:
        """List the values that occur in a column, missing ones aside, numbers before text, each ascending."""
        if isinstance(self.rows, LongTable):
            return self.rows.values(column)
        return distinct([self.rows.column(column)], column)

    def open(self, seed: np.random.SeedSequence, wanted: Wanted | None = None) -> RowSource | LongSource:
        """Open the sample for one run."""
        if isinstance(self.rows, LongTable):
            return LongSource(self.rows, None if wanted is None else wanted.columns)
        return RowSource(self.rows, random_order(self.size, seed) if self.shuffle else None)

    def fingerprint(self) -> str:
        """Tell this sample from others; the same rows in another kind of table are the same sample."""
        return fingerprint_of(self.kind, str(self.shuffle), rows_fingerprint(self.rows, self._kept))


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Census:
    """Rows that are the whole population.

    A verdict is about these rows and nobody else; it says nothing of people who are not in the table.

    Parameters
    ----------
    data
        Any table that :meth:`Table.of` takes, the path of a file that :func:`read_table` reads, a folder of Parquet or
        Arrow files, or a pattern such as ``"people/*.parquet"``.
    exact
        Whether every row is evaluated, in the table's order, so that the verdict carries no risk of error.
        When the model is expensive, ``False`` draws the rows at random without replacement, in an order fixed
        by the run's seed, so that the audit may stop early.

    Raises
    ------
    DataError
        When the data cannot be read or is no table, or when it would have to be held and does not fit into memory.

    Notes
    -----
    An exact census of a folder, a pattern, a Parquet or Arrow file of more than 256 MiB, a polars ``LazyFrame``, a
    DuckDB relation or a pyarrow ``Dataset`` is read batch by batch and never held, whatever its size. Properties about
    rates and principal fairness are checked that way; what needs rows in random order reads the whole table.

    Examples
    --------
    >>> from isonomia import check
    >>> staff = Census({"sex": ["F", "F", "M", "M"], "promoted": [1, 0, 1, 1]})
    >>> verdict = check("P[promoted | sex == 'F'] / P[promoted | sex == 'M'] >= 0.8", population=staff)
    >>> verdict.answer, verdict.risk, verdict.interval
    ('violated', 0.0, (0.5, 0.5))
    """

    rows: Rows
    exact: bool
    _kept: dict[str, str] | None = field(repr=False)  # what was computed of a file that was read

    def __init__(self, data: object | str | PathLike[str], *, exact: bool = True) -> None:
        found = rows_from(data)
        object.__setattr__(self, "rows", found.table() if isinstance(found, LongTable) and not exact else found)
        object.__setattr__(self, "exact", exact)
        object.__setattr__(self, "_kept", {} if isinstance(data, str | PathLike) else None)

    @property
    def table(self) -> Table:
        """All rows in memory.

        Raises
        ------
        DataError
            When they do not fit.
        """
        return self.rows.table() if isinstance(self.rows, LongTable) else self.rows

    @property
    def kind(self) -> str:
        """``"census"``."""
        return "census"

    @property
    def size(self) -> int:
        """How many rows there are."""
        return self.rows.rows

    @property
    def streams(self) -> tuple[Row | None, ...]:
        """One stream, without a condition."""
        return (None,)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return self.rows.names

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What a verdict about this population rests on, in words."""
        return (f"the {self.size:,} rows are the whole population",)

    def order(self, column: str) -> tuple[str, ...]:
        """The order declared for a column of categories, such as low, mid, high; empty where there is none."""
        return self.rows.order(column)

    def values(self, column: str) -> tuple[Value, ...]:
        """List the values that occur in a column, missing ones aside, numbers before text, each ascending."""
        if isinstance(self.rows, LongTable):
            return self.rows.values(column)
        return distinct([self.rows.column(column)], column)

    def open(self, seed: np.random.SeedSequence, wanted: Wanted | None = None) -> RowSource | LongSource:
        """Open the census for one run."""
        if isinstance(self.rows, LongTable):
            return LongSource(self.rows, None if wanted is None else wanted.columns)
        return RowSource(self.rows, None if self.exact else random_order(self.size, seed))

    def fingerprint(self) -> str:
        """Tell this census from others; the same rows in another kind of table are the same census."""
        return fingerprint_of(self.kind, str(self.exact), rows_fingerprint(self.rows, self._kept))
