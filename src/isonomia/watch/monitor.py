"""A running watch: it reads its source, stores the results, and delivers alarms.

Every part of the source is judged and stored in one transaction. An alarm is stored with it, and delivered afterwards,
until each of its channels has it: at least once, and perhaps twice if the process was killed in between.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from threading import Event
from time import monotonic
from typing import Any, Protocol
from urllib.parse import urlsplit

from isonomia.audits.audit_file.reader import AuditFile
from isonomia.errors import DataError, IsonomiaError, ModelError
from isonomia.models.client import Sender
from isonomia.models.process import Command, ended_with, tail
from isonomia.records.database import versions
from isonomia.records.evidence import EvidenceFile
from isonomia.toml import TomlText
from isonomia.watch.answers import Alarm
from isonomia.watch.evidence import StreamRecord, watch_evidence
from isonomia.watch.source import Part, StreamSource
from isonomia.watch.store import HistoryPoint, KeptAlarm, LogEntry, WatchStore
from isonomia.watch.stream import OUTCOMES
from isonomia.watch.watch import Watch

__all__ = ["AlarmChannel", "AlarmCommand", "AlarmLine", "Monitor", "Webhook", "brought_by", "judged"]

SELDOM = 1.0
"""Seconds between two points of the history, unless parts are separate, as files are."""


# ------------------------------------------------------------------------------------------------ who is told of alarms


class AlarmChannel(Protocol):
    """Delivers alarms."""

    @property
    def name(self) -> str:
        """Its name in the store."""
        ...

    def deliver(self, message: bytes) -> None:
        """Deliver an alarm, as JSON; raises ``ModelError`` if it did not arrive."""


@dataclass(frozen=True, slots=True)
class AlarmCommand:
    """A program that reads an alarm from its standard input. Exit code 0 means that it was delivered."""

    command: Command
    name = "command"

    def deliver(self, message: bytes) -> None:
        """Run it."""
        finished = self.command.run(message)
        if finished.code != 0:
            raise ModelError(f"{self.command.parts[0]} {ended_with(finished.code)}. {tail(finished.errors)}")


@dataclass(frozen=True, slots=True)
class Webhook:
    """An address to which an alarm is sent by POST. A status of 200 to 299 means that it was delivered."""

    sender: Sender
    name = "webhook"

    def deliver(self, message: bytes) -> None:
        """Send it."""
        # Only the host: the path of such an address often acts as its password.
        self.sender.tell(message, str(urlsplit(self.sender.url).hostname), Event())


@dataclass(frozen=True, slots=True)
class AlarmLine:
    """A line of JSON in the output of the command."""

    write: Callable[[str], None]
    name = "line"

    def deliver(self, message: bytes) -> None:
        """Print it."""
        self.write(message.decode())


# ------------------------------------------------------------------------------------------------------------- the work


@dataclass(slots=True)
class Monitor:
    """A watch with its store, its source, and the channels for alarms.

    Attributes
    ----------
    outcomes
        Where late outcomes come from, unless the source brings them itself.
    title
        What is watched, for the recipients of alarms.
    time
        The column that says when a decision was made; without one, rows are counted by file, or by the day of reading.
    warn
        Called with a message about what failed and will be tried again.
    """

    watch: Watch
    store: WatchStore
    source: StreamSource
    channels: Sequence[AlarmChannel]
    outcomes: StreamSource | None = None
    title: str = ""
    time: str | None = None
    warn: Callable[[str], None] = lambda _: None
    _last_point: float = -SELDOM

    def resume(self) -> None:
        """Continue where the store ends, or begin."""
        state = self.store.state()
        if state is None:
            self.store.begin(self.watch.state)
            return
        self.watch.restore(state)
        log = self.store.log()
        self.source.resume(_positions(log, brought_by(self.source)))
        if self.outcomes is not None:
            self.outcomes.resume(_positions(log, brought_by(self.outcomes)))

    def catch_up(self, stop: Event) -> int:
        """Judge everything that has come, decisions first; returns how many rows there were."""
        rows = 0
        for source in (self.source, self.outcomes):
            for part in () if source is None else source.new(stop):
                self._take(part)
                rows += part.rows
                self.deliver()
        return rows

    def acknowledge(self) -> int:
        """Acknowledge the open alarms, and watch on; returns how many there were."""
        waiting = [alarm for alarm in self.store.alarms() if alarm.acknowledged is None]
        if waiting:
            self.watch.acknowledge()
            self.store.acknowledge(self.watch.state)
        return len(waiting)

    def evidence(self, file: AuditFile) -> EvidenceFile:
        """The evidence of the watch in its present state; ``file`` is its watch file."""
        log = [
            {"brings": each.brings, "position": each.position, "rows": each.rows, "digest": each.digest}
            for each in self.store.log()
        ]
        alarms = [
            {"raised": each.raised, "acknowledged": each.acknowledged, "in": each.label, "began_in": each.began}
            for each in self.store.alarms()
        ]
        run = {"id": self.store.id, "begun": self.store.begun, "ended": datetime.now(UTC).isoformat(timespec="seconds")}
        return watch_evidence(
            self.watch.terms,
            self.watch.statistics,
            StreamRecord(self.store.source, tuple(log), tuple(alarms)),
            run={**run, "title": self.title, "versions": versions(), "seed": self.watch.seed},
            audit={"name": file.path.name, "text": _shareable(file), "files": {}},
            definitions=[dict(table.content) for table in file.properties()],
            model=self.watch.model_record,
        )

    def deliver(self) -> bool:
        """Deliver alarms to every channel that does not have them; returns whether all of them do."""
        everybody = True
        for alarm in self.store.alarms():
            for channel in self.channels:
                if channel.name in alarm.delivered:
                    continue
                try:
                    channel.deliver(self.message(alarm))
                except IsonomiaError as error:
                    everybody = False
                    self.warn(f"alarm {alarm.number} was not delivered by {channel.name}, and will be: {error}")
                else:
                    self.store.delivered(alarm.number, channel.name)
        return everybody

    def message(self, alarm: KeptAlarm) -> bytes:
        """An alarm as JSON: the same each time, so that a recipient can recognize a duplicate."""
        onset = {name: alarm.content["onset"][name] for name in ("estimate", "low", "high")}
        content = {
            "id": f"{self.store.id}-{alarm.number}",
            "title": self.title,
            "raised": alarm.raised,
            **alarm.content,
            "onset": onset,
            "in": alarm.label,
            "began_in": alarm.began,
        }
        return json.dumps(content).encode()

    def point(self, label: str) -> HistoryPoint:
        """The present status, for the history."""
        claims = tuple(
            (each.expression.estimate, each.expression.low, each.expression.high, each.answer)
            for each in self.watch.now
        )
        moment = datetime.now(UTC).isoformat(timespec="seconds")
        return HistoryPoint(moment, label, self.watch.samples, claims, self.watch.pending, self.watch.missing)

    def _take(self, part: Part) -> None:
        alarms = judged(self.watch, part)
        began = [(alarm, self.store.label_of(alarm.onset.estimate) or part.label) for alarm in alarms]
        point = None
        if part.alone or alarms or monotonic() - self._last_point >= SELDOM:
            point, self._last_point = self.point(part.label), monotonic()
        self.store.save(self.watch.state, part, began, self._days(part), point)

    def _days(self, part: Part) -> Mapping[str, int]:
        """How many rows each day has."""
        if part.table is None:
            return {part.label: 0} if part.alone else {}
        if self.time is not None and part.brings != OUTCOMES:
            if self.time not in part.table.names:
                raise DataError(f"{part.label}: expected the column {self.time!r}, the time of each decision")
            return Counter(str(value)[:10] for value in part.table.column(self.time))
        return {part.label if part.alone else datetime.now(UTC).date().isoformat(): part.rows}


def _shareable(file: AuditFile) -> str:
    """The text of a watch file without the path of a webhook, which often acts as its password."""
    address = file.content.get("alarm", {}).get("webhook")
    if address is None:
        return file.text
    text = file.text.replace(address, f"https://{urlsplit(address).hostname}/...")
    if TomlText.parse(text, str(file.path)).content["alarm"]["webhook"] == address:
        raise file.error(
            "expected the address of the webhook as it is, without escapes, so that evidence can be written without "
            "it; or name an environment variable, webhook_env",
            "alarm",
            "webhook",
        )
    return text


def brought_by(source: StreamSource) -> str | None:
    """What a source brings; ``None`` for one that brings both samples and outcomes."""
    return getattr(source, "brings", None)


def judged(watch: Watch, part: Part) -> tuple[Alarm, ...]:
    """Let a watch judge a part, samples or outcomes of earlier ones; returns the alarms."""
    if part.table is None:
        return ()
    try:
        if part.brings != OUTCOMES:
            return watch.update(part.table)
        outcome, key = watch.late_columns
        missing = [name for name in (key, outcome) if name not in part.table.names]
        if missing:
            raise DataError(f"expected the column {missing[0]!r} beside outcomes that come late")
        return watch.label(part.table.column(key), part.table.column(outcome))
    except DataError as error:
        raise DataError(f"{part.label}: {error}. Nothing of it was counted") from error


def _positions(log: Sequence[LogEntry], brings: str | None) -> list[Mapping[str, Any]]:
    """The positions of one source; ``None`` for one that brings both samples and outcomes."""
    return [
        entry.position for entry in log if entry.position is not None and (brings is None or entry.brings == brings)
    ]
