"""Comma-separated files with the standard library alone, for those who have no data-frame library.

A column's type is the first that all its cells fit: whole number, number, truth value (``true`` or ``false``
in small letters, capitals, or with a capital first), text. An empty cell is missing. In a column whose other
cells are all numbers, ``NA``, ``N/A``, ``NaN``, ``nan``, ``NULL`` and ``null`` are missing too; in a column
of text they are text.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import DataError

__all__ = ["NUMBER_MISSING", "read_header", "read_plain"]

NUMBER_MISSING = frozenset({"NA", "N/A", "NaN", "nan", "NULL", "null"})
_TRUTH = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}


def read_header(lines: Iterable[str], separator: str) -> list[str]:
    """Read the first line: the names of the columns.

    Raises
    ------
    DataError
        When there is none, or when a name is empty or occurs twice.
    """
    names = next(csv.reader(lines, delimiter=separator), [])
    if not names:
        raise DataError("the file is empty. Its first line should name the columns.")
    for i, name in enumerate(names):
        if not name.strip():
            raise DataError(f"column {i + 1} has no name in the first line. Give each column a name.")
        if name in names[:i]:
            raise DataError(f"column {name!r} occurs more than once. Rename or drop the others.")
    return names


def read_plain(lines: Iterable[str], separator: str) -> dict[str, NDArray[Any]]:
    """Read a whole file into columns.

    A row with fewer cells than the first line is filled up with missing values; one with more is refused.
    """
    stream = iter(lines)
    names = read_header(stream, separator)
    reader = csv.reader(stream, delimiter=separator)
    rows = [row for row in reader if row]
    for number, row in enumerate(rows, start=1):
        if len(row) > len(names):
            raise DataError(f"row {number} has {len(row)} cells, but the first line names {len(names)} columns.")
    columns = zip_longest(*rows, fillvalue="") if rows else ()
    padded = dict(zip_longest(names, columns, fillvalue=("",) * len(rows)))
    return {str(name): _typed(cells) for name, cells in padded.items()}


def _typed(cells: Sequence[str]) -> NDArray[Any]:
    for convert in (_as_numbers, _as_truth):
        column = convert(cells)
        if column is not None:
            return column
    return np.fromiter((cell or None for cell in cells), dtype=object, count=len(cells))


def _as_numbers(cells: Sequence[str]) -> NDArray[Any] | None:
    missing = np.fromiter((not c or c in NUMBER_MISSING for c in cells), dtype=bool, count=len(cells))
    if all(not cell for cell in cells) or any("_" in cell for cell in cells):
        return None
    present = np.array([c for c, absent in zip(cells, missing, strict=True) if not absent], dtype=str)
    if not missing.any() and (whole := _parsed(present, np.int64)) is not None:
        return whole
    numbers = _parsed(present, np.float64)
    if numbers is None or not len(numbers):
        return None
    column = np.full(len(cells), np.nan)
    column[~missing] = numbers
    return column


def _parsed(cells: NDArray[Any], dtype: type[np.generic]) -> NDArray[Any] | None:
    try:
        return cells.astype(dtype)
    except (ValueError, OverflowError):
        return None


def _as_truth(cells: Sequence[str]) -> NDArray[Any] | None:
    found = set(cells)
    if found == {""} or not found <= {"", *_TRUTH}:
        return None
    values = [_TRUTH.get(cell) for cell in cells]
    return np.array(values, dtype=object if "" in found else bool)
