"""What a chart shows: rows of plain values, the same as a table, and the same in words."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, TypeAlias
from typing import Literal as OneOf

from isonomia.records.display.view import (
    Block,
    PeopleCounts,
    PeopleKind,
    Quantities,
    Rates,
    SubgroupBounds,
    Subgroups,
    draws,
    interval,
    scale_of,
    stretch,
    unit,
    view_of,
)
from isonomia.records.display.view import must_be as claimed
from isonomia.records.verdict import ANSWERS, Expression, LeafRecord, Verdict
from isonomia.report.entries import Entry
from isonomia.report.page.counterexamples import PageLimits
from isonomia.report.page.labels import RATE, group_labels, possible, printed, short, unit_of
from isonomia.report.page.vega import ACROSS, AXIS
from isonomia.report.terminal import bounds
from isonomia.wording import number

Kind = OneOf[
    "history", "intervals", "rates", "shares", "kinds", "bounds", "ratios", "reliability", "timeline", "counts"
]

TOGETHER = (
    "The answer is about all comparisons together; one whose interval covers its threshold is undecided on its own."
)
"""Why a claim can be decided though some of its comparisons are not."""


@dataclass(frozen=True, slots=True)
class ChartDrawing:
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
        Further numbers or labels that the chart needs, by name.
    headings, table
        The same numbers as a table.
    key
        How to read it, or what was left out.
    axis, across
        The title of the axis of values, and of that of samples, if there is one.
    """

    kind: Kind
    title: str
    words: str
    rows: tuple[dict[str, Any], ...]
    headings: tuple[str, ...]
    table: tuple[tuple[str, ...], ...]
    params: dict[str, Any] = field(default_factory=dict)
    key: str = ""
    axis: str = ""
    across: str = ""

    @property
    def titles(self) -> dict[str, str]:
        """The titles of the axes, by their marks in the specifications."""
        return {AXIS: self.axis, ACROSS: self.across}

    @property
    def columns(self) -> dict[str, list[Any]]:
        """The rows as columns, so that each name is written once."""
        return {name: [row[name] for row in self.rows] for name in (self.rows[0] if self.rows else ())}

    @property
    def lines(self) -> int:
        """How many lines there are, one below the other; 0 for a chart with a vertical axis."""
        return 1 + max((row.get("place", -1) for row in self.rows), default=-1)


def drawings_of(entry: Entry, limits: PageLimits) -> tuple[ChartDrawing, ...]:
    """The charts of a property: how its interval narrowed, then those of its view, in order."""
    history = interval_history(entry, limits)
    drawings = [] if history is None else [history]
    for block in view_of(entry.verdict).drawn(entry.verdict):
        drawings += _drawings(block, entry.verdict, limits)
    return tuple(drawings)


def _drawings(block: Block, verdict: Verdict, limits: PageLimits) -> list[ChartDrawing]:
    match block:
        case Quantities(items):
            return _quantities(items, verdict, limits)
        case Rates(items):
            return [_rates(items, "rows" if unit(verdict) == "rows" else verdict.counted, limits)]
        case Subgroups():
            return _effects(block, limits)
        case PeopleCounts():
            return [_kinds(block, limits), *_shares(block)]
        case _:
            return []  # the page has these in words, or as a table


def _quantities(items: Sequence[Expression], verdict: Verdict, limits: PageLimits) -> list[ChartDrawing]:
    """The interval of each compared quantity against its threshold; those with one threshold share a scale."""
    shown = items[: limits.rows]
    by_threshold: dict[float, list[Expression]] = {}
    for item in shown:
        by_threshold.setdefault(item.threshold, []).append(item)
    only = verdict.answer if len(items) == 1 and not verdict.groups else None
    more = left_out(items, shown)
    if verdict.answer != "undecided" and any(item.settled is None for item in shown):
        more = f" {TOGETHER}{more}"
    return [_compared_drawing(alike, only, more) for alike in by_threshold.values()]


def _compared_drawing(items: Sequence[Expression], answer: str | None, more: str) -> ChartDrawing:
    units = {unit_of(item.text) for item in items}
    ends = possible(_common_scale(items), units)
    return ChartDrawing(
        "intervals",
        f"Findings against the threshold {number(items[0].threshold)}",
        "; ".join(in_words(item) for item in items[:5]),
        tuple(
            compared_row(place, item, label, ends, answer)
            for place, (item, label) in enumerate(zip(items, group_labels([item.text for item in items]), strict=True))
        ),
        ("quantity", "claim", "estimate", "interval"),
        tuple((short(item.text, 300), must_be(item), number(item.estimate), interval(item)) for item in items),
        {"least": ends[0], "most": ends[1]},
        "Bar: interval. Dot: estimate. Line: threshold. Shaded: meets the claim."
        f"{'' if ends[0] <= 0.0 else ' The axis does not begin at 0.'}{more}",
        axis=units.pop() if len(units) == 1 else "",
    )


NARROW = 0.01
"""How far an axis extends at least on both sides of a rate."""


def _rates(leaves: Sequence[LeafRecord], counted: str, limits: PageLimits) -> ChartDrawing:
    """The rate or mean of each group, with its interval and the number of people behind it."""
    shown = leaves[: limits.rows]
    known = [value for leaf in shown for value in (leaf.low, leaf.high, leaf.estimate)]
    # A proved rate has hardly any width: an axis just for it would have the same number at every tick.
    around = [leaf.estimate + step for leaf in shown if leaf.estimate is not None for step in (-NARROW, NARROW)]
    units = {unit_of(leaf.text) for leaf in shown}
    ends = possible(stretch([*known, *around], 0.04), units)
    labels = group_labels([leaf.text for leaf in shown])
    rows = [
        {
            "place": place,
            "label": short(labels[place], 160),
            "size": f"n = {draws(leaf)}" if draws(leaf) else "proved",
            "estimate": _drawn(leaf.estimate),
        }
        | {"low": clipped(leaf.low, ends), "high": clipped(leaf.high, ends)}
        | {"shown": f"{number(leaf.estimate)} in {interval(leaf)}"}
        for place, leaf in enumerate(shown)
    ]
    return ChartDrawing(
        "rates",
        "The rates behind it",
        "; ".join(f"{short(leaf.text, 100)} is {number(leaf.estimate)} in {interval(leaf)}" for leaf in shown[:5]),
        tuple(rows),
        ("rate or mean", "estimate", "interval", counted),
        tuple((short(leaf.text, 300), number(leaf.estimate), interval(leaf), draws(leaf)) for leaf in shown),
        {"least": ends[0], "most": ends[1]},
        (f"n: the number of {counted} a rate is based on." if any(leaf.n for leaf in shown) else "What was proved.")
        + ("" if ends[0] <= 0.0 else " The axis does not begin at 0.")
        + left_out(leaves, shown),
        axis="rate" if units == {RATE} else "mean" if RATE not in units else "rate or mean",
    )


def left_out(whole: Sequence[Any], shown: Sequence[Any]) -> str:
    """A note on what a chart leaves out; empty where nothing is."""
    more = len(whole) - len(shown)
    return f" Shown: {len(shown):,} of {len(whole):,}; the record has them all." if more else ""


def clipped(value: float, ends: tuple[float, float]) -> float:
    """A value moved into the range of the chart: an end that is infinite, or far away, runs to the edge."""
    return min(max(value, ends[0]), ends[1])


def must_be(item: Expression) -> str:
    """What is claimed of a quantity: ``must be ≥ 0.8``."""
    return printed(claimed(item))


def _drawn(value: float | None) -> float | None:
    """A value if it can be drawn, else ``None``."""
    return value if value is not None and isfinite(value) else None


def _common_scale(items: Iterable[Expression]) -> tuple[float, float]:
    ends = [scale_of(item) for item in items]
    return min(left for left, _ in ends), max(right for _, right in ends)


def compared_row(
    place: int, item: Expression, label: str, ends: tuple[float, float], answer: str | None
) -> dict[str, Any]:
    """A line of a chart of intervals: the quantity, its threshold, and the zone that meets the claim."""
    edge = clipped(item.threshold, ends)
    fine = {">=": (edge, ends[1]), ">": (edge, ends[1]), "==": (edge, edge)}.get(item.relation, (ends[0], edge))
    return {
        "place": place,
        "label": short(label, 160),
        "must": must_be(item),
        "low": clipped(item.low, ends),
        "high": clipped(item.high, ends),
        "estimate": _drawn(item.estimate),
        "threshold": edge,
        "fine_low": fine[0],
        "fine_high": fine[1],
        "answer": answer or ANSWERS[item.settled],
        "shown": f"{number(item.estimate)} in {interval(item)}",
    }


def in_words(item: Expression) -> str:
    """A quantity in words, for readers who cannot see the chart."""
    about = "has no estimate and" if item.estimate is None else f"is estimated at {number(item.estimate)} and"
    return f"{short(item.text, 100)} {about} lies in {interval(item)}; it {must_be(item)}"


Point: TypeAlias = tuple[int, float, float | None, float]
"""A number of samples, and the lowest value, the estimate and the highest value after them."""


_BEYOND = 1.08
"""How far the chart continues after the last sample, so that the last interval can be seen."""


def interval_history(entry: Entry, limits: PageLimits) -> ChartDrawing | None:
    """How the interval narrowed as samples came in.

    ``None`` where that was not kept, and where there is nothing to see: one point, or an interval that never changed.
    """
    verdict = entry.verdict
    known = list({point[0]: point for point in entry.history if point[0] > 0}.values())
    item = verdict.headline
    if len({(low, high) for _, low, _, high in known}) < 2 or item is None:
        return None
    points = _thinned(known, limits.points)
    whose = " of the comparison that was worst at the time" if verdict.groups else ""
    ends = _window(points, item.threshold)
    first, last = points[0], points[-1]
    return ChartDrawing(
        "history",
        "How the interval narrowed",
        f"After {first[0]:,} {verdict.counted} the interval was {_ends(first)}; after {last[0]:,} it was {_ends(last)}."
        f" The value {must_be(item)}.",
        (*(_row(point, ends, item) for point in points), _row(last, ends, item) | {"at": last[0] * _BEYOND}),
        (verdict.counted, "estimate", "interval"),
        tuple((f"{point[0]:,}", number(point[2]), _ends(point)) for point in _thinned(points, min(12, limits.rows))),
        {"least": ends[0], "most": ends[1]},
        f"{short(item.text, 200)} {must_be(item)}, the dashed line; band: not yet refuted by the data{whose} "
        f"after so many {verdict.counted}.",
        axis=unit_of(item.text) or "value",
        across=f"{verdict.counted} (logarithmic)",
    )


def _window(points: Sequence[Point], threshold: float) -> tuple[float, float]:
    """The ends of the vertical axis: room for the last intervals, and for the first as far as that stays readable.

    Early intervals can be a hundred times as wide as the last one; they run off the chart.
    """
    _, low, estimate, high = points[-1]
    near = stretch((threshold, low, estimate, high), 1.5)
    whole = [value for point in points for value in (threshold, *point[1:]) if value is not None and isfinite(value)]
    least, largest = stretch(whole, 0.06)
    if min(whole) >= 0:
        least = max(least, 0.0)  # no room below zero where nothing is negative
    return max(least, near[0]), min(largest, near[1])


def _row(point: Point, ends: tuple[float, float], item: Expression) -> dict[str, object]:
    n, low, estimate, high = point
    return {"n": n, "at": n, "low": clipped(low, ends), "high": clipped(high, ends), "estimate": _drawn(estimate)} | {
        "shown": f"{number(estimate)} in {_ends(point)}",
        "threshold": item.threshold,
    }


def _ends(point: Point) -> str:
    return f"[{number(point[1])}, {number(point[3])}]"


def _thinned(points: Sequence[Point], limit: int) -> list[Point]:
    """At most ``limit`` points, always including the last one."""
    step = max(1, -(-len(points) // limit))
    return list(points[::-1][::step][::-1])


_MAX_EFFECTS = 8


def _effects(block: Subgroups, limits: PageLimits) -> list[ChartDrawing]:
    """A chart for each effect, the subgroups that violate first."""
    shown = block.items[: limits.rows]
    count = min(len(shown[0].effects), _MAX_EFFECTS) if shown else 0
    return [_effect(block, shown, index) for index in range(count)]


def _effect(block: Subgroups, shown: Sequence[SubgroupBounds], index: int) -> ChartDrawing:
    margins = (-block.margin, block.margin)
    effects = [item.effects[index] for item in shown]
    known = [end for effect in effects for pair in (effect.interval, effect.sample) for end in pair or ()]
    ends = stretch([*margins, *known], 0.08)
    rows = [_bounds_row(place, item, index, block) for place, item in enumerate(shown)]
    return ChartDrawing(
        "bounds",
        f"Difference in treatment: {effects[0].words}",
        "; ".join(f"{row['label']}: {row['shown']}, {row['answer']}" for row in rows[:6]),
        tuple(rows),
        ("subgroup", "size", "answer", *(("bounds",) if block.exact else ("not refuted", "in the sample"))),
        tuple(
            (
                short(item.name, 200),
                item.size,
                item.answer,
                bounds(effect.interval),
                *(() if block.exact else (bounds(effect.sample),)),
            )
            for item, effect in zip(shown, effects, strict=True)
        ),
        {"least": ends[0], "most": ends[1]},
        _bounds_key(block) + left_out(block.items, shown),
        axis="difference in treatment",
    )


def _bounds_row(place: int, item: SubgroupBounds, index: int, block: Subgroups) -> dict[str, Any]:
    effect = item.effects[index]
    low, high = effect.interval or (None, None)
    sample_low, sample_high = (effect.interval if block.exact else effect.sample) or (None, None)
    return {
        "place": place,
        "label": short(item.name, 160),
        "size": item.size,
        "answer": item.answer,
        "low": low,
        "high": high,
        "sample_low": sample_low,
        "sample_high": sample_high,
        "limit_low": -block.margin,
        "limit_high": block.margin,
        "shown": bounds(effect.interval),
        "sample": bounds(effect.sample),
    }


def _bounds_key(block: Subgroups) -> str:
    limit = "the upright line marks no difference"
    if block.margin:
        limit = f"the upright lines are the margin, {block.margin:g} either way"
    if block.exact:
        return f"Bar: the values that a subgroup's table allows; {limit}."
    return f"Thin line: not refuted by the data. Thick line: allowed by the sample's own shares; {limit}."


_BINS = 20
_WORDS = {"holds": "meet it", "violated": "violate it", "undecided": "undecided"}
"""The names of the kinds of people on the charts, whichever way the claim goes."""


def _words(kinds: Sequence[PeopleKind]) -> dict[str, str]:
    """The names of the kinds of people, by the keys of their counts."""
    return {kind.key: _WORDS[kind.answer] for kind in kinds}


def _kinds(block: PeopleCounts, limits: PageLimits) -> ChartDrawing:
    groups = [("all rows", block.counts), *((_group_name(group), counts) for group, counts in block.groups)]
    shown, words = groups[: limits.rows], _words(block.kinds)
    rows = [row for place, (label, counts) in enumerate(shown) for row in _kind_rows(place, label, counts, words)]
    return ChartDrawing(
        "kinds",
        "Who meets the claim",
        "; ".join(f"{short(label, 80)}: {_countsin_words(counts, words)}" for label, counts in shown[:6]),
        tuple(rows),
        ("who", "people", *words.values(), "exact"),
        tuple(
            (short(label, 200), *(f"{counts[key]:,}" for key in ("people", *words, "exact"))) for label, counts in shown
        ),
        key=_kinds_key(block.relation) + left_out(groups, shown),
    )


def _kinds_key(relation: str) -> str:
    """How to read the kinds: people who can reach the target meet one kind of claim, and violate the other."""
    above, below = "proved to be above the limit", "proved to be below it"
    if relation == "<=":
        key = f"Violate it: the share that they reach is {above} (responsive). Meet it: {below} (fixed)."
    else:
        key = f"Meet it: the share that they reach is {above} (responsive). Violate it: {below} (fixed)."
    return f"{key} Exact: every point that they can reach was checked."


def _kind_rows(place: int, label: str, counts: Mapping[str, int], words: Mapping[str, str]) -> Iterable[dict[str, Any]]:
    whole, so_far = max(counts["people"], 1), 0
    for kind, kind_words in words.items():
        begin, so_far = so_far, so_far + counts[kind]
        yield {"place": place, "label": short(label, 160), "kind": kind_words, "count": counts[kind]} | {
            "from": begin / whole,
            "to": so_far / whole,
            "size": f"{counts['people']:,} people",
        }


def _shares(block: PeopleCounts) -> list[ChartDrawing]:
    known = [(share, kind) for share, kind in block.shares if share is not None]
    if not known:
        return []
    rows = _bars(known, block.threshold, _words(block.kinds))
    unknown = len(block.shares) - len(known)
    drawing = ChartDrawing(
        "shares",
        "Share of options that reach the target",
        "; ".join(f"{row['count']:,} {row['kind']} with {row['shown']}" for row in rows[:12]),
        tuple(rows),
        ("share", "these people", "how many"),
        tuple((row["shown"], row["kind"], f"{row['count']:,}") for row in rows),
        key=f"A person counts at their share of reachable points with {short(block.target, 120)}; the dashed line "
        f"is the limit, {number(block.threshold)}."
        + (f" The share is unknown for {unknown:,} people." if unknown else ""),
    )
    return [drawing]


def _bars(known: Iterable[tuple[float, str]], threshold: float, words: Mapping[str, str]) -> list[dict[str, Any]]:
    """Bars, stacked where their people have the same share; the threshold is the edge of a bar."""
    edges = sorted({*(place / _BINS for place in range(_BINS + 1)), min(max(threshold, 0.0), 1.0)})
    bins = Counter((min(bisect_right(edges, share), len(edges) - 1) - 1, kind) for share, kind in known)
    height: Counter[int] = Counter()
    rows, order = [], list(words)
    for (place, answer), count in sorted(bins.items(), key=lambda item: (item[0][0], order.index(item[0][1]))):
        bottom, height[place] = height[place], height[place] + count
        rows.append(
            {"from": edges[place], "to": edges[place + 1], "bottom": bottom, "top": height[place]}
            | {"kind": words[answer], "count": count, "threshold": threshold}
            | {"shown": f"{percent(edges[place])} to {percent(edges[place + 1])}"}
        )
    return rows


def percent(share: float) -> str:
    """A share in percent, with as many digits as it takes: ``5%``, ``1.25%``."""
    return f"{float(f'{100 * share:.6g}'):g}%"


def _group_name(group: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {str(value)[:80]}" for name, value in group.items())


def _countsin_words(counts: Mapping[str, int], words: Mapping[str, str]) -> str:
    return (
        ", ".join(f"{counts[kind]:,} {kind_words}" for kind, kind_words in words.items())
        + f" of {counts['people']:,} people"
    )
