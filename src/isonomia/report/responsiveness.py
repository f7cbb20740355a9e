"""Responsiveness on the terminal, and as tables: how many are responsive, fixed and undecided, and what they can do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from isonomia.records.verdict import Verdict

__all__ = ["AUDIT", "people_table", "points_table", "shares"]

AUDIT = "responsiveness"
"""How the details of a verdict say that they are of this kind."""

MOST_SHOWN = 5
"""Counterexamples that are shown; the stored verdict has more."""

STYLES = {"responsive": "green", "fixed": "red", "undecided": "yellow"}


def shares(verdict: Verdict, fancy: bool) -> RenderableType:
    """How many people are responsive, fixed and undecided, by group, and the first counterexamples."""
    parts: list[RenderableType] = [_counts(verdict, fancy), *map(_counterexample, verdict.counterexamples[:MOST_SHOWN])]
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


def _counts(verdict: Verdict, fancy: bool) -> RenderableType:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("who", overflow="fold", min_width=10)
    for heading in ("people", "responsive", "fixed", "undecided", "exact", ""):
        table.add_column(heading, justify="right" if heading else "left", no_wrap=True)
    for label, counts in [(_whom(verdict.details), verdict.details["counts"]), *_groups(verdict)]:
        cells = [f"{counts[key]:,}" for key in ("people", "responsive", "fixed", "undecided", "exact")]
        table.add_row(Text(label), *cells, _bar(counts, fancy))
    return Padding(table, (0, 0, 1, 0))


def _whom(details: Mapping[str, Any]) -> str:
    rows = details.get("rows")
    among = "" if rows is None else f"row {rows[0]}" if len(rows) == 1 else f"{len(rows):,} rows"
    return ", ".join(filter(None, (among, details["who"]))) or "everybody"


def _groups(verdict: Verdict) -> list[tuple[str, Mapping[str, int]]]:
    return [
        (", ".join(f"{name} = {value!r}" for name, value in item["group"].items()), item)
        for item in verdict.details["groups"]
    ]


def _bar(counts: Mapping[str, int], fancy: bool, width: int = 20) -> Text:
    """The three kinds of people side by side, each by its part of the whole."""
    marks = {"responsive": "█", "fixed": "▒", "undecided": "░"} if fancy else dict(zip(STYLES, "=#?", strict=True))
    line, drawn, total = Text(), 0, 0
    for kind, style in STYLES.items():
        total += counts[kind]
        end = round(width * total / max(counts["people"], 1))
        line.append(marks[kind] * (end - drawn), style=style)
        drawn = end
    return line


def _counterexample(found: Mapping[str, Any]) -> Text:
    line = Text(f"row {found['person']}: ", style="bold")
    looked = f"{found['looked_at']:,} {'points in reach' if found['every'] else 'draws'}"
    if found["point"] is None:
        return line.append(f"none of {looked} reaches the target", style="default")
    changed = ", ".join(f"{name} {before!r} -> {after!r}" for name, (before, after) in found["changed"].items())
    answer = f", prediction {found['prediction']!r}" if "prediction" in found else ""
    return line.append(f"{changed or 'as they are'}{answer}", style="default")
