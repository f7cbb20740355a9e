"""Numbers of many people as plain values that JSON can hold: small and exact."""

from __future__ import annotations

import base64
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.engine.journal import Entry
from isonomia.errors import DataError

__all__ = ["packed", "unpacked"]

_TYPES = ("u1", "u2", "u4", "u8", "f8")
"""Whole numbers that are not negative, in as few bytes as the largest takes; and others."""

_MOST = 50_000_000
"""How many numbers are unpacked at most: a few bytes of a record may say that they are any number."""


def packed(numbers: NDArray[Any]) -> Entry:
    """Numbers in one text; every bit of them is kept."""
    kind = _smallest(numbers)
    squeezed = zlib.compress(numbers.astype(f"<{kind}").tobytes(), level=6)
    return {"count": len(numbers), "type": kind, "bytes": base64.b64encode(squeezed).decode("ascii")}


def _smallest(numbers: NDArray[Any]) -> str:
    most = numbers.max(initial=0)
    whole = numbers.dtype.kind != "f" or (most < 2.0**53 and bool((numbers == np.floor(numbers)).all()))
    return next((kind for kind in _TYPES[:-1] if whole and most <= np.iinfo(kind).max), _TYPES[-1])


def unpacked(entry: Entry, count: int | None = None) -> NDArray[Any]:
    """The numbers that were packed.

    Parameters
    ----------
    entry
        What they were packed to.
    count
        How many there must be, where that is known.

    Raises
    ------
    DataError
        Where it is something else, as in a record that was changed.
    """
    try:
        told, kind = int(entry["count"]), _TYPES[_TYPES.index(entry["type"])]
        size = told * np.dtype(kind).itemsize
        if not 0 <= told <= _MOST:
            raise ValueError(f"at most {_MOST:,} are read")
        # No more is unpacked than was told, however little text it came from.
        data = zlib.decompressobj().decompress(base64.b64decode(entry["bytes"], validate=True), size + 1)
    except (KeyError, TypeError, ValueError, zlib.error) as error:
        raise DataError(f"expected numbers of people in the record, but {str(entry)[:80]} came: {error}") from error
    if len(data) != size or (count is not None and told != count):
        wanted = told if count is None else count
        raise DataError(f"expected numbers of {wanted:,} people in the record, but there are others: {str(entry)[:80]}")
    return np.frombuffer(data, dtype=f"<{kind}").astype(np.float64 if kind == "f8" else np.intp)
