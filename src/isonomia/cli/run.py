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
from isonomia.cli.runs import audit_of, with_histories
from isonomia.errors import RecordError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isonomia.audits.audit_file.carrying import Outcome
    from isonomia.audits.audit_file.planned import Planned
    from isonomia.audits.audit_file.reading import AuditFile
    from isonomia.audits.audit_file.running import Started
    from isonomia.records.store import RunRecord, Store
    from isonomia.report.standing import Result

__all__ = ["run"]


def run(
    file: Annotated[Path, typer.Argument(metavar="AUDIT.toml", help="The audit file.", show_default=False)],
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Go on with the latest run of this file that was cut off or had a failure."),
    ] = False,
    records: Annotated[
        Path | None, typer.Option(help="The folder for records; .isonomia beside the file unless given.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Another seed than the file's.")] = None,
    jobs: Annotated[
        int | None, typer.Option(help="How many properties to check side by side; one for each core unless given.")
    ] = None,
    cache: Annotated[
        Path | None, typer.Option(help="Keep the models' answers in this file, and take them from there.")
    ] = None,
    known_first: Annotated[
        bool, typer.Option("--known-first", help="Try the counterexamples first that earlier runs found.")
    ] = False,
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

    Every batch is written down: a run that is killed goes on with --resume, and ends with the same verdicts.

    Example: isonomia run audit.toml --junit verdicts.xml
    """
    from isonomia.audits.audit_file.building import Permissions
    from isonomia.audits.audit_file.planning import plan_audit
    from isonomia.audits.audit_file.reading import read_audit_file
    from isonomia.audits.audit_file.running import begin_run, resume_run, unfinished
    from isonomia.audits.audit_file.wrapping import Wrapping
    from isonomia.records.store import FOLDER, Store

    gates = Gates(junit, sarif, json, markdown, card, report)
    gates.probe()
    audit = read_audit_file(file)
    threads = _jobs(audit, jobs)
    sys.path.insert(0, str(audit.folder.resolve()))  # modules beside the file are found, as beside a script
    store = Store(records or audit.folder / audit.content.get("records", FOLDER))
    earlier = unfinished(store, audit) if resume else None
    chosen = _seed(audit, earlier, seed)
    wrapping = Wrapping(audit, cache)
    planned = plan_audit(audit, chosen, Permissions(trust_pickle, allow_code), wrapping)
    started = resume_run(store, audit, earlier, planned) if earlier else begin_run(store, audit, planned, chosen)
    console = Console(highlight=False)
    outcomes = _carried_out(store, started, planned, console, threads, quiet, known_first)
    for cached in wrapping.caches:
        console.print(cached.remark, markup=False, soft_wrap=True)
    _finish(console, store, started, outcomes, gates, file, quiet)


def _jobs(audit: AuditFile, jobs: int | None) -> int | None:
    wanted = audit.content.get("jobs") if jobs is None else jobs
    if wanted is not None and wanted < 1:
        told = f"expected jobs, the properties to check side by side, as 1 or more, but {wanted} came"
        raise UsageError(told) if jobs is not None else audit.error(told, "jobs")
    return None if wanted is None else int(wanted)


def _seed(audit: AuditFile, earlier: RunRecord | None, seed: int | None) -> int:
    from isonomia.engine.seeds import fresh_seed

    if earlier is not None and seed is not None:
        raise RecordError("expected no --seed with --resume: the run goes on with its own")
    wanted = [earlier.request["seed"] if earlier else seed, audit.content.get("seed")]
    chosen = next((each for each in wanted if each is not None), None)
    return fresh_seed() if chosen is None else int(chosen)


def _carried_out(
    store: Store,
    started: Started,
    planned: Sequence[Planned],
    console: Console,
    jobs: int | None,
    quiet: bool,
    known_first: bool,
) -> list[Outcome | None]:
    from isonomia.audits.audit_file.running import run_checks
    from isonomia.report.board import showing

    board = showing([each.name for each in planned], console, Console(stderr=True, highlight=False), quiet)

    def tell(number: int, outcome: Outcome) -> None:
        board.finished(number, _result(planned[number], outcome))

    with board:
        return run_checks(store, started, planned, board.observer, tell, jobs, board.stopping, known_first=known_first)


def _result(each: Planned, outcome: Outcome) -> Result:
    from isonomia.audits.audit_file.carrying import Failed
    from isonomia.report.entries import Failure

    if isinstance(outcome, Failed):
        return Failure(each.name, outcome.kind, outcome.message, each.why, each.line)
    return outcome


def _finish(
    console: Console,
    store: Store,
    started: Started,
    outcomes: Sequence[Outcome | None],
    gates: Gates,
    file: Path,
    quiet: bool,
) -> None:
    from isonomia.audits.audit_file.running import cut_off
    from isonomia.records.verdict import Verdict
    from isonomia.report.commands import resume_command, with_records
    from isonomia.report.entries import audit_exit_code
    from isonomia.report.overview import overview, show_trouble

    known = {number: outcome for number, outcome in enumerate(outcomes) if isinstance(outcome, Verdict)}
    audit = audit_of(store, started.run, known)
    if not quiet:
        show_trouble(audit, console)
    overview(audit, console)
    audit = audit if gates.report is None else with_histories(store, audit)
    write_gates(gates, audit, os.environ.get("GITHUB_STEP_SUMMARY"))
    command = with_records("isonomia show latest", store.folder)
    told = f"run {started.run} is kept in {store.folder}; {command} shows it"
    if cut_off(outcomes):
        told = f"run {started.run} was cut off: go on with {resume_command(file, store.folder)}"
    console.print(told, markup=False, soft_wrap=True)
    raise typer.Exit(audit_exit_code(audit))
