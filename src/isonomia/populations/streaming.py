"""Tables that are not held in memory: read in their own order, batch by batch, as often as needed.

:class:`LongTable` is such a table, whatever its rows come from: files, a polars lazy frame, or a DuckDB relation. Rows
come in the order of the query. A query without a fixed order, such as a join, may give its rows in another order each
time: every rate stays the same, but the fingerprint does not. Sort the query if that matters.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import DataError
from isonomia.populations.fingerprint import TableDigest, digest_of_columns, fingerprint_of
from isonomia.populations.frames import collected, library_of, query_error
from isonomia.populations.table import Table, check_columns, check_known, distinct
from isonomia.spec.tree import Value

if TYPE_CHECKING:
    import narwhals as nw

AT_ONCE = 2**16
"""Rows in one batch: few enough for wide tables, enough for a model that works on whole columns."""


class TableReader(Protocol):
    """Reads a table that is not held in memory: files, a lazy query, a relation of a database."""

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
        """A value that changes whenever the content does; ``None`` if changes cannot be detected."""

    @property
    def files(self) -> tuple[Path, ...]:
        """The local files that it is made of, which other processes can read too; empty if it is not."""

    @property
    def starts(self) -> Callable[[], Iterable[int]] | None:
        """Gives the rows at which reading can start without what comes before; ``None`` if it can start anywhere."""

    def order(self, name: str) -> tuple[str, ...]:
        """The order declared for a column of categories; empty if it has no order."""

    def batches(self, columns: Sequence[str], size: int, start: int, *, plain: bool) -> Iterator[Any]:
        """Give these columns from row ``start`` on, ``size`` rows at a time; the last batch may have fewer.

        Each is a table of the library ``kind``; with ``plain`` it may be one of another library, if that is faster.
        """

    def frame(self, columns: Sequence[str]) -> nw.LazyFrame[Any]:
        """These columns as a lazy frame in the engine that holds them; there may be others in it."""


@dataclass(frozen=True, slots=True, eq=False)
class LongTable:
    """A table that may be larger than memory. It is read one batch at a time.

    Attributes
    ----------
    reader
        Where its rows come from.
    remarks
        About its files, for the verdict.
    """

    reader: TableReader
    remarks: tuple[str, ...] = ()
    _computed: dict[str, tuple[object, Any]] = field(default_factory=dict, repr=False)  # with the stamp at the time

    def __post_init__(self) -> None:
        """Refuse a table without rows or columns, or with bad column names."""
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
        """The order declared for a column of categories; empty if it has no order."""
        return self.reader.order(name) if name in self.names else ()

    def frame(self, columns: Sequence[str] | None = None) -> nw.LazyFrame[Any]:
        """These columns, or all, as a lazy frame in the engine that holds them: DuckDB for files."""
        return self.reader.frame(self.names if columns is None else columns)

    def batches(
        self, columns: Sequence[str] | None = None, size: int = AT_ONCE, start: int = 0, *, plain: bool = False
    ) -> Iterator[Table]:
        """Go through the rows in their order.

        Parameters
        ----------
        columns
            The columns to read; ``None`` for all.
        size
            Rows in each batch; the last one may have fewer.
        start
            The first row, counted from 0.
        plain
            Whether a table of any library will do.

        Raises
        ------
        DataError
            When the rows cannot be read, or their number has changed since they were counted.
        """
        wanted = self.names if columns is None else tuple(columns)
        check_known(wanted, self.names)
        end = start
        for native in self.reader.batches(wanted, size, start, plain=plain):
            table = Table.of(native)
            end += table.rows
            yield table
        if end != max(self.rows, start):
            raise DataError(
                f"expected {self.rows:,} rows, as counted at first, but got {end:,}: the table or the result of "
                "its query changed. Read it from a file that does not change."
            )

    def mark(self, columns: Sequence[str]) -> object:
        """A value that changes with these columns: of files their times, of a query a sum of row hashes."""
        reader = self.reader
        return reader.row_hashes(columns) if isinstance(reader, _Query) and columns else reader.stamp

    @property
    def remote(self) -> bool:
        """Whether its rows are elsewhere and should stay there: counts come back."""
        return isinstance(self.reader, _EngineReader)

    @property
    def in_files(self) -> bool:
        """Whether another process can read it too, from the files that it is made of."""
        return bool(self.reader.files)

    def pieces(self, least: int) -> list[tuple[int, int]]:
        """Cut the rows into pieces of at least ``least`` rows, where reading can start without what comes before.

        A piece is the number of its first row and that of the row after its last.
        """
        starts, edges = self.reader.starts, [0]
        for row in range(0, self.rows, least) if starts is None else starts():
            if row - edges[-1] >= least:
                edges.append(row)
        return list(pairwise([*edges, self.rows]))

    def values(self, column: str) -> tuple[Value, ...]:
        """List the values that occur in a column, missing ones aside, from that column alone."""
        import narwhals as nw

        check_known([column], self.names)
        if self.in_files or column == "*":  # reading takes less memory than a query; to narwhals, * is all columns
            return distinct((part.column(column) for part in self.batches([column], plain=True)), column)
        found = collected(lambda: self.frame([column]).select(nw.col(column)).unique().collect().to_arrow())
        return distinct([Table.of(found).column(column)], column)

    def head(self, rows: int) -> Table:
        """The first rows, of any library."""
        if self.remote:  # all rows would be copied for the first batch
            return Table.of(collected(lambda: self.frame().head(rows).collect().to_arrow()))
        return next(self.batches(size=rows, plain=True))

    def empty(self, columns: Sequence[str] | None = None) -> Table:
        """The table without its rows."""
        return next(self.batches(columns, size=1)).slice(0, 0)

    def table(self, free: float | None = None) -> Table:
        """Read the whole table into memory, once.

        Parameters
        ----------
        free
            How many bytes may be used; by default what the machine has free.

        Raises
        ------
        DataError
            When it does not fit.
        """
        stamp = self.reader.stamp
        stamp_then, table = self._computed.get("table", (None, None))
        if table is None or stamp_then != stamp:
            refuse_more_than(free_memory() if free is None else free, self.rows, self._bytes())
            table = replace(next(self.batches(size=self.rows)), remarks=self.remarks)
            self._computed["table"] = (stamp, table)
        whole: Table = table
        return whole

    def fingerprint(self) -> str:
        """The same fingerprint as for these rows in any other kind of table, by a pass over all columns.

        It is computed once for files, until they change, and again each time if changes cannot be detected.
        """
        if isinstance(self.reader, _EngineReader):
            kinds = collected(lambda: self.frame().collect_schema())
            return fingerprint_of("row hashes", str(self.rows), repr(dict(kinds)), self.reader.row_hashes(self.names))
        stamp = self.reader.stamp
        stamp_then, value = self._computed.get("fingerprint", (None, None))
        if value is None or stamp is None or stamp_then != stamp:
            begun, columns = self._computed.pop("columns", (None, None))
            if columns is None or begun != stamp:
                columns = partial(self.column_values, self.names)
            value = digest_of_columns(self.rows, self.names, columns())
            self._computed["fingerprint"] = (stamp, value)
        return str(value)

    def column_values(self, names: Sequence[str]) -> list[bytes]:
        """The hashes of some columns, for the fingerprint."""
        digest = TableDigest(names)
        for part in self.batches(names, plain=True):
            digest.add(part)
        return digest.column_values()

    def expect_columns(self, begin: Callable[[], Callable[[], Iterable[bytes]]]) -> None:
        """Let workers start to compute the hash of each column for the fingerprint, unless it is known.

        ``begin`` starts them, and returns a function that waits for the hashes.
        """
        stamp = self.reader.stamp
        if stamp is not None and all(
            self._computed.get(what, (None,))[0] != stamp for what in ("fingerprint", "columns")
        ):
            self._computed["columns"] = (stamp, begin())

    def _bytes(self) -> float:
        """How much memory all rows would take, estimated from the first ones."""
        first = self.head(min(self.rows, 10_000))
        return self.rows * _bytes_of(first) / first.rows


Rows: TypeAlias = Table | LongTable


def _bytes_of(table: Table) -> float:
    if table.kind == "pyarrow":
        return float(table.native.nbytes)
    if table.kind == "polars":
        return float(table.native.estimated_size())
    columns: list[NDArray[Any]] = [table.column(name) for name in table.names]
    return float(np.sum([column.nbytes for column in columns]))


# ---------------------------------------------------------------------------- memory

_COPIES = 2.0  # as read, and as the kind of table that is requested


def free_memory() -> float:
    """How many bytes could still be used; infinite on a system that does not say."""
    return min(_free_on_the_machine(), _free_in_the_container())


def _free_on_the_machine() -> float:
    try:
        lines = Path("/proc/meminfo").read_text("ascii").splitlines()
        available = next(line for line in lines if line.startswith("MemAvailable:"))
        return 1024.0 * float(available.split()[1])
    except (OSError, StopIteration, ValueError):
        return float("inf")


def _free_in_the_container() -> float:
    try:
        limit, used = (Path(f"/sys/fs/cgroup/memory.{name}").read_text("ascii").strip() for name in ("max", "current"))
        return float(limit) - float(used)
    except (OSError, ValueError):  # no such file, or the word "max"
        return float("inf")


def refuse_more_than(free: float, rows: int, size: float) -> None:
    """Refuse a table of ``size`` bytes that does not fit into the free memory; the message names alternatives."""
    if _COPIES * size > free:
        raise DataError(
            f"expected a table that fits into memory, but {rows:,} rows take about {size / 1e9:,.1f} GB, twice while "
            f"they are read, and {free / 1e9:,.1f} GB are free: for rates and principal fairness, use an exact Census "
            "or Sample(..., order='file'), which are read batch by batch; otherwise pass a random part of the rows"
        )


# ---------------------------------------------------------------------------- lazy queries


@dataclass(frozen=True, slots=True, eq=False)
class _Query:
    """The query of a lazy table, its columns, and how many rows it gives."""

    query: Any
    names: tuple[str, ...]
    rows: int

    stamp = None
    files = ()
    starts = None

    def frame(self, columns: Sequence[str]) -> nw.LazyFrame[Any]:  # noqa: ARG002
        return lazy_frame(self.query)

    def row_hashes(self, columns: Sequence[str]) -> str:
        """The sum of hashes of all rows, by the engine: whatever their order, and no row leaves it."""
        raise NotImplementedError


class _LazyFrameReader(_Query):
    """A polars lazy frame. The model is given polars frames."""

    __slots__ = ()
    kind = "polars"

    def order(self, name: str) -> tuple[str, ...]:
        import polars as pl

        kind = self.query.collect_schema()[name]
        return tuple(kind.categories) if isinstance(kind, pl.Enum) else ()

    def row_hashes(self, columns: Sequence[str]) -> str:
        import polars as pl

        query = self.query.select(pl.struct(list(columns)).hash().sum())
        return str(collected(lambda: query.collect(engine="streaming").item()))

    def batches(self, columns: Sequence[str], size: int, start: int, *, plain: bool) -> Iterator[Any]:  # noqa: ARG002
        import polars as pl

        query = self.query.select(list(columns))
        parts = query.slice(start).collect_batches(chunk_size=min(size, 2**18), maintain_order=True)
        held: list[Any] = []
        for part in _checked(lambda: parts):
            held.append(part)
            while sum(map(len, held)) >= size:
                whole = pl.concat(held)
                yield whole[:size]
                held = [whole[size:]]
        if any(map(len, held)):
            yield pl.concat(held)


def long_lazy(query: Any) -> LongTable | None:
    """Make a table of a polars lazy frame, which is then run batch by batch.

    ``None`` if the installed polars cannot give batches; then it should be collected.
    """
    import polars as pl

    if not hasattr(query, "collect_batches"):
        return None
    names = collected(lambda: tuple(query.collect_schema().names()))
    rows = collected(lambda: query.select(pl.len()).collect(engine="streaming").item())
    return LongTable(_LazyFrameReader(query, names, int(rows)))


@dataclass(frozen=True, slots=True)
class ArrowStream:
    """Record batches that an engine reads as it goes, from the start whenever it scans them again."""

    schema: Any
    batches: Callable[[], Iterator[Any]]

    def __arrow_c_schema__(self) -> Any:
        """The types of the columns."""
        return self.schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested: Any = None) -> Any:
        """A new pass over the rows."""
        import pyarrow as pa

        return pa.RecordBatchReader.from_batches(self.schema, self.batches()).__arrow_c_stream__(requested)


class _RelationReader(_Query):
    """A DuckDB relation. The model is given pyarrow tables."""

    __slots__ = ()
    kind = "pyarrow"

    def order(self, name: str) -> tuple[str, ...]:
        """The values of an enumeration, in the declared order, as DuckDB compares them; empty for other columns."""
        kind = self.query.types[self.names.index(name)]
        return tuple(dict(kind.children)["values"]) if kind.id == "enum" else ()

    def frame(self, columns: Sequence[str]) -> nw.LazyFrame[Any]:
        """In a database of our own where columns are floats: DuckDB 2.0 may overlook NaN in the user's Parquet files.

        See :func:`database`. Whole numbers and text are counted where they are.
        """
        if not {str(self.query.types[self.names.index(name)]) for name in columns} & {"FLOAT", "DOUBLE"}:
            return lazy_frame(self.query)
        schema = collected(lambda: self._chosen(columns).limit(0).to_arrow_table().schema)
        return lazy_frame(database().from_arrow(ArrowStream(schema, lambda: self._in_arrow(columns))))

    def row_hashes(self, columns: Sequence[str]) -> str:
        total = f"sum(hash({', '.join(map(quoted, columns))})::HUGEINT)"
        return str(collected(lambda: self.query.aggregate(total).fetchall()[0][0]))

    def _chosen(self, columns: Sequence[str]) -> Any:
        # As quoted text: an expression for a column called * would select all columns.
        return self.query.project(", ".join(map(quoted, columns)))

    def _in_arrow(self, columns: Sequence[str]) -> Iterator[Any]:
        chosen = self._chosen(columns)
        read = chosen.to_arrow_reader if hasattr(chosen, "to_arrow_reader") else chosen.fetch_arrow_reader
        yield from read(2**16)

    def batches(self, columns: Sequence[str], size: int, start: int, *, plain: bool) -> Iterator[Any]:  # noqa: ARG002
        ordered = self.query.query("rows", "SELECT current_setting('preserve_insertion_order')").fetchall()[0][0]
        if not ordered:
            raise DataError(
                "expected a DuckDB connection that keeps the order of rows, but preserve_insertion_order is off: rows "
                "may come in another order each time they are read. Run SET preserve_insertion_order = true"
            )
        yield from of_size(_checked(lambda: self._in_arrow(columns)), size, start)


def long_relation(relation: Any) -> LongTable:
    """Make a table of a DuckDB relation, which is then run batch by batch."""
    rows = collected(lambda: relation.aggregate("count(*)").fetchall()[0][0])
    return LongTable(_RelationReader(relation, tuple(relation.columns), int(rows)))


class _EngineReader(_Query):
    """A table of Ibis or PySpark, whose engine counts it. Its rows are copied, as pyarrow tables, only for a model."""

    __slots__ = ()
    kind = "pyarrow"

    def frame(self, columns: Sequence[str]) -> nw.LazyFrame[Any]:
        """The rows where they are; floats of Ibis on DuckDB as those of a relation, for the same reason."""
        if library_of(self.query) != "ibis":
            return lazy_frame(self.query)
        import duckdb
        import ibis

        backend = ibis.get_backend(self.query)
        if backend.name != "duckdb":
            return lazy_frame(self.query)
        try:
            relation = backend.con.sql(str(ibis.to_sql(self.query)))
        except duckdb.CatalogException:  # a table in memory, which is in no Parquet file
            return lazy_frame(self.query)
        return _RelationReader(relation, self.names, self.rows).frame(columns)

    def order(self, name: str) -> tuple[str, ...]:  # noqa: ARG002
        return ()

    def batches(self, columns: Sequence[str], size: int, start: int, *, plain: bool) -> Iterator[Any]:  # noqa: ARG002
        chosen = self.query.select(*columns)

        def parts() -> Any:
            if library_of(chosen) != "ibis":
                return iter(chosen.toArrow().to_batches())
            import ibis

            if ibis.get_backend(chosen).name == "duckdb":  # Ibis 12 calls a method that DuckDB 2 no longer has
                return iter(chosen.to_pyarrow().to_batches())
            return iter(chosen.to_pyarrow_batches(chunk_size=2**16))

        yield from of_size(_checked(parts), size, start)

    def row_hashes(self, columns: Sequence[str]) -> str:
        if library_of(self.query) == "ibis":
            hashes = [self.query[name].hash().fill_null(0).cast("string") for name in columns]
            row = reduce(lambda joined, other: joined + "," + other, hashes)
            return str(collected(lambda: row.hash().cast("decimal(38, 0)").sum().to_pyarrow().as_py()))
        from pyspark.sql import functions as f

        row = f.xxhash64(*(f.col(f"`{name.replace('`', '``')}`") for name in columns)).cast("decimal(38, 0)")
        return str(collected(lambda: self.query.select(f.sum(row)).collect()[0][0]))


def long_engine(query: Any) -> LongTable:
    """Make a table of one of Ibis or PySpark, which is then counted where it is."""
    import narwhals as nw

    frame = lazy_frame(query)
    names = tuple(collected(frame.collect_schema).names())
    rows = collected(lambda: frame.select(nw.len().alias("rows")).collect().to_arrow()["rows"][0].as_py())
    reader = _EngineReader(query, names, int(rows))
    return LongTable(reader, ("its fingerprint is a sum of row hashes by its engine, weaker than one of its content",))


def lazy_frame(query: Any) -> nw.LazyFrame[Any]:
    """A lazy table of a library that narwhals knows."""
    import narwhals as nw

    frame: nw.LazyFrame[Any] = nw.from_native(query).lazy()
    return frame


def database() -> Any:
    """A connection to a DuckDB database of its own, in memory: it neither loads extensions nor draws on the screen.

    The statistics in Parquet files do not cover NaN, but DuckDB 2.0 concludes from them that no value is NaN.
    """
    import duckdb

    connection = duckdb.connect(config={"autoinstall_known_extensions": False, "autoload_known_extensions": False})
    connection.execute("SET enable_progress_bar = false")
    connection.execute("SET disabled_optimizers = 'statistics_propagation,filter_pushdown'")
    if duckdb.__version__.startswith("1."):
        _OPEN.append(connection)
    return connection


_OPEN: deque[Any] = deque(maxlen=64)
"""Connections that stay open although only a relation is left of them: DuckDB 1 closes them otherwise, 2 does not."""


def quoted(name: str) -> str:
    """A name quoted for SQL, whatever characters it has."""
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def _checked(begin: Callable[[], Iterable[Any]]) -> Iterator[Any]:
    """Go through the parts of a result; a failure on the way becomes a ``DataError``."""
    try:
        yield from begin()
    except Exception as error:  # each library has its own kinds of error
        raise query_error(error) from error


def of_size(batches: Iterable[Any], size: int, skip: int = 0) -> Iterator[Any]:
    """Join and cut record batches so that each table but the last has ``size`` rows; the first rows may be skipped."""
    import pyarrow as pa

    held: list[Any] = []
    rows = 0
    for batch in batches:
        passed = min(skip, batch.num_rows)
        skip -= passed
        rest = batch.slice(passed)
        while rows + rest.num_rows >= size:
            held.append(rest.slice(0, size - rows))
            rest = rest.slice(size - rows)
            yield pa.Table.from_batches(held)
            held, rows = [], 0
        if rest.num_rows:
            held.append(rest)
            rows += rest.num_rows
    if held:
        yield pa.Table.from_batches(held)
