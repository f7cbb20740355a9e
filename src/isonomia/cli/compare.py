"""``isonomia compare``: two runs, property by property."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from isonomia.cli.evidence import Key, read_key
from isonomia.cli.runs import FOLDER, Records
from isonomia.records.visible import visible

if TYPE_CHECKING:
    from isonomia.records.comparing import Changed, Side
    from isonomia.records.verdict import Verdict

__all__ = ["compare"]

Run = Annotated[str, typer.Argument(help="A run of the records, an evidence file, or verdicts that --json wrote.")]


def compare(before: Run, after: Run, records: Records = FOLDER, key: Key = None) -> None:
    """Compare two runs, property by property: answers, intervals, samples, and what else changed.

    The exit code is 0 where no answer got worse and 1 where one did; a property that is no longer checked counts as
    worse. An evidence file whose seal is broken is refused.

    Example: isonomia compare old.evidence.json latest
    """
    from isonomia.records.comparing import changes

    secret = read_key(key)
    first, second = _side(before, records, secret), _side(after, records, secret)
    found, console = list(changes(first, second)), Console(highlight=False)
    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("property", first.name, second.name, "estimate and interval", "samples", "changed besides"):
        table.add_column(Text(heading), overflow="fold")
    for each in found:
        table.add_row(*_cells(each))
    console.print(table)
    for line in _versions(first, second):
        console.print(visible(line), markup=False, soft_wrap=True)
    worse = [each for each in found if each.worse]
    for each in worse:
        console.print(Text(f"worse: {visible(each.name)}: {each.answers[0]}, now {each.answers[1]}", style="bold red"))
    if not worse:
        console.print("no answer got worse")
    raise typer.Exit(1 if worse else 0)


def _side(name: str, records: Path, key: bytes | None) -> Side:
    from isonomia.cli.runs import open_store
    from isonomia.records.comparing import side_of_file, side_of_run

    return side_of_file(Path(name), key) if Path(name).is_file() else side_of_run(open_store(records), name)


def _cells(each: Changed) -> list[Text]:
    before, after = each.answers
    colour = "red" if each.worse else "green" if before != after else ""
    return [
        Text(visible(each.name)),
        Text(before),
        Text(after, style=colour),
        Text(_pair(_interval(each.before), _interval(each.after))),
        Text(_pair(_samples(each.before), _samples(each.after))),
        Text(", ".join(each.others)),
    ]


def _pair(before: str, after: str) -> str:
    return before if before == after else f"{before or '-'} → {after or '-'}"


def _interval(verdict: Verdict | None) -> str:
    from isonomia.records.words import number

    if verdict is None or not verdict.expressions:
        return ""
    first = verdict.expressions[0]
    estimate = "" if first.estimate is None else f"{number(first.estimate)} "
    return f"{estimate}[{number(first.low)}, {number(first.high)}]"


def _samples(verdict: Verdict | None) -> str:
    return "" if verdict is None else f"{verdict.samples:,}"


def _versions(before: Side, after: Side) -> list[str]:
    if not before.versions or not after.versions:
        return []
    names = dict.fromkeys((*before.versions, *after.versions))
    return [
        f"{name} {before.versions.get(name, 'absent')}, now {after.versions.get(name, 'absent')}"
        for name in names
        if before.versions.get(name) != after.versions.get(name)
    ]
