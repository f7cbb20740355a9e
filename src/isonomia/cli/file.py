"""``isonomia file``: the document that a rule asks for, from a table, a list of refused applicants, or an audit."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isonomia.cli.options import HERE, ModelReading, arguments_as_options
from isonomia.cli.outputs import need_files, new_console, read_interventions, say_written
from isonomia.cli.records import open_store, read_key
from isonomia.cli.responsiveness import parse_target
from isonomia.errors import UsageError
from isonomia.wording import plural

if TYPE_CHECKING:
    from isonomia.records.refusals import RefusalList
    from isonomia.report.packs import Document, Pack


def file(
    pack: str,
    document: list[Path],
    fact: list[str] | None = None,
    facts: Path | None = None,
    data: Path | None = None,
    model: str | None = None,
    by: list[str] | None = None,
    decision: str | None = None,
    favourable: str | None = None,
    score: str | None = None,
    unknown: list[str] | None = None,
    interventions: Path | None = None,
    target: list[str] | None = None,
    id_column: str | None = None,
    no_reason: list[str] | None = None,
    budget: str | None = None,
    csv: Path | None = None,
    run: str | None = None,
    records: Path = HERE,
    key: Path | None = None,
    reading: ModelReading = ModelReading(),  # noqa: B008  (frozen)
) -> None:
    """Write the document that a rule asks for, with its tables, and with gaps for facts that nobody has stated.

    It is not legal advice. Facts that only you know are asked for by name, and never invented.

    Example: isonomia file --pack nyc-ll144 --data applicants.csv --decision selected --by sex --by race --facts
    facts.toml -o audit.html -o audit.md
    """
    from isonomia.report.files import need_writable, write_file, write_table
    from isonomia.report.packs import check_facts, fill, pack_named

    chosen = pack_named(pack)
    for path in document:
        if path.suffix not in {".html", ".md"}:
            raise UsageError(f"expected --document to end in .html or .md, but got {path}")
        need_writable(path, "--document")
    need_files(csv=csv)
    stated = _facts(facts, fact or [])
    check_facts(chosen, stated)
    console = new_console()
    match chosen.subject:
        case "groups":
            subject: Any = _groups(
                chosen, stated, data, model, reading, by, decision, favourable, score, unknown or (), budget
            )
        case "refusals":
            subject = _refusals(data, model, reading, interventions, target, id_column, no_reason or (), budget)
        case _:
            if csv is not None:
                raise UsageError(f"--csv: {chosen.name} has no table of people or groups")
            subject = _audit(run, records, key)
    for remark in () if chosen.subject == "audit" else subject.remarks:
        console.print(f"note: {remark}", markup=False, soft_wrap=True)
    if csv is not None:
        write_table(subject.columns(), csv)
    made = fill(chosen, subject, stated)
    for path in document:
        write_file(made.to_html() if path.suffix == ".html" else made.to_markdown(), path, "--document")
    say_written(console, *document, csv)
    _tell_missing(made, console)


def _tell_missing(made: Document, console: Any) -> None:
    if not made.missing:
        return
    console.print(f"{plural(len(made.missing), 'fact')} not stated, left as gaps; in a TOML file for --facts:")
    for fact in made.missing:
        console.print(f'{fact.name} = ""  # {fact.what} ({fact.paragraph})', markup=False, soft_wrap=True)


def _facts(path: Path | None, given: Sequence[str]) -> dict[str, str]:
    from isonomia.toml import TomlText

    stated: dict[str, str] = {}
    if path is not None:
        try:
            text = path.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"--facts: {path} cannot be read: {error}") from error
        for name, value in TomlText.parse(text, str(path)).content.items():
            if isinstance(value, dict | list):
                raise UsageError(f"--facts: expected {name} as a text, but got {value!r:.60}")
            stated[name] = str(value)
    for item in given:
        name, sign, value = item.partition("=")
        if not sign:
            raise UsageError(f"expected --fact NAME=TEXT, but got {item!r}")
        stated[name.strip()] = value
    return stated


def _groups(
    pack: Pack,
    stated: dict[str, str],
    data: Path | None,
    model: str | None,
    reading: ModelReading,
    by: Sequence[str] | None,
    decision: str | None,
    favourable: str | None,
    score: str | None,
    unknown: Sequence[str],
    budget: str | None,
) -> Any:
    from isonomia.audits.measure.measure import SMALL, measure

    if data is None or not by:
        raise UsageError(f"expected --data FILE and --by COLUMN for {pack.name}, such as --by sex --by race")
    columns = list(dict.fromkeys(name.strip() for group in by for name in group.split(",")))
    groups: list[Any] = list(by)
    small = SMALL
    if pack.name == "nyc-ll144":
        if len(columns) != 2:
            raise UsageError(
                "expected two columns for nyc-ll144, sex and race in this order, --by sex --by race or --by sex,race, "
                f"but got --by {' --by '.join(by)}: the tables of each and of both together are made from two"
            )
        groups = [*columns, tuple(columns)]
        # Only where the auditor leaves small categories out are they not the highest.
        small = SMALL if stated.get("exclusion", "").strip() else 0.0
    if pack.name == "eeoc":
        from isonomia.report.packs.eeoc import refuse_attributes

        refuse_attributes(columns)
    with arguments_as_options("decision", "favourable"):
        return measure(
            data,
            reading.open(model),
            by=groups,
            decision=decision,
            favourable=favourable,
            score=score,
            unknown=unknown,
            small=small,
            budget=budget,
        )


def _refusals(
    data: Path | None,
    model: str | None,
    reading: ModelReading,
    interventions: Path | None,
    target: Sequence[str] | None,
    id_column: str | None,
    leave_out: Sequence[str],
    budget: str | None,
) -> RefusalList:
    from isonomia.audits.responsiveness.adverse_action import refused_applicants

    named = {"--data": data, "--model": model, "--interventions": interventions, "--target": target}
    missing = [name for name, value in named.items() if not value]
    if missing:
        raise UsageError(f"expected {', '.join(named)} for reg-b, but {', '.join(missing)} is missing")
    assert interventions is not None
    opened, changes = reading.open(model), read_interventions(interventions)
    return refused_applicants(
        data, opened, changes, parse_target(list(target or ())), id=id_column, leave_out=leave_out, budget=budget
    )


def _audit(run: str | None, records: Path, key: Path | None) -> Any:
    from isonomia.records.evidence import evidence_of, evidence_text, read_evidence
    from isonomia.records.strict_json import read_strictly
    from isonomia.report.entries import AuditReport, Entry, Failure, audit_of
    from isonomia.report.packs.audit_tables import SealedAudit

    name = run or "latest"
    path = Path(name)
    if path.is_file():
        evidence = read_evidence(path, read_key(key))
        if evidence.seal_problem is not None:
            raise UsageError(f"{path}: {evidence.seal_problem}")
        verdicts = evidence.verdicts
        entries = tuple(Entry(each.name, verdicts[each.name]) for each in evidence.checks if each.name in verdicts)
        failures = tuple(
            Failure(each.name, str(each.error["kind"]), str(each.error["message"]))
            for each in evidence.checks
            if each.error is not None
        )
        audit = AuditReport(evidence.run["title"], entries, evidence.run["id"], evidence.run["begun"], None, failures)
        seal = read_strictly(path)["seal"]
    else:
        import json

        store = open_store(records)
        audit = audit_of(store, name)
        seal = json.loads(evidence_text(evidence_of(store, name), read_key(key)))["seal"]
    return SealedAudit(audit, f"{seal['method']} {seal['value']}")
