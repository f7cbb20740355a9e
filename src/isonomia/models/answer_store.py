"""Answers in an SQLite file, safe for several processes at once.

An answer is looked up by the digest of its row, within the table's :func:`signature`. Two rows share both if and only
if a model could not tell them apart: the same kind of table, the same columns in the same order with the same types,
and the same values bit by bit. Digests are BLAKE2b of 128 bits, so among ``n`` different rows two collide with
probability at most ``n**2 / 2**129``: below 1.5e-21 for a billion rows. Answers are stored as bytes, bit by bit.
"""

from __future__ import annotations

import json
import os
import sqlite3
import warnings
import weakref
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, time, timedelta
from decimal import Decimal
from hashlib import blake2b
from pathlib import Path
from struct import pack
from threading import Lock
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import IsonomiaError
from isonomia.models.protocol import Answer
from isonomia.populations.table import RECORDS, Table, column_from
from isonomia.records.sqlite import Database, StoreSchema
from isonomia.spec.tree import Value

StoredValue: TypeAlias = tuple[str, bytes]
"""The kind of a value, and its bytes."""

_AT_ONCE = 900  # SQLite took at most 999 values in one statement for a long time

SCHEMA = StoreSchema(
    "answers of models",
    """
    CREATE TABLE IF NOT EXISTS spaces (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
    CREATE TABLE IF NOT EXISTS answers (
        space INTEGER NOT NULL, row BLOB NOT NULL, kind TEXT NOT NULL, value BLOB NOT NULL, seal BLOB NOT NULL,
        PRIMARY KEY (space, row)
    ) WITHOUT ROWID;
    """,
    application=0x150A0CAE,  # so that no other program's database is written to
    max_value_bytes=2**24,  # a stranger's file could have a value of any length
    retry="try again",
    elsewhere="another file",
)


class CacheWarning(UserWarning):
    """Answers cannot be stored, or stored answers cannot be read; the model is called instead."""


@dataclass(slots=True, weakref_slot=True, eq=False)
class AnswerStore:
    """Stored answers, by space and by row. A space is one output of one model for one kind of table.

    No failure of the file stops an audit: there is a warning, which ``trouble`` keeps, and from then on nothing is
    found, or nothing more is stored. Every answer has a checksum; a damaged one is ignored and queried again.
    """

    path: Path
    trouble: str = ""
    _readable: bool = True
    _writable: bool = True
    _database: Database | None = field(default=None, repr=False)
    _process: int = 0
    _lock: Any = field(default_factory=Lock, repr=False)

    def get(self, space: str, rows: Sequence[bytes]) -> dict[bytes, StoredValue]:
        """What is stored for these rows."""
        if not self._readable:
            return {}
        with self._lock:
            try:
                with self._open().reading("look up answers") as connection:
                    return _read(connection, space, rows)
            except IsonomiaError as error:
                self._readable = self._writable = False
                self._warn("read", error)
                return {}

    def put(self, space: str, values: Mapping[bytes, StoredValue]) -> None:
        """Store answers, in one transaction."""
        if not self._writable or not values:
            return
        with self._lock:
            try:
                with self._open().writing("store answers") as connection:
                    _write(connection, space, values)
            except IsonomiaError as error:
                self._writable = False
                self._warn("written", error)

    def close(self) -> None:
        """Close the file; it is opened again when it is needed."""
        with self._lock:
            if self._database is not None and self._process == os.getpid():
                self._database.close()
            self._database = None

    def _open(self) -> Database:
        if self._database is None or self._process != os.getpid():  # SQLite's files do not survive a fork
            self._database, self._process = Database(self.path, SCHEMA).held_open(), os.getpid()
            weakref.finalize(self, self._database.close)
        return self._database

    def _warn(self, what: str, error: IsonomiaError) -> None:
        self.trouble = f"the cache {self.path} could not be {what} ({error.__cause__ or error})"
        advice = "Delete the file if it is damaged, or make room; answers were not affected."
        warnings.warn(f"{self.trouble}: the model is called instead. {advice}", CacheWarning, stacklevel=2)

    def __getstate__(self) -> Path:
        return self.path

    def __setstate__(self, path: Path) -> None:
        self.__init__(path)  # type: ignore[misc]


def _read(connection: sqlite3.Connection, space: str, rows: Sequence[bytes]) -> dict[bytes, StoredValue]:
    number = connection.execute("SELECT id FROM spaces WHERE name = ?", (space,)).fetchone()
    values: dict[bytes, StoredValue] = {}
    for start in range(0, len(rows) if number else 0, _AT_ONCE):
        some = rows[start : start + _AT_ONCE]
        marks = ",".join("?" * len(some))
        query = f"SELECT row, kind, value, seal FROM answers WHERE space = ? AND row IN ({marks})"
        for row, kind, value, seal in connection.execute(query, (number[0], *some)):
            if isinstance(kind, str) and isinstance(value, bytes) and seal == _seal(space, row, kind, value):
                values[row] = (kind, value)
    return values


def _write(connection: sqlite3.Connection, space: str, values: Mapping[bytes, StoredValue]) -> None:
    connection.execute("INSERT OR IGNORE INTO spaces (name) VALUES (?)", (space,))
    (number,) = connection.execute("SELECT id FROM spaces WHERE name = ?", (space,)).fetchone()
    connection.executemany(
        "INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?)",
        ((number, row, kind, value, _seal(space, row, kind, value)) for row, (kind, value) in values.items()),
    )


def _seal(space: str, row: bytes, kind: str, value: bytes) -> bytes:
    return blake2b(f"{space} {kind}".encode() + row + value, digest_size=8).digest()


_DIGEST = 16  # bytes
_RAW = "biufcMm"


class UndigestibleError(Exception):
    """A value without a reliable form as bytes: neither text, nor a number, nor a truth value, nor a date."""


def signature(table: Table) -> list[str]:
    """The kind of a table, and the names and types of its columns, or the type and shape of its records."""
    if table.kind == "array":
        return ["array", str(table.native.dtype), *table.names]
    if table.kind == RECORDS:
        return [RECORDS, str(table.native.dtype), str(table.native.shape[1:]), *table.names]
    if table.kind == "columns":
        return ["columns", *(f"{name}:{_dtype_text(table.native[name])}" for name in table.names)]
    if table.kind == "rows":
        return ["rows"]
    frame = _frame(table)
    return [table.kind, *(f"{name}:{dtype}{_categories(table, name)}" for name, dtype in frame.schema.items())]


def row_digests(table: Table) -> list[bytes]:
    """A digest for each row; rows of different signatures may share one."""
    if table.kind == "rows":
        return [_digest(part for item in row.items() for part in map(_encoded, item)) for row in table.native]
    if isinstance(table.native, np.ndarray) and table.native.dtype.kind in _RAW and table.native.size:
        parts = [_as_bytes(np.ascontiguousarray(table.native))]
    elif table.kind == RECORDS:
        raise UndigestibleError(f"records as {type(table.native).__name__}")
    else:
        parts = [_column(table, name) for name in table.names]
    matrix = np.concatenate(parts, axis=1)
    data, width = memoryview(matrix.tobytes()), matrix.shape[1]
    return [blake2b(data[i : i + width], digest_size=_DIGEST).digest() for i in range(0, len(data), width)]


def _column(table: Table, name: str) -> NDArray[np.uint8]:
    if table.kind == "array":
        values: Any = table.native[:, table.names.index(name)]
    elif table.kind == "columns":
        values = table.native[name]
    else:
        values = _series(table, name)
    if isinstance(values, np.ndarray) and values.dtype.kind in _RAW:
        return _as_bytes(np.ascontiguousarray(values))
    text_digests: dict[str, bytes] = {}
    digests = []
    for value in values.tolist() if isinstance(values, np.ndarray) else values:
        if type(value) is str:  # text repeats; other values are not looked up, since True == 1
            if value not in text_digests:
                text_digests[value] = _digest((_encoded(value),))
            digests.append(text_digests[value])
        else:
            digests.append(_digest((_encoded(value),)))
    return np.frombuffer(b"".join(digests), dtype=np.uint8).reshape(len(digests), _DIGEST)


def _series(table: Table, name: str) -> Any:
    """A column of a data frame, as an array if that loses nothing, else as a list."""
    series = _frame(table).get_column(name)
    if (series.dtype.is_integer() or series.dtype.is_float()) and not series.is_null().any():
        values = np.asarray(series.to_numpy())
        if values.dtype.kind in "biuf":
            return values
    return series.to_list()


def _as_bytes(values: NDArray[Any]) -> NDArray[np.uint8]:
    return values.view(np.uint8).reshape(len(values), -1)


def _digest(parts: Iterable[bytes]) -> bytes:
    digest = blake2b(digest_size=_DIGEST)
    for part in parts:
        digest.update(pack("<q", len(part)))
        digest.update(part)
    return digest.digest()


def _encoded(value: object) -> bytes:
    kind = type(value)
    if kind is str:
        return b"s" + str(value).encode("utf-8", "surrogatepass")
    if kind is float:
        return b"f" + pack("<d", value)
    if value is None or isinstance(value, bool | int | bytes | np.generic | date | time | timedelta | Decimal):
        return f"{kind.__module__}.{kind.__qualname__} {value!r}".encode("utf-8", "surrogatepass")
    if type(value).__name__ in {"NAType", "NaTType"} or isinstance(value, str | float):
        return f"{kind.__module__}.{kind.__qualname__} {value!r}".encode("utf-8", "surrogatepass")
    raise UndigestibleError(f"{value!r:.80} ({kind.__name__})")


def _dtype_text(values: NDArray[Any]) -> str:
    return "text" if values.dtype.kind == "U" else values.dtype.str


def _categories(table: Table, name: str) -> str:
    """The categories of a pandas column: a model may use their order, which the values do not show."""
    if table.kind != "pandas":
        return ""
    categories = getattr(table.native[name].dtype, "categories", None)
    return "" if categories is None else f"{list(categories)!r}"


def _frame(table: Table) -> Any:
    import narwhals as nw

    return nw.from_native(table.native, eager_only=True)


_PLAIN = "plain"


def encoded_predictions(predictions: NDArray[Any]) -> list[StoredValue]:
    """Each prediction separately: numbers in their own type, everything else as JSON."""
    if predictions.dtype.kind in "biuf":
        kind, data, width = predictions.dtype.str, predictions.tobytes(), predictions.dtype.itemsize
        return [(kind, data[i : i + width]) for i in range(0, len(data), width)]
    return [(_PLAIN, json.dumps(value).encode()) for value in predictions.tolist()]


def decoded_predictions(stored: Sequence[StoredValue]) -> NDArray[Any]:
    """The array of these predictions; with a common type if they were stored with different ones."""
    kinds = {kind for kind, _ in stored}
    if len(kinds) == 1 and _PLAIN not in kinds:
        return np.frombuffer(bytearray().join(data for _, data in stored), dtype=np.dtype(kinds.pop()))
    values = [json.loads(data) if kind == _PLAIN else np.frombuffer(data, kind)[0].item() for kind, data in stored]
    if kinds == {_PLAIN}:
        return np.fromiter(values, dtype=object, count=len(values))
    return column_from(values, "prediction")


def encoded_scores(answer: Answer) -> list[StoredValue]:
    """Each row of scores separately, with the classes that its numbers belong to."""
    assert answer.score is not None
    score = np.ascontiguousarray(answer.score, dtype="<f8")
    kind, data, width = json.dumps(answer.classes), score.tobytes(), score.nbytes // len(score)
    return [(kind, data[i : i + width]) for i in range(0, len(data), width)]


def decoded_scores(stored: Sequence[StoredValue]) -> tuple[NDArray[np.float64], tuple[Value, ...]] | None:
    """The scores and their classes; ``None`` if some were stored with other classes than the rest."""
    if len({(kind, len(data)) for kind, data in stored}) != 1:
        return None
    classes = tuple(json.loads(stored[0][0]))
    score = np.frombuffer(b"".join(data for _, data in stored), dtype="<f8").astype(np.float64)
    return (score.reshape(len(stored), len(classes)) if classes else score), classes
