"""Counting in the engine that holds a table: rows become cells, and only these come back.

A *cell* is all rows that agree in everything that is counted. The engine groups the rows: by columns of text and truth
values as they are, and by each comparison of numbers, which it evaluates. The rest of a condition is evaluated here, on
one row for each cell, by the same code as for rows: so every engine gives the same answer.

Engines differ about missing values, small types and the order in which they add numbers. Hence NaN becomes null before
anything else; a comparison with null is false; arithmetic is in double precision; and numbers are added as whole
multiples of powers of two, which is exact in any order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from math import frexp, isfinite
from operator import or_
from sys import float_info
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import DataError
from isonomia.evidence.exact import LIMB, Limbs
from isonomia.populations.expressions import Expression, Translation, UncountableError
from isonomia.populations.frames import collected
from isonomia.populations.streaming import LongTable, Rows, database, lazy_frame
from isonomia.populations.table import RECORDS, TENSORS, Table
from isonomia.spec import tree
from isonomia.spec.evaluate import Batch

if TYPE_CHECKING:
    import narwhals as nw

Frame: TypeAlias = "nw.LazyFrame[Any]"

MANY_ROWS = 2**17
"""Tables in memory with fewer rows are counted here: that is quicker than to ask an engine."""

MOST_CELLS = 2**18
"""With more cells than this, rows are counted here, batch by batch."""


# ---------------------------------------------------------------------------- cells


@dataclass(frozen=True, slots=True)
class Totals:
    """The numbers of a term, cell by cell.

    Attributes
    ----------
    n
        How many rows have a number.
    limbs
        Their exact sums.
    low, high
        The least and the greatest number; NaN for an empty cell.
    """

    n: NDArray[np.int64]
    limbs: Limbs
    low: NDArray[np.float64]
    high: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Cells:
    """All rows of a table, those that agree together.

    Attributes
    ----------
    table
        One row for each cell, with the columns by which rows were grouped.
    n
        How many rows each cell has.
    totals
        For each term that was added up, by name.
    """

    table: Table
    n: NDArray[np.int64]
    totals: Mapping[str, Totals] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CellBatch:
    """Cells as a batch of people, on which conditions are evaluated.

    Attributes
    ----------
    batch, table
        One row for each cell; the table has those columns that rows were grouped by.
    n
        How many rows each cell has.
    totals
        The numbers of each term.
    """

    batch: Batch
    table: Table
    n: NDArray[np.int64]
    totals: Mapping[tree.Row, Totals]


def cell_batch(
    rows: Rows, conditions: Sequence[tree.Row | None], terms: Sequence[tree.Row] = (), by: Sequence[str] = ()
) -> CellBatch | None:
    """Count a table in its engine, so that these conditions and terms can be evaluated, by the values of some columns.

    ``None`` where its rows should be read instead: a small table, an expression or a column that engines treat
    differently, or a number that must be refused, with its row.
    """
    table = engine_table(rows, _names_in((*conditions, *terms, *map(tree.Column, by)), rows.names))
    if table is None:
        return None
    try:
        translation = Translation(table.schema)
        translation.keys |= {name: translation.key(name) for name in by}
        translation.add_conditions(conditions)
        for term in terms:
            translation.add_term(term)
        tests = {f"\0test {number}": test for number, test in enumerate(translation.tests)}
        keys = translation.keys | {label: translation.tests[test] for label, test in tests.items()}
        sums = {f"\0term {number}": term for number, term in enumerate(translation.terms)}
        numbers = {label: translation.terms[term] for label, term in sums.items()}
        cells = group_cells(table.frame, table.size, keys, numbers, translation.checked.values())
    except (UncountableError, DataError) as error:
        refuse_to_copy(rows, error)
        return None  # where the engine fails, reading its rows says why
    columns = {name: cells.table.column(name) for name in translation.keys}
    met = {test: cells.table.column(label) for label, test in tests.items()}
    batch = Batch(len(cells.n), columns, known=met)
    return CellBatch(batch, cells.table, cells.n, {term: cells.totals[label] for label, term in sums.items()})


@dataclass(frozen=True, slots=True)
class EngineTable:
    """A table that is counted by the engine that holds it.

    Attributes
    ----------
    frame, schema
        Its rows, and the types of its columns.
    size
        How many rows it had when they were counted.
    """

    frame: Frame
    schema: Mapping[str, Any]
    size: int

    def has_many_numbers(self, name: str) -> bool:
        """Whether a column has at least three numbers other than 0 and 1.

        Raises
        ------
        UncountableError
            Where it has one or two.
        """
        import narwhals as nw

        if not self.schema[name].is_numeric():
            return False
        key, value = Translation(self.schema).key(name), nw.col("value")
        others = self.frame.select(key.alias("value")).filter((value != 0) & (value != 1)).head(MOST_CELLS)
        different = len(set(collected(lambda: others.collect().to_arrow())["value"].to_pylist()) - {None})
        if different in (1, 2):
            raise UncountableError("it has few numbers")
        return different > 2


def engine_table(rows: Rows, names: Sequence[str]) -> EngineTable | None:
    """A table in its engine, of one in memory these columns only; ``None`` where its rows should be read instead."""
    if not isinstance(rows, LongTable) and (rows.rows < MANY_ROWS or rows.kind in {RECORDS, TENSORS}):
        return None
    try:
        frame = frame_of(rows, names)
        return EngineTable(frame, dict(collected(frame.collect_schema)), rows.rows)
    except (UncountableError, DataError) as error:
        refuse_to_copy(rows, error)
        return None


def refuse_to_copy(rows: Rows, reason: Exception) -> None:
    """Refuse a table elsewhere that its engine cannot count: its rows would have to be copied."""
    if isinstance(rows, LongTable) and rows.remote:
        raise DataError(
            f"expected a table that its engine can count, but {reason}. Change its columns there, or copy it: hand "
            "over table.to_pyarrow() of Ibis, or table.toArrow() of PySpark"
        ) from reason


def _names_in(parts: Iterable[tree.Row | None], known: Sequence[str]) -> list[str]:
    """The columns of the table that conditions and terms read."""
    named = {
        name
        for part in parts
        if part is not None
        for name in (*tree.columns_of(part), *(output.name for output in tree.outputs_of(part)))
    }
    return [name for name in known if name in named] or list(known[:1])


def group_cells(
    frame: Frame,
    size: int,
    keys: Mapping[str, Expression],
    terms: Mapping[str, Expression] | None = None,
    checks: Iterable[Expression] = (),
    *,
    small: bool = False,
) -> Cells:
    """Group all rows of a table in its engine.

    Parameters
    ----------
    frame, size
        The table, and how many rows it had when they were counted.
    keys
        What to group by.
    terms
        Numbers to add up, in double precision and null where they are missing.
    checks
        Conditions that no row may meet.
    small
        Whether the numbers are probably not beyond 1, so that fewer limbs hold them. It changes cost only.

    Raises
    ------
    UncountableError
        Where there are too many cells, a row fails a check, sums cannot be exact, or there are not as many rows as
        before.
    """
    import narwhals as nw

    labels = [f"key {number}" for number in range(len(keys))] or ["key"]
    chosen = [expression.alias(label) for label, expression in zip(labels, keys.values(), strict=False)]
    first = {"shift": -LIMB, "count": 3} if small else {}
    limbs = {name: _Limbs(f"term {number}", **first) for number, name in enumerate(terms or {})}
    failed = reduce(or_, (check.fill_null(value=False) for check in checks), nw.lit(value=False))
    frame = frame.select(
        *(chosen or [nw.lit(0).alias("key")]),
        *(term.alias(limbs[name].name) for name, term in (terms or {}).items()),
        failed.alias("failed"),
    )
    sums: Mapping[str, Limbs | None] = {}
    for more in (8, 40, 0):
        found = _grouped(frame, labels, limbs.values())
        sums = {name: each.sums(found) for name, each in limbs.items()}
        short = [name for name, values in sums.items() if values is None]
        if not short or not more:
            break
        limbs |= {name: limbs[name].for_numbers(found, more) for name in short}
    if any(values is None for values in sums.values()):
        raise UncountableError("some numbers are too large, and others too small")
    n = np.asarray(found["n"].to_numpy(), dtype=np.int64)
    if int(n.sum()) != size:
        raise UncountableError("the table or the result of its query changed")
    table = Table.of(found.select(labels).rename_columns([*keys] or labels))
    totals = {name: limbs[name].totals(found, values) for name, values in sums.items() if values is not None}
    return Cells(table, n, totals)


def _grouped(frame: Frame, keys: Sequence[str], terms: Iterable[_Limbs]) -> Any:
    """The cells as an Arrow table."""
    import narwhals as nw

    for term in terms:
        frame = term.split(frame)
    aggregates = (expression for term in terms for expression in term.aggregates())
    cells = frame.group_by(*keys).agg(nw.len().alias("n"), nw.col("failed").any(), *aggregates).head(MOST_CELLS + 1)
    polars = cells.implementation is nw.Implementation.POLARS
    table: Any = collected(lambda: (cells.collect(engine="streaming") if polars else cells.collect()).to_arrow())
    if table.num_rows > MOST_CELLS:
        raise UncountableError("there are too many cells")
    if any(table["failed"].to_pylist()):
        raise UncountableError("a row fails a check")
    return table.sort_by([(key, "ascending") for key in keys])


@dataclass(frozen=True, slots=True)
class _Limbs:
    """A number, cut into whole multiples of powers of two, which any engine adds without rounding.

    Attributes
    ----------
    name
        The column of numbers.
    shift
        The first limb counts multiples of ``2**shift``; no number is beyond ``2**(LIMB + shift)``. It is a multiple of
        ``LIMB``, as in :mod:`isonomia.evidence.exact`.
    count
        How many limbs there are. Each further one counts multiples of a unit that is ``2**LIMB`` times smaller.
    """

    name: str
    shift: int = 0
    count: int = 4

    def split(self, frame: Frame) -> Frame:
        """The frame with a column for each limb."""
        import narwhals as nw

        number, rest = nw.col(self.name), nw.col(f"{self.name} rest")
        size = number.abs()  # the fraction of a negative number above the whole one below it may need one more bit
        inside = nw.when(size <= self._limit).then(size * 2.0**-self.shift)
        frame = frame.with_columns(inside.alias(f"{self.name} rest"))
        for limb in self._limbs:
            frame = frame.with_columns(rest.floor().alias(limb))
            frame = frame.with_columns(((rest - nw.col(limb)) * 2.0**LIMB).alias(f"{self.name} rest"))
        if self.shift > 0:  # of numbers below this, the shift would lose bits
            lost = (number != 0.0) & (number.abs() < 2.0 ** (self.shift - 1000))
            frame = frame.with_columns((nw.col("failed") | lost.fill_null(value=False)).alias("failed"))
        return frame

    def aggregates(self) -> list[Expression]:
        """What is computed of each cell."""
        import narwhals as nw

        number = nw.col(self.name)
        sign = nw.when(number < 0.0).then(nw.lit(-1.0)).otherwise(nw.lit(1.0))
        return [
            number.count().alias(f"{self.name} n"),
            number.min().alias(f"{self.name} low"),
            number.max().alias(f"{self.name} high"),
            nw.col(f"{self.name} rest").max(),
            *((sign * nw.col(limb)).cast(nw.Int64).sum().alias(limb) for limb in self._limbs),
        ]

    @property
    def _limit(self) -> float:
        """The largest magnitude that the limbs hold."""
        return float_info.max if LIMB + self.shift > 1023 else 2.0 ** (LIMB + self.shift)

    @property
    def _limbs(self) -> list[str]:
        return [f"{self.name} limb {limb}" for limb in range(self.count)]

    def _ends(self, found: Any) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
        """The least and the greatest number of each cell, and the largest magnitude."""
        low, high = (_floats(found[f"{self.name} {end}"]) for end in ("low", "high"))
        return low, high, float(np.nanmax(np.abs([low, high]), initial=0.0))

    def sums(self, found: Any) -> Limbs | None:
        """The exact sums of all cells; ``None`` where the limbs do not hold all bits of all numbers."""
        left = _floats(found[f"{self.name} rest"])
        if self._ends(found)[2] > self._limit or np.nanmax(left, initial=0.0) > 0.0:
            return None
        first, columns = self.shift // LIMB, [found[limb].fill_null(0) for limb in self._limbs]
        return {first - limb: column.to_numpy().astype(np.int64) for limb, column in enumerate(columns)}

    def for_numbers(self, found: Any, count: int) -> _Limbs:
        """Limbs for numbers as large as those that were found."""
        largest = self._ends(found)[2]
        if not isfinite(largest):
            raise UncountableError("a number is infinite")
        return _Limbs(self.name, max(frexp(largest)[1] // LIMB, 0) * LIMB, count)

    def totals(self, found: Any, sums: Limbs) -> Totals:
        """The totals of the numbers of each cell."""
        low, high, _ = self._ends(found)
        return Totals(np.asarray(found[f"{self.name} n"].to_numpy(), dtype=np.int64), sums, low, high)


def _floats(column: Any) -> NDArray[np.float64]:
    return np.asarray(column.to_numpy(), dtype=np.float64)


def frame_of(rows: Rows, names: Sequence[str]) -> Frame:
    """The rows as a lazy frame of an engine; those in memory with a few columns only."""
    import pyarrow as pa

    if isinstance(rows, LongTable):
        return rows.frame(names)
    if rows.kind == "polars":
        return lazy_frame(rows.native)
    try:
        arrow = rows.native if rows.kind == "pyarrow" else pa.table({name: _arrow(rows, name) for name in names})
    except (pa.ArrowException, TypeError) as error:
        raise UncountableError(str(error)) from error
    return lazy_frame(database().from_arrow(arrow))


def _arrow(rows: Table, name: str) -> Any:
    import pyarrow as pa

    column = rows.native[name] if rows.kind == "pandas" else rows.column(name)
    if rows.kind != "pandas" and column.dtype == np.float32:
        raise UncountableError("NumPy rounds values that are compared with numbers in single precision")
    return pa.array(column, from_pandas=True)
