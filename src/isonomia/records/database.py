"""The file of a store: made and opened, with what SQLite says turned into what a person can do.

What is written is written ahead (WAL), so that a process that is killed at any moment loses at most the transaction in
flight, and several may write at once.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from isonomia.errors import DataError, RecordError
from isonomia.records.folder import STORE
from isonomia.records.only_reading import address_of
from isonomia.records.schema import SCHEMA, VERSION
from isonomia.records.visible import cut

__all__ = ["PATIENCE", "Database", "has_errors", "record_error"]

PATIENCE = 60.0
"""Seconds to wait for another process that is writing."""


class Database:
    """The SQLite file in a folder of records, of the format that this version writes.

    Parameters
    ----------
    folder
        The folder; it is made where it does not exist.
    reading
        Whether a file that cannot be written will do: then it is only read.

    Raises
    ------
    RecordError
        Where it cannot be made, written or read, or holds something else.
    """

    def __init__(self, folder: Path, *, reading: bool) -> None:
        self.folder, self.path = folder, folder / STORE
        self._only_read: str | None = None
        try:
            version = self._made()
        except RecordError:
            self._only_read = address_of(self.path) if reading else None
            if self._only_read is None:
                raise
            version = self._version()
        if version != VERSION:
            raise RecordError(
                f"expected records of format {VERSION} at {self.path}, but they have format {version}: they were "
                "written by another version. Choose another folder with --records FOLDER"
            )

    def connect(self) -> sqlite3.Connection:
        """A connection, which whoever asked for it closes."""
        if self._only_read is not None:
            return sqlite3.connect(self._only_read, uri=True, timeout=PATIENCE, check_same_thread=False)
        connection = sqlite3.connect(self.path, timeout=PATIENCE, check_same_thread=False)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        return connection

    @contextmanager
    def writing(self, what: str) -> Iterator[sqlite3.Connection]:
        """A connection with one transaction, kept whole or not at all; an error says what was to be done."""
        with self._saying(what), self._connection() as connection, connection:
            yield connection

    @contextmanager
    def reading(self, what: str) -> Iterator[sqlite3.Connection]:
        """A connection to read from; what cannot be understood is said to be damaged."""
        with self.understanding(what), self._connection() as connection:
            yield connection

    @contextmanager
    def understanding(self, what: str) -> Iterator[None]:
        """Turn what cannot be read as a record into what is the matter with it."""
        try:
            with self._saying(what):
                yield
        except (ValueError, TypeError, DataError) as error:
            raise RecordError(f"expected to {what} at {self.path}, but what is there is damaged: {error}") from error

    def _made(self) -> int:
        """Make the folder and the tables where they are not there, and give the version of their format."""
        with self._saying("make the store"):
            try:
                self.folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise RecordError(
                    f"expected a folder for records that can be written, but {self.folder}: {error.strerror}. "
                    "Choose another with --records FOLDER"
                ) from error
            with self._connection() as connection:
                connection.executescript(SCHEMA)
                _add_errors(connection)
        return self._version()

    def _version(self) -> int:
        with self._saying("read the store"), self._connection() as connection:
            (version,) = connection.execute("SELECT max(version) FROM format").fetchone()
        return int(version or 0)

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        connection = self.connect()
        try:
            yield connection
        finally:
            connection.close()

    @contextmanager
    def _saying(self, what: str) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise record_error(what, self.path, error) from error


def record_error(what: str, path: Path | None, error: sqlite3.Error) -> RecordError:
    """What SQLite says, with what a person can do about it."""
    told, where = cut(str(error), 200), f" at {path}" if path is not None else ""
    hint = "Look at the file, or choose another folder with --records FOLDER"
    if "full" in told:
        hint = "The disk is full: make room, then go on with --resume. Nothing that was written before is lost"
    elif "disk I/O error" in told:
        hint = (
            "The disk failed, or a file has become as large as it may: make room, then go on with --resume. Nothing "
            "that was written before is lost"
        )
    elif "readonly" in told or "unable to open" in told:
        hint = "The folder cannot be written: change its permissions, or choose another with --records FOLDER"
    elif "locked" in told:
        hint = "Another run has been writing for a long time: wait for it, then go on with --resume"
    elif "not a database" in told or "malformed" in told:
        hint = "It is no store of records: move it away, or choose another folder with --records FOLDER"
    return RecordError(f"expected to {what}{where}, but: {told}. {hint}")


def has_errors(connection: sqlite3.Connection) -> bool:
    """Whether the checks have a column for why they failed; a store of before that can be read without."""
    return "error" in {row[1] for row in connection.execute("PRAGMA table_info(checks)")}


def _add_errors(connection: sqlite3.Connection) -> None:
    """Give a store that was made before checks could fail the column for it; older versions do not mind."""
    if not has_errors(connection):
        try:
            connection.execute("ALTER TABLE checks ADD COLUMN error TEXT")
        except sqlite3.OperationalError as error:
            if "duplicate column" not in str(error):  # another process was faster
                raise
