"""Responsiveness on the terminal, and as tables: of how many the claim is true, and what people can do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from isonomia.records.display.view import PeopleCounts
from isonomia.records.verdict import Verdict
from isonomia.report.status import COLOURS
from isonomia.wording import brief

__all__ = ["people_bars", "people_table", "points_table"]

MARKS = {"holds": "█", "violated": "▒", "undecided": "░"}
PLAIN = {"holds": "=", "violated": "#", "undecided": "?"}

BAR, NARROW, COMFORTABLE = 20, 6, 18
"""How wide the bar of the kinds is at most, below how many columns there is none, and how wide labels are before it."""


def points_table(verdict: Verdict) -> dict[str, list[Any]]:
    """The counterexamples that are points, as columns of equal length: a table for any library.

    The columns are ``person`` (a row of the population), ``distance``, ``prediction`` where the target speaks of it,
    and the features, each under its own name with ``to `` in front, so that no name can collide.
    """
    points = [item for item in verdict.counterexamples if item["point"] is not None]
    columns: dict[str, list[Any]] = {name: [item[name] for item in points] for name in ("person", "distance")}
    if points and "prediction" in points[0]:
        columns["prediction"] = [item["prediction"] for item in points]
    for name in points[0]["point"] if points else ():
        columns[f"to {name}"] = [item["point"][name] for item in points]
    return columns


def people_table(verdict: Verdict) -> dict[str, list[Any]]:
    """What is known of each person, as columns of equal length: row, answer, share, interval, draws, exact or not."""
    return {name: list(values) for name, values in verdict.details["people"].items()}


def people_bars(block: PeopleCounts, fancy: bool, width: int) -> RenderableType:
    """How many people the claim is true of, by group, in a table of at most a width."""
    lines = [(block.whom, block.counts), *((_group_name(group), counts) for group, counts in block.groups)]
    headings = {"people": "people", **{kind.key: kind.words for kind in block.kinds}, "exact": "exact"}
    labels = [label for label, _ in lines]
    if width - _taken(headings, lines) < _longest(labels):
        del headings["exact"]  # a narrow terminal has room for the answer, not for how it was come by
    bar = _room(width - _taken(headings, lines), labels)
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("who", overflow="fold")
    for heading in (*headings.values(), *[""] * bool(bar)):
        table.add_column(heading, justify="right" if heading else "left", no_wrap=True)
    for label, counts in lines:
        row = [f"{counts[key]:,}" for key in headings]
        table.add_row(Text(label), *row, *([_bar(counts, block, fancy, bar)] if bar else []))
    return table


def _group_name(group: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {brief(value)}" for name, value in group.items())


def _taken(headings: Mapping[str, str], lines: Sequence[tuple[str, Mapping[str, int]]]) -> int:
    """How wide the columns of numbers are, with the space between all of them."""
    return 2 + sum(
        2 + max(len(heading), *(len(f"{counts[key]:,}") for _, counts in lines)) for key, heading in headings.items()
    )


def _longest(labels: Sequence[str]) -> int:
    return max(len(word) for label in labels for word in label.split() or [""])


def _room(left: int, labels: Sequence[str]) -> int:
    """How wide the bar can be, so that no word of a label has to be broken; 0 where it would be too narrow to read."""
    longest = _longest(labels)
    label = min(max(3, *map(len, labels)), max(longest, COMFORTABLE, left - 2 - BAR))
    room = left - 2 - label
    return min(BAR, room) if room >= NARROW else 0


def _bar(counts: Mapping[str, int], block: PeopleCounts, fancy: bool, width: int) -> Text:
    """The kinds of people side by side, each by its part of the whole."""
    marks = MARKS if fancy else PLAIN
    line, drawn, total = Text(), 0, 0
    for kind in block.kinds:
        total += counts[kind.key]
        end = round(width * total / max(counts["people"], 1))
        line.append(marks[kind.answer] * (end - drawn), style=COLOURS[kind.answer])
        drawn = end
    return line
