"""A verdict on the terminal."""

from __future__ import annotations

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from isonomia.records.verdict import Verdict
from isonomia.records.words import answer_line, cost, guarantee, interval, number, risk
from isonomia.report.gauge import ASCII, UNICODE, gauge
from isonomia.report.principal import AUDIT, subgroups
from isonomia.report.responsiveness import AUDIT as RESPONSIVENESS
from isonomia.report.responsiveness import shares
from isonomia.report.safety import AUDIT as SAFETY
from isonomia.report.safety import cases

__all__ = ["show", "summary"]

STYLES = {"holds": "bold green", "violated": "bold red", "undecided": "bold yellow"}
SIGNS = {"holds": "✔ HOLDS", "violated": "✘ VIOLATED", "undecided": "? UNDECIDED"}
PLAIN = {"holds": "HOLDS", "violated": "VIOLATED", "undecided": "UNDECIDED"}


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
    fancy = _is_fancy(console)
    title = Text((SIGNS if fancy else PLAIN)[verdict.answer], style=STYLES[verdict.answer])
    if verdict.name:
        title.append(f"  {verdict.name}", style="bold")
    parts = _claim(verdict, explanation, why)
    parts += [Text(), Text(f"{_capital(answer_line(verdict))}. {guarantee(verdict)}"), Text()]
    if verdict.details.get("audit") == AUDIT:
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
    border = STYLES[verdict.answer].removeprefix("bold ")
    console.print(Panel(Group(*parts), title=title, title_align="left", border_style=border, padding=(0, 1)))


def summary(verdicts: list[Verdict], console: Console) -> None:
    """Print one line for each of several verdicts."""
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("answer", no_wrap=True)
    table.add_column("property", overflow="fold")
    table.add_column("asked about", justify="right")
    table.add_column("risk", justify="right")
    table.add_column("stopped because")
    for verdict in verdicts:
        answer = Text((SIGNS if _is_fancy(console) else PLAIN)[verdict.answer].lower(), style=STYLES[verdict.answer])
        table.add_row(answer, Text(verdict.name or verdict.text), cost(verdict), risk(verdict), Text(verdict.stopped))
    console.print(table)


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
    style = STYLES[verdict.answer].removeprefix("bold ")
    for item in verdict.expressions:
        if len(verdict.expressions) > 1:
            sign = {True: "✔", False: "✘", None: "?"}[item.settled] if fancy else str(item.settled or "?").lower()
            parts.append(Text(f"{sign} {item.text} {item.relation} {number(item.threshold)}"))
        line = Text(gauge(item, 36, UNICODE if fancy else ASCII), style=style)
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
        cells = (leaf.text, number(leaf.estimate), f"[{number(leaf.low)}, {number(leaf.high)}]", f"{leaf.n:,}")
        # A column's name may hold square brackets, which are no markup here.
        table.add_row(*map(Text, cells))
    return Padding(table, (1, 0, 0, 0))


def _notes(verdict: Verdict) -> Padding:
    """What the answer rests on and how to repeat it, in small print."""
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(style="dim", overflow="fold")
    for kind, items in (("assumes", verdict.assumptions), ("note", verdict.remarks)):
        for item in items:
            grid.add_row(kind, Text(item))
    grid.add_row("repeat", f"seed {verdict.seed}, method {verdict.method}, {verdict.seconds:.2f} s")
    return Padding(grid, (1, 0, 0, 0))


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _is_fancy(console: Console) -> bool:
    return console.encoding.lower().startswith("utf")
