"""The SQLite file in a folder of records: its tables, how it is opened, and the commands that find it.

Everything goes through a write-ahead log (WAL), so a process that is killed at any moment loses at most the transaction
in flight, and several processes may write at once. SQLite's errors are turned into advice that a person can follow.
"""

from __future__ import annotations

import platform
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from shlex import quote
from typing import Any

from isonomia.errors import DataError, RecordError, refuse_no_path
from isonomia.version import __version__
from isonomia.wording import excerpt

FOLDER = ".isonomia"
"""The folder of records: beside the audit file, or in the current folder."""

STORE = "runs.sqlite"
"""The file in that folder with every run and the known counterexamples."""

LOCK_TIMEOUT = 60.0
"""Seconds to wait for another process that is writing."""

VERSION = 2
"""The version of the tables, and of what is written to them."""

KNOWN_TABLE = """
CREATE TABLE IF NOT EXISTS known (
    property TEXT NOT NULL,
    place INTEGER NOT NULL,
    counterexample TEXT NOT NULL,
    PRIMARY KEY (property, place)
) WITHOUT ROWID;
"""
"""Counterexamples of earlier verdicts, by the digest of their property; the latest has the highest place."""

VIOLATIONS_TABLE = """
CREATE TABLE IF NOT EXISTS violations (
    run TEXT NOT NULL,
    number INTEGER NOT NULL,
    place INTEGER NOT NULL,
    rows INTEGER NOT NULL,
    more INTEGER NOT NULL,
    chunk BLOB NOT NULL,
    PRIMARY KEY (run, number, place)
);
"""
"""All violations of a check, in chunks of columns; ``more`` is 1 if there were more than are kept."""

SCHEMA = f"""
CREATE TABLE IF NOT EXISTS format (version INTEGER PRIMARY KEY) WITHOUT ROWID;
INSERT OR IGNORE INTO format SELECT {VERSION} WHERE NOT EXISTS (SELECT 1 FROM format);
CREATE TABLE IF NOT EXISTS runs (
    id TEXT PRIMARY KEY,
    begun TEXT NOT NULL,
    ended TEXT,
    title TEXT NOT NULL,
    request TEXT NOT NULL,
    versions TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS checks (
    run TEXT NOT NULL REFERENCES runs (id),
    number INTEGER NOT NULL,
    name TEXT NOT NULL,
    definition TEXT NOT NULL,
    options TEXT NOT NULL,
    verdict TEXT,
    error TEXT,
    PRIMARY KEY (run, number)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS entries (
    run TEXT NOT NULL,
    number INTEGER NOT NULL,
    place INTEGER NOT NULL,
    key TEXT NOT NULL,
    entry TEXT NOT NULL,
    PRIMARY KEY (run, number, place),
    UNIQUE (run, number, key)
) WITHOUT ROWID;
{KNOWN_TABLE}
{VIOLATIONS_TABLE}"""


class Database:
    """The SQLite file in a folder of records, of the format that this version writes.

    The folder is created if it does not exist. With ``reading``, a file that cannot be written is opened read-only.
    """

    def __init__(self, folder: Path, *, reading: bool) -> None:
        refuse_no_path(str(folder))
        self.folder, self.path = folder, folder / STORE
        self._read_only: str | None = None
        with suppress(PermissionError):  # which opening it explains
            if self.path.exists() and not self.path.is_file():
                raise RecordError(f"expected a file for the store at {self.path}, but it is something else")
        try:
            version = self._create()
        except RecordError:
            self._read_only = read_only_address(self.path) if reading else None
            if self._read_only is None:
                raise
            version = self._version()
        if version != VERSION:
            raise RecordError(
                f"expected records of format {VERSION} at {self.path}, but they have format {version}: they were "
                "written by another version. Choose another folder with --records FOLDER"
            )

    def connect(self) -> sqlite3.Connection:
        """A connection, which the caller closes."""
        if self._read_only is not None:
            return sqlite3.connect(self._read_only, uri=True, timeout=LOCK_TIMEOUT, check_same_thread=False)
        connection = sqlite3.connect(self.path, timeout=LOCK_TIMEOUT, check_same_thread=False)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        return connection

    @contextmanager
    def writing(self, what: str) -> Iterator[sqlite3.Connection]:
        """A connection with one transaction; an error says what was to be done."""
        with self._explaining(what), self._connection() as connection, connection:
            yield connection

    @contextmanager
    def reading(self, what: str) -> Iterator[sqlite3.Connection]:
        """A connection to read from; what cannot be understood is reported as damaged."""
        with self.understanding(what), self._connection() as connection:
            yield connection

    @contextmanager
    def understanding(self, what: str) -> Iterator[None]:
        """Turn failures to read a record into a ``RecordError`` that says it is damaged."""
        try:
            with self._explaining(what):
                yield
        except (ValueError, TypeError, DataError, RecursionError) as error:
            raise RecordError(f"expected to {what} at {self.path}, but what is there is damaged: {error}") from error

    def size(self) -> int:
        """The bytes of the file and of its write-ahead log."""
        files = (self.path, self.path.with_name(f"{self.path.name}-wal"))
        return sum(file.stat().st_size for file in files if file.exists())

    def compact(self) -> None:
        """Free the disk space of deleted rows."""
        with self._explaining("compact the store"), self._connection() as connection:
            connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def _create(self) -> int:
        """Create the folder and the tables if they do not exist, and return the version of their format."""
        with self._explaining("make the store"):
            try:
                self.folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise RecordError(
                    f"expected a folder for records that can be written, but {self.folder}: {error.strerror}. "
                    "Choose another with --records FOLDER"
                ) from error
            with self._connection() as connection:
                refuse_programs(connection, self.path, SCHEMA)
                connection.executescript(SCHEMA)
        return self._version()

    def _version(self) -> int:
        with self._explaining("read the store"), self._connection() as connection:
            refuse_programs(connection, self.path, SCHEMA)
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
    def _explaining(self, what: str) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise record_error(what, self.path, error) from error


def refuse_programs(connection: sqlite3.Connection, path: Path, schema: str) -> None:
    """Refuse all that computes: in a stranger's store it could reverse verdicts, or have endless rows or values.

    That is triggers, views, indexes, and tables of the schema with other columns or constraints than it says.
    """
    with closing(sqlite3.connect(":memory:")) as made:
        made.executescript(schema)
        ours = {name: _words(sql) for name, sql in made.execute("SELECT name, sql FROM sqlite_master")}
    for kind, name, sql in connection.execute("SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL"):
        if kind != "table" or ours.get(name, _words(sql)) != _words(sql):
            raise RecordError(
                f"expected tables alone in the store at {path}, but it has the {kind} {name!r}, which was not made "
                "here: it was not opened. Choose another folder with --records FOLDER"
            )


def _words(sql: str | None) -> list[str]:
    return (sql or "").split()


def read_only_address(path: Path) -> str | None:
    """How to open a store that cannot be written; ``None`` if it cannot be read either.

    SQLite opens it read-only; if that fails and the write-ahead log is empty, it reads the file as immutable.
    """
    waiting = path.with_name(f"{path.name}-wal")
    whole = not waiting.exists() or waiting.stat().st_size == 0
    for options in ("mode=ro", *(("mode=ro&immutable=1",) if whole else ())):
        address = f"{path.absolute().as_uri()}?{options}"
        try:
            with closing(sqlite3.connect(address, uri=True)) as connection:
                connection.execute("SELECT max(version) FROM format").fetchone()
        except sqlite3.Error:
            continue
        return address
    return None


_NOT_WRITABLE = "The folder cannot be written: change its permissions, or choose {another}"
_NOT_A_STORE = "It is not a store of records: move it away, or choose {another}"
_BUSY = "Another run has been writing for a long time: wait for it, then {again}"
_HINTS = {
    "FULL": "The disk is full: make room, then {again}. Nothing that was written before is lost",
    "IOERR": (
        "The disk failed, or a file has become as large as it may: make room, then {again}. Nothing that "
        "was written before is lost"
    ),
    "READONLY": _NOT_WRITABLE,
    "CANTOPEN": _NOT_WRITABLE,
    "BUSY": _BUSY,
    "LOCKED": _BUSY,
    "NOTADB": _NOT_A_STORE,
    "CORRUPT": _NOT_A_STORE,
}
"""What a person can do, by family of SQLite's result codes."""


def record_error(
    what: str,
    path: Path | None,
    error: sqlite3.Error,
    again: str = "go on with --resume",
    another: str = "another folder with --records FOLDER",
) -> RecordError:
    """SQLite's message, with what a person can do about it: do it ``again``, or choose ``another`` place."""
    where = f" at {path}" if path is not None else ""
    hint = _HINTS.get(error_family(error), "Look at the file, or choose {another}")
    advice = hint.format(again=again, another=another)
    return RecordError(f"expected to {what}{where}, but: {excerpt(str(error), 200)}. {advice}")


def error_family(error: sqlite3.Error) -> str:
    """For example ``IOERR`` for ``SQLITE_IOERR_WRITE``; empty for an error of the Python module itself."""
    name = getattr(error, "sqlite_errorname", "")
    return name.removeprefix("SQLITE_").partition("_")[0]


# ----------------------------------------------------------------------------------------------- versions and commands

PACKAGES = ("numpy", "scipy", "scikit-learn", "narwhals", "pandas", "polars", "pyarrow")


def versions() -> dict[str, str]:
    """The versions of Isonomia, of Python, and of those of ``PACKAGES`` that are installed; and the system."""
    used = {"isonomia": __version__, "python": platform.python_version(), "system": platform.system()}
    for package in PACKAGES:
        try:
            used[package] = version(package)
        except PackageNotFoundError:
            continue
    return used


def with_records(command: str, folder: str | Path | None) -> str:
    """A command about a run: with the folder of the records, unless it is the default."""
    if folder is None or _same(Path(folder), Path(FOLDER)):
        return command
    return f"{command} --records {quote(str(folder))}"


def run_command(file: str | Path, folder: str | Path | None, *options: str) -> str:
    """The command that runs an audit file: with the folder of the records, unless it is the one beside the file."""
    words = " ".join(("isonomia run", quote(str(file)), *options))
    if folder is None or _same(Path(folder), Path(file).parent / FOLDER):
        return words
    return f"{words} --records {quote(str(folder))}"


RESUMED = ("--allow-code", "--allow-outside", "--trust-pickle")
"""Options that resuming a run needs again if it was begun with them."""


def resume_command(request: Mapping[str, Any], folder: str | Path | None) -> str:
    """The command that resumes a run of an audit file, with the permissions that it was begun with."""
    begun_with = request.get("options", ())
    options = [option for option in RESUMED if option in begun_with]
    return run_command(request.get("file", "AUDIT.toml"), folder, "--resume", *options)


def _same(left: Path, right: Path) -> bool:
    return left.resolve() == right.resolve()
