"""How an interval closed in, as an observer saw it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from isonomia.engine.observer import Observer, Progress, Silent

__all__ = ["Point", "Tracing"]

Point: TypeAlias = tuple[int, float, float | None, float]
"""Samples, and the lowest value, the estimate and the highest value after them."""

STEP = 1.5
"""How many times more samples there are from one look to the next: an interval costs more than a batch."""


@dataclass(slots=True)
class Tracing:
    """Notes the interval of the first compared quantity now and then, and tells another observer everything.

    Attributes
    ----------
    observer
        Who else is told.
    points
        What was noted, in the order of the samples.
    """

    observer: Observer = field(default_factory=Silent)
    points: list[Point] = field(default_factory=list)
    _next: float = field(default=1.0, init=False)

    def begin(self, text: str) -> None:
        """Pass it on."""
        self.observer.begin(text)

    def advance(self, progress: Progress) -> None:
        """Note the interval, where there are enough samples since the last time, and pass it on."""
        if progress.samples >= self._next:
            self._next = STEP * progress.samples
            known = progress.compared()
            if known is not None:
                self.points.append((progress.samples, known.low, known.estimate, known.high))
        self.observer.advance(progress)

    def end(self) -> None:
        """Pass it on."""
        self.observer.end()
