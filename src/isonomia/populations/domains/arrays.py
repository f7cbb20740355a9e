"""Records that are arrays, such as images and sounds: which input each comes from, and what is done to it.

What is done is noted and computed when somebody looks. So listing, rejecting and sorting cases costs nothing, equal
records are known to be equal without a look, and never more are in memory than are looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["ArrayRecords", "Pool", "Step", "Values", "computed", "joined", "numbered", "pieces"]

Values: TypeAlias = "NDArray[Any] | list[NDArray[Any]]"
"""A batch of arrays: one array where all have the same shape, otherwise a list."""


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
    """Inputs as they are.

    Attributes
    ----------
    values
        The arrays.
    labels
        Their right answers; ``None`` where they are not known.
    numbers
        What number each has for people; its position unless it was brought from elsewhere.
    """

    values: Values
    labels: NDArray[Any] | None = None
    numbers: NDArray[np.intp] | None = None

    def number(self, row: int) -> int:
        """The number of an input, for people."""
        return row if self.numbers is None else int(self.numbers[row])


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """Something done to every record of a batch.

    Attributes
    ----------
    name
        What it is; steps of one domain with the same name do the same.
    apply
        Takes values and columns, gives values. What it makes of one record depends on nothing but that record and its
        entries of the columns, and the values that it is given stay as they are.
    arguments
        The columns.
    """

    name: str
    apply: Callable[..., Values]
    arguments: tuple[NDArray[Any], ...] = ()

    def take(self, indices: NDArray[np.intp]) -> Step:
        """The step for the records at these positions."""
        return Step(self.name, self.apply, tuple(column[indices] for column in self.arguments))


@dataclass(frozen=True, slots=True, eq=False)
class ArrayRecords:
    """A batch of records: rows of a pool with the steps that are taken from there."""

    pool: Pool
    rows: NDArray[np.intp]
    steps: tuple[Step, ...] = ()

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, indices: NDArray[np.intp]) -> ArrayRecords:
        """The records at these positions."""
        return ArrayRecords(self.pool, self.rows[indices], tuple(step.take(indices) for step in self.steps))

    def then(self, step: Step) -> ArrayRecords:
        """The same records with one step more."""
        return ArrayRecords(self.pool, self.rows, (*self.steps, step))


def computed(records: ArrayRecords, together: int) -> Values:
    """The arrays themselves; ``together`` says how many are computed at once."""
    parts = [_computed(records.take(part)) for part in pieces(len(records), together)]
    if len(parts) == 1:
        return parts[0]
    if isinstance(records.pool.values, np.ndarray):
        return np.concatenate(parts) if parts else records.pool.values[:0]
    return [value for part in parts for value in part]


def _computed(records: ArrayRecords) -> Values:
    values = _taken(records.pool.values, records.rows)
    for step in records.steps:
        values = step.apply(values, *step.arguments)
    return values


def _taken(values: Values, rows: NDArray[np.intp]) -> Values:
    return values[rows] if isinstance(values, np.ndarray) else [values[row] for row in rows.tolist()]


def pieces(n: int, together: int) -> Iterator[NDArray[np.intp]]:
    """The positions of ``n`` records, so many at a time."""
    for start in range(0, n, together):
        yield np.arange(start, min(start + together, n), dtype=np.intp)


def joined(parts: Sequence[ArrayRecords], together: int) -> ArrayRecords:
    """Several batches as one: as they were noted where the same was done to all, otherwise computed."""
    first = parts[0]
    if all(part.pool is first.pool and _names(part) == _names(first) for part in parts):
        steps = tuple(
            Step(step.name, step.apply, _columns([part.steps[place].arguments for part in parts]))
            for place, step in enumerate(first.steps)
        )
        return ArrayRecords(first.pool, np.concatenate([part.rows for part in parts]), steps)
    arrays = [computed(part, together) for part in parts]
    same = all(isinstance(array, np.ndarray) for array in arrays)
    values: Values = np.concatenate(arrays) if same else [value for array in arrays for value in array]
    numbers = np.array([part.pool.number(row) for part in parts for row in part.rows.tolist()], dtype=np.intp)
    return ArrayRecords(Pool(values, _labels(parts), numbers), np.arange(len(numbers), dtype=np.intp))


def _labels(parts: Sequence[ArrayRecords]) -> NDArray[Any] | None:
    found = [part.pool.labels[part.rows] for part in parts if part.pool.labels is not None]
    return np.concatenate(found) if len(found) == len(parts) else None


def _names(records: ArrayRecords) -> tuple[tuple[str, int], ...]:
    return tuple((step.name, len(step.arguments)) for step in records.steps)


def _columns(arguments: Sequence[tuple[NDArray[Any], ...]]) -> tuple[NDArray[Any], ...]:
    return tuple(np.concatenate(columns) for columns in zip(*arguments, strict=True))


def numbered(records: ArrayRecords) -> NDArray[np.intp] | None:
    """A number for each record, the same only where the same was done to the same input; ``None`` if unknown."""
    columns = [column for step in records.steps for column in step.arguments]
    if not columns:
        return records.rows
    if any(column.dtype.kind not in "biuf" for column in columns):
        return None
    rows = np.stack([records.rows.astype(np.float64), *(column.astype(np.float64) for column in columns)], axis=1)
    return np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1).astype(np.intp)
