"""Observers: told how a check is coming along; one of them records how an interval narrows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from isonomia.records.verdict import Expression


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a check has come.

    Attributes
    ----------
    samples
        Samples so far: people, or whatever ``counted`` says.
    most
        How many samples there can be; infinite if nothing limits them.
    share
        How far the evidence for the nearer answer has come, from 0 to 1.
    seconds
        The time taken.
    closing_in
        Computes the first compared quantity, its interval and its threshold as a line of text; called only by an
        observer that shows it.
    counted
        What the samples are, as in a verdict.
    compared
        Computes what is known of the first compared quantity; ``None`` if the audit does not report it along the way.
    unused
        How many more were queried ahead and have not been needed so far.
    """

    samples: int
    most: float
    share: float
    seconds: float
    closing_in: Callable[[], str]
    counted: str = "people"
    compared: Callable[[], Expression | None] = lambda: None
    unused: int = 0

    @property
    def samples_left(self) -> float:
        """An estimate of how many more are needed if evidence keeps growing at this pace; infinite without evidence."""
        if self.share <= 0:
            return float("inf")
        return self.samples * (1.0 - self.share) / self.share


class Observer(Protocol):
    """Sees a check begin, advance and end."""

    def begin(self, text: str) -> None:
        """A check of this property begins."""
        ...

    def advance(self, progress: Progress) -> None:
        """A batch was absorbed."""
        ...

    def end(self) -> None:
        """The check is over, for whatever reason."""
        ...


@dataclass(frozen=True, slots=True)
class Silent:
    """An observer that shows nothing."""

    def begin(self, text: str) -> None:
        """Show nothing."""

    def advance(self, progress: Progress) -> None:
        """Show nothing."""

    def end(self) -> None:
        """Show nothing."""


Point: TypeAlias = tuple[int, float, float | None, float]
"""Samples, and the lowest value, the estimate and the highest value after them."""

STEP = 1.5
"""The number of samples grows by this factor from one point to the next: an interval costs more than a batch."""


@dataclass(slots=True)
class Tracing:
    """Records the interval of the first compared quantity now and then, and forwards everything to another observer.

    Attributes
    ----------
    observer
        The other observer.
    points
        What was recorded, in the order of the samples.
    """

    observer: Observer = field(default_factory=Silent)
    points: list[Point] = field(default_factory=list)
    _next: float = field(default=1.0, init=False)

    def begin(self, text: str) -> None:
        """Pass it on."""
        self.observer.begin(text)

    def advance(self, progress: Progress) -> None:
        """Record the interval if enough samples have come since the last time, and pass it on."""
        if progress.samples >= self._next:
            self._next = STEP * progress.samples
            known = progress.compared()
            if known is not None:
                self.points.append((progress.samples, known.low, known.estimate, known.high))
        self.observer.advance(progress)

    def end(self) -> None:
        """Pass it on."""
        self.observer.end()
