"""A digest for each row of a table, by which a stored answer is found again.

Two rows have the same digest if and only if a model could not tell them apart: the same kind of table, the same columns
in the same order with the same types, and the same values bit by bit. The digests are BLAKE2b's of 128 bits, so that
among ``n`` different rows two share one with probability at most ``n**2 / 2**129``: below 1.5e-21 for a billion rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, time, timedelta
from decimal import Decimal
from hashlib import blake2b
from struct import pack
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.populations.table import Table

__all__ = ["DIGEST", "UndigestibleError", "row_digests", "signature"]

DIGEST = 16
"""Bytes of a digest."""

_RAW = "biufcMm"


class UndigestibleError(Exception):
    """A value of a kind that has no reliable form as bytes."""


def signature(table: Table) -> list[str]:
    """The kind of a table, and the names and types of its columns."""
    if table.kind == "array":
        return ["array", str(table.native.dtype), *table.names]
    if table.kind == "columns":
        return ["columns", *(f"{name}:{_dtype(table.native[name])}" for name in table.names)]
    if table.kind == "rows":
        return ["rows"]
    frame = _frame(table)
    return [table.kind, *(f"{name}:{dtype}{_categories(table, name)}" for name, dtype in frame.schema.items())]


def row_digests(table: Table) -> list[bytes]:
    """A digest for each row; rows of different signatures may share one.

    Raises
    ------
    UndigestibleError
        Where a value is neither text, nor a number, nor a truth value, nor a date.
    """
    if table.kind == "rows":
        return [_joined(part for item in row.items() for part in map(_encoded, item)) for row in table.native]
    if table.kind == "array" and table.native.dtype.kind in _RAW:
        parts = [_bytes(np.ascontiguousarray(table.native))]
    else:
        parts = [_column(table, name) for name in table.names]
    matrix = np.concatenate(parts, axis=1)
    data, width = memoryview(matrix.tobytes()), matrix.shape[1]
    return [blake2b(data[i : i + width], digest_size=DIGEST).digest() for i in range(0, len(data), width)]


def _column(table: Table, name: str) -> NDArray[np.uint8]:
    if table.kind == "array":
        values: Any = table.native[:, table.names.index(name)]
    elif table.kind == "columns":
        values = table.native[name]
    else:
        values = _series(table, name)
    if isinstance(values, np.ndarray) and values.dtype.kind in _RAW:
        return _bytes(np.ascontiguousarray(values))
    known: dict[str, bytes] = {}
    digests = []
    for value in values.tolist() if isinstance(values, np.ndarray) else values:
        if type(value) is str:  # text repeats, and a truth value must not be taken for the number that equals it
            if value not in known:
                known[value] = _joined((_encoded(value),))
            digests.append(known[value])
        else:
            digests.append(_joined((_encoded(value),)))
    return np.frombuffer(b"".join(digests), dtype=np.uint8).reshape(len(digests), DIGEST)


def _series(table: Table, name: str) -> Any:
    """A column of a data frame, as an array where that loses nothing, else as a list."""
    series = _frame(table).get_column(name)
    if (series.dtype.is_integer() or series.dtype.is_float()) and not series.is_null().any():
        values = np.asarray(series.to_numpy())
        if values.dtype.kind in "biuf":
            return values
    return series.to_list()


def _bytes(values: NDArray[Any]) -> NDArray[np.uint8]:
    return values.view(np.uint8).reshape(len(values), -1)


def _joined(parts: Iterable[bytes]) -> bytes:
    digest = blake2b(digest_size=DIGEST)
    for part in parts:
        digest.update(pack("<q", len(part)))
        digest.update(part)
    return digest.digest()


def _encoded(value: object) -> bytes:
    kind = type(value)
    if kind is str:
        return b"s" + str(value).encode("utf-8", "surrogatepass")
    if kind is float:
        return b"f" + pack("<d", value)
    if value is None or isinstance(value, bool | int | bytes | np.generic | date | time | timedelta | Decimal):
        return f"{kind.__module__}.{kind.__qualname__} {value!r}".encode("utf-8", "surrogatepass")
    if type(value).__name__ in {"NAType", "NaTType"} or isinstance(value, str | float):
        return f"{kind.__module__}.{kind.__qualname__} {value!r}".encode("utf-8", "surrogatepass")
    raise UndigestibleError(f"{value!r:.80} ({kind.__name__})")


def _dtype(values: NDArray[Any]) -> str:
    return "text" if values.dtype.kind == "U" else values.dtype.str


def _categories(table: Table, name: str) -> str:
    """The categories of a pandas column: a model may go by their order, which the values do not show."""
    if table.kind != "pandas":
        return ""
    categories = getattr(table.native[name].dtype, "categories", None)
    return "" if categories is None else f"{list(categories)!r}"


def _frame(table: Table) -> Any:
    import narwhals as nw

    return nw.from_native(table.native, eager_only=True)
