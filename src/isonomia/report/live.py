"""A check or a whole audit while it runs.

For a check: the samples so far, the interval as it narrows, and an estimate of what is left. For an audit: one row per
property on a terminal, one line per property elsewhere.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import isfinite
from types import TracebackType
from typing import Protocol

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from isonomia.engine.parameters import NullObserver, Observer, Progress
from isonomia.records.display.view import cost
from isonomia.records.verdict import Verdict
from isonomia.report.entries import FAILED, Failure
from isonomia.report.terminal import STYLES, Result, finding_of, sign_of
from isonomia.wording import on_one_line, visible

EVERY = 0.2
"""Seconds between two updates; an interval costs more than a batch."""


@dataclass(slots=True)
class LiveProgress:
    """Shows a running check on a terminal; without a terminal it shows nothing."""

    console: Console
    _live: Live | None = field(default=None, init=False)
    _shown: float = field(default=0.0, init=False)

    def begin(self, text: str) -> None:
        """Start showing."""
        if self.console.is_terminal and not self.console.is_dumb_terminal:
            self._shown = time.monotonic()
            self._live = Live(Text(text, style="cyan"), console=self.console, transient=True, auto_refresh=False)
            self._live.start()

    def advance(self, progress: Progress) -> None:
        """Show the progress, unless it was shown just now."""
        if self._live is None or time.monotonic() - self._shown < EVERY:
            return
        self._live.update(_line(progress, self.console.width), refresh=True)
        self._shown = time.monotonic()

    def end(self) -> None:
        """Stop showing and leave the terminal as it was."""
        if self._live is not None:
            self._live.stop()
            self._live = None


YET = "not decided yet: "
"""Shown before an interval that is still narrowing, so that it is not read as an answer."""


def _line(progress: Progress, width: int) -> Table:
    """The progress of a check, on one line where the terminal has 80 columns."""
    wide = width >= WIDER
    grid = Table.grid(padding=(0, 2 if wide else 1))
    pace = progress.samples / progress.seconds if progress.seconds > 0 else 0.0
    left = min(progress.samples_left, progress.most - progress.samples)
    remaining = f"about {left:,.0f} more" if isfinite(left) else "remaining time unknown"
    if isfinite(left) and pace:
        seconds = f"{left / pace:,.0f} s"
        remaining = f"{remaining} ({seconds})" if wide else f"about {seconds} more"
    grid.add_row(
        ProgressBar(total=1.0, completed=progress.share, width=24 if wide else 6),
        f"{progress.samples:,} {progress.counted}",
        Text(YET + progress.progress_text(), style="cyan"),
        Text(remaining, style="dim"),
    )
    return grid


INTERVAL_EVERY = 0.5
"""Seconds between two computations of an interval; one costs more than a batch."""


@dataclass(slots=True)
class PropertyStatus:
    """One property: written by the thread that checks it, read by the one that shows it.

    ``began`` is by the monotonic clock; it is ``None`` before the check begins, and ``result`` before it ends.
    """

    name: str
    began: float | None = None
    result: Result | None = None
    share: float = 0.0
    samples: str = ""
    progress_text: str = ""
    _looked_at: float = field(default=0.0, repr=False)

    def begin(self, text: str) -> None:  # noqa: ARG002
        """Note that the check begins."""
        self.began = time.monotonic() if self.began is None else self.began

    def advance(self, progress: Progress) -> None:
        """Note that a batch was absorbed."""
        self.share, self.samples = progress.share, f"{progress.samples:,} {progress.counted}"
        now = time.monotonic()
        if now - self._looked_at >= INTERVAL_EVERY:
            self.progress_text = visible(progress.progress_text())
            self._looked_at = time.monotonic()

    def end(self) -> None:
        """The check is over; its result is set separately."""

    @property
    def state(self) -> str:
        """``waiting``, ``running``, an answer, or that it could not be checked."""
        match self.result:
            case None:
                return "waiting" if self.began is None else "running"
            case Failure():
                return FAILED
            case Verdict() as verdict:
                return verdict.answer

    @property
    def seconds(self) -> float:
        """How long it has taken."""
        match self.result:
            case None:
                return 0.0 if self.began is None else time.monotonic() - self.began
            case Failure():
                return 0.0
            case Verdict() as verdict:
                return verdict.seconds


def line_of(status: PropertyStatus) -> str:
    """The result of a property, as one line of plain text."""
    assert status.result is not None
    line = f"{status.state}: {status.name}: {finding_of(status.result)}"
    if isinstance(status.result, Failure):
        return line
    return f"{line}; {cost(status.result)}, {status.seconds:.1f} s"


COUNT_WORDS = {
    FAILED: "could not be checked",
    "violated": "violated",
    "undecided": "undecided",
    "running": "running",
    "waiting": "waiting",
    "holds": "hold",
}
"""The states as they are counted, those that need attention first."""


ROOM = 4
"""Lines of the terminal that are not for rows: the heading, the count of the others, and the prompt."""

WIDER, WIDE, MIDDLING = 120, 80, 50
"""The columns from which on bars are long, everything is shown, and more than state, name and samples is shown."""


class AuditDisplay(Protocol):
    """Shows a running audit; a context manager, which at its end removes what it has shown or leaves it."""

    def __enter__(self) -> AuditDisplay:
        """Start showing."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop showing."""

    def observer(self, number: int) -> Observer:
        """The observer of a check."""

    def finished(self, number: int, result: Result) -> None:
        """Show the result of a check."""

    def stopping(self) -> None:
        """Show that Ctrl-C was pressed, and what that means."""


def display_for(names: Sequence[str], output: Console, errors: Console) -> AuditDisplay:
    """The display that suits the terminal."""
    statuses = [PropertyStatus(on_one_line(name)) for name in names]
    if errors.is_terminal and not errors.is_dumb_terminal and not errors.quiet:
        return LiveTable(statuses, errors)
    return PlainLines(statuses, output)


@dataclass(slots=True)
class PlainLines:
    """A line of plain text for each property as it ends: for pipes, logs and terminals that only go forward."""

    statuses: Sequence[PropertyStatus]
    console: Console
    _ended: int = 0

    def __enter__(self) -> PlainLines:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def observer(self, number: int) -> Observer:  # noqa: ARG002
        """An observer that does nothing: there is nothing to show before the end."""
        return NullObserver()

    def finished(self, number: int, result: Result) -> None:
        """Print its line."""
        self._ended += 1
        status = self.statuses[number]
        status.result = result
        line = f"[{self._ended}/{len(self.statuses)}] {line_of(status)}"
        self.console.print(Text(line, style=STYLES[status.state]), soft_wrap=True)

    def stopping(self) -> None:
        """Print what Ctrl-C means."""
        self.console.print(_STOPPING, soft_wrap=True)


_STOPPING = "stopping after the batch in flight; press Ctrl-C again to quit immediately"


@dataclass(slots=True)
class LiveTable:
    """A table that is redrawn several times a second, and gives way to the summary at the end.

    If there are more properties than lines on the terminal, it shows those that run, then the latest that ended, those
    that do not hold first, and counts the others.
    """

    statuses: Sequence[PropertyStatus]
    console: Console
    _live: Live | None = field(default=None, init=False)
    _began: float = field(default_factory=time.monotonic, init=False)
    _ended: list[int] = field(default_factory=list, init=False)
    _stopping: bool = field(default=False, init=False)

    def __enter__(self) -> LiveTable:
        self._live = Live(
            get_renderable=self.drawn, console=self.console, transient=True, refresh_per_second=5, screen=False
        )
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    def observer(self, number: int) -> Observer:
        """The row itself, which runs from now on."""
        self.statuses[number].begin("")
        return self.statuses[number]

    def finished(self, number: int, result: Result) -> None:
        """Keep the result; the next redraw shows it."""
        self.statuses[number].result = result
        self._ended.append(number)

    def stopping(self) -> None:
        """Say so in the heading."""
        self._stopping = True

    def drawn(self) -> RenderableType:
        """The table as it is now."""
        shown = self._shown(max(1, self.console.height - ROOM))
        width = self.console.width
        table = Table(box=None, padding=(0, 1, 0, 0), expand=True, show_header=False)
        table.add_column(no_wrap=True, width=14)
        table.add_column(no_wrap=True, overflow="ellipsis", ratio=2)
        if width >= WIDE:
            table.add_column(no_wrap=True, overflow="ellipsis", ratio=3)
        table.add_column(no_wrap=True, justify="right", overflow="ellipsis", max_width=18)
        if width >= MIDDLING:
            table.add_column(no_wrap=True, justify="right", width=8)
        for index in shown:
            table.add_row(*_cells(self.statuses[index], width, self.console))
        rest = _counted([self.statuses[index] for index in set(range(len(self.statuses))) - set(shown)])
        others = [Text(f"and {rest}", style="dim", no_wrap=True, overflow="ellipsis")] if rest else []
        return Group(self._heading(), table, *others)

    def _heading(self) -> Text:
        counts = _counted([self.statuses[index] for index in self._ended])
        line = f"{len(self._ended):,} of {len(self.statuses):,} after {_time(time.monotonic() - self._began)}"
        line += f": {counts}" if counts else ""
        if any(each.progress_text and each.state == "running" for each in self.statuses):
            line += "; running properties are not decided yet"
        if self._stopping:
            line = f"{_STOPPING}. {line}"
        return Text(line, style="bold", no_wrap=True, overflow="ellipsis")

    def _shown(self, room: int) -> list[int]:
        """Which rows to draw, in the order of the file."""
        if len(self.statuses) <= room:
            return list(range(len(self.statuses)))
        running = [index for index, each in enumerate(self.statuses) if each.state == "running"]
        latest = self._ended[::-1]
        trouble = [index for index in latest if self.statuses[index].state != "holds"]
        good = [index for index in latest if self.statuses[index].state == "holds"]
        return sorted([*running, *trouble, *good][:room])


def _cells(status: PropertyStatus, width: int, console: Console) -> list[RenderableType]:
    state = status.state
    if state == "running":
        first: RenderableType = ProgressBar(total=1.0, completed=status.share, width=13)
    else:
        first = Text(sign_of(state, console), style=STYLES[state])
    known = status.progress_text if status.result is None else finding_of(status.result, compact=True)
    samples = status.samples if status.result is None else _samples(status.result)
    cells = [first, Text(status.name, style="dim" if state == "waiting" else "")]
    cells += [Text(known, style="cyan" if state == "running" else "")] if width >= WIDE else []
    cells.append(Text(samples))
    if width >= MIDDLING:
        cells.append(Text("" if state in {"waiting", FAILED} else _time(status.seconds), style="dim"))
    return cells


def _samples(result: Result) -> str:
    return "" if isinstance(result, Failure) else cost(result)


def _counted(statuses: Sequence[PropertyStatus]) -> str:
    counts = Counter(status.state for status in statuses)
    return ", ".join(f"{counts[state]:,} {COUNT_WORDS[state]}" for state in COUNT_WORDS if counts[state])


def _time(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02}" if minutes < 60 else f"{minutes // 60}:{minutes % 60:02}:{rest:02}"
