"""Models around models: watched, gated; unwrapping.

A model that is watched for changing its answers.

Every guarantee rests on a model that answers the same row alike. Few of the rows are asked about again, and the second
answers are compared with the first and thrown away, so that they do not touch what is counted.

A model that is asked by no more threads at once than it was said to stand.

What is behind a gate, a watch or a cache.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import BoundedSemaphore
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import ChangingModelError
from isonomia.models.cache import Cached
from isonomia.models.checked import array_from, first_change
from isonomia.models.protocol import Answer, Model, describe
from isonomia.populations.table import Table
from isonomia.spec.tree import Value

__all__ = ["Guarded", "Steady", "steady", "unwrapped"]


MOST_AGAIN = 32
"""How many rows are asked about again at one time."""

FIRST_AGAIN = 8
"""How many rows are asked about again at the first time, so that a short check does not miss a model that guesses."""

_SHARE = 20
_SECOND, _GROWTH = 160, 4


@dataclass(frozen=True, slots=True, eq=False)
class _Kept:
    """Rows that were asked about, what for, and what the model said."""

    table: Table
    want_score: bool
    want_prediction: bool
    answer: Answer


@dataclass(slots=True, eq=False)
class Steady:
    """A model, some of whose answers are asked for twice.

    The first time is in the first batch; after that when 160 rows have been asked about, 640, 2,560 and so on. Each
    time a twentieth of the rows so far, at least 8 and at most 32, evenly spread over the batch, are asked about again
    at once, and those of the time before are asked about once more, which catches a service that was replaced
    meanwhile. A model whose answers change with probability q is found with probability ``1 - (1 - q) ** again``.

    Which rows those are depends only on the sizes of the batches, and only first answers are handed on: the
    statistics are those of the model alone.

    Attributes
    ----------
    model
        The model.
    asked, again
        About how many rows it was asked, and about how many of them again.
    """

    model: Model
    asked: int = 0
    again: int = 0
    _due: int = 1
    _kept: _Kept | None = field(default=None, repr=False)

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
        """The model's fingerprint: being watched does not make it another one."""
        return self.model.fingerprint()

    def describe(self) -> str:
        """Say in one line what the model is."""
        return describe(self.model)

    def answer(self, table: Table, *, want_score: bool, want_prediction: bool) -> Answer:
        """Ask the model, and now and then ask it again.

        Raises
        ------
        ChangingModelError
            When the second answer is another one, with the row and both answers.
        """
        answer = self.model.answer(table, want_score=want_score, want_prediction=want_prediction)
        self.asked += table.rows
        if self.asked >= self._due:
            self._due = max(_SECOND, _GROWTH * self.asked)
            self._ask_again(_Kept(table, want_score, want_prediction, answer))
        return answer

    def _ask_again(self, given: _Kept) -> None:
        count = min(MOST_AGAIN, max(FIRST_AGAIN, self.asked // _SHARE), given.table.rows)
        rows = np.unique(np.linspace(0, given.table.rows - 1, count).astype(np.intp))
        sample = _taken(given, rows)
        if sample is None:
            return  # not one answer a row: whoever asked will say so
        earlier, self._kept = self._kept, sample
        for kept in (sample, earlier):
            if kept is not None:
                self._compare(kept)

    def _compare(self, kept: _Kept) -> None:
        again = self.model.answer(kept.table, want_score=kept.want_score, want_prediction=kept.want_prediction)
        self.again += kept.table.rows
        changed = first_change(kept.answer, again)
        if changed is not None:
            row, before, after = changed
            raise ChangingModelError(
                f"{self.name} should give the same answer for the same person, but it gave {before} and then {after} "
                f"for this one: {{{kept.table.shown(row)}}}. Either it answers at random, or its answer for a person "
                "depends on who else is in the batch, or it was changed in the meantime. Mend that (fix its seed, "
                "switch it to evaluation), or, if it is meant to answer at random, say so: random_model=True."
            )


def steady(model: Model) -> Model:
    """Watch a model. Of one with a cache, what is behind the cache is watched, since stored answers never change."""
    if isinstance(model, Steady):
        return model
    if isinstance(model, Cached):
        return model.around(steady(model.model))
    return Steady(model)


def _taken(given: _Kept, rows: NDArray[np.intp]) -> _Kept | None:
    parts: dict[str, NDArray[Any]] = {}
    for what in ("prediction", "score"):
        found = getattr(given.answer, what)
        if found is not None:
            array = array_from(found)
            if array.ndim == 0 or len(array) != given.table.rows:
                return None
            parts[what] = array[rows]
    if not parts:
        return None
    answer = Answer(parts.get("prediction"), parts.get("score"), given.answer.classes)
    return _Kept(given.table.take(rows), given.want_score, given.want_prediction, answer)


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


def unwrapped(model: Model) -> Model:
    """The model itself, without what was put around it here; one that its owner wrapped stays as it is."""
    while isinstance(model, Cached | Guarded | Steady):
        model = model.model
    return model
