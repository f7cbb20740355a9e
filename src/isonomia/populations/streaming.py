"""Tables that are read as they go; memory to spare.

How much memory there is to spare, so that a table that is too large is refused before it fills the machine.

A table that is not held: it is read in its own order, batch by batch, as often as it is needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import DataError
from isonomia.populations.columns import distinct
from isonomia.populations.digests import TableDigest
from isonomia.populations.table import Table, check_columns, check_known
from isonomia.spec.tree import Value

__all__ = ["AT_ONCE", "LongTable", "TableReader", "free_memory", "refuse_more_than"]


_COPIES = 2.0  # as read, and as the kind of table that is asked for
_UNLIMITED = float("inf")


def free_memory() -> float:
    """How many bytes could still be used; infinite on a system that does not tell."""
    return min(_free_on_the_machine(), _free_in_the_group())


def _free_on_the_machine() -> float:
    try:
        lines = Path("/proc/meminfo").read_text("ascii").splitlines()
        found = next(line for line in lines if line.startswith("MemAvailable:"))
        return 1024.0 * float(found.split()[1])
    except (OSError, StopIteration, ValueError):
        return _UNLIMITED


def _free_in_the_group() -> float:
    """What a container leaves, where it has a limit."""
    try:
        most, used = (Path(f"/sys/fs/cgroup/memory.{name}").read_text("ascii").strip() for name in ("max", "current"))
        return float(most) - float(used)
    except (OSError, ValueError):  # no such file, or the word "max"
        return _UNLIMITED


def refuse_more_than(free: float, rows: int, size: float) -> None:
    """Refuse a table that would not fit.

    Raises
    ------
    DataError
        With what can be done without holding it.
    """
    if _COPIES * size > free:
        raise DataError(
            f"expected a table that fits into memory, since its rows are needed in random order or again and again, "
            f"but {rows:,} rows take about {size / 1e9:,.1f} GB, twice while they are read, and {free / 1e9:,.1f} GB "
            "are free. Read batch by batch are an exact Census and Sample(..., shuffle=False), for properties about "
            "rates and for principal fairness; for everything else hand over a random part of the rows."
        )


AT_ONCE = 2**16
"""Rows in one batch: few enough for wide tables, enough for a model that works on whole columns."""


class TableReader(Protocol):
    """How a table that is not held is read: files, a lazy query, a relation of a database."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, in order."""

    @property
    def rows(self) -> int:
        """How many rows there are."""

    @property
    def kind(self) -> str:
        """Which library's tables the model is given."""

    @property
    def stamp(self) -> object | None:
        """Something that changes whenever the content does; ``None`` where nothing tells."""

    def order(self, name: str) -> tuple[str, ...]:
        """The order declared for a column of categories; empty where there is none."""

    def batches(self, columns: Sequence[str], size: int, start: int, *, plain: bool) -> Iterator[Any]:
        """Give these columns from row ``start`` on, ``size`` rows at once and what is left at the end.

        Each is a table of the library ``kind``; with ``plain`` it may be one of another library, if that is quicker.
        """


@dataclass(frozen=True, slots=True, eq=False)
class LongTable:
    """A table that may be larger than memory. Of its rows one batch is held at a time.

    Attributes
    ----------
    reader
        Where its rows come from.
    """

    reader: TableReader
    _kept: dict[str, Any] = field(default_factory=dict, repr=False)  # what was computed, while it is still true

    def __post_init__(self) -> None:
        """Refuse what is no table of people."""
        check_columns(self.names, self.rows)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        return self.reader.names

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return self.reader.rows

    @property
    def kind(self) -> str:
        """Which library's tables the model is given."""
        return self.reader.kind

    def order(self, name: str) -> tuple[str, ...]:
        """The order declared for a column of categories; empty where there is none."""
        return self.reader.order(name) if name in self.names else ()

    def batches(
        self, columns: Sequence[str] | None = None, size: int = AT_ONCE, start: int = 0, *, plain: bool = False
    ) -> Iterator[Table]:
        """Go through the rows in their order.

        Parameters
        ----------
        columns
            Those that are read; ``None`` for all.
        size
            Rows in each batch; the last one may have fewer.
        start
            The first row, counted from 0.
        plain
            Whether a table of any library will do.

        Raises
        ------
        DataError
            When the rows cannot be read, or are no longer as many as were counted.
        """
        wanted = self.names if columns is None else tuple(columns)
        check_known(wanted, self.names)
        came = start
        for native in self.reader.batches(wanted, size, start, plain=plain):
            table = Table.of(native)
            came += table.rows
            yield table
        if came != max(self.rows, start):
            raise DataError(
                f"expected {self.rows:,} rows, as were counted at first, but {came:,} came: the table changed while "
                "it was read, or its query gives something else each time. Read it from a file that stays as it is."
            )

    def values(self, column: str) -> tuple[Value, ...]:
        """List the values that occur in a column, missing ones aside, by a pass over that column alone."""
        return distinct((_once(part, column) for part in self.batches([column], plain=True)), column)

    def empty(self, columns: Sequence[str] | None = None) -> Table:
        """The table without its rows."""
        first = next(self.batches(columns, size=1))
        return first.slice(0, 0)

    def table(self, free: float | None = None) -> Table:
        """Read the whole table into memory, once.

        Parameters
        ----------
        free
            How many bytes there is room for; what the machine has to spare unless given.

        Raises
        ------
        DataError
            When it does not fit.
        """
        stamp = self.reader.stamp
        kept, found = self._kept.get("table", (None, None))
        if found is None or (stamp is not None and kept != stamp):
            refuse_more_than(free_memory() if free is None else free, self.rows, self._bytes())
            found = next(self.batches(size=self.rows))
            self._kept["table"] = (stamp, found)
        whole: Table = found
        return whole

    def fingerprint(self) -> str:
        """The fingerprint of the same rows in any other kind of table, by a pass over all columns.

        It is computed once for files that have not changed since, and each time anew where that cannot be told.
        """
        stamp = self.reader.stamp
        kept, found = self._kept.get("fingerprint", (None, None))
        if found is None or stamp is None or kept != stamp:
            digest = TableDigest(self.names)
            for part in self.batches(plain=True):
                digest.add(part)
            found = digest.value()
            self._kept["fingerprint"] = (stamp, found)
        return str(found)

    def _bytes(self) -> float:
        """How much memory all rows would take, guessed from the first ones."""
        first = next(self.batches(size=min(self.rows, 10_000), plain=True))
        return self.rows * _size_of(first) / first.rows


def _once(part: Table, name: str) -> NDArray[Any]:
    """A column with each of its values once, where its library can tell them apart quickly."""
    if part.kind != "pyarrow" or not _is_simple(part.native[name].type):
        return part.column(name)
    import pyarrow as pa

    return Table.of(pa.table({name: part.native[name].unique()})).column(name)


def _is_simple(kind: Any) -> bool:
    import pyarrow.types as types

    return bool(
        types.is_string(kind) or types.is_large_string(kind) or types.is_integer(kind) or types.is_boolean(kind)
    )


def _size_of(table: Table) -> float:
    native = table.native
    if table.kind == "pyarrow":
        return float(native.nbytes)
    if table.kind == "polars":
        return float(native.estimated_size())
    columns: list[NDArray[Any]] = [table.column(name) for name in table.names]
    return float(np.sum([column.nbytes for column in columns]))
