"""``isonomia runs``, ``show`` and ``report``: what is kept of earlier runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from isonomia.cli.gates import Gates, write_gates
from isonomia.errors import RecordError
from isonomia.records.visible import visible

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isonomia.records.store import CheckRecord, RunRecord, Store
    from isonomia.records.verdict import Verdict
    from isonomia.report.entries import Audit

__all__ = ["FOLDER", "Name", "Records", "audit_of", "open_store", "report", "runs", "show", "with_histories"]

Records = Annotated[Path, typer.Option(help="The folder with the records.")]
FOLDER = Path(".isonomia")


def _names(context: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """The runs whose names begin so, each with its title, for a shell that completes them; none where there is none."""
    try:
        kept = open_store(context.params.get("records") or FOLDER).runs()
    except Exception:
        return []  # whoever presses Tab wants no message
    pairs = [(run.id, visible(run.title)) for run in kept]
    latest = [("latest", pairs[0][1])] if pairs else []
    return [pair for pair in latest + pairs if pair[0].startswith(incomplete)]


Name = Annotated[
    str,
    typer.Argument(metavar="RUN", help="Its name, the beginning of its name, or latest.", autocompletion=_names),
]


def runs(records: Records = FOLDER) -> None:
    """List the runs that are kept, the latest first.

    Example: isonomia runs
    """
    store = open_store(records)
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("run", no_wrap=True)
    for heading in ("audit", "begun", "properties", "answers"):
        table.add_column(heading, overflow="fold")
    for run in store.runs():
        checks = store.checks(run.id)
        answers: list[str] = [check.verdict.answer for check in checks if check.verdict is not None]
        answers += ["could not be checked" for check in checks if check.verdict is None and check.error is not None]
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
    from isonomia.report.entries import audit_exit_code
    from isonomia.report.overview import overview, show_entry

    audit = audit_of(open_store(records), run)
    console = Console(highlight=False)
    for entry in audit.entries:
        show_entry(entry, console)
    overview(audit, console)
    raise typer.Exit(audit_exit_code(audit))


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
    store = open_store(records)
    audit = with_histories(store, audit_of(store, run))
    target = output or Path(f"{audit.run}.html")
    write_gates(Gates(junit, sarif, json, markdown, card, target), audit, None)
    Console(highlight=False, soft_wrap=True).print(f"written: {target}")
    if show_it:
        typer.launch(target.resolve().as_uri())


def audit_of(store: Store, name: str, known: Mapping[int, Verdict] | None = None) -> Audit:
    """What is kept of a run, as a report needs it.

    Properties that could not be checked are its failures; so are those that have not been checked to the end.

    Parameters
    ----------
    store, name
        Where the run is kept, and its name.
    known
        Verdicts by the numbers of their checks, for those of which the store has none.

    Raises
    ------
    RecordError
        Where there is no such run.
    """
    from isonomia.report.entries import Audit, Entry, Failure

    run = store.run(name)
    entries: list[Entry] = []
    failures: list[Failure] = []
    for check in store.checks(run.id):
        verdict = (known or {}).get(check.number) if check.verdict is None else check.verdict
        why, line = check.definition.get("why"), check.options.get("line")
        if verdict is not None:
            entries.append(Entry(check.name, verdict, why, line, check.options.get("explanation")))
        else:
            failures.append(Failure(check.name, *_problem(store, run, check), why, line))
    file, folder = run.request.get("file"), str(store.folder)
    return Audit(run.title, tuple(entries), run.id, run.begun, file, tuple(failures), folder)


def _problem(store: Store, run: RunRecord, check: CheckRecord) -> tuple[str, str]:
    """Why a check has no verdict: the kind, and the message."""
    from isonomia.report.commands import resume_command
    from isonomia.report.counts import UNFINISHED

    if check.error is not None:
        return check.error["kind"], check.error["message"]
    command = resume_command(run.request.get("file", "AUDIT.toml"), store.folder)
    return UNFINISHED, f"it was not checked to the end: {command} goes on with it"


def with_histories(store: Store, audit: Audit) -> Audit:
    """The same with how each interval closed in, computed from what was kept; none where the run is not complete."""
    from isonomia.audits.replaying.closing import closings
    from isonomia.records.evidence import evidence_of

    try:
        found = closings(evidence_of(store, audit.run or "latest"))
    except RecordError:
        return audit
    entries = tuple(replace(entry, history=found.get(entry.name, ())) for entry in audit.entries)
    return replace(audit, entries=entries)


def open_store(folder: Path) -> Store:
    """The store in a folder, which must have one.

    Raises
    ------
    RecordError
        Where there is none.
    """
    from isonomia.records.store import Store

    if not (folder / "runs.sqlite").exists():
        raise RecordError(
            f"expected records in {folder}, but there are none: isonomia run AUDIT.toml makes some, and --records "
            f"names another folder{_nearby(folder)}"
        )
    return Store(folder, reading=True)


def _nearby(folder: Path) -> str:
    """A word on records in the folders beside the one that has none: an audit keeps them beside its file."""
    found = sorted(file.parent for file in folder.parent.glob(f"*/{FOLDER}/runs.sqlite"))[:3]
    return f", such as {' or '.join(map(str, found))}" if found else ""
