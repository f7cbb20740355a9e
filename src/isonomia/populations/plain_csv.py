"""Comma-separated files with the standard library alone, for those who have no data-frame library.

A column's type is the first that all its cells fit: whole number, number, truth value (``true`` or ``false``
in small letters, capitals, or with a capital first), text. An empty cell is missing. In a column whose other
cells are all numbers, ``NA``, ``N/A``, ``NaN``, ``nan``, ``NULL`` and ``null`` are missing too; in a column
of text they are text. A column with a cell such as ``00123`` is text: nobody counts like that, and the postal
code would lose its zeros.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Sequence
from itertools import zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import DataError

__all__ = ["CODE", "NUMBER_MISSING", "TRUTH", "read_header", "read_plain"]

NUMBER_MISSING = frozenset({"NA", "N/A", "NaN", "nan", "NULL", "null"})
TRUTH = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}

CODE = r" ?[+-]?0[0-9]"
"""How a cell begins that is no number although it has digits only: with a zero that another digit follows."""


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
    rows = _rows(stream, separator, len(names))
    columns = zip_longest(*rows, fillvalue="") if rows else ()
    padded = dict(zip_longest(names, columns, fillvalue=("",) * len(rows)))
    return {str(name): _typed(cells) for name, cells in padded.items()}


def _rows(lines: Iterable[str], separator: str, width: int) -> list[list[str]]:
    reader = csv.reader(lines, delimiter=separator)
    rows = []
    for row in reader:
        if len(row) > width:
            raise DataError(
                f"line {reader.line_num + 1} has {len(row)} cells, but the first line names {width} columns. "
                "Put a cell that contains the separator into quotation marks."
            )
        if row:
            rows.append(row)
    return rows


def _typed(cells: Sequence[str]) -> NDArray[Any]:
    for convert in (_as_numbers, _as_truth):
        column = convert(cells)
        if column is not None:
            return column
    return np.fromiter((cell or None for cell in cells), dtype=object, count=len(cells))


def _as_numbers(cells: Sequence[str]) -> NDArray[Any] | None:
    if "_" in "\n".join(cells) or any(map(re.compile(CODE).match, cells)):
        return None  # Python would read 1_000 as a number, and nobody else does; a code is none either
    whole = _parsed(int, cells, np.int64)
    if whole is not None:
        return whole
    present = [cell for cell in cells if cell and cell not in NUMBER_MISSING]
    numbers = _parsed(float, present, np.float64)
    if numbers is None or not present:
        return None
    missing = np.fromiter((not cell or cell in NUMBER_MISSING for cell in cells), dtype=bool, count=len(cells))
    column = np.full(len(cells), np.nan)
    column[~missing] = numbers
    return column


def _parsed(convert: Callable[[str], float], cells: Sequence[str], dtype: type[np.generic]) -> NDArray[Any] | None:
    """Convert every cell, or stop at the first that cannot be."""
    try:
        return np.fromiter(map(convert, cells), dtype=dtype, count=len(cells))
    except (ValueError, OverflowError):
        return None


def _as_truth(cells: Sequence[str]) -> NDArray[Any] | None:
    found = set(cells)
    if found == {""} or not found <= {"", *TRUTH}:
        return None
    values = [TRUTH.get(cell) for cell in cells]
    return np.array(values, dtype=object if "" in found else bool)
