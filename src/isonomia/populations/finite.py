"""Sample and Census: tables whose rows are drawn from the population, or are the population.

Both give their rows in batches: in the table's own order, or in a random one that the run's seed fixes. A table in
memory is sliced; a long one is read batch by batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from itertools import pairwise
from os import PathLike, fspath

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import DataError, UsageError
from isonomia.populations.design import Clustering, check_design, clustering_of
from isonomia.populations.files import rows_at
from isonomia.populations.fingerprint import TableDigest, fingerprint_of, table_fingerprint
from isonomia.populations.profile import signs_of_repeats
from isonomia.populations.protocol import Clusters, Labels, PopulationFacts, Wanted, check_request
from isonomia.populations.streaming import LongTable, Rows, long_engine, long_lazy, long_relation
from isonomia.populations.table import Table, check_known, declared_values, distinct, joined
from isonomia.spec.tree import Value

ROW_ORDERS = ("random", "file")
"""How the rows of a sample can be ordered."""

ONE_TABLE = "the table is not checked again after rows are added (order='file' allows that)"
"""The assumption of a random order that depends on the number of rows."""

LATE_ROWS = (
    "earlier looks at this table are not covered: rows of the same {column!r} may have been added since, and their "
    "bets were settled then"
)
"""What is assumed of a table that grows where rows belong together."""


class _TablePopulation:
    """What a sample and a census share: both are the rows of one table."""

    __slots__ = ()

    rows: Rows
    declared: dict[str, tuple[Value, ...]]

    @property
    def table(self) -> Table:
        """All rows in memory."""
        return self.rows.table() if isinstance(self.rows, LongTable) else self.rows

    @property
    def size(self) -> int:
        """How many rows there are."""
        return self.rows.rows

    streams = (None,)  # one, without a condition

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return self.rows.names

    def order(self, column: str) -> tuple[str, ...]:
        """The order declared for a column of categories, such as low, mid, high; empty if it has no order."""
        return self.rows.order(column)

    def values(self, column: str) -> tuple[Value, ...]:
        """List the values that occur in a column, or are declared for it, numbers before text, each ascending."""
        return _values(self.rows, column, self.declared)

    def _declared(self, column: str) -> tuple[Value, ...]:
        return self.declared.get(column, ())


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Sample(_TablePopulation):
    """Rows that are independent draws from the real population.

    Each row is used once. When the rows run out, the verdict may be *undecided*; rows are never resampled.

    Parameters
    ----------
    data
        Any table that :meth:`Table.of` takes, the path of a file that :func:`read_table` reads, a folder of
        files, or a pattern such as ``"people/*.parquet"``.
    order
        ``"random"`` uses the rows in a random order fixed by the run's seed, so a sorted file does no harm. The
        risk then covers this table only: rows added later change the order of all rows, and the errors of repeated
        looks add up. ``"file"`` keeps the order of the table, in which rows must be independent draws; then the risk
        covers every look at a table to which rows are appended; of clusters, whole ones with ``max_cluster`` declared.
    values
        The values that columns can have, ``{"race": ["A", "B", "C"]}``, including values that occur in no row. A
        ``for`` runs over them, and a group without rows leaves a property undecided instead of raising an error.
    cluster
        The column that says which rows belong together: several visits of a customer, repeats of a prompt, pupils of a
        school. Clusters are then the independent draws; rows inside a cluster may depend on each other in any way. The
        log of an eval with several answers to a question is clustered automatically.
    weigh
        With ``"rows"`` every row has equal weight, so a rate is that of a random row. With ``"clusters"``
        every cluster has: each of its rows counts ``1 / (rows of the cluster)``.
    max_cluster
        The maximum number of rows of a cluster of the population, if rows have equal weight: one huge cluster could
        change any rate. Without it, no cluster is assumed to be larger than the largest in the table.
    labels
        How labels were drawn, where only a random part of the rows has one and a judge answered for all:
        ``Labels("human", judge="judge", probability=0.2)``.

    Raises
    ------
    DataError
        If the data cannot be read or is not a table, or if it must be in memory and does not fit.

    Notes
    -----
    In a random order, all rows are held in memory once the first is drawn. With ``order="file"`` a folder, a pattern, a
    file of more than 8 MiB (JSON lines and compressed files: 256 MiB), a polars ``LazyFrame``, a DuckDB relation or a
    pyarrow ``Dataset`` is read batch by batch, and only as far as the check goes. One look at yes and no without a
    model is counted by the table's engine, and no row is held.

    Examples
    --------
    >>> from isonomia import check
    >>> people = Sample({"sex": ["F", "M"] * 500, "hired": [1, 1, 0, 1] * 250})
    >>> check("P[hired | sex == 'F'] >= 0.3", population=people, seed=1).answer
    'holds'
    """

    rows: Rows
    row_order: str
    looks: tuple[int, ...] | None  # the numbers of rows at earlier looks, ascending; None where no record is kept
    note: str  # about earlier looks that the risk does not cover; empty if all are covered
    declared: dict[str, tuple[Value, ...]]
    clustering: Clustering | None
    labels: Labels | None
    _signs: list[tuple[str, ...]] = field(repr=False)  # that rows repeat, once they were looked for
    _fingerprints: list[str] | None = field(repr=False)  # computed once, of a file, which other code cannot write into

    def __init__(
        self,
        data: object | str | PathLike[str],
        *,
        order: str = "random",
        values: Mapping[str, Sequence[Value]] | None = None,
        cluster: str | None = None,
        weigh: str = "rows",
        max_cluster: int | None = None,
        labels: Labels | None = None,
    ) -> None:
        if order not in ROW_ORDERS:
            raise UsageError(f"expected order to be {' or '.join(map(repr, ROW_ORDERS))}, but got order={order!r}")
        rows = rows_from(data)
        cluster = rows.together if cluster is None and isinstance(rows, Table) else cluster
        if labels is not None:
            rows = rows.table() if isinstance(rows, LongTable) else rows
            check_design(rows, labels, cluster)
        object.__setattr__(self, "labels", labels)
        object.__setattr__(self, "declared", _declared(values, rows))
        object.__setattr__(self, "rows", rows.table() if isinstance(rows, LongTable) and cluster is not None else rows)
        object.__setattr__(self, "_signs", [])
        together = cluster is not None or weigh != "rows" or max_cluster is not None
        clustering = clustering_of(self.rows, cluster, weigh, max_cluster) if together else None
        object.__setattr__(self, "clustering", clustering)
        object.__setattr__(self, "row_order", order)
        object.__setattr__(self, "looks", None)
        object.__setattr__(self, "note", "")
        object.__setattr__(self, "_fingerprints", [] if isinstance(data, str | PathLike) else None)

    kind = "sample"

    @property
    def facts(self) -> PopulationFacts:
        """The table, what a verdict mentions of its file and of repeated rows, and the rows that belong together."""
        together = None if self.clustering is None else self.clustering.facts
        return PopulationFacts(
            remarks=(*self.rows.remarks, *(self._repeats() if together is None else ())),
            declared=self._declared,
            rows=self.rows,
            clusters=None if together is None or together.largest == 1 else together,
            labels=self.labels,
        )

    def _repeats(self) -> tuple[str, ...]:
        """Signs that rows are not independent; looked for once."""
        if not self._signs:
            self._signs.append(signs_of_repeats(self.rows))
        return self._signs[0]

    @property
    def assumptions(self) -> tuple[str, ...]:
        """The assumptions of a verdict about this population, in words."""
        order = "" if self.row_order == "random" else ", in the order in which they are given"
        alone = self.row_order == "random" and self.looks is None
        independent = (f"the {self.size:,} rows are independent draws from the population{order}",)
        return (
            *(independent if self.clustering is None else self.clustering.facts.assumptions(order)),
            *(() if self.labels is None else self.labels.assumptions),
            *self._looks_assumed(alone),
            *((self.note,) if self.note else ()),
        )

    def _looks_assumed(self, alone: bool) -> tuple[str, ...]:
        """What is assumed about further looks at the table."""
        if self.clustering is None:
            return (ONE_TABLE,) if alone else ()
        facts = self.clustering.facts
        if self.row_order == "random" or not (facts.declared or facts.weigh == "clusters"):
            return (ONE_TABLE.partition(" (")[0],) if alone or self.row_order == "file" else ()
        return (f"added rows have values of {facts.column!r} that are not in the table yet",)

    def cluster_edges(self, seed: np.random.SeedSequence) -> NDArray[np.intp]:
        """Where each cluster begins among the rows in their order for this seed, and where the last one ends."""
        assert self.clustering is not None, "it has clusters"
        sizes = np.bincount(self.clustering.codes)[self._cluster_order(seed)]
        return np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp)

    def _cluster_order(self, seed: np.random.SeedSequence) -> NDArray[np.intp]:
        """Which cluster comes first, second, and so on: at random, or by its first row."""
        assert self.clustering is not None, "it has clusters"
        count = self.clustering.facts.count
        return np.arange(count, dtype=np.intp) if self.row_order == "file" else random_order(count, seed)

    def repeated(self, times: int) -> Sample:
        """Every row so many times, as a cluster: what a model that answers at random says of it each time."""
        if self.labels is not None:
            raise UsageError(
                "a model that may answer the same row differently needs a label in every row: leave out labels",
                name="labels",
            )
        looks = None if self.looks is None else tuple(size * times for size in self.looks)
        declared = self.clustering is None or self.clustering.facts.declared
        facts = Clusters("row", self.size, 1) if self.clustering is None else self.clustering.facts
        codes = np.arange(self.size, dtype=np.intp) if self.clustering is None else self.clustering.codes
        together = replace(facts, largest=facts.largest * times, declared=declared)
        grown = copy(self)
        object.__setattr__(grown, "rows", _repeated(self.table, times))
        object.__setattr__(grown, "clustering", Clustering(np.repeat(codes, times), together))
        object.__setattr__(grown, "_fingerprints", None)
        return grown if looks is None else grown.continuing(looks, self.note)

    def continuing(self, looks: Sequence[int], note: str = "") -> Sample:
        """The same table after the earlier looks on record, at which it had its first so many rows.

        Each increment is shuffled by its own child of the seed and comes after the rows before it. So the rows of an
        earlier look come first and in the same order, and with independent rows the whole order is fixed without
        regard to their values. ``note`` says which earlier looks are not covered.
        """
        if self.clustering is not None and any(0 < size < self.size for size in looks):
            looks, note = (), LATE_ROWS.format(column=self.clustering.facts.column)
        grown = copy(self)
        object.__setattr__(grown, "looks", tuple(sorted({size for size in looks if 0 < size < self.size})))
        object.__setattr__(grown, "note", note)
        return grown

    def first(self, rows: int) -> str:
        """The fingerprint of the first so many rows: that of the table at a time when it had no others."""
        if rows == self.size:
            return _fingerprint(self.rows, self._fingerprints)
        if not isinstance(self.rows, LongTable):
            return table_fingerprint(self.rows.slice(0, rows))
        digest = TableDigest(self.names)
        for part in self.rows.batches(self.names, plain=True):
            digest.add(part.slice(0, min(part.rows, rows - digest.rows)))
            if digest.rows == rows:
                break
        return digest.value()

    def open(self, seed: np.random.SeedSequence, wanted: Wanted | None = None) -> RowSource | LongSource:
        """Open the sample for one run."""
        return _opened(self.rows, self.positions(seed), wanted)

    def positions(self, seed: np.random.SeedSequence) -> NDArray[np.intp] | None:
        """The row that comes first, second, and so on; ``None`` for the order of the table."""
        if self.clustering is not None:
            rank = np.empty(self.clustering.facts.count, dtype=np.intp)
            rank[self._cluster_order(seed)] = np.arange(len(rank))
            return np.argsort(rank[self.clustering.codes], kind="stable")
        if self.row_order == "file":
            return None
        edges = [0, *(self.looks or ()), self.size]
        parts = [start + random_order(stop - start, seed, start) for start, stop in pairwise(edges)]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def fingerprint(self) -> str:
        """The fingerprint of this sample; the same rows in another kind of table have the same one."""
        own = _fingerprint(self.rows, self._fingerprints)
        looks = (f"looks {self.looks}",) if self.looks else ()
        together = () if self.clustering is None else (repr(self.clustering.facts),)
        drawn = () if self.labels is None else (repr(self.labels),)
        return fingerprint_of(self.kind, self.row_order, own, *_said(self.declared), *looks, *together, *drawn)


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Census(_TablePopulation):
    """Rows that are the whole population.

    A verdict is about these rows only; it says nothing about people who are not in the table.

    Parameters
    ----------
    data
        Any table that :meth:`Table.of` takes, the path of a file that :func:`read_table` reads, a folder of
        files, or a pattern such as ``"people/*.parquet"``.
    exact
        Whether every row is evaluated, in the table's order, so that the verdict carries no risk of error.
        When the model is expensive, ``False`` draws the rows at random without replacement, in an order fixed
        by the run's seed, so that the audit may stop early.
    values
        The values that columns can have, ``{"race": ["A", "B", "C"]}``, including values that occur in no row. A
        ``for`` runs over them, and a group without rows leaves a property undecided instead of raising an error.

    Raises
    ------
    DataError
        If the data cannot be read or is not a table, or if it must be in memory and does not fit.

    Notes
    -----
    An exact census of a folder, a pattern, a file of more than 8 MiB (JSON lines and compressed files: 256 MiB), a
    polars ``LazyFrame``, a DuckDB relation or a pyarrow ``Dataset`` is never held in memory, regardless of its size:
    without a model its engine counts it, and with one it is read batch by batch. This applies to rates and principal
    fairness; audits that need rows in random order read the whole table.

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
    declared: dict[str, tuple[Value, ...]]
    _fingerprints: list[str] | None = field(repr=False)  # computed once, of a file, which other code cannot write into

    def __init__(
        self,
        data: object | str | PathLike[str],
        *,
        exact: bool = True,
        values: Mapping[str, Sequence[Value]] | None = None,
    ) -> None:
        rows = rows_from(data)
        object.__setattr__(self, "declared", _declared(values, rows))
        object.__setattr__(self, "rows", rows.table() if isinstance(rows, LongTable) and not exact else rows)
        object.__setattr__(self, "exact", exact)
        object.__setattr__(self, "_fingerprints", [] if isinstance(data, str | PathLike) else None)

    kind = "census"

    @property
    def facts(self) -> PopulationFacts:
        """The table, and what a verdict mentions of its file."""
        return PopulationFacts(remarks=self.rows.remarks, declared=self._declared, rows=self.rows)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """The assumptions of a verdict about this population, in words."""
        return (f"the {self.size:,} rows are the whole population",)

    def shuffled(self) -> Census:
        """The same rows in random order, for draws without replacement."""
        drawn = copy(self)
        object.__setattr__(drawn, "rows", self.table)
        object.__setattr__(drawn, "exact", False)
        return drawn

    def repeated(self, times: int) -> Census:
        """Every row so many times: what a model that answers at random says of it each time."""
        grown = copy(self)
        object.__setattr__(grown, "rows", _repeated(self.table, times))
        object.__setattr__(grown, "_fingerprints", None)
        return grown

    def open(self, seed: np.random.SeedSequence, wanted: Wanted | None = None) -> RowSource | LongSource:
        """Open the census for one run."""
        return _opened(self.rows, None if self.exact else random_order(self.size, seed), wanted)

    def fingerprint(self) -> str:
        """The fingerprint of this census; the same rows in another kind of table have the same one."""
        own = _fingerprint(self.rows, self._fingerprints)
        return fingerprint_of(self.kind, str(self.exact), own, *_said(self.declared))


def _repeated(table: Table, times: int) -> Table:
    return table.take(np.repeat(np.arange(table.rows, dtype=np.intp), times))


def _declared(values: Mapping[str, Sequence[Value]] | None, rows: Rows) -> dict[str, tuple[Value, ...]]:
    """The declared values, for columns that must exist."""
    if not isinstance(values, Mapping | None):
        raise UsageError(f"expected values as {{'column': [value, ...]}}, but got {values!r}")
    check_known(list(values or ()), rows.names)
    return {name: declared_values(name, given) for name, given in (values or {}).items()}


def _said(declared: Mapping[str, tuple[Value, ...]]) -> tuple[str, ...]:
    """The declared values as text; empty without them."""
    return (repr(sorted(declared.items())),) if declared else ()


def _values(rows: Rows, column: str, declared: Mapping[str, tuple[Value, ...]]) -> tuple[Value, ...]:
    result = rows.values(column) if isinstance(rows, LongTable) else distinct([rows.column(column)], column)
    if column not in declared:
        return result
    strange = [value for value in result if value not in declared[column]]
    if strange:
        raise DataError(
            f"expected {column} to be one of the values declared for it, {', '.join(map(repr, declared[column]))}, but "
            f"{strange[0]!r} occurs too: add it to values, or fix the table"
        )
    return declared[column]


def _opened(rows: Rows, order: NDArray[np.intp] | None, wanted: Wanted | None) -> RowSource | LongSource:
    """The rows opened for one run, in an order, or in their own."""
    if isinstance(rows, LongTable) and order is None:
        return LongSource(rows, None if wanted is None else wanted.columns)
    return RowSource(rows, order)


def _fingerprint(rows: Rows, computed: list[str] | None) -> str:
    """The fingerprint of some rows. It is computed again each time if other code may have written to them."""
    if isinstance(rows, LongTable):
        return rows.fingerprint()
    if computed is None:
        return table_fingerprint(rows)
    if not computed:
        computed.append(table_fingerprint(rows))
    return computed[0]


# ---------------------------------------------------------------------------- opened for one run


# The order has its own child of the seed, far from the children that number the batches.
_ORDER_CHILD = 2**32 - 1


def random_order(rows: int, seed: np.random.SeedSequence, after: int = 0) -> NDArray[np.intp]:
    """A permutation of so many rows after earlier ones, uniform over all permutations and fixed by the seed."""
    key = (*seed.spawn_key, _ORDER_CHILD, *((after,) if after else ()))
    child = np.random.SeedSequence(seed.entropy, spawn_key=key, pool_size=seed.pool_size)
    return np.random.default_rng(child).permutation(rows).astype(np.intp)


@dataclass(slots=True, eq=False)
class RowSource:
    """A table opened for one run; a long one is read into memory when its first rows are requested."""

    rows: Rows
    order: NDArray[np.intp] | None  # which row comes when; None for the table's own order

    finite = True  # whether each row counts once

    def batch(self, start: int, n: int, rng: np.random.Generator, stream: int = 0) -> Table:  # noqa: ARG002
        """Give the rows numbered from ``start`` up to ``start + n``, or what is left of them."""
        check_request(start, n, stream, streams=1)
        if isinstance(self.rows, LongTable):
            self.rows = self.rows.table()
        if self.order is None:
            return self.rows.slice(start, start + n)
        return self.rows.take(self.order[start : start + n])


@dataclass(frozen=True, slots=True, eq=False)
class WithReplacement:
    """An opened table whose rows are drawn independently, so that a row may come twice."""

    table: Table

    finite = False  # whether each row counts once

    def batch(self, start: int, n: int, rng: np.random.Generator, stream: int = 0) -> Table:
        """Give ``n`` rows drawn with the batch's own randomness."""
        check_request(start, n, stream, streams=1)
        return self.table.take(rng.integers(0, self.table.rows, size=n).astype(np.intp))


@dataclass(slots=True, eq=False)
class LongSource:
    """A table that is read batch by batch, opened for one run.

    Batches in order read each row once. For rows that were passed already, reading starts again, so that the rows
    depend only on the arguments.
    """

    table: LongTable
    columns: tuple[str, ...] | None = None  # those that are read; None for all
    _first: int = field(default=0, init=False)  # the number of the first row of what is held
    _held: Table | None = field(default=None, init=False)
    _following: Iterator[Table] | None = field(default=None, init=False)

    finite = True  # whether each row counts once

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
        # Several parts become one new table, which like any slice numbers its rows from 0 and shares no memory.
        return parts[0] if len(parts) == 1 else joined(parts).copy()

    def _holding(self, row: int) -> Table:
        """Read on until the part in memory contains a row."""
        if self._held is None or row < self._first or self._following is None:
            self._first, self._held = row, None
            self._following = self.table.batches(self.columns, start=row)
        while self._held is None or row >= self._first + self._held.rows:
            self._first += 0 if self._held is None else self._held.rows
            assert self._following is not None
            self._held = next(self._following)
        return self._held

    def __getstate__(self) -> tuple[LongTable, tuple[str, ...] | None]:
        """An iterator cannot be pickled; the copy starts reading again."""
        return self.table, self.columns

    def __setstate__(self, state: tuple[LongTable, tuple[str, ...] | None]) -> None:
        self.table, self.columns = state
        self._first, self._held, self._following = 0, None, None


# ---------------------------------------------------------------------------- from whatever the user has to rows


def rows_from(data: object) -> Rows:
    """Hold a table in memory, or prepare to read it.

    Folders, patterns, large files, polars lazy frames, DuckDB relations and pyarrow datasets are read batch by batch.
    Everything else is held.
    """
    if isinstance(data, LongTable):
        return data
    if isinstance(data, str | PathLike):
        return rows_at(fspath(data))
    lazy = _lazy(data)
    return Table.of(data) if lazy is None else lazy


def _lazy(data: object) -> LongTable | None:
    """A lazy table, recognized by the name of its type, so that no library is imported that the user does not use."""
    kind = type(data)
    match f"{kind.__module__.split('.')[0]}.{kind.__name__}":
        case "polars.LazyFrame":
            return long_lazy(data)
        case "duckdb.DuckDBPyRelation" | "_duckdb.DuckDBPyRelation":
            return long_relation(data)
        case "pyarrow.FileSystemDataset" | "pyarrow.UnionDataset" | "pyarrow.InMemoryDataset":
            from isonomia.populations.datasets import long_dataset

            return long_dataset(data, "pyarrow")
        case "ibis.Table" | "pyspark.DataFrame":
            return long_engine(data)
        case _:
            return None
