"""Worlds (the joint values of the potential predictions and outcomes) and the tables that can be observed of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isonomia.errors import DataError, UsageError

Floats = NDArray[np.float64]
Integers = NDArray[np.intp]
Array = TypeVar("Array", bound=NDArray[Any])

MAX_WORLDS = 100_000
"""How many worlds a shape may have: the linear programs have a variable for each, and take minutes with more. A larger
shape is rejected, so this changes no verdict."""

SUM_TOLERANCE = 1e-9
"""How far from 1 the sum of an attribute value's probabilities may be, as with rounded input; they are then rescaled. A
cell below it counts as empty: no bound that depends on so small a number could be computed reliably. It can change an
answer about a known table by about as much; one person is never so small a share of fewer than 1e9 people."""


@dataclass(frozen=True, slots=True)
class TableShape:
    """How many values the attribute A, the prediction S and the outcome Y have. Values are counted from 0.

    A table of this shape is an array of shape ``(attributes, predictions, outcomes)``, and a distribution over worlds
    a vector of length ``worlds``.
    """

    attributes: int = 2
    predictions: int = 2
    outcomes: int = 2

    def __post_init__(self) -> None:
        for name in ("attributes", "predictions", "outcomes"):
            count = getattr(self, name)
            if not isinstance(count, int | np.integer) or count < 2:
                raise UsageError(f"expected at least 2 {name}, but got {count!r}: with one value nothing can differ")
        if self.worlds > MAX_WORLDS:
            raise UsageError(
                f"expected at most {MAX_WORLDS} worlds, but {self.attributes} attribute values with {self.cells} "
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
def worlds(shape: TableShape) -> Integers:
    """List the worlds: entry ``[w, 0, a]`` is ``S(a)`` and ``[w, 1, a]`` is ``Y(a)`` in world ``w``.

    Worlds are in the order of the digits ``s_0 s_1 ... y_0 y_1 ...``, the last changing fastest. With two values each
    that is the paper's ``w_{s0 s1 y0 y1}`` read as a binary number.
    """
    digits = (shape.predictions,) * shape.attributes + (shape.outcomes,) * shape.attributes
    every = np.indices(digits).reshape(2, shape.attributes, shape.worlds).transpose(2, 0, 1)
    return _fixed(np.ascontiguousarray(every, dtype=np.intp))


def world_predictions(shape: TableShape, prediction: int, attribute: int) -> Floats:
    """1 in the worlds where ``S(attribute) == prediction``, else 0."""
    return np.asarray(worlds(shape)[:, 0, attribute] == prediction, dtype=np.float64)


@lru_cache(maxsize=8)
def observation(shape: TableShape) -> Floats:
    """Map worlds to observables: shape ``(attributes, cells, worlds)``.

    For a distribution ``w`` over worlds, ``observation(shape) @ w`` is ``P(S = s, Y = y | A = a)``, by consistency
    and because A is independent of the world (Assumption 1). Every world shows exactly one cell under each attribute
    value: each ``observation(shape)[a]`` has one 1 in every column.
    """
    every = worlds(shape)
    cell = every[:, 0] * shape.outcomes + every[:, 1]
    return _fixed(np.asarray(cell.T[:, None, :] == np.arange(shape.cells)[None, :, None], dtype=np.float64))


def _fixed(array: Array) -> Array:
    """Make an array read-only: it is cached and shared."""
    array.setflags(write=False)
    return array


@dataclass(frozen=True, slots=True, eq=False)
class Observed:
    """``P(S = s, Y = y | A = a)``, with the shares ``P(A = a)``. Make it with :meth:`of` or :meth:`from_counts`.

    Attributes
    ----------
    probabilities
        Shape ``(attributes, predictions, outcomes)``; for each attribute value non-negative with sum 1.
    shares
        Shape ``(attributes,)``, non-negative with sum 1. No bound depends on them, only the cost of a repair.
    ends
        The numbers between which each probability lies, where only that is known: two arrays of the same shape. Bounds
        then cover all tables in between.
    """

    probabilities: Floats
    shares: Floats
    ends: tuple[Floats, Floats] | None = None

    @classmethod
    def of(cls, probabilities: ArrayLike, shares: ArrayLike | None = None) -> Observed:
        """Check probabilities; every attribute value is equally frequent where no shares are given."""
        table = checked_tables(probabilities)
        if table.ndim != 3:
            raise DataError(f"expected one table with 3 axes (attribute, prediction, outcome), but got {table.ndim}")
        even = np.full(table.shape[0], 1.0 / table.shape[0])
        parts = even if shares is None else np.asarray(shares, dtype=np.float64)
        if parts.shape != even.shape or not np.all(parts >= 0.0) or abs(parts.sum() - 1.0) > SUM_TOLERANCE:
            raise DataError(
                f"expected shares of {table.shape[0]} attribute values, none negative, with sum 1, but got {shares!r}"
            )
        parts = parts / parts.sum()
        for array in (table, parts):
            array.setflags(write=False)
        return cls(table, parts)

    @classmethod
    def from_counts(cls, counts: ArrayLike) -> Observed:
        """Turn counts of shape ``(attributes, predictions, outcomes)`` into shares; no attribute value may be empty."""
        numbers = _numbers(counts)
        if numbers.ndim != 3 or not np.all(numbers >= 0.0):
            raise DataError(
                f"expected counts with 3 axes (attribute, prediction, outcome), none negative, but got {counts!r}"
            )
        people = numbers.sum((1, 2))
        if not np.all(people > 0):
            raise DataError(
                f"expected people with every attribute value, but value {int(np.argmin(people))} has nobody: "
                "leave the value out, or merge subgroups"
            )
        return cls.of(numbers / people[:, None, None], people / people.sum())

    @classmethod
    def between(cls, low: Floats, high: Floats) -> Observed:
        """A table each of whose probabilities is known to lie between two numbers.

        It needs no shares: no bound depends on them.
        """
        middle = (low + high) / 2
        table = cls.of(middle / middle.sum((1, 2), keepdims=True))
        if np.array_equal(low, high):
            return table
        return cls(np.where(low == high, low, table.probabilities), table.shares, (low, high))

    @property
    def shape(self) -> TableShape:
        """How many values the attribute, the prediction and the outcome have."""
        return TableShape(*self.probabilities.shape)


def tally(shape: TableShape, attributes: ArrayLike, predictions: ArrayLike, outcomes: ArrayLike) -> NDArray[np.int64]:
    """Count people, given as numbers from 0 in each column: shape ``(attributes, predictions, outcomes)``."""
    columns = [np.asarray(column) for column in (attributes, predictions, outcomes)]
    counts = np.zeros(shape.table, dtype=np.int64)
    np.add.at(counts, tuple(columns), 1)
    return counts


def checked_tables(probabilities: ArrayLike) -> Floats:
    """Check tables of shape ``(..., attributes, predictions, outcomes)``, set tiny cells to 0, rescale to sum 1."""
    tables = _numbers(probabilities)
    if tables.ndim < 3 or min(tables.shape[-3:]) < 2:
        raise DataError(
            "expected tables of shape (..., attributes, predictions, outcomes) with at least 2 of each, but got shape "
            f"{tables.shape}: with one attribute value there is nothing to compare"
        )
    if not np.all(tables >= 0.0):
        index = tuple(int(i) for i in np.argwhere(tables < 0.0)[0])
        raise DataError(f"expected no negative probability, but got {tables[index]!r} at index {index}")
    sums = tables.sum((-2, -1))
    if not np.all(np.abs(sums - 1.0) <= SUM_TOLERANCE):
        index = tuple(int(i) for i in np.argwhere(np.abs(sums - 1.0) > SUM_TOLERANCE)[0])
        raise DataError(
            f"expected probabilities with sum 1 for each attribute value, but the sum is {sums[index]!r} at index "
            f"{index}: pass P(S = s, Y = y | A = a), or counts with Observed.from_counts"
        )
    kept = np.where(tables < SUM_TOLERANCE, 0.0, tables)
    return np.asarray(kept / kept.sum((-2, -1), keepdims=True))


def _numbers(values: ArrayLike) -> Floats:
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"expected a table of numbers, but got {values!r}") from error
    if not np.all(np.isfinite(numbers)):
        index = tuple(int(i) for i in np.argwhere(~np.isfinite(numbers))[0])
        raise DataError(
            f"expected finite numbers, but got {numbers[index]!r} at index {index}: drop missing values first"
        )
    return numbers
