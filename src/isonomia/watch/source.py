"""Where decisions come from: a folder to which files are added, a table with a growing key, lines of standard input.

A source gives what has come since a position, in parts, each with the position after it. The position is stored in the
same transaction as the results of the part, so every row counts once, whenever the process is killed.
"""

from __future__ import annotations

import csv
import json
import os
import sqlite3
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import date, datetime, time
from decimal import Decimal
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from queue import Empty, Queue
from threading import Event, Thread
from time import monotonic, sleep
from typing import IO, Any, Protocol

from isonomia.errors import DataError, UsageError
from isonomia.models.files import needed
from isonomia.populations.files import files_in, read_rows, table_of
from isonomia.populations.table import Table
from isonomia.watch.stream import DECISIONS, OUTCOMES
from isonomia.wording import excerpt, shortened

__all__ = [
    "Folder",
    "Lines",
    "Part",
    "Position",
    "PostgresTable",
    "SqliteTable",
    "StreamSource",
]

Position = Mapping[str, Any]
"""How far a source was read, as values that JSON can hold."""

AT_ONCE = 10_000
"""The most rows of a table, or lines, that are taken at once."""


@dataclass(frozen=True, slots=True)
class Part:
    """Rows that are counted together, or not at all.

    Attributes
    ----------
    table
        The rows; ``None`` if there are none, as in a file with only a header.
    position
        The position of the source after them.
    label
        Where they come from, for people: the name of a file.
    brings
        Samples, or outcomes.
    alone
        Whether it has a log entry of its own, as a file does. Rows of a table are merged with the part before.
    digest
        The SHA-256 of a file.
    """

    table: Table | None
    position: Position
    label: str
    brings: str = DECISIONS
    alone: bool = False
    digest: str | None = None

    @property
    def rows(self) -> int:
        """How many rows it has."""
        return 0 if self.table is None else self.table.rows


class StreamSource(Protocol):
    """Gives rows in an order that stays the same."""

    def resume(self, positions: Sequence[Position]) -> None:
        """Continue after these positions, which were stored in this order."""

    def new(self, stop: Event) -> Iterator[Part]:
        """What has come since; it ends when there is nothing more for now."""
        ...

    def again(self, before: Position | None, entry: Position, rows: int) -> Iterator[Part]:
        """Read again what was read between two positions."""
        ...

    @property
    def ended(self) -> bool:
        """Whether nothing more can come."""
        ...

    def describe(self) -> str:
        """What it is, in words that stay the same as long as positions in it mean the same."""
        ...


# ----------------------------------------------------------------------------------------------------------- a folder


@dataclass(slots=True)
class Folder:
    """Files that are added to a folder, each a part, in the order of their names.

    A file is read once, as a whole. One that is still empty, or changes while it is read, is left for later. Writers
    should move files there when they are complete, or give them a name that begins with a dot until then.
    """

    path: Path
    name: str
    brings: str = DECISIONS
    inside: Path | None = None  # links must not lead out of it
    _read: dict[str, int] = field(default_factory=dict)

    ended = False

    def resume(self, positions: Sequence[Position]) -> None:
        """Skip files that were read."""
        self._read = {str(each["file"]): int(each["bytes"]) for each in positions}

    def new(self, stop: Event) -> Iterator[Part]:
        """The files that have not been read yet."""
        if not self.path.is_dir():
            raise DataError(f"expected a folder to which files are added, but {self.path} is none")
        for file in files_in(self.path):
            if stop.is_set():
                return
            name, size = file.relative_to(self.path).as_posix(), file.stat().st_size
            if name in self._read:
                self._check_unchanged(file, name, size)
            elif size and (part := self._part(file, name)) is not None:
                yield part
                self._read[name] = int(part.position["bytes"])

    def again(self, before: Position | None, entry: Position, rows: int) -> Iterator[Part]:
        """Read a file again."""
        del before, rows
        name = Path(str(entry["file"]))
        if name.is_absolute() or ".." in name.parts:  # possible in a record from a stranger
            raise DataError(f"expected the name of a file in {self.path}, but {str(name)!r} is none")
        file = self.path / name
        if not file.is_file():
            raise DataError(f"expected {file}, which was read before, but it is not there any more")
        part = self._part(file, str(entry["file"]))
        if part is not None:
            yield part

    def describe(self) -> str:
        """The folder as the watch file names it: a copy of it elsewhere counts as the same."""
        return f"folder {self.name}"

    def _check_unchanged(self, file: Path, name: str, size: int) -> None:
        if size != self._read[name]:
            raise DataError(
                f"{file} had {self._read[name]:,} bytes when it was read, and has {size:,} now. A file is read once, "
                "as a whole: put new rows into a new file"
            )

    def _part(self, file: Path, name: str) -> Part | None:
        if self.inside is not None and not file.resolve().is_relative_to(self.inside):
            raise DataError(f"{file} leads out of the folder of the watch file, to {file.resolve()}: --allow-outside")
        before = file.stat()
        with file.open("rb") as stream:
            digest = sha256()
            while block := stream.read(2**20):
                digest.update(block)
        try:
            table = read_rows(file)
        except DataError:
            if _stamp(file.stat()) != _stamp(before):
                return None  # half of a file that is still being written
            raise
        if _stamp(file.stat()) != _stamp(before):
            return None
        position = {"file": name, "bytes": before.st_size}
        return Part(table, position, name, self.brings, alone=True, digest=digest.hexdigest())


def _stamp(found: os.stat_result) -> tuple[int, int, int]:
    return found.st_size, found.st_mtime_ns, found.st_ino


# ------------------------------------------------------------------------------------------------------ standard input


@dataclass(slots=True)
class Lines:
    """Lines of standard input: JSON, one object per line, or CSV with a header.

    All input is new: lines that the process had read but not counted when it was killed are lost. If the sender
    ``repeats`` everything from the first line at every start, lines that were counted are skipped. A JSON object that
    has only the id and the outcome brings the outcome of an earlier sample.
    """

    format: str
    repeats: bool = False
    late: tuple[str, str] | None = None  # the id and the outcome
    stream: IO[bytes] | None = None
    _line: int = 0
    _passed: int = 0
    _header: list[str] | None = None
    _queue: Queue[bytes | None] | None = None
    _ended: bool = False

    def resume(self, positions: Sequence[Position]) -> None:
        """Continue counting lines."""
        self._line = int(positions[-1]["line"]) if positions else 0
        self._passed = self._line if self.repeats else 0

    @property
    def ended(self) -> bool:
        """Whether the sender has closed it."""
        return self._ended

    def new(self, stop: Event) -> Iterator[Part]:
        """The lines that have arrived; waits for the first of them."""
        lines = self._taken(stop, AT_ONCE)
        if lines:
            yield from self._parts(lines)

    def again(self, before: Position | None, entry: Position, rows: int) -> Iterator[Part]:
        """Read the lines between two positions again."""
        del rows
        if not self.repeats:
            raise UsageError(
                "lines of standard input cannot be read again: with again = true, below [source], the sender begins "
                "with the first line each time"
            )
        wanted = int(entry["line"]) - (0 if before is None else int(before["line"]))
        while wanted > 0:
            lines = self._taken(Event(), min(wanted, AT_ONCE))
            if not lines:
                raise DataError(f"expected {wanted:,} more lines, as many as were counted, but standard input ended")
            wanted -= len(lines)
            yield from self._parts(lines)

    def describe(self) -> str:
        """Standard input, and how it is read."""
        return f"lines of {self.format}"

    def _taken(self, stop: Event, limit: int) -> list[bytes]:
        """Wait for a line, and take all that have arrived with it, up to a limit."""
        if self._queue is None:
            self._queue = Queue(2 * AT_ONCE)
            stream = self.stream or sys.stdin.buffer
            Thread(target=_read_all, args=(stream, self._queue), daemon=True).start()
        lines: list[bytes] = []
        while not self._ended and len(lines) < limit and not (stop.is_set() and not lines):
            try:
                line = self._queue.get(timeout=0.2) if not lines else self._queue.get_nowait()
            except Empty:
                if lines:
                    break
                continue
            if line is None:
                self._ended = True
            elif self.format == "csv" and self._header is None:
                self._header = next(csv.reader([_text(line, 1)]))
            elif self._passed:
                self._passed -= 1
            else:
                lines.append(line)
        return lines

    def _parts(self, lines: Sequence[bytes]) -> Iterator[Part]:
        """Lines as parts, each of which brings only samples or only outcomes."""
        rows = [self._row(line, self._line + k + 1) for k, line in enumerate(lines)]
        start = 0
        while start < len(rows):
            brings, end = self._brings(rows[start]), start + 1
            while end < len(rows) and self._brings(rows[end]) == brings:
                end += 1
            chosen = [row for row in rows[start:end] if row]
            self._line += end - start
            label = f"line {self._line:,}"
            yield Part(self._table(chosen, label), {"line": self._line}, label, brings)
            start = end

    def _row(self, line: bytes, number: int) -> dict[str, Any]:
        text = _text(line, number)
        if not text.strip():
            return {}
        if self.format == "csv":
            cells = next(csv.reader([text]))
            if text.count('"') % 2 or len(cells) != len(self._header or ()):
                raise DataError(
                    f"line {number:,} of standard input: expected {len(self._header or ())} cells, as the header has, "
                    f"but got {shortened(text, 120)!r}. A row must be one line"
                )
            return dict(zip(self._header or (), cells, strict=True))
        try:
            row = json.loads(text, parse_constant=_no_constant)
        except (ValueError, RecursionError) as error:
            raise DataError(
                f"line {number:,} of standard input: expected a JSON object, but got {shortened(text, 120)!r}: {error}"
            ) from None
        if not isinstance(row, dict):
            raise DataError(f"line {number:,} of standard input: expected a JSON object, but got {row!r}")
        return row

    def _brings(self, row: Mapping[str, Any]) -> str:
        return OUTCOMES if self.late is not None and set(row) == set(self.late) else DECISIONS

    def _table(self, rows: Sequence[Mapping[str, Any]], label: str) -> Table | None:
        if not rows:
            return None
        names = dict.fromkeys(name for row in rows for name in row)
        columns = {name: [row.get(name) for row in rows] for name in names}
        if self.format == "csv":
            from isonomia.populations.text_files import inferred

            columns = {name: inferred([value or None for value in values]) for name, values in columns.items()}
        return table_of(columns, f"standard input up to {label}")


def _read_all(stream: IO[bytes], lines: Queue[bytes | None]) -> None:
    for line in stream:
        lines.put(line)
    lines.put(None)


def _text(line: bytes, number: int) -> str:
    try:
        return line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise DataError(f"line {number:,} of standard input is not UTF-8: {error.reason}") from error


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number in JSON")


# ------------------------------------------------------------------------------------------------------ database tables


@dataclass(slots=True)
class SqliteTable:
    """A table in an SQLite file whose key, a whole number, grows with every row."""

    path: Path
    name: str
    table: str
    key: str
    brings: str = DECISIONS
    _key: int | None = None

    ended = False

    def resume(self, positions: Sequence[Position]) -> None:
        """Go on after the last key."""
        self._key = int(positions[-1]["key"]) if positions else None

    def new(self, stop: Event) -> Iterator[Part]:
        """The rows with greater keys. SQLite has one writer at a time, so keys become visible in their order."""
        while not stop.is_set():
            part = self._between(self._key, None)
            if part is None:
                return
            yield part
            self._key = int(part.position["key"])

    def again(self, before: Position | None, entry: Position, rows: int) -> Iterator[Part]:
        """The rows between two keys once more."""
        del rows
        return _all_between(self._between, before, entry)

    def describe(self) -> str:
        """The file and the table."""
        return f"sqlite {self.name}, table {self.table}, key {self.key}"

    def _between(self, low: int | None, high: int | None) -> Part | None:
        query, given = _query(_quoted(self.table), _quoted(self.key), "?", low, high)
        try:
            with closing(sqlite3.connect(f"{self.path.absolute().as_uri()}?mode=ro", uri=True, timeout=60)) as database:
                # A file may come from a stranger, and a view in it could have endless rows.
                database.execute("PRAGMA trusted_schema = OFF")
                kind = database.execute("SELECT type FROM sqlite_master WHERE name = ?", (self.table,)).fetchone()
                if kind == ("view",):
                    raise DataError(f"expected a table of {self.path}, but {self.table!r} is a view")
                cursor = database.execute(query, given)
                names = [column[0] for column in cursor.description]
                rows = cursor.fetchall()
        except sqlite3.Error as error:
            raise DataError(f"expected to read the table {self.table!r} of {self.path}, but: {error}") from error
        return _part(names, rows, self.key, self.table, self.brings)


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
    wait: float = 5.0  # seconds for transactions to end; after that the rows are left for later
    _key: int | None = None
    _barrier: tuple[int, frozenset[str]] | None = None
    _connection: Any = field(default=None, repr=False)

    ended = False

    def resume(self, positions: Sequence[Position]) -> None:
        """Go on after the last key."""
        self._key = int(positions[-1]["key"]) if positions else None

    def new(self, stop: Event) -> Iterator[Part]:
        """The rows with greater keys, up to the greatest key before which no row is missing."""
        with self._explained():
            upto = self._settled(stop)
        while upto is not None and not stop.is_set():
            part = self._between(self._key, upto)
            if part is None:
                return
            yield part
            self._key = int(part.position["key"])

    def again(self, before: Position | None, entry: Position, rows: int) -> Iterator[Part]:
        """The rows between two keys once more."""
        del rows
        return _all_between(self._between, before, entry)

    def describe(self) -> str:
        """The table; the address of the database is not part of it, and may change."""
        return f"postgres table {self.table}, key {self.key}"

    def _settled(self, stop: Event) -> int | None:
        """The greatest key seen, once all transactions that were writing then have ended; ``None`` before."""
        if self._barrier is None:
            newest = self._one(f"SELECT max({_quoted(self.key)}) FROM {_dotted(self.table)}")
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

    def _between(self, low: int | None, high: int | None) -> Part | None:
        query, given = _query(_dotted(self.table), _quoted(self.key), "%s", low, high)
        with self._explained():
            cursor = self._connected().execute(query.replace("%", "%%").replace("%%s", "%s"), given)
            names = [column.name for column in cursor.description]
            rows = cursor.fetchall()
        return _part(names, rows, self.key, self.table, self.brings)

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
                        f"expected how to connect to PostgreSQL in the environment variable {self.variable}, such as "
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


def _all_between(between: Any, before: Position | None, entry: Position) -> Iterator[Part]:
    low, high = None if before is None else int(before["key"]), int(entry["key"])
    while (part := between(low, high)) is not None:
        yield part
        low = int(part.position["key"])


def _query(table: str, key: str, mark: str, low: int | None, high: int | None) -> tuple[str, tuple[int, ...]]:
    limits = [(f"{key} > {mark}", low), (f"{key} <= {mark}", high)]
    chosen = [(text, value) for text, value in limits if value is not None]
    where = f" WHERE {' AND '.join(text for text, _ in chosen)}" if chosen else ""
    return f"SELECT * FROM {table}{where} ORDER BY {key} LIMIT {AT_ONCE}", tuple(value for _, value in chosen)


def _part(names: Sequence[str], rows: Sequence[Sequence[Any]], key: str, table: str, brings: str) -> Part | None:
    if not rows:
        return None
    if key not in names:
        raise DataError(f"expected the key {key!r} among the columns of {table!r}, which are {', '.join(names)}")
    place = names.index(key)
    keys = [_whole(row[place], key, table) for row in rows]
    twice = next((left for left, right in pairwise(keys) if left == right), None)
    if twice is not None:
        raise DataError(f"expected a key of its own for every row of {table!r}, but {key} {twice} comes twice")
    columns = {name: [_plain(row[k]) for row in rows] for k, name in enumerate(names)}
    return Part(table_of(columns, table), {"key": keys[-1]}, f"{key} {keys[-1]:,}", brings)


def _whole(value: Any, key: str, table: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise DataError(f"expected a whole number that grows as the key {key!r} of {table!r}, but got {value!r}")
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
