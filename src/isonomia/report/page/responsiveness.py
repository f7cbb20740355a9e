"""Responsiveness as charts: how the shares are spread over people, and who can do something, by group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from isonomia.records.findings import sides
from isonomia.records.verdict import Verdict
from isonomia.records.words import number
from isonomia.report.page.drawings import Drawing, left_out, short
from isonomia.report.page.limits import Limits

__all__ = ["responsiveness_drawings"]

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
        key=_key(verdict.details) + left_out([everybody, *groups], shown),
    )


def _key(details: Mapping[str, Any]) -> str:
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
