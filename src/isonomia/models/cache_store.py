"""The file in which answers are stored: one SQLite table, safe for several processes at once."""

from __future__ import annotations

import os
import sqlite3
import warnings
import weakref
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from threading import Lock
from typing import Any

from isonomia.models.cache_values import Stored

__all__ = ["CacheWarning", "Store"]

APPLICATION = 0x150A0CAE
"""Marks the file as ours, so that nobody else's database is written into."""

_AT_ONCE = 900  # SQLite took at most 999 values in one statement for a long time
_WAIT = 30.0
_TABLES = """
    CREATE TABLE IF NOT EXISTS spaces (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
    CREATE TABLE IF NOT EXISTS answers (
        space INTEGER NOT NULL, row BLOB NOT NULL, kind TEXT NOT NULL, value BLOB NOT NULL, seal BLOB NOT NULL,
        PRIMARY KEY (space, row)
    ) WITHOUT ROWID;
"""


class CacheWarning(UserWarning):
    """Answers cannot be stored, or stored ones cannot be read; the model is asked instead."""


@dataclass(slots=True, weakref_slot=True, eq=False)
class Store:
    """Stored answers, by space and by row. A space is what of which model for which kind of table.

    Nothing that goes wrong with the file stops an audit: there is one warning, and from then on nothing is found, or
    nothing more is stored. Every answer carries a seal, so that a damaged one is asked for again.

    Attributes
    ----------
    path
        The file.
    trouble
        What went wrong with it; empty where nothing did.
    """

    path: Path
    trouble: str = ""
    _readable: bool = True
    _writable: bool = True
    _connection: sqlite3.Connection | None = field(default=None, repr=False)
    _process: int = 0
    _lock: Any = field(default_factory=Lock, repr=False)

    def get(self, space: str, rows: Sequence[bytes]) -> dict[bytes, Stored]:
        """What is stored for these rows."""
        if not self._readable:
            return {}
        with self._lock:
            try:
                return self._found(self._open(), space, rows)
            except (sqlite3.Error, OSError) as error:
                self._readable = self._writable = False
                self._warn("read", error)
                return {}

    def put(self, space: str, found: Mapping[bytes, Stored]) -> None:
        """Store answers, in one transaction."""
        if not self._writable or not found:
            return
        with self._lock:
            try:
                self._write(self._open(), space, found)
            except (sqlite3.Error, OSError) as error:
                self._writable = False
                self._warn("written", error)

    def close(self) -> None:
        """Close the file; it is opened again when it is needed."""
        with self._lock:
            if self._connection is not None and self._process == os.getpid():
                self._connection.close()
            self._connection = None

    def _found(self, connection: sqlite3.Connection, space: str, rows: Sequence[bytes]) -> dict[bytes, Stored]:
        number = connection.execute("SELECT id FROM spaces WHERE name = ?", (space,)).fetchone()
        found: dict[bytes, Stored] = {}
        for start in range(0, len(rows) if number else 0, _AT_ONCE):
            some = rows[start : start + _AT_ONCE]
            marks = ",".join("?" * len(some))
            query = f"SELECT row, kind, value, seal FROM answers WHERE space = ? AND row IN ({marks})"
            for row, kind, value, seal in connection.execute(query, (number[0], *some)):
                if seal == _seal(space, row, kind, value):
                    found[row] = (kind, value)
        return found

    def _write(self, connection: sqlite3.Connection, space: str, found: Mapping[bytes, Stored]) -> None:
        connection.execute("BEGIN IMMEDIATE")
        try:
            connection.execute("INSERT OR IGNORE INTO spaces (name) VALUES (?)", (space,))
            (number,) = connection.execute("SELECT id FROM spaces WHERE name = ?", (space,)).fetchone()
            connection.executemany(
                "INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?)",
                ((number, row, kind, value, _seal(space, row, kind, value)) for row, (kind, value) in found.items()),
            )
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise

    def _open(self) -> sqlite3.Connection:
        if self._connection is None or self._process != os.getpid():  # SQLite's files do not survive a fork
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._connection, self._process = _connected(self.path), os.getpid()
            weakref.finalize(self, self._connection.close)
        return self._connection

    def _warn(self, what: str, error: Exception) -> None:
        self.trouble = f"the cache {self.path} could not be {what} ({error})"
        advice = "Delete the file if it is damaged, or make room; answers were not affected."
        warnings.warn(f"{self.trouble}: the model is asked instead. {advice}", CacheWarning, stacklevel=2)

    def __getstate__(self) -> Path:
        return self.path

    def __setstate__(self, path: Path) -> None:
        self.__init__(path)  # type: ignore[misc]


def _connected(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=_WAIT, check_same_thread=False, isolation_level=None)
    try:
        with closing(connection.cursor()) as cursor:
            cursor.execute("BEGIN IMMEDIATE")
            (mark,) = cursor.execute("PRAGMA application_id").fetchone()
            (tables,) = cursor.execute("SELECT count(*) FROM sqlite_master").fetchone()
            if tables and mark != APPLICATION:
                raise sqlite3.DatabaseError("it is the database of another program")
            cursor.execute(f"PRAGMA application_id = {APPLICATION}")
            for statement in _TABLES.split(";"):
                cursor.execute(statement)
            cursor.execute("COMMIT")
            cursor.execute("PRAGMA journal_mode = WAL")  # readers and one writer do not wait for each other
            cursor.execute("PRAGMA synchronous = NORMAL")
    except BaseException:
        connection.close()
        raise
    return connection


def _seal(space: str, row: bytes, kind: str, value: bytes) -> bytes:
    return blake2b(f"{space} {kind}".encode() + row + value, digest_size=8).digest()
