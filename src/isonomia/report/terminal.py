"""A verdict on the terminal.

A gauge: an interval, its estimate and a threshold on one line of text.

A verdict on the terminal.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from isonomia.records.display.words import (
    PRINCIPAL,
    RESPONSIVENESS,
    SAFETY,
    answer_line,
    compared,
    guarantee,
    interval,
    number,
    remarks_of,
    scale_of,
)
from isonomia.records.verdict import Expression, Verdict
from isonomia.report.principal import subgroups
from isonomia.report.responsiveness import shares
from isonomia.report.safety import cases
from isonomia.report.status import COLOURS, is_fancy, title_of

__all__ = ["ASCII", "UNICODE", "Marks", "gauge", "show"]


@dataclass(frozen=True, slots=True)
class Marks:
    """The characters that a gauge is drawn with."""

    axis: str
    inside: str
    estimate: str
    threshold: str


UNICODE = Marks("┄", "━", "●", "┃")
ASCII = Marks(".", "=", "o", "|")


def gauge(item: Expression, width: int, marks: Marks = UNICODE) -> str:
    """Draw an expression's interval against its threshold.

    The scale reaches a quarter beyond what must be seen on either side; an end that is infinite runs off the line.
    Where the threshold and the estimate fall on one place, the threshold is shown.
    """
    left, right = scale_of(item)

    def place(value: float) -> int:
        return round((min(max(value, left), right) - left) / (right - left) * (width - 1))

    line = [marks.axis] * width
    for index in range(place(item.low), place(item.high) + 1):
        line[index] = marks.inside
    if item.estimate is not None and isfinite(item.estimate):
        line[place(item.estimate)] = marks.estimate
    line[place(item.threshold)] = marks.threshold
    return "".join(line)


def show(verdict: Verdict, console: Console, explanation: str | None = None, why: str | None = None) -> None:
    """Print a verdict with what is known and what it rests on.

    Parameters
    ----------
    verdict
        What to show.
    console
        Where; colours and line drawing follow what it can do.
    explanation
        The property in plain English; of a k-safety property it comes first, and the program below it.
    why
        Why it must hold.
    """
    fancy = is_fancy(console)
    parts = _claim(verdict, explanation, why)
    parts += [Text(), Text(f"{_capital(answer_line(verdict))}. {guarantee(verdict)}"), Text()]
    if verdict.details.get("audit") == PRINCIPAL:
        parts.append(subgroups(verdict, fancy))
    elif verdict.expressions:
        parts.append(_expressions(verdict, fancy))
    if verdict.details.get("audit") == SAFETY:
        parts.append(cases(verdict))
    elif verdict.details.get("audit") == RESPONSIVENESS:
        parts.append(shares(verdict, fancy, console.width - 4))
    elif verdict.leaves:
        parts.append(_leaves(verdict))
    parts.append(_notes(verdict))
    title, colour = title_of(verdict.answer, verdict.name, console), COLOURS[verdict.answer]
    console.print(Panel(Group(*parts), title=title, title_align="left", border_style=colour, padding=(0, 1)))


def _claim(verdict: Verdict, explanation: str | None, why: str | None) -> list[RenderableType]:
    """What is claimed and why, in words and as it is written; of a program the words come first."""
    reasons = [Text(why, style="italic")] if why else []
    if explanation is None:
        return [Text(verdict.text, style="cyan"), *reasons]
    if verdict.details.get("audit") == SAFETY:
        program = Padding(Text(verdict.text.rstrip("\n"), style="dim"), (1, 0, 0, 2))
        return [Text(explanation, style="cyan"), *reasons, program]
    return [Text(verdict.text, style="cyan"), Text(explanation, style="italic"), *reasons]


def _expressions(verdict: Verdict, fancy: bool) -> Group:
    """A gauge for each compared quantity, named where there is more than one."""
    parts: list[RenderableType] = []
    for item in verdict.expressions:
        if len(verdict.expressions) > 1:
            sign = {True: "✔", False: "✘", None: "?"}[item.settled] if fancy else str(item.settled or "?").lower()
            parts.append(Text(f"{sign} {compared(item)}"))
        line = Text(gauge(item, 36, UNICODE if fancy else ASCII), style=COLOURS[verdict.answer])
        estimate = "" if item.estimate is None else f"{number(item.estimate)} "
        line.append(f"  {estimate}in {interval(item)}", style="default")
        line.append(f"  {item.relation} {number(item.threshold)}", style="bold")
        parts.append(line)
    return Group(*parts)


def _leaves(verdict: Verdict) -> Padding:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("rate", overflow="fold", min_width=14)
    for heading in ("estimate", "interval", "people"):
        table.add_column(heading, justify="right", no_wrap=True)
    for leaf in verdict.leaves:
        cells = (leaf.text, number(leaf.estimate), interval(leaf), f"{leaf.n:,}")
        # A column's name may hold square brackets, which are no markup here.
        table.add_row(*map(Text, cells))
    return Padding(table, (1, 0, 0, 0))


def _notes(verdict: Verdict) -> Padding:
    """What the answer rests on and how to repeat it, in small print."""
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(style="dim", overflow="fold")
    for kind, items in (("assumes", verdict.assumptions), ("note", remarks_of(verdict))):
        for item in items:
            grid.add_row(kind, Text(item))
    grid.add_row("repeat", f"seed {verdict.seed}, method {verdict.method}, {verdict.seconds:.2f} s")
    return Padding(grid, (1, 0, 0, 0))


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
