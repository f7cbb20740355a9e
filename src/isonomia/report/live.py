"""Progress while a check runs: how much was asked, the interval closing in, and a guess at what is left."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from math import isfinite

from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from isonomia.engine.observer import Progress

__all__ = ["LiveProgress"]

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
