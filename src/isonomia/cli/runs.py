"""``isonomia runs``, ``show`` and ``report``: what is kept of earlier runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from isonomia.cli.gates import Gates, write_gates
from isonomia.cli.outcome import conclude
from isonomia.errors import RecordError

if TYPE_CHECKING:
    from isonomia.records.store import RunRecord, Store
    from isonomia.report.entries import Audit

__all__ = ["audit_of", "report", "runs", "show"]

Records = Annotated[Path, typer.Option(help="The folder with the records.")]
Name = Annotated[str, typer.Argument(metavar="RUN", help="Its name, the beginning of its name, or latest.")]
FOLDER = Path(".isonomia")


def runs(records: Records = FOLDER) -> None:
    """List the runs that are kept, the latest first.

    Example: isonomia runs
    """
    store = _store(records)
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("run", no_wrap=True)
    for heading in ("audit", "begun", "properties", "answers"):
        table.add_column(heading, overflow="fold")
    for run in store.runs():
        checks = store.checks(run.id)
        answers = [check.verdict.answer for check in checks if check.verdict is not None]
        told = ", ".join(f"{answers.count(each)} {each}" for each in sorted(set(answers), reverse=True))
        state = told if run.ended else f"cut off; {told}" if told else "cut off"
        table.add_row(Text(run.id), Text(run.title), run.begun.replace("T", " ")[:19], str(len(checks)), state)
    Console(highlight=False).print(
        table if table.row_count else "no run is kept here: isonomia run AUDIT.toml makes one"
    )


def show(run: Name = "latest", records: Records = FOLDER) -> None:
    """Show every verdict of a run.

    Example: isonomia show latest
    """
    from isonomia.report import show as show_verdict

    audit = audit_of(_store(records), run)
    console = Console(highlight=False)
    for entry in audit.entries:
        show_verdict(entry.verdict, console, entry.why)
    raise typer.Exit(conclude([entry.verdict for entry in audit.entries], console, None, always=True))


def report(
    run: Name = "latest",
    records: Records = FOLDER,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="The page; RUN.html unless given.")] = None,
    junit: Annotated[Path | None, typer.Option(help="Also write JUnit XML to this file.")] = None,
    sarif: Annotated[Path | None, typer.Option(help="Also write SARIF 2.1.0 to this file.")] = None,
    json: Annotated[Path | None, typer.Option(help="Also write the verdicts as JSON to this file.")] = None,
    markdown: Annotated[Path | None, typer.Option(help="Also write Markdown to this file.")] = None,
    card: Annotated[Path | None, typer.Option(help="Also write a section for a model card to this file.")] = None,
    show_it: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
) -> None:
    """Write the report of a run as one page that works offline.

    Example: isonomia report latest --open
    """
    audit = audit_of(_store(records), run)
    target = output or Path(f"{audit.run}.html")
    write_gates(Gates(junit, sarif, json, markdown, card, target), audit, None)
    Console(highlight=False, soft_wrap=True).print(f"written: {target}")
    if show_it:
        typer.launch(target.resolve().as_uri())


def audit_of(store: Store, name: str) -> Audit:
    """What is kept of a run, as a report needs it; checks without a verdict are left out.

    Raises
    ------
    RecordError
        Where there is no such run, or none of its checks has a verdict yet.
    """
    from isonomia.report.entries import Audit, Entry

    run = store.run(name)
    entries = tuple(
        Entry(
            check.name,
            check.verdict,
            check.definition.get("why"),
            check.options.get("line"),
            check.options.get("explanation"),
        )
        for check in store.checks(run.id)
        if check.verdict is not None
    )
    if not entries:
        raise RecordError(f"expected a verdict in run {run.id}, but it has none yet: {_advice(run)}")
    return Audit(run.title, entries, run.id, run.begun, run.request.get("file"))


def _advice(run: RunRecord) -> str:
    return f"go on with isonomia run {run.request.get('file', 'AUDIT.toml')} --resume"


def _store(folder: Path) -> Store:
    from isonomia.records.store import Store

    if not (folder / "runs.sqlite").exists():
        raise RecordError(
            f"expected records in {folder}, but there are none: isonomia run AUDIT.toml makes some, and --records "
            "names another folder"
        )
    return Store(folder)
