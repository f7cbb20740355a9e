"""Tables from files, with whichever reader is installed.

pandas is preferred, since most models are fitted on its frames; then polars, then pyarrow. Comma-separated
and JSON files need none of them: without pandas and polars they become a mapping from column name to NumPy
array. To choose for yourself, read the file with your own library and hand over the table.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from glob import has_magic
from importlib.util import find_spec
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from isonomia.errors import DataError, nearest
from isonomia.populations.columnar import read_arrow, read_parquet
from isonomia.populations.table import Table
from isonomia.populations.text_files import no_text, open_text

__all__ = ["is_many", "read_table"]


def is_many(path: str) -> bool:
    """Whether a path names a folder, or is a pattern such as ``people/*.parquet``; no single file is meant then."""
    return Path(path).is_dir() or (has_magic(path) and not Path(path).exists())


def read_table(path: str | PathLike[str]) -> Table:
    """Read a table from a file.

    Parameters
    ----------
    path
        A file that ends in ``.csv``, ``.tsv``, ``.jsonl``, ``.ndjson`` or ``.json``, each of them perhaps
        followed by ``.gz``, or in ``.parquet``, ``.arrow``, ``.arrows``, ``.ipc`` or ``.feather``. A folder of such
        files, or a pattern, is read as one table.

    Raises
    ------
    DataError
        When the file does not exist, has another ending, is empty or cannot be read, or when no reader for it
        is installed.
    """
    if is_many(fspath(path)):
        from isonomia.populations.folders import long_files

        return long_files(fspath(path)).table()
    file = Path(path)
    read = _reader(file)
    _check_exists(file)
    try:
        return Table.of(read(file))
    except UnicodeDecodeError as error:
        raise no_text(file) from error
    except DataError as error:
        raise (error if str(error).startswith(str(file)) else DataError(f"{file}: {error}")) from error
    except Exception as error:  # each library has its own kinds of error for a bad file
        raise DataError(
            f"{file} cannot be read as {_ending(file)}: {type(error).__name__}: {error}. "
            "Check that its content matches its ending."
        ) from error


def _ending(file: Path) -> str:
    name = file.name.lower()
    return Path(name.removesuffix(".gz")).suffix + (".gz" if name.endswith(".gz") else "")


def _reader(file: Path) -> Callable[[Path], Any]:
    ending = _ending(file)
    read = _READERS.get(ending) or _READERS.get(ending.removesuffix(".gz"))
    if read is None or (ending.endswith(".gz") and read in (read_parquet, read_arrow)):
        raise DataError(
            f"a table's file should end in one of {', '.join(_READERS)}, but this is {file.name!r}. "
            "Rename it, or read it with your own library and hand over the table."
        )
    return read


def _check_exists(file: Path) -> None:
    if file.is_file():
        if file.stat().st_size == 0:
            raise DataError(f"{file} is empty: it has no bytes. It should hold a table.")
        return
    if not file.parent.is_dir():
        raise DataError(f"{file} does not exist, nor does the folder {file.parent}.")
    beside = [other.name for other in file.parent.iterdir() if other.is_file()]
    raise DataError(f"{file} does not exist.{nearest(file.name, beside)}")


def _installed(*packages: str) -> bool:
    return all(find_spec(package) is not None for package in packages)


def _read_csv(file: Path) -> Any:
    from isonomia.populations.separated import read_separated

    return read_separated(file, ",")


def _read_tsv(file: Path) -> Any:
    from isonomia.populations.separated import read_separated

    return read_separated(file, "\t")


def _read_json_lines(file: Path) -> Any:
    with open_text(file) as lines:
        rows = [_row(line, number) for number, line in enumerate(lines, start=1) if line.strip()]
    return _framed(_columns_of(rows))


def _row(line: str, number: int) -> Any:
    try:
        found = json.loads(line)
    except json.JSONDecodeError as error:
        raise DataError(
            f"line {number} is no JSON: {error.msg} at character {error.pos + 1}. Each line should be one object."
        ) from error
    if not isinstance(found, Mapping):
        raise DataError(f"line {number} should be an object from column name to value, such as {{'age': 31}}.")
    return found


def _read_json(file: Path) -> Any:
    with open_text(file) as text:
        content = json.load(text)
    if isinstance(content, Mapping):
        listed = {n: list(v.values()) if isinstance(v, Mapping) else v for n, v in content.items()}
        return _framed(_columns_of_table(Table.of(listed)))
    return _framed(_columns_of(content))


def _columns_of(rows: object) -> dict[str, Any]:
    if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
        raise DataError("every row should be an object from column name to value, such as {'age': 31}.")
    if not rows:
        raise DataError("the file has no rows. Give at least one.")
    return _columns_of_table(Table.of(rows))


def _columns_of_table(table: Table) -> dict[str, Any]:
    return {name: table.column(name).copy() for name in table.names}


def _framed(columns: dict[str, Any]) -> Any:
    if _installed("pandas"):
        import pandas as pd

        return pd.DataFrame(columns)
    if _installed("polars"):
        import polars as pl

        return pl.DataFrame({n: v.tolist() if v.dtype == object else v for n, v in columns.items()})
    return columns


_READERS: dict[str, Callable[[Path], Any]] = {
    ".csv": _read_csv,
    ".tsv": _read_tsv,
    ".jsonl": _read_json_lines,
    ".ndjson": _read_json_lines,
    ".json": _read_json,
    ".parquet": read_parquet,
    ".arrow": read_arrow,
    ".arrows": read_arrow,
    ".ipc": read_arrow,
    ".feather": read_arrow,
}
