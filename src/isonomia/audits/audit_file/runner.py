"""Running an audit file: begin a run, resume it, and run its checks, in parallel where they can be.

A run is resumed only with the models and the people that it began with. A check that was begun refuses others itself.
But a run is one record, and those of its checks that have a verdict, or were not begun, would not notice: then its
verdicts would be about different models or different people.

A new run of a file whose tables have grown continues the last one (:class:`EarlierLooks`): it has the same seed, and
the rows of the last one come first, in the same order. So both are looks at the same bets.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from isonomia.audits.audit_file.execution import INTERRUPTED, CheckRunner, Outcome, lanes, run_in_lanes, run_in_order
from isonomia.audits.audit_file.permissions import code_digest
from isonomia.audits.audit_file.planner import PlannedCheck
from isonomia.audits.audit_file.reader import DEFAULT, AuditFile
from isonomia.engine.observer import Observer
from isonomia.errors import RecordError
from isonomia.populations import Sample
from isonomia.populations.protocol import Directable
from isonomia.records.store import RunRecord, Store
from isonomia.records.verdict import Verdict


def refuse_others(store: Store, run: str, planned: Sequence[PlannedCheck]) -> None:
    """Refuse a model or a population that has changed since a check of the run looked at it."""
    now: dict[tuple[str, int], str | None] = {}
    for number, what, entry in store.introductions(run):
        subject = getattr(planned[number].check, what)
        # A population that was focused on groups, or turned into a domain, is not the one that the file names.
        other = what == "population" and entry.get("kind") != getattr(subject, "kind", None)
        if subject is None or isinstance(subject, Directable) or other:
            continue
        key = what, id(subject)
        if key not in now:
            now[key] = _fingerprint(subject)
        if now[key] != entry.get("fingerprint"):
            name = planned[number].definition.get(what, DEFAULT)
            called = "" if name == DEFAULT else f" {name!r}"
            raise RecordError(
                f"expected the {what}{called} of {planned[number].name!r} as it was when run {run} began, but it has "
                "changed: begin a new run"
            )


def _fingerprint(subject: Any) -> str | None:
    found: str | None = subject.fingerprint() if hasattr(subject, "fingerprint") else None
    return found


@dataclass(frozen=True, slots=True)
class Started:
    """A run in the store: its name, and the verdicts that it already has."""

    run: str
    verdicts: tuple[Verdict | None, ...]


@dataclass(slots=True)
class EarlierLooks:
    """The looks at the tables of an audit file that the store has on record, up to the last run of the file.

    Guarantee: where rows are independent draws and a table's rows stay in place, only followed by more, the answer to a
    property is wrong *at any of these looks* with probability at most its ``delta``. What breaks the chain, such as
    changed rows, is said in the verdict's assumptions. Proof: ``docs/theory/growth.md``.

    Attributes
    ----------
    run
        The last run; ``None`` where there is none.
    resumed
        Whether that run is resumed, and this is no new look.
    tables
        The tables of this run, by name, as they are recorded: filled by :meth:`continued`.
    """

    run: RunRecord | None = None
    resumed: bool = False
    tables: dict[str, dict[str, Any]] = field(default_factory=dict)

    @classmethod
    def of(cls, store: Store, file: AuditFile, resumed: RunRecord | None = None) -> EarlierLooks:
        """The looks of the runs of a file, which is known by its name: its text may change."""
        if resumed is not None:
            return cls(resumed, resumed=True)
        runs = (run for run in store.runs() if Path(run.request.get("file", "")).name == file.path.name)
        return cls(next((run for run in runs if run.request.get("tables")), None))

    @property
    def seed(self) -> int | None:
        """The seed of the first look, which every later one keeps; ``None`` where there was none."""
        return None if self.run is None else int(self.run.request["seed"])

    def continued(self, seed: int, name: str, sample: Sample) -> Sample:
        """A sample of the file that knows the earlier looks at it, given the seed of this run."""
        before = {} if self.run is None else self.run.request.get("tables", {}).get(name, {})
        if self.resumed:
            return sample.continuing(before.get("looks", ()), before.get("note", ""))
        looks, note = [*before.get("looks", ()), *([before["rows"]] if before else [])], before.get("note", "")
        broken = self._broken(before, seed, sample) if before else None
        if self.run is not None and broken is not None:
            looks = []
            note = f"the risk covers no look up to run {self.run.id}: after it, {broken}"
        grown = sample.continuing(looks, note)
        rows = {"rows": grown.size, "fingerprint": grown.first(grown.size), "order": grown.row_order}
        self.tables[name] = rows | {"looks": list(grown.looks or ()), "note": grown.note}
        return grown

    def _broken(self, before: Mapping[str, Any], seed: int, sample: Sample) -> str | None:
        """Why a table is not the one of the last run with rows added, in words; ``None`` if it is."""
        if seed != self.seed:
            return "the seed has changed"
        if before["order"] != sample.row_order:
            return "the order of the rows has changed"
        if before["rows"] > sample.size:
            return f"rows were removed, of which there were {before['rows']:,}"
        if before["fingerprint"] != sample.first(before["rows"]):
            return f"the first {before['rows']:,} rows have changed"
        return None


def begin_run(
    store: Store,
    file: AuditFile,
    planned: Sequence[PlannedCheck],
    seed: int,
    options: Sequence[str] = (),
    tables: Mapping[str, Any] | None = None,
    seed_chosen: bool | None = None,
) -> Started:
    """Record a new run: the command's ``options`` that are needed again to resume it, and the sampled ``tables``.

    ``seed_chosen`` says whether the seed was chosen by hand; a replay in full expects the default one where it was not.
    """
    request = {"file": str(file.path), "text": file.text, "digest": digest(file), "seed": seed, "files": file.files}
    request |= {"code": code_digest(file), "options": list(options), "tables": dict(tables or {})}
    request |= {} if seed_chosen is None else {"seed_chosen": seed_chosen}
    checks = [(each.name, each.definition, _options(each)) for each in planned]
    run = store.begin(file.content.get("title") or file.path.stem, request, checks)
    return Started(run, (None,) * len(planned))


def _options(each: PlannedCheck) -> dict[str, Any]:
    return {"delta": each.check.delta, "line": each.line, "explanation": each.check.prop.explain()}


def complete(store: Store, file: AuditFile) -> RunRecord | None:
    """The latest run of this file, if every run of it has ended and nothing is left to do."""
    runs = [run for run in store.runs() if run.request.get("digest") == digest(file)]
    left = any(run.ended is None or _has_failed(store, run) for run in runs)
    return runs[0] if runs and not left else None


def unfinished(store: Store, file: AuditFile, name: str = "latest") -> RunRecord:
    """The run to resume: the one that is named, or the latest of this file that did not end, or had a failure."""
    if name != "latest":
        found = store.run(name)
        if found.request.get("digest") != digest(file):
            raise RecordError(
                f"expected {file.path} as it was when run {found.id} began, but it has changed: begin a new run"
            )
        return found
    for run in store.runs():
        if run.request.get("digest") == digest(file) and (run.ended is None or _has_failed(store, run)):
            return run
    raise RecordError(
        f"expected a run of {file.path} in {store.folder} that was cut off or had a failure, but there is none of the "
        "file as it is: begin a new one, without --resume"
    )


def _has_failed(store: Store, run: RunRecord) -> bool:
    return any(check.error is not None for check in store.checks(run.id))


def resume_run(store: Store, file: AuditFile, run: RunRecord, planned: Sequence[PlannedCheck]) -> Started:
    """Resume a run: checks that have a verdict keep it, those that failed are tried again."""
    checks = store.checks(run.id)
    before = run.request.get("files", file.files)
    changed = sorted(name for name in {*before, *file.files} if before.get(name) != file.files.get(name))
    if changed:
        raise RecordError(
            f"expected {changed[0]} as it was when run {run.id} began, but it has changed: begin a new run"
        )
    if [check.name for check in checks] != [each.name for each in planned]:
        raise RecordError(f"expected the properties that run {run.id} began with, but got others: begin a new run")
    refuse_others(store, run.id, planned)
    code = code_digest(file)
    if run.request.get("code", code) != code:
        raise RecordError(
            f"expected the code that {file.path} names, with what it imports from beside it, as it was when run "
            f"{run.id} began, but it has changed: begin a new run"
        )
    return Started(run.id, tuple(check.verdict for check in checks))


def run_checks(
    store: Store,
    started: Started,
    planned: Sequence[PlannedCheck],
    observe: Callable[[int], Observer],
    tell: Callable[[int, Outcome], None],
    jobs: int | None = 1,
    stopping: Callable[[], None] = lambda: None,
    *,
    known_first: bool = False,
) -> list[Outcome | None]:
    """Run every check that has no verdict yet, and record each result as soon as it is there.

    A check that fails does not keep the others from their verdicts. Ctrl-C gives what is known so far; checks that were
    running have no verdict in the store, and go on where they were when the run is resumed.

    ``jobs`` checks may run in parallel, if they share nothing; ``None`` means as many as there are cores. The verdicts
    do not depend on it. ``tell`` is always called in the thread that calls this. The returned list has ``None`` for a
    check that was not reached.
    """
    outcomes: list[Outcome | None] = list(started.verdicts)
    for number, verdict in enumerate(started.verdicts):
        if verdict is not None:
            tell(number, verdict)

    def done(number: int, outcome: Outcome) -> None:
        outcomes[number] = outcome
        tell(number, outcome)

    runner = CheckRunner(store, started.run, planned, observe, known_first)
    left = [number for number, outcome in enumerate(outcomes) if outcome is None]
    found = lanes(planned, left)
    threads = min(_cores() if jobs is None else jobs, len(found))
    with store.kept_open():
        if threads <= 1:
            run_in_order(left, runner, done)
        else:
            run_in_lanes(found, threads, runner, done, runner.stop, stopping)
        if not cut_off(outcomes):
            store.end(started.run)
    return outcomes


def cut_off(outcomes: Sequence[Outcome | None]) -> bool:
    """Whether something is left to do: a check that was not reached, or was interrupted."""
    return any(outcome is None or getattr(outcome, "stopped", None) == INTERRUPTED for outcome in outcomes)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def digest(file: AuditFile) -> str:
    """Identifies the text of an audit file."""
    return hashlib.sha256(file.text.encode("utf-8")).hexdigest()
