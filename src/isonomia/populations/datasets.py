"""Parquet and Arrow files through pyarrow, one file or a folder of them, decoded only when their rows are needed.

pyarrow's own scanner decodes ahead of a slow reader, up to a gigabyte. Here nothing is decoded before it is needed, so
memory use depends neither on the number of files nor on how slow the model is.

pandas turns whole numbers with missing values into floats and truth values with missing ones into objects. For every
batch to have the same column types, it must be known before the first one which columns have missing values somewhere:
:class:`PandasForm`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from glob import has_magic
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as parquet
from pyarrow import types

from isonomia.errors import DataError, nearest
from isonomia.populations.frames import PandasForm, as_kind, is_large, ordinary_names
from isonomia.populations.streaming import AT_ONCE, LongTable, database, lazy_frame, of_size, quoted

if TYPE_CHECKING:
    import narwhals as nw

_READ_AHEAD = {"batch_readahead": 1, "fragment_readahead": 1}


_HARMLESS, _RATIO = 2**30, 200
"""Bytes that any Parquet file may unpack to, and how many times its own size a larger one may. Tables shrink to about a
tenth; only one whose rows are nearly all the same shrinks to a thousandth."""


def read_parquet(file: Path) -> pa.Table:
    """Read a whole Parquet file, unless it unpacks to far more than its size."""
    with parquet.ParquetFile(file) as opened:
        rows, size = opened.metadata.num_rows, file.stat().st_size
        if 8 * rows * opened.metadata.num_columns > max(_HARMLESS, _RATIO * size):
            raise DataError(
                f"{file} has {size:,} bytes and {rows:,} rows, more than any real table. If it is one, write "
                "it in several files and name their folder."
            )
        return opened.read()


def read_arrow(file: Path) -> pa.Table:
    """Read a whole Arrow file, in the random access or the streaming format."""
    with pa.OSFile(str(file)) as opened:
        is_stream = opened.read(6) != b"ARROW1"
        opened.seek(0)
        reader = pa.ipc.open_stream(opened) if is_stream else pa.ipc.open_file(opened)
        table = reader.read_all()
    table.validate(full=True)  # offsets are not checked before, and could point anywhere in memory
    return table


@dataclass(frozen=True, slots=True, eq=False)
class _DatasetReader:
    """A dataset of pyarrow, its columns of one type each, as a :class:`TableReader`."""

    dataset: Any
    names: tuple[str, ...]
    rows: int
    kind: str
    files: tuple[Path, ...] = ()  # empty if it is not made of local files
    known: list[PandasForm] = field(default_factory=list)  # learned once, when rows are read

    @property
    def form(self) -> PandasForm:
        if not self.known:
            with _as_data_error():
                self.known.append(_pandas_form(self.dataset, self.names) if self.kind == "pandas" else PandasForm())
        return self.known[0]

    @property
    def stamp(self) -> object | None:
        return stamp_of(self.files)

    def order(self, name: str) -> tuple[str, ...]:
        kind = self.dataset.schema.field(name).type
        return tuple(self.form.categories.get(name, ())) if types.is_dictionary(kind) and kind.ordered else ()

    def starts(self) -> Iterator[int]:
        """The rows at which reading can start: the first rows of Parquet row groups, or of files."""
        row = 0
        with _as_data_error():
            for fragment in self.dataset.get_fragments():
                for rows in _group_sizes(fragment):
                    yield row
                    row += rows

    def batches(self, columns: Sequence[str], size: int, start: int, *, plain: bool) -> Iterator[Any]:
        for table in of_size(_parts(self.dataset, columns, start), size):
            yield table if plain else as_kind(table, self.kind, self.form)

    def frame(self, columns: Sequence[str]) -> nw.LazyFrame[Any]:  # noqa: ARG002
        with _as_data_error():
            table = _in_duckdb(self.dataset, self.names, self.files)
        return lazy_frame(table.project(", ".join(map(quoted, self.names))))


def long_dataset(dataset: Any, kind: str, files: Sequence[Path] = ()) -> LongTable:
    """Make a table of a dataset, which is then read batch by batch.

    The model is given tables of the library ``kind``; ``files`` are the local files that the dataset is made of.
    """
    names = ordinary_names(dataset.schema)
    with _as_data_error():
        rows = dataset.count_rows()
    return LongTable(_DatasetReader(dataset, names, rows, kind, tuple(files)))


def typed_files(files: Sequence[Path], base: Path, kind: str) -> LongTable:
    """Make one table of Parquet or Arrow files; below the folder ``base``, folders ``key=value`` give a column."""
    try:
        dataset = ds.dataset(
            [str(file) for file in files],
            format="parquet" if files[0].suffix.lower() == ".parquet" else "ipc",
            partitioning=ds.partitioning(flavor="hive"),
            partition_base_dir=str(base),
        )
    except Exception as error:  # pyarrow raises several kinds of error for a damaged file
        if "duplicate field names" in str(error):
            raise DataError(f"{files[0]} has two columns with one name. Rename or drop one of them.") from error
        raise _damaged(files[0], f" as {files[0].suffix}", error) from error
    fragments, schema = list(dataset.get_fragments()), _common_schema(dataset)
    return long_dataset(ds.FileSystemDataset(fragments, schema, dataset.format, dataset.filesystem), kind, files)


def unreadable(file: Path, error: Exception) -> DataError:
    """The error for a file that pyarrow cannot read."""
    ending = "".join(file.suffixes[-2:]) if file.suffix.lower() in {".gz", ".bz2", ".zst"} else file.suffix
    return DataError(
        f"{file} cannot be read as {ending}: {type(error).__name__}: {error}. "
        "Check that its content matches its ending.",
        name=file.name,
    )


def stamp_of(files: Sequence[Path]) -> object | None:
    """A value that changes whenever one of the files does; ``None`` without files."""
    try:
        stats = [file.stat() for file in files]
    except OSError as error:
        raise DataError(f"a file of the table is gone since it was opened: {error}. Open it again.") from error
    return tuple((stat.st_size, stat.st_mtime_ns) for stat in stats) or None


# ---------------------------------------------------------------------------- the rows


def _parts(dataset: Any, columns: Sequence[str], start: int = 0) -> Iterator[Any]:
    """The rows of a dataset from row ``start`` on, as record batches of at most ``AT_ONCE`` rows.

    A dataset that is not made of Parquet or Arrow files, or that filters its rows, is read by pyarrow's scanner.
    """
    with _as_data_error():
        if _is_plain(dataset):
            yield from _pulled(dataset, columns, start)
        else:
            scanner = dataset.scanner(columns=list(columns), batch_size=AT_ONCE, **_READ_AHEAD)
            yield from _skipped(scanner.to_batches(), start)


@contextmanager
def _as_data_error() -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"the rows cannot be read: {type(error).__name__}: {str(error).strip()}") from error


def _is_plain(dataset: Any) -> bool:
    """Whether a dataset is made of Parquet or Arrow files and does not filter their rows."""
    if not isinstance(dataset, ds.FileSystemDataset) or getattr(dataset, "_scan_options", None):
        return False
    return isinstance(dataset.format, ds.ParquetFileFormat | ds.IpcFileFormat)


def _pulled(dataset: Any, columns: Sequence[str], skip: int) -> Iterator[Any]:
    for fragment in dataset.get_fragments():
        rows = fragment.count_rows()
        if rows <= skip:
            skip -= rows
            continue
        keys = ds.get_partition_keys(fragment.partition_expression)
        inside = [name for name in columns if name not in keys and name in fragment.physical_schema.names]
        first, passed = _first_group(fragment, skip) if inside else (0, 0)
        for part in _skipped(_decoded(fragment, inside, rows, first), skip - passed):
            yield _as_wanted(part, columns, dataset.schema, keys)
        skip = 0


def _group_sizes(fragment: Any) -> list[int]:
    """How many rows each row group of a Parquet file has; any other file counts as one group."""
    if isinstance(fragment, ds.ParquetFileFragment):
        return [group.num_rows for group in fragment.row_groups]
    return [fragment.count_rows()]


def _first_group(fragment: Any, skip: int) -> tuple[int, int]:
    """The index of the row group that contains row ``skip``, and how many rows come before the group."""
    passed = 0
    for place, rows in enumerate(_group_sizes(fragment) if isinstance(fragment, ds.ParquetFileFragment) else ()):
        if passed + rows > skip:
            return place, passed
        passed += rows
    return 0, 0


def _decoded(fragment: Any, columns: Sequence[str], rows: int, first_group: int = 0) -> Iterator[Any]:
    """Decode one file, for Parquet from a row group on; rows at its start are decoded even if they are then skipped."""
    if not columns:  # only columns from the names of folders are requested
        for first in range(0, rows, AT_ONCE):
            yield pa.RecordBatch.from_arrays([pa.nulls(min(AT_ONCE, rows - first))], names=[""])
    elif isinstance(fragment, ds.ParquetFileFragment):
        with fragment.open() as opened, parquet.ParquetFile(opened, buffer_size=2**20, pre_buffer=False) as file:
            groups = [group.id for group in fragment.row_groups[first_group:]]
            yield from file.iter_batches(AT_ONCE, row_groups=groups, columns=list(columns))
    else:
        with fragment.open() as opened, pa.ipc.open_file(opened) as file:
            for number in range(file.num_record_batches):
                part = file.get_batch(number).select(list(columns))
                part.validate(full=True)  # as in read_arrow
                for first in range(0, part.num_rows, AT_ONCE):
                    yield part.slice(first, AT_ONCE)


def _skipped(parts: Iterable[Any], skip: int) -> Iterator[Any]:
    for part in parts:
        passed = min(skip, part.num_rows)
        skip -= passed
        if passed < part.num_rows:
            yield part.slice(passed)


def _as_wanted(part: Any, columns: Sequence[str], schema: Any, keys: Mapping[str, Any]) -> Any:
    """The columns in their order and types, with those from the names of folders."""
    fields = [schema.field(name) for name in columns]
    arrays = []
    for wanted in fields:
        if wanted.name in keys:
            arrays.append(pa.repeat(pa.scalar(keys[wanted.name], wanted.type), part.num_rows))
        elif wanted.name not in part.schema.names:
            arrays.append(pa.nulls(part.num_rows, wanted.type))
        else:
            array = part.column(wanted.name)
            arrays.append(array if array.type == wanted.type else array.cast(wanted.type))
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields, metadata=schema.metadata))


def _in_duckdb(dataset: Any, names: Sequence[str], files: Sequence[Path]) -> Any:
    """The rows as a relation of DuckDB, which reads Parquet files itself where it finds the same columns in them.

    pyarrow reads the others for it: files whose path DuckDB would take for a pattern, columns from the names of
    folders, and types that Parquet cannot express, such as durations.
    """
    connection = database()
    schema = pa.schema([_decoded_field(dataset.schema.field(name)) for name in names])
    parts = [fragment.partition_expression for fragment in dataset.get_fragments()] if files else []
    alone = isinstance(dataset.format, ds.ParquetFileFormat) if files else False
    if not alone or any(map(ds.get_partition_keys, parts)) or any(has_magic(str(file)) for file in files):
        return connection.from_arrow(dataset)
    relation = connection.read_parquet([str(file) for file in files], union_by_name=True, hive_partitioning=False)
    kinds = dict(zip(relation.columns, relation.types, strict=True))
    wanted = connection.from_arrow(schema.empty_table()).types
    if "INTERVAL" in map(str, wanted):
        return connection.from_arrow(dataset)
    casts = {name: kind for name, kind in zip(names, wanted, strict=True) if kinds[name] != kind}
    return relation.project(
        ", ".join(
            f"CAST({quoted(name)} AS {casts[name]}) AS {quoted(name)}" if name in casts else quoted(name)
            for name in names
        )
    )


def _decoded_field(column: Any) -> Any:
    """A column of categories as one of their values."""
    return column.with_type(column.type.value_type) if types.is_dictionary(column.type) else column


# ---------------------------------------------------------------------------- one schema for all files


def _common_schema(dataset: Any) -> Any:
    """The columns of a dataset, each with a type that has room for its type in every file.

    Whole numbers and floats may differ in width, text in how it is stored, and a column whose values are all missing in
    a file has no type there. Any other difference is refused.
    """
    merged = {field.name: field for field in dataset.schema}
    first: Any = None
    for fragment in dataset.get_fragments():
        schema = _physical_schema(fragment)
        first = first or (set(schema.names), fragment.path)
        refuse_other_columns(schema.names, fragment.path, *first)
        for column in schema:
            kind = _common_type(merged[column.name].type, column.type)
            if kind is None:
                raise DataError(
                    f"expected one type for column {column.name!r}, but it is {merged[column.name].type} in {first[1]} "
                    f"and {column.type} in {fragment.path}. Write the files with the same types.",
                    name=column.name,
                )
            merged[column.name] = merged[column.name].with_type(kind).with_nullable(True)
    return pa.schema([merged[column.name] for column in dataset.schema], metadata=dataset.schema.metadata)


def _physical_schema(fragment: Any) -> Any:
    try:
        return fragment.physical_schema
    except Exception as error:  # pyarrow has several kinds of error for a damaged file
        raise _damaged(Path(fragment.path), "", error) from error


def _damaged(file: Path, kind: str, error: Exception) -> DataError:
    return DataError(
        f"{file} cannot be read{kind}: {type(error).__name__}: {str(error).strip()}. It may be cut short, or be of "
        "another format: write it again, or take it out of the folder.",
        name=file.name,
    )


def refuse_other_columns(names: Sequence[str], path: object, expected: set[str], first: object) -> None:
    """Refuse a file whose columns are not those of the first file."""
    for name in sorted(expected - set(names)):
        hint = nearest(name, set(names) - expected)
        raise DataError(
            f"expected the same columns in every file, but {path} lacks {name!r}, which {first} has.{hint}", name=name
        )
    for name in sorted(set(names) - expected):
        hint = nearest(name, expected - set(names))
        raise DataError(
            f"expected the same columns in every file, but {path} has {name!r}, which {first} lacks.{hint}", name=name
        )


def _common_type(one: Any, other: Any) -> Any | None:
    """A type with room for both; ``None`` if they are of different kinds."""
    if one == other or types.is_null(other):
        return one
    if types.is_null(one):
        return other
    if types.is_dictionary(one) and types.is_dictionary(other):
        values = _common_type(one.value_type, other.value_type)
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
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


# ---------------------------------------------------------------------------- what pandas must know beforehand


def _pandas_form(dataset: Any, names: Sequence[str]) -> PandasForm:
    """Learn what pandas must know beforehand. No row is read if the statistics of Parquet files suffice."""
    kinds = {name: dataset.schema.field(name).type for name in names}
    whole = [name for name, kind in kinds.items() if types.is_integer(kind) or types.is_boolean(kind)]
    gaps = frozenset(name for name in whole if dataset.count_rows(filter=ds.field(name).is_null(), **_READ_AHEAD))
    large = frozenset(name for name in gaps if any(is_large(part.column(name)) for part in _parts(dataset, [name])))
    coded = [name for name, kind in kinds.items() if types.is_dictionary(kind)]
    return PandasForm(gaps, large, {name: _categories(dataset, name) for name in coded})


def _categories(dataset: Any, name: str) -> tuple[Any, ...]:
    """All categories of a column, in the order of their first occurrence, as if all batches were joined."""
    categories: dict[Any, None] = {}
    for batch in _parts(dataset, [name]):
        categories.update(dict.fromkeys(batch.column(name).dictionary.to_pylist()))
    return tuple(categories)
