"""Running an audit file: one check after the other, everything kept as it comes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from isonomia.audits.audit_file.planned import Planned
from isonomia.audits.audit_file.reading import AuditFile
from isonomia.audits.check import carry_out
from isonomia.engine.observer import Observer
from isonomia.errors import RecordError
from isonomia.records.store import RunRecord, Store
from isonomia.records.verdict import Verdict

__all__ = ["Started", "begin_run", "resume_run", "run_checks", "unfinished"]

INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True)
class Started:
    """A run in the store: its name, and the verdicts that it has already."""

    run: str
    verdicts: tuple[Verdict | None, ...]


def begin_run(store: Store, file: AuditFile, planned: Sequence[Planned], seed: int) -> Started:
    """Write down a new run."""
    request = {"file": str(file.path), "text": file.text, "digest": digest(file), "seed": seed}
    checks = [(each.name, each.definition, _options(each)) for each in planned]
    run = store.begin(file.content.get("title") or file.path.stem, request, checks)
    return Started(run, (None,) * len(planned))


def _options(each: Planned) -> dict[str, Any]:
    request = each.arranged.request
    return {"delta": request.delta, "line": each.line, "explanation": request.prop.explain()}


def unfinished(store: Store, file: AuditFile, name: str = "latest") -> RunRecord:
    """The run to go on with: the one that is named, or the latest of this file that did not end.

    Raises
    ------
    RecordError
        Where there is none, or the file has changed since.
    """
    if name != "latest":
        found = store.run(name)
        if found.request.get("digest") != digest(file):
            raise RecordError(
                f"expected {file.path} as it was when run {found.id} began, but it has changed: begin a new run"
            )
        return found
    for run in store.runs():
        if run.ended is None and run.request.get("digest") == digest(file):
            return run
    raise RecordError(
        f"expected a run of {file.path} in {store.folder} that was cut off, but there is none of the file as it is: "
        "begin a new one, without --resume"
    )


def resume_run(store: Store, run: RunRecord, planned: Sequence[Planned]) -> Started:
    """Go on with a run: checks that have a verdict keep it."""
    checks = store.checks(run.id)
    if [check.name for check in checks] != [each.name for each in planned]:
        raise RecordError(f"expected the properties that run {run.id} began with, but others came: begin a new run")
    return Started(run.id, tuple(check.verdict for check in checks))


def run_checks(
    store: Store,
    started: Started,
    planned: Sequence[Planned],
    observe: Callable[[Planned], Observer],
    tell: Callable[[int, Verdict], None],
) -> list[Verdict]:
    """Carry out every check that has no verdict yet, and write each verdict down as soon as it is there.

    Somebody who presses Ctrl-C gets what is known so far; that check has no verdict in the store, and goes on where it
    was when the run is resumed.
    """
    verdicts = []
    for number, each in enumerate(planned):
        known = started.verdicts[number]
        verdict = _carried_out(store, started.run, number, each, observe) if known is None else known
        tell(number, verdict)
        verdicts.append(verdict)
        if verdict.stopped == INTERRUPTED:
            return verdicts
    store.end(started.run)
    return verdicts


def _carried_out(store: Store, run: str, number: int, each: Planned, observe: Callable[[Planned], Observer]) -> Verdict:
    journal = store.journal(run, number)
    try:
        verdict = carry_out(each.arranged.with_journal(journal), observe(each))
    finally:
        journal.close()
    if verdict.stopped != INTERRUPTED:
        store.conclude(run, number, verdict)
    return verdict


def digest(file: AuditFile) -> str:
    """Tells the text of an audit file from others."""
    return hashlib.sha256(file.text.encode("utf-8")).hexdigest()
