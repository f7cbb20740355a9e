"""What a population is given, held in memory or read as it goes."""

from __future__ import annotations

from os import PathLike, fspath
from pathlib import Path
from typing import TypeAlias

from isonomia.errors import DataError
from isonomia.populations.files import is_many, read_table
from isonomia.populations.long_table import LongTable
from isonomia.populations.table import Table

__all__ = ["HELD", "Rows", "rows_from"]

Rows: TypeAlias = Table | LongTable

HELD = 2**28
"""Bytes of a single Parquet or Arrow file up to which it is held; a larger one is read as it goes."""


def rows_from(data: object) -> Rows:
    """Hold a table, or make ready to read it.

    Folders, patterns, large Parquet and Arrow files, lazy frames of polars, relations of DuckDB and datasets of pyarrow
    are read as they go. Everything else is held.

    Raises
    ------
    DataError
        When it cannot be read or is no table.
    """
    if isinstance(data, LongTable):
        return data
    if isinstance(data, str | PathLike):
        return _from_path(fspath(data))
    found = _lazy(data)
    return Table.of(data) if found is None else found


def _from_path(path: str) -> Rows:
    _refuse_no_path(path)
    file = Path(path)
    if is_many(path):
        from isonomia.populations.folders import long_files

        return long_files(path)
    if file.suffix.lower() in {".parquet", ".arrow", ".feather"} and file.is_file() and file.stat().st_size > HELD:
        from isonomia.populations.folders import of_files

        return of_files([file], file.parent)
    return read_table(path)


def _refuse_no_path(path: str) -> None:
    if not path.strip():
        raise DataError("the path of a table should name a file or a folder, but it is empty. Is a variable not set?")
    if "://" in path:
        raise DataError(
            f"a table should be a file, a folder or a table in memory, but {path} is an address. Download it first, or "
            "open it with your own library (pandas, polars, DuckDB) and hand over the table."
        )


def _lazy(data: object) -> LongTable | None:
    """By the name of the type, so that no library is imported that the user does not use."""
    kind = type(data)
    match f"{kind.__module__.split('.')[0]}.{kind.__name__}":
        case "polars.LazyFrame":
            from isonomia.populations.lazy_reader import long_lazy

            return long_lazy(data)
        case "duckdb.DuckDBPyRelation" | "_duckdb.DuckDBPyRelation":
            from isonomia.populations.lazy_reader import long_relation

            return long_relation(data)
        case "pyarrow.FileSystemDataset" | "pyarrow.UnionDataset" | "pyarrow.InMemoryDataset":
            from isonomia.populations.arrow_reader import long_dataset

            return long_dataset(data, "pyarrow")
        case _:
            return None
