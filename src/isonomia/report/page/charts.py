"""What charts show.

What a chart shows: rows of plain values, the same as a table, and the same in words.

How an interval closed in on its threshold, as a chart.

Principal fairness as charts: for each effect, its bounds in every subgroup.

Responsiveness as charts: how the shares are spread over people, and who can do something, by group.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, TypeAlias
from typing import Literal as OneOf

from isonomia.records.display.words import cut, interval, number, scale_of, sides, stretch, visible
from isonomia.records.display.words import must_be as claimed
from isonomia.records.verdict import Expression, Verdict
from isonomia.report.entries import Entry
from isonomia.report.page.meaning import Limits
from isonomia.report.principal import bounds, ends_of

__all__ = [
    "Drawing",
    "Kind",
    "clipped",
    "closing_in",
    "compared_drawings",
    "drawn",
    "left_out",
    "must_be",
    "principal_drawings",
    "printed",
    "rates",
    "responsiveness_drawings",
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


_MOST_EFFECTS = 8

Ends = Sequence[float] | None


def principal_drawings(verdict: Verdict, limits: Limits) -> list[Drawing]:
    """A chart for each effect, the subgroups that violate first."""
    found = verdict.details["subgroups"]
    shown = sorted(found, key=lambda item: item["answer"] != "violated")[: limits.rows]
    effects = range(min(len(shown[0]["effects"]), _MOST_EFFECTS)) if shown else ()
    return [_effect(verdict, shown, number, left_out(found, shown)) for number in effects]


def _effect(verdict: Verdict, shown: Sequence[Mapping[str, Any]], number: int, more: str) -> Drawing:
    details, exact = verdict.details, verdict.method == "exact"
    pairs = [ends_of(item["effects"][number], verdict) for item in shown]
    limits = (-details["within"], details["within"])
    ends = stretch([*limits, *(end for pair in pairs for one in pair for end in one or ())], 0.08)
    rows = [
        _row_principal(place, item, pair, limits, exact)
        for place, (item, pair) in enumerate(zip(shown, pairs, strict=True))
    ]
    first = shown[0]["effects"][number]
    return Drawing(
        "bounds",
        f"Difference in treatment: {first['words']}",
        "; ".join(f"{row['label']}: {row['told']}, {row['answer']}" for row in rows[:6]),
        tuple(rows),
        ("subgroup", "people", "answer", "not refuted", "in the sample"),
        tuple(
            (short(item["subgroup"], 200), f"{item['people']:,}", item["answer"], bounds(interval), bounds(sample))
            for item, (interval, sample) in zip(shown, pairs, strict=True)
        ),
        {"least": ends[0], "most": ends[1]},
        _key(details["within"], exact, _sooner(shown, pairs, details["within"])) + more,
    )


def _row_principal(
    place: int, item: Mapping[str, Any], pair: tuple[Ends, Ends], limits: tuple[float, float], exact: bool
) -> dict[str, Any]:
    interval, sample = pair
    thick = interval if exact else sample
    return {
        "place": place,
        "label": short(item["subgroup"], 160),
        "size": f"{item['people']:,} people",
        "answer": item["answer"],
        "low": None if interval is None else interval[0],
        "high": None if interval is None else interval[1],
        "sample_low": None if thick is None else thick[0],
        "sample_high": None if thick is None else thick[1],
        "limit_low": limits[0],
        "limit_high": limits[1],
        "told": bounds(interval),
        "sample": bounds(sample),
    }


def _sooner(shown: Sequence[Mapping[str, Any]], pairs: Sequence[tuple[Ends, Ends]], within: float) -> bool:
    """Whether a subgroup has an answer that its interval does not show yet."""
    for item, (told, _) in zip(shown, pairs, strict=True):
        if told is None or item["answer"] == "undecided":
            continue
        inside, outside = max(map(abs, told)) <= within, told[0] > within or told[1] < -within
        if not (inside if item["answer"] == "holds" else outside):
            return True
    return False


def _key(within: float, exact: bool, sooner: bool) -> str:
    limit = (
        f"the upright lines are the margin, {within:g} either way" if within else "the upright line is no difference"
    )
    if exact:
        return f"The bar is what the counts of everybody allow; {limit}."
    told = f"The thin line is what the data do not refute, the thick one what the sample's own shares allow; {limit}."
    return f"{told} {SOONER}" if sooner else told


_BINS = 20
_WORDS = {"holds": "keep it", "violated": "break it", "undecided": "undecided"}
"""What people are called on the charts, whichever way the claim goes."""


def responsiveness_drawings(verdict: Verdict, limits: Limits) -> list[Drawing]:
    """The charts of a responsiveness verdict, in the order of the page."""
    return [_kinds(verdict, limits), *_shares(verdict)]


def _words(details: Mapping[str, Any]) -> dict[str, str]:
    """What the kinds of the record are called, those first of whom the claim is true."""
    return {side.kind: _WORDS[side.answer] for side in sides(details)}


def _kinds(verdict: Verdict, limits: Limits) -> Drawing:
    everybody: tuple[str, Mapping[str, int]] = ("everybody", verdict.details["counts"])
    groups = [(_group_name(item["group"]), item) for item in verdict.details["groups"]]
    shown = [everybody, *groups][: limits.rows]
    words = _words(verdict.details)
    rows = [row for place, (label, counts) in enumerate(shown) for row in _kind_rows(place, label, counts, words)]
    return Drawing(
        "kinds",
        "Of whom the claim is true",
        "; ".join(f"{short(label, 80)}: {_counts_in_words(counts, words)}" for label, counts in shown[:6]),
        tuple(rows),
        ("who", "people", *words.values(), "exact"),
        tuple(
            (short(label, 200), *(f"{counts[key]:,}" for key in ("people", *words, "exact"))) for label, counts in shown
        ),
        key=_key_responsiveness(verdict.details) + left_out([everybody, *groups], shown),
    )


def _key_responsiveness(details: Mapping[str, Any]) -> str:
    """How to read the kinds: who can reach the target keeps one claim, and breaks another."""
    above, below = "proved to be above the limit", "proved to be below it"
    if details["relation"] == "<=":
        told = f"Break it: the share that they reach is {above} (responsive). Keep it: {below} (fixed)."
    else:
        told = f"Keep it: the share that they reach is {above} (responsive). Break it: {below} (fixed)."
    return f"{told} Exact: all that they can reach was looked at."


def _kind_rows(place: int, label: str, counts: Mapping[str, int], words: Mapping[str, str]) -> Iterable[dict[str, Any]]:
    whole, so_far = max(counts["people"], 1), 0
    for kind, told in words.items():
        begin, so_far = so_far, so_far + counts[kind]
        yield {"place": place, "label": short(label, 160), "kind": told, "count": counts[kind]} | {
            "from": begin / whole,
            "to": so_far / whole,
            "size": f"{counts['people']:,} people",
        }


def _shares(verdict: Verdict) -> list[Drawing]:
    people = verdict.details["people"]
    known = [
        (share, answer) for share, answer in zip(people["share"], people["answer"], strict=True) if share is not None
    ]
    if not known:
        return []
    bins = Counter((min(int(share * _BINS), _BINS - 1), answer) for share, answer in known)
    rows = _bars(bins, verdict.details["threshold"], _words(verdict.details))
    unknown = len(people["share"]) - len(known)
    details = verdict.details
    drawing = Drawing(
        "shares",
        "How much of what people can do reaches the target",
        "; ".join(f"{row['count']:,} {row['kind']} with {row['told']}" for row in rows[:12]),
        tuple(rows),
        ("share", "these people", "how many"),
        tuple((row["told"], row["kind"], f"{row['count']:,}") for row in rows),
        key=f"A person counts at their share of reachable points with {short(details['target'], 120)}; the dashed line "
        f"is the limit, {number(details['threshold'])}."
        + (f" Of {unknown:,} people no share is known." if unknown else ""),
    )
    return [drawing]


def _bars(bins: Mapping[tuple[int, str], int], threshold: float, words: Mapping[str, str]) -> list[dict[str, Any]]:
    """Bars that stand on each other where their people have the same share."""
    height: Counter[int] = Counter()
    rows, order = [], list(words)
    for (place, answer), count in sorted(bins.items(), key=lambda item: (item[0][0], order.index(item[0][1]))):
        bottom, height[place] = height[place], height[place] + count
        rows.append(
            {"from": place / _BINS, "to": (place + 1) / _BINS, "bottom": bottom, "top": height[place]}
            | {"kind": words[answer], "count": count, "threshold": threshold}
            | {"told": f"{place / _BINS:.0%} to {(place + 1) / _BINS:.0%}"}
        )
    return rows


def _group_name(group: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {str(value)[:80]}" for name, value in group.items())


def _counts_in_words(counts: Mapping[str, int], words: Mapping[str, str]) -> str:
    return ", ".join(f"{counts[kind]:,} {told}" for kind, told in words.items()) + f" of {counts['people']:,} people"
