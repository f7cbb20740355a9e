"""Every violation that a check found, stored by columns: few in memory, many in a temporary file.

A violation is a row. Its columns have paths, such as ``("inputs", "x1", "age")``, from which both forms are made: the
row as nested values, like a counterexample, and the flat table with columns such as ``x1.age``. Rows are added and read
in chunks of columns, so that neither storing nor exporting takes more memory than one chunk.

Which violations are new: a case is remembered by 128 bits computed from its numbers. Among ``n`` cases, two different
ones are taken for one with probability below ``n**2 / 2**129``, 2e-27 for a million. A remembered case takes 16 bytes,
and about 50 while new ones are sorted in. Beyond ``MAX_DISTINCT`` cases nothing is remembered, and it is only reported
that there are more.
"""

from __future__ import annotations

import json
import threading
import weakref
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from tempfile import SpooledTemporaryFile
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import RecordError
from isonomia.records.frame import as_frame
from isonomia.wording import shortened

Path: TypeAlias = tuple[str, ...]
"""Where a value is in a violation."""

Columns: TypeAlias = Mapping[Path, NDArray[Any]]
"""A chunk of violations."""

CHUNK = 2**13
"""Rows that are joined into one chunk; larger chunks save little and cost memory."""

IN_MEMORY = 2**23
"""How many bytes of chunks are kept in memory; beyond this, they go to a temporary file."""

LONGEST = 4000
"""The maximum number of characters of an object that is kept as its ``repr``."""


@dataclass(eq=False)
class ViolationSet:
    """The distinct violations of a check, in the order in which they were found.

    Iterating gives each as a mapping, like a counterexample; the same set can be iterated over many times.

    Attributes
    ----------
    more
        Whether there were more violations than stored.
    """

    more: bool = False
    _chunks: list[tuple[int, int]] = field(default_factory=list, repr=False)  # start and size in the file
    _waiting: list[Columns] = field(default_factory=list, repr=False)
    _waiting_rows: int = field(default=0, repr=False)
    _rows: int = 0
    _kinds: dict[Path, str] = field(default_factory=dict, repr=False)
    _file: SpooledTemporaryFile[bytes] | None = field(default=None, repr=False)
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
    def of_packed(cls, chunks: Iterable[bytes], more: bool) -> ViolationSet:
        """Violations that were packed."""
        result = cls(more=more)
        for chunk in chunks:
            result.add(unpack_columns(chunk))
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
        rows = len(next(iter(plain.values()))) if plain else 0
        self._rows += rows
        for path, column in plain.items():
            kind = _kind(column)
            self._kinds[path] = kind if self._kinds.get(path, kind) == kind else _wider(self._kinds[path], kind)
        for start in range(0, rows, CHUNK):
            self._waiting.append({path: column[start : start + CHUNK] for path, column in plain.items()})
            self._waiting_rows += min(CHUNK, rows - start)
            if self._waiting_rows >= CHUNK:
                self._settle()

    def chunks(self) -> Iterator[Columns]:
        """The violations, a chunk of columns at a time."""
        self._look()
        for start, size in list(self._chunks):
            yield unpack_columns(self._read(start, size))
        if self._waiting:
            yield joined_columns(self._waiting)

    def packed(self) -> Iterator[bytes]:
        """The chunks as bytes for a store, which :meth:`of_packed` reads."""
        for columns in self.chunks():
            yield pack_columns(columns)

    def _settle(self) -> None:
        """Join the waiting rows into one chunk of the file, which stays in memory while it is small."""
        data = pack_columns(joined_columns(self._waiting))
        self._waiting, self._waiting_rows = [], 0
        with self._lock:
            if self._file is None:
                self._file = SpooledTemporaryFile(IN_MEMORY, prefix="isonomia-violations-")  # noqa: SIM115  (open as long as the set)
                weakref.finalize(self, self._file.close)
            self._file.seek(0, 2)
            self._chunks.append((self._file.tell(), len(data)))
            self._file.write(data)

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
        return ViolationSet.of_packed, (list(self.packed()), self.more)

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

        return as_frame(pa.Table.from_batches(self.batches(), schema=self.schema()), library)

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
        for columns in self.chunks():
            rows = len(next(iter(columns.values())))
            values = [_defined(columns[path]) if path in columns else [None] * rows for path in names]
            items = (dict(zip(names.values(), row, strict=True)) for row in zip(*values, strict=True))
            yield "".join(f"{json.dumps(item, ensure_ascii=False)}\n" for item in items)

    def schema(self) -> Any:
        """The pyarrow schema of the flat table."""
        import pyarrow as pa

        names = self._names()
        return pa.schema([(names[path], _arrow_type(self._kinds[path])) for path in names])


@runtime_checkable
class KeepsViolations(Protocol):
    """Keeps the violations of one check, like the journal of a store."""

    def keep_violations(self, violations: ViolationSet) -> None:
        """Keep them, a chunk at a time, replacing any that were kept before."""
        ...

    def violations(self) -> ViolationSet | None:
        """Those that were kept; ``None`` if nothing was."""
        ...


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
    """Columns as compressed bytes: a line of JSON that describes what follows, and the data."""
    head: list[Any] = []
    parts: list[bytes] = []
    for path, column in columns.items():
        as_json = column.dtype == object
        data = json.dumps(column.tolist(), allow_nan=False).encode() if as_json else column.tobytes()
        head.append([list(path), "json" if as_json else column.dtype.str, len(data)])
        parts.append(data)
    return zlib.compress(b"".join([json.dumps(head).encode(), b"\n", *parts]), 1)


def unpack_columns(data: bytes) -> Columns:
    """The columns that were packed."""
    try:
        first, _, rest = zlib.decompress(data).partition(b"\n")
        columns: dict[Path, NDArray[Any]] = {}
        start = 0
        for path, kind, size in json.loads(first):
            part = rest[start : start + size]
            columns[tuple(path)] = _objects(json.loads(part)) if kind == "json" else np.frombuffer(part, np.dtype(kind))
            start += size
        if len({len(column) for column in columns.values()}) > 1:
            raise ValueError("its columns have different lengths")
    except (ValueError, TypeError, zlib.error) as error:
        raise RecordError(f"expected stored violations, but the data there are damaged: {error}") from error
    return columns


def _objects(values: Sequence[Any]) -> NDArray[Any]:
    """Any values as a column, without looking into them."""
    column = np.empty(len(values), dtype=object)
    for index, value in enumerate(values):
        column[index] = value
    return column


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
    return _objects([storable(value) for value in values])


def _plain(column: NDArray[Any]) -> NDArray[Any]:
    """A column of numbers or truth values as it is, any other converted to values that JSON can hold."""
    if column.dtype.kind in "bf" or (column.dtype.kind in "iu" and column.dtype != np.uint64):
        return column.astype({"b": np.bool_, "f": np.float64}.get(column.dtype.kind, np.int64), copy=False)
    if column.dtype.kind in "mM":
        column = column.astype(str).astype(object)
    return _column(column.tolist())


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


def _arrow_type(kind: str) -> Any:
    import pyarrow as pa

    return {"truth": pa.bool_(), "whole": pa.int64(), "real": pa.float64()}.get(kind, pa.string())


def _arrow(column: NDArray[Any] | None, kind: str, rows: int) -> Any:
    import pyarrow as pa

    if column is None:
        return pa.nulls(rows, _arrow_type(kind))
    if column.dtype != object and kind != "anything":
        return pa.array(column, _arrow_type(kind), from_pandas=True)
    values = column.tolist()
    if kind == "anything":
        values = [value if value is None or isinstance(value, str) else json.dumps(value) for value in values]
    return pa.array(values, _arrow_type(kind))


def _defined(column: NDArray[Any]) -> list[Any]:
    """The values of a column, ``None`` for numbers that are not finite."""
    values: list[Any] = column.tolist()
    if column.dtype.kind == "f" and not np.isfinite(column).all():
        return [value if isfinite(value) else None for value in values]
    return values


# ------------------------------------------------------------------------------------------------------ which are new


MAX_DISTINCT = 2**22
"""How many distinct violations are counted: 64 MiB."""

FACTOR = 6
"""How much larger one sorted part is than the next: fewer parts are searched faster, and joined more often."""

Words = NDArray[np.uint64]

_STARTS = (0x9E3779B97F4A7C15, 0xD1B54A32D192ED03)
_MIXERS = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)


@dataclass(slots=True)
class DistinctCount:
    """How many different cases there were, up to a limit; each case is identified by its digest.

    Digests are kept sorted, in parts, each several times as large as the next: a lookup takes a few searches, and each
    digest is merged a few times. ``exact`` says whether there were no more than the limit.
    """

    limit: int = field(default_factory=lambda: MAX_DISTINCT)
    exact: bool = True
    _parts: list[Words] = field(default_factory=list, repr=False)
    _not_remembered: int = 0

    def __len__(self) -> int:
        """How many there were; the limit where there were more."""
        return self._not_remembered + sum(part.shape[1] for part in self._parts) if self.exact else self.limit

    def count(self, n: int) -> NDArray[np.intp]:
        """Count ``n`` cases that are certain to be new, without remembering them; gives those within the limit."""
        room = self.limit - len(self)
        self.exact &= n <= room
        self._not_remembered += min(n, room)
        return np.arange(min(n, room))

    def add(self, words: Words) -> NDArray[np.intp]:
        """Add the digests of some cases; gives the positions of those that are new, in order.

        Where they exceed the limit, only as many as fit count as new.
        """
        if not self.exact:
            return np.zeros(0, dtype=np.intp)
        first = first_of_each(words)
        new = first[~self.has(words[:, first])]
        room = self.limit - len(self)
        if len(new) > room:
            self.exact, self._parts = False, []
            return np.asarray(np.sort(new)[:room])
        if len(new):
            self._sort_in(words[:, new])
        return np.asarray(np.sort(new))

    def has(self, words: Words) -> NDArray[np.bool_]:
        """Which digests were added before."""
        present = np.zeros(words.shape[1], dtype=bool)
        for part in self._parts:
            present |= _among(part, words)
        return present

    def _sort_in(self, part: Words) -> None:
        """Add a sorted part, and merge the parts before it that are not ``FACTOR`` times as large."""
        while self._parts and self._parts[-1].shape[1] < FACTOR * part.shape[1]:
            both = np.concatenate([self._parts.pop(), part], axis=1)
            part = both[:, first_of_each(both)]
        self._parts.append(part)


def _among(part: Words, words: Words) -> NDArray[np.bool_]:
    """Which digests are in a sorted part."""
    index = np.searchsorted(part[0], words[0])
    index[index == part.shape[1]] = 0
    present = np.asarray(part[0, index] == words[0])
    hits = np.flatnonzero(present)
    other = hits[part[1, index[hits]] != words[1, hits]]
    # Two cases share the first word by accident: the right one may be further on.
    for hit in other.tolist():
        present[hit] = bool((part[1, part[0] == words[0, hit]] == words[1, hit]).any())
    return present


def digests(columns: Sequence[NDArray[Any]], salt: int = 0) -> Words:
    """Two words for each case, the same for cases with the same numbers.

    An integer and an equal float count as different, so a column has to keep its type. ``salt`` distinguishes cases
    whose numbers mean something else.
    """
    lanes = np.empty((2, len(columns[0])), dtype=np.uint64)
    for lane, start in zip(lanes, _STARTS, strict=True):
        lane[:] = start ^ (salt % 2**64)
        _mix(lane)
        for column in columns:
            lane ^= _bits(column)
            _mix(lane)
    return lanes


def _bits(column: NDArray[Any]) -> Words:
    if column.dtype.kind == "f":
        # -0.0 is the same number as 0.0, although its bits differ.
        return (column.astype(np.float64) + 0.0).view(np.uint64)
    return column.astype(np.int64).view(np.uint64)


def _mix(lane: Words) -> None:
    """Scatter every bit over the word, reversibly: the last steps of SplitMix64 (Steele, Lea, Flood 2014)."""
    lane += np.uint64(_STARTS[0])
    lane ^= lane >> np.uint64(30)
    lane *= np.uint64(_MIXERS[0])
    lane ^= lane >> np.uint64(27)
    lane *= np.uint64(_MIXERS[1])
    lane ^= lane >> np.uint64(31)


def first_of_each(words: Words) -> NDArray[np.intp]:
    """Where each digest occurs for the first time, in the order of the digests."""
    # Sorting by one word is much faster; the second decides only where two cases share the first by accident.
    order = np.argsort(words[0], kind="stable")
    first, second = words[0][order], words[1][order]
    same = first[1:] == first[:-1]
    if (same & (second[1:] != second[:-1])).any():
        order = np.lexsort((words[1], words[0]))
        first, second = words[0][order], words[1][order]
        same = (first[1:] == first[:-1]) & (second[1:] == second[:-1])
    return np.asarray(order[np.concatenate([np.ones(min(len(order), 1), dtype=bool), ~same])])
