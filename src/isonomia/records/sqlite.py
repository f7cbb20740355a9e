"""SQLite files: one way to open them, to check what is in them, and to explain their errors.

A file may come from a stranger, and it is data, never a program: a file of another application or format, and one with
triggers, views, indexes or other tables than its schema says, is refused before anything else is read. A process that
is killed at any moment loses at most the transaction in flight, and several processes may write at once.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext, suppress
from copy import copy
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from isonomia.errors import DataError, RecordError, refuse_no_path
from isonomia.wording import excerpt

LOCK_TIMEOUT = 60.0
"""Seconds to wait for another process that is writing."""


@dataclass(frozen=True, slots=True)
class StoreSchema:
    """The tables of one kind of store, as statements that do nothing if they exist.

    ``version`` is stored in a table ``format``, ``application`` in the header of the file; 0 stores neither. A
    ``durable`` store is a single file, and each transaction waits for the disk; any other has a write-ahead log (WAL),
    so that readers and one writer do not wait for each other. Longer values than ``max_value_bytes`` are an error.
    Messages name the ``content``, and advise to ``retry`` or to go ``elsewhere``.
    """

    content: str
    tables: str
    version: int = 0
    application: int = 0
    durable: bool = False
    max_value_bytes: int = 1_000_000_000  # SQLite's default
    retry: str = "go on with --resume"
    elsewhere: str = "another folder with --records FOLDER"

    def statements(self) -> list[str]:
        """Everything that makes the store."""
        script = self.tables
        if self.version:
            script += f"""
            CREATE TABLE IF NOT EXISTS format (version INTEGER PRIMARY KEY) WITHOUT ROWID;
            INSERT OR IGNORE INTO format SELECT {self.version} WHERE NOT EXISTS (SELECT 1 FROM format);"""
        if self.application:
            script += f"PRAGMA application_id = {self.application};"
        return script.split(";")


class Database:
    """One SQLite file with the tables of a schema.

    The file and its folder are created if they do not exist. With ``reading``, a file that cannot be written is opened
    read-only. Every error is a ``RecordError`` with advice that a person can follow.
    """

    def __init__(self, path: Path, schema: StoreSchema, *, reading: bool = False) -> None:
        refuse_no_path(str(path))
        self.path, self.schema = path, schema
        self._address = path.absolute().as_uri()
        self._read_only = False
        self._held: sqlite3.Connection | None = None
        with suppress(PermissionError):  # which opening it explains
            if path.exists() and not path.is_file():
                raise RecordError(f"expected a regular file for the store at {path}, but it is something else")
        try:
            self._create()
        except RecordError:
            if not (reading and self._is_readable()):
                raise

    def connect(self) -> sqlite3.Connection:
        """A connection, which the caller closes."""
        connection = self._open()
        if self._read_only:
            return connection
        try:
            connection.execute(f"PRAGMA synchronous = {'FULL' if self.schema.durable else 'NORMAL'}")
            if not self.schema.durable:
                connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.Error as error:
            # If two processes create the store at once, one changes the mode, and the other finds it locked.
            if _error_family(error) not in {"BUSY", "LOCKED"}:
                connection.close()
                raise
        return connection

    def held_open(self) -> Database:
        """The same file with one connection for everything that is read and written, until it is closed."""
        database = copy(self)
        with self._explained("open the store"):
            database._held = self.connect()
        return database

    def close(self) -> None:
        """Close the connection that is held open."""
        if self._held is not None:
            self._held.close()

    @contextmanager
    def writing(self, what: str) -> Iterator[sqlite3.Connection]:
        """A connection with one transaction; an error says what was to be done."""
        with self._explained(what), self._connection() as connection:
            connection.execute("BEGIN IMMEDIATE")
            with connection:
                yield connection

    @contextmanager
    def reading(self, what: str) -> Iterator[sqlite3.Connection]:
        """A connection to read from; content that cannot be parsed is reported as damaged."""
        try:
            with self._explained(what), self._connection() as connection:
                yield connection
        except (ValueError, TypeError, DataError, RecursionError) as error:
            raise RecordError(f"expected to {what} at {self.path}, but the data there are damaged: {error}") from error

    def size(self) -> int:
        """The bytes of the file and of its write-ahead log."""
        return sum(file.stat().st_size for file in (self.path, self._log) if file.exists())

    def compact(self) -> None:
        """Free the disk space of deleted rows."""
        with self._explained("compact the store"), self._connection() as connection:
            connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    @property
    def _log(self) -> Path:
        return self.path.with_name(f"{self.path.name}-wal")

    def _open(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self._address, uri=True, timeout=LOCK_TIMEOUT, check_same_thread=False, isolation_level=None
        )
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, self.schema.max_value_bytes)
        return connection

    def _connection(self) -> closing[sqlite3.Connection] | nullcontext[sqlite3.Connection]:
        return closing(self.connect()) if self._held is None else nullcontext(self._held)

    def _create(self) -> None:
        """Create the folder, the file and the tables if they do not exist."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RecordError(
                f"expected a folder for {self.schema.content} that can be written, but {self.path.parent}: "
                f"{error.strerror}. Choose {self.schema.elsewhere}"
            ) from error
        with self._explained("open the store"), closing(self._open()) as connection:
            connection.execute("BEGIN IMMEDIATE")
            with connection:
                self._refuse_foreign(connection)
                for statement in self.schema.statements():
                    connection.execute(statement)
                self._refuse_other_version(connection)

    def _is_readable(self) -> bool:
        """Whether it can be opened read-only: as it is, or as immutable if its write-ahead log is empty."""
        self._read_only, address = True, self._address
        whole = not self._log.exists() or self._log.stat().st_size == 0
        for options in ("mode=ro", *(("mode=ro&immutable=1",) if whole else ())):
            self._address = f"{address}?{options}"
            with suppress(sqlite3.Error), closing(self._open()) as connection:
                self._refuse_foreign(connection)
                self._refuse_other_version(connection)
                return True
        return False

    def _refuse_foreign(self, connection: sqlite3.Connection) -> None:
        """Refuse what another program made, and all that computes: it could reverse verdicts, or have endless rows."""
        expected = _table_texts(self.schema)
        objects = connection.execute("SELECT type, name, sql FROM sqlite_master").fetchall()
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        if objects and self.schema.application not in (0, application):
            raise RecordError(f"expected {self.schema.content} at {self.path}, but another program made this database")
        for kind, name, sql in objects:
            if sql is not None and (kind != "table" or expected.get(name, sql.split()) != sql.split()):
                raise RecordError(
                    f"expected tables alone in the store at {self.path}, but it has the {kind} {name!r:.80}, which was "
                    f"not made here: it was not opened. Choose {self.schema.elsewhere}",
                    name=name,
                )

    def _refuse_other_version(self, connection: sqlite3.Connection) -> None:
        if self.schema.version:
            (version,) = connection.execute("SELECT max(version) FROM format").fetchone()
            if version != self.schema.version:
                raise RecordError(
                    f"expected {self.schema.content} of format {self.schema.version} at {self.path}, but got format "
                    f"{version!r:.80}: another version wrote it. Choose {self.schema.elsewhere}"
                )

    @contextmanager
    def _explained(self, what: str) -> Iterator[None]:
        """Turn SQLite's errors into advice."""
        try:
            yield
        except sqlite3.Error as error:
            hint = _HINTS.get(_error_family(error), "Look at the file, or choose {elsewhere}")
            advice = hint.format(content=self.schema.content, retry=self.schema.retry, elsewhere=self.schema.elsewhere)
            message = f"expected to {what} at {self.path}, but: {excerpt(str(error), 200)}. {advice}"
            raise RecordError(message) from error


@cache
def _table_texts(schema: StoreSchema) -> dict[str, list[str]]:
    """The definition of each table, as words."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(";".join(schema.statements()))
        rows = connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL")
        return {name: sql.split() for name, sql in rows}


_NOT_WRITABLE = "The folder cannot be written: change its permissions, or choose {elsewhere}"
_NOT_A_STORE = "It is not a store of {content}: move it away, or choose {elsewhere}"
_BUSY = "Another process has held the file for a long time: wait for it, then {retry}"
_HINTS = {
    "FULL": "The disk is full: make room, then {retry}. Nothing written earlier is lost",
    "IOERR": (
        "The disk failed, or a file has reached its size limit: make room, then {retry}. Nothing "
        "written earlier is lost"
    ),
    "READONLY": _NOT_WRITABLE,
    "CANTOPEN": _NOT_WRITABLE,
    "BUSY": _BUSY,
    "LOCKED": _BUSY,
    "NOTADB": _NOT_A_STORE,
    "CORRUPT": _NOT_A_STORE,
}
"""What a person can do, by family of SQLite's result codes."""


def _error_family(error: sqlite3.Error) -> str:
    """For example ``IOERR`` for ``SQLITE_IOERR_WRITE``; empty for an error of the Python module itself."""
    name = getattr(error, "sqlite_errorname", "")
    return name.removeprefix("SQLITE_").partition("_")[0]
