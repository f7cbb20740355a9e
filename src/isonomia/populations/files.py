"""From a path to rows: held in memory, or read batch by batch.

Files and folders are read by pyarrow, and given to the model as pandas frames if pandas is installed, since most models
are fitted on these, else as polars, else as pyarrow tables. To choose for yourself, read the file with your own library
and pass the table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from glob import glob, has_magic
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from isonomia.errors import DataError, nearest, refuse_no_path
from isonomia.populations.streaming import LongTable, Rows
from isonomia.populations.table import Table, check_columns

HELD = 2**28
"""JSON lines and compressed files of up to this many bytes are held in memory; larger ones are read batch by batch."""

HELD_COUNTED = 2**23
"""The same for other files: an engine counts them as they are read, in no more time than if they were held."""

_SEPARATORS = {".csv": ",", ".tsv": "\t"}
_JSON_LINES = (".jsonl", ".ndjson")
_TEXT = (*_SEPARATORS, *_JSON_LINES, ".json")
_EVAL_ARCHIVE = ".eval"
_TYPED = (".parquet", ".arrow", ".feather")
_ENDINGS = (*_TEXT, ".parquet", ".arrow", ".arrows", ".ipc", ".feather", _EVAL_ARCHIVE)
_COMPRESSED = (".gz", ".bz2", ".zst")
_IN_FOLDERS = (*_TYPED, *_SEPARATORS, *_JSON_LINES)
"""The extensions of files that are read from a folder. A JSON document among them usually describes the others."""


def rows_at(path: str) -> Rows:
    """The rows at a path: those of a folder, a pattern or a large file are read batch by batch, others are held."""
    if not path.strip():
        raise DataError(
            "the path of a table should name a file or a folder, but it is empty. Is it not set?", name="path"
        )
    if "://" in path:
        raise DataError(
            f"a table should be a file, a folder or a table in memory, but {path} is an address. Download it first, or "
            "open it with your own library (pandas, polars, DuckDB) and hand over the table.",
            name=path,
        )
    refuse_no_path(path)
    if is_many(path):
        return long_files(path)
    file, ending = Path(path), _ending(Path(path))
    held = HELD if ending in _JSON_LINES or file.suffix.lower() in _COMPRESSED else HELD_COUNTED
    if ending in _IN_FOLDERS and file.is_file() and file.stat().st_size > held:
        return _read_as_it_goes([file], file.parent)
    return read_table(path)


def read_table(path: str | PathLike[str]) -> Table:
    """Read a table from a file.

    Parameters
    ----------
    path
        A file that ends in ``.csv``, ``.tsv``, ``.jsonl``, ``.ndjson`` or ``.json``, each optionally followed by
        ``.gz``, ``.bz2`` or ``.zst``, or in ``.parquet``, ``.arrow``, ``.arrows``, ``.ipc`` or ``.feather``. A folder
        of such files, or a pattern, is read as one table. Or a log of an eval: ``.eval`` or ``.json`` of inspect_ai,
        ``.json`` of promptfoo, ``samples_*.jsonl`` of lm-evaluation-harness.

    Raises
    ------
    DataError
        When the file does not exist, has another extension, is empty or cannot be read.
    """
    if is_many(fspath(path)):
        return long_files(fspath(path)).table()
    file = Path(path)
    _check_exists(file)
    ending = _ending(file)
    if ending not in _ENDINGS:
        raise DataError(
            f"a table's file should end in one of {', '.join(_ENDINGS)}, but this is {file.name!r}. "
            "Rename it, or read it with your own library and hand over the table.",
            name=file.name,
        )
    log = _eval_log(file, ending) if ending in (_EVAL_ARCHIVE, ".json", *_JSON_LINES) else None
    return log or _named_table(file, *_read(file, ending))


def read_rows(file: Path) -> Table | None:
    """Read a table from a file as :func:`read_table` does; ``None`` if it has columns but no rows."""
    result, remarks = _read(file, _ending(file))
    return _named_table(file, result, remarks) if result.num_rows else None


def cells_of(file: Path, column: str) -> list[str | None] | None:
    """The cells of a column of a separated file as they are written; ``None`` for other files, or without it."""
    from isonomia.populations.text_files import cells_of

    separator = _SEPARATORS.get(_ending(file))
    return None if separator is None else cells_of(file, separator, column)


def table_of(columns: Mapping[str, Sequence[Any]], what: str) -> Table:
    """A table of plain values, of the kind that a file gives; ``what`` is its name in errors."""
    import pyarrow as pa

    from isonomia.populations.frames import as_kind, preferred_kind

    arrays = {}
    for name, values in columns.items():
        try:
            arrays[name] = pa.array(values)
        except (pa.ArrowException, OverflowError) as error:
            raise DataError(f"{what}: expected values of one kind in the column {name!r}, but {error}") from error
    return Table.of(as_kind(pa.table(arrays), preferred_kind()))


def _eval_log(file: Path, ending: str) -> Table | None:
    """The answers in the log of an eval; ``None`` for any other file."""
    from isonomia.populations.eval_logs import columns_of, content_of

    try:
        if file.suffix.lower() in _COMPRESSED:
            _check_unpacked(file)
        content = content_of(file, ending)
        if content is None:
            return None
        columns, remarks, together = columns_of(content)
        return replace(table_of(columns, str(file)), remarks=remarks, together=together)
    except OSError:
        return None  # a damaged archive, which is reported when the table is read
    except DataError as error:
        raise DataError(f"{file}: {error}", name=error.name or file.name, line=error.line) from error


def is_many(path: str) -> bool:
    """Whether a path names a folder, or is a pattern such as ``people/*.parquet``, rather than a single file."""
    return Path(path).is_dir() or (has_magic(path) and not Path(path).exists())


# ---------------------------------------------------------------------------- one file


def _ending(file: Path) -> str:
    """A file's extension; a compressed text file counts as the text inside."""
    suffixes = [suffix.lower() for suffix in file.suffixes]
    if len(suffixes) > 1 and suffixes[-1] in _COMPRESSED and suffixes[-2] in _TEXT:
        return suffixes[-2]
    return suffixes[-1] if suffixes else ""


def _check_exists(file: Path) -> None:
    if file.is_file():
        if file.stat().st_size == 0:
            raise DataError(f"{file} is empty: it has no bytes. It should hold a table.", name=file.name)
        return
    if not file.parent.is_dir():
        raise DataError(f"{file} does not exist, nor does the folder {file.parent}.", name=file.name)
    present = [other.name for other in file.parent.iterdir() if other.is_file()]
    raise DataError(f"{file} does not exist.{nearest(file.name, present)}", name=file.name)


def _read(file: Path, ending: str) -> tuple[Any, tuple[str, ...]]:
    """Read a whole file as a pyarrow table; also returns remarks about it."""
    from isonomia.populations import datasets, json_lines, text_files

    try:
        if file.suffix.lower() in _COMPRESSED:
            _check_unpacked(file)
        if ending in _SEPARATORS:
            return text_files.read_separated(file, _SEPARATORS[ending])
        if ending in _JSON_LINES:
            return json_lines.read_json_lines(file), ()
        if ending == ".json":
            return json_lines.read_json(file), ()
        return datasets.read_parquet(file) if ending == ".parquet" else datasets.read_arrow(file), ()
    except DataError:
        raise
    except Exception as error:  # pyarrow raises several kinds of error for a bad file
        raise datasets.unreadable(file, error) from error


_HARMLESS, _RATIO = 1 << 26, 200
"""Bytes that any compressed file may unpack to, and how many times its own size a larger one may. Tables shrink to
about a tenth, those with few different rows to a hundredth; only identical rows shrink to a thousandth."""


def _check_unpacked(file: Path) -> None:
    """Refuse a compressed file that unpacks to far more than its size; it is unpacked up to the limit, in pieces."""
    from isonomia.populations.lines import open_bytes

    limit, unpacked = max(_HARMLESS, _RATIO * file.stat().st_size), 0
    with open_bytes(file) as stream:
        while part := stream.read(1 << 20):
            unpacked += len(part)
            if unpacked > limit:
                raise DataError(
                    f"{file} has {file.stat().st_size:,} bytes and unpacks to more than {limit:,}, more than "
                    "any real table. If it is one, unpack it yourself."
                )


def _named_table(file: Path, table: Any, remarks: tuple[str, ...]) -> Table:
    """Hold what was read as a table of the preferred library."""
    from isonomia.populations.frames import as_kind, ordinary_names, preferred_kind

    try:
        check_columns(table.schema.names, table.num_rows)
        held = Table.of(as_kind(table.select(list(ordinary_names(table.schema))), preferred_kind()))
        return replace(held, remarks=remarks)
    except DataError as error:
        raise DataError(f"{file}: {error}", name=error.name or file.name) from error


# ---------------------------------------------------------------------------- many files


def long_files(path: str) -> LongTable:
    """Make one table of all files in a folder, or of all that match a pattern, in the order of their paths.

    Folders inside it that are named ``key=value`` give a column ``key``, as Hive and Spark write them. Files and
    folders whose name begins with ``_`` or ``.`` are skipped, and so are files whose extension says that they hold no
    rows. No rows are skipped: if there are files of two formats, nothing is read.
    """
    base = Path(path) if Path(path).is_dir() else _fixed_part(path)
    try:
        return _read_as_it_goes(_files(path, base), base)
    except DataError as error:
        raise DataError(f"{path}: {error}", name=error.name, line=error.line) from error


def _read_as_it_goes(files: Sequence[Path], base: Path) -> LongTable:
    """Make one table of some files of one format; ``base`` is the folder below which ``key=value`` counts."""
    from isonomia.populations.datasets import typed_files
    from isonomia.populations.frames import preferred_kind
    from isonomia.populations.text_files import text_files

    ending = _ending(files[0])
    if ending in _TYPED:
        return typed_files(files, base, preferred_kind())
    return text_files(files, base, _SEPARATORS.get(ending), preferred_kind())


def _files(path: str, base: Path) -> list[Path]:
    paths = base.rglob("*") if Path(path).is_dir() else map(Path, glob(path, recursive=True))
    files = sorted(file for file in paths if file.is_file() and not _is_hidden(file, base))
    kinds = {_ending(file) for file in files} & {*_IN_FOLDERS, ".arrows", ".ipc"}
    readable = kinds & set(_IN_FOLDERS)
    if not readable:
        content = "is empty" if not files else f"has only {', '.join(file.name for file in files[:4])}"
        where = "it" if Path(path).is_dir() else "what the pattern fits"
        raise DataError(f"expected files that end in {', '.join(_IN_FOLDERS)}, but {where} {content}.")
    if len(kinds) > 1:
        raise DataError(
            f"expected files of one format, but there are {' and '.join(sorted(kinds))}. Name those that you mean, "
            f"such as {base / ('*' + min(readable, key=_IN_FOLDERS.index))}."
        )
    return [file for file in files if _ending(file) in kinds]


def files_in(folder: Path) -> list[Path]:
    """The files with rows in a folder and its subfolders, sorted by path; hidden ones are skipped."""
    files = sorted(file for file in folder.rglob("*") if file.is_file() and not _is_hidden(file, folder))
    return [file for file in files if _ending(file) in _IN_FOLDERS]


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
