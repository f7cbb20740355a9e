"""A model that is asked by no more threads at once than it was said to stand."""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import BoundedSemaphore

from isonomia.models.describing import describe
from isonomia.models.protocol import Answer, Model
from isonomia.populations.table import Table
from isonomia.spec.tree import Value

__all__ = ["Guarded"]


@dataclass(frozen=True, slots=True, eq=False)
class Guarded:
    """A model with a gate, which lets only so many callers in at once.

    A program at the other end of a pipe, a session, or a function that keeps something between two calls may give wrong
    answers, and not only errors, when two threads ask it at once. Whoever asks through this waits for the others.

    Attributes
    ----------
    model
        The model.
    gate
        Who may be inside; models that share something share their gate.
    """

    model: Model
    gate: BoundedSemaphore = field(default_factory=BoundedSemaphore, repr=False)

    @property
    def name(self) -> str:
        """The model's name."""
        return self.model.name

    @property
    def score_range(self) -> tuple[float, float] | None:
        """The model's range."""
        return self.model.score_range

    @property
    def classes(self) -> tuple[Value, ...]:
        """The model's classes."""
        return self.model.classes

    def fingerprint(self) -> str:
        """The model's fingerprint: a gate does not make it another one."""
        with self.gate:
            return self.model.fingerprint()

    def describe(self) -> str:
        """Say in one line what the model is."""
        return describe(self.model)

    def answer(self, table: Table, *, want_score: bool, want_prediction: bool) -> Answer:
        """Wait for the others, and ask."""
        with self.gate:
            return self.model.answer(table, want_score=want_score, want_prediction=want_prediction)

    def __reduce__(self) -> tuple[type[Guarded], tuple[Model]]:
        """A copy, which may be in another process, has a gate of its own, for one caller."""
        return Guarded, (self.model,)
