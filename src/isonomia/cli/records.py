"""The records on the command line: which folder, which run, and what is kept of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from isonomia.errors import RecordError
from isonomia.records.folder import FOLDER, STORE
from isonomia.records.visible import visible

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isonomia.records.store import CheckRecord, RunRecord, Store
    from isonomia.records.verdict import Verdict
    from isonomia.report.entries import Audit

__all__ = ["HERE", "Records", "Run", "audit_of", "names_of_runs", "open_store", "with_histories"]

HERE = Path(FOLDER)
"""Where records are looked for unless a folder is named."""

Records = Annotated[Path, typer.Option(metavar="FOLDER", help="The folder of the records.")]


def names_of_runs(context: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """The runs whose names begin so, each with its title, for a shell that completes them; none where there is none."""
    try:
        kept = open_store(context.params.get("records") or HERE).runs()
    except Exception:
        return []  # whoever presses Tab wants no message
    pairs = [(run.id, visible(run.title)) for run in kept]
    latest = [("latest", pairs[0][1])] if pairs else []
    return [pair for pair in latest + pairs if pair[0].startswith(incomplete)]


Run = Annotated[
    str,
    typer.Argument(metavar="RUN", help="Its name, the beginning of its name, or latest.", autocompletion=names_of_runs),
]


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
    from isonomia.records.commands import resume_command
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

    if not (folder / STORE).exists():
        raise RecordError(
            f"expected records in {folder}, but there are none: isonomia run AUDIT.toml makes some, and --records "
            f"names another folder{_nearby(folder)}"
        )
    return Store(folder, reading=True)


def _nearby(folder: Path) -> str:
    """A word on records in the folders beside the one that has none: an audit keeps them beside its file."""
    found = sorted(file.parent for file in folder.parent.glob(f"*/{FOLDER}/{STORE}"))[:3]
    return f", such as {' or '.join(map(str, found))}" if found else ""
