"""How each kind of table that needs no data-frame library is held and cut."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from isonomia.populations.columns import column_from

__all__ = ["ArrayStore", "ColumnStore", "RowStore", "Store"]


class Store(Protocol):
    """A table in its owner's own form, with the few operations that an audit needs of it."""

    @property
    def native(self) -> Any:
        """The table in its owner's own form."""

    @property
    def kind(self) -> str:
        """What form that is."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, in order."""

    @property
    def rows(self) -> int:
        """How many rows there are."""

    def column(self, name: str) -> NDArray[Any]:
        """One column, converted as :mod:`isonomia.populations.columns` says."""

    def take(self, indices: NDArray[np.intp]) -> Store:
        """The rows at these positions, as a copy."""

    def slice(self, start: int, stop: int) -> Store:
        """The rows from ``start`` up to ``stop``, as a copy."""

    def select(self, names: Sequence[str]) -> Store:
        """These columns, in this order."""


@dataclass(frozen=True, slots=True, eq=False)
class ColumnStore:
    """A mapping from column name to NumPy array."""

    native: dict[str, NDArray[Any]]
    rows: int
    kind: str = "columns"

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        return tuple(self.native)

    def column(self, name: str) -> NDArray[Any]:
        """One column."""
        return column_from(self.native[name], f"column {name!r}")

    def take(self, indices: NDArray[np.intp]) -> ColumnStore:
        """The rows at these positions, as a copy."""
        return ColumnStore({name: values[indices] for name, values in self.native.items()}, len(indices))

    def slice(self, start: int, stop: int) -> ColumnStore:
        """The rows from ``start`` up to ``stop``, as a copy."""
        return ColumnStore({name: v[start:stop].copy() for name, v in self.native.items()}, stop - start)

    def select(self, names: Sequence[str]) -> ColumnStore:
        """These columns, in this order."""
        return ColumnStore({name: self.native[name] for name in names}, self.rows)


@dataclass(frozen=True, slots=True, eq=False)
class ArrayStore:
    """A two-dimensional NumPy array with a name for each column."""

    native: NDArray[Any]
    names: tuple[str, ...]
    kind: str = "array"

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return int(self.native.shape[0])

    def column(self, name: str) -> NDArray[Any]:
        """One column."""
        return column_from(self.native[:, self.names.index(name)], f"column {name!r}")

    def take(self, indices: NDArray[np.intp]) -> ArrayStore:
        """The rows at these positions, as a copy."""
        return ArrayStore(self.native[indices], self.names)

    def slice(self, start: int, stop: int) -> ArrayStore:
        """The rows from ``start`` up to ``stop``, as a copy."""
        return ArrayStore(self.native[start:stop].copy(), self.names)

    def select(self, names: Sequence[str]) -> ArrayStore:
        """These columns, in this order."""
        return ArrayStore(self.native[:, [self.names.index(name) for name in names]], tuple(names))


@dataclass(frozen=True, slots=True, eq=False)
class RowStore:
    """A list of rows, each a mapping from column name to value; a name that a row lacks is missing there."""

    native: list[dict[str, Any]]
    names: tuple[str, ...]
    kind: str = "rows"

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return len(self.native)

    def column(self, name: str) -> NDArray[Any]:
        """One column."""
        return column_from([row.get(name) for row in self.native], f"column {name!r}")

    def take(self, indices: NDArray[np.intp]) -> RowStore:
        """The rows at these positions, as a copy."""
        return RowStore([dict(self.native[i]) for i in indices.tolist()], self.names)

    def slice(self, start: int, stop: int) -> RowStore:
        """The rows from ``start`` up to ``stop``, as a copy."""
        return RowStore([dict(row) for row in self.native[start:stop]], self.names)

    def select(self, names: Sequence[str]) -> RowStore:
        """These columns, in this order."""
        return RowStore([{name: row[name] for name in names if name in row} for row in self.native], tuple(names))
