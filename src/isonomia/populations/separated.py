"""Comma- and tab-separated files, by the quickest reader that is installed; what is read does not depend on it."""

from __future__ import annotations

import csv
import re
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from isonomia.errors import DataError
from isonomia.populations.columns import EXACT
from isonomia.populations.plain_csv import CODE, NUMBER_MISSING, TRUTH, read_header, read_plain
from isonomia.populations.text_files import no_text, open_bytes, open_text

__all__ = ["read_separated"]


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
    return cells.select(_typed(cells[name].replace("", None)) for name in cells.columns)


def _typed(cells: Any) -> Any:
    """The first type that all cells of a column fit, as :mod:`isonomia.populations.plain_csv` says."""
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
