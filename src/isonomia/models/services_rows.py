"""The rows of a table as values that JSON and CSV can hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import ModelError, nearest
from isonomia.populations.columns import plain_value
from isonomia.populations.table import Table

__all__ = ["PlainRows", "plain_rows"]


@dataclass(frozen=True, slots=True)
class PlainRows:
    """Columns of text, numbers, truth values and ``None``; dates are ISO text.

    Attributes
    ----------
    names
        The columns.
    columns
        The values of each.
    rows
        How many there are.
    """

    names: tuple[str, ...]
    columns: tuple[list[Any], ...]
    rows: int

    def slice(self, start: int, stop: int) -> PlainRows:
        """The rows from ``start`` up to ``stop``."""
        stop = min(stop, self.rows)
        return PlainRows(self.names, tuple(column[start:stop] for column in self.columns), stop - start)

    def matrix(self) -> list[list[Any]]:
        """Each row as a list."""
        return [list(row) for row in zip(*self.columns, strict=True)]

    def objects(self) -> list[dict[str, Any]]:
        """Each row as a mapping from column to value."""
        return [dict(zip(self.names, row, strict=True)) for row in zip(*self.columns, strict=True)]

    def by_column(self) -> dict[str, list[Any]]:
        """Each column as a list."""
        return dict(zip(self.names, self.columns, strict=True))


def plain_rows(table: Table, features: Sequence[str] | None, who: str) -> PlainRows:
    """Choose columns, and make plain values of them.

    Raises
    ------
    ModelError
        Where a column is missing, or a value is of a kind that cannot be sent.
    """
    names = tuple(features) if features is not None else table.names
    for name in names:
        if name not in table.names:
            known = ", ".join(map(repr, table.names[:12]))
            raise ModelError(
                f"{who} needs the column {name!r}, which the table does not have: it has {known}."
                f"{nearest(name, table.names)}"
            )
    return PlainRows(names, tuple(_plain(table.column(name), name, who) for name in names), table.rows)


def _plain(column: NDArray[Any], name: str, who: str) -> list[Any]:
    if column.dtype.kind in "biu":
        return column.tolist()  # type: ignore[no-any-return]
    if column.dtype.kind == "f":
        endless = np.isinf(column)
        if endless.any():
            raise _unsendable(column[int(np.argmax(endless))].item(), int(np.argmax(endless)), name, who)
        values: list[Any] = column.astype(np.float64).tolist()
        return [None if value != value else value for value in values] if np.isnan(column).any() else values
    plain = [value if type(value) is str else plain_value(value) for value in column]
    for row, value in enumerate(plain):
        if value is not None and not isinstance(value, str | bool | int | float):
            raise _unsendable(value, row, name, who)
    return plain


def _unsendable(value: object, row: int, name: str, who: str) -> ModelError:
    return ModelError(
        f"{who} can be sent text, finite numbers, truth values and dates, but column {name!r} has {value!r} "
        f"({type(value).__name__}) in row {row} of the batch."
    )
