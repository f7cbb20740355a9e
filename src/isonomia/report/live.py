"""A check or an audit while it runs.

Progress while a check runs: how much was asked, the interval closing in, and a guess at what is left.

An audit while it runs: a row a property on a terminal, a line a property elsewhere.
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

from isonomia.engine.observer import Observer, Progress, Silent
from isonomia.records.display.words import cost
from isonomia.report.entries import Failure
from isonomia.report.status import FAILED, SIGNED, STYLED, Result, Standing, known_of, line_of, sign_of
from isonomia.wording import on_one_line

__all__ = ["Board", "Lines", "LiveProgress", "Quiet", "Shows", "showing"]


EVERY = 0.2
"""Seconds between two looks; an interval costs more than a batch."""


@dataclass(slots=True)
class LiveProgress:
    """Shows a running check on a terminal, and nothing at all where there is none."""

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
        """Show where it stands, unless it was shown just now."""
        if self._live is None or time.monotonic() - self._shown < EVERY:
            return
        self._live.update(_line(progress), refresh=True)
        self._shown = time.monotonic()

    def end(self) -> None:
        """Stop showing and leave the terminal as it was."""
        if self._live is not None:
            self._live.stop()
            self._live = None


def _line(progress: Progress) -> Table:
    grid = Table.grid(padding=(0, 2))
    pace = progress.samples / progress.seconds if progress.seconds > 0 else 0.0
    left = min(progress.samples_left, progress.most - progress.samples)
    remaining = f"about {left:,.0f} more" if isfinite(left) else "no end in sight yet"
    if isfinite(left) and pace:
        remaining += f" ({left / pace:,.0f} s)"
    grid.add_row(
        ProgressBar(total=1.0, completed=progress.share, width=24),
        f"{progress.samples:,} {progress.counted}",
        Text(progress.closing_in(), style="cyan"),
        Text(remaining, style="dim"),
    )
    return grid


ROOM = 4
"""Lines of the terminal that are not for rows: the heading, the count of the others, and the prompt."""

WIDE, MIDDLING = 80, 50
"""From how many columns on everything is shown; and from how many on more than state, name and samples."""


class Shows(Protocol):
    """Whoever shows a running audit; a context, which ends with what it has shown taken away or left."""

    def __enter__(self) -> Shows:
        """Begin to show."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End it."""

    def observer(self, number: int) -> Observer:
        """Who watches a check."""

    def finished(self, number: int, result: Result) -> None:
        """Show what came of a check."""

    def stopping(self) -> None:
        """Show that somebody pressed Ctrl-C, and what that means."""


def showing(names: Sequence[str], output: Console, errors: Console, quiet: bool) -> Shows:
    """The way to show an audit that fits the terminal."""
    if quiet:
        return Quiet()
    standings = [Standing(on_one_line(name)) for name in names]
    if errors.is_terminal and not errors.is_dumb_terminal:
        return Board(standings, errors)
    return Lines(standings, output)


@dataclass(slots=True)
class Quiet:
    """Shows nothing."""

    def __enter__(self) -> Quiet:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def observer(self, number: int) -> Observer:  # noqa: ARG002
        """Nobody."""
        return Silent()

    def finished(self, number: int, result: Result) -> None:
        """Nothing."""

    def stopping(self) -> None:
        """Nothing."""


@dataclass(slots=True)
class Lines:
    """A line of plain text for each property as it ends: for pipes, logs and terminals that only go forward."""

    standings: Sequence[Standing]
    console: Console
    _ended: int = 0

    def __enter__(self) -> Lines:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def observer(self, number: int) -> Observer:  # noqa: ARG002
        """Nobody: there is nothing to show before the end."""
        return Silent()

    def finished(self, number: int, result: Result) -> None:
        """Print its line."""
        self._ended += 1
        standing = self.standings[number]
        standing.result = result
        line = f"[{self._ended}/{len(self.standings)}] {line_of(standing)}"
        self.console.print(Text(line, style=STYLED[standing.state]), soft_wrap=True)

    def stopping(self) -> None:
        """Print that too."""
        self.console.print(_STOPPING, soft_wrap=True)


_STOPPING = "stopping after the batch in flight; Ctrl-C again leaves at once"


@dataclass(slots=True)
class Board:
    """A table that is drawn anew several times a second, and gives way to the summary at the end.

    Of more properties than the terminal has lines, it shows those that run, then the latest that ended, those that do
    not hold first, and counts the others.
    """

    standings: Sequence[Standing]
    console: Console
    _live: Live | None = field(default=None, init=False)
    _began: float = field(default_factory=time.monotonic, init=False)
    _ended: list[int] = field(default_factory=list, init=False)
    _stopping: bool = field(default=False, init=False)

    def __enter__(self) -> Board:
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
        self.standings[number].begin("")
        return self.standings[number]

    def finished(self, number: int, result: Result) -> None:
        """Keep what came of it; the next picture shows it."""
        self.standings[number].result = result
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
        for place in shown:
            table.add_row(*_cells(self.standings[place], width, self.console))
        rest = _counted([self.standings[place] for place in set(range(len(self.standings))) - set(shown)])
        others = [Text(f"and {rest}", style="dim", no_wrap=True, overflow="ellipsis")] if rest else []
        return Group(self._heading(), table, *others)

    def _heading(self) -> Text:
        counts = _counted([self.standings[place] for place in self._ended])
        told = f"{len(self._ended):,} of {len(self.standings):,} after {_time(time.monotonic() - self._began)}"
        told += f": {counts}" if counts else ""
        if self._stopping:
            told = f"{_STOPPING}. {told}"
        return Text(told, style="bold", no_wrap=True, overflow="ellipsis")

    def _shown(self, room: int) -> list[int]:
        """Which rows to draw, in the order of the file."""
        if len(self.standings) <= room:
            return list(range(len(self.standings)))
        running = [place for place, each in enumerate(self.standings) if each.state == "running"]
        latest = self._ended[::-1]
        trouble = [place for place in latest if self.standings[place].state != "holds"]
        good = [place for place in latest if self.standings[place].state == "holds"]
        return sorted([*running, *trouble, *good][:room])


def _cells(standing: Standing, width: int, console: Console) -> list[RenderableType]:
    state = standing.state
    if state == "running":
        first: RenderableType = ProgressBar(total=1.0, completed=standing.share, width=13)
    else:
        first = Text(sign_of(state, console), style=STYLED[state])
    known = standing.closing_in if standing.result is None else known_of(standing.result, compact=True)
    samples = standing.samples if standing.result is None else _samples(standing.result)
    cells = [first, Text(standing.name, style="dim" if state == "waiting" else "")]
    cells += [Text(known, style="cyan" if state == "running" else "")] if width >= WIDE else []
    cells.append(Text(samples))
    if width >= MIDDLING:
        cells.append(Text("" if state in {"waiting", FAILED} else _time(standing.seconds), style="dim"))
    return cells


def _samples(result: Result) -> str:
    return "" if isinstance(result, Failure) else cost(result)


def _counted(standings: Sequence[Standing]) -> str:
    counts = Counter(standing.state for standing in standings)
    return ", ".join(f"{counts[state]:,} {SIGNED[state]}" for state in SIGNED if counts[state])


def _time(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02}" if minutes < 60 else f"{minutes // 60}:{minutes % 60:02}:{rest:02}"
