"""Files that are written: a path that cannot be written is found before the work, and tables are CSV or Parquet."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from isonomia.errors import UsageError

__all__ = ["need_table", "need_writable", "write_file", "write_table"]


def need_writable(path: Path, what: str) -> None:
    """Make sure, before hours are spent, that a file can be written; whatever is there stays as it is.

    ``what`` is what it is for, such as ``--json``, for the message.
    """
    is_new = not path.exists()
    with writing(path, what):
        path.open("ab").close()
        if is_new:
            path.unlink()


def write_file(text: str, path: Path, what: str) -> None:
    """Write a text as UTF-8, the same on every system; half a character becomes a question mark."""
    with writing(path, what), path.open("w", encoding="utf-8", errors="replace", newline="\n") as file:
        file.write(text)


@contextmanager
def writing(path: Path, what: str) -> Iterator[None]:
    """Turn what the system says of a file that is being written into what a person can do."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or error
        raise UsageError(f"expected a file that can be written for {what}, but {path}: {reason}") from error


ENDINGS = (".csv", ".parquet")


def need_table(path: Path, what: str) -> None:
    """Make sure, before any work is done, that a table can be written to a file."""
    if path.suffix.lower() not in ENDINGS:
        raise UsageError(f"expected a file that ends in {' or '.join(ENDINGS)} for {what}, but {path} came")
    if path.suffix.lower() == ".parquet" and find_spec("pyarrow") is None:
        raise UsageError(f"expected pyarrow for {what} {path}, but it is not installed: install it, or write .csv")
    need_writable(path, what)


def write_table(columns: Mapping[str, Sequence[Any]], path: Path) -> None:
    """Write columns of equal length; what is missing is an empty cell."""
    with writing(path, "the table"):
        (_write_parquet if path.suffix.lower() == ".parquet" else _write_csv)(columns, path)


def _write_csv(columns: Mapping[str, Sequence[Any]], path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


def _write_parquet(columns: Mapping[str, Sequence[Any]], path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    # A column of several kinds of values has no type of its own: as texts, it has.
    kinds = {name: {type(value) for value in values if value is not None} for name, values in columns.items()}
    mixed = {name for name, types in kinds.items() if len(types) > 1 and not types <= {int, float}}
    plain = {
        name: [value if value is None or name not in mixed else str(value) for value in values]
        for name, values in columns.items()
    }
    pq.write_table(pa.table(plain), path)
