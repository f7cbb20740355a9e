"""Values as numbers: the attribute, the decisions, the outcomes and the subgroups, counted from 0."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import DataError
from isonomia.populations.columns import distinct, plain_value
from isonomia.spec.columns import missing, plain
from isonomia.spec.tree import Value

__all__ = ["Coding", "coding_of", "refuse_missing"]


@dataclass(frozen=True, slots=True)
class Coding:
    """The values that a column has, in order; a value's number is its place.

    Attributes
    ----------
    name
        What the column is called, for messages.
    values
        The values.
    """

    name: str
    values: tuple[Value, ...]

    def codes(self, column: NDArray[Any]) -> NDArray[np.intp]:
        """Turn values into their numbers.

        Raises
        ------
        DataError
            Where a value is missing, or is none of the known ones.
        """
        values = plain(column, self.name)
        refuse_missing(self.name, values)
        found, places = np.unique(values, return_inverse=True)
        numbers = {value: number for number, value in enumerate(self.values)}
        for value in found:
            if plain_value(value) not in numbers:
                listed = ", ".join(map(repr, self.values))
                raise DataError(f"expected {self.name} to be one of {listed}, but {plain_value(value)!r} came")
        return np.asarray([numbers[plain_value(value)] for value in found], dtype=np.intp)[places]


def refuse_missing(name: str, column: NDArray[Any]) -> None:
    """Refuse a column in which a value is missing.

    Raises
    ------
    DataError
        With the first row, and how many there are.
    """
    gone = missing(plain(column, name))
    if gone.any():
        raise DataError(
            f"expected a value of {name} in every row, but it is missing in {int(gone.sum())} of {len(gone)} rows, "
            f"first in row {int(np.flatnonzero(gone)[0])}: drop these rows, or fill them in"
        )


def coding_of(
    name: str, columns: Iterable[NDArray[Any]], order: Sequence[Value] | None = None, *, least: int = 2
) -> Coding:
    """List the values that occur, ascending, or in the order given.

    Parameters
    ----------
    name
        What the column is called.
    columns
        One or more columns that share their values.
    order
        All values in another order.
    least
        How many values there must be.

    Raises
    ------
    DataError
        Where fewer values occur, or one occurs that the order lacks.
    """
    found = distinct([plain(column, name) for column in columns], name)
    values = found if order is None else tuple(order)
    strange = [value for value in found if value not in values]
    if strange:
        raise DataError(f"expected every value of {name} in the order {list(values)!r}, but {strange[0]!r} occurs too")
    if len(values) < least:
        raise DataError(
            f"expected at least {least} values of {name}, but there are {list(values)!r}: nothing can be compared"
        )
    return Coding(name, values)
