"""``isonomia run``: every property of an audit file, kept as it comes, and told to whoever should know."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from isonomia.cli.gates import Gates, write_gates
from isonomia.cli.models import TrustPickle
from isonomia.cli.outcome import conclude
from isonomia.cli.runs import audit_of
from isonomia.errors import RecordError

if TYPE_CHECKING:
    from collections.abc import Callable

    from isonomia.audits.audit_file.planned import Planned
    from isonomia.audits.audit_file.running import Started
    from isonomia.engine.observer import Observer
    from isonomia.records.store import Store
    from isonomia.records.verdict import Verdict

__all__ = ["run"]


def run(
    file: Annotated[Path, typer.Argument(metavar="AUDIT.toml", help="The audit file.", show_default=False)],
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the latest run of this file that was cut off.")
    ] = False,
    records: Annotated[
        Path | None, typer.Option(help="The folder for records; .isonomia beside the file unless given.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Another seed than the file's.")] = None,
    trust_pickle: TrustPickle = False,
    allow_code: Annotated[
        bool, typer.Option("--allow-code", help="Let the blocks of specifications run as Python.")
    ] = False,
    junit: Annotated[Path | None, typer.Option(help="Write JUnit XML to this file.")] = None,
    sarif: Annotated[Path | None, typer.Option(help="Write SARIF 2.1.0 to this file.")] = None,
    json: Annotated[Path | None, typer.Option(help="Write the verdicts as JSON to this file.")] = None,
    markdown: Annotated[Path | None, typer.Option(help="Write Markdown to this file.")] = None,
    card: Annotated[Path | None, typer.Option(help="Write a section for a model card to this file.")] = None,
    report: Annotated[Path | None, typer.Option(help="Write the HTML report to this file.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print the summary only, and no progress.")] = False,
) -> None:
    """Check every property of an audit file.

    Every batch is written down: a run that is killed goes on with --resume, and ends with the same verdicts. Example:
    isonomia run audit.toml --junit verdicts.xml
    """
    from isonomia.audits.audit_file.building import Permissions
    from isonomia.audits.audit_file.planning import plan_audit
    from isonomia.audits.audit_file.reading import read_audit_file
    from isonomia.audits.audit_file.running import begin_run, resume_run, run_checks, unfinished
    from isonomia.engine.seeds import fresh_seed
    from isonomia.records.store import FOLDER, Store

    gates = Gates(junit, sarif, json, markdown, card, report)
    gates.probe()
    audit = read_audit_file(file)
    sys.path.insert(0, str(audit.folder.resolve()))  # modules beside the file are found, as beside a script
    store = Store(records or audit.folder / audit.content.get("records", FOLDER))
    earlier = unfinished(store, audit) if resume else None
    if earlier is not None and seed is not None:
        raise RecordError("expected no --seed with --resume: the run goes on with its own")
    wanted = [earlier.request["seed"] if earlier else seed, audit.content.get("seed")]
    chosen = next((each for each in wanted if each is not None), None)
    chosen = fresh_seed() if chosen is None else chosen
    planned = plan_audit(audit, chosen, Permissions(trust_pickle, allow_code))
    started = resume_run(store, earlier, planned) if earlier else begin_run(store, audit, planned, chosen)
    console = Console(highlight=False)
    verdicts = run_checks(store, started, planned, lambda _: _observer(quiet), _teller(planned, console, quiet))
    _finish(console, store, started, planned, verdicts, gates, file)


def _observer(quiet: bool) -> Observer:
    from isonomia.engine.observer import Silent
    from isonomia.report import LiveProgress

    return Silent() if quiet else LiveProgress(Console(stderr=True))


def _teller(planned: list[Planned], console: Console, quiet: bool) -> Callable[[int, Verdict], None]:
    from isonomia.report import show

    def tell(number: int, verdict: Verdict) -> None:
        if not quiet:
            show(verdict, console, planned[number].why)

    return tell


def _finish(
    console: Console,
    store: Store,
    started: Started,
    planned: list[Planned],
    verdicts: list[Verdict],
    gates: Gates,
    file: Path,
) -> None:
    code = conclude(verdicts, console, None, always=True)
    cut = len(verdicts) < len(planned) or verdicts[-1].stopped == "interrupted"
    if len(verdicts) > 1 or not cut:
        write_gates(gates, audit_of(store, started.run), os.environ.get("GITHUB_STEP_SUMMARY"))
    if cut:
        console.print(f"run {started.run} was cut off: go on with isonomia run {file} --resume")
        raise typer.Exit(3)
    console.print(f"run {started.run} is kept in {store.folder}")
    raise typer.Exit(code)
