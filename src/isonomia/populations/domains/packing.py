"""An array as a short text that JSON can hold, and back."""

from __future__ import annotations

import binascii
import zlib
from base64 import b64decode, b64encode
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import DataError

__all__ = ["packed", "unpacked"]


def packed(array: NDArray[Any]) -> str:
    """The bytes of an array, low byte first, compressed by zlib and written in base 64."""
    little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    return b64encode(zlib.compress(little.tobytes(), 9)).decode("ascii")


def unpacked(text: object, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
    """The array that was packed; nothing but exactly that is accepted.

    Raises
    ------
    DataError
        Where the text is damaged, or holds more or less than an array of this shape and type.
    """
    expected = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    wrong = DataError(f"expected an array of shape {shape} and type {dtype} in base 64, but something else is stored")
    if not isinstance(text, str):
        raise wrong
    try:
        opener = zlib.decompressobj()
        # No more is unpacked than there should be, whatever the text claims.
        content = opener.decompress(b64decode(text.encode("ascii"), validate=True), expected + 1)
    except (zlib.error, binascii.Error, UnicodeEncodeError) as error:
        raise wrong from error
    if len(content) != expected or not opener.eof or opener.unused_data:
        raise wrong
    return np.frombuffer(content, dtype=dtype.newbyteorder("<")).reshape(shape).astype(dtype)
