"""``isonomia watch``: decisions judged as they come, from a source that a watch file names."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from shlex import quote
from threading import Event
from time import monotonic
from typing import TYPE_CHECKING

import typer
from rich.console import Console

from isonomia.cli.outputs import new_console, output_error, reader_left
from isonomia.cli.records import read_key
from isonomia.cli.run import allowed
from isonomia.errors import ModelError, UsageError
from isonomia.wording import plural

if TYPE_CHECKING:
    from isonomia.audits.audit_file.reader import AuditFile
    from isonomia.watch.monitor import AlertChannel, Monitor

SELDOM = 2.0
"""Seconds between two writings of the page, where much comes one by one."""


def watch(
    file: Path,
    follow: bool = False,
    every: float = 10.0,
    until_alert: bool = False,
    acknowledge: bool = False,
    replay: bool = False,
    store: Path | None = None,
    page: Path | None = None,
    evidence: Path | None = None,
    key: Path | None = None,
    trust_pickle: bool = False,
    allow_code: bool = False,
    allow_outside: bool = False,
    remember: bool = False,
) -> None:
    """Judge a model in production by its decisions, as they arrive.

    What has come since the last time is counted, each decision once, even if the process was killed. Alerts are lines
    of JSON on standard output, and go to a command or a webhook where the file names one. The exit code is 1 as long as
    an alert is open, else 0.

    Example: isonomia watch watch.toml --follow
    """
    from isonomia.audits.protocol import Permissions
    from isonomia.report.files import need_writable
    from isonomia.watch.file import described, outcomes_of, read_watch_file, source_of, store_of, watch_of
    from isonomia.watch.monitor import Monitor
    from isonomia.watch.replay import replayed
    from isonomia.watch.store import WatchStore

    if acknowledge and (replay or follow):
        raise UsageError("--acknowledge cannot be used with --follow or --replay")
    if evidence is not None and replay:
        raise UsageError("--evidence cannot be used with --replay: isonomia replay FILE --full reads all data again")
    if key is not None and evidence is None:
        raise UsageError("--key requires --evidence")
    watched = read_watch_file(file)
    written = [key for key, given in (("store", store), ("page", page)) if given is None]
    permissions = allowed(watched, Permissions(trust_pickle, allow_code, allow_outside), written, keep=remember)
    console = new_console(stderr=True, wrap=False)
    source, outcomes = source_of(watched, permissions), outcomes_of(watched, permissions)
    fresh = watch_of(watched, permissions)
    opened = WatchStore(store or store_of(watched), str(described(watched, permissions)))
    if replay:
        differences, rows = replayed(fresh, opened, source, outcomes)
        _tell_replay(differences, rows, console)
        raise typer.Exit(2 if differences else int(fresh.alert is not None))
    named = watched.content.get("page")
    target = page if page is not None or named is None else watched.folder / named
    if target is not None:
        need_writable(target, "the page")
    if evidence is not None:
        need_writable(evidence, "the evidence")
    title = watched.content.get("title", file.stem)
    monitor = Monitor(fresh, opened, source, _channels(watched), outcomes, title, watched.content["source"].get("time"))
    monitor.warn = lambda message: console.print(message)
    monitor.resume()
    round_trip = _Rounds(monitor, watched, target, title, console, evidence, read_key(key))
    if acknowledge:
        round_trip.acknowledge()
        raise typer.Exit(0)
    with _until_stopped() as stop:
        round_trip.go(stop, every if follow else None, until_alert)
    raise typer.Exit(1 if fresh.alert is not None else 0)


def _channels(file: AuditFile) -> list[AlertChannel]:
    from isonomia.watch.file import channels_of
    from isonomia.watch.monitor import AlertLine

    def write(line: str) -> None:
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
        failed = output_error()
        if failed is not None or reader_left():
            raise ModelError(f"standard output: {failed.strerror if failed else 'its reader has left'}")

    return [AlertLine(write), *channels_of(file)]


def _tell_replay(differences: list[str], rows: int, console: Console) -> None:
    for difference in differences:
        console.print(difference)
    if differences:
        console.print("this store is not consistent with its source: see above", style="bold red")
    else:
        console.print(f"{plural(rows, 'row')} read again: state and alerts are the same, bit for bit")


@contextmanager
def _until_stopped() -> Iterator[Event]:
    """An event that is set by SIGINT and SIGTERM: work in progress is finished first."""
    stop, before = Event(), {}
    for number in (signal.SIGINT, signal.SIGTERM):
        with suppress(ValueError):  # not in the main thread: whoever runs it there stops it otherwise
            before[number] = signal.signal(number, lambda *_: stop.set())
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@dataclass(slots=True)
class _Rounds:
    """The rounds of the command: take what has come, send alerts, write the page, wait."""

    monitor: Monitor
    file: AuditFile
    page: Path | None
    title: str
    console: Console
    evidence: Path | None = None
    key: bytes | None = None
    _written: float = -SELDOM

    def go(self, stop: Event, every: float | None, until_alert: bool) -> None:
        """Run rounds until there are no more data, or until it is stopped."""
        monitor = self.monitor
        monitor.deliver()  # what was raised before the process was killed
        total, dirty = 0, True
        while True:
            rows = monitor.catch_up(stop)
            total, dirty = total + rows, dirty or rows > 0
            if dirty and monotonic() - self._written >= SELDOM:
                self.write()
                dirty = False
            ringing = until_alert and monitor.watch.alert is not None
            if stop.is_set() or ringing or monitor.source.ended:
                break
            if self._reads_lines:
                continue  # the source itself waits
            if every is None:
                break
            stop.wait(every)
            monitor.deliver()
        if dirty:
            self.write()
        self.tell(total)

    def acknowledge(self) -> None:
        """Take note of the open alerts, and say what is left."""
        count = self.monitor.acknowledge()
        if not count:
            self.console.print("no alert is open: there is nothing to acknowledge")
        else:
            self.console.print(f"{plural(count, 'alert')} acknowledged; {self.monitor.watch.risk_words}")
        if count or self.evidence is not None:
            self.write()

    @property
    def _reads_lines(self) -> bool:
        return "lines" in self.file.content["source"]

    def tell(self, rows: int) -> None:
        """Say in one line how things stand."""
        from isonomia.records.display.view import sent_to_model

        judged, now = self.monitor.watch, [alert for alert in self.monitor.store.alerts() if not alert.acknowledged]
        sent = f"; {sent_to_model(judged.queries)}" if judged.queries else ""
        late = f", {judged.pending:,} pending, {judged.missing:,} left out" if judged.pending or judged.missing else ""
        unmatched = self.monitor.store.unmatched()
        late += f", {plural(unmatched, 'outcome')} without a decision" if unmatched else ""
        files = (("page", self.page), ("evidence", self.evidence))
        where = "".join(f"; {what}: {path}" for what, path in files if path is not None)
        state = f"{plural(len(now), 'alert')} open" if now else "no alert open"
        self.console.print(
            f"{plural(rows, 'new row')}; {plural(judged.samples, 'sample')} judged{late}{sent}; {state}{where}"
        )

    def write(self) -> None:
        """Write the page and the evidence again."""
        from isonomia.records.evidence import evidence_text
        from isonomia.report.files import write_file

        if self.evidence is not None:
            write_file(evidence_text(self.monitor.evidence(self.file), self.key), self.evidence, "the evidence")
        if self.page is not None:
            write_file(self._page(), self.page, "the page")
        self._written = monotonic()

    def _page(self) -> str:
        from isonomia.report.page.watch import watch_page

        why = {str(each.get("name") or each.get("check")): str(each.get("why", "")) for each in self.file.properties()}
        moment = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
        return watch_page(self.monitor.watch, self.monitor.store, self.title, why, quote(str(self.file.path)), moment)
