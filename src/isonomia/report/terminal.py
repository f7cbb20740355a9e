"""A verdict on the terminal: the claim, the answer, each block of its view, counterexamples, assumptions.

An answer has a colour, a sign and a word, so that a reader can do without any one of them. The summary of a whole
audit has one line per property, then one sentence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import isfinite
from typing import Any, TypeAlias

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from isonomia.records.display.text import counterexample_lines
from isonomia.records.display.view import (
    ASSUMPTIONS,
    SIGNS,
    Block,
    CounterexampleView,
    PeopleCounts,
    Quantities,
    Rates,
    Sentence,
    SubgroupBounds,
    Subgroups,
    TableBlock,
    answer_line,
    compared,
    cost,
    draws,
    early,
    guarantee,
    interval,
    level,
    levels,
    queries,
    risk,
    scale_of,
    seed_note,
    shown_findings,
    unit,
    view_of,
)
from isonomia.records.verdict import ANSWERS, Expression, LeafRecord, Verdict
from isonomia.report.entries import FAILED, ORDER, UNFINISHED, AuditReport, Entry, Failure, summary_sentence
from isonomia.wording import brief, capitalised, number, on_one_line, visible

OPEN = "not finished"
"""What is said of a property whose check did not finish."""

COLOURS = {"holds": "green", "violated": "red", "undecided": "yellow"}
"""The colour of each answer."""

STYLES = {
    **COLOURS,
    "violated": "bold red",
    FAILED: "bold magenta",
    OPEN: "yellow",
    "running": "cyan",
    "waiting": "dim",
}
"""The style of each state."""

_SIGNS = {"holds": "✔ holds", "violated": "✘ violated", "undecided": "? undecided", FAILED: "! error"}


def sign_of(state: str, console: Console) -> str:
    """A state with its sign, in characters that the terminal has."""
    signed = _SIGNS.get(state, state)
    return signed if is_fancy(console) else signed.lstrip("✔✘? ")


def title_of(answer: str, name: str | None, console: Console) -> Text:
    """The title of a verdict: its answer in capitals with its sign, and its name where it has one."""
    title = Text(sign_of(answer, console).upper(), style=f"bold {COLOURS[answer]}")
    return title.append(f"  {name}", style="bold") if name else title


def is_fancy(console: Console) -> bool:
    """Whether the terminal can show more than ASCII."""
    return console.encoding.lower().startswith("utf")


MAX_SHOWN = 16
"""How many subgroups are shown, those that violate first; the stored verdict has all."""


def _subgroups(block: Subgroups, fancy: bool) -> RenderableType:
    """Every subgroup with its people, its evidence and the interval of each effect."""
    shown = block.items[:MAX_SHOWN]
    limit = f"within {block.margin:g} of 0" if block.margin else "0"
    words = (
        "the table allows" if block.exact else "the data do not refute, and those that the sample's own shares allow"
    )
    parts: list[RenderableType] = [Text(f"Effects must be {limit}; intervals: the values that {words}.", style="dim")]
    for item in shown:
        parts += [_heading(item, fancy), _effects(item, block)]
    more = len(block.items) - len(shown)
    if more > 0:
        parts.append(Text(f"... and {more} more subgroups, listed in the stored verdict", style="dim"))
    return Group(*parts)


def _heading(item: SubgroupBounds, fancy: bool) -> Text:
    line = Text(f"{SIGNS[item.answer]} " if fancy else "", style=COLOURS[item.answer])
    line.append(item.name, style="bold default")
    line.append(f"  {item.size}, ", style="default")
    line.append(item.answer, style=COLOURS[item.answer])
    if item.evidence is not None:
        line.append(f", evidence {item.evidence}", style="dim")
    if item.proof is not None:
        line.append(f", proof: off by {number(item.proof)}", style="dim")
    return line


def _effects(item: SubgroupBounds, block: Subgroups) -> RenderableType:
    grid = Table.grid(padding=(0, 2, 0, 0))
    for _ in range(3):
        grid.add_column(no_wrap=True)
    for effect in item.effects:
        known = "the assumptions are refuted" if effect.interval is None else bounds(effect.interval)
        sample = "" if block.exact or effect.sample is None else f"sample {bounds(effect.sample)}"
        grid.add_row(Text(effect.name), Text(known), Text(sample, style="dim"))
    return Padding(grid, (0, 0, 0, 4))


def bounds(ends: Sequence[float] | None) -> str:
    """Two ends with three decimals each, so that they line up; a dash for none."""
    if ends is None:
        return "-"
    low, high = (round(end, 3) + 0.0 for end in ends)  # no negative zero
    return f"[{low:.3f}, {high:.3f}]"


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
        The id, if ``ids`` are given; ``person`` (a row of the population); ``reaching`` and ``looked at`` (how many
        points reach the target, of how many); ``distance``; ``prediction`` where the target refers to it; and each
        feature of the interventions, as ``from NAME`` and ``to NAME``. A person who does not reach the target has one
        row, with nothing under ``distance``, ``prediction`` and ``to``.
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
    """The findings about each person, as columns of equal length: row, answer, share, interval, draws, exact or not."""
    people = verdict.details["people"]
    return {**_ids_of(people.get("row", ()), ids), **{name: list(values) for name, values in people.items()}}


NARROW = 80
"""The columns below which the table of people does not say how many were checked exactly."""


def _people(block: PeopleCounts, width: int) -> Table:
    """How many people the claim is true of, by group."""
    colours = {kind.key: COLOURS[kind.answer] for kind in block.kinds}
    headings = {"people": "people", **{kind.key: kind.words for kind in block.kinds}}
    headings |= {"exact": "exact"} if width >= NARROW else {}
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("who", overflow="fold")
    for heading in headings.values():
        table.add_column(heading, justify="right", no_wrap=True)
    for label, counts in [(block.whom, block.counts), *((_group_name(who), counts) for who, counts in block.groups)]:
        table.add_row(Text(label), *(Text(f"{counts[key]:,}", style=colours.get(key, "")) for key in headings))
    return table


def _group_name(group: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {brief(value)}" for name, value in group.items())


MAX_LINES, MAX_GRIDS = 5, 3
"""How many counterexamples are shown, if one line each or several; the stored verdict has more."""

UNICODE, ASCII = ("┄", "━", "●", "┃"), (".", "=", "o", "|")
"""The characters that a gauge is drawn with: the axis, the interval on it, the estimate and the threshold."""


def gauge(item: Expression, width: int, marks: tuple[str, str, str, str] = UNICODE) -> str:
    """Draw an expression's interval against its threshold.

    The scale extends a quarter beyond what must be seen on either side; an infinite end runs off the line. Where the
    threshold and the estimate fall on one column, the threshold is shown.
    """
    left, right = scale_of(item)

    def column(value: float) -> int:
        return round((min(max(value, left), right) - left) / (right - left) * (width - 1))

    axis, inside, estimate, threshold = marks
    line = [axis] * width
    for index in range(column(item.low), column(item.high) + 1):
        line[index] = inside
    if item.estimate is not None and isfinite(item.estimate):
        line[column(item.estimate)] = estimate
    line[column(item.threshold)] = threshold
    return "".join(line)


def show(verdict: Verdict, console: Console, explanation: str | None = None, why: str | None = None) -> None:
    """Print a verdict with its findings and assumptions.

    Parameters
    ----------
    verdict
        What to show.
    console
        Where to show it; colors and line drawing depend on what it can do.
    explanation
        The property in plain English; where the property is a program it comes first, and the program below it.
    why
        Why it must hold.
    """
    fancy = is_fancy(console)
    parts = _claim(verdict, explanation, why)
    parts += [Text(), Text(f"{capitalised(answer_line(verdict))}. {guarantee(verdict)}"), Text()]
    parts += [_drawn(block, verdict, fancy, console.width) for block in view_of(verdict).blocks(verdict)]
    parts += [Text(level(verdict), style="dim")] if level(verdict) else []
    parts += _counterexamples(verdict, console.width - 8)
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
    """A block of the findings."""
    match block:
        case Quantities():
            items, _, omitted = shown_findings(verdict)
            return Group(_gauges(items, verdict, fancy), *_note_on_omitted(omitted))
        case Rates():
            return _rates(shown_findings(verdict)[1], unit(verdict))
        case Sentence(text):
            return Text(text)
        case TableBlock():
            return _table(block)
        case Subgroups():
            return _subgroups(block, fancy)
        case PeopleCounts():
            return _people(block, width)


def _note_on_omitted(comparisons: int) -> list[RenderableType]:
    """How many comparisons are not shown, the worst first."""
    return [Text(f"... and {comparisons:,} more comparisons, listed in the stored verdict", style="dim")] * bool(
        comparisons
    )


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


def _counterexamples(verdict: Verdict, width: int) -> list[RenderableType]:
    """The first counterexamples: one line each where that says it all, otherwise record by record."""
    view = view_of(verdict)
    shown = [view.counterexample(verdict, item) for item in verdict.counterexamples[:MAX_LINES]]
    in_lines = all(case.line is not None for case in shown)
    shown = shown if in_lines else shown[:MAX_GRIDS]
    parts: list[RenderableType] = [Text()] if shown and in_lines else []
    parts += [_line(case) if in_lines else _grid(number, case, width) for number, case in enumerate(shown, start=1)]
    more = len(verdict.counterexamples) - len(shown)
    if more > 0:
        parts.append(Text(f"... and {more} more counterexamples, listed in the stored verdict", style="dim"))
    return parts


def _line(case: CounterexampleView) -> Text:
    where, happens = case.line or ("", case.title)
    return Text(f"{where}: ", style="bold").append(happens, style="default")


def _grid(number: int, case: CounterexampleView, width: int) -> Padding:
    """The records that differ, side by side, and what the model answered for them."""
    lines = [Text(f"{number}. {case.heading or case.title}", style="bold")]
    lines += [Text(f"   {line}") for line in counterexample_lines(replace(case, sentence=""), width)]
    return Padding(Group(*lines), (1, 0, 0, 0))


def _notes(verdict: Verdict) -> Padding:
    """Assumptions, notes and how to repeat it, in small print."""
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(style="dim", overflow="fold")
    some = (
        [f"the estimates are of {early(verdict)}, which were enough: measure uses all rows"] if early(verdict) else []
    )
    notes = [*some, *verdict.remarks, *filter(None, [seed_note(verdict)])]
    for kind, items in (("assumes", verdict.assumptions), ("note", notes)):
        for item in items:
            grid.add_row(kind, Text(item))
    spent = filter(None, (queries(verdict), f"{verdict.seconds:.2f} s"))
    grid.add_row("repeat", f"seed {verdict.seed}, method {verdict.method}, {', '.join(spent)}")
    return Padding(grid, (1, 0, 0, 0))


# ---------------------------------------------------------------------------------------------- the summary of an audit

Result: TypeAlias = Verdict | Failure
"""The result of a property."""

MAX_PROPERTIES = 60
"""The maximum number of lines; where there are more properties, those that do not hold come first."""

WIDE = 100
"""The columns from which on the summary says what each answer cost; a verdict in full always says so."""

MAX_IN_FULL = 5
"""The maximum number of verdicts that are shown in full."""


def overview(audit: AuditReport, console: Console) -> None:
    """Print a line for each property, and the number of each answer."""
    shown = _worst_first(audit)
    if shown:
        print_lines(shown[:MAX_PROPERTIES], console)
        print_page([entry.verdict for entry in audit.entries], console)
    if len(shown) > MAX_PROPERTIES:
        console.print(f"and {len(shown) - MAX_PROPERTIES:,} more; isonomia show lists them")
    console.print(summary_sentence([entry.verdict for entry in audit.entries], audit.failures), soft_wrap=True)


def print_lines(items: Sequence[Entry | Failure], console: Console) -> None:
    """Print a line for each property: the answer, its risk, the findings and, on a wide terminal, the cost."""
    wide = console.width >= WIDE
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("answer", no_wrap=True)
    table.add_column("property", overflow="fold")
    if wide:
        table.add_column("samples", justify="right", no_wrap=True)
    table.add_column("risk", justify="right", no_wrap=True)
    table.add_column("findings", overflow="fold")
    for item in items:
        table.add_row(*_summary_cells(item, console, wide))
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
    if len(every) <= MAX_PROPERTIES:
        return sorted(every, key=lambda item: item.line or 0)
    return sorted(every, key=lambda item: 0 if isinstance(item, Failure) else 1 + ORDER.index(item.verdict.answer))


def _summary_cells(item: Entry | Failure, console: Console, wide: bool) -> list[Text]:
    if isinstance(item, Failure):
        first, spent, chance = (OPEN if item.kind == UNFINISHED else FAILED), "", "-"
        finding = finding_of(item)
    else:
        verdict = item.verdict
        first, spent, chance, finding = verdict.answer, cost(verdict), risk(verdict), finding_of(verdict)
    rest = [spent, chance, finding] if wide else [chance, finding]
    return [Text(sign_of(first, console), style=STYLES[first]), Text(visible(item.name)), *map(Text, rest)]


def finding_of(result: Result, *, compact: bool = False) -> str:
    """The finding in one line: how many violate the claim, an interval, or why there is neither."""
    if isinstance(result, Failure):
        return on_one_line(result.message)
    return visible(view_of(result).finding(result, compact))
