"""k-safety on the terminal: what became of the cases, and the counterexamples with the smallest changes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from isonomia.records.display.words import brief, change
from isonomia.records.verdict import Verdict

__all__ = ["cases"]

MOST_SHOWN = 3
"""Counterexamples that are shown; the stored verdict has more."""


def cases(verdict: Verdict) -> RenderableType:
    """How many cases were tested, turned away, failed and violated, and the first counterexamples."""
    parts: list[RenderableType] = [_counts(verdict)]
    for number, found in enumerate(verdict.counterexamples[:MOST_SHOWN], start=1):
        parts.append(_counterexample(number, found, verdict.population))
    more = len(verdict.counterexamples) - MOST_SHOWN
    if more > 0:
        parts.append(Text(f"... and {more} more counterexamples, which the stored verdict has", style="dim"))
    return Group(*parts)


def _counts(verdict: Verdict) -> Text:
    tested, bad = verdict.details["cases"], verdict.details["violations"]
    corners = verdict.details.get("corners", {"tried": 0})
    words = [f"{corners['tried']:,} corners tried"] if corners["tried"] else []
    words.append(f"{tested['tested']:,} cases tested")
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
    if corners["tried"] and corners["violating"]:
        words.append(f"{corners['violating']:,} corners that violate")
    return Text(", ".join(words))


def _counterexample(number: int, found: Mapping[str, Any], population: Mapping[str, Any]) -> RenderableType:
    """What was changed, and what the model said of each."""
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    rows = ", ".join(f"{name} is {_origin(found, population, name)}" for name in found["rows"])
    smallest = "; the smallest change of it that violates" if found.get("minimal") else "; a change of it that violates"
    grid.add_row(f"{number}.", Text(rows + (smallest if found["differs"] else ""), style="bold"))
    as_it_was = {f"as in {_numbered(found, population, name)}" for name in found["rows"]}
    for name, changes in found["differs"].items():
        told = ", ".join(_changed(as_it_was, feature, *pair) for feature, pair in changes.items())
        grid.add_row(name, Text(told or "the same record"))
    if population.get("kind") == "domain" and found.get("choices"):
        grid.add_row("choices", Text(", ".join(map(brief, found["choices"]))))
    grid.add_row("outputs", Text(", ".join(f"{name} = {brief(value)}" for name, value in found["outputs"].items())))
    grid.add_row("violates", Text("; ".join(found["violates"])))
    return Padding(grid, (1, 0, 0, 0))


def _origin(found: Mapping[str, Any], population: Mapping[str, Any], name: str) -> str:
    """Which input it was, with its size where it has one."""
    shape = found["inputs"].get(name, {}).get("shape") if population.get("kind") == "domain" else None
    size = f" ({' x '.join(map(str, shape))})" if isinstance(shape, list | tuple) else ""
    return f"{_numbered(found, population, name)}{size}"


def _numbered(found: Mapping[str, Any], population: Mapping[str, Any], name: str) -> str:
    """A row, or what else the domain has, with its number."""
    return f"{population.get('what', 'row')} {found['rows'][name]}"


def _changed(as_it_was: set[str], feature: str, before: Any, after: Any) -> str:
    """A change of a value; or of an array, where the domain says in words what is not as it was."""
    if isinstance(before, str) and before in as_it_was:
        return f"{feature}: {after}"
    return f"{feature} {change(before, after)}"
