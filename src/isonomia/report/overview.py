"""The summary of a whole audit on the terminal: one line per property, then one sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from rich.console import Console
from rich.table import Table
from rich.text import Text

from isonomia.records.display.view import ASSUMPTIONS, cost, levels, risk, view_of
from isonomia.records.verdict import Verdict
from isonomia.report.entries import FAILED, ORDER, UNFINISHED, AuditReport, Entry, Failure, summary_sentence
from isonomia.report.terminal import OPEN, STYLES, show, sign_of
from isonomia.wording import capitalised, on_one_line, visible

MAX_LINES = 60
"""The most lines; where there are more properties, those that do not hold come first."""

WIDE = 100
"""The columns from which on the summary says what each answer cost; a verdict in full always says so."""

MAX_IN_FULL = 5
"""The most verdicts that are shown in full."""


Result: TypeAlias = Verdict | Failure
"""The result of a property."""


def overview(audit: AuditReport, console: Console) -> None:
    """Print a line for each property, and how many there are of each answer."""
    shown = _worst_first(audit)
    if shown:
        print_lines(shown[:MAX_LINES], console)
        print_page([entry.verdict for entry in audit.entries], console)
    if len(shown) > MAX_LINES:
        console.print(f"and {len(shown) - MAX_LINES:,} more, which isonomia show lists")
    console.print(summary_sentence([entry.verdict for entry in audit.entries], audit.failures), soft_wrap=True)


def print_lines(items: Sequence[Entry | Failure], console: Console) -> None:
    """Print a line for each property: the answer, its risk, what is known and, where there is room, what it cost."""
    wide = console.width >= WIDE
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("answer", no_wrap=True)
    table.add_column("property", overflow="fold")
    if wide:
        table.add_column("samples", justify="right", no_wrap=True)
    table.add_column("risk", justify="right", no_wrap=True)
    table.add_column("what is known", overflow="fold")
    for item in items:
        table.add_row(*_cells(item, console, wide))
    console.print(table)
    note = levels(item.verdict for item in items if isinstance(item, Entry))
    if note:
        console.print(Text(note, style="dim"))


def print_page(verdicts: Sequence[Verdict], console: Console) -> None:
    """Print once where the assumptions of some verdicts are explained, if they have any."""
    if any(verdict.assumptions for verdict in verdicts):
        console.print(Text(capitalised(f"{ASSUMPTIONS}."), style="dim"))


def show_trouble(audit: AuditReport, console: Console) -> None:
    """Print in full the first verdicts that do not hold."""
    trouble = [entry for entry in audit.entries if entry.verdict.answer != "holds"]
    for entry in sorted(trouble, key=lambda entry: ORDER.index(entry.verdict.answer))[:MAX_IN_FULL]:
        show_entry(entry, console)


def show_entry(entry: Entry, console: Console) -> None:
    """Print a verdict of an audit in full; a property that is a program is also explained in words."""
    explained = view_of(entry.verdict).explanation_first
    show(entry.verdict, console, entry.explanation if explained else None, entry.why)


def _worst_first(audit: AuditReport) -> list[Entry | Failure]:
    """In the order of the file where all can be shown; otherwise those that need attention first."""
    every: list[Entry | Failure] = [*audit.failures, *audit.entries]
    if len(every) <= MAX_LINES:
        return sorted(every, key=lambda item: item.line or 0)
    return sorted(every, key=lambda item: 0 if isinstance(item, Failure) else 1 + ORDER.index(item.verdict.answer))


def _cells(item: Entry | Failure, console: Console, wide: bool) -> list[Text]:
    if isinstance(item, Failure):
        first, spent, chance = (OPEN if item.kind == UNFINISHED else FAILED), "", "-"
        finding = finding_of(item)
    else:
        verdict = item.verdict
        first, spent, chance, finding = verdict.answer, cost(verdict), risk(verdict), finding_of(verdict)
    rest = [spent, chance, finding] if wide else [chance, finding]
    return [Text(sign_of(first, console), style=STYLES[first]), Text(visible(item.name)), *map(Text, rest)]


def finding_of(result: Result, *, compact: bool = False) -> str:
    """What is known, in one line: how many violate the claim, an interval, or why there is none."""
    if isinstance(result, Failure):
        return on_one_line(result.message)
    return visible(view_of(result).finding(result, compact))
