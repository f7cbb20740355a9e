"""The records of earlier runs: ``isonomia runs`` lists them, ``show``, ``report`` and ``export`` take one of them.

``isonomia compare``: two runs, property by property.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.table import Table
from rich.text import Text

from isonomia.cli.options import HERE
from isonomia.cli.outputs import OutputFiles, conclude, new_console, write_all_violations, write_outputs
from isonomia.errors import RecordError, UsageError, nearest
from isonomia.records.store import FOLDER, STORE
from isonomia.wording import excerpt, first_few, value_text, visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from isonomia.audits.paired_runs import PairedProperty
    from isonomia.populations import Sample
    from isonomia.records.compare import PropertyChange, RunVerdicts
    from isonomia.records.store import RunRecord, Store
    from isonomia.records.verdict import Verdict


def open_store(folder: Path) -> Store:
    """The store in a folder, which must have one."""
    from isonomia.records.store import Store

    if not (folder / STORE).exists():
        raise RecordError(
            f"expected records in {folder}, but found no {STORE}: isonomia run AUDIT.toml writes it, and --records "
            f"names another folder{_nearby(folder)}"
        )
    return Store(folder, reading=True)


def _nearby(folder: Path) -> str:
    """Folders nearby that have records: an audit keeps them in the folder of its file."""
    folders = sorted(file.parent for file in folder.parent.glob(f"*/{FOLDER}/{STORE}"))[:3]
    return f", such as {' or '.join(map(str, folders))}" if folders else ""


def runs(
    records: Path = HERE,
    prune: bool = False,
    older_than: str | None = None,
    keep_latest: int | None = None,
    dry_run: bool = False,
) -> None:
    """List the recorded runs, the latest first; or delete old ones.

    With both --older-than and --keep-latest, a run is deleted only if it is too old and not among the latest. A run
    that began within a day and has not ended is kept, as are known counterexamples.

    Example: isonomia runs --prune --older-than 90d --keep-latest 20
    """
    if prune:
        _prune(records, older_than, keep_latest, dry_run)
        return
    if dry_run or older_than is not None or keep_latest is not None:
        raise UsageError("--older-than, --keep-latest and --dry-run require --prune")
    console, stored = new_console(), open_store(records)
    table = _listed(stored, stored.runs())
    console.print(table if table.row_count else "no run is recorded here: isonomia run AUDIT.toml records one")


def _listed(store: Store, stored: Sequence[RunRecord]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("run", "audit", "begun", "properties", "answers"):
        table.add_column(heading, overflow="fold", no_wrap=heading in {"run", "begun"})
    for run in stored:
        checks = store.checks(run.id)
        answers: list[str] = [check.verdict.answer for check in checks if check.verdict is not None]
        answers += ["could not be checked" for check in checks if check.verdict is None and check.error is not None]
        counts = ", ".join(f"{answers.count(each)} {each}" for each in sorted(set(answers), reverse=True))
        state = counts if run.ended else f"cut off; {counts}" if counts else "cut off"
        begun = run.begun.replace("T", " ")[:19]
        table.add_row(visible(run.id), visible(run.title), begun, str(len(checks)), state)
    return table


UNITS = {"h": 1 / 24, "d": 1.0, "w": 7.0}
"""Days in each unit of an age."""

STILL_RUNNING = timedelta(days=1)
"""A run that began within this and has not ended may be continuing."""


def _prune(records: Path, older_than: str | None, keep: int | None, dry_run: bool) -> None:
    from isonomia.records.store import Store

    if older_than is None and keep is None:
        raise UsageError("--prune requires --older-than AGE or --keep-latest NUMBER, such as --older-than 90d")
    if keep is not None and keep < 0:
        raise UsageError(f"expected --keep-latest as 0 or more, but got {keep}")
    age = None if older_than is None else _age(older_than)
    open_store(records)  # which must be there
    store, now, console = Store(records), datetime.now(UTC), new_console()
    old = []
    for index, run in enumerate(store.runs()):
        try:
            since = now - datetime.fromisoformat(run.begun)
        except (TypeError, ValueError):
            raise RecordError(f"expected the time when run {run.id} began, but got {run.begun!r:.40}") from None
        going_on = run.ended is None and since < STILL_RUNNING
        if not going_on and (age is None or since > age) and (keep is None or index >= keep):
            old.append(run)
    if not old:
        console.print("nothing to delete")
        return
    console.print(_listed(store, old))
    if dry_run:
        console.print(f"these {len(old):,} would be deleted; nothing was")
        return
    freed = store.prune([run.id for run in old])
    console.print(f"deleted: {len(old):,}; {freed / 1e3:,.0f} kB freed")


def _age(text: str) -> timedelta:
    match = re.fullmatch(r"([0-9]{1,6}(?:\.[0-9]{1,6})?)([hdw])", text)
    if match is None:
        raise UsageError(f"expected an age in hours, days or weeks, such as 12h, 90d or 2w, but got {text!r}")
    return timedelta(days=float(match[1]) * UNITS[match[2]])


def show(run: str = "latest", records: Path = HERE) -> None:
    """Show every verdict of a run.

    Example: isonomia show latest
    """
    from isonomia.report.entries import audit_exit_code, audit_of
    from isonomia.report.terminal import overview, show_entry

    audit = audit_of(open_store(records), run)
    console = new_console()
    for entry in audit.entries:
        show_entry(entry, console)
    overview(audit, console)
    raise typer.Exit(audit_exit_code(audit))


def report(
    run: str = "latest",
    records: Path = HERE,
    output: Path | None = None,
    show_it: bool = False,
    junit: Path | None = None,
    sarif: Path | None = None,
    json: Path | None = None,
    markdown: Path | None = None,
    card: Path | None = None,
    violations: Path | None = None,
) -> None:
    """Write the report of a run as one page that works offline.

    Example: isonomia report latest --open
    """
    from isonomia.report.entries import all_violations, audit_of, with_histories

    store = open_store(records)
    target = output or Path(f"{store.run(run).id}.html")
    outputs = OutputFiles(junit, sarif, json, markdown, card, target, violations)
    outputs.probe()
    write_outputs(outputs, with_histories(store, audit_of(store, run)), None)
    if violations is not None:
        write_all_violations(all_violations(store, run), violations, new_console(wrap=False))
    new_console(wrap=False).print(f"written: {target}")
    if show_it:
        typer.launch(target.resolve().as_uri())


def export(
    run: str = "latest",
    output: Path | None = None,
    records: Path = HERE,
    key: Path | None = None,
) -> None:
    """Write a run as one file that can be replayed anywhere: properties, measurements and verdicts, sealed.

    It holds statistics and counterexamples, and neither the data nor the model.

    Example: isonomia export latest
    """
    from isonomia.records.evidence import evidence_of, evidence_text
    from isonomia.report.files import write_file

    evidence = evidence_of(open_store(records), run)
    target = output or Path(f"{evidence.run['id']}.evidence.json")
    text = evidence_text(evidence, read_key(key))
    write_file(text, target, "the evidence")
    new_console(wrap=False).print(f"written: {target}")


def read_key(path: Path | None) -> bytes | None:
    """The key in a file, without the end of its line."""
    try:
        return None if path is None else path.read_bytes().rstrip(b"\r\n")
    except OSError as error:
        raise UsageError(f"expected a file with a key, but {path}: {error.strerror}") from error


def compare(
    before: str,
    after: str,
    records: Path = HERE,
    key: Path | None = None,
    margin: float = 0.02,
    delta: float = 0.05,
    value: str | None = None,
    on: str = "item",
    scale: str = "0:1",
    by: str | None = None,
    json: Path | None = None,
) -> None:
    """Compare two evals of the same questions, or two runs, by a paired test of whether the second one is worse.

    Evals are logs of inspect_ai, promptfoo or lm-evaluation-harness, or tables with columns item and correct. Worse is
    by more than --margin. The exit code is 0 for holds, 1 for violated, 3 for undecided.

    Two runs of the store that asked their models about the same rows are paired row by row, property by property; the
    run before the latest is called previous. Of any two runs, or evidence files, their answers, intervals, samples, and
    what else changed. The exit code is 1 where a property is worse, or no longer checked. An evidence file whose seal
    is broken is refused.

    Example: isonomia compare previous latest
    """
    from isonomia.audits.check import check
    from isonomia.audits.paired_runs import paired_properties
    from isonomia.cli.check import parse_ranges
    from isonomia.populations.paired import paired
    from isonomia.records.compare import changes
    from isonomia.records.store import Store
    from isonomia.report import show as show_verdict
    from isonomia.report.entries import AuditReport, Entry
    from isonomia.spec.evals import not_worse

    if _has_results(Path(before)) and _has_results(Path(after)):
        sample, console = paired(new=after, old=before, on=on, value=value), new_console()
        graded = {*sample.table.column("new").tolist(), *sample.table.column("old").tolist()} <= {0, 1}
        score = None if graded else parse_ranges([f"score={scale}"])["score"]
        prop = not_worse(margin=margin, by=by, score=score)
        verdict = check(prop, {"new": "new", "old": "old"}, sample, delta=delta, looks="once")
        show_verdict(verdict, console)
        console.print(Text(f"a paired test: old is {before}, new is {after}"), soft_wrap=True)
        _show_differences(sample, on, console)
        raise typer.Exit(conclude([verdict], console, json))
    secret = read_key(key)
    first, second = _side(before, records, secret), _side(after, records, secret)
    changed, console = list(changes(first, second)), new_console()
    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("property", "before", "after", "finding", "samples", "other changes"):
        table.add_column(heading, overflow="fold")
    for each in changed:
        table.add_row(*_cells(each))
    console.print(visible(f"before: {first.name}; after: {second.name}"), soft_wrap=True)
    console.print(table)
    for line in _versions(first, second):
        console.print(visible(line), soft_wrap=True)
    in_store = not Path(before).is_file() and not Path(after).is_file()
    pairs = (
        paired_properties(Store(records, reading=True), before, after, margin=margin, delta=delta) if in_store else []
    )
    if pairs:
        _show_pairs(pairs, margin, delta, console)
    elif any("model" in each.others and "population" not in each.others for each in changed):
        console.print(
            "two models on the same data: a file has counts only, so no paired test is made. Two runs of one store "
            "are paired: isonomia compare previous latest",
            soft_wrap=True,
        )
    verdicts = [each.verdict for each in pairs if each.verdict is not None]
    if json is not None:
        entries = tuple(Entry(str(verdict.name), verdict) for verdict in verdicts)
        write_outputs(OutputFiles(json=json), AuditReport("two runs, row by row", entries), None)
    worse = [f"{_short(each.name)}: {each.answers[0]}, now {each.answers[1]}" for each in changed if each.worse]
    worse += [f"{_short(str(each.name))}, row by row" for each in verdicts if each.answer == "violated"]
    for line in worse:
        console.print(f"worse: {line}", style="bold red")
    if not worse:
        console.print("no answer got worse")
    raise typer.Exit(1 if worse else 0)


_PAIRED = {"holds": "not worse", "violated": "worse", "undecided": "undecided"}


def _show_pairs(pairs: Sequence[PairedProperty], margin: float, delta: float, console: Console) -> None:
    """Say of each property what its rows say, pair by pair; or why there are no pairs."""
    made = [each for each in pairs if each.verdict is not None]
    if made:
        table = Table(box=None, padding=(0, 2, 0, 0))
        for heading in ("row by row", "after - before", "rows of both", "worse / better on", "answer"):
            table.add_column(heading, overflow="fold")
        for each in made:
            assert each.verdict is not None
            found = [f"{_number(one.estimate)} [{one.low:.3g}, {one.high:.3g}]" for one in each.verdict.expressions]
            rows = "" if each.changed is None else "{:,} / {:,}".format(*each.changed)
            answer = _PAIRED[each.verdict.answer]
            table.add_row(_short(each.name), "\n".join(found), f"{each.rows:,}", rows, answer)
        console.print(table)
        console.print(
            f"worse by more than {margin:g}? The probability that any of these answers is wrong is at most {delta:g}",
            soft_wrap=True,
        )
    if any(each.verdict is not None and each.verdict.answer == "undecided" and each.early for each in made):
        console.print(
            "undecided: a run stopped once its own answer was known, and more rows would say more. With looks = 'once' "
            "in the audit file a run uses every row",
            soft_wrap=True,
        )
    for each in pairs:
        if each.why:
            console.print(f"not paired: {_short(each.name)}: {visible(each.why)}", soft_wrap=True)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:+.3g}"


def _has_results(path: Path) -> bool:
    """Whether a path names the stored results of an eval, and not a run or a record of verdicts."""
    from isonomia.populations.eval_logs import content_of

    if path.suffix.lower() == ".json":
        return path.is_file() and content_of(path, ".json") is not None
    return path.suffix.lower() == ".eval" or path.is_file()


def _show_differences(sample: Sample, on: str, console: Console) -> None:
    """Say which answers got worse, and which better."""
    table = sample.table
    items, old, new = table.column(on), table.column("old"), table.column("new")
    for name, mask in (("worse", new < old), ("better", new > old)):
        few = first_few([value_text(item, 40) for item in items[mask].tolist()])
        console.print(Text(f"{name}: {int(mask.sum()):,} of {len(new):,}{': ' if few else ''}{few}"), soft_wrap=True)


def _side(name: str, records: Path, key: bytes | None) -> RunVerdicts:
    from isonomia.records.compare import run_in_file, run_in_store

    path = Path(name)
    if path.is_file():
        return run_in_file(path, key)
    if path.exists() or len(path.parts) > 1 or path.suffix:  # no run is called so
        problem = "is not a file" if path.exists() else "does not exist"
        names = [file.name for file in path.parent.glob("*.json")] if path.parent.is_dir() else []
        raise RecordError(
            f"expected a run, an evidence file or verdicts, but {name} {problem}.{nearest(path.name, names)}"
        )
    return run_in_store(open_store(records), name)


def _cells(each: PropertyChange) -> list[Text | str]:
    before, after = each.answers
    colour = "red" if each.worse else "green" if before != after else ""
    findings = _pair(_finding(each.before), _finding(each.after))
    samples = _pair(_samples(each.before), _samples(each.after))
    return [_short(each.name), before, Text(after, style=colour), findings, samples, ", ".join(each.others)]


def _short(name: str) -> str:
    return visible(excerpt(name, 200))


def _pair(before: str, after: str) -> str:
    return before if before == after else f"{before or '-'} → {after or '-'}"


def _finding(verdict: Verdict | None) -> str:
    """The finding of a verdict, in the words of its headline."""
    from isonomia.records.display.view import view_of

    return "" if verdict is None else visible(excerpt(view_of(verdict).finding(verdict, False), 200))


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
