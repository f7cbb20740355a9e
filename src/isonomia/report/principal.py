"""Principal fairness on the terminal: what is known of every subgroup, and a repair as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from isonomia.records.display.words import SIGNS, number
from isonomia.records.verdict import Verdict
from isonomia.report.status import COLOURS

__all__ = ["bounds", "ends_of", "repair_table", "strip", "subgroups"]

MOST_SHOWN = 16
"""Subgroups that are shown, those that violate first; the stored verdict has all."""

WIDTH = 21


@dataclass(frozen=True, slots=True)
class Marks:
    """The characters that a strip is drawn with: the line, the interval, the sample's own bounds, the limits."""

    axis: str
    interval: str
    sample: str
    limit: str


UNICODE = Marks("┄", "─", "━", "┃")
ASCII = Marks(".", "-", "=", "|")


def subgroups(verdict: Verdict, fancy: bool) -> RenderableType:
    """Every subgroup with its people, its evidence and the interval of each effect.

    The strips share one scale, from minus to plus the largest end, so that subgroups can be compared by eye.
    """
    found = sorted(verdict.details["subgroups"], key=lambda item: item["answer"] != "violated")
    shown, exact = found[:MOST_SHOWN], verdict.method == "exact"
    reach = max((abs(end) for item in shown for effect in item["effects"] for end in _ends(effect, verdict)), default=1)
    parts: list[RenderableType] = [_key(verdict, exact, fancy), Text()]
    for item in shown:
        parts += [_heading(item, verdict, fancy), _effects(item, verdict, reach or 1.0, fancy)]
    if len(found) > len(shown):
        parts.append(
            Text(f"... and {len(found) - len(shown)} more subgroups, which the stored verdict has", style="dim")
        )
    return Group(*parts)


def strip(
    interval: Sequence[float], sample: Sequence[float] | None, limits: Sequence[float], reach: float, marks: Marks
) -> str:
    """Draw an interval, the sample's bounds inside it and the limits on a line from ``-reach`` to ``reach``."""

    def place(value: float) -> int:
        return round((min(max(value, -reach), reach) + reach) / (2 * reach) * (WIDTH - 1))

    line = [marks.axis] * WIDTH
    for ends, mark in ((interval, marks.interval), (sample, marks.sample)):
        for index in range(place(ends[0]), place(ends[1]) + 1) if ends is not None else ():
            line[index] = mark
    for limit in limits:
        line[place(limit)] = marks.limit
    return "".join(line)


def repair_table(
    where: str, names: Mapping[str, Any], change: Any, summary: Sequence[tuple[str, float | None]]
) -> RenderableType:
    """The probabilities with which each decision becomes another, by attribute value.

    Parameters
    ----------
    where
        The subgroup.
    names
        The ``details`` of a verdict, for the values of attribute and prediction.
    change
        At ``[a, s, t]`` the probability that decision ``s`` becomes ``t`` for a person with attribute value ``a``.
    summary
        What the repair costs, each with its name.
    """
    attribute, prediction = names["attribute"], names["prediction"]
    table = Table(box=None, padding=(0, 2, 0, 2), header_style="dim")
    for heading in (attribute["name"], f"{prediction['name']} was"):
        table.add_column(Text(heading))
    for value in prediction["values"]:
        table.add_column(Text(f"becomes {value!r}"), justify="right")
    for a, value in enumerate(attribute["values"]):
        for s, before in enumerate(prediction["values"]):
            chances = (_chance(float(change[a][s][t]), t == s) for t in range(len(prediction["values"])))
            table.add_row(Text(repr(value)), Text(repr(before)), *chances)
    costs = ", ".join(f"{name} {number(value)}" for name, value in summary if value is not None)
    return Padding(Group(Text(f"repair of {where}: {costs}"), table), (1, 0, 0, 0))


def _chance(value: float, stays: bool) -> Text:
    style = "dim" if stays or value == 0 else "bold"
    return Text(number(value), style=style)


def _key(verdict: Verdict, exact: bool, fancy: bool) -> Text:
    """How to read the strips."""
    marks = UNICODE if fancy else ASCII
    limit = f"{marks.limit} zero" if not verdict.details["within"] else f"{marks.limit} the margin"
    if exact:
        return Text(f"{marks.sample * 3} the values that the counts allow   {limit}", style="dim")
    words = f"{marks.interval * 3} not refuted   {marks.sample * 3} what the sample's own shares allow   {limit}"
    return Text(words, style="dim")


def _heading(item: Mapping[str, Any], verdict: Verdict, fancy: bool) -> Text:
    answer = item["answer"]
    line = Text(f"{SIGNS[answer]} " if fancy else "", style=COLOURS[answer])
    line.append(item["subgroup"], style="bold default")
    line.append(f"  {item['people']:,} people, ", style="default")
    line.append(answer, style=COLOURS[answer])
    if item["bet"] is not None:
        line.append(f", evidence {_evidence(item['bet'], verdict)}", style="dim")
    if item["certificate"] is not None and verdict.method == "exact":
        line.append(f", proof: off by {number(item['certificate'])}", style="dim")
    return line


def _evidence(bet: Mapping[str, Any], verdict: Verdict) -> str:
    need = verdict.details["overall"]["need"]
    words = f"against fairness {bet['peak']:.1f}"
    if bet["for_fairness"] is not None:
        words += f", for it {min(bet['for_fairness'], need):.1f}"
    return f"{words} of {need:.1f}"


def _effects(item: Mapping[str, Any], verdict: Verdict, reach: float, fancy: bool) -> RenderableType:
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True)
    for _ in range(3):
        grid.add_column(no_wrap=True)
    marks, within, exact = UNICODE if fancy else ASCII, verdict.details["within"], verdict.method == "exact"
    limits = (-within, within) if within else (0.0,)
    for effect in item["effects"]:
        interval, sample = ends_of(effect, verdict)
        if interval is None:
            grid.add_row(Text(effect["name"]), Text("the assumptions are refuted", style="dim"))
            continue
        drawn = strip(interval, interval if exact else sample, limits, reach, marks)
        told = "" if exact or sample is None else f"sample {bounds(sample)}"
        grid.add_row(Text(_name(effect, verdict)), drawn, Text(bounds(interval)), Text(told, style="dim"))
    return Padding(grid, (0, 0, 0, 4))


def ends_of(effect: Mapping[str, Any], verdict: Verdict) -> tuple[Sequence[float] | None, Sequence[float] | None]:
    """The interval and the sample's bounds, of ``tau`` or of ``tau'``, whichever the margin is about."""
    suffix = "_within_stratum" if verdict.details["normalised"] else ""
    return effect[f"interval{suffix}"], effect[f"plug_in{suffix}"]


def _ends(effect: Mapping[str, Any], verdict: Verdict) -> Sequence[float]:
    return ends_of(effect, verdict)[0] or ()


def _name(effect: Mapping[str, Any], verdict: Verdict) -> str:
    return str(effect["name"]).replace("'", "", 1) if verdict.details["normalised"] else str(effect["name"])


def bounds(ends: Sequence[float] | None) -> str:
    """Two ends with three places each, so that they stand below each other; a dash for none."""
    if ends is None:
        return "-"
    low, high = (round(end, 3) + 0.0 for end in ends)  # what is nothing has no sign
    return f"[{low:.3f}, {high:.3f}]"
