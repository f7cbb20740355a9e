"""Finding rows that are the same, so that a model is asked about each only once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from isonomia.populations.columns import plain_value
from isonomia.populations.table import Table

__all__ = ["distinct_rows", "profiles"]

Floats = NDArray[np.float64]
Places = NDArray[np.intp]

_ODD = np.uint64(0x9E3779B97F4A7C15)
_PRIME = np.uint64(0x100000001B3)


def profiles(people: Table, apart_from: tuple[str, ...]) -> Places:
    """A number for each person, the same for people who agree in every column but some."""
    names = [name for name in people.names if name not in apart_from]
    if not names:
        return np.zeros(people.rows, dtype=np.intp)
    known: dict[tuple[object, ...], int] = {}
    columns = [[plain_value(value) for value in people.column(name)] for name in names]
    return np.asarray([known.setdefault(row, len(known)) for row in zip(*columns, strict=True)], dtype=np.intp)


def distinct_rows(values: Floats, code: Places) -> tuple[Places, Places]:
    """The first of each kind of row, and which of these each row is.

    Rows are sorted by a 64-bit hash and then compared with the first of their kind; in the unlikely case that two
    different rows have the same hash, everything is counted as different, which costs time and nothing else.

    Parameters
    ----------
    values
        Rows of numbers.
    code
        A further number for each row, such as a profile.
    """
    mixed = code.astype(np.uint64) * _ODD
    for column in (values + 0.0).T:  # adding nothing makes both zeros the same
        bits = np.ascontiguousarray(column).view(np.uint64)
        bits = (bits ^ (bits >> np.uint64(32))) * _ODD
        mixed = (mixed ^ bits ^ (bits >> np.uint64(29))) * _PRIME
    _, first, kind = np.unique(mixed, return_index=True, return_inverse=True)
    kind = kind.reshape(-1)
    same = (code == code[first][kind]) & (values == values[first][kind]).all(axis=1)
    if same.all():
        return first, kind
    everything = np.arange(len(code))
    return everything, everything
