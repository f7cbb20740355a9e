"""Decisions in databases: tables of SQLite and PostgreSQL whose key, a whole number, grows with every row."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import date, datetime, time
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from threading import Event
from time import monotonic, sleep
from typing import Any, NoReturn

from isonomia.errors import DataError, UsageError
from isonomia.models.files import needed
from isonomia.populations.files import table_of
from isonomia.watch.source import AT_ONCE, ColumnKinds, Position, SourcePart, days_of, pieces
from isonomia.watch.stream import DECISIONS, ids_of
from isonomia.wording import excerpt

MAX_FETCHED = 2**26
"""The most bytes of a value in an SQLite file, and of the texts that are fetched at once, but for one row."""

MAX_COMPUTED = 2**20
"""The maximum number of bytes of a value in a table that has computed columns."""


@dataclass(slots=True)
class SqliteTable:
    """A table in an SQLite file whose key, a whole number, grows with every row."""

    path: Path
    name: str
    table: str
    key: str
    brings: str = DECISIONS
    id: str | None = None  # the column that identifies samples
    time: str | None = None
    _key: int | None = None
    _kinds: ColumnKinds = field(default_factory=ColumnKinds)

    ended = False

    def resume(self, positions: Sequence[Position]) -> None:
        """Go on after the last key."""
        self._key = int(positions[-1]["key"]) if positions else None
        self._kinds = ColumnKinds(dict(positions[-1].get("kinds", {})) if positions else {})

    def new(self, stop: Event) -> Iterator[SourcePart]:
        """The rows with greater keys. SQLite has one writer at a time, so keys become visible in their order."""
        before = self._key
        yield from _new_rows(self, None, stop)
        if before is not None and self._key == before:
            _, ((newest,),) = self._fetched(f"SELECT max({_quoted(self.key)}) FROM {_quoted(self.table)}", ())
            _refuse_restarted(self, newest)

    def again(self, before: Position | None, entry: Position, rows: int) -> Iterator[SourcePart]:
        """The rows between two keys, read again."""
        del rows
        return _rows_again(self, before, entry)

    def describe(self) -> str:
        """The file and the table."""
        return f"sqlite {self.name}, table {self.table}, key {self.key}"

    def rows(self, low: int | None, high: int | None) -> _Fetched:
        """Some rows whose keys are greater than one, and at most another."""
        return self._fetched(*_query(_quoted(self.table), _quoted(self.key), "?", low, high))

    def count(self, key: int) -> int:
        """How many rows have a key."""
        query = f"SELECT count(*) FROM {_quoted(self.table)} WHERE {_quoted(self.key)} = ?"
        return int(self._fetched(query, (key,))[1][0][0])

    def _fetched(self, query: str, given: tuple[int, ...]) -> _Fetched:
        try:
            with closing(sqlite3.connect(f"{self.path.absolute().as_uri()}?mode=ro", uri=True, timeout=60)) as database:
                # A file may come from a stranger, and a view in it could have endless rows.
                database.execute("PRAGMA trusted_schema = OFF")
                kind = database.execute("SELECT type FROM sqlite_master WHERE name = ?", (self.table,)).fetchone()
                if kind == ("view",):
                    raise DataError(f"expected a table of {self.path}, but {self.table!r} is a view")
                # What a few bytes of a file can be computed or repeated to, is bounded: a value, and rows together.
                (computed,) = database.execute(
                    "SELECT count(*) FROM pragma_table_xinfo(?) WHERE hidden > 1", (self.table,)
                ).fetchone()
                database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_COMPUTED if computed else MAX_FETCHED)
                cursor = database.execute(query, given)
                rows: list[Any] = []
                size = 0
                for row in cursor:
                    rows.append(row)
                    size += sum(len(value) for value in row if isinstance(value, str | bytes))
                    if size > MAX_FETCHED:
                        break
                return [column[0] for column in cursor.description], rows
        except (sqlite3.Error, OverflowError) as error:
            raise DataError(f"expected to read the table {self.table!r} of {self.path}, but: {error}") from error


@dataclass(slots=True)
class PostgresTable:
    """A PostgreSQL table with a growing key, a whole number that the database assigns to every new row.

    Concurrent transactions do not commit in the order of their keys, so a row may become visible after one with a
    greater key was read. To lose none, the rows up to a key are read only after all transactions have ended that were
    writing to the table when the key was seen: any that will insert a smaller key had locked the table by then. This
    blocks no other transaction.
    """

    conninfo: str | None = field(repr=False)
    variable: str | None
    table: str
    key: str
    brings: str = DECISIONS
    id: str | None = None  # the column that identifies samples
    time: str | None = None
    wait: float = 5.0  # seconds for transactions to end; after that the rows are left for later
    _key: int | None = None
    _kinds: ColumnKinds = field(default_factory=ColumnKinds)
    _barrier: tuple[int, frozenset[str]] | None = None
    _connection: Any = field(default=None, repr=False)

    ended = False

    def resume(self, positions: Sequence[Position]) -> None:
        """Go on after the last key."""
        self._key = int(positions[-1]["key"]) if positions else None
        self._kinds = ColumnKinds(dict(positions[-1].get("kinds", {})) if positions else {})

    def new(self, stop: Event) -> Iterator[SourcePart]:
        """The rows with greater keys, up to the greatest key before which no row is missing."""
        with self._explained():
            upto = self._settled(stop)
        if upto is not None:
            yield from _new_rows(self, upto, stop)

    def again(self, before: Position | None, entry: Position, rows: int) -> Iterator[SourcePart]:
        """The rows between two keys, read again."""
        del rows
        return _rows_again(self, before, entry)

    def describe(self) -> str:
        """The table; the address of the database is not part of it, and may change."""
        return f"postgres table {self.table}, key {self.key}"

    def _settled(self, stop: Event) -> int | None:
        """The greatest key seen, once all transactions that were writing then have ended; ``None`` before."""
        if self._barrier is None:
            newest = self._one(f"SELECT max({_quoted(self.key)}) FROM {_dotted(self.table)}")
            _refuse_restarted(self, newest)
            if newest is None or (self._key is not None and newest <= self._key):
                return None
            self._barrier = _whole(newest, self.key, self.table), self._writers()
        upto, writers = self._barrier
        until = monotonic() + self.wait
        while writers := writers & self._writers():
            if monotonic() > until or stop.is_set():
                return None
            sleep(0.02)
        self._barrier = None
        return upto

    def _writers(self) -> frozenset[str]:
        """The transactions that may be writing to the table, or to a partition of it."""
        rows = self._connected().execute(
            "SELECT virtualtransaction FROM pg_locks WHERE locktype = 'relation' AND granted AND pid IS DISTINCT FROM "
            "pg_backend_pid() AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) AND "
            "relation IN (SELECT to_regclass(%s)::oid UNION SELECT relid::oid FROM pg_partition_tree(to_regclass(%s))) "
            "AND mode IN ('RowExclusiveLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')",
            (_dotted(self.table), _dotted(self.table)),
        )
        return frozenset(row[0] for row in rows)

    def rows(self, low: int | None, high: int | None) -> _Fetched:
        """Some rows whose keys are greater than one, and at most another."""
        query, given = _query(_dotted(self.table), _quoted(self.key), "%s", low, high)
        with self._explained():
            cursor = self._connected().execute(query.replace("%", "%%").replace("%%s", "%s"), given)
            return [column.name for column in cursor.description], cursor.fetchall()

    def count(self, key: int) -> int:
        """How many rows have a key."""
        with self._explained():
            return int(self._one(f"SELECT count(*) FROM {_dotted(self.table)} WHERE {_quoted(self.key)} = {key}"))

    def _one(self, query: str) -> Any:
        return self._connected().execute(query.replace("%", "%%"), ()).fetchone()[0]

    def _connected(self) -> Any:
        if self._connection is None or self._connection.closed:
            psycopg = needed("psycopg", "postgres", "a table of PostgreSQL")
            address = self.conninfo
            if self.variable is not None:
                address = os.environ.get(self.variable, "").strip()
                if not address:
                    raise UsageError(
                        f"expected the connection to PostgreSQL in the environment variable {self.variable}, such as "
                        "postgresql://name@host/database, but it is not set"
                    )
            self._connection = psycopg.connect(address, autocommit=True, application_name="isonomia watch")
            self._connection.read_only = True
            kind = self._one(f"SELECT relkind FROM pg_class WHERE oid = {_literal(_dotted(self.table))}::regclass")
            if kind not in ("r", "p", b"r", b"p"):
                raise DataError(f"expected a table of PostgreSQL, but {self.table!r} is a view or something else")
        return self._connection

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn the driver's errors into ours, without the address, which may hold a password."""
        psycopg = needed("psycopg", "postgres", "a table of PostgreSQL")
        try:
            yield
            return
        except psycopg.Error as error:
            reason = excerpt(" ".join(str(error).split()), 300)
        raise DataError(f"expected to read the table {self.table!r} of PostgreSQL, but: {reason}")


_Fetched = tuple[Sequence[str], Sequence[Sequence[Any]]]
"""The names of columns, and rows."""


def _refuse_restarted(source: SqliteTable | PostgresTable, newest: Any) -> None:
    """Refuse a greatest key below the last one that was read: rows with such keys would never be read."""
    if newest is not None and source._key is not None and _whole(newest, source.key, source.table) < source._key:
        raise DataError(
            f"the greatest {source.key!r} of {source.table!r} is {newest:,}, but rows up to {source._key:,} were read: "
            "the keys restarted, or rows were deleted. New rows would be missed. Continue "
            f"the keys after {source._key:,}, or begin with a new store"
        )


def _new_rows(source: SqliteTable | PostgresTable, upto: int | None, stop: Event) -> Iterator[SourcePart]:
    while not stop.is_set():
        if source._key is not None and source.count(source._key) > 1:  # the others would never be read
            _refuse_repeated(source, source._key)
        for part in (parts := _parts(source, *source.rows(source._key, upto))):
            yield part
            source._key = int((part.position or {})["key"])
        if not parts:
            return


def _rows_again(source: SqliteTable | PostgresTable, before: Position | None, entry: Position) -> Iterator[SourcePart]:
    low, high = None if before is None else int(before["key"]), int(entry["key"])
    while parts := _parts(source, *source.rows(low, high)):
        yield from parts
        low = int((parts[-1].position or {})["key"])


def _query(table: str, key: str, mark: str, low: int | None, high: int | None) -> tuple[str, tuple[int, ...]]:
    limits = [(f"{key} > {mark}", low), (f"{key} <= {mark}", high)]
    chosen = [(text, value) for text, value in limits if value is not None]
    where = f" WHERE {' AND '.join(text for text, _ in chosen)}" if chosen else ""
    return f"SELECT * FROM {table}{where} ORDER BY {key} LIMIT {AT_ONCE}", tuple(value for _, value in chosen)


def _parts(
    source: SqliteTable | PostgresTable, names: Sequence[str], rows: Sequence[Sequence[Any]]
) -> list[SourcePart]:
    """Rows as parts, none if there are no rows."""
    key, table = source.key, source.table
    if rows and key not in names:
        raise DataError(f"expected the key {key!r} among the columns of {table!r}, which are {', '.join(names)}")
    index = {name: k for k, name in enumerate(names)}
    keys = [_whole(row[index[key]], key, table) for row in rows]
    twice = next((left for left, right in pairwise(keys) if left == right), None)
    if twice is not None:
        _refuse_repeated(source, twice)
    where = [f"{key} {number:,}" for number in keys]
    days = days_of([_plain(row[index[source.time]]) for row in rows], source.time) if source.time in index else None
    labels = where if days is None else [f"{day}, {each}" for day, each in zip(days, where, strict=True)]
    parts = []
    for start, end in pieces(days, len(rows)):
        here, chosen = where[start:end], rows[start:end]
        at = index.get(source.id or "")
        ids = None if at is None else ids_of([row[at] for row in chosen], source.id, labels[end - 1])
        columns = {name: [_plain(row[k]) for row in chosen] for name, k in index.items() if k != at}
        typed = {name: source._kinds.column(name, each, here) for name, each in columns.items()}
        content = table_of(typed if ids is None else {str(source.id): list(ids), **typed}, table)
        position = {"key": keys[end - 1], "kinds": dict(source._kinds.known)}
        named = tuple(labels[start:end])
        parts.append(SourcePart(content, position, named[-1], source.brings, ids=ids, names=named))
    return parts


def _refuse_repeated(source: SqliteTable | PostgresTable, key: int) -> NoReturn:
    raise DataError(f"expected a unique key for every row of {source.table!r}, but {source.key} {key} occurs twice")


def _whole(value: Any, key: str, table: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise DataError(f"expected an increasing whole number as the key {key!r} of {table!r}, but got {value!r}")
    return value


def _plain(value: Any) -> Any:
    """A database value as a file would have it: a number, a truth value, or text."""
    match value:
        case None | bool() | int() | float() | str():
            return value
        case Decimal():
            return float(value)
        case datetime() | date() | time():
            return value.isoformat()
        case dict() | list():
            return json.dumps(value, default=str)
        case _:
            return str(value)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _dotted(name: str) -> str:
    """A table, perhaps with its schema before a dot."""
    return ".".join(map(_quoted, name.split(".")))


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
