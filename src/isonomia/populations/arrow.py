"""Parquet and Arrow files, folders of them.

Parquet and Arrow files that are read as a whole.

The record batches of a dataset of pyarrow, decoded one at a time when they are asked for.

pyarrow's own scanner decodes ahead of a slow reader, up to a gigabyte. Here nothing is decoded before it is wanted, so
that memory depends neither on the number of files nor on how slow the model is.

What the footers of Parquet files tell without reading a row.

Datasets of pyarrow, Parquet files above all, read batch by batch.

The columns that all files of a folder have, and where one of them differs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from isonomia.errors import DataError, nearest
from isonomia.populations.frames import PandasForm, is_large, ordinary_names, whole_frame
from isonomia.populations.streaming import AT_ONCE, LongTable
from isonomia.populations.table import check_columns

__all__ = [
    "DatasetReader",
    "Footers",
    "common_schema",
    "is_plain",
    "long_dataset",
    "of_size",
    "parts_of",
    "preferred_kind",
    "read_arrow",
    "read_footers",
    "read_parquet",
]


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


@dataclass(frozen=True, slots=True, eq=False)
class DatasetReader:
    """A dataset of pyarrow.

    Attributes
    ----------
    dataset
        The dataset, its columns of one type each.
    names, rows, kind
        See :class:`TableReader`.
    form
        How batches become frames of pandas.
    files
        The files that it is made of; none where it is not made of local files.
    """

    dataset: Any
    names: tuple[str, ...]
    rows: int
    kind: str
    form: PandasForm
    files: tuple[Path, ...] = ()

    @property
    def stamp(self) -> object | None:
        """The sizes of the files and when they were written; ``None`` without files."""
        try:
            found = [file.stat() for file in self.files]
        except OSError as error:
            raise DataError(f"a file of the table is gone since it was opened: {error}. Open it anew.") from error
        return tuple((each.st_size, each.st_mtime_ns) for each in found) or None

    def order(self, name: str) -> tuple[str, ...]:
        """The order declared for a column of categories; empty where there is none."""
        kind = self.dataset.schema.field(name).type
        return tuple(self.form.categories.get(name, ())) if getattr(kind, "ordered", False) else ()

    def batches(self, columns: Sequence[str], size: int, start: int, *, plain: bool) -> Iterator[Any]:
        """Give these columns from row ``start`` on."""
        for table in of_size(parts_of(self.dataset, columns, start), size):
            yield table if plain or self.kind == "pyarrow" else self._as_kind(table)

    def _as_kind(self, table: Any) -> Any:
        if self.kind == "polars":
            import polars as pl

            return pl.from_arrow(table)
        return self.form.frame(table)


def long_dataset(dataset: Any, kind: str, files: Sequence[Path] = ()) -> LongTable:
    """Make a table of a dataset, which is then read as it goes.

    Parameters
    ----------
    dataset
        A dataset of pyarrow.
    kind
        Which library's tables the model is given: ``"pandas"``, ``"polars"`` or ``"pyarrow"``.
    files
        The local files that it is made of.

    Raises
    ------
    DataError
        When a file is damaged, or when there are no rows.
    """
    names = ordinary_names(dataset.schema)
    footers = read_footers(dataset) if is_plain(dataset) else None
    rows = footers.rows if footers is not None else dataset.count_rows()
    form = _form(dataset, footers, names) if kind == "pandas" else PandasForm()
    return LongTable(DatasetReader(dataset, names, rows, kind, form, tuple(files)))


def preferred_kind() -> str:
    """The library whose tables a file is handed to the model as: pandas where it is installed, then polars."""
    return next((kind for kind in ("pandas", "polars") if find_spec(kind) is not None), "pyarrow")


def of_size(batches: Iterable[Any], size: int, skip: int = 0) -> Iterator[Any]:
    """Join and cut record batches so that each table but the last has ``size`` rows; the first rows may be skipped."""
    import pyarrow as pa

    held: list[Any] = []
    have = 0
    for batch in batches:
        passed = min(skip, batch.num_rows)
        skip -= passed
        rest = batch.slice(passed)
        while have + rest.num_rows >= size:
            held.append(rest.slice(0, size - have))
            rest = rest.slice(size - have)
            yield pa.Table.from_batches(held)
            held, have = [], 0
        if rest.num_rows:
            held.append(rest)
            have += rest.num_rows
    if held:
        yield pa.Table.from_batches(held)


def _form(dataset: Any, footers: Footers | None, names: Sequence[str]) -> PandasForm:
    """Learn what pandas must know beforehand: from the files' footers, and by a pass over what they leave in doubt."""
    import pyarrow.types as types

    kinds = {name: dataset.schema.field(name).type for name in names}
    told = {} if footers is None else footers.gaps
    doubtful = [name for name, kind in kinds.items() if types.is_integer(kind) or types.is_boolean(kind)]
    open_to_doubt = [name for name in doubtful if name not in told or told[name] is not False]
    gaps, large = _gaps(dataset, open_to_doubt)
    coded = [name for name, kind in kinds.items() if types.is_dictionary(kind)]
    return PandasForm(gaps, large & gaps, {name: _categories(dataset, name) for name in coded})


def _gaps(dataset: Any, names: Sequence[str]) -> tuple[frozenset[str], frozenset[str]]:
    """The columns with a missing value somewhere, and those with large whole numbers."""
    gaps: set[str] = set()
    large: set[str] = set()
    for part in parts_of(dataset, names) if names else ():
        gaps.update(name for name in names if part.column(name).null_count)
        large.update(name for name in names if is_large(part.column(name)))
    return frozenset(gaps), frozenset(large)


def _categories(dataset: Any, name: str) -> tuple[Any, ...]:
    """All categories of a column, in the order in which they turn up, as when all batches are joined."""
    found: dict[Any, None] = {}
    for batch in parts_of(dataset, [name]):
        found.update(dict.fromkeys(batch.column(name).dictionary.to_pylist()))
    return tuple(found)


def common_schema(dataset: Any) -> Any:
    """The columns of a dataset, each with a type that has room for its type in every file.

    Whole numbers may differ in width, floats in width, text in how it is stored, and a column that is missing
    throughout a file has no type there. Anything else that differs is refused.

    Raises
    ------
    DataError
        With the file and the column, when a file lacks a column, has one more, or has one of another type.
    """
    import pyarrow as pa

    merged = {field.name: field for field in dataset.schema}
    inside: set[str] | None = None
    first = ""
    for fragment in dataset.get_fragments():
        schema, path = _schema(fragment), getattr(fragment, "path", "a part of the dataset")
        if inside is None:
            inside, first = set(schema.names), path
        _refuse_other_names(schema, inside, path, first)
        for field in schema:
            joined = _joined(merged[field.name].type, field.type)
            if joined is None:
                raise DataError(
                    f"expected one type for column {field.name!r}, but it is {merged[field.name].type} in {first} and "
                    f"{field.type} in {path}. Write the files with the same types."
                )
            merged[field.name] = merged[field.name].with_type(joined).with_nullable(True)
    return pa.schema([merged[field.name] for field in dataset.schema], metadata=dataset.schema.metadata)


def _schema(fragment: Any) -> Any:
    try:
        return fragment.physical_schema
    except Exception as error:  # pyarrow has several kinds of error for a damaged file
        raise DataError(
            f"{fragment.path} cannot be read: {type(error).__name__}: {str(error).strip()}. It may be cut short, or be "
            "of another format: write it anew, or take it out of the folder."
        ) from error


def _refuse_other_names(schema: Any, known: set[str], path: str, first: str) -> None:
    for name in sorted(known - set(schema.names)):
        hint = nearest(name, set(schema.names) - known)
        raise DataError(f"expected the same columns in every file, but {path} lacks {name!r}, which {first} has.{hint}")
    for name in sorted(set(schema.names) - known):
        hint = nearest(name, known - set(schema.names))
        raise DataError(f"expected the same columns in every file, but {path} has {name!r}, which {first} lacks.{hint}")


def _joined(one: Any, other: Any) -> Any | None:
    """A type with room for two; ``None`` where they are of different kinds."""
    import pyarrow as pa
    import pyarrow.types as types

    if one == other or types.is_null(other):
        return one
    if types.is_null(one):
        return other
    if types.is_dictionary(one) and types.is_dictionary(other):
        values = _joined(one.value_type, other.value_type)
        return None if values is None else pa.dictionary(pa.int32(), values, one.ordered and other.ordered)
    alike: tuple[tuple[Callable[[Any], bool], Any], ...] = (
        (types.is_signed_integer, pa.int64()),
        (types.is_unsigned_integer, pa.uint64()),
        (types.is_integer, pa.int64()),
        (types.is_floating, pa.float64()),
        (_is_text, pa.large_string()),
    )
    return next((wide for test, wide in alike if test(one) and test(other)), None)


def _is_text(kind: Any) -> bool:
    import pyarrow.types as types

    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))
