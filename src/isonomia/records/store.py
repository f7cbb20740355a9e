"""The store: every run with its request, what it measured batch by batch, and its verdicts, in one SQLite file.

Each batch is a separate transaction: a process that is killed at any moment loses at most the batch in flight. The same
file has a table of known counterexamples, which later checks try first. Also the commands that find or resume a run.
"""

from __future__ import annotations

import hashlib
import json
import platform
import re
import secrets
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any, TypeAlias

from isonomia.errors import IsonomiaError, RecordError, nearest
from isonomia.records.sqlite import Database, StoreSchema
from isonomia.records.verdict import Verdict
from isonomia.version import __version__

if TYPE_CHECKING:
    from isonomia.records.violations import ViolationSet


FOLDER = ".isonomia"
"""The folder of records: next to the audit file, or in the current folder."""

STORE = "runs.sqlite"
"""The file in that folder with every run and the known counterexamples."""

ANSWER_PREFIX = "answer "
"""The prefix of the keys of the model's raw answers, which are kept for resuming and never replayed."""

KNOWN = StoreSchema(
    "records",
    """
CREATE TABLE IF NOT EXISTS known (
    property TEXT NOT NULL,
    place INTEGER NOT NULL,
    counterexample TEXT NOT NULL,
    PRIMARY KEY (property, place)
) WITHOUT ROWID;
""",
    retry="try again",
    elsewhere="another place",
)
"""Counterexamples of earlier verdicts, by the digest of their property; the latest has the highest place."""

RUNS = StoreSchema(
    "records",
    f"""
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
CREATE TABLE IF NOT EXISTS violations (
    run TEXT NOT NULL,
    number INTEGER NOT NULL,
    place INTEGER NOT NULL,
    rows INTEGER NOT NULL,
    more INTEGER NOT NULL,
    chunk BLOB NOT NULL,
    PRIMARY KEY (run, number, place)
);
{KNOWN.tables}""",
    version=3,
)
"""Runs, their checks, and for each check its journal and its violations, in chunks of columns.

``more`` is 1 if there were more violations than are stored.
"""


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One run: its unique name ``id``, its times, and its request.

    Times are in UTC; ``ended`` is ``None`` while it runs, or if it was cut off. ``request`` is all that is needed to
    run it again, ``versions`` are those of Isonomia, of Python and of the packages used.
    """

    id: str
    begun: str
    ended: str | None
    title: str
    request: Mapping[str, Any]
    versions: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class CheckRecord:
    """One property of a run: its definition, the options of its check, and its verdict, if there is one.

    If it could not be checked, ``error`` says why, with ``kind`` and ``message``; then there is no verdict.
    """

    run: str
    number: int
    name: str
    definition: Mapping[str, Any]
    options: Mapping[str, Any]
    verdict: Verdict | None
    error: Mapping[str, str] | None = None


class Store:
    """The runs in a folder, which is created if it does not exist; with ``reading``, it need not be writable."""

    def __init__(self, folder: str | Path = FOLDER, *, reading: bool = False) -> None:
        self.folder = Path(folder)
        self._database = Database(self.folder / STORE, RUNS, reading=reading)

    @property
    def path(self) -> Path:
        """The SQLite file."""
        return self._database.path

    def begin(
        self, title: str, request: Mapping[str, Any], checks: Sequence[tuple[str, Mapping[str, Any], Mapping[str, Any]]]
    ) -> str:
        """Record a new run and its checks, each with name, definition and options; returns the run's name."""
        name = f"{_now():%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"
        with self._database.writing("write down a run") as connection:
            connection.execute(
                "INSERT INTO runs (id, begun, title, request, versions) VALUES (?, ?, ?, ?, ?)",
                (name, _stamp(), title, _dumped(request), _dumped(versions())),
            )
            connection.executemany(
                "INSERT INTO checks (run, number, name, definition, options) VALUES (?, ?, ?, ?, ?)",
                [(name, k, label, _dumped(what), _dumped(how)) for k, (label, what, how) in enumerate(checks)],
            )
        return name

    @contextmanager
    def kept_open(self) -> Iterator[None]:
        """Keep the file open while much is written: closing the last connection waits for a checkpoint."""
        with closing(self._database.held_open()):
            yield

    def journal(self, run: str, number: int) -> StoredJournal:
        """The journal of a check, with everything kept so far."""
        database = self._database.held_open()
        try:
            return StoredJournal(database, run, number)
        except BaseException:
            database.close()
            raise

    def conclude(self, run: str, number: int, verdict: Verdict) -> None:
        """Record the verdict of a check, and delete the model's raw answers, which only resuming needs."""
        with self._database.writing("write down a verdict") as connection:
            connection.execute(
                "UPDATE checks SET verdict = ?, error = NULL WHERE run = ? AND number = ?",
                (_dumped(verdict.to_dict()), run, number),
            )
            connection.execute(
                "DELETE FROM entries WHERE run = ? AND number = ? AND substr(key, 1, ?) = ?",
                (run, number, len(ANSWER_PREFIX), ANSWER_PREFIX),
            )

    def fail(self, run: str, number: int, kind: str, message: str, *, forget: bool = False) -> None:
        """Record that a property could not be checked; what was measured stays, unless ``forget`` is set."""
        with self._database.writing("write down an error") as connection:
            connection.execute(
                "UPDATE checks SET error = ? WHERE run = ? AND number = ?",
                (_dumped({"kind": kind, "message": message}), run, number),
            )
            if forget:
                connection.execute("DELETE FROM entries WHERE run = ? AND number = ?", (run, number))

    def end(self, run: str) -> None:
        """Record that a run is complete."""
        with self._database.writing("write down the end of a run") as connection:
            connection.execute("UPDATE runs SET ended = ? WHERE id = ?", (_stamp(), run))

    def runs(self) -> list[RunRecord]:
        """Every run, the latest first."""
        with self._database.reading("list the runs") as connection:
            query = "SELECT id, begun, ended, title, request, versions FROM runs ORDER BY rowid DESC"
            return [_run(row) for row in connection.execute(query)]

    def prune(self, runs: Sequence[str]) -> int:
        """Delete runs with everything that was kept of them; returns how many bytes were freed on disk.

        Known counterexamples stay: later checks try them first.
        """
        before = self._database.size()
        with self._database.writing("delete runs") as connection:
            for table, column in (("violations", "run"), ("entries", "run"), ("checks", "run"), ("runs", "id")):
                connection.executemany(f"DELETE FROM {table} WHERE {column} = ?", [(run,) for run in runs])
        self._database.compact()
        return before - self._database.size()

    def run(self, name: str = "latest") -> RunRecord:
        """A run by its name, by a prefix of its name, ``latest``, or ``previous``: the one before of the same title."""
        runs = self.runs()
        matching = runs[:1] if name == "latest" else [run for run in runs if run.id.startswith(name)]
        if name == "previous":
            matching = [run for run in runs[1:] if run.title == runs[0].title][:1]
        if len(matching) == 1:
            return matching[0]
        if not runs:
            raise RecordError(
                f"expected a run in {self.folder}, but it has no runs yet: isonomia run AUDIT.toml makes one"
            )
        came = f"no run has this name.{nearest(name, [run.id for run in runs])}"
        if matching:
            came = f"{len(matching):,} begin so."
        listing = with_records("isonomia runs", self.folder)
        raise RecordError(f"expected one run called {name!r} in {self.folder}, but {came} {listing} lists them")

    def checks(self, run: str, known: Mapping[int, Verdict] | None = None) -> list[CheckRecord]:
        """The checks of a run, in order; ``known`` verdicts, by the numbers of their checks, are not read again."""
        with self._database.reading("read a run") as connection:
            columns = "run, number, name, definition, options, verdict, error"
            query = f"SELECT {columns} FROM checks WHERE run = ? ORDER BY number"
            return [_check(row, known or {}) for row in connection.execute(query, (run,))]

    def violations(self, run: str, number: int) -> ViolationSet | None:
        """All stored violations of a check; ``None`` if it stored no violations."""
        with self._database.reading("read violations") as connection:
            return _stored_violations(connection, run, number)

    def introductions(self, run: str) -> list[tuple[int, str, Mapping[str, Any]]]:
        """What the checks of a run recorded about their ``population`` and ``model``: number, key, and entry."""
        query = "SELECT number, key, entry FROM entries WHERE run = ? AND key IN ('population', 'model')"
        with self._database.reading("read a run") as connection:
            return [(number, key, _loaded(entry)) for number, key, entry in connection.execute(query, (run,))]


@dataclass(slots=True)
class StoredJournal:
    """The journal of one check in the store, with its own connection.

    Guarantee: once :meth:`keep` has returned, the entry survives the end of this process, however it ends.
    """

    database: Database
    run: str
    number: int
    _entries: dict[str, Mapping[str, Any]] = field(init=False)
    _next_index: int = field(init=False)

    def __post_init__(self) -> None:
        query = "SELECT place, key, entry FROM entries WHERE run = ? AND number = ? ORDER BY place"
        with self.database.reading("read a journal") as connection:
            stored = connection.execute(query, (self.run, self.number)).fetchall()
            self._entries = {key: _loaded(entry) for _, key, entry in stored}
        self._next_index = stored[-1][0] + 1 if stored else 0

    @property
    def entries(self) -> Mapping[str, Mapping[str, Any]]:
        """Everything kept so far, in order."""
        return self._entries

    def recall(self, key: str) -> Mapping[str, Any] | None:
        """What was kept under a key."""
        return self._entries.get(key)

    def keep(self, key: str, make: Callable[[], Mapping[str, Any]]) -> None:
        """Keep an entry, in a separate transaction."""
        entry = make()
        row = (self.run, self.number, self._next_index, key, json.dumps(entry, allow_nan=False))
        with self.database.writing(f"write {key} of run {self.run}") as connection:
            try:
                connection.execute("INSERT INTO entries (run, number, place, key, entry) VALUES (?, ?, ?, ?, ?)", row)
            except sqlite3.IntegrityError as error:
                raise RecordError(
                    f"expected sole access to run {self.run}, but another process has written its {key}: wait "
                    "for that process, or begin a new run"
                ) from error
        self._entries[key] = entry
        self._next_index += 1

    def keep_violations(self, violations: ViolationSet) -> None:
        """Keep all violations of the check, a chunk at a time, replacing any that were kept before."""
        with self.database.writing(f"write the violations of run {self.run}") as connection:
            connection.execute("DELETE FROM violations WHERE run = ? AND number = ?", (self.run, self.number))
            for index, chunk in enumerate(violations.packed()):
                connection.execute(
                    "INSERT INTO violations (run, number, place, rows, more, chunk) VALUES (?, ?, ?, ?, ?, ?)",
                    (self.run, self.number, index, len(violations), int(violations.more), chunk),
                )

    def violations(self) -> ViolationSet | None:
        """The violations that were kept, copied to memory or a temporary file, so that the store may be closed."""
        with self.database.reading("read violations") as connection:
            return _stored_violations(connection, self.run, self.number)

    def close(self) -> None:
        """Close the connection."""
        self.database.close()


def _stored_violations(connection: sqlite3.Connection, run: str, number: int) -> ViolationSet | None:
    query = "SELECT more, chunk FROM violations WHERE run = ? AND number = ? ORDER BY place"
    stored = connection.execute(query, (run, number)).fetchall()
    if not stored:
        return None
    from isonomia.records.violations import ViolationSet  # which needs NumPy

    return ViolationSet.of_packed([chunk for _, chunk in stored], more=bool(stored[-1][0]))


def _run(row: tuple[Any, ...]) -> RunRecord:
    name, begun, ended, title, request, used = row
    # Files are named after a run, and a stranger's may be called ../../anything.
    if not re.fullmatch(r"[0-9a-f-]+", name) or not all(isinstance(text, str) for text in (begun, ended or "", title)):
        raise ValueError("a run has a name, a time or a title that was not made here")
    return RunRecord(name, begun, ended, title, _loaded(request), _loaded(used))


def _check(row: tuple[Any, ...], known: Mapping[int, Verdict]) -> CheckRecord:
    run, number, name, definition, options, verdict, error = row
    answer = known.get(number)
    if answer is None and verdict is not None:
        answer = Verdict.from_dict(json.loads(verdict))
    problem = None if error is None else _loaded(error)
    return CheckRecord(run, number, name, _loaded(definition), _loaded(options), answer, problem)


def _loaded(text: str) -> dict[str, Any]:
    value = json.loads(text)
    if not isinstance(value, dict):
        raise ValueError(f"expected a JSON object, but got {type(value).__name__}")
    return value


def _dumped(value: Mapping[str, Any]) -> str:
    return json.dumps(value, allow_nan=False)  # in ASCII, so that lone surrogates can be written, too


def _now() -> datetime:
    return datetime.now(UTC)


def _stamp() -> str:
    return _now().isoformat(timespec="seconds")


# ------------------------------------------------------------------------------- the commands that find or resume a run

PACKAGES = ("numpy", "scipy", "scikit-learn", "narwhals", "pandas", "polars", "pyarrow")


def versions() -> dict[str, str]:
    """The versions of Isonomia, of Python, and of those of ``PACKAGES`` that are installed; and the system."""
    from importlib.metadata import PackageNotFoundError, version

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
    """The command that runs an audit file: with the folder of the records, unless it is the one next to the file."""
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


# ----------------------------------------------------------------------------------------------- known counterexamples

Counterexample: TypeAlias = Mapping[str, Any]

MAX_KEPT = 20
"""The maximum number of counterexamples that are kept for one property."""

MAX_CHARACTERS = 1_000_000
"""The maximum number of characters of one counterexample; a longer one would make every check slow to start."""


def key_of(kind: str, text: str) -> str:
    """The key of a property's counterexamples: from its kind and its text, whatever the model."""
    return hashlib.sha256(f"{kind}\n{text}".encode()).hexdigest()


class KnownCounterexamples:
    """The known counterexamples in a folder of records, which is created when there is something to keep.

    Nothing here raises if the store cannot be read or written: a check is valid without known counterexamples.
    What went wrong is in ``trouble``, in words. Several processes and threads may read and write at once.
    """

    def __init__(self, folder: str | Path, file: str = STORE) -> None:
        self.folder = Path(folder)
        self.path = self.folder / file
        self.trouble: str | None = None

    def of(self, key: str) -> tuple[Counterexample, ...]:
        """The counterexamples of a property, the latest first."""
        if not self.path.exists():
            return ()
        items: list[Counterexample] = []
        query = "SELECT counterexample FROM known WHERE property = ? ORDER BY place DESC"
        with self._noting(), Database(self.path, KNOWN, reading=True).reading("read a counterexample") as connection:
            items = [json.loads(text) for (text,) in connection.execute(query, (key,))]
        return tuple(item for item in items if isinstance(item, dict))

    def add(self, key: str, counterexamples: Sequence[Counterexample]) -> None:
        """Keep counterexamples of a property, the first as the latest; beyond ``MAX_KEPT``, the oldest are dropped."""
        with self._noting():
            texts = [text for text in map(_sorted_json, counterexamples[:MAX_KEPT]) if len(text) <= MAX_CHARACTERS]
            if len(texts) < len(counterexamples[:MAX_KEPT]):
                self.trouble = (
                    f"a counterexample of more than {MAX_CHARACTERS:,} characters is not kept for the next check"
                )
            if texts:
                self._change(key, drop=texts, add=texts[::-1])

    def drop(self, key: str, counterexamples: Sequence[Counterexample]) -> None:
        """Forget counterexamples of a property; others that were added in the meantime stay."""
        if counterexamples and self.path.exists():
            with self._noting():
                self._change(key, drop=list(map(_sorted_json, counterexamples)), add=[])

    def _change(self, key: str, drop: Sequence[str], add: Sequence[str]) -> None:
        """Remove texts and put others on top, in one exclusive transaction."""
        with Database(self.path, KNOWN).writing("write a counterexample") as connection:
            connection.executemany(
                "DELETE FROM known WHERE property = ? AND counterexample = ?", [(key, text) for text in drop]
            )
            (top,) = connection.execute("SELECT max(place) FROM known WHERE property = ?", (key,)).fetchone()
            first = 0 if top is None else top + 1
            connection.executemany(
                "INSERT INTO known (property, place, counterexample) VALUES (?, ?, ?)",
                [(key, place, text) for place, text in enumerate(add, start=first)],
            )
            connection.execute(
                "DELETE FROM known WHERE property = ?1 AND place NOT IN "
                "(SELECT place FROM known WHERE property = ?1 ORDER BY place DESC LIMIT ?2)",
                (key, MAX_KEPT),
            )

    @contextmanager
    def _noting(self) -> Iterator[None]:
        """Record what goes wrong in ``trouble`` instead of raising."""
        try:
            yield
        except IsonomiaError as error:
            self.trouble = str(error)
        except (TypeError, ValueError) as error:
            self.trouble = f"expected a counterexample that can be written as JSON, but: {error}"


def _sorted_json(counterexample: Counterexample) -> str:
    return json.dumps(counterexample, allow_nan=False, sort_keys=True)
