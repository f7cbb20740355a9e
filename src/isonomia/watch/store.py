"""What is kept of a watch: one SQLite file with its state, how far its source was read, alerts, and a history.

State and position are written in one transaction. So whatever was counted is in the state exactly once, whenever the
process was killed, and a copy of the file can be continued elsewhere. SQLite's default journal mode leaves a single
file behind, and each transaction waits for the disk.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

from isonomia.errors import RecordError
from isonomia.records.sqlite import Database, StoreSchema
from isonomia.watch.answers import Alert
from isonomia.watch.source import Position, SourcePart
from isonomia.watch.stream import ACKNOWLEDGED, OUTCOMES

MAX_POINTS = 1_000
"""The maximum number of points of the history; when there are more, every second one is deleted."""

SCHEMA = StoreSchema(
    "a watch",
    """
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
CREATE TABLE IF NOT EXISTS alerts (
    number INTEGER PRIMARY KEY,
    content TEXT NOT NULL,
    raised TEXT NOT NULL,
    label TEXT NOT NULL,
    began TEXT,
    acknowledged TEXT
);
CREATE TABLE IF NOT EXISTS deliveries (
    alert INTEGER NOT NULL,
    channel TEXT NOT NULL,
    delivered TEXT NOT NULL,
    PRIMARY KEY (alert, channel)
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
""",
    version=1,
    durable=True,
    retry="watch again",
    elsewhere="another file with --store FILE",
)


@dataclass(frozen=True, slots=True)
class ReadSpan:
    """What was read up to a position; consecutive parts that are not ``alone`` share an entry."""

    number: int
    brings: str
    position: Position | None
    rows: int
    digest: str | None


@dataclass(frozen=True, slots=True)
class KeptAlert:
    """An alert, when it was raised, in which parts it came and probably began, and what happened to it."""

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
        self.path, self.source, self._revision = path, source, -1
        self._database = Database(path, SCHEMA).held_open()

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    # ------------------------------------------------------------------------------------------------- state and log

    def state(self) -> bytes | None:
        """The state of the watch; ``None`` if nothing was counted yet."""
        with self._database.reading("read the store") as connection:
            row = connection.execute("SELECT source, revision, state FROM watch").fetchone()
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
        with self._database.reading("read the store") as connection:
            row = connection.execute(f"SELECT {column} FROM watch").fetchone()
        return "" if row is None else str(row[0])

    def log(self) -> list[ReadSpan]:
        """Everything that was read, in order."""
        with self._database.reading("read the store") as connection:
            rows = connection.execute("SELECT number, brings, position, rows, digest FROM log ORDER BY number")
            return [
                ReadSpan(n, brings, _loaded(position), count, digest) for n, brings, position, count, digest in rows
            ]

    def begin(self, state: bytes) -> None:
        """Store a watch that has seen nothing yet."""
        with self._database.writing("begin the watch") as connection:
            connection.execute(
                "INSERT INTO watch VALUES (1, ?, ?, ?, 0, ?)", (uuid4().hex[:12], timestamp(), self.source, state)
            )
        self._revision = 0

    def save(
        self,
        state: bytes,
        part: SourcePart,
        alerts: Sequence[tuple[Alert, str, str | None]],
        days: Mapping[str, int],
        point: HistoryPoint | None,
        seen: Sequence[SeenSample] = (),
    ) -> None:
        """Store the results of a part, all or nothing. ``alerts`` come with where they were raised and began."""
        with self._database.writing("keep the watch") as connection:
            self._keep_state(connection, state)
            self._keep_part(connection, part)
            rows = [(each.id, each.outcome, each.decided) for each in seen]
            connection.executemany("INSERT OR REPLACE INTO seen VALUES (?, ?, ?)", rows)
            for alert, label, began in alerts:
                content = json.dumps(asdict(alert))
                connection.execute(
                    "INSERT INTO alerts (content, raised, label, began) VALUES (?, ?, ?, ?)",
                    (content, timestamp(), label, began),
                )
            column = "outcomes" if part.brings == OUTCOMES else "samples"  # LEFT_OUT has no days
            for day, count in days.items():
                connection.execute("INSERT OR IGNORE INTO days VALUES (?, 0, 0)", (day,))
                connection.execute(f"UPDATE days SET {column} = {column} + ? WHERE day = ?", (count, day))
            if point is not None:
                _keep_point(connection, point)

    def acknowledge(self, state: bytes) -> None:
        """Record that the alerts so far were acknowledged, and the state after it."""
        with self._database.writing("acknowledge alerts") as connection:
            self._keep_state(connection, state)
            connection.execute(
                "INSERT INTO log (brings, position, rows, written) VALUES (?, NULL, 0, ?)", (ACKNOWLEDGED, timestamp())
            )
            connection.execute("UPDATE alerts SET acknowledged = ? WHERE acknowledged IS NULL", (timestamp(),))

    def _keep_state(self, connection: sqlite3.Connection, state: bytes) -> None:
        changed = connection.execute(
            "UPDATE watch SET state = ?, revision = revision + 1 WHERE revision = ?", (state, self._revision)
        )
        if changed.rowcount != 1:
            raise RecordError(
                f"another process has continued {self.path} in the meantime; nothing was counted twice: run "
                "one watch process at a time"
            )
        self._revision += 1

    @staticmethod
    def _keep_part(connection: sqlite3.Connection, part: SourcePart) -> None:
        position = json.dumps(part.position)
        last = connection.execute("SELECT number, brings FROM log ORDER BY number DESC LIMIT 1").fetchone()
        if last is not None and last[1] == part.brings and not part.alone:
            connection.execute(
                "UPDATE log SET position = ?, rows = rows + ?, written = ? WHERE number = ?",
                (position, part.rows, timestamp(), last[0]),
            )
        else:
            connection.execute(
                "INSERT INTO log (brings, position, rows, digest, written) VALUES (?, ?, ?, ?, ?)",
                (part.brings, position, part.rows, part.digest, timestamp()),
            )

    # --------------------------------------------------------------------------------------------------------- alerts

    def alerts(self) -> list[KeptAlert]:
        """Every alert, in order."""
        with self._database.reading("read alerts") as connection:
            rows = connection.execute("SELECT * FROM alerts ORDER BY number").fetchall()
            delivered: dict[int, list[str]] = {}
            for alert, channel in connection.execute("SELECT alert, channel FROM deliveries"):
                delivered.setdefault(alert, []).append(channel)
        return [
            KeptAlert(n, _loaded(content), raised, label, began, acknowledged, tuple(delivered.get(n, ())))
            for n, content, raised, label, began, acknowledged in rows
        ]

    def delivered(self, alert: int, channel: str) -> None:
        """Record that an alert was delivered through a channel."""
        with self._database.writing("keep a delivery") as connection:
            connection.execute("INSERT OR IGNORE INTO deliveries VALUES (?, ?, ?)", (alert, channel, timestamp()))

    # ------------------------------------------------------------------------------------------------- late outcomes

    def seen(self, ids: Sequence[str]) -> dict[str, SeenSample]:
        """Those of some ids that came before, with a sample or with an outcome."""
        samples = {}
        with self._database.reading("read the samples") as connection:
            for start in range(0, len(ids), 500):
                some = ids[start : start + 500]
                query = f"SELECT id, outcome, decided FROM seen WHERE id IN ({', '.join('?' * len(some))})"
                for key, outcome, decided in connection.execute(query, tuple(some)):
                    samples[key] = SeenSample(key, outcome, bool(decided))
        return samples

    def unmatched(self) -> int:
        """How many outcomes belong to samples that have not come."""
        with self._database.reading("read the samples") as connection:
            (count,) = connection.execute("SELECT count(*) FROM seen WHERE NOT decided").fetchone()
        return int(count)

    # -------------------------------------------------------------------------------------------------------- history

    def points(self) -> list[HistoryPoint]:
        """The points of the history, in order."""
        with self._database.reading("read the history") as connection:
            rows = connection.execute("SELECT written, label, samples, content FROM points ORDER BY number")
            return [_point(*row) for row in rows]

    def label_of(self, sample: int) -> str | None:
        """The part that a sample was in, as far as the history knows."""
        with self._database.reading("read the history") as connection:
            row = connection.execute(
                "SELECT label FROM points WHERE samples >= ? ORDER BY samples LIMIT 1", (sample,)
            ).fetchone()
        return None if row is None else str(row[0])

    def days(self, limit: int) -> list[tuple[str, int, int]]:
        """Samples and outcomes of the last days."""
        with self._database.reading("read the history") as connection:
            rows = connection.execute("SELECT * FROM days ORDER BY day DESC LIMIT ?", (limit,)).fetchall()
        return [(str(day), int(samples), int(outcomes)) for day, samples, outcomes in reversed(rows)]


def _keep_point(connection: sqlite3.Connection, point: HistoryPoint) -> None:
    content = json.dumps({"claims": point.claims, "pending": point.pending, "missing": point.missing})
    row = (point.written, point.label, point.samples, content)
    connection.execute("INSERT INTO points (written, label, samples, content) VALUES (?, ?, ?, ?)", row)
    (count,) = connection.execute("SELECT count(*) FROM points").fetchone()
    if count > MAX_POINTS:
        numbers = [number for (number,) in connection.execute("SELECT number FROM points ORDER BY number")]
        connection.executemany("DELETE FROM points WHERE number = ?", [(number,) for number in numbers[1:-1:2]])


def _point(written: str, label: str, samples: int, content: str) -> HistoryPoint:
    held = _loaded(content)
    claims = tuple((estimate, low, high, str(answer)) for estimate, low, high, answer in held["claims"])
    return HistoryPoint(written, label, samples, claims, int(held["pending"]), int(held["missing"]))


def _loaded(text: str | None) -> Any:
    return None if text is None else json.loads(text)


def timestamp() -> str:
    """The present time in UTC, as ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="seconds")
