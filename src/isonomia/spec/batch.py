"""One batch of people as columns, with what the model said about them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.spec.tree import Value

__all__ = ["Batch"]


@dataclass(frozen=True, slots=True)
class Batch:
    """What a row expression is evaluated on.

    Attributes
    ----------
    rows
        How many people the batch has.
    columns
        The table's columns that the property names, each of length ``rows``.
    prediction
        The model's prediction for each person; ``None`` without a model, and then ``prediction`` means a column of
        that name.
    score
        The model's score for each person, of shape ``(rows,)``, or ``(rows, classes)``; ``None`` where there is none.
    classes
        The class that each column of a two-dimensional ``score`` belongs to.
    """

    rows: int
    columns: Mapping[str, NDArray[Any]]
    prediction: NDArray[Any] | None = None
    score: NDArray[np.float64] | None = None
    classes: tuple[Value, ...] = field(default=())
