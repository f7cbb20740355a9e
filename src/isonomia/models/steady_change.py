"""Whether a second answer is another answer."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.models.outputs import array_from
from isonomia.models.protocol import Answer
from isonomia.populations.columns import plain_value

__all__ = ["first_change"]

# A batch of another size may be summed in another order, in single precision: that is rounding, not another answer.
_RELATIVE, _ABSOLUTE = 1e-4, 1e-6


def first_change(first: Answer, again: Answer) -> tuple[int, str, str] | None:
    """The first row whose answer changed by more than rounding, and both answers; ``None`` where none did.

    A label has changed where it differs at all; a number where it differs by more than a ten-thousandth of itself.
    """
    for what in ("prediction", "score"):
        before, after = getattr(first, what), getattr(again, what)
        if before is None or after is None:
            continue
        before, after = array_from(before), array_from(after)
        differs = _differs(before, after)
        if differs.any():
            row = int(np.argmax(differs))
            return row, f"the {what} {_told(before, row)}", _told(after, row)
    return None


def _differs(before: NDArray[Any], after: NDArray[Any]) -> NDArray[np.bool_]:
    if before.shape != after.shape:
        return np.ones(max(len(before), 1), dtype=bool)
    if before.dtype.kind == "f" or after.dtype.kind == "f":
        try:
            differs = ~np.isclose(
                after.astype(np.float64), before.astype(np.float64), rtol=_RELATIVE, atol=_ABSOLUTE, equal_nan=True
            )
        except (TypeError, ValueError):  # numbers before, words after
            differs = np.asarray(before != after)
    else:
        differs = np.asarray(before != after)
    return np.asarray(differs if differs.ndim == 1 else differs.reshape(len(before), -1).any(axis=1))


def _told(array: NDArray[Any], row: int) -> str:
    if row >= len(array):
        return "nothing"
    value = array[row]
    return str(value.tolist()) if isinstance(value, np.ndarray) else repr(plain_value(value))
