"""Responsiveness on the terminal, and as tables: of how many the claim is true, and what people can do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from isonomia.records.display.words import Side, brief, change, sides
from isonomia.records.verdict import Verdict
from isonomia.report.status import COLOURS

__all__ = ["people_table", "points_table", "shares"]

MOST_SHOWN = 5
"""Counterexamples that are shown; the stored verdict has more."""

MARKS = {"holds": "█", "violated": "▒", "undecided": "░"}
PLAIN = {"holds": "=", "violated": "#", "undecided": "?"}

BAR, NARROW, COMFORTABLE = 20, 6, 18
"""How wide the bar of the kinds is at most, below how many columns there is none, and how wide labels are before it."""


def shares(verdict: Verdict, fancy: bool, width: int) -> RenderableType:
    """How many people the claim is true of, by group, in a table of at most a width; and the first counterexamples."""
    parts: list[RenderableType] = [
        _counts(verdict, fancy, width),
        *map(_counterexample, verdict.counterexamples[:MOST_SHOWN]),
    ]
    more = len(verdict.counterexamples) - MOST_SHOWN
    if more > 0:
        parts.append(Text(f"... and {more} more counterexamples, which the stored verdict has", style="dim"))
    return Group(*parts)


def points_table(verdict: Verdict) -> dict[str, list[Any]]:
    """The counterexamples that are points, as columns of equal length: a table for any library.

    The columns are ``person`` (a row of the population), ``distance``, ``prediction`` where the target speaks of it,
    and the features, each under its own name with ``to `` in front, so that no name can collide.
    """
    found = [item for item in verdict.counterexamples if item["point"] is not None]
    columns: dict[str, list[Any]] = {name: [item[name] for item in found] for name in ("person", "distance")}
    if found and "prediction" in found[0]:
        columns["prediction"] = [item["prediction"] for item in found]
    for name in found[0]["point"] if found else ():
        columns[f"to {name}"] = [item["point"][name] for item in found]
    return columns


def people_table(verdict: Verdict) -> dict[str, list[Any]]:
    """What is known of each person, as columns of equal length: row, answer, share, interval, draws, exact or not."""
    return {name: list(values) for name, values in verdict.details["people"].items()}


def _counts(verdict: Verdict, fancy: bool, width: int) -> RenderableType:
    kinds = sides(verdict.details)
    lines = [(_whom(verdict.details), verdict.details["counts"]), *_groups(verdict)]
    headings = {"people": "people", **{side.kind: side.words for side in kinds}, "exact": "exact"}
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
        table.add_row(Text(label), *row, *([_bar(counts, kinds, fancy, bar)] if bar else []))
    return Padding(table, (0, 0, 1 if verdict.counterexamples else 0, 0))


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


def _whom(details: Mapping[str, Any]) -> str:
    rows = details.get("rows")
    among = "" if rows is None else f"row {rows[0]}" if len(rows) == 1 else f"{len(rows):,} rows"
    return ", ".join(filter(None, (among, details["who"]))) or "everybody"


def _groups(verdict: Verdict) -> list[tuple[str, Mapping[str, int]]]:
    return [
        (", ".join(f"{name} = {brief(value)}" for name, value in item["group"].items()), item)
        for item in verdict.details["groups"]
    ]


def _bar(counts: Mapping[str, int], kinds: Sequence[Side], fancy: bool, width: int) -> Text:
    """The kinds of people side by side, each by its part of the whole."""
    marks = MARKS if fancy else PLAIN
    line, drawn, total = Text(), 0, 0
    for side in kinds:
        total += counts[side.kind]
        end = round(width * total / max(counts["people"], 1))
        line.append(marks[side.answer] * (end - drawn), style=COLOURS[side.answer])
        drawn = end
    return line


def _counterexample(found: Mapping[str, Any]) -> Text:
    line = Text(f"row {found['person']}: ", style="bold")
    looked = f"{found['looked_at']:,} {'points in reach' if found['every'] else 'draws'}"
    if found["point"] is None:
        return line.append(f"none of {looked} reaches the target", style="default")
    changes = ", ".join(f"{name} {change(before, after)}" for name, (before, after) in found["changed"].items())
    answer = f", prediction {brief(found['prediction'])}" if "prediction" in found else ""
    return line.append(f"{changes or 'as they are'}{answer}", style="default")
