"""A verdict on the terminal: the claim, the answer, each block of its view, counterexamples, what it rests on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from isonomia.records.display.view import (
    Block,
    CounterexampleView,
    PeopleCounts,
    Quantities,
    Rates,
    Sentence,
    Subgroups,
    TableBlock,
    view_of,
)
from isonomia.records.display.words import (
    ANSWERS,
    answer_line,
    compared,
    draws,
    early,
    guarantee,
    interval,
    level,
    queries,
    scale_of,
    seed_note,
    unit,
)
from isonomia.records.verdict import Expression, LeafRecord, Verdict
from isonomia.report.principal import subgroup_strips
from isonomia.report.responsiveness import people_bars
from isonomia.report.status import COLOURS, is_fancy, title_of
from isonomia.wording import brief, capitalised, change, excerpt, number, visible

MAX_LINES, MAX_GRIDS = 5, 3
"""How many counterexamples are shown, if one line each or several; the stored verdict has more."""

MAX_OUTPUT = 200
"""Characters of an output."""


@dataclass(frozen=True, slots=True)
class GaugeMarks:
    """The characters that a gauge is drawn with."""

    axis: str
    inside: str
    estimate: str
    threshold: str


UNICODE = GaugeMarks("┄", "━", "●", "┃")
ASCII = GaugeMarks(".", "=", "o", "|")


def gauge(item: Expression, width: int, marks: GaugeMarks = UNICODE) -> str:
    """Draw an expression's interval against its threshold.

    The scale extends a quarter beyond what must be seen on either side; an infinite end runs off the line. Where the
    threshold and the estimate fall on one column, the threshold is shown.
    """
    left, right = scale_of(item)

    def column(value: float) -> int:
        return round((min(max(value, left), right) - left) / (right - left) * (width - 1))

    line = [marks.axis] * width
    for index in range(column(item.low), column(item.high) + 1):
        line[index] = marks.inside
    if item.estimate is not None and isfinite(item.estimate):
        line[column(item.estimate)] = marks.estimate
    line[column(item.threshold)] = marks.threshold
    return "".join(line)


def show(verdict: Verdict, console: Console, explanation: str | None = None, why: str | None = None) -> None:
    """Print a verdict with what is known and what it rests on.

    Parameters
    ----------
    verdict
        What to show.
    console
        Where to show it; colours and line drawing depend on what it can do.
    explanation
        The property in plain English; where the property is a program it comes first, and the program below it.
    why
        Why it must hold.
    """
    fancy = is_fancy(console)
    parts = _claim(verdict, explanation, why)
    parts += [Text(), Text(f"{capitalised(answer_line(verdict))}. {guarantee(verdict)}"), Text()]
    parts += [_drawn(block, verdict, fancy, console.width - 4) for block in view_of(verdict).blocks(verdict)]
    parts += [Text(level(verdict), style="dim")] if level(verdict) else []
    parts += _counterexamples(verdict)
    parts.append(_notes(verdict))
    title, colour = title_of(verdict.answer, verdict.name, console), COLOURS[verdict.answer]
    console.print(Panel(Group(*parts), title=title, title_align="left", border_style=colour, padding=(0, 1)))


def _claim(verdict: Verdict, explanation: str | None, why: str | None) -> list[RenderableType]:
    """What is claimed and why, in words and as it is written; for a program, the words come first."""
    reasons = [Text(why, style="italic")] if why else []
    if explanation is None:
        return [Text(verdict.text, style="cyan"), *reasons]
    if view_of(verdict).explanation_first:
        program = Padding(Text(verdict.text.rstrip("\n"), style="dim"), (1, 0, 0, 2))
        return [Text(explanation, style="cyan"), *reasons, program]
    return [Text(verdict.text, style="cyan"), Text(explanation, style="italic"), *reasons]


def _drawn(block: Block, verdict: Verdict, fancy: bool, width: int) -> RenderableType:
    """A block of what is known."""
    match block:
        case Quantities(items):
            return _gauges(items, verdict, fancy)
        case Rates(items):
            return _rates(items, unit(verdict))
        case Sentence(text):
            return Text(text)
        case TableBlock():
            return _table(block)
        case Subgroups():
            return subgroup_strips(block, fancy)
        case PeopleCounts():
            return people_bars(block, fancy, width)


def _gauges(items: Sequence[Expression], verdict: Verdict, fancy: bool) -> Group:
    """A gauge for each compared quantity, named where there is more than one; for groups, each in its own colour."""
    parts: list[RenderableType] = []
    for item in items:
        colour = COLOURS[ANSWERS[item.settled] if verdict.groups else verdict.answer]
        if len(items) > 1:
            sign = {True: "✔", False: "✘", None: "?"}[item.settled] if fancy else str(item.settled or "?").lower()
            parts.append(Text(f"{sign} {compared(item)}"))
        line = Text(gauge(item, 36, UNICODE if fancy else ASCII), style=colour)
        estimate = "" if item.estimate is None else f"{number(item.estimate)} "
        line.append(f"  {estimate}in {interval(item)}", style="default")
        line.append(f"  {item.relation} {number(item.threshold)}", style="bold")
        parts.append(line)
    return Group(*parts)


def _rates(items: Sequence[LeafRecord], counted: str) -> Padding:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("rate", overflow="fold", min_width=14)
    for heading in ("estimate", "interval", counted):
        table.add_column(heading, justify="right", no_wrap=True)
    for leaf in items:
        cells = (leaf.text, number(leaf.estimate), interval(leaf), draws(leaf))
        # A column's name may hold square brackets, which are not markup here.
        table.add_row(*map(Text, cells))
    return Padding(table, (1, 0, 0, 0))


def _table(block: TableBlock) -> Padding:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", title=Text(block.title), title_justify="left")
    for heading in block.headings:
        table.add_column(Text(heading), overflow="fold")
    for row in block.rows:
        table.add_row(*map(Text, row))
    return Padding(table, (1, 0, 0, 0))


def _counterexamples(verdict: Verdict) -> list[RenderableType]:
    """The first counterexamples: one line each where that says it all, otherwise record by record."""
    view = view_of(verdict)
    shown = [view.counterexample(verdict, item) for item in verdict.counterexamples[:MAX_LINES]]
    in_lines = all(case.line is not None for case in shown)
    shown = shown if in_lines else shown[:MAX_GRIDS]
    parts: list[RenderableType] = [Text()] if shown and in_lines else []
    parts += [_line(case) if in_lines else _grid(number, case) for number, case in enumerate(shown, start=1)]
    more = len(verdict.counterexamples) - len(shown)
    if more > 0:
        parts.append(Text(f"... and {more} more counterexamples, which the stored verdict has", style="dim"))
    return parts


def _line(case: CounterexampleView) -> Text:
    where, happens = case.line or ("", case.title)
    return Text(f"{where}: ", style="bold").append(happens, style="default")


def _grid(number: int, case: CounterexampleView) -> Padding:
    """What was changed, and what the model answered for each record."""
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    grid.add_row(f"{number}.", Text(case.heading or case.title, style="bold"))
    for record in case.records:
        if record.changes is not None:
            changes = ", ".join(_change(case, feature, *pair) for feature, pair in record.changes.items())
            grid.add_row(record.name, Text(changes or "the same record"))
    if case.choices:
        grid.add_row("choices", Text(", ".join(map(brief, case.choices))))
    if case.outputs:
        grid.add_row("outputs", Text(", ".join(f"{name} = {_output(value)}" for name, value in case.outputs)))
    if case.notes:
        grid.add_row("", Text("\n".join(map(visible, case.notes))))
    if case.violates:
        grid.add_row("violates", Text("; ".join(case.violates)))
    return Padding(grid, (1, 0, 0, 0))


def _output(value: Any) -> str:
    return visible(excerpt(brief(value), MAX_OUTPUT))


def _change(case: CounterexampleView, feature: str, before: Any, after: Any) -> str:
    """A change of a value, or of an array, for which the domain says in words what changed."""
    return f"{feature}: {after}" if case.is_described(before) else f"{feature} {change(before, after)}"


def _notes(verdict: Verdict) -> Padding:
    """What the answer rests on and how to repeat it, in small print."""
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(style="dim", overflow="fold")
    some = [f"the estimates are of {early(verdict)}, which were enough: measure takes all"] if early(verdict) else []
    notes = [*some, *verdict.remarks, *filter(None, [seed_note(verdict)])]
    for kind, items in (("assumes", verdict.assumptions), ("note", notes)):
        for item in items:
            grid.add_row(kind, Text(item))
    spent = filter(None, (queries(verdict), f"{verdict.seconds:.2f} s"))
    grid.add_row("repeat", f"seed {verdict.seed}, method {verdict.method}, {', '.join(spent)}")
    return Padding(grid, (1, 0, 0, 0))
