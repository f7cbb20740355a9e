"""A running watch: it reads its source, stores the results, and delivers alerts.

Every part of the source is judged and stored in one transaction. An alert is stored with it, and delivered afterwards,
until each of its channels has it: at least once, and perhaps twice if the process was killed in between.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from threading import Event
from time import monotonic
from typing import Any, Protocol
from urllib.parse import urlsplit

from isonomia.audits.audit_file.reader import AuditFile
from isonomia.errors import DataError, IsonomiaError, ModelError, RecordError, SpecError
from isonomia.models.client import HttpSender
from isonomia.models.process import Command, ended_with, tail
from isonomia.populations.table import plain_value
from isonomia.records.evidence import EvidenceFile
from isonomia.records.store import versions
from isonomia.toml import TomlText
from isonomia.watch.answers import Alert
from isonomia.watch.evidence import StreamRecord, watch_evidence
from isonomia.watch.source import Position, SourcePart, StreamSource, day_of
from isonomia.watch.store import HistoryPoint, KeptAlert, ReadSpan, SeenSample, WatchStore, timestamp
from isonomia.watch.stream import DECISIONS, EARLY, LEFT_OUT, OUTCOMES, PARTS, ids_of
from isonomia.watch.watch import Watch
from isonomia.wording import first_few, plural

SELDOM = 1.0
"""Seconds between two points of the history, unless parts are separate, as files are, or a new day begins, or there was
a part of a window in between."""


# ------------------------------------------------------------------------------------------------------- alert channels


class AlertChannel(Protocol):
    """Delivers alerts."""

    @property
    def name(self) -> str:
        """Its name in the store."""
        ...

    def deliver(self, message: bytes) -> None:
        """Deliver an alert, as JSON; raises ``ModelError`` if it did not arrive."""


@dataclass(frozen=True, slots=True)
class AlertCommand:
    """A program that reads an alert from its standard input. Exit code 0 means that it was delivered."""

    command: Command
    name = "command"

    def deliver(self, message: bytes) -> None:
        """Run it."""
        finished = self.command.run(message)
        if finished.code != 0:
            raise ModelError(f"{self.command.parts[0]} {ended_with(finished.code)}. {tail(finished.errors)}")


@dataclass(frozen=True, slots=True)
class Webhook:
    """An address to which an alert is sent by POST. A status of 200 to 299 means that it was delivered."""

    sender: HttpSender
    name = "webhook"

    def deliver(self, message: bytes) -> None:
        """Send it."""
        # Only the host: the path of such an address often acts as its password.
        self.sender.tell(message, str(urlsplit(self.sender.url).hostname), Event())


@dataclass(frozen=True, slots=True)
class AlertLine:
    """A line of JSON in the output of the command."""

    write: Callable[[str], None]
    name = "line"

    def deliver(self, message: bytes) -> None:
        """Print it."""
        self.write(message.decode())


# ------------------------------------------------------------------------------------------------------------- the work


@dataclass(slots=True)
class Monitor:
    """A watch with its store, its source, and the channels for alerts.

    Attributes
    ----------
    outcomes
        Where late outcomes come from, unless the source brings them itself.
    title
        What is watched, for the recipients of alerts.
    time
        The column that says when a decision was made; without one, rows are counted by file, or by the day of reading.
    warn
        Called with a message about what failed and will be tried again.
    """

    watch: Watch
    store: WatchStore
    source: StreamSource
    channels: Sequence[AlertChannel]
    outcomes: StreamSource | None = None
    title: str = ""
    time: str | None = None
    warn: Callable[[str], None] = lambda _: None
    _last_point: tuple[float, int, str] = (-SELDOM, 0, "")

    def resume(self) -> None:
        """Continue where the store ends, or begin."""
        state = self.store.state()
        if state is None:
            self.store.begin(self.watch.state)
            return
        self.watch.restore(state)
        try:
            log = self.store.log()
            if not 0 <= self.watch.samples <= sum(entry.rows for entry in log if entry.brings == DECISIONS):
                raise ValueError(f"{self.watch.samples:,} samples were judged, more than the positions account for")
            self.source.resume(_positions(log, None if self.outcomes is None else DECISIONS))
            if self.outcomes is not None:
                self.outcomes.resume(_positions(log, OUTCOMES))
        except (LookupError, TypeError, ValueError, OverflowError, RecursionError) as error:
            raise RecordError(
                f"expected positions in the source at {self.store.path}, but they cannot be read: {error!r}. "
                "Restore the file, or begin with a new store"
            ) from error

    def catch_up(self, stop: Event) -> int:
        """Judge everything that has come; returns how many rows there were.

        A sample is left out for lack of an outcome only when all outcomes that are there have been read. So a backlog
        gives the same results as many runs, if the outcomes came in time, and otherwise leaves out fewer samples.
        """
        rows = 0
        for part in self.source.new(stop) if self.outcomes is None else self._both(self.outcomes, stop):
            self._take(part)
            rows += part.rows
            self.deliver()
        if self.outcomes is not None and not stop.is_set():
            self._leave_out()
            self.deliver()
        return rows

    def _both(self, outcomes: StreamSource, stop: Event) -> Iterator[SourcePart]:
        """The parts of both sources: outcomes after the decisions that they belong to, as far as these have come."""
        decisions = self.source.new(stop)
        for part in outcomes.new(stop):
            looked_again = False
            while not stop.is_set() and self._has_unknown_ids(part):
                decided = next(decisions, None)
                if decided is not None:
                    yield decided
                elif looked_again or (self._reads_lines and self._can_be_early(part)):
                    break
                else:  # decisions that have come in the meantime; for lines of standard input, this waits
                    decisions, looked_again = self.source.new(stop), not self._reads_lines
            yield part
        yield from decisions

    @property
    def _reads_lines(self) -> bool:
        return self.source.brings is None

    def _can_be_early(self, part: SourcePart) -> bool:
        """Whether outcomes can be kept for samples that may still come through standard input."""
        return self.source.ended or self.store.unmatched() + part.rows <= EARLY

    def _leave_out(self) -> None:
        before = self.watch.pending
        alerts = self.watch.leave_out() if before else ()
        if self.watch.pending < before:
            label = f"{plural(before - self.watch.pending, 'sample')} that waited for outcomes"
            self._save(
                SourcePart(None, None, label, LEFT_OUT, alone=True),
                alerts,
                self.watch.samples - len(self.watch.judged_ids),
                (),
            )

    def acknowledge(self) -> int:
        """Acknowledge the open alerts, and watch on; returns how many there were."""
        waiting = [alert for alert in self.store.alerts() if alert.acknowledged is None]
        if waiting:
            self.watch.acknowledge()
            self.store.acknowledge(self.watch.state)
        return len(waiting)

    def evidence(self, file: AuditFile) -> EvidenceFile:
        """The evidence of the watch in its present state; ``file`` is its watch file."""
        log = [
            {"brings": each.brings, "position": _lasting(each.position), "rows": each.rows, "digest": each.digest}
            for each in self.store.log()
        ]
        alerts = [
            {"raised": each.raised, "acknowledged": each.acknowledged, "in": each.label, "began_in": each.began}
            for each in self.store.alerts()
        ]
        run = {"id": self.store.id, "begun": self.store.begun, "ended": timestamp()}
        return watch_evidence(
            self.watch.terms,
            self.watch.statistics,
            StreamRecord(self.store.source, tuple(log), tuple(alerts)),
            run={**run, "title": self.title, "versions": versions(), "seed": self.watch.seed},
            audit={"name": file.path.name, "text": _shareable(file), "files": {}},
            definitions=[dict(table.content) for table in file.properties()],
            model=self.watch.model_record,
        )

    def deliver(self) -> bool:
        """Deliver alerts to every channel that does not have them; returns whether all of them do."""
        all_delivered = True
        for alert in self.store.alerts():
            for channel in self.channels:
                if channel.name in alert.delivered:
                    continue
                try:
                    channel.deliver(self.message(alert))
                except IsonomiaError as error:
                    all_delivered = False
                    self.warn(f"alert {alert.number} was not delivered by {channel.name}, and will be: {error}")
                else:
                    self.store.delivered(alert.number, channel.name)
        return all_delivered

    def message(self, alert: KeptAlert) -> bytes:
        """An alert as JSON: the same each time, so that a recipient can recognize a duplicate."""
        onset = {name: alert.content["onset"][name] for name in ("estimate", "low", "high")}
        content = {
            "id": f"{self.store.id}-{alert.number}",
            "title": self.title,
            "raised": alert.raised,
            **alert.content,
            "onset": onset,
            "in": alert.label,
            "began_in": alert.began,
        }
        return json.dumps(content).encode()

    def point(self, label: str) -> HistoryPoint:
        """The present status, for the history."""
        claims = tuple(
            (each.expression.estimate, each.expression.low, each.expression.high, each.answer)
            for each in self.watch.now
        )
        return HistoryPoint(timestamp(), label, self.watch.samples, claims, self.watch.pending, self.watch.missing)

    def _take(self, part: SourcePart) -> None:
        days, seen, before = self._days(part), self._seen(part), self.watch.samples
        self._save(part, judged(self.watch, part, leave_out=self.outcomes is None), before, seen, days)

    def _save(
        self,
        part: SourcePart,
        alerts: Sequence[Alert],
        before: int,
        seen: Sequence[SeenSample],
        days: Mapping[str, int] | None = None,
    ) -> None:
        labelled = []
        for alert in alerts:
            label, onset = self._label(part, alert.sample - before - 1), min(alert.onset.estimate, alert.sample - 1)
            began = self._label(part, onset - before) if onset >= before else self.store.label_of(onset)
            labelled.append((alert, label, began or label))
        moment, samples, day = self._last_point
        today = part.label[:10] if self.time is not None and part.names else day
        enough = self.watch.samples - samples >= max(self.watch.window // PARTS, 1)
        point = None
        if part.alone or alerts or enough or today != day or monotonic() - moment >= SELDOM:
            point, self._last_point = self.point(part.label), (monotonic(), self.watch.samples, today)
        self.store.save(self.watch.state, part, labelled, days or {}, point, seen)

    def _label(self, part: SourcePart, index: int) -> str:
        """What to call a sample that a part let judge, given its index among those."""
        late = self.watch.late_columns
        if late is not None and index < len(self.watch.judged_ids):
            return f"{late[1]} {self.watch.judged_ids[index]}, in {part.label}"
        return part.names[index] if index < len(part.names) else part.label

    def _has_unknown_ids(self, part: SourcePart) -> bool:
        ids = ids_in(self.watch, part)
        return len(self.store.seen(ids)) < len(set(ids))

    def _seen(self, part: SourcePart) -> list[SeenSample]:
        """The samples of a part, or the outcomes in it that are new; others are reported.

        Raises
        ------
        DataError
            If a sample came before, or all outcomes of a file belong to samples that never came.
        """
        late = self.watch.late_columns
        if late is None or part.table is None or part.brings == LEFT_OUT:
            return []
        ids = ids_in(self.watch, part)
        known = self.store.seen(ids)
        given = part.table.column(late[0]) if late[0] in part.table.names else [None] * len(ids)
        plain = map(plain_value, given)
        outcomes = [None if each is None else json.dumps(each, default=str) for each in plain]
        if part.brings != OUTCOMES:
            twice = next((each for each in ids if each in known and known[each].decided), None)
            if twice is not None:
                raise DataError(
                    f"{part.label}: expected every sample once, but got {late[1]} {twice!r} a second time. No "
                    "part of it was counted"
                )
            early = (known[each].outcome if each in known else None for each in ids)
            return [SeenSample(each, own or old, True) for each, own, old in zip(ids, outcomes, early, strict=True)]
        return self._new_outcomes(part, ids, outcomes, known)

    def _new_outcomes(
        self, part: SourcePart, ids: Sequence[str], outcomes: Sequence[str | None], known: Mapping[str, SeenSample]
    ) -> list[SeenSample]:
        new: dict[str, SeenSample] = {}
        faults: dict[str, list[str]] = {}
        matched = 0
        for each, outcome in zip(ids, outcomes, strict=True):
            before = new.get(each) or known.get(each) or SeenSample(each, None, False)
            matched += before.decided
            if before.outcome is None:
                new[each] = SeenSample(each, outcome, before.decided)
            if before.outcome is not None and outcome is not None:
                same = json.loads(before.outcome) == json.loads(outcome)
                fault = "the same as before" if same else "different from the first, which counts"
            elif not before.decided:
                fault = "without a decision so far"
            else:
                fault = "" if self.watch.awaits(each) else "of a sample that was left out"
            if fault:
                faults.setdefault(fault, []).append(each)
        if part.alone and not matched and (self.source.ended or not self._reads_lines):
            raise DataError(
                f"{part.label}: expected outcomes of earlier samples, but none of them has one of its "
                f"{plural(len(set(ids)), 'id')}, such as {first_few(ids, 3)}. No part of it was counted. Ids are "
                "compared as text: 7, 7.0 and '7' are the same, and 007 is another"
            )
        for fault, those in faults.items():
            self.warn(f"{part.label}: {plural(len(those), 'outcome')} {fault}: {first_few(those, 3)}")
        return list(new.values())

    def _days(self, part: SourcePart) -> Mapping[str, int]:
        """How many rows each day has."""
        if part.table is None:
            return {part.label: 0} if part.alone else {}
        if self.time is not None and part.brings != OUTCOMES:
            if self.time not in part.table.names:
                raise DataError(f"{part.label}: expected the column {self.time!r}, the time of each decision")
            return Counter(day_of(plain_value(value), self.time) for value in part.table.column(self.time))
        return {part.label if part.alone else datetime.now(UTC).date().isoformat(): part.rows}


def _shareable(file: AuditFile) -> str:
    """The text of a watch file without the path of a webhook, which often acts as its password."""
    address = file.content.get("alert", {}).get("webhook")
    if address is None:
        return file.text
    text = file.text.replace(address, f"https://{urlsplit(address).hostname}/...")
    if TomlText.parse(text, str(file.path)).content["alert"]["webhook"] == address:
        raise file.error(
            "expected the address of the webhook without escapes, so that evidence can "
            "omit it; or name an environment variable, webhook_env",
            "alert",
            "webhook",
        )
    return text


def _lasting(position: Position | None) -> Position | None:
    """A position without what is found again when the source is read again, and the times and inodes of files."""
    if position is None:
        return None
    return {name: value for name, value in position.items() if name not in {"stamp", "kinds", "chain"}}


def judged(watch: Watch, part: SourcePart, *, leave_out: bool) -> tuple[Alert, ...]:
    """Let a watch judge a part, samples or outcomes of earlier ones; returns the alerts.

    ``leave_out`` says whether samples may be left out that have waited too long: only where outcomes come through the
    same source, in order.
    """
    if part.table is None:
        return ()
    try:
        if part.brings != OUTCOMES:
            return watch.take_in(part.table, ids=part.ids, leave_out=leave_out)
        ids, (outcome, _) = ids_in(watch, part), watch.late_columns or ("", "")
        if outcome not in part.table.names:
            raise DataError(f"expected the column {outcome!r} in late outcomes")
        return watch.label(ids, part.table.column(outcome))
    except (DataError, SpecError) as error:
        raise DataError(f"{part.label}: {error}. No part of it was counted") from error


def ids_in(watch: Watch, part: SourcePart) -> Sequence[str]:
    """The ids of a part, of samples or of outcomes."""
    if part.table is None or watch.late_columns is None:
        return ()
    _, name = watch.late_columns
    if name not in part.table.names:
        raise DataError(f"{part.label}: expected the column {name!r}, which identifies samples, but it is missing")
    return part.ids if part.ids is not None else ids_of(part.table.column(name), name, part.label)


def _positions(log: Sequence[ReadSpan], brings: str | None) -> list[Mapping[str, Any]]:
    """The positions of one source, by what it brings; ``None`` if there is only one."""
    return [
        {**entry.position, "digest": entry.digest}
        for entry in log
        if entry.position is not None and (brings is None or entry.brings == brings)
    ]
