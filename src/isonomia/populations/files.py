"""From data or a path to rows, in memory or streamed.

Tables from files, with whichever reader is installed.

pandas is preferred, since most models are fitted on its frames; then polars, then pyarrow. Comma-separated
and JSON files need none of them: without pandas and polars they become a mapping from column name to NumPy
array. To choose for yourself, read the file with your own library and hand over the table.

What a population is given, held in memory or read as it goes.

Folders and patterns: many Parquet or Arrow files that are one table.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from glob import glob, has_magic
from importlib.util import find_spec
from os import PathLike, fspath
from pathlib import Path
from typing import Any, TypeAlias

from isonomia.errors import DataError, nearest
from isonomia.populations.arrow import common_schema, long_dataset, preferred_kind, read_arrow, read_parquet
from isonomia.populations.csv import no_text, open_text
from isonomia.populations.streaming import LongTable
from isonomia.populations.table import Table

__all__ = ["HELD", "Rows", "is_many", "long_files", "of_files", "read_table", "rows_from"]


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
    from isonomia.populations.csv import read_separated

    return read_separated(file, ",")


def _read_tsv(file: Path) -> Any:
    from isonomia.populations.csv import read_separated

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
        return long_files(path)
    if file.suffix.lower() in {".parquet", ".arrow", ".feather"} and file.is_file() and file.stat().st_size > HELD:
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
            from isonomia.populations.lazy import long_lazy

            return long_lazy(data)
        case "duckdb.DuckDBPyRelation" | "_duckdb.DuckDBPyRelation":
            from isonomia.populations.lazy import long_relation

            return long_relation(data)
        case "pyarrow.FileSystemDataset" | "pyarrow.UnionDataset" | "pyarrow.InMemoryDataset":
            from isonomia.populations.arrow import long_dataset

            return long_dataset(data, "pyarrow")
        case _:
            return None


_FORMATS = {".parquet": "parquet", ".arrow": "ipc", ".feather": "ipc"}
_UNTYPED = (".csv", ".tsv", ".jsonl", ".ndjson", ".json")
_TABLES = frozenset({*_FORMATS, *_UNTYPED, ".arrows", ".ipc"} - {".json"})
"""The endings of files that are rows of a table. A JSON document beside them usually describes them."""


def long_files(path: str) -> LongTable:
    """Make one table of all files of a folder, or of all that a pattern fits, in the order of their paths.

    Folders inside it that are named ``key=value`` give a column ``key``, as Hive and Spark write them. Files and
    folders whose name begins with ``_`` or ``.`` are passed over, and so are those that by their ending are no rows.
    No rows are passed over: where there are files of two formats, nothing is read.

    Raises
    ------
    DataError
        When there is none, when they are of several formats, when their columns differ, or when one is damaged.
    """
    base = Path(path) if Path(path).is_dir() else _fixed_part(path)
    try:
        return of_files(_files(path, base), base)
    except DataError as error:
        raise DataError(f"{path}: {error}") from error


def of_files(files: Sequence[Path], base: Path) -> LongTable:
    """Make one table of some files of one format; ``base`` is the folder below which ``key=value`` counts."""
    if find_spec("pyarrow") is None:
        return _by_polars(files)
    import pyarrow.dataset as ds

    found = _dataset(files, base)
    same = ds.FileSystemDataset(list(found.get_fragments()), common_schema(found), found.format, found.filesystem)
    return long_dataset(same, preferred_kind(), files)


def _dataset(files: Sequence[Path], base: Path) -> Any:
    import pyarrow.dataset as ds

    kind = _FORMATS[files[0].suffix.lower()]
    try:
        return ds.dataset(
            [str(file) for file in files],
            format=kind,
            partitioning=ds.partitioning(flavor="hive"),
            partition_base_dir=str(base),
        )
    except Exception as error:  # pyarrow has several kinds of error for a damaged file
        if "duplicate field names" in str(error):
            raise DataError(f"{files[0]} has two columns with one name. Rename or drop one of them.") from error
        raise DataError(
            f"{files[0]} cannot be read as {files[0].suffix}: {type(error).__name__}: {str(error).strip()}. It may be "
            "cut short, or be of another format: write it anew, or take it out of the folder."
        ) from error


def _by_polars(files: Sequence[Path]) -> LongTable:
    if find_spec("polars") is None:
        raise DataError(
            "reading folders of files needs pyarrow or polars, and neither is installed. "
            "Install one: pip install 'isonomia[arrow]' or pip install 'isonomia[polars]'."
        )
    import polars as pl

    from isonomia.populations.lazy import long_lazy

    scan = pl.scan_parquet if files[0].suffix.lower() == ".parquet" else pl.scan_ipc
    found = long_lazy(scan([str(file) for file in files], hive_partitioning=True))
    if found is None:
        raise DataError("reading folders of files needs pyarrow: pip install 'isonomia[arrow]'.")
    return found


def _files(path: str, base: Path) -> list[Path]:
    found = base.rglob("*") if Path(path).is_dir() else map(Path, glob(path, recursive=True))
    files = sorted(file for file in found if file.is_file() and not _is_hidden(file, base))
    kinds = {_ending_folders(file) for file in files} & _TABLES
    readable = kinds & _FORMATS.keys()
    if not readable:
        raise DataError(_nothing(files, path))
    if len(kinds) > 1:
        raise DataError(
            f"expected files of one format, but there are {' and '.join(sorted(kinds))}. Name those that you mean, "
            f"such as {Path(base) / ('*' + min(readable))}."
        )
    return [file for file in files if _ending_folders(file) in kinds]


def _ending_folders(file: Path) -> str:
    """How a file's name ends; a compressed one counts as what is inside, where that can be read."""
    inner = Path(file.name.lower().removesuffix(".gz")).suffix
    return inner if inner in _UNTYPED else file.suffix.lower()


def _nothing(files: Sequence[Path], path: str) -> str:
    untyped = next((file for file in files if _ending_folders(file) in _UNTYPED), None)
    if untyped is not None:
        return (
            f"expected Parquet or Arrow files, but {untyped.name} has no types of its own, so that several such files "
            "cannot be read as one table. Read them with your own library, or write them as Parquet first."
        )
    came = "is empty" if not files else f"has only {', '.join(file.name for file in files[:4])}"
    where = "it" if Path(path).is_dir() else "what the pattern fits"
    return f"expected files that end in {', '.join(_FORMATS)}, but {where} {came}."


def _is_hidden(file: Path, base: Path) -> bool:
    inside = file.relative_to(base) if file.is_relative_to(base) else file
    return any(part.startswith(("_", ".")) for part in inside.parts)


def _fixed_part(pattern: str) -> Path:
    """The folders of a pattern before its first wildcard."""
    fixed = Path()
    for part in Path(pattern).parts[:-1]:
        if has_magic(part):
            break
        fixed /= part
    return fixed
