"""Responsiveness on the terminal, and as tables: for how many people the claim is true, and what they can do."""

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

MARKS = {"holds": "█", "violated": "▒", "undecided": "░"}
PLAIN = {"holds": "=", "violated": "#", "undecided": "?"}

BAR, NARROW, COMFORTABLE = 20, 6, 18
"""The widest bar of the kinds, the columns below which there is none, and the width that labels get first."""


def points_table(verdict: Verdict, ids: tuple[str, Sequence[Any]] | None = None) -> dict[str, list[Any]]:
    """The counterexamples, as columns of equal length: a table for any library.

    Parameters
    ----------
    verdict
        The verdict of a responsiveness check.
    ids
        The name of a column that tells people apart, and its values for every row of the population.

    Returns
    -------
    dict
        The id where there is one; ``person`` (a row of the population); ``reaching`` and ``looked at`` (how many points
        reach the target, of how many); ``distance``; ``prediction`` where the target refers to it; and each feature of
        the interventions, as ``from NAME`` and ``to NAME``. A person who does not reach the target has one row, with
        nothing under ``distance``, ``prediction`` and ``to``.
    """
    items = verdict.counterexamples
    columns: dict[str, list[Any]] = _ids_of([item["person"] for item in items], ids)
    columns["person"] = [item["person"] for item in items]
    columns["reaching"] = [item["reaching"] for item in items]
    columns["looked at"] = [item["looked_at"] for item in items]
    columns["distance"] = [item["distance"] for item in items]
    if any("prediction" in item for item in items):
        columns["prediction"] = [item.get("prediction") for item in items]
    for name in verdict.details["features"]:
        pairs = [_from_to(item, name) for item in items]
        columns[f"from {name}"] = [before for before, _ in pairs]
        columns[f"to {name}"] = [after for _, after in pairs]
    return columns


def _from_to(item: Mapping[str, Any], name: str) -> tuple[Any, Any]:
    if item["point"] is None:
        return item["now"][name], None
    before, after = item["changed"].get(name, (item["point"][name], item["point"][name]))
    return before, after


def _ids_of(rows: Sequence[int], ids: tuple[str, Sequence[Any]] | None) -> dict[str, list[Any]]:
    return {} if ids is None else {ids[0]: [ids[1][row] for row in rows]}


def people_table(verdict: Verdict, ids: tuple[str, Sequence[Any]] | None = None) -> dict[str, list[Any]]:
    """What is known of each person, as columns of equal length: row, answer, share, interval, draws, exact or not."""
    people = verdict.details["people"]
    return {**_ids_of(people.get("row", ()), ids), **{name: list(values) for name, values in people.items()}}


def people_bars(block: PeopleCounts, fancy: bool, width: int) -> RenderableType:
    """How many people the claim is true of, by group, in a table of at most ``width`` columns."""
    lines = [(block.whom, block.counts), *((_group_name(group), counts) for group, counts in block.groups)]
    headings = {"people": "people", **{kind.key: kind.words for kind in block.kinds}, "exact": "exact"}
    labels = [label for label, _ in lines]
    if width - _taken(headings, lines) < _longest(labels):
        del headings["exact"]  # a narrow terminal has room for the answer, not for how it was found
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
    """The width of the columns of numbers, with the space between all columns."""
    return 2 + sum(
        2 + max(len(heading), *(len(f"{counts[key]:,}") for _, counts in lines)) for key, heading in headings.items()
    )


def _longest(labels: Sequence[str]) -> int:
    return max(len(word) for label in labels for word in label.split() or [""])


def _room(left: int, labels: Sequence[str]) -> int:
    """The width of a bar that breaks no word of a label; 0 where the bar would be too narrow to read."""
    longest = _longest(labels)
    label = min(max(3, *map(len, labels)), max(longest, COMFORTABLE, left - 2 - BAR))
    room = left - 2 - label
    return min(BAR, room) if room >= NARROW else 0


def _bar(counts: Mapping[str, int], block: PeopleCounts, fancy: bool, width: int) -> Text:
    """The kinds of people side by side, each in proportion to its count."""
    marks = MARKS if fancy else PLAIN
    line, drawn, total = Text(), 0, 0
    for kind in block.kinds:
        total += counts[kind.key]
        end = round(width * total / max(counts["people"], 1))
        line.append(marks[kind.answer] * (end - drawn), style=COLOURS[kind.answer])
        drawn = end
    return line
