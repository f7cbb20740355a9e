"""Several columns, or a column of ordered levels, as one feature whose value is a position."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["Group", "OneHot", "Ordinal"]

Column: TypeAlias = Callable[[str], NDArray[Any]]
Read: TypeAlias = tuple[NDArray[np.int64], NDArray[np.bool_]]


@dataclass(frozen=True, slots=True)
class OneHot:
    """Columns of which exactly one is 1: the feature's value is which, counted from 0 in the order given."""

    columns: tuple[str, ...]

    @property
    def levels(self) -> tuple[str, ...]:
        """What the positions are called."""
        return self.columns

    def read(self, column: Column) -> Read:
        """The position of the 1; there is none where no column or more than one is set."""
        hot = np.stack([np.asarray(column(name) == 1, dtype=bool) for name in self.columns])
        return hot.argmax(axis=0), np.asarray(hot.sum(axis=0) != 1)

    def write(self, column: Column, positions: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """The columns with the 1 at these positions."""
        return {
            name: (positions == place).astype(column(name).dtype if column(name).dtype.kind in "biuf" else np.int64)
            for place, name in enumerate(self.columns)
        }


@dataclass(frozen=True, slots=True)
class Ordinal:
    """A column of named levels in an order: the feature's value is the level's number, counted from 0."""

    column: str
    levels: tuple[Any, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The one column."""
        return (self.column,)

    def read(self, column: Column) -> Read:
        """The number of each level; there is none for a value that is no level."""
        values = column(self.column)
        same = np.stack([np.asarray(values == level, dtype=bool) for level in self.levels])
        return same.argmax(axis=0), np.asarray(~same.any(axis=0))

    def write(self, column: Column, positions: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """The column with these levels."""
        del column
        levels = np.fromiter(self.levels, dtype=object, count=len(self.levels))[positions.astype(np.intp)]
        numeric = all(isinstance(level, int | float) for level in self.levels)
        return {self.column: np.asarray(levels.tolist()) if numeric else levels}


Group: TypeAlias = OneHot | Ordinal
