"""What a chart shows: rows of plain values, the same as a table, and the same in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any
from typing import Literal as OneOf

from isonomia.records.findings import must_be as claimed
from isonomia.records.scale import scale_of, stretch
from isonomia.records.verdict import Expression, Verdict
from isonomia.records.visible import cut, visible
from isonomia.records.words import interval, number
from isonomia.report.page.limits import Limits

__all__ = [
    "Drawing",
    "Kind",
    "clipped",
    "compared_drawings",
    "drawn",
    "left_out",
    "must_be",
    "printed",
    "rates",
    "short",
]

Kind = OneOf["history", "intervals", "rates", "shares", "kinds", "bounds"]

SETTLED = {True: "holds", False: "violated", None: "undecided"}

SOONER = (
    "The answer is about one claim, and may be proved before the interval, which speaks of every value at once, leaves "
    "the threshold."
)
"""Why a settled claim can have an interval that covers its threshold."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """One chart.

    Attributes
    ----------
    kind
        Which of the page's charts it is.
    title
        What it shows.
    words
        What can be seen in it, for those who cannot see it.
    rows
        The values that it is drawn from.
    params
        Numbers that the chart needs besides, by name.
    headings, table
        The same numbers as a table.
    key
        How to read it, or what was left out.
    """

    kind: Kind
    title: str
    words: str
    rows: tuple[dict[str, Any], ...]
    headings: tuple[str, ...]
    table: tuple[tuple[str, ...], ...]
    params: dict[str, float] = field(default_factory=dict)
    key: str = ""

    @property
    def columns(self) -> dict[str, list[Any]]:
        """The rows as columns, in which the names stand once."""
        return {name: [row[name] for row in self.rows] for name in (self.rows[0] if self.rows else ())}

    @property
    def lines(self) -> int:
        """How many lines lie one under the other; 0 for a chart with an upright axis."""
        return 1 + max((row.get("place", -1) for row in self.rows), default=-1)


def compared_drawings(verdict: Verdict, limits: Limits) -> list[Drawing]:
    """The interval of each compared quantity against its threshold; those with one threshold share a scale."""
    shown = verdict.expressions[: limits.rows]
    by_threshold: dict[float, list[Expression]] = {}
    for item in shown:
        by_threshold.setdefault(item.threshold, []).append(item)
    only = verdict.answer if len(verdict.expressions) == 1 else None
    more = left_out(verdict.expressions, shown)
    if verdict.answer != "undecided" and any(item.settled is None for item in shown):
        more = f" {SOONER}{more}"
    return [_compared_drawing(items, only, more) for items in by_threshold.values()]


def _compared_drawing(items: Sequence[Expression], answer: str | None, more: str) -> Drawing:
    ends = _common_scale(items)
    return Drawing(
        "intervals",
        f"What is known, against the threshold {number(items[0].threshold)}",
        "; ".join(_in_words(item) for item in items[:5]),
        tuple(_compared_row(place, item, ends, answer) for place, item in enumerate(items)),
        ("quantity", "claim", "estimate", "interval"),
        tuple((short(item.text, 300), must_be(item), number(item.estimate), interval(item)) for item in items),
        {"least": ends[0], "most": ends[1]},
        "The bar is what the data do not refute, the dot the estimate, the upright line the threshold; where the claim "
        f"is true is shaded.{more}",
    )


def rates(verdict: Verdict, limits: Limits) -> Drawing | None:
    """The rate or mean of each group with its interval and how many people it rests on."""
    shown = verdict.leaves[: limits.rows]
    if not shown:
        return None
    ends = stretch([value for leaf in shown for value in (leaf.low, leaf.high, leaf.estimate)], 0.04)
    rows = [
        {"place": place, "label": short(leaf.text, 160), "size": f"n = {leaf.n:,}", "estimate": drawn(leaf.estimate)}
        | {"low": clipped(leaf.low, ends), "high": clipped(leaf.high, ends)}
        | {"told": f"{number(leaf.estimate)} in {interval(leaf)}"}
        for place, leaf in enumerate(shown)
    ]
    return Drawing(
        "rates",
        "The rates behind it",
        "; ".join(f"{short(leaf.text, 100)} is {number(leaf.estimate)} in {interval(leaf)}" for leaf in shown[:5]),
        tuple(rows),
        ("rate or mean", "estimate", "interval", verdict.counted),
        tuple((short(leaf.text, 300), number(leaf.estimate), interval(leaf), f"{leaf.n:,}") for leaf in shown),
        {"least": ends[0], "most": ends[1]},
        f"n is how many {verdict.counted} a rate rests on." + left_out(verdict.leaves, shown),
    )


def left_out(whole: Sequence[Any], shown: Sequence[Any]) -> str:
    """A word on what a chart leaves out; empty where it is all there."""
    more = len(whole) - len(shown)
    return f" Shown are {len(shown):,} of {len(whole):,}; the record has them all." if more else ""


def clipped(value: float, ends: tuple[float, float]) -> float:
    """A value where it can be drawn: an end that is infinite, or far away, runs to the edge."""
    return min(max(value, ends[0]), ends[1])


def short(text: str, most: int) -> str:
    """A text on one line, cut, for charts and tables."""
    return visible(cut(" ".join(text[: 4 * most].split()) if len(text) <= 4 * most else text, most))


def must_be(item: Expression) -> str:
    """What is claimed of a quantity: ``must be ≥ 0.8``."""
    return printed(claimed(item))


def printed(words: str) -> str:
    """Words of our own with the signs that print has for comparisons."""
    return words.replace(">=", "≥").replace("<=", "≤")


def drawn(value: float | None) -> float | None:
    """A value where it can be drawn at all."""
    return value if value is not None and isfinite(value) else None


def _common_scale(items: Iterable[Expression]) -> tuple[float, float]:
    ends = [scale_of(item) for item in items]
    return min(left for left, _ in ends), max(right for _, right in ends)


def _compared_row(place: int, item: Expression, ends: tuple[float, float], answer: str | None) -> dict[str, Any]:
    edge = clipped(item.threshold, ends)
    fine = {">=": (edge, ends[1]), ">": (edge, ends[1]), "==": (edge, edge)}.get(item.relation, (ends[0], edge))
    return {
        "place": place,
        "label": short(item.text, 160),
        "must": must_be(item),
        "low": clipped(item.low, ends),
        "high": clipped(item.high, ends),
        "estimate": drawn(item.estimate),
        "threshold": edge,
        "fine_low": fine[0],
        "fine_high": fine[1],
        "answer": answer or SETTLED[item.settled],
        "told": f"{number(item.estimate)} in {interval(item)}",
    }


def _in_words(item: Expression) -> str:
    about = "has no estimate and" if item.estimate is None else f"is estimated at {number(item.estimate)} and"
    return f"{short(item.text, 100)} {about} lies in {interval(item)}; it {must_be(item)}"
