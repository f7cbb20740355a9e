"""How an interval closed in on its threshold, as a chart."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import TypeAlias

from isonomia.records.scale import stretch
from isonomia.records.verdict import Expression
from isonomia.records.words import number
from isonomia.report.entries import Entry
from isonomia.report.page.drawings import SOONER, Drawing, clipped, drawn, must_be, short
from isonomia.report.page.limits import Limits

__all__ = ["closing_in"]

Point: TypeAlias = tuple[int, float, float | None, float]
"""Samples, and the lowest value, the estimate and the highest value after so many."""


_BEYOND = 1.08
"""How far the chart goes on behind the last sample, so that the last interval can be seen."""


def closing_in(entry: Entry, limits: Limits) -> Drawing | None:
    """How the interval closed in on its threshold, sample after sample.

    ``None`` where that was not kept, and where there is nothing to see: one moment, or an interval that never moved.
    """
    verdict = entry.verdict
    known = list({point[0]: point for point in entry.history if point[0] > 0}.values())
    if len({(low, high) for _, low, _, high in known}) < 2 or not verdict.expressions:
        return None
    item, points = verdict.expressions[0], _thinned(known, limits.points)
    ends = _window(points, item.threshold)
    first, last = points[0], points[-1]
    sooner = f" {SOONER}" if verdict.answer != "undecided" and item.settled is None else ""
    return Drawing(
        "history",
        "How the interval closed in",
        f"After {first[0]:,} {verdict.counted} the interval was {_ends(first)}; after {last[0]:,} it was {_ends(last)}."
        f" The value {must_be(item)}.",
        (*(_row(point, ends, item) for point in points), _row(last, ends, item) | {"at": last[0] * _BEYOND}),
        (verdict.counted, "estimate", "interval"),
        tuple((f"{point[0]:,}", number(point[2]), _ends(point)) for point in _thinned(points, min(12, limits.rows))),
        {"least": ends[0], "most": ends[1]},
        f"{short(item.text, 200)} {must_be(item)}, the dashed line; the band is what the data had not refuted after so "
        f"many {verdict.counted}.{sooner}",
    )


def _window(points: Sequence[Point], threshold: float) -> tuple[float, float]:
    """The ends of the upright axis: room for the end of the story, and for its beginning as far as that stays readable.

    Early intervals can be a hundred times as wide as the last one; they run off the chart.
    """
    _, low, estimate, high = points[-1]
    near = stretch((threshold, low, estimate, high), 1.5)
    whole = [value for point in points for value in (threshold, *point[1:]) if value is not None and isfinite(value)]
    least, most = stretch(whole, 0.06)
    if min(whole) >= 0:
        least = max(least, 0.0)  # what cannot be negative has no room below zero
    return max(least, near[0]), min(most, near[1])


def _row(point: Point, ends: tuple[float, float], item: Expression) -> dict[str, object]:
    n, low, estimate, high = point
    return {"n": n, "at": n, "low": clipped(low, ends), "high": clipped(high, ends), "estimate": drawn(estimate)} | {
        "told": f"{number(estimate)} in {_ends(point)}",
        "threshold": item.threshold,
    }


def _ends(point: Point) -> str:
    return f"[{number(point[1])}, {number(point[3])}]"


def _thinned(points: Sequence[Point], most: int) -> list[Point]:
    """No more points than can be told apart, the last one always among them."""
    step = max(1, -(-len(points) // most))
    return list(points[::-1][::step][::-1])
