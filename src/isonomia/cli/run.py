"""``isonomia run``: every property of an audit file, recorded as it ends, and reported."""

from __future__ import annotations

import os
import shlex
import sys
from dataclasses import asdict, replace
from functools import partial
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import typer
from rich.console import Console

from isonomia.cli.outputs import (
    OutputFiles,
    new_console,
    refuse_to_overwrite,
    write_all_violations,
    write_outputs,
    write_text,
)
from isonomia.errors import NotAllowedError, RecordError, UsageError
from isonomia.wording import plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isonomia.audits.audit_file.planner import PlannedCheck
    from isonomia.audits.audit_file.reader import AuditFile
    from isonomia.audits.audit_file.runner import Outcome, StartedRun
    from isonomia.audits.protocol import Permissions
    from isonomia.records.store import RunRecord, Store
    from isonomia.report.entries import AuditReport
    from isonomia.report.terminal import Result


def run(
    file: Path,
    resume: bool = False,
    records: Path | None = None,
    seed: int | None = None,
    jobs: int | None = None,
    executor: str | None = None,
    known_first: bool = False,
    quiet: bool = False,
    cache: Path | None = None,
    trust_pickle: bool = False,
    allow_code: bool = False,
    allow_outside: bool = False,
    remember: bool = False,
    outputs: OutputFiles = OutputFiles(),  # noqa: B008  (frozen)
) -> None:
    """Check every property of an audit file.

    A run that is killed continues with --resume, and ends with the same verdicts. The file needs permission to run code
    or to read outside of its folder.

    Example: isonomia run audit.toml --junit verdicts.xml
    """
    from isonomia.audits.audit_file.planner import Wrapping, plan_audit
    from isonomia.audits.audit_file.reader import read_audit_file
    from isonomia.audits.audit_file.runner import EarlierLooks, StartedRun, begin_run, is_open, resumable, resume_run
    from isonomia.audits.protocol import Permissions
    from isonomia.records.store import FOLDER, Store

    outputs.probe()
    audit = read_audit_file(file)
    threads = _jobs(audit, jobs)
    written = [key for key, given in (("records", records), ("cache", cache)) if given is None]
    asked_for = Permissions(trust_pickle, allow_code, allow_outside)
    permissions = allowed(audit, asked_for, written, keep=remember, elsewhere=executor is not None)
    store = Store(records or audit.folder / audit.content.get("records", FOLDER))
    earlier = resumable(store, audit) if resume else None
    looks = EarlierLooks.of(store, audit, earlier)
    chosen, by_hand = _seed(audit, earlier, seed, looks.run)
    console = new_console()
    if earlier is not None and not is_open(store, earlier):
        # Nothing is left to check, and so neither the model nor the population is needed.
        verdicts = tuple(check.verdict for check in store.checks(earlier.id))
        console.print(f"run {earlier.id} had ended: its verdicts are those of the store", soft_wrap=True)
        _finish(console, store, StartedRun(earlier.id, verdicts), verdicts, outputs, file, quiet)
    wrapping = Wrapping(audit, cache, executor)
    looked_at = partial(looks.continued, 0 if chosen is None else chosen)
    planned = plan_audit(
        audit, chosen, permissions, wrapping, executor=executor, looked_at=looked_at, seed_chosen=by_hand
    )
    if chosen is None:
        chosen = planned[0].check.seed if planned else 0
    if earlier:
        started = resume_run(store, audit, earlier, planned)
    else:
        options = _options_to_repeat(audit, permissions)
        started = begin_run(store, audit, planned, chosen, options, looks.tables, by_hand)
    outcomes = _carried_out(store, started, planned, console, threads, quiet, known_first)
    for cache_used in wrapping.caches:
        console.print(cache_used.remark, soft_wrap=True)
    _finish(console, store, started, outcomes, outputs, file, quiet)


_COVERED = (
    "until a file below its folder changes, other than the tables of people; installed packages and files elsewhere "
    "are not covered"
)


def allowed(
    audit: AuditFile, permissions: Permissions, written: Sequence[str], *, keep: bool, elsewhere: bool = False
) -> Permissions:
    """The permissions: granted by options, remembered for this file, or granted at the terminal."""
    from isonomia.audits.audit_file.permissions import check_allowed, remember, with_remembered

    permissions = with_remembered(audit, permissions)
    again = shlex.join(["isonomia", *sys.argv[1:]])
    advice = f"go on with\n  {again} {{flags}}\nwith --remember, permissions are remembered {_COVERED}"
    try:
        check_allowed(audit, permissions, advice, writes=written, elsewhere=elsewhere)
    except NotAllowedError as error:
        if not _says_yes(error, keep):
            raise
        permissions = replace(permissions, **dict.fromkeys(error.permissions, True))
    if keep:
        path = remember(audit, permissions)
        new_console(stderr=True, wrap=False).print(f"remembered in {path}")
    if permissions.allow_code:
        # Modules in the folder of the file are found, as those of a script. Not without permission: a file called
        # pandas.py or onnxruntime.py would be imported in place of the library, and run.
        sys.path.insert(0, str(audit.folder.resolve()))
    return permissions


def _options_to_repeat(audit: AuditFile, permissions: Permissions) -> list[str]:
    """What must be allowed again to continue with a run: what is allowed, but for what is remembered."""
    from isonomia.audits.audit_file.permissions import with_remembered
    from isonomia.audits.protocol import Permissions

    granted, remembered = asdict(permissions), asdict(with_remembered(audit, Permissions()))
    names = ("allow_code", "allow_outside", "trust_pickle")
    needed = [name for name in names if granted[name] and not remembered[name]]
    return [f"--{name.replace('_', '-')}" for name in needed]


def _says_yes(error: NotAllowedError, keep: bool) -> bool:
    """Whether a person at a terminal grants them: this time, or until something changes."""
    if os.environ.get("CI") or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    console = new_console(stderr=True, wrap=False)
    console.print("This file needs permissions that you have not granted:")
    for line in error.wants:
        console.print(f"  {line}")
    if keep:
        console.print(f"They are remembered {_COVERED}.")
    again = "from now on" if keep else "this time"
    console.print(f"Do you trust its author, and grant all of them {again}? [y/N] ", end="")
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


def _jobs(audit: AuditFile, jobs: int | None) -> int | None:
    wanted = audit.content.get("jobs") if jobs is None else jobs
    if wanted is not None and wanted < 1:
        message = f"expected jobs, the properties to check at once, as 1 or more, but got {wanted}"
        raise UsageError(message) if jobs is not None else audit.error(message, "jobs")
    return None if wanted is None else int(wanted)


def _seed(
    audit: AuditFile, earlier: RunRecord | None, seed: int | None, before: RunRecord | None
) -> tuple[int | None, bool]:
    """The seed that is given, else the file's, else that of earlier looks at its tables, and whether it was chosen.

    ``None`` without any of these: then it is derived from what is checked.
    """
    from isonomia.engine.parameters import root

    if earlier is not None and seed is not None:
        raise RecordError("--seed cannot be used with --resume: the run continues with its own seed")
    if seed is not None:
        root(seed)  # refuses what is not a seed; later, a property of the file would be blamed
    stated = audit.content.get("seed") if seed is None else seed
    recorded = earlier if earlier is not None or stated is not None else before
    if recorded is not None:
        return int(recorded.request["seed"]), bool(recorded.request.get("seed_chosen", False))
    return (None, False) if stated is None else (int(stated), True)


def _carried_out(
    store: Store,
    started: StartedRun,
    planned: Sequence[PlannedCheck],
    console: Console,
    jobs: int | None,
    quiet: bool,
    known_first: bool,
) -> list[Outcome | None]:
    from isonomia.audits.audit_file.runner import run_checks
    from isonomia.report.live import display_for

    output = new_console(quiet=True) if quiet else console
    board = display_for([each.name for each in planned], output, new_console(stderr=True, quiet=quiet))

    def tell(number: int, outcome: Outcome) -> None:
        board.finished(number, _result(planned[number], outcome))

    with board:
        return run_checks(store, started, planned, board.observer, tell, jobs, board.stopping, known_first=known_first)


def _result(each: PlannedCheck, outcome: Outcome) -> Result:
    from isonomia.audits.audit_file.runner import FailedCheck
    from isonomia.report.entries import Failure

    if isinstance(outcome, FailedCheck):
        return Failure(each.name, outcome.kind, outcome.message, each.why, each.line)
    return outcome


def _finish(
    console: Console,
    store: Store,
    started: StartedRun,
    outcomes: Sequence[Outcome | None],
    outputs: OutputFiles,
    file: Path,
    quiet: bool,
) -> NoReturn:
    """Print and write the results of a run, and exit with its exit code."""
    from isonomia.audits.audit_file.runner import cut_off
    from isonomia.records.store import resume_command, with_records
    from isonomia.records.verdict import Verdict
    from isonomia.report.entries import all_violations, audit_exit_code, audit_of, with_histories
    from isonomia.report.terminal import overview, show_trouble

    verdicts = {number: outcome for number, outcome in enumerate(outcomes) if isinstance(outcome, Verdict)}
    audit = audit_of(store, started.run, verdicts)
    if not quiet:
        show_trouble(audit, console)
    overview(audit, console)
    audit = audit if outputs.report is None else with_histories(store, audit)
    write_outputs(outputs, audit, os.environ.get("GITHUB_STEP_SUMMARY"))
    if outputs.mlflow is not None:
        _log_to_mlflow(store, started.run, audit, outputs.mlflow, console)
    if outputs.violations is not None:
        write_all_violations(all_violations(store, started.run, verdicts), outputs.violations, console)
    command = with_records("isonomia show latest", store.folder)
    message = f"run {started.run} is kept in {store.folder}; {command} shows it"
    if cut_off(outcomes):
        again = resume_command({**store.run(started.run).request, "file": str(file)}, store.folder)
        message = f"run {started.run} was cut off: go on with {again}"
    console.print(message, soft_wrap=True)
    raise typer.Exit(audit_exit_code(audit))


def _log_to_mlflow(store: Store, run: str, audit: AuditReport, experiment: str, console: Console) -> None:
    from isonomia.records.evidence import evidence_of, evidence_text
    from isonomia.report.entries import with_histories
    from isonomia.report.tracking import log_to_mlflow

    try:
        evidence = evidence_text(evidence_of(store, run))
    except RecordError:  # a run that was cut off has none yet
        evidence = None
    logged = log_to_mlflow(with_histories(store, audit), experiment=experiment, evidence=evidence)
    console.print(f"logged to the MLflow run {logged}", soft_wrap=True)


def register(
    file: Path,
    output: Path = Path("registration.json"),
    seed: int | None = None,
    force: bool = False,
    trust_pickle: bool = False,
    allow_code: bool = False,
    allow_outside: bool = False,
) -> None:
    """Write down what an audit will check, before any answer is seen: file, data, model, seed, looks and risk.

    The model answers no row. Publish the hash, run the audit, and compare: isonomia replay EVIDENCE
    --registered registration.json. A registration in your own hands proves nothing about its time.

    Example: isonomia register audit.toml
    """
    from isonomia.audits.audit_file.planner import plan_audit, registration_of
    from isonomia.audits.audit_file.reader import read_audit_file
    from isonomia.audits.protocol import Permissions

    refuse_to_overwrite(output, force=force)
    audit = read_audit_file(file)
    permissions = allowed(audit, Permissions(trust_pickle, allow_code, allow_outside), (), keep=False)
    chosen = audit.content.get("seed") if seed is None else seed
    planned = plan_audit(audit, None if chosen is None else int(chosen), permissions, seed_chosen=chosen is not None)
    registration = registration_of(audit, planned)
    write_text(dumps(registration, indent=2, ensure_ascii=False) + "\n", output, force=force)
    console = new_console(wrap=False)
    count = plural(len(planned), "property", "properties")
    console.print(f"{output}: {count}, registered at {registration['time']}")
    console.print(f"publish this hash before you run the audit: {registration['hash']}")
