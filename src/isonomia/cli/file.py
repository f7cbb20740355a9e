"""``isonomia file``: the document that a rule requires, from a table, a list of refused applicants, or an audit."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isonomia.cli.options import HERE, ModelReading, arguments_as_options, named_values
from isonomia.cli.outputs import need_files, new_console, read_interventions, say_written
from isonomia.cli.records import open_store, read_key
from isonomia.cli.responsiveness import parse_target
from isonomia.errors import UsageError
from isonomia.wording import plural

if TYPE_CHECKING:
    from isonomia.report.packs import Document, Pack
    from isonomia.report.packs.audit_tables import SealedAudit


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
    """Write the document that a rule requires, with its tables, and with gaps for facts that you have not stated.

    It is not legal advice. Facts that only you know are listed by name, and never invented.

    Example: isonomia file --pack nyc-ll144 --data applicants.csv --decision selected --by sex --by race --facts
    facts.toml -o audit.html -o audit.md
    """
    from isonomia.audits.measure.measure import measure
    from isonomia.audits.responsiveness.adverse_action import refused_applicants
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
            if data is None or not by:
                raise UsageError(f"{chosen.name} requires --data FILE and --by COLUMN, such as --by sex --by race")
            groups, small = _groups(chosen, stated, by)
            with arguments_as_options("decision", "favourable"):
                subject: Any = measure(
                    data,
                    reading.open(model),
                    by=groups,
                    decision=decision,
                    favourable=favourable,
                    score=score,
                    unknown=unknown or (),
                    small=small,
                    budget=budget,
                )
        case "refusals":
            if data is None or model is None or interventions is None or not target:
                raise UsageError(f"{chosen.name} requires --data, --model, --interventions and --target")
            opened, changes, wanted = reading.open(model), read_interventions(interventions), parse_target(target)
            options: dict[str, Any] = {"id": id_column, "leave_out": no_reason or (), "budget": budget}
            subject = refused_applicants(data, opened, changes, wanted, **options)
        case _:
            if csv is not None:
                raise UsageError(f"--csv: {chosen.name} has no table of people or groups")
            subject = _audit(run or "latest", records, key)
    for remark in () if chosen.subject == "audit" else subject.remarks:
        console.print(f"note: {remark}", soft_wrap=True)
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
        console.print(f'{fact.name} = ""  # {fact.what} ({fact.paragraph})', soft_wrap=True)


def _facts(path: Path | None, given: Sequence[str]) -> dict[str, str]:
    from isonomia.audits.audit_file.reader import file_text
    from isonomia.toml import TomlText

    stated: dict[str, str] = {}
    if path is not None:
        for name, value in TomlText.parse(file_text(path, "a file of facts", ""), str(path)).content.items():
            if isinstance(value, dict | list):
                raise UsageError(f"--facts: expected {name} as a text, but got {value!r:.60}")
            stated[name] = str(value)
    return stated | named_values(given, "--fact", "NAME=TEXT", str)


def _groups(pack: Pack, stated: dict[str, str], by: Sequence[str]) -> tuple[list[Any], float]:
    """The groups of a rule, and the smallest share of the rows that can be the reference."""
    from isonomia.audits.measure.measure import SMALL

    columns = list(dict.fromkeys(name.strip() for group in by for name in group.split(",")))
    if pack.name == "eeoc":
        from isonomia.report.packs.eeoc import refuse_attributes

        refuse_attributes(columns)
    if pack.name != "nyc-ll144":
        return list(by), SMALL
    if len(columns) != 2:
        raise UsageError(
            "expected two columns for nyc-ll144, --by sex --by race, for the tables of each and of both together, but "
            f"got --by {' --by '.join(by)}"
        )
    # Only where the auditor leaves small categories out are they not the highest.
    return [*columns, tuple(columns)], SMALL if stated.get("exclusion", "").strip() else 0.0


def _audit(name: str, records: Path, key: Path | None) -> SealedAudit:
    """The audit of an evidence file, or of a run of the records."""
    from isonomia.records.evidence import evidence_of, evidence_text, read_evidence
    from isonomia.records.strict_json import read_strictly
    from isonomia.report.entries import AuditReport, Entry, Failure
    from isonomia.report.packs.audit_tables import SealedAudit

    path, secret = Path(name), read_key(key)
    if path.is_file():
        evidence = read_evidence(path, secret)
        seal = read_strictly(path)["seal"]
    else:
        evidence = evidence_of(open_store(records), name)
        seal = json.loads(evidence_text(evidence, secret))["seal"]
    if evidence.seal_problem is not None:
        raise UsageError(f"{path}: {evidence.seal_problem}")
    run, verdicts = evidence.run, evidence.verdicts
    entries = tuple(Entry(each.name, verdicts[each.name]) for each in evidence.checks if each.name in verdicts)
    failures = tuple(
        Failure(each.name, each.error["kind"], each.error["message"])
        for each in evidence.checks
        if each.error is not None
    )
    audit = AuditReport(run["title"], entries, run["id"], run["begun"], failures=failures)
    return SealedAudit(audit, f"{seal['method']} {seal['value']}")
