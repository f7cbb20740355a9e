"""Every violation that a check found, stored by columns: few in memory, many in a temporary file.

A violation is a row. Its columns have paths, such as ``("inputs", "x1", "age")``, from which both forms are made: the
row as nested values, like a counterexample, and the flat table with columns such as ``x1.age``. Rows are added and read
in chunks of columns, so that neither storing nor exporting takes more memory than one chunk.
"""

from __future__ import annotations

import json
import threading
import weakref
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from tempfile import TemporaryFile
from typing import IO, Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import RecordError
from isonomia.records.frame import frame_library
from isonomia.wording import shortened

Path: TypeAlias = tuple[str, ...]
"""Where a value is in a violation."""

Columns: TypeAlias = Mapping[Path, NDArray[Any]]
"""A chunk of violations."""

CHUNK = 2**13
"""Rows that are joined into one chunk; larger chunks save little and cost memory."""

IN_MEMORY = 2**23
"""About how many bytes of chunks are kept in memory; further ones go to a temporary file."""

LONGEST = 4000
"""The most characters of an object that is kept as its ``repr``."""


@dataclass(eq=False)
class ViolationSet:
    """The distinct violations of a check, in the order in which they were found.

    Iterating gives each as a mapping, like a counterexample; the same set can be iterated over many times.

    Attributes
    ----------
    more
        Whether there were more than were kept.
    """

    more: bool = False
    _chunks: list[Callable[[], Columns]] = field(default_factory=list, repr=False)
    _waiting: list[Columns] = field(default_factory=list, repr=False)
    _waiting_rows: int = field(default=0, repr=False)
    _rows: int = 0
    _bytes: int = field(default=0, repr=False)
    _kinds: dict[Path, str] = field(default_factory=dict, repr=False)
    _file: IO[bytes] | None = field(default=None, repr=False)
    _source: Callable[[], Iterable[Columns]] | None = field(default=None, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @classmethod
    def of_rows(cls, rows: Iterable[Mapping[str, Any]]) -> ViolationSet:
        """Violations given as nested values, such as counterexamples."""
        result, items = cls(), [_flattened(row) for row in rows]
        paths = dict.fromkeys(path for item in items for path in item)
        if paths:
            result.add({path: _column([item.get(path) for item in items]) for path in paths})
        return result

    @classmethod
    def later(cls, source: Callable[[], Iterable[Columns]]) -> ViolationSet:
        """Violations that are computed when first needed, one chunk after the other."""
        return cls(_source=source)

    def _look(self) -> None:
        if self._source is not None:
            source, self._source = self._source, None
            for columns in source():
                self.add(columns)

    @classmethod
    def of_packed(cls, chunks: Sequence[Callable[[], bytes]], *, more: bool) -> ViolationSet:
        """Violations from a store; each chunk is read again when it is needed."""
        result = cls(more=more)
        for read in chunks:
            columns = unpack_columns(read())
            result._note(columns)
            result._chunks.append(lambda read=read: unpack_columns(read()))  # type: ignore[misc]
        return result

    def __len__(self) -> int:
        self._look()
        return self._rows

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for columns in self.chunks():
            paths = list(columns)
            for values in zip(*(column.tolist() for column in columns.values()), strict=True):
                yield _nested(paths, values)

    def add(self, columns: Columns) -> None:
        """Add violations, a column of plain values for each path."""
        plain = {path: _plain(column) for path, column in columns.items()}
        rows = self._note(plain)
        for start in range(0, rows, CHUNK):
            part = {path: column[start : start + CHUNK] for path, column in plain.items()}
            self._waiting.append(part)
            self._waiting_rows += min(CHUNK, rows - start)
            if self._waiting_rows >= CHUNK:
                self._settle()

    def chunks(self) -> Iterator[Columns]:
        """The violations, a chunk of columns at a time."""
        self._look()
        for read in list(self._chunks):
            yield read()
        if self._waiting:
            yield joined_columns(self._waiting)

    def packed(self) -> Iterator[bytes]:
        """The chunks as bytes for a store, which :meth:`of_packed` reads."""
        for columns in self.chunks():
            yield zlib.compress(pack_columns(columns), 1)

    def _note(self, columns: Columns) -> int:
        rows = len(next(iter(columns.values()))) if columns else 0
        self._rows += rows
        for path, column in columns.items():
            kind = _kind(column)
            self._kinds[path] = kind if self._kinds.get(path, kind) == kind else _wider(self._kinds[path], kind)
        return rows

    def _settle(self) -> None:
        """Join the waiting rows into one chunk, in memory or in the file."""
        columns = joined_columns(self._waiting)
        self._waiting, self._waiting_rows = [], 0
        self._bytes += sum(map(_size, columns.values()))
        if self._bytes <= IN_MEMORY:
            self._chunks.append(lambda: columns)
            return
        data = pack_columns(columns)
        with self._lock:
            if self._file is None:
                self._file = TemporaryFile(prefix="isonomia-violations-")  # noqa: SIM115  (open as long as the set)
                weakref.finalize(self, self._file.close)
            start = self._file.seek(0, 2)
            size = self._file.write(data)
        self._chunks.append(lambda: unpack_columns(self._read(start, size)))

    def _read(self, start: int, size: int) -> bytes:
        assert self._file is not None
        with self._lock:
            self._file.seek(start)
            return self._file.read(size)

    def __copy__(self) -> ViolationSet:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> ViolationSet:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        if self._source is not None:  # not computed yet, and impossible where it is unpickled: as if none were kept
            return type(None), ()
        return _unpickled, (list(self.packed()), self.more)

    # ------------------------------------------------------------------------------------------------------ flat tables

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of the flat table."""
        return tuple(self._names().values())

    def _names(self) -> dict[Path, str]:
        self._look()
        names: dict[Path, str] = {}
        for path in self._kinds:
            name = _flat_name(path)
            while name in names.values():
                name += "_"
            names[path] = name
        return names

    def to_frame(self, library: str | None = None) -> Any:
        """The flat table, with one row for each violation, as a frame of a library.

        Parameters
        ----------
        library
            ``"pandas"``, ``"polars"`` or ``"pyarrow"``; by default the first of them that is installed.
        """
        import pyarrow as pa

        name, module = frame_library(library)
        table = pa.Table.from_batches(self.batches(), schema=self.schema())
        match name:
            case "pandas":
                return table.to_pandas()
            case "polars":
                return module.from_arrow(table)
            case _:
                return table

    def batches(self) -> Iterator[Any]:
        """The flat table as pyarrow record batches, each small enough for memory."""
        import pyarrow as pa

        names, schema = self._names(), self.schema()
        for columns in self.chunks():
            rows = len(next(iter(columns.values())))
            arrays = [_arrow(columns.get(path), self._kinds[path], rows) for path in names]
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)

    def json_lines(self) -> Iterator[str]:
        """The flat table as JSON lines, many at a time."""
        names = self._names()
        keys = ", ".join(f"{json.dumps(name).replace('%', '%%')}: %s" for name in names.values())
        line = f"{{{keys}}}\n"
        for columns in self.chunks():
            rows = len(next(iter(columns.values())))
            written = [_as_json(columns[path]) if path in columns else ["null"] * rows for path in names]
            yield "".join(map(line.__mod__, zip(*written, strict=True)))

    def schema(self) -> Any:
        """The pyarrow schema of the flat table."""
        import pyarrow as pa

        types = {"truth": pa.bool_(), "whole": pa.int64(), "real": pa.float64()}
        names = self._names()
        return pa.schema([(names[path], types.get(self._kinds[path], pa.string())) for path in names])


@runtime_checkable
class KeepsViolations(Protocol):
    """Keeps the violations of one check, like the journal of a store."""

    def keep_violations(self, violations: ViolationSet) -> None:
        """Keep them, a chunk at a time, replacing any that were kept before."""
        ...

    def violations(self) -> ViolationSet | None:
        """Those that were kept; ``None`` if nothing was."""
        ...


def _unpickled(chunks: list[bytes], more: bool) -> ViolationSet:
    return ViolationSet.of_packed([lambda data=data: data for data in chunks], more=more)  # type: ignore[misc]


def storable(value: Any) -> Any:
    """A value as JSON can hold it: itself if possible, a list for an array, ``None`` for NaN, else its ``repr``."""
    if value is None or type(value) in {str, int, bool}:
        return value
    if isinstance(value, float):
        return value if isfinite(value) else None if value != value else repr(value)
    if isinstance(value, np.generic | np.ndarray):
        return storable(value.tolist())
    try:
        if json.loads(json.dumps(value, allow_nan=False)) == (list(value) if isinstance(value, tuple) else value):
            return value
    except (TypeError, ValueError, RecursionError):
        pass
    if isinstance(value, list | tuple):
        return [storable(item) for item in value]
    return shortened(repr(value), LONGEST)


def pack_columns(columns: Columns) -> bytes:
    """Columns as bytes: a line of JSON that describes what follows, and the data."""
    parts: list[bytes] = []
    head: list[Any] = []
    for path, column in columns.items():
        kind, values, data = _encoded(column)
        head.append([list(path), kind, values, len(data)])
        parts.append(data)
    rows = len(next(iter(columns.values()))) if columns else 0
    return b"".join([json.dumps([rows, head], allow_nan=False).encode(), b"\n", *parts])


def unpack_columns(data: bytes) -> Columns:
    """The columns that were packed; compressed or not."""
    try:
        data = data if data[:1] == b"[" else zlib.decompress(data)
        first, _, rest = data.partition(b"\n")
        rows, head = json.loads(first)
        columns: dict[Path, NDArray[Any]] = {}
        start = 0
        for path, kind, values, size in head:
            columns[tuple(path)] = _decoded(kind, values, rest[start : start + size], rows)
            start += size
    except (ValueError, TypeError, zlib.error) as error:
        raise RecordError(f"expected stored violations, but what is there is damaged: {error}") from error
    return columns


def joined_columns(parts: Sequence[Columns]) -> Columns:
    """Several chunks as one; a column that a chunk lacks is missing in its rows."""
    if len(parts) == 1:
        return parts[0]
    paths = dict.fromkeys(path for part in parts for path in part)
    sizes = [len(next(iter(part.values()))) for part in parts]
    return {
        path: _concatenated(
            [part[path] if path in part else _column([None] * size) for part, size in zip(parts, sizes, strict=True)]
        )
        for path in paths
    }


def _concatenated(columns: Sequence[NDArray[Any]]) -> NDArray[Any]:
    if len({column.dtype.kind for column in columns}) > 1:
        return _plain(_column([value for column in columns for value in column.tolist()]))
    return np.concatenate(columns)


def _column(values: Sequence[Any]) -> NDArray[Any]:
    column = np.empty(len(values), dtype=object)
    column[:] = [storable(value) for value in values] if values else []
    return column


def _plain(column: NDArray[Any]) -> NDArray[Any]:
    """A column of numbers or truth values as it is, any other converted to values that JSON can hold."""
    if column.dtype.kind in "bf" or (column.dtype.kind in "iu" and column.dtype != np.uint64):
        return column.astype({"b": np.bool_, "f": np.float64}.get(column.dtype.kind, np.int64), copy=False)
    if column.dtype.kind in "mM":
        column = column.astype(str).astype(object)
    made = np.empty(len(column), dtype=object)
    for index, value in enumerate(column.tolist()):
        made[index] = storable(value)
    return made


def _kind(column: NDArray[Any]) -> str:
    match column.dtype.kind:
        case "b":
            return "truth"
        case "i":
            return "whole"
        case "f":
            return "real"
        case _:
            pass
    kinds = {type(value) for value in column.tolist()} - {type(None)}
    if not kinds:
        return "nothing"
    if kinds == {str}:
        return "text"
    if kinds <= {int, float}:
        return "real" if float in kinds else "whole"
    return "truth" if kinds == {bool} else "anything"


def _wider(one: str, other: str) -> str:
    if "nothing" in (one, other):
        return other if one == "nothing" else one
    return "real" if {one, other} == {"whole", "real"} else "anything"


def _size(column: NDArray[Any]) -> int:
    """About how many bytes a column has; for texts, estimated from some of them."""
    if column.dtype != object:
        return int(column.nbytes)
    some = column[:: max(1, len(column) // 32)].tolist()
    longest = sum(len(str(value)) for value in some) / max(1, len(some))
    return int(len(column) * (16 + longest))


_SMALL = 256
"""A column with at most this many different texts is stored as codes."""


def _encoded(column: NDArray[Any]) -> tuple[str, list[Any] | None, bytes]:
    if column.dtype != object:
        return column.dtype.str, None, column.tobytes()
    values = column.tolist()
    different = list(dict.fromkeys(values)) if all(value is None or type(value) is str for value in values) else values
    if len(different) > _SMALL or different is values:
        return "json", None, json.dumps(values, allow_nan=False).encode()
    numbers = {value: number for number, value in enumerate(different)}
    codes = np.fromiter((numbers[value] for value in values), dtype=np.uint8, count=len(values))
    return "coded", different, codes.tobytes()


def _decoded(kind: str, values: list[Any] | None, data: bytes, rows: int) -> NDArray[Any]:
    if kind == "json":
        column = np.empty(rows, dtype=object)
        for index, value in enumerate(json.loads(data)):
            column[index] = value
        return column
    if values is not None:
        return np.fromiter(values, dtype=object, count=len(values))[np.frombuffer(data, dtype=np.uint8)]
    return np.frombuffer(data, dtype=np.dtype(kind), count=rows)


# ------------------------------------------------------------------------------------------------------ nested and flat


def _nested(paths: Sequence[Path], values: Sequence[Any]) -> dict[str, Any]:
    """One violation as nested values.

    New values of features, under ``after``, become differences from the first input, where they differ.
    """
    row: dict[str, Any] = {}
    for path, value in zip(paths, values, strict=True):
        here = row
        for step in path[:-1]:
            here = here.setdefault(step, {})
        here[path[-1]] = None if value != value else value
    if "choices" in row:
        row["choices"] = list(row["choices"].values())
    if "after" in row:
        first = next(iter(row["inputs"].values()))
        row["differs"] = {
            record: {name: [first.get(name), value] for name, value in after.items() if first.get(name) != value}
            for record, after in row.pop("after").items()
        }
    if "violates" in row:
        row["violates"] = [text for text, broken in row["violates"].items() if broken]
    return row


def _flattened(row: Mapping[str, Any], path: Path = ()) -> dict[Path, Any]:
    flat: dict[Path, Any] = {}
    for name, value in row.items():
        here = (*path, str(name))
        if here == ("violates",):
            flat |= {(*here, text): True for text in value}
        elif here == ("choices",):
            flat |= {(*here, str(number)): choice for number, choice in enumerate(value, start=1)}
        elif path[:1] == ("differs",) and len(path) == 2:
            flat[("after", path[1], str(name))] = value[1]
        elif isinstance(value, Mapping) and (value or not path):
            flat |= _flattened(value, here)
        else:
            flat[here] = value
    return flat


def _flat_name(path: Path) -> str:
    match path:
        case ("inputs" | "after" | "differs", record, *feature):
            return ".".join([record, *feature])
        case ("rows", record):
            return f"row of {record}"
        case ("choices", number):
            return f"choice {number}"
        case ("violates", condition):
            return f"violates {condition}"
        case ("from" | "to", name):
            return f"{path[0]} {name}"
        case ("variables" | "outputs", name):
            return name
        case _:
            return ".".join(path)


def _arrow(column: NDArray[Any] | None, kind: str, rows: int) -> Any:
    import pyarrow as pa

    types = {"truth": pa.bool_(), "whole": pa.int64(), "real": pa.float64()}
    to = types.get(kind, pa.string())
    if column is None:
        return pa.nulls(rows, to)
    if column.dtype != object:
        if kind == "anything":
            return pa.array([json.dumps(value) for value in column.tolist()], to)
        return pa.array(column, type=to, from_pandas=True)
    values = column.tolist()
    if kind == "anything":
        texts = (value if value is None or isinstance(value, str) else json.dumps(value) for value in values)
        return pa.array(list(texts), to)
    return pa.array(values, to)


def _as_json(column: NDArray[Any]) -> list[str]:
    match column.dtype.kind:
        case "b":
            return ["true" if value else "false" for value in column.tolist()]
        case "i":
            return list(map(str, column.tolist()))
        case "f":
            if np.isfinite(column).all():
                return list(map(repr, column.tolist()))
            return [repr(value) if isfinite(value) else "null" for value in column.tolist()]
        case _:
            pass
    values = column.tolist()
    if all(value is None or type(value) is str for value in values):
        known = {value: json.dumps(value, ensure_ascii=False) for value in set(values)}
        return [known[value] for value in values]
    return [json.dumps(value, ensure_ascii=False) for value in values]
