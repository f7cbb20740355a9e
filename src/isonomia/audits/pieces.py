"""A census is counted in this process, or by workers that read their own rows, ask their own model and return counts.

Rows never travel. The pieces are those in which the table is stored, row groups of Parquet files, so that each row is
decoded once; they do not depend on the number of workers. Counts are added in the order of the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from time import monotonic
from typing import Any, Generic, TypeVar

from isonomia.audits.people import SharedPeople
from isonomia.audits.protocol import Check
from isonomia.engine.parameters import Observer, Progress
from isonomia.executors import Pool, StartedTasks, TaskContext
from isonomia.models.meter import count, current_meter, metering
from isonomia.models.session import ModelSession, packed, unpacked
from isonomia.models.steady import MAX_AGAIN, SteadinessReport, spread_evenly
from isonomia.populations.finite import Census
from isonomia.populations.protocol import Population, facts_of
from isonomia.populations.streaming import LongTable
from isonomia.populations.table import Table
from isonomia.records.journal import Entry, Journal

KEY = "everybody"
"""The journal key of the counts of all rows."""

LEAST = 2**18
"""The fewest rows in one piece, unless the table ends: enough to keep a worker busy for a while."""

Context = TypeVar("Context")
Counts = TypeVar("Counts")


@dataclass(frozen=True, slots=True)
class RowCounter(Generic[Context, Counts]):
    """How rows are counted.

    Attributes
    ----------
    batches
        Counts the rows of a census, or its pairs, from a first one up to, but not including, a last one, in batches,
        each with its number of rows: a module-level function, so that workers find it.
    context
        What else it needs; sent to each worker once.
    zero, add
        The counts of no rows, and the counts of two parts together; also a module-level function.
    pack, unpack
        From the counts of a part to an entry of a journal, and back.
    """

    batches: Callable[[Context, ModelSession | None, Population, int, int], Iterator[tuple[int, Counts]]]
    context: Context
    zero: Counts
    add: Callable[[Counts, Counts], Counts]
    pack: Callable[[Counts], Entry]
    unpack: Callable[[Entry], Counts]

    def count(self, session: ModelSession | None, census: Population, start: int, stop: int) -> Counts:
        """The counts of some rows together."""
        return reduce(
            self.add, (counts for _, counts in self.batches(self.context, session, census, start, stop)), self.zero
        )


@dataclass(frozen=True, slots=True)
class CensusCount(Generic[Counts]):
    """The counts of a census: how many people, or pairs, were counted, and whether Ctrl-C ended it early."""

    people: int
    counts: Counts
    interrupted: bool = False


def count_population(
    check: Check[Any],
    counter: RowCounter[Any, Counts],
    size: int,
    observer: Observer,
    *,
    pack: Callable[[CensusCount[Counts]], Entry],
    unpack: Callable[[Entry], CensusCount[Counts]],
    counted: str = "people",
    sharing: SharedPeople | None = None,
    by_pool: bool = True,
) -> CensusCount[Counts]:
    """Count every row, or every pair of rows; the verdict is computed from the counts, now and in every replay.

    The workers of a pool, where they may, read the files of a long table for themselves. ``pack`` and ``unpack`` are
    how the journal keeps the result; nothing is kept of a census that was interrupted.
    """
    observer.begin(str(check.prop))
    everybody = None if sharing is None else sharing.everybody
    session = None if check.model is None else check.model.recorded(check.journal, everybody=everybody)
    try:
        entry = check.journal.recall(KEY)
        if entry is not None:
            return unpack(entry)
        result = CensusCount(0, counter.zero)
        began = monotonic()
        try:
            pool = check.pool if by_pool and sharing is None else None
            pieces = by_workers(pool, session, check.population, counter, check.journal)
            if pieces is None:
                pieces = counter.batches(counter.context, session, check.population, 0, size)
            for rows, counts in pieces:
                result = CensusCount(result.people + rows, counter.add(result.counts, counts))
                spent = monotonic() - began
                observer.advance(Progress(result.people, size, result.people / size, spent, _exactly, counted))
        except KeyboardInterrupt:
            return replace(result, interrupted=True)
        check.journal.keep(KEY, partial(pack, result))
        return result
    finally:
        observer.end()
        if session is not None:
            session.close()


def rows_for_engine(
    session: ModelSession | None, population: Population, start: int, stop: int
) -> Table | LongTable | None:
    """The rows that are to be counted, where these are all rows of a table that has every answer."""
    rows = facts_of(population).rows if session is None else None
    return rows if rows is not None and (start, stop) == (0, rows.rows) else None


def _exactly() -> str:
    return "counting all rows"


@dataclass(frozen=True, slots=True)
class _WorkerContext(Generic[Counts]):
    """What is sent to every worker once."""

    counter: RowCounter[Any, Counts]
    model: ModelSession
    watched: bool
    table: LongTable


def by_workers(
    pool: Pool | None, session: ModelSession | None, population: Any, counter: RowCounter[Any, Counts], journal: Journal
) -> Iterator[tuple[int, Counts]] | None:
    """The number of rows and the counts of each piece, in order; ``None`` where workers cannot read for themselves.

    They can where the table is in files and the model has no cache, which only one process can keep. Without a model
    the engine of the table counts, with threads of its own.
    """
    table = population.rows if isinstance(population, Census) else None
    if pool is None or session is None or not isinstance(table, LongTable) or not table.in_files:
        return None
    if session.direct_workers is None or current_meter().limited:
        return None
    model = session.apart()
    context = _WorkerContext(counter, model, session.steady is not None, LongTable(table.reader))
    return _pieces(pool, TaskContext(context, model.name), table.pieces(LEAST), counter, journal, session)


def fingerprint_by_workers(pool: Pool, population: Any) -> None:
    """Let workers start on the fingerprint of a long table, one column each, before it is needed."""
    table = population.rows if isinstance(population, Census) else None
    if not isinstance(table, LongTable) or not table.in_files:
        return
    shared, names = TaskContext(LongTable(table.reader), "the table"), [[name] for name in table.names]
    table.expect_columns(lambda: partial(_values, pool.begin(_column_values, shared, names, [1] * len(names))))


def _values(tasks: StartedTasks) -> Iterator[bytes]:
    return (value for values in tasks.results() for value in values)


def _column_values(table: LongTable, names: Sequence[str]) -> list[bytes]:
    """What a worker does with one column."""
    return table.column_values(names)


def _pieces(
    pool: Pool,
    shared: TaskContext,
    edges: Sequence[tuple[int, int]],
    counter: RowCounter[Any, Counts],
    journal: Journal,
    session: ModelSession,
) -> Iterator[tuple[int, Counts]]:
    """Each piece, from the journal or by a worker; in the end other workers repeat some questions.

    Where some pieces are in the journal, some of their rows are queried again before new ones are begun.
    """
    context: _WorkerContext[Counts] = shared.value
    watched = session if context.watched else None
    keys = {piece: f"answer of rows {piece[0]} to {piece[1]}" for piece in edges}
    recalled = {piece: entry for piece in edges if (entry := journal.recall(keys[piece])) is not None}
    left = [piece for piece in edges if piece not in recalled]
    if watched is not None and left:
        for (start, _), entry in recalled.items():
            for row, answer in _noted_answers(entry, -(-MAX_AGAIN // len(recalled))):
                first, answered = start + row, watched.recorded(_OneAnswer(answer))
                context.counter.count(answered, Census(context.table), first, first + 1)
        watched.settle()
    tasks = pool.begin(_count_piece, shared, left, [stop - start for start, stop in left])
    fresh, handed = tasks.results(), list[SteadinessReport]()
    try:
        for piece in edges:
            if piece in recalled:
                counts = counter.unpack(recalled[piece])
            else:
                counts, queries, noted = next(fresh)
                count(*queries)
                handed += [] if noted is None else [noted]
                journal.keep(keys[piece], partial(_packed_piece, counter, counts, noted))
            yield piece[1] - piece[0], counts
        if watched is not None:
            watched.take_over(handed)
    finally:
        tasks.drop()


def _packed_piece(counter: RowCounter[Any, Counts], counts: Counts, handed: SteadinessReport | None) -> Entry:
    """A piece as the journal keeps it: its counts, and the answers about some of its rows."""
    entry = dict(counter.pack(counts))
    if handed is not None and handed.noted and (rows := handed.noted[0].rows) is not None:
        entry["noted"] = {"rows": rows.tolist(), **packed(handed.noted[0].answer)}
    return entry


def _noted_answers(entry: Entry, most: int) -> Iterator[tuple[int, Entry]]:
    """The answers about at most so many rows of a piece that was kept, each with the number of its row."""
    noted = entry.get("noted", {"rows": []})
    for index in spread_evenly(len(noted["rows"]), most):
        answer = unpacked(noted)
        prediction, score = (
            None if values is None else values[index : index + 1] for values in (answer.prediction, answer.score)
        )
        yield noted["rows"][index], packed(replace(answer, prediction=prediction, score=score))


@dataclass(frozen=True, slots=True)
class _OneAnswer:
    """A journal of the answer to the first question; nothing is added to it."""

    entry: Entry

    def recall(self, key: str) -> Entry | None:
        return self.entry if key == "answer 0" else None

    def keep(self, key: str, make: Callable[[], Entry]) -> None:
        pass


def _count_piece(
    context: _WorkerContext[Any], piece: tuple[int, int]
) -> tuple[Any, tuple[int, int], SteadinessReport | None]:
    """What a worker does with one piece: its counts, how many rows it sent to the model, and some of these rows.

    It repeats questions by itself, too, so that a model which answers at random is found early.
    """
    model = context.model.apart(MAX_AGAIN if context.watched else 0, repeats=True)
    with metering(None) as meter:
        counts = context.counter.count(model, Census(context.table), *piece)
    return counts, meter.sent, None if model.steady is None else model.steady.handed()
