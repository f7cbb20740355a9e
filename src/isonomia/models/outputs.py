"""Arrays from whatever a model returns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.populations.columns import column_from

__all__ = ["array_from", "score_from"]


def array_from(raw: object) -> NDArray[Any]:
    """Make an array of what a model returned, keeping its shape; one column is flattened.

    Values of one dimension follow the conventions of a table's column: text as objects, ``None`` where missing.
    """
    if isinstance(raw, str | bytes | dict) or not hasattr(raw, "__len__"):
        return np.asarray(raw, dtype=object) if not isinstance(raw, np.ndarray) else raw
    nested = isinstance(raw, list | tuple) and len(raw) > 0 and np.ndim(raw[0]) > 0
    shape = np.shape(raw) if hasattr(raw, "shape") else None
    if nested or (shape is not None and len(shape) != 1):
        array = np.asarray(raw)
        return column_from(array[:, 0], "prediction") if array.ndim == 2 and array.shape[1] == 1 else array
    return column_from(raw, "prediction")


def score_from(array: NDArray[Any]) -> NDArray[np.float64] | None:
    """Use a model's output as a score, when it is made of floating-point numbers."""
    return array.astype(np.float64) if array.dtype.kind == "f" else None
