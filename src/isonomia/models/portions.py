"""Batches cut to the size that a model can take."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["in_portions"]


def in_portions(
    run: Callable[[Mapping[str, NDArray[Any]]], Any], inputs: Mapping[str, NDArray[Any]], size: int, *, fixed: bool
) -> list[Any]:
    """Run a model on a batch, a portion at a time.

    Parameters
    ----------
    run
        Called with each portion.
    inputs
        The batch, arrays with one entry a row.
    size
        How many rows a portion has at most; exactly, if ``fixed``.
    fixed
        Whether the model takes this number of rows only. The last portion is then filled up with its last row.

    Returns
    -------
    list
        What ``run`` returned, portion by portion; a filled one has answers too many at its end.
    """
    rows = len(next(iter(inputs.values())))
    if rows <= size and not (fixed and rows < size):
        return [run(inputs)]
    portions = []
    for start in range(0, rows, size):
        portion = {name: values[start : start + size] for name, values in inputs.items()}
        short = size - min(size, rows - start)
        if fixed and short:
            portion = {name: np.concatenate([v, np.repeat(v[-1:], short, axis=0)]) for name, v in portion.items()}
        portions.append(run(portion))
    return portions
