"""Worlds: every joint value of the potential predictions and outcomes, and what of it can be observed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import UsageError

__all__ = ["MOST_WORLDS", "Shape", "observation", "world_predictions", "worlds"]

Floats = NDArray[np.float64]
Integers = NDArray[np.intp]
Array = TypeVar("Array", bound=NDArray[Any])

MOST_WORLDS = 100_000
"""How many worlds a shape may have; the linear programs have a variable for each."""


@dataclass(frozen=True, slots=True)
class Shape:
    """How many values the attribute A, the prediction S and the outcome Y have. Values are counted from 0.

    A table of this shape is an array of shape ``(attributes, predictions, outcomes)``, and a distribution over worlds
    a vector of length ``worlds``.

    Raises
    ------
    UsageError
        Where one of them has fewer than two values, or there are more than ``MOST_WORLDS`` worlds.
    """

    attributes: int = 2
    predictions: int = 2
    outcomes: int = 2

    def __post_init__(self) -> None:
        for name in ("attributes", "predictions", "outcomes"):
            count = getattr(self, name)
            if not isinstance(count, int | np.integer) or count < 2:
                raise UsageError(f"expected at least 2 {name}, but {count!r} came: with one value nothing can differ")
        if self.worlds > MOST_WORLDS:
            raise UsageError(
                f"expected at most {MOST_WORLDS} worlds, but {self.attributes} attribute values with {self.cells} "
                f"cells each make {self.worlds}: merge categories"
            )

    @property
    def cells(self) -> int:
        """How many values the pair (S, Y) has; the pair (s, y) has number ``s * outcomes + y``."""
        return self.predictions * self.outcomes

    @property
    def worlds(self) -> int:
        """How many worlds there are."""
        return int(self.cells**self.attributes)

    @property
    def table(self) -> tuple[int, int, int]:
        """The shape of an observed table."""
        return (self.attributes, self.predictions, self.outcomes)


@lru_cache(maxsize=8)
def worlds(shape: Shape) -> Integers:
    """List the worlds: entry ``[w, 0, a]`` is ``S(a)`` and ``[w, 1, a]`` is ``Y(a)`` in world ``w``.

    Worlds are in the order of the digits ``s_0 s_1 ... y_0 y_1 ...``, the last changing fastest. With two values each
    that is the paper's ``w_{s0 s1 y0 y1}`` read as a binary number.
    """
    digits = (shape.predictions,) * shape.attributes + (shape.outcomes,) * shape.attributes
    every = np.indices(digits).reshape(2, shape.attributes, shape.worlds).transpose(2, 0, 1)
    return _fixed(np.ascontiguousarray(every, dtype=np.intp))


def world_predictions(shape: Shape, prediction: int, attribute: int) -> Floats:
    """1 in the worlds where ``S(attribute) == prediction``, else 0."""
    return np.asarray(worlds(shape)[:, 0, attribute] == prediction, dtype=np.float64)


@lru_cache(maxsize=8)
def observation(shape: Shape) -> Floats:
    """Map worlds to observables: shape ``(attributes, cells, worlds)``.

    For a distribution ``w`` over worlds, ``observation(shape) @ w`` is ``P(S = s, Y = y | A = a)``, by consistency
    and because A is independent of the world (Assumption 1). Every world shows exactly one cell under each attribute
    value: each ``observation(shape)[a]`` has one 1 in every column.
    """
    every = worlds(shape)
    cell = every[:, 0] * shape.outcomes + every[:, 1]
    return _fixed(np.asarray(cell.T[:, None, :] == np.arange(shape.cells)[None, :, None], dtype=np.float64))


def _fixed(array: Array) -> Array:
    """Forbid writing: the array is shared by all who ask for it."""
    array.setflags(write=False)
    return array
