"""A model's answers as plain values that JSON can hold, small and exact."""

from __future__ import annotations

import base64
import zlib
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.engine.journal import Entry
from isonomia.models.protocol import Answer

__all__ = ["packed", "unpacked"]


def packed(answer: Answer) -> Entry:
    """What the model answered; every bit of a number is kept."""
    return {
        "prediction": None if answer.prediction is None else _packed(answer.prediction),
        "score": None if answer.score is None else _packed(answer.score),
        "classes": list(answer.classes),
    }


def unpacked(entry: Entry) -> Answer:
    """The answer that was packed."""
    return Answer(
        None if entry["prediction"] is None else _unpacked(entry["prediction"]),
        None if entry["score"] is None else _unpacked(entry["score"]),
        tuple(entry["classes"]),
    )


def _packed(array: NDArray[Any]) -> dict[str, Any]:
    if array.dtype == object:
        return {"values": array.tolist()}
    # Quickly: what is kept is forgotten when the check has its verdict.
    squeezed = zlib.compress(np.ascontiguousarray(array).tobytes(), level=1)
    return {"dtype": array.dtype.str, "shape": list(array.shape), "bytes": base64.b64encode(squeezed).decode("ascii")}


def _unpacked(entry: dict[str, Any]) -> NDArray[Any]:
    if "values" in entry:
        return np.fromiter(entry["values"], dtype=object, count=len(entry["values"]))
    dtype, shape = np.dtype(entry["dtype"]), tuple(entry["shape"])
    size = dtype.itemsize * prod(shape)
    data = zlib.decompressobj().decompress(base64.b64decode(entry["bytes"]), max(size, 1))
    return np.frombuffer(data, dtype=dtype, count=prod(shape)).reshape(shape).copy()
