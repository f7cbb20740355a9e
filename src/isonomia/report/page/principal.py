"""Principal fairness as charts: for each effect, its bounds in every subgroup."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from isonomia.records.scale import stretch
from isonomia.records.verdict import Verdict
from isonomia.report.page.drawings import SOONER, Drawing, left_out, short
from isonomia.report.page.limits import Limits
from isonomia.report.principal import bounds, ends_of

__all__ = ["principal_drawings"]

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
    rows = [_row(place, item, pair, limits, exact) for place, (item, pair) in enumerate(zip(shown, pairs, strict=True))]
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


def _row(
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
    for item, (interval, _) in zip(shown, pairs, strict=True):
        if interval is None or item["answer"] == "undecided":
            continue
        inside, outside = max(map(abs, interval)) <= within, interval[0] > within or interval[1] < -within
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
