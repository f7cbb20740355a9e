"""People who cannot have come from the equations of a causal model: the first one is named by the row."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import DataError
from isonomia.populations.columns import plain_value
from isonomia.populations.programs.running import Frame

__all__ = ["TOLERANCE", "need_equal", "need_noise", "need_telling", "numbers"]

Array = NDArray[Any]

TOLERANCE = 1e-6
"""How far, relative to its size, a value may lie from what an equation without noise gives for it."""


def numbers(target: str, value: Array) -> Array:
    """The values of a variable whose equation draws numbers."""
    if value.dtype.kind not in "biuf":
        raise DataError(
            f"expected numbers for {target!r}, whose equation draws a number, but the table has {value[0]!r}: convert "
            "the column"
        )
    return np.asarray(value, dtype=float)


def need_telling(target: str, hidden: Array, frame: Frame) -> None:
    """Refuse people whose draw does not show, because it counts for nothing."""
    if hidden.any():
        first = int(np.argmax(hidden))
        row = _row(first, frame.origin)
        raise DataError(
            f"the noise of {target!r} does not show in row {row}, where it counts 0 times: write the equation as a "
            "choice, such as `gaussian(5, 1) if employed else 0`"
        )


def need_noise(target: str, value: Array, noise: Array, frame: Frame) -> None:
    """Refuse people whom no noise explains, and those of whom a value is missing."""
    wrong = ~np.isfinite(noise) if noise.dtype.kind == "f" else np.zeros(len(noise), dtype=bool)
    if wrong.any():
        first = int(np.argmax(wrong))
        row = _row(first, frame.origin)
        if plain_value(value[first]) is None:
            raise DataError(
                f"expected a value of {target!r} for everybody, but it is missing in row {row}: what would have been "
                "is known of complete people only; leave the others out"
            )
        raise DataError(
            f"no noise gives {target!r} the value {plain_value(value[first])!r} of row {row}: these people cannot have "
            "come from the equations; mend the equation, or leave the person out"
        )


def need_equal(target: str, value: Array, given: Array, origin: Array | None) -> None:
    """Refuse people who are not what an equation gives for them."""
    expected = np.broadcast_to(given, value.shape)
    if value.dtype.kind in "fiub" and expected.dtype.kind in "fiub":
        right = np.abs(value - expected * 1.0) <= TOLERANCE * np.maximum(1.0, np.abs(expected * 1.0))
    else:
        right = np.asarray(value == expected)
    if not np.all(right):
        first = int(np.argmin(right))
        row = _row(first, origin)
        raise DataError(
            f"the equation of {target!r} gives {plain_value(expected[first])!r} for row {row}, but the table has "
            f"{plain_value(value[first])!r}: give the equation noise, or mend the table"
        )


def _row(place: int, origin: Array | None) -> int:
    """The number of a person in the whole table, by their place among those of a branch."""
    return place if origin is None else int(origin[place])
