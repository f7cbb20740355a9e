"""A long table counted by workers: each reads its own rows, asks its own copy of the model, and sends back counts.

Rows never travel. The pieces are those in which the table is stored, row groups of Parquet files, so that each row is
decoded once; they do not depend on the number of workers. Counts are added in the order of the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

from isonomia.audits.answers import Asker
from isonomia.engine.journal import Entry, Journal, once
from isonomia.executors import Pool, Shared, Tasks
from isonomia.models.meter import count, current_meter, metering
from isonomia.models.protocol import Model
from isonomia.models.wrappers import watch
from isonomia.populations.finite import Census
from isonomia.populations.streaming import LongTable

__all__ = ["Counter", "by_workers", "fingerprint_by_workers"]

LEAST = 2**18
"""The fewest rows in one piece, unless the table ends: enough to keep a worker busy for a while."""

Context = TypeVar("Context")
Counts = TypeVar("Counts")


@dataclass(frozen=True, slots=True)
class Counter(Generic[Context, Counts]):
    """How rows are counted.

    Attributes
    ----------
    count
        Counts the rows of a census from a first one up to, but not including, a last one: a module-level function,
        so that workers find it.
    context
        What else it needs; sent to each worker once.
    pack, unpack
        From counts to an entry of a journal, and back.
    """

    count: Callable[[Context, Asker | None, Census, int, int], Counts]
    context: Context
    pack: Callable[[Counts], Entry]
    unpack: Callable[[Entry], Counts]


@dataclass(frozen=True, slots=True)
class _Told(Generic[Context, Counts]):
    """What is sent to every worker once."""

    count: Callable[[Context, Asker | None, Census, int, int], Counts]
    context: Context
    model: Model | None
    watched: bool
    table: LongTable


def by_workers(
    pool: Pool | None, asker: Asker | None, population: Any, counter: Counter[Any, Counts], journal: Journal
) -> Iterator[tuple[int, Counts]] | None:
    """The number of rows and the counts of each piece, in order; ``None`` where workers cannot read for themselves.

    They can where the table is in files and the model has no cache, which only one process can keep.
    """
    table = population.rows if isinstance(population, Census) else None
    if pool is None or not isinstance(table, LongTable) or not table.in_files:
        return None
    if asker is not None and (asker.workers is None or current_meter().limited):
        return None
    model = None if asker is None or asker.workers is None else asker.workers.model
    watched = asker is not None and asker.model is not asker.workers
    told = _Told(counter.count, counter.context, model, watched, LongTable(table.reader))
    name = "the census" if model is None else model.name
    return _pieces(pool, Shared(told, name), table, counter, journal)


def fingerprint_by_workers(pool: Pool | None, population: Any) -> None:
    """Let workers start on the fingerprint of a long table, one column each, before it is needed."""
    table = population.rows if isinstance(population, Census) else None
    if pool is None or not isinstance(table, LongTable) or not table.in_files:
        return
    shared, names = Shared(LongTable(table.reader), "the table"), [[name] for name in table.names]
    table.expect_columns(lambda: partial(_values, pool.begin(_column_values, shared, names, [1] * len(names))))


def _values(tasks: Tasks) -> Iterator[bytes]:
    return (value for values in tasks.results() for value in values)


def _column_values(table: LongTable, names: Sequence[str]) -> list[bytes]:
    """What a worker does with one column."""
    return table.column_values(names)


def _pieces(
    pool: Pool, shared: Shared, table: LongTable, counter: Counter[Any, Counts], journal: Journal
) -> Iterator[tuple[int, Counts]]:
    edges = table.pieces(LEAST)
    keys = {piece: f"answer of rows {piece[0]} to {piece[1]}" for piece in edges}
    kept = {piece: entry for piece in edges if (entry := journal.recall(keys[piece])) is not None}
    left = [piece for piece in edges if piece not in kept]
    tasks = pool.begin(_count_piece, shared, left, [stop - start for start, stop in left])
    fresh = _metered(tasks)
    try:
        for piece in edges:
            counts = counter.unpack(kept[piece]) if piece in kept else next(fresh)
            once(journal, keys[piece], partial(counter.pack, counts))
            yield piece[1] - piece[0], counts
    finally:
        tasks.drop()


def _metered(tasks: Tasks) -> Iterator[Any]:
    """The counts of each piece; the check is charged for the rows that the worker sent."""
    for counts, rows in tasks.results():
        count(*rows)
        yield counts


def _count_piece(told: _Told[Any, Any], piece: tuple[int, int]) -> tuple[Any, tuple[int, int]]:
    """What a worker does with one piece: its counts, and how many rows it sent to the model, some of them twice."""
    model = None if told.model is None else watch(told.model) if told.watched else told.model
    with metering(None) as meter:
        counts = told.count(told.context, None if model is None else Asker(model), Census(told.table), *piece)
    return counts, meter.sent
