"""The summary of a whole audit on the terminal: a line a property, then one sentence."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from isonomia.records.visible import visible
from isonomia.records.words import cost
from isonomia.report.counts import ORDER, UNFINISHED, counted
from isonomia.report.entries import Audit, Entry, Failure
from isonomia.report.standing import FAILED, OPEN, known_of
from isonomia.report.styles import STYLED, sign_of
from isonomia.report.terminal import show

__all__ = ["overview", "show_trouble"]

MOST = 60
"""Lines at most; of more properties, those that do not hold come first."""

IN_FULL = 5
"""Verdicts at most that are shown in full."""


def overview(audit: Audit, console: Console) -> None:
    """Print a line for each property, and how many there are of each answer."""
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("answer", no_wrap=True)
    table.add_column("property", overflow="fold", ratio=2)
    table.add_column("asked about", justify="right")
    table.add_column("risk", justify="right")
    table.add_column("what is known", overflow="fold", ratio=3)
    shown = _worst_first(audit)
    for entry in shown[:MOST]:
        table.add_row(*_cells(entry, console))
    if table.row_count:
        console.print(table)
    if len(shown) > MOST:
        console.print(f"and {len(shown) - MOST:,} more, which isonomia show lists")
    console.print(counted([entry.verdict for entry in audit.entries], audit.failures), soft_wrap=True)


def show_trouble(audit: Audit, console: Console) -> None:
    """Print the first verdicts that do not hold in full."""
    trouble = [entry for entry in audit.entries if entry.verdict.answer != "holds"]
    for entry in sorted(trouble, key=lambda entry: ORDER.index(entry.verdict.answer))[:IN_FULL]:
        show(entry.verdict, console, entry.why)


def _worst_first(audit: Audit) -> list[Entry | Failure]:
    """In the order of the file where all can be shown, else those first that need attention."""
    every: list[Entry | Failure] = [*audit.failures, *audit.entries]
    if len(every) <= MOST:
        return sorted(every, key=lambda item: item.line or 0)
    return sorted(every, key=lambda item: 0 if isinstance(item, Failure) else 1 + ORDER.index(item.verdict.answer))


def _cells(item: Entry | Failure, console: Console) -> list[Text]:
    if isinstance(item, Failure):
        first = OPEN if item.kind == UNFINISHED else FAILED
        rest = ("", "-", known_of(item))
    else:
        verdict = item.verdict
        risk = "-" if verdict.answer == "undecided" else "0 (exact)" if verdict.risk == 0 else f"{verdict.risk:g}"
        first, rest = verdict.answer, (cost(verdict), risk, known_of(verdict))
    return [Text(sign_of(first, console), style=STYLED[first]), Text(visible(item.name)), *map(Text, rest)]
