"""``isonomia compare``: two runs, property by property."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from isonomia.cli.console import new_console
from isonomia.cli.options import Key
from isonomia.cli.records import HERE, Records, names_of_runs, read_key
from isonomia.errors import RecordError, nearest
from isonomia.wording import excerpt, visible

if TYPE_CHECKING:
    from isonomia.records.compare import PropertyChange, RunVerdicts
    from isonomia.records.verdict import Verdict


def _runs_and_files(context: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """What the shell completes: runs, and files that could be some."""
    head, slash, _ = incomplete.rpartition("/")
    folder = Path(f"{head}{slash}" or ".")
    try:
        names = [f"{head}{slash}{path.name}{'/' if path.is_dir() else ''}" for path in sorted(folder.iterdir())]
    except OSError:
        names = []  # whoever presses Tab wants no message
    wanted = [name for name in names if name.startswith(incomplete) and name.endswith(("/", ".json"))]
    return names_of_runs(context, incomplete) + [(name, "") for name in wanted]


_EITHER = "A run of the records, an evidence file, or verdicts that --json wrote."
Before = Annotated[str, typer.Argument(metavar="BEFORE", help=_EITHER, autocompletion=_runs_and_files)]
After = Annotated[str, typer.Argument(metavar="AFTER", help=_EITHER, autocompletion=_runs_and_files)]


def compare(before: Before, after: After, records: Records = HERE, key: Key = None) -> None:
    """Compare two runs, property by property: answers, intervals, samples, and what else changed.

    The exit code is 1 where an answer got worse, or a property is no longer checked. An evidence file whose seal is
    broken is refused.

    Example: isonomia compare old.evidence.json latest
    """
    from isonomia.records.compare import changes

    secret = read_key(key)
    first, second = _side(before, records, secret), _side(after, records, secret)
    changed, console = list(changes(first, second)), new_console()
    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("property", "before", "after", "what is known", "samples", "changed besides"):
        table.add_column(heading, overflow="fold")
    for each in changed:
        table.add_row(*_cells(each))
    console.print(visible(f"before: {first.name}; after: {second.name}"), markup=False, soft_wrap=True)
    console.print(table)
    for line in _versions(first, second):
        console.print(visible(line), markup=False, soft_wrap=True)
    worse = [each for each in changed if each.worse]
    for each in worse:
        console.print(Text(f"worse: {_short(each.name)}: {each.answers[0]}, now {each.answers[1]}", style="bold red"))
    if not worse:
        console.print("no answer got worse")
    raise typer.Exit(1 if worse else 0)


def _side(name: str, records: Path, key: bytes | None) -> RunVerdicts:
    from isonomia.cli.records import open_store
    from isonomia.records.compare import run_in_file, run_in_store

    path = Path(name)
    if path.is_file():
        return run_in_file(path, key)
    if path.exists() or len(path.parts) > 1 or path.suffix:  # no run is called so
        problem = "is not a file" if path.exists() else "does not exist"
        beside = [file.name for file in path.parent.glob("*.json")] if path.parent.is_dir() else []
        raise RecordError(
            f"expected a run, an evidence file or verdicts, but {name} {problem}.{nearest(path.name, beside)}"
        )
    return run_in_store(open_store(records), name)


def _cells(each: PropertyChange) -> list[Text]:
    before, after = each.answers
    colour = "red" if each.worse else "green" if before != after else ""
    return [
        Text(_short(each.name)),
        Text(before),
        Text(after, style=colour),
        Text(_pair(_finding(each.before), _finding(each.after))),
        Text(_pair(_samples(each.before), _samples(each.after))),
        Text(", ".join(each.others)),
    ]


def _short(name: str) -> str:
    return visible(excerpt(name, 200))


def _pair(before: str, after: str) -> str:
    return before if before == after else f"{before or '-'} → {after or '-'}"


def _finding(verdict: Verdict | None) -> str:
    """What is known, in the words of the headline that every other page of the verdict has."""
    from isonomia.records.display.view import view_of

    return "" if verdict is None else visible(excerpt(view_of(verdict).finding(verdict, True), 200))


def _samples(verdict: Verdict | None) -> str:
    return "" if verdict is None else f"{verdict.samples:,}"


def _versions(before: RunVerdicts, after: RunVerdicts) -> list[str]:
    if not before.versions or not after.versions:
        return []
    names = dict.fromkeys((*before.versions, *after.versions))
    return [
        f"{name} {before.versions.get(name, 'absent')}, now {after.versions.get(name, 'absent')}"
        for name in names
        if before.versions.get(name) != after.versions.get(name)
    ]
