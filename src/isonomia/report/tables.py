"""Tables as files that a spreadsheet or a data-frame library reads."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from isonomia.errors import UsageError
from isonomia.report.files import need_writable, writing

__all__ = ["need_table", "write_table"]

ENDINGS = (".csv", ".parquet")


def need_table(path: Path, what: str) -> None:
    """Make sure, before any work is done, that a table can be written to a file.

    Parameters
    ----------
    path
        The file.
    what
        What asks for it, such as ``--points``, for the message.

    Raises
    ------
    UsageError
        Where its ending is none of those that are known, no library writes it, or the place cannot be written to.
    """
    if path.suffix.lower() not in ENDINGS:
        raise UsageError(f"expected a file that ends in {' or '.join(ENDINGS)} for {what}, but {path} came")
    if path.suffix.lower() == ".parquet" and find_spec("pyarrow") is None:
        raise UsageError(f"expected pyarrow for {what} {path}, but it is not installed: install it, or write .csv")
    need_writable(path, what)


def write_table(columns: Mapping[str, Sequence[Any]], path: Path) -> None:
    """Write columns of equal length; what is missing is an empty cell.

    Raises
    ------
    UsageError
        Where the file cannot be written.
    """
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
    mixed = {name for name, found in kinds.items() if len(found) > 1 and not found <= {int, float}}
    plain = {
        name: [value if value is None or name not in mixed else str(value) for value in values]
        for name, values in columns.items()
    }
    pq.write_table(pa.table(plain), path)
