"""Fingerprints of what a population or a model is made of, so that a record can be tied to it.

The fingerprint of a table depends on its names and values, and on the order of its rows and columns. The table may be
added in parts of any size; the borders between them do not matter. A column is hashed by its values, not by how they
are stored. So whole numbers that became floats in one part, because a value is missing there, hash the same as the
column read at once.
"""

from __future__ import annotations

import inspect
import json
import tokenize
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from isonomia.populations.table import Table, offers
from isonomia.spec.columns import EXACT


def fingerprint_of(*parts: str) -> str:
    """The SHA-256 of some texts, in order, as 64 hexadecimal digits."""
    return sha256(json.dumps(parts).encode()).hexdigest()


def callable_name(function: Callable[..., Any]) -> str:
    """The name of a function, a method, a partial application or a callable object, for people."""
    return str(_named(function).__qualname__).replace("<locals>.", "")


def _named(function: Callable[..., Any]) -> Any:
    """What names a callable: the function, the one inside a partial application, or the class of an object."""
    inner = getattr(function, "func", function)
    return inner if offers(inner, "__qualname__") else type(inner)


def identity_of(function: Callable[..., Any]) -> str:
    """Tell one callable from another: by its module, its name, and its source text if that can be found.

    The arguments of a partial application count too. Values that a function closes over or finds in its module do not,
    nor does the state of an object with ``__call__``.
    """
    named = _named(function)
    source = source_of(named)
    bound = repr((function.args, function.keywords)) if isinstance(function, partial) else ""
    return fingerprint_of(str(getattr(named, "__module__", "")), callable_name(function), source, bound)


_sources: WeakKeyDictionary[Any, str] = WeakKeyDictionary()
# Finding the source of a function takes a millisecond, and an audit needs it again for every property.


def source_of(named: Any) -> str:
    """The source text of a function or a class; empty if it cannot be found."""
    try:
        if named not in _sources:
            _sources[named] = _found_source(named)
        return _sources[named]
    except (OSError, TypeError):  # no source, or a C function, which has no weak references
        return ""


def _found_source(named: Any) -> str:
    try:
        return inspect.getsource(named)
    except (tokenize.TokenError, SyntaxError):  # it begins on the line where a text in triple quotation marks ends
        lines, first = inspect.findsource(named)
        code = getattr(named, "__code__", None)
        last = len(lines) if code is None else max(line for _, _, line in code.co_lines() if line is not None)
        return "".join(lines[first:last])


def table_fingerprint(table: Table) -> str:
    """The SHA-256 of a table's names and values, whatever kind of table holds them.

    The order of rows and columns counts. Widths of numbers do not: a column of 32-bit numbers has the fingerprint of
    the same numbers in 64 bits.
    """
    digest = TableDigest(table.names)
    digest.add(table)
    return digest.value()


_TEXT, _TRUTH, _OTHER, _MISSING = 0, 1, 2, 3


@dataclass(slots=True)
class TableDigest:
    """A hash of the names and values of a table. The order of rows and columns counts, the width of numbers doesn't."""

    names: Sequence[str]
    rows: int = 0  # added so far
    _columns: dict[str, _ColumnDigest] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Start with no rows."""
        self._columns = {name: _ColumnDigest() for name in self.names}

    def add(self, part: Table) -> None:
        """Add the next rows."""
        self.rows += part.rows
        for name, digest in self._columns.items():
            text = _arrow_text(part, name)
            if text is None:
                digest.add(part.column(name))
            else:
                digest.add_text(text)

    def column_values(self) -> list[bytes]:
        """The hash of each column."""
        return [digest.value() for digest in self._columns.values()]

    def value(self) -> str:
        """The SHA-256 of all rows so far, as 64 hexadecimal digits."""
        return digest_of_columns(self.rows, self.names, self.column_values())


def digest_of_columns(rows: int, names: Sequence[str], columns: Iterable[bytes]) -> str:
    """The hash of a table from the hashes of its columns, which may have been computed by several workers."""
    whole = sha256(json.dumps([rows, *names]).encode())
    for value in columns:
        whole.update(value)
    return whole.hexdigest()


@dataclass(slots=True)
class _ColumnDigest:
    """The hash of a column, in one of three ways, depending on its kind.

    Numbers are hashed as floats, with the remainders that a float drops from large whole numbers. Times are hashed as
    counts of microseconds; everything else as text, with the length and the kind of each value. Missing values at the
    start wait until the way is known.
    """

    _way: str = ""
    _whole: bool = True  # every number so far was whole, and none missing
    _waiting: int = 0
    _rows: int = 0
    _main: Any = field(default_factory=sha256)
    _beside: Any = field(default_factory=sha256)

    def add(self, column: NDArray[Any]) -> None:
        way = _way_of(column)
        if way and not self._way:
            self._way = way
            self._add_missing(self._waiting)
        if way:
            self._add_values(column, way)
        elif self._way:
            self._add_missing(len(column))
        else:
            self._waiting += len(column)
        self._rows += len(column)

    def add_text(self, column: Any) -> None:
        """Add pyarrow text, with the same result as for Python objects, but faster."""
        import pyarrow.compute as pc

        if column.null_count == len(column):
            self.add(np.full(len(column), None, dtype=object))
            return
        if not self._way:
            self._way = "object"
            self._add_missing(self._waiting)
        for chunk in column.chunks:
            lengths = pc.fill_null(pc.binary_length(chunk).cast("int64"), -1).to_numpy()
            self._beside.update(np.where(lengths < 0, _MISSING, 8 * lengths + _TEXT).astype("<i8").tobytes())
            self._main.update(_joined_bytes(chunk.drop_null()))
        self._rows += len(column)

    def value(self) -> bytes:
        kind = "whole" if self._way == "number" and self._whole else self._way
        return sha256(kind.encode() + b":" + self._main.digest() + self._beside.digest()).digest()

    def _add_values(self, column: NDArray[Any], way: str) -> None:
        match way:
            case "number":
                self._add_numbers(column)
            case "time" | "span":
                self._main.update(column.astype("<i8").tobytes())
            case _:
                self._add_objects(column)

    def _add_missing(self, n: int) -> None:
        match self._way:
            case "number":
                self._whole = self._whole and n == 0
                self._main.update(np.full(n, np.nan, "<f8").tobytes())
            case "time" | "span":
                self._main.update(np.full(n, np.datetime64("NaT", "us")).astype("<i8").tobytes())
            case _:
                self._beside.update(np.full(n, _MISSING, "<i8").tobytes())

    def _add_numbers(self, column: NDArray[Any]) -> None:
        if column.dtype.kind == "O":
            self._add_large(column)
            return
        number = np.array(column, dtype="<f8")
        if column.dtype.kind == "f":
            number[np.isnan(number)] = np.nan  # one NaN for all, since their bits may differ
            self._whole = False
        elif max(-int(column.min()), int(column.max())) > EXACT:
            self._add_residues(column)
        self._main.update(number.tobytes())

    def _add_large(self, column: NDArray[Any]) -> None:
        """Add whole numbers of which some are missing and at least one is large."""
        self._whole = False
        number = np.array([np.nan if value is None else float(value) for value in column], dtype="<f8")
        number[np.isnan(number)] = np.nan
        self._add_residues(column)
        self._main.update(number.tobytes())

    def _add_residues(self, column: NDArray[Any]) -> None:
        for row, value in enumerate(column.tolist()):
            if value is not None and (residue := value - int(float(value))):
                self._beside.update(f"{self._rows + row}:{residue};".encode())

    def _add_objects(self, column: NDArray[Any]) -> None:
        if column.dtype.kind == "b":
            self._main.update(np.where(column, b"T", b"F").tobytes())
            self._beside.update(np.full(len(column), 8 + _TRUTH, "<i8").tobytes())
            return
        parts, joined, kinds = _encoded(column.tolist())
        lengths = np.fromiter(map(len, parts), dtype="<i8", count=len(parts))
        self._main.update(joined)
        self._beside.update((8 * lengths + kinds).astype("<i8").tobytes())


def _arrow_text(part: Table, name: str) -> Any | None:
    """A pyarrow column of text, or of categories that stand for text; ``None`` for any other column."""
    if part.kind != "pyarrow":
        return None
    import pyarrow as pa

    column = part.native[name]
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return None
    return column.cast(pa.large_string())


def _joined_bytes(text: Any) -> memoryview:
    """The bytes of all values, one after the other; none may be missing."""
    _, places, content = text.buffers()
    if content is None:
        return memoryview(b"")
    ends = np.frombuffer(places, dtype=np.int64)[text.offset : text.offset + len(text) + 1]
    return memoryview(content)[int(ends[0]) : int(ends[-1])]


def _way_of(column: NDArray[Any]) -> str:
    """How a part is hashed; empty if every value in it is missing."""
    match column.dtype.kind:
        case "i" | "u":
            return "number" if len(column) else ""
        case "f":
            return "" if bool(np.isnan(column).all()) else "number"
        case "M":
            return "" if bool(np.isnat(column).all()) else "time"
        case "m":
            return "" if bool(np.isnat(column).all()) else "span"
        case "b":
            return "object" if len(column) else ""
        case _:
            kinds = set(map(type, column.tolist())) - {type(None)}
            return "" if not kinds else "number" if kinds == {int} else "object"


def _encoded(values: list[Any]) -> tuple[Sequence[str | bytes], bytes, NDArray[np.int64] | int]:
    """Parts whose lengths are the values' lengths in bytes, all bytes joined, and the kinds of the values."""
    try:
        joined = "".join(values)  # text throughout, as most columns of objects are
        if joined.isascii():
            return values, joined.encode(), _TEXT
        parts = [value.encode() for value in values]
        return parts, b"".join(parts), _TEXT
    except (TypeError, UnicodeEncodeError):
        both = [_encoded_one(value) for value in values]
        kinds = np.array([kind for _, kind in both], dtype=np.int64)
        return [part for part, _ in both], b"".join(part for part, _ in both), kinds


def _encoded_one(value: Any) -> tuple[bytes, int]:
    match value:
        case None:
            return b"", _MISSING
        case str():
            return value.encode("utf-8", "surrogatepass"), _TEXT
        case bool():
            return (b"T" if value else b"F"), _TRUTH
        case _:
            return json.dumps(value, default=repr).encode(), _OTHER
