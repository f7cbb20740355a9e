"""What the footers of Parquet files tell without reading a row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from isonomia.errors import DataError

__all__ = ["Footers", "read_footers"]


@dataclass(frozen=True, slots=True)
class Footers:
    """What the footers of all files say.

    Attributes
    ----------
    rows
        How many rows there are in all.
    gaps
        For each plain column whether a value is missing somewhere; ``None`` where a footer does not say.
    """

    rows: int
    gaps: Mapping[str, bool | None]


def read_footers(dataset: Any) -> Footers | None:
    """Read the footers of a dataset's files; ``None`` where it is not made of Parquet files.

    Raises
    ------
    DataError
        When one cannot be read; the message names the file.
    """
    import pyarrow.dataset as ds

    rows = 0
    missing: dict[str, int | None] = {}
    for fragment in dataset.get_fragments():
        if not isinstance(fragment, ds.ParquetFileFragment):
            return None
        metadata = _footer(fragment)
        rows += metadata.num_rows
        seen = _missing(metadata)
        absent = set(dataset.schema.names) - set(seen) - _partition_keys(fragment)
        for name, number in (*seen.items(), *((name, 1) for name in absent if metadata.num_rows)):
            before = missing.get(name, 0)
            missing[name] = None if before is None or number is None else before + number
    return Footers(rows, {name: None if number is None else number > 0 for name, number in missing.items()})


def _footer(fragment: Any) -> Any:
    try:
        return fragment.metadata
    except Exception as error:  # pyarrow has several kinds of error for a damaged file
        raise DataError(
            f"{fragment.path} cannot be read as Parquet: {type(error).__name__}: {str(error).strip()}. It may be cut "
            "short, or be no Parquet file: write it anew, or take it out of the folder."
        ) from error


def _missing(metadata: Any) -> dict[str, int | None]:
    """How many values of each plain column are missing in one file; ``None`` where its footer does not say."""
    found: dict[str, int | None] = {}
    for group in range(metadata.num_row_groups):
        part = metadata.row_group(group)
        for i in range(part.num_columns):
            column = part.column(i)
            told = column.statistics
            number = told.null_count if told is not None and told.has_null_count else None
            before = found.get(column.path_in_schema, 0)
            found[column.path_in_schema] = None if before is None or number is None else before + number
    return found


def _partition_keys(fragment: Any) -> set[str]:
    import pyarrow.dataset as ds

    return set(ds.get_partition_keys(fragment.partition_expression))
