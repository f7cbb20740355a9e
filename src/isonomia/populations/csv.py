"""Comma- and tab-separated files.

Comma-separated files with the standard library alone, for those who have no data-frame library.

A column's type is the first that all its cells fit: whole number, number, truth value (``true`` or ``false``
in small letters, capitals, or with a capital first), text. An empty cell is missing. In a column whose other
cells are all numbers, ``NA``, ``N/A``, ``NaN``, ``nan``, ``NULL`` and ``null`` are missing too; in a column
of text they are text. A column with a cell such as ``00123`` is text: nobody counts like that, and the postal
code would lose its zeros.

Opening text files, compressed or not, and saying where the bytes of one are no text.

Comma- and tab-separated files, by the quickest reader that is installed; what is read does not depend on it.
"""

from __future__ import annotations

import csv
import gzip
import re
import warnings
from collections.abc import Callable, Iterable, Sequence
from importlib.util import find_spec
from itertools import zip_longest
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import DataError
from isonomia.spec.columns import EXACT

__all__ = [
    "CODE",
    "NUMBER_MISSING",
    "TRUTH",
    "no_text",
    "open_bytes",
    "open_text",
    "read_header",
    "read_plain",
    "read_separated",
]


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


def open_text(file: Path) -> IO[str]:
    """Open a file as UTF-8. A mark at the front, which some spreadsheets put there, is dropped."""
    opened = gzip.open if file.name.lower().endswith(".gz") else open
    return opened(file, "rt", encoding="utf-8-sig", newline="")


def open_bytes(file: Path) -> IO[bytes]:
    """Open what a file holds once it is decompressed."""
    return cast(IO[bytes], gzip.open(file, "rb")) if file.name.lower().endswith(".gz") else file.open("rb")


def no_text(file: Path) -> DataError:
    """Say which byte of a file is no UTF-8."""
    with open_bytes(file) as stream:
        for number, line in enumerate(stream, start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                return DataError(
                    f"{file} should be text in UTF-8, but byte {error.start + 1} of line {number} is "
                    f"0x{line[error.start]:02x}, which is none there. Save the file as UTF-8, or read it with your own "
                    "library and its encoding, such as encoding='latin-1' for pandas, and hand over the table."
                )
    return DataError(f"{file} should be text in UTF-8, and is not. Save it as UTF-8.")


def read_separated(file: Path, separator: str) -> Any:
    """Read a file as a frame of pandas, or else of polars, or else as a mapping from column name to NumPy array.

    Raises
    ------
    DataError
        With the line, when a row has more cells than the first line names columns, or when a byte is no text.
    """
    try:
        return _read(file, separator)
    except UnicodeDecodeError as error:
        raise no_text(file) from error
    except DataError:
        raise
    except Exception as error:  # each library has its own kinds of error, and words that need explaining
        told = _ragged_line(file, separator)
        if told is None:
            raise
        raise DataError(told) from error


def _read(file: Path, separator: str) -> Any:
    with open_text(file) as lines:
        if find_spec("pandas") is None and find_spec("polars") is None:
            return read_plain(lines, separator)
        read_header(lines, separator)
    return _by_polars(file, separator) if find_spec("pandas") is None else _by_pandas(file, separator)


def _ragged_line(file: Path, separator: str) -> str | None:
    try:
        with open_text(file) as lines:
            rows = csv.reader(lines, delimiter=separator)
            names = next(rows)
            for row in rows:
                if len(row) > len(names):
                    return (
                        f"line {rows.line_num} has {len(row)} cells, but the first line names {len(names)} columns. "
                        "Put a cell that contains the separator into quotation marks."
                    )
    except UnicodeDecodeError as error:
        raise no_text(file) from error
    return None


# ---------------------------------------------------------------------------- pandas


def _by_pandas(file: Path, separator: str) -> Any:
    import pandas as pd

    said = {"sep": separator, "keep_default_na": False, "na_values": [""], "index_col": False, "encoding": "utf-8-sig"}
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)  # a row with too many cells
        frame = pd.read_csv(file, low_memory=False, **said)
    codes = _codes(file, separator, said, frame)
    for name in frame.columns:
        if name in codes:
            frame[name] = codes[name]
        elif not pd.api.types.is_numeric_dtype(frame[name].dtype):
            frame[name] = _numbers_if_all_are(frame[name])
        elif frame[name].dtype.kind == "f" and frame[name].isna().any() and frame[name].abs().max() > EXACT:
            frame[name] = _whole_if_all_are(file, name, said, frame[name])
    return frame


def _codes(file: Path, separator: str, said: dict[str, Any], frame: Any) -> dict[str, Any]:
    """The columns that pandas took for numbers although they have codes, as text."""
    import pandas as pd

    numbers = [name for name in frame.columns if pd.api.types.is_numeric_dtype(frame[name].dtype)]
    if not numbers or not _may_have_codes(file, separator):
        return {}
    cells = pd.read_csv(file, usecols=numbers, dtype=str, **{**said, "index_col": None})
    return {name: cells[name] for name in numbers if _has_codes(cells[name])}


def _may_have_codes(file: Path, separator: str) -> bool:
    """Whether anything in a file looks like a code at the beginning of a cell, so that it pays to look closer."""
    # What comes before a zero is looked at behind it: several times as quick as looking for what begins a cell.
    before = rf'[\n\r"{separator}]'
    code = re.compile(rf"0(?:(?<={before}0)|(?<={before}[ +-]0)|(?<={before} [+-]0))[0-9]".encode())
    with open_bytes(file) as stream:
        return any(code.search(b"\n" + b"".join(lines)) for lines in iter(lambda: stream.readlines(2**22), []))


def _has_codes(series: Any) -> bool:
    return bool(series.dropna().astype(str).str.match(CODE).any())


def _numbers_if_all_are(series: Any) -> Any:
    import pandas as pd

    stands_for_missing = series.isin(NUMBER_MISSING)
    if not stands_for_missing.any() or (series.isna() | stands_for_missing).all() or _has_codes(series):
        return series
    try:
        return pd.to_numeric(series.where(~stands_for_missing))
    except (ValueError, TypeError):
        return series


def _whole_if_all_are(file: Path, name: str, said: dict[str, Any], rounded: Any) -> Any:
    """Read a column once more, as large whole numbers with gaps, which pandas would otherwise round to floats."""
    import pandas as pd

    try:
        return pd.read_csv(file, usecols=[name], dtype={name: "Int64"}, **{**said, "index_col": None})[name]
    except (ValueError, TypeError):
        return rounded


# ---------------------------------------------------------------------------- polars


def _by_polars(file: Path, separator: str) -> Any:
    import polars as pl

    cells = pl.read_csv(file, separator=separator, infer_schema=False, encoding="utf8")
    return cells.select(_typed_separated(cells[name].replace("", None)) for name in cells.columns)


def _typed_separated(cells: Any) -> Any:
    """The first type that all cells of a column fit, as :mod:`isonomia.populations.csv` says."""
    import polars as pl

    present = cells.drop_nulls()
    if present.is_empty():
        return cells
    numbers = present.filter(~present.is_in(list(NUMBER_MISSING)))
    counted = len(numbers) and not numbers.str.contains(f"^(?:{CODE})").any()
    for kind in (pl.Int64, pl.Float64) if counted else ():
        if not numbers.cast(kind, strict=False).has_nulls():
            return cells.cast(kind, strict=False) if kind == pl.Int64 else _finite(cells, kind)
    if present.is_in(list(TRUTH)).all():
        return cells.str.to_lowercase() == "true"
    return cells


def _finite(cells: Any, kind: Any) -> Any:
    return cells.replace(list(NUMBER_MISSING), None).cast(kind)
