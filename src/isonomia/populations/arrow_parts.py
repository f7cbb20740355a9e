"""The record batches of a dataset of pyarrow, decoded one at a time when they are asked for.

pyarrow's own scanner decodes ahead of a slow reader, up to a gigabyte. Here nothing is decoded before it is wanted, so
that memory depends neither on the number of files nor on how slow the model is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from isonomia.errors import DataError
from isonomia.populations.long_table import AT_ONCE

__all__ = ["is_plain", "parts_of"]


def parts_of(dataset: Any, columns: Sequence[str], start: int = 0) -> Iterator[Any]:
    """Give the rows of a dataset from row ``start`` on, with these columns, in parts of at most ``AT_ONCE`` rows.

    A dataset that is not made of Parquet or Arrow files, or that filters its rows, is read by pyarrow's scanner.

    Raises
    ------
    DataError
        When a file cannot be read.
    """
    import pyarrow as pa

    try:
        if is_plain(dataset):
            yield from _pulled(dataset, columns, start)
        else:
            scanner = dataset.scanner(
                columns=list(columns), batch_size=AT_ONCE, batch_readahead=1, fragment_readahead=1
            )
            yield from _without(scanner.to_batches(), start)
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"the rows cannot be read: {type(error).__name__}: {str(error).strip()}") from error


def is_plain(dataset: Any) -> bool:
    """Whether a dataset is made of Parquet or Arrow files whose rows are all wanted, as they are."""
    import pyarrow.dataset as ds

    if not isinstance(dataset, ds.FileSystemDataset) or getattr(dataset, "_scan_options", None):
        return False
    return isinstance(dataset.format, ds.ParquetFileFormat | ds.IpcFileFormat)


def _pulled(dataset: Any, columns: Sequence[str], skip: int) -> Iterator[Any]:
    import pyarrow.dataset as ds

    for fragment in dataset.get_fragments():
        rows = fragment.count_rows()
        if rows <= skip:
            skip -= rows
            continue
        keys = ds.get_partition_keys(fragment.partition_expression)
        inside = [name for name in columns if name not in keys and name in fragment.physical_schema.names]
        for part in _without(_read(fragment, inside, rows), skip):
            yield _as_wanted(part, columns, dataset.schema, keys)
        skip = 0


def _read(fragment: Any, columns: Sequence[str], rows: int) -> Iterator[Any]:
    """Decode one file. The first rows of a Parquet file are decoded even where they are skipped."""
    import pyarrow as pa
    import pyarrow.dataset as ds
    import pyarrow.parquet as parquet

    if not columns:  # only what the names of folders tell is wanted
        for first in range(0, rows, AT_ONCE):
            yield pa.RecordBatch.from_arrays([pa.nulls(min(AT_ONCE, rows - first))], names=[""])
    elif isinstance(fragment, ds.ParquetFileFragment):
        with fragment.open() as opened, parquet.ParquetFile(opened, buffer_size=2**20, pre_buffer=False) as file:
            groups = [group.id for group in fragment.row_groups]
            yield from file.iter_batches(AT_ONCE, row_groups=groups, columns=list(columns))
    else:
        with fragment.open() as opened, pa.ipc.open_file(opened) as file:
            for number in range(file.num_record_batches):
                part = file.get_batch(number).select(list(columns))
                for first in range(0, part.num_rows, AT_ONCE):
                    yield part.slice(first, AT_ONCE)


def _without(parts: Iterator[Any], skip: int) -> Iterator[Any]:
    for part in parts:
        passed = min(skip, part.num_rows)
        skip -= passed
        if passed < part.num_rows:
            yield part.slice(passed)


def _as_wanted(part: Any, columns: Sequence[str], schema: Any, keys: dict[str, Any]) -> Any:
    """The columns in their order and types, with those that the names of folders tell."""
    import pyarrow as pa

    fields = [schema.field(name) for name in columns]
    arrays = []
    for field in fields:
        if field.name in keys:
            arrays.append(pa.repeat(pa.scalar(keys[field.name], field.type), part.num_rows))
        elif field.name not in part.schema.names:
            arrays.append(pa.nulls(part.num_rows, field.type))
        else:
            array = part.column(field.name)
            arrays.append(array if array.type == field.type else array.cast(field.type))
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields, metadata=schema.metadata))
