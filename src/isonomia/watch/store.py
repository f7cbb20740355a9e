"""What is kept of a watch: one SQLite file with its state, how far its source was read, alarms, and a history.

State and position are written in one transaction. So whatever was counted is in the state exactly once, whenever the
process was killed, and a copy of the file can be continued elsewhere. SQLite's default journal mode leaves a single
file behind, and each transaction waits for the disk.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

from isonomia.errors import RecordError, UsageError, refuse_no_path
from isonomia.records.database import LOCK_TIMEOUT, record_error, refuse_programs
from isonomia.watch.answers import Alarm
from isonomia.watch.source import Part, Position
from isonomia.watch.stream import ACKNOWLEDGED, OUTCOMES

FORMAT = 1
"""The version of the tables."""

MAX_POINTS = 1_000
"""The most points of the history; when there are more, every second one is deleted."""

SCHEMA = f"""
CREATE TABLE IF NOT EXISTS format (version INTEGER PRIMARY KEY) WITHOUT ROWID;
INSERT OR IGNORE INTO format SELECT {FORMAT} WHERE NOT EXISTS (SELECT 1 FROM format);
CREATE TABLE IF NOT EXISTS watch (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    id TEXT NOT NULL,
    begun TEXT NOT NULL,
    source TEXT NOT NULL,
    revision INTEGER NOT NULL,
    state BLOB NOT NULL
);
CREATE TABLE IF NOT EXISTS log (
    number INTEGER PRIMARY KEY,
    brings TEXT NOT NULL,
    position TEXT,
    rows INTEGER NOT NULL,
    digest TEXT,
    written TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS alarms (
    number INTEGER PRIMARY KEY,
    content TEXT NOT NULL,
    raised TEXT NOT NULL,
    label TEXT NOT NULL,
    began TEXT,
    acknowledged TEXT
);
CREATE TABLE IF NOT EXISTS deliveries (
    alarm INTEGER NOT NULL,
    channel TEXT NOT NULL,
    delivered TEXT NOT NULL,
    PRIMARY KEY (alarm, channel)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS seen (
    id TEXT PRIMARY KEY,
    outcome TEXT,
    decided INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS points (
    number INTEGER PRIMARY KEY,
    written TEXT NOT NULL,
    label TEXT NOT NULL,
    samples INTEGER NOT NULL,
    content TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS days (
    day TEXT PRIMARY KEY,
    samples INTEGER NOT NULL,
    outcomes INTEGER NOT NULL
);
"""


@dataclass(frozen=True, slots=True)
class LogEntry:
    """What was read up to a position; consecutive parts that are not ``alone`` share an entry."""

    number: int
    brings: str
    position: Position | None
    rows: int
    digest: str | None


@dataclass(frozen=True, slots=True)
class KeptAlarm:
    """An alarm, when it was raised, in which parts it came and probably began, and what happened to it."""

    number: int
    content: Mapping[str, Any]
    raised: str
    label: str
    began: str | None
    acknowledged: str | None
    delivered: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HistoryPoint:
    """The status after an update: the estimate, interval and answer of each comparison for the last samples."""

    written: str
    label: str
    samples: int
    claims: tuple[tuple[float | None, float, float, str], ...]
    pending: int
    missing: int


@dataclass(frozen=True, slots=True)
class SeenSample:
    """The id of a sample, its outcome as JSON, if it has come, and whether the sample itself has come."""

    id: str
    outcome: str | None
    decided: bool


class WatchStore:
    """The file of one watch.

    Parameters
    ----------
    path
        The file; it is created if it does not exist.
    source
        The description of the source. A file that holds a watch over another source is refused.
    """

    def __init__(self, path: Path, source: str) -> None:
        refuse_no_path(str(path))
        self.path, self.source, self._revision = path, source, -1
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"expected a folder that can be written for the store {path}: {error.strerror}") from error
        with self._explained("open the store"):
            self._database = sqlite3.connect(path, timeout=LOCK_TIMEOUT, isolation_level=None)
            self._database.execute("PRAGMA synchronous = FULL")
            refuse_programs(self._database, path, SCHEMA)
            self._database.executescript(SCHEMA)
            (version,) = self._database.execute("SELECT max(version) FROM format").fetchone()
        if version != FORMAT:
            raise RecordError(f"expected a store of format {FORMAT} at {path}, but it has format {version}")

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    # ------------------------------------------------------------------------------------------------- state and log

    def state(self) -> bytes | None:
        """The state of the watch; ``None`` if nothing was counted yet."""
        with self._explained("read the store"):
            row = self._database.execute("SELECT source, revision, state FROM watch").fetchone()
        if row is None:
            return None
        source, self._revision, state = row
        if source != self.source:
            raise RecordError(
                f"{self.path} holds a watch over {source}, but this file names {self.source}. Choose another store, "
                "store = '...', for another watch"
            )
        return state.encode() if isinstance(state, str) else bytes(state)

    @property
    def id(self) -> str:
        """A unique id of this watch, which its copies share."""
        return self._about("id")

    @property
    def begun(self) -> str:
        """When it began, as ISO 8601."""
        return self._about("begun")

    def _about(self, column: str) -> str:
        with self._explained("read the store"):
            row = self._database.execute(f"SELECT {column} FROM watch").fetchone()
        return "" if row is None else str(row[0])

    def log(self) -> list[LogEntry]:
        """Everything that was read, in order."""
        with self._explained("read the store"):
            rows = self._database.execute(
                "SELECT number, brings, position, rows, digest FROM log ORDER BY number"
            ).fetchall()
        return [LogEntry(n, brings, _loaded(position), count, digest) for n, brings, position, count, digest in rows]

    def begin(self, state: bytes) -> None:
        """Store a watch that has seen nothing yet."""
        with self._transaction("begin the watch") as database:
            database.execute(
                "INSERT INTO watch VALUES (1, ?, ?, ?, 0, ?)", (uuid4().hex[:12], _now(), self.source, state)
            )
        self._revision = 0

    def save(
        self,
        state: bytes,
        part: Part,
        alarms: Sequence[tuple[Alarm, str, str | None]],
        days: Mapping[str, int],
        point: HistoryPoint | None,
        seen: Sequence[SeenSample] = (),
    ) -> None:
        """Store the results of a part, all or nothing. ``alarms`` come with where they were raised and began."""
        with self._transaction("keep the watch") as database:
            self._keep_state(database, state)
            self._keep_part(database, part)
            rows = [(each.id, each.outcome, each.decided) for each in seen]
            database.executemany("INSERT OR REPLACE INTO seen VALUES (?, ?, ?)", rows)
            for alarm, label, began in alarms:
                content = json.dumps(asdict(alarm))
                database.execute(
                    "INSERT INTO alarms (content, raised, label, began) VALUES (?, ?, ?, ?)",
                    (content, _now(), label, began),
                )
            column = "outcomes" if part.brings == OUTCOMES else "samples"  # LEFT_OUT has no days
            for day, count in days.items():
                database.execute("INSERT OR IGNORE INTO days VALUES (?, 0, 0)", (day,))
                database.execute(f"UPDATE days SET {column} = {column} + ? WHERE day = ?", (count, day))
            if point is not None:
                _keep_point(database, point)

    def acknowledge(self, state: bytes) -> None:
        """Record that the alarms so far were acknowledged, and the state after it."""
        with self._transaction("acknowledge alarms") as database:
            self._keep_state(database, state)
            database.execute(
                "INSERT INTO log (brings, position, rows, written) VALUES (?, NULL, 0, ?)", (ACKNOWLEDGED, _now())
            )
            database.execute("UPDATE alarms SET acknowledged = ? WHERE acknowledged IS NULL", (_now(),))

    def _keep_state(self, database: sqlite3.Connection, state: bytes) -> None:
        changed = database.execute(
            "UPDATE watch SET state = ?, revision = revision + 1 WHERE revision = ?", (state, self._revision)
        )
        if changed.rowcount != 1:
            raise RecordError(
                f"another process has gone on with {self.path} in the meantime, and nothing was counted twice: let one "
                "process at a time watch"
            )
        self._revision += 1

    @staticmethod
    def _keep_part(database: sqlite3.Connection, part: Part) -> None:
        position = json.dumps(part.position)
        last = database.execute("SELECT number, brings FROM log ORDER BY number DESC LIMIT 1").fetchone()
        if last is not None and last[1] == part.brings and not part.alone:
            database.execute(
                "UPDATE log SET position = ?, rows = rows + ?, written = ? WHERE number = ?",
                (position, part.rows, _now(), last[0]),
            )
        else:
            database.execute(
                "INSERT INTO log (brings, position, rows, digest, written) VALUES (?, ?, ?, ?, ?)",
                (part.brings, position, part.rows, part.digest, _now()),
            )

    # --------------------------------------------------------------------------------------------------------- alarms

    def alarms(self) -> list[KeptAlarm]:
        """Every alarm, in order."""
        with self._explained("read alarms"):
            rows = self._database.execute("SELECT * FROM alarms ORDER BY number").fetchall()
            delivered: dict[int, list[str]] = {}
            for alarm, channel in self._database.execute("SELECT alarm, channel FROM deliveries"):
                delivered.setdefault(alarm, []).append(channel)
        return [
            KeptAlarm(n, _loaded(content), raised, label, began, acknowledged, tuple(delivered.get(n, ())))
            for n, content, raised, label, began, acknowledged in rows
        ]

    def delivered(self, alarm: int, channel: str) -> None:
        """Record that an alarm was delivered through a channel."""
        with self._transaction("keep a delivery") as database:
            database.execute("INSERT OR IGNORE INTO deliveries VALUES (?, ?, ?)", (alarm, channel, _now()))

    # ------------------------------------------------------------------------------------------------- late outcomes

    def seen(self, ids: Sequence[str]) -> dict[str, SeenSample]:
        """Those of some ids that came before, with a sample or with an outcome."""
        found = {}
        with self._explained("read the samples"):
            for start in range(0, len(ids), 500):
                some = ids[start : start + 500]
                query = f"SELECT id, outcome, decided FROM seen WHERE id IN ({', '.join('?' * len(some))})"
                for key, outcome, decided in self._database.execute(query, tuple(some)):
                    found[key] = SeenSample(key, outcome, bool(decided))
        return found

    def unmatched(self) -> int:
        """How many outcomes belong to samples that have not come."""
        with self._explained("read the samples"):
            (count,) = self._database.execute("SELECT count(*) FROM seen WHERE NOT decided").fetchone()
        return int(count)

    # -------------------------------------------------------------------------------------------------------- history

    def points(self) -> list[HistoryPoint]:
        """The points of the history, in order."""
        with self._explained("read the history"):
            rows = self._database.execute("SELECT written, label, samples, content FROM points ORDER BY number")
            return [_point(*row) for row in rows]

    def label_of(self, sample: int) -> str | None:
        """The part that a sample was in, as far as the history knows."""
        with self._explained("read the history"):
            row = self._database.execute(
                "SELECT label FROM points WHERE samples >= ? ORDER BY samples LIMIT 1", (sample,)
            ).fetchone()
        return None if row is None else str(row[0])

    def days(self, limit: int) -> list[tuple[str, int, int]]:
        """Samples and outcomes of the last days."""
        with self._explained("read the history"):
            rows = self._database.execute("SELECT * FROM days ORDER BY day DESC LIMIT ?", (limit,)).fetchall()
        return [(str(day), int(samples), int(outcomes)) for day, samples, outcomes in reversed(rows)]

    # ------------------------------------------------------------------------------------------------------- the file

    @contextmanager
    def _transaction(self, what: str) -> Iterator[sqlite3.Connection]:
        with self._explained(what):
            self._database.execute("BEGIN IMMEDIATE")
            try:
                yield self._database
            except BaseException:
                self._database.execute("ROLLBACK")
                raise
            self._database.execute("COMMIT")

    @contextmanager
    def _explained(self, what: str) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise record_error(what, self.path, error, "watch again", "another file with --store FILE") from error


def _keep_point(database: sqlite3.Connection, point: HistoryPoint) -> None:
    content = json.dumps({"claims": point.claims, "pending": point.pending, "missing": point.missing})
    row = (point.written, point.label, point.samples, content)
    database.execute("INSERT INTO points (written, label, samples, content) VALUES (?, ?, ?, ?)", row)
    (count,) = database.execute("SELECT count(*) FROM points").fetchone()
    if count > MAX_POINTS:
        numbers = [number for (number,) in database.execute("SELECT number FROM points ORDER BY number")]
        database.executemany("DELETE FROM points WHERE number = ?", [(number,) for number in numbers[1:-1:2]])


def _point(written: str, label: str, samples: int, content: str) -> HistoryPoint:
    held = _loaded(content)
    claims = tuple((estimate, low, high, str(answer)) for estimate, low, high, answer in held["claims"])
    return HistoryPoint(written, label, samples, claims, int(held["pending"]), int(held["missing"]))


def _loaded(text: str | None) -> Any:
    return None if text is None else json.loads(text)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
