"""The SQLite file of answers.

Answers as bytes, and back, bit by bit.

The file in which answers are stored: one SQLite table, safe for several processes at once.
"""

from __future__ import annotations

import json
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
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from isonomia.models.protocol import Answer
from isonomia.populations.columns import column_from
from isonomia.spec.tree import Value

__all__ = ["CacheWarning", "Store", "Stored", "prediction_of", "score_of", "stored_predictions", "stored_scores"]


Stored: TypeAlias = tuple[str, bytes]
"""What kind of value it is, and its bytes."""

_PLAIN = "plain"


def stored_predictions(predictions: NDArray[Any]) -> list[Stored]:
    """Each prediction by itself: numbers in their own type, everything else as JSON."""
    if predictions.dtype.kind in "biuf":
        kind, data, width = predictions.dtype.str, predictions.tobytes(), predictions.dtype.itemsize
        return [(kind, data[i : i + width]) for i in range(0, len(data), width)]
    return [(_PLAIN, json.dumps(value).encode()) for value in predictions.tolist()]


def prediction_of(found: Sequence[Stored]) -> NDArray[Any]:
    """The array that these predictions were; a common one where they were stored with different types."""
    kinds = {kind for kind, _ in found}
    if len(kinds) == 1 and _PLAIN not in kinds:
        return np.frombuffer(bytearray().join(data for _, data in found), dtype=np.dtype(kinds.pop()))
    values = [json.loads(data) if kind == _PLAIN else np.frombuffer(data, kind)[0].item() for kind, data in found]
    if kinds == {_PLAIN}:
        return np.fromiter(values, dtype=object, count=len(values))
    return column_from(values, "prediction")


def stored_scores(answer: Answer) -> list[Stored]:
    """Each row of scores by itself, with the classes that its numbers belong to."""
    assert answer.score is not None
    score = np.ascontiguousarray(answer.score, dtype="<f8")
    kind, data, width = json.dumps(answer.classes), score.tobytes(), score.nbytes // len(score)
    return [(kind, data[i : i + width]) for i in range(0, len(data), width)]


def score_of(found: Sequence[Stored]) -> tuple[NDArray[np.float64], tuple[Value, ...]] | None:
    """The scores and their classes; ``None`` where some were stored with other classes than the rest."""
    if len({(kind, len(data)) for kind, data in found}) != 1:
        return None
    classes = tuple(json.loads(found[0][0]))
    score = np.frombuffer(b"".join(data for _, data in found), dtype="<f8").astype(np.float64)
    return (score.reshape(len(found), len(classes)) if classes else score), classes


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
