"""The status of a property while an audit runs, and how states look on a terminal.

A state has a colour, a sign and a word, so that a reader can do without any one of them.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TypeAlias

from rich.console import Console
from rich.text import Text

from isonomia.engine.observer import Progress
from isonomia.records.display.view import cost, view_of
from isonomia.records.verdict import Verdict
from isonomia.report.entries import FAILED, Failure
from isonomia.wording import on_one_line, visible

OPEN = "not finished"
"""What is said of a property whose check did not finish."""

EVERY = 0.5
"""Seconds between two computations of an interval; one costs more than a batch."""

Result: TypeAlias = Verdict | Failure
"""The result of a property."""


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
    closing_in: str = ""
    _looked_at: float = field(default=0.0, repr=False)

    def begin(self, text: str) -> None:  # noqa: ARG002
        """Note that the check begins."""
        self.began = time.monotonic() if self.began is None else self.began

    def advance(self, progress: Progress) -> None:
        """Note that a batch was absorbed."""
        self.share, self.samples = progress.share, f"{progress.samples:,} {progress.counted}"
        now = time.monotonic()
        if now - self._looked_at >= EVERY:
            self.closing_in = visible(progress.closing_in())
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


def finding_of(result: Result, *, compact: bool = False) -> str:
    """What is known, in one line: how many violate the claim, an interval, or why there is none."""
    if isinstance(result, Failure):
        return on_one_line(result.message)
    return visible(view_of(result).finding(result, compact))


def line_of(status: PropertyStatus) -> str:
    """The result of a property, as one line of plain text."""
    assert status.result is not None
    line = f"{status.state}: {status.name}: {finding_of(status.result)}"
    if isinstance(status.result, Failure):
        return line
    return f"{line}; {cost(status.result)}, {status.seconds:.1f} s"


COLOURS = {"holds": "green", "violated": "red", "undecided": "yellow"}
"""The colour of each answer."""

STYLES = {
    **COLOURS,
    "violated": "bold red",
    FAILED: "bold magenta",
    OPEN: "yellow",
    "running": "cyan",
    "waiting": "dim",
}
"""The style of each state."""

COUNT_WORDS = {
    FAILED: "could not be checked",
    "violated": "violated",
    "undecided": "undecided",
    "running": "running",
    "waiting": "waiting",
    "holds": "hold",
}
"""The states as they are counted, those that need attention first."""

_SIGNS = {"holds": "✔ holds", "violated": "✘ violated", "undecided": "? undecided", FAILED: "! error"}


def sign_of(state: str, console: Console) -> str:
    """A state with its sign, in characters that the terminal has."""
    signed = _SIGNS.get(state, state)
    return signed if is_fancy(console) else signed.lstrip("✔✘? ")


def title_of(answer: str, name: str | None, console: Console) -> Text:
    """The title of a verdict: its answer in capitals with its sign, and its name where it has one."""
    title = Text(sign_of(answer, console).upper(), style=f"bold {COLOURS[answer]}")
    return title.append(f"  {name}", style="bold") if name else title


def is_fancy(console: Console) -> bool:
    """Whether the terminal can show more than ASCII."""
    return console.encoding.lower().startswith("utf")
