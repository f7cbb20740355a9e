"""A gauge: an interval, its estimate and a threshold on one line of text."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

from isonomia.records.scale import scale_of
from isonomia.records.verdict import Expression

__all__ = ["ASCII", "UNICODE", "Marks", "gauge"]


@dataclass(frozen=True, slots=True)
class Marks:
    """The characters that a gauge is drawn with."""

    axis: str
    inside: str
    estimate: str
    threshold: str


UNICODE = Marks("┄", "━", "●", "┃")
ASCII = Marks(".", "=", "o", "|")


def gauge(item: Expression, width: int, marks: Marks = UNICODE) -> str:
    """Draw an expression's interval against its threshold.

    The scale reaches a quarter beyond what must be seen on either side; an end that is infinite runs off the line.
    Where the threshold and the estimate fall on one place, the threshold is shown.
    """
    left, right = scale_of(item)

    def place(value: float) -> int:
        return round((min(max(value, left), right) - left) / (right - left) * (width - 1))

    line = [marks.axis] * width
    for index in range(place(item.low), place(item.high) + 1):
        line[index] = marks.inside
    if item.estimate is not None and isfinite(item.estimate):
        line[place(item.estimate)] = marks.estimate
    line[place(item.threshold)] = marks.threshold
    return "".join(line)
