"""Responsiveness as charts: how the shares are spread over people, and who can do something, by group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from isonomia.records.verdict import Verdict
from isonomia.records.words import number
from isonomia.report.page.drawings import Drawing, left_out, short
from isonomia.report.page.limits import Limits

__all__ = ["responsiveness_drawings"]

KINDS = ("responsive", "fixed", "undecided")
_BINS = 20


def responsiveness_drawings(verdict: Verdict, limits: Limits) -> list[Drawing]:
    """The charts of a responsiveness verdict, in the order of the page."""
    return [_kinds(verdict, limits), *_shares(verdict)]


def _kinds(verdict: Verdict, limits: Limits) -> Drawing:
    everybody: tuple[str, Mapping[str, int]] = ("everybody", verdict.details["counts"])
    groups = [(_group_name(item["group"]), item) for item in verdict.details["groups"]]
    shown = [everybody, *groups][: limits.rows]
    rows = [row for place, (label, counts) in enumerate(shown) for row in _kind_rows(place, label, counts)]
    return Drawing(
        "kinds",
        "Who can do something about it",
        "; ".join(f"{short(label, 80)}: {_counts_in_words(counts)}" for label, counts in shown[:6]),
        tuple(rows),
        ("who", "people", *KINDS, "exact"),
        tuple(
            (short(label, 200), *(f"{counts[key]:,}" for key in ("people", *KINDS, "exact"))) for label, counts in shown
        ),
        key="Responsive: the share that they reach is proved to be above the limit. Fixed: proved to be below it. "
        "Exact: all that they can reach was looked at." + left_out([everybody, *groups], shown),
    )


def _kind_rows(place: int, label: str, counts: Mapping[str, int]) -> Iterable[dict[str, Any]]:
    whole, so_far = max(counts["people"], 1), 0
    for kind in KINDS:
        begin, so_far = so_far, so_far + counts[kind]
        yield {"place": place, "label": short(label, 160), "kind": kind, "count": counts[kind]} | {
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
    rows = _bars(bins, verdict.details["threshold"])
    unknown = len(people["share"]) - len(known)
    details = verdict.details
    drawing = Drawing(
        "shares",
        "How much of what people can do reaches the target",
        "; ".join(f"{row['count']:,} {row['kind']} with {row['told']}" for row in rows[:12]),
        tuple(rows),
        ("share", "are", "people"),
        tuple((row["told"], row["kind"], f"{row['count']:,}") for row in rows),
        key=f"A person counts at their share of reachable points with {short(details['target'], 120)}; the dashed line "
        f"is the limit, {number(details['threshold'])}."
        + (f" Of {unknown:,} people no share is known." if unknown else ""),
    )
    return [drawing]


def _bars(bins: Mapping[tuple[int, str], int], threshold: float) -> list[dict[str, Any]]:
    """Bars that stand on each other where their people have the same share."""
    height: Counter[int] = Counter()
    rows = []
    for (place, answer), count in sorted(bins.items(), key=lambda item: (item[0][0], KINDS.index(item[0][1]))):
        bottom, height[place] = height[place], height[place] + count
        rows.append(
            {"from": place / _BINS, "to": (place + 1) / _BINS, "bottom": bottom, "top": height[place]}
            | {"kind": answer, "count": count, "threshold": threshold}
            | {"told": f"{place / _BINS:.0%} to {(place + 1) / _BINS:.0%}"}
        )
    return rows


def _group_name(group: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {str(value)[:80]}" for name, value in group.items())


def _counts_in_words(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{counts[kind]:,} {kind}" for kind in KINDS) + f" of {counts['people']:,} people"
