"""``isonomia replay``: what an evidence file proves."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import typer
from rich.console import Console
from rich.table import Table

from isonomia.cli.outputs import new_console
from isonomia.cli.records import read_key
from isonomia.errors import UsageError
from isonomia.wording import plural, visible

if TYPE_CHECKING:
    from isonomia.audits.audit_file.reader import AuditFile
    from isonomia.audits.protocol import Permissions
    from isonomia.audits.replay import RebuiltAudit, RecomputedProperty, RerunProperty
    from isonomia.models.protocol import Model
    from isonomia.records.evidence import EvidenceFile
    from isonomia.records.verdict import Verdict

MAX_DIFFERENCES = 5
"""How many differences of one property are printed."""


def replay(
    file: Path,
    model: list[str] | None = None,
    full: bool = False,
    folder: Path | None = None,
    registered: Path | None = None,
    key: Path | None = None,
    seconds: float = 120.0,
    trust_pickle: bool = False,
    trust: list[str] | None = None,
    allow_code: bool = False,
    allow_outside: bool = False,
) -> None:
    """Recompute every verdict of an evidence file from the statistics in it, and compare.

    For a watch, alerts and intervals too. Nothing else is read without --model or --full. The exit code is that of the
    verdicts, or of the watch: 1 while an alert is open. It is 2 if the seal is broken or something differs.

    Example: isonomia replay 20260101-120000-ab12.evidence.json
    """
    from isonomia.audits.protocol import Permissions
    from isonomia.audits.replay import rebuilt, recomputed
    from isonomia.records.evidence import read_evidence
    from isonomia.report.entries import exit_code

    console, permissions = new_console(wrap=False), Permissions(trust_pickle, allow_code, allow_outside)
    evidence = read_evidence(file, read_key(key))
    _head(evidence, key is not None, console)
    if evidence.watch is not None and registered is not None:
        raise UsageError("--registered requires the evidence of an audit, but this is of a watch")
    if evidence.watch is not None:
        _replay_watch(evidence, file, folder, model or [], full, permissions, trust, console)
    audit = rebuilt(evidence)
    results = list(recomputed(evidence, audit, seconds))
    sound = _show_results(results, console) and not audit.contradictions and evidence.seal_problem is None
    for check in evidence.checks:
        if check.error is not None:
            console.print(f"{check.name}: could not be checked: {check.error['message']}")
    for each in audit.contradictions:
        console.print(f"the record contradicts itself: {each}")
    if (model or full) and not sound:
        console.print("the model was not queried: this file is not reliable")
    elif model or full:
        opened = _models(audit.file, model or [], permissions, trust)
        root = folder or _folder(file, evidence)
        sound = (
            _rerun(evidence, root, permissions, opened, console)
            if full
            else _recheck(evidence, audit, opened, permissions, console)
        )
    sound &= registered is None or _as_registered(evidence, registered, console)
    if not sound:
        _end_broken(console)
    if not (model or full):
        console.print(
            "The verdicts follow from the statistics in the file. Replay checks the arithmetic. "
            "To check the model and the data as well, use --model MODEL or --full."
        )
    failures = sum(check.error is not None for check in evidence.checks)
    verdicts = [each.verdict for each in results if each.verdict is not None]
    _succeed(console, _answers(verdicts, failures), exit_code(verdicts, failures), "audit")


def _replay_watch(
    evidence: EvidenceFile,
    file: Path,
    folder: Path | None,
    models: Sequence[str],
    full: bool,
    permissions: Permissions,
    trust: list[str] | None,
    console: Console,
) -> NoReturn:
    """The same for the evidence of a watch."""
    from isonomia.watch.replay import rebuilt_watch, recomputed_watch, reread

    if models and not full:
        raise UsageError("--model requires --full: a watch has no counterexamples to recheck")
    watch = rebuilt_watch(evidence)
    results = list(recomputed_watch(watch))
    whole = not watch.contradictions and evidence.seal_problem is None
    sound = _show_results(results, console, "so far") and whole
    for problem in watch.contradictions:
        console.print(f"the record contradicts itself: {problem}")
    if sound:
        open_ones = watch.open_alerts
        for alert in watch.alerts:
            console.print(f"{'open' if alert in open_ones else 'acknowledged'}: {alert}")
    if full and not sound:
        console.print("nothing was read again: this file is not reliable")
    elif full:
        opened = _models(watch.file, models, permissions, trust)
        root = folder or _folder(file, evidence)
        if permissions.allow_code:
            sys.path.insert(0, str(root.resolve()))
        again = reread(watch, root, permissions, opened)
        console.print(f"{plural(again.rows, 'row')} read again")
        _list("source", again.differences, console)
        sound = _show_reruns(again.properties, console) and not again.differences
    if not sound:
        _end_broken(console)
    if not full:
        rest = "To check the decisions as well, use --full."
        if watch.lost is not None:
            rest = f"The decisions cannot be checked any more: {watch.lost}."
        console.print(
            "Alerts, verdicts and intervals follow from the statistics in the file. Replay checks the arithmetic. "
            f"{rest}"
        )
    count = len(watch.open_alerts)
    _succeed(console, f"{plural(count, 'alert')} open" if count else "no alert is open", min(count, 1), "watch")


def _as_registered(evidence: EvidenceFile, path: Path, console: Console) -> bool:
    """Compare evidence with a registration, and print the differences; returns whether they agree."""
    from isonomia.audits.audit_file.planner import read_registration, unlike

    registration = read_registration(path)
    differences = list(unlike(registration, evidence))
    _list(
        "not as registered",
        [f"{each.path}: {each.before} registered, {each.after} here" for each in differences],
        console,
    )
    if not differences:
        console.print(f"it is as registered at {registration['time']}, hash {registration['hash']}")
        console.print("A registration shows this only if its hash was published before the run")
    return not differences


def _end_broken(console: Console) -> NoReturn:
    console.print("this evidence is inconsistent: see above", style="bold red")
    raise typer.Exit(2)


def _answers(verdicts: Sequence[Verdict], failures: int) -> str:
    counts = Counter(verdict.answer for verdict in verdicts)
    parts = [f"{counts[answer]} {answer}" for answer in ("holds", "violated", "undecided") if counts[answer]]
    return ", ".join([*parts, *[f"{failures} not checked"] * bool(failures)])


def _succeed(console: Console, state: str, code: int, subject: str) -> NoReturn:
    """Print that the evidence is in order, and what it says: a violated property is no fault of the evidence."""
    why = "" if code == 0 else f" The exit code, {code}, is that of the {subject}, not of the replay."
    console.print(f"The replay succeeded: the evidence is in order, and says {state}.{why}", style="bold")
    raise typer.Exit(code)


def _folder(file: Path, evidence: EvidenceFile) -> Path:
    return file.parent if (file.parent / evidence.audit["name"]).exists() else Path()


def _head(evidence: EvidenceFile, keyed: bool, console: Console) -> None:
    from isonomia.version import __version__

    run = evidence.run
    kind = "run" if evidence.watch is None else "watch"
    console.print(f"{run['title']}: {kind} {run['id']} of {run['begun'].replace('T', ' ')[:19]}")
    if evidence.watch is not None:
        source = "Python" if evidence.watch["source"] is None else evidence.watch["source"]
        console.print(f"{plural(evidence.watch['samples'], 'sample')} judged, from {source}")
    trials = run.get("trials")
    if trials is not None:
        others = ", ".join(f"{trials[key]} with other {key}" for key in ("properties", "deltas", "looks", "seeds"))
        console.print(f"{plural(trials['runs'], 'other run')} in its store used the same data: {others}")
    if evidence.seal_problem is not None:
        console.print(evidence.seal_problem, style="bold red")
    else:
        console.print("the seal is intact" + (", and made with this key" if keyed else ""))
    used = run["versions"].get("isonomia", "another version")
    if used != __version__:
        console.print(f"recorded with isonomia {used}, replayed with {__version__}")


def _show_results(results: Sequence[RecomputedProperty], console: Console, answered: str = "answer") -> bool:
    """Print the result of every property; returns whether all are sound."""
    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("property", answered, "from its statistics", "ms"):
        table.add_column(heading, overflow="fold", justify="right" if heading == "ms" else "left")
    for each in results:
        answer = "not checked" if each.verdict is None else each.verdict.answer
        state = "the same" if each.sound else "not computed" if each.failure else "differs"
        table.add_row(visible(each.name), answer, "" if each.verdict is None else state, f"{1000 * each.seconds:.1f}")
    console.print(table)
    for each in results:
        if each.failure is not None:
            console.print(f"{each.name}: {each.failure}")
        _list(each.name, each.differences, console)
    return all(each.sound for each in results)


def _list(name: str, differences: Sequence[object], console: Console) -> None:
    for difference in differences[:MAX_DIFFERENCES]:
        console.print(f"{name}: {difference}")
    if len(differences) > MAX_DIFFERENCES:
        console.print(f"{name}: and {len(differences) - MAX_DIFFERENCES} more")


def _models(
    file: AuditFile, sources: Sequence[str], permissions: Permissions, trust: list[str] | None
) -> dict[str, Model]:
    """The models that ``--model`` names."""
    from isonomia.audits.audit_file.reader import DEFAULT
    from isonomia.audits.replay import opened_models

    names, chosen = list(file.entries("model", "models")), {}
    if sources and not names:
        raise UsageError(
            f"expected no --model, since the audit names none: its predictions are in the data. But got {sources[0]}"
        )
    for source in sources:
        name, sign, rest = source.partition("=")
        if sign and name in names:
            chosen[name] = rest
        elif len(names) == 1:
            chosen[names[0]] = source
        elif DEFAULT in names and DEFAULT not in chosen:
            chosen[DEFAULT] = source
        else:
            raise UsageError(f"expected --model NAME=MODEL with one of {', '.join(names)}, but got {source}")
    return opened_models(file, chosen, permissions, trust)


def _recheck(
    evidence: EvidenceFile, audit: RebuiltAudit, models: Mapping[str, Model], permissions: Permissions, console: Console
) -> bool:
    from isonomia.audits.audit_file.reader import DEFAULT
    from isonomia.audits.replay import recheck

    asked, again, left, sound = 0, 0, 0, True
    for each, check in zip(audit.stated, evidence.checks, strict=True):
        model = models.get(each.entry.get("model") or DEFAULT)
        if model is None:
            continue
        result = recheck(each, check, model, permissions)
        asked, again = asked + result.asked, again + result.again
        left += result.counterexamples - result.asked
        if result.same is False:
            console.print(f"{each.name}: this is another model than the record's, by its fingerprint")
        if result.asked:
            words = f"{result.again} of {result.asked} counterexamples occur again"
            chance = "; the model answers at random, so a counterexample need not occur again" if result.random else ""
            console.print(f"{each.name}: {words}{chance}")
        if result.problem is not None:
            console.print(f"{each.name}: {result.problem}")
        # Another model may answer otherwise; the record's own must not, unless it answers at random.
        sound = sound and (result.random or not (result.same and result.again < result.asked))
    summary = "no verdict rests on counterexamples: use --full to run the whole check again with the model"
    if asked or left:
        rest = f"; {left} others could not be checked" if left else ""
        summary = f"{again} of {asked} counterexamples occur again in total{rest}"
    console.print(summary)
    return sound


def _rerun(
    evidence: EvidenceFile, folder: Path, permissions: Permissions, models: Mapping[str, Model], console: Console
) -> bool:
    from isonomia.audits.replay import rerun
    from isonomia.report import LiveProgress

    if permissions.allow_code:
        sys.path.insert(0, str(folder.resolve()))  # modules in the folder of the audit file are found, as they were
    observe = new_console(stderr=True)
    return _show_reruns(rerun(evidence, folder, permissions, models, lambda _: LiveProgress(observe)), console)


def _show_reruns(properties: Iterable[RerunProperty], console: Console) -> bool:
    """Print the result of every property run again; returns whether all are as before."""
    same = True
    for each in properties:
        same = same and each.sound
        answer = "not checked" if each.verdict is None else each.verdict.answer
        words = ", the same in every number" if each.same else ""
        console.print(f"run again: {each.name}: {answer}{words}")
        for what in each.others:
            console.print(f"{each.name}: this is another {what} than the record's, by its fingerprint")
        if each.devices is not None:
            then, now = each.devices
            console.print(
                f"{each.name}: people were drawn by {then} then and by {now} now, so these are other people, and their "
                f"numbers differ; only contradicting answers would be reported. Repeat it on {then}",
            )
        if each.random:
            console.print(
                f"{each.name}: the model answers at random, so its numbers differ from the record's; only answers that "
                "contradict each other would be reported",
            )
        if each.failure is not None:
            console.print(f"{each.name}: {each.failure}")
        _list(each.name, each.differences, console)
    return same
