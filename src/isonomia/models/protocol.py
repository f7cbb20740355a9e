"""Model, Answer, describe.

What every model can do.

A model in one line, for a person who wants to see that the right thing was found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from isonomia.populations.table import Table
from isonomia.spec.tree import Value

__all__ = ["Answer", "Model", "describe", "listed"]


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """What a model says about a batch.

    Attributes
    ----------
    prediction
        One prediction for each row; ``None`` where it was not asked for, or the model gives none.
    score
        One number for each row, or for each row and class; ``None`` likewise.
    classes
        The class that each column of a two-dimensional ``score`` belongs to; empty otherwise.
    """

    prediction: NDArray[Any] | None = None
    score: NDArray[np.float64] | None = None
    classes: tuple[Value, ...] = ()


class Model(Protocol):
    """What is audited: a black box that answers for whole batches.

    Ask a model through :func:`isonomia.models.ask`, which checks what it answers.

    A model may also have a method ``describe``, which says in one line what it is, and a property ``reads``: the names
    of the columns that it reads, or ``None`` where it takes whatever a table has. From a long table only those are read
    then.
    """

    @property
    def name(self) -> str:
        """What to call it in messages and reports."""

    @property
    def score_range(self) -> tuple[float, float] | None:
        """The least and the greatest score it can give; ``None`` when that is not known."""

    @property
    def classes(self) -> tuple[Value, ...]:
        """The classes that it can predict; empty when that is not known."""

    def answer(self, table: Table, *, want_score: bool, want_prediction: bool) -> Answer:
        """Answer for each row of a table; what is not wanted may be left out."""

    def fingerprint(self) -> str:
        """Tell this model from others, as 64 hexadecimal digits."""


_SHOWN = 8


def describe(model: Model) -> str:
    """Say in one line what a model is, where it came from, what it takes and what it gives.

    A model that has a method ``describe`` is asked; another is told by its class and name.

    Parameters
    ----------
    model
        What :func:`adapt` or :func:`load_model` gave.
    """
    told = getattr(model, "describe", None)
    return str(told()) if callable(told) else f"{type(model).__name__} {model.name}"


def listed(items: Sequence[Value], most: int = _SHOWN) -> str:
    """Some names in a row, the rest as a number."""
    told = ", ".join(str(item) for item in items[:most])
    return told if len(items) <= most else f"{told} and {len(items) - most} more"
