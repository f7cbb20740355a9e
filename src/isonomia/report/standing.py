"""Where a property of a running audit stands: waiting, running, or what came of it."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TypeAlias

from isonomia.engine.observer import Progress
from isonomia.records.findings import known
from isonomia.records.verdict import Verdict
from isonomia.records.visible import on_one_line, visible
from isonomia.records.words import cost
from isonomia.report.entries import Failure

__all__ = ["FAILED", "OPEN", "Result", "Standing", "known_of", "line_of"]

FAILED = "could not be checked"
"""What is said in the place of an answer."""

OPEN = "not finished"
"""What is said of a property that was not checked to the end."""

EVERY = 0.5
"""Seconds between two looks at an interval; one costs more than a batch."""

Result: TypeAlias = Verdict | Failure
"""What came of a property."""


@dataclass(slots=True)
class Standing:
    """One property: written by the thread that checks it, read by the one that shows it.

    Attributes
    ----------
    name
        What it is called, on one line and without anything invisible.
    began
        When it began, by the monotonic clock; ``None`` before.
    result
        What came of it; ``None`` before.
    """

    name: str
    began: float | None = None
    result: Result | None = None
    share: float = 0.0
    samples: str = ""
    closing_in: str = ""
    _looked: float = field(default=0.0, repr=False)

    def begin(self, text: str) -> None:  # noqa: ARG002
        """It begins."""
        self.began = time.monotonic() if self.began is None else self.began

    def advance(self, progress: Progress) -> None:
        """A batch was taken in."""
        self.share, self.samples = progress.share, f"{progress.samples:,} {progress.counted}"
        now = time.monotonic()
        if now - self._looked >= EVERY:
            self.closing_in = visible(progress.closing_in())
            self._looked = time.monotonic()

    def end(self) -> None:
        """The check is over; what came of it is told separately."""

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


def known_of(result: Result, *, compact: bool = False) -> str:
    """What is known, in one line: how many break the claim, an interval, or why there is none."""
    if isinstance(result, Failure):
        return on_one_line(result.message)
    return visible(known(result, compact=compact))


def line_of(standing: Standing) -> str:
    """What came of a property, as one line of plain text."""
    assert standing.result is not None
    told = f"{standing.state}: {standing.name}: {known_of(standing.result)}"
    if isinstance(standing.result, Failure):
        return told
    return f"{told}; {cost(standing.result)}, {standing.seconds:.1f} s"
