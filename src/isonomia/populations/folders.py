"""Folders and patterns: many Parquet or Arrow files that are one table."""

from __future__ import annotations

from collections.abc import Sequence
from glob import glob, has_magic
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from isonomia.errors import DataError
from isonomia.populations.arrow_reader import long_dataset, preferred_kind
from isonomia.populations.long_table import LongTable
from isonomia.populations.schemas import common_schema

__all__ = ["long_files", "of_files"]

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

    from isonomia.populations.lazy_reader import long_lazy

    scan = pl.scan_parquet if files[0].suffix.lower() == ".parquet" else pl.scan_ipc
    found = long_lazy(scan([str(file) for file in files], hive_partitioning=True))
    if found is None:
        raise DataError("reading folders of files needs pyarrow: pip install 'isonomia[arrow]'.")
    return found


def _files(path: str, base: Path) -> list[Path]:
    found = base.rglob("*") if Path(path).is_dir() else map(Path, glob(path, recursive=True))
    files = sorted(file for file in found if file.is_file() and not _is_hidden(file, base))
    kinds = {_ending(file) for file in files} & _TABLES
    readable = kinds & _FORMATS.keys()
    if not readable:
        raise DataError(_nothing(files, path))
    if len(kinds) > 1:
        raise DataError(
            f"expected files of one format, but there are {' and '.join(sorted(kinds))}. Name those that you mean, "
            f"such as {Path(base) / ('*' + min(readable))}."
        )
    return [file for file in files if _ending(file) in kinds]


def _ending(file: Path) -> str:
    """How a file's name ends; a compressed one counts as what is inside, where that can be read."""
    inner = Path(file.name.lower().removesuffix(".gz")).suffix
    return inner if inner in _UNTYPED else file.suffix.lower()


def _nothing(files: Sequence[Path], path: str) -> str:
    untyped = next((file for file in files if _ending(file) in _UNTYPED), None)
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
