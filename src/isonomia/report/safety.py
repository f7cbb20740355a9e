"""k-safety on the terminal: what became of the cases, and the counterexamples with the smallest changes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from isonomia.records.verdict import Verdict

__all__ = ["AUDIT", "cases"]

AUDIT = "k-safety"
"""How the details of a verdict say that they are of this kind."""

MOST_SHOWN = 3
"""Counterexamples that are shown; the stored verdict has more."""


def cases(verdict: Verdict) -> RenderableType:
    """How many cases were tested, turned away, failed and violated, and the first counterexamples."""
    parts: list[RenderableType] = [_counts(verdict)]
    for number, found in enumerate(verdict.counterexamples[:MOST_SHOWN], start=1):
        parts.append(_counterexample(number, found))
    more = len(verdict.counterexamples) - MOST_SHOWN
    if more > 0:
        parts.append(Text(f"... and {more} more counterexamples, which the stored verdict has", style="dim"))
    return Group(*parts)


def _counts(verdict: Verdict) -> Text:
    tested, bad = verdict.details["cases"], verdict.details["violations"]
    words = [f"{tested['tested']:,} cases tested"]
    words += [
        f"{tested[key]:,} {told}"
        for key, told in (
            ("rejected", "rejected"),
            ("without_choice", "with nothing to choose from"),
            ("vacuous", "vacuous"),
            ("failed", "failed"),
        )
        if tested[key]
    ]
    words.append(f"{bad['distinct']:,} distinct violations of {bad['inputs']:,} inputs")
    return Text(", ".join(words))


def _counterexample(number: int, found: Mapping[str, Any]) -> RenderableType:
    """What was changed, and what the model said of each."""
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    rows = ", ".join(f"{name} is row {row}" for name, row in found["rows"].items())
    smallest = "; the smallest change of it that violates" if found.get("minimal") else "; a change of it that violates"
    grid.add_row(f"{number}.", Text(rows + (smallest if found["differs"] else ""), style="bold"))
    for name, changes in found["differs"].items():
        told = ", ".join(f"{feature} {before!r} -> {after!r}" for feature, (before, after) in changes.items())
        grid.add_row(name, Text(told or "the same record"))
    grid.add_row("outputs", Text(", ".join(f"{name} = {value!r}" for name, value in found["outputs"].items())))
    grid.add_row("violates", Text("; ".join(found["violates"])))
    return Padding(grid, (1, 0, 0, 0))
