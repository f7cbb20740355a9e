"""Parquet and Arrow files that are read as a whole."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from isonomia.errors import DataError
from isonomia.populations.arrow_frames import ordinary_names, whole_frame
from isonomia.populations.table import check_columns

__all__ = ["read_arrow", "read_parquet"]


def read_parquet(file: Path) -> Any:
    """Read a Parquet file as a frame of pandas, or else of polars, or else as a table of pyarrow."""
    if _is_for_polars():
        import polars as pl

        return _without_labels(pl.read_parquet(file, hive_partitioning=False))
    if find_spec("pyarrow") is None:
        raise _no_reader("parquet")
    import pyarrow.parquet as parquet

    with parquet.ParquetFile(file) as opened:
        return _as_frame(opened.read())


def read_arrow(file: Path) -> Any:
    """Read an Arrow file, of random access or a stream, in the same way."""
    stream = _is_stream(file)
    if _is_for_polars():
        import polars as pl

        return _without_labels(pl.read_ipc_stream(file) if stream else pl.read_ipc(file))
    if find_spec("pyarrow") is None:
        raise _no_reader("arrow")
    import pyarrow as pa

    with pa.OSFile(str(file)) as opened:
        reader = pa.ipc.open_stream(opened) if stream else pa.ipc.open_file(opened)
        return _as_frame(reader.read_all())


def _is_for_polars() -> bool:
    without_pandas = find_spec("pandas") is None or find_spec("pyarrow") is None
    return without_pandas and find_spec("polars") is not None


def _is_stream(file: Path) -> bool:
    with file.open("rb") as opened:
        return opened.read(6) != b"ARROW1"


def _without_labels(frame: Any) -> Any:
    import polars as pl

    return frame.select(pl.exclude(r"^__index_level_\d+__$"))


def _as_frame(table: Any) -> Any:
    check_columns(table.schema.names, table.num_rows)
    chosen = table.select(list(ordinary_names(table.schema)))
    return chosen if find_spec("pandas") is None else whole_frame(chosen)


def _no_reader(format_name: str) -> DataError:
    return DataError(
        f"reading {format_name} files needs pyarrow or polars, and neither is installed. "
        "Install one: pip install 'isonomia[arrow]' or pip install 'isonomia[polars]'."
    )
