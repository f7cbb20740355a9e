"""The stretch of a line on which an interval, its estimate and its threshold are drawn."""

from __future__ import annotations

from collections.abc import Iterable
from math import isfinite
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isonomia.records.verdict import Expression

__all__ = ["scale_of", "stretch"]


def scale_of(item: Expression) -> tuple[float, float]:
    """The ends of a line that shows an expression: a quarter beyond what must be seen on either side."""
    return stretch((item.low, item.high, item.threshold, item.estimate), 0.25)


def stretch(values: Iterable[float | None], beyond: float) -> tuple[float, float]:
    """The ends of a line that shows all the finite values, and a part of their spread beyond on either side."""
    seen = [value for value in values if value is not None and isfinite(value)] or [0.0]
    least, most = min(seen), max(seen)
    reach = beyond * (most - least) or beyond * abs(most) or 1.0
    return least - reach, most + reach
