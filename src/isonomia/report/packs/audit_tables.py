"""The verdicts of an audit as tables, sorted by what they are about: bias, accuracy, robustness, recourse."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from isonomia.errors import SpecError, UsageError
from isonomia.records.display.view import early, level, looks, risk, view_of
from isonomia.records.verdict import Verdict
from isonomia.report.entries import AuditReport, Entry, missing_answer, summary_sentence
from isonomia.report.packs.protocol import PackTable
from isonomia.spec.parser import parse_formula
from isonomia.spec.tree import Arithmetic, Column, Compare, Mean, Output, Rate, Row, RowArithmetic, nodes
from isonomia.wording import chance


@dataclass(frozen=True, slots=True)
class SealedAudit:
    """An audit, and the seal of its evidence, if it has one."""

    audit: AuditReport
    seal: str | None = None


KINDS = ("bias", "accuracy", "robustness", "recourse")
"""What properties are about, as far as their kind and their syntax tell."""


def kind_of(verdict: Verdict) -> str:
    """What a property is about: rates are about bias, unless a prediction is compared with an outcome."""
    match view_of(verdict).kind:
        case "k-safety":
            return "robustness"
        case "responsiveness":
            return "recourse"
        case "principal fairness":
            return "bias"
        case _:
            return "accuracy" if _compares_outcome(verdict.text) else "bias"


def _compares_outcome(text: str) -> bool:
    """Whether somewhere an answer of the model is compared with a column, or subtracted from it."""
    try:
        formula = parse_formula(text)
    except SpecError:  # a property of another kind, or of a version that wrote them otherwise
        return False
    for part in nodes(formula):
        match part:
            case Compare("==" | "!=", left, right) | RowArithmetic("-", left, right):
                sides = {_source(left), _source(right)}
            case Arithmetic("-", (Rate() | Mean()) as left, (Rate() | Mean()) as right):
                sides = {_source(each.event if isinstance(each, Rate) else each.term) for each in (left, right)}
            case _:
                continue
        if sides == {"model", "data"}:
            return True
    return False


def _source(row: Row) -> str:
    """Whether a term is made of answers of the model alone, or of columns alone; empty where of neither or both."""
    kinds = {type(part) for part in nodes(row)} & {Output, Column}
    return "" if len(kinds) != 1 else "model" if Output in kinds else "data"


def audit_content(subject: Any, facts: Mapping[str, str]) -> dict[str, Any]:  # noqa: ARG001
    """The texts, tables and lists that documents about audits are filled with: what the audit says, sorted."""
    if not isinstance(subject, SealedAudit):
        raise UsageError("expected an audit: a run of the records, or an evidence file")
    audit = subject.audit
    by_kind: dict[str, list[Entry]] = {kind: [] for kind in KINDS}
    for entry in audit.entries:
        by_kind[kind_of(entry.verdict)].append(entry)
    verdicts = [entry.verdict for entry in audit.entries]
    some = [_SOME_ROWS] if any(map(early, verdicts)) else []
    return {
        **{kind: _verdicts(entries) for kind, entries in by_kind.items()},
        "verdicts": _verdicts(audit.entries),
        "tests": _data(audit),
        "models": _models(audit),
        "title": audit.title,
        "summary": summary_sentence(verdicts, audit.failures),
        "run": audit.run or "",
        "when": (audit.when or "").replace("T", " ")[:19],
        "seal": subject.seal or "",
        "assumptions": list(dict.fromkeys(item for verdict in verdicts for item in verdict.assumptions)),
        "limits": [*some, *dict.fromkeys(item for verdict in verdicts for item in verdict.remarks)],
        "open": list(_open(audit)),
    }


_SOME_ROWS = (
    "Where some of the rows were enough to decide, estimates are based on those rows only; "
    "isonomia measure uses all rows."
)


def _open(audit: AuditReport) -> Iterator[str]:
    for failure in audit.failures:
        yield f"{failure.name}: {missing_answer(failure)}: {failure.message}"
    for entry in audit.entries:
        if entry.verdict.answer != "holds":
            yield f"{entry.name}: {entry.verdict.answer}: {view_of(entry.verdict).finding(entry.verdict, False)}"


def _verdicts(entries: Sequence[Entry]) -> PackTable:
    rows = tuple(
        (
            entry.name,
            entry.verdict.answer,
            _finding(entry.verdict),
            _risk(entry.verdict),
            entry.verdict.text,
        )
        for entry in entries
    )
    return PackTable(("Property", "Answer", "Finding", "Risk of a wrong answer", "As stated"), rows)


def _finding(verdict: Verdict) -> str:
    """The finding, and from how many of the rows."""
    some = early(verdict)
    return f"{view_of(verdict).finding(verdict, False)}{f' ({some})' if some else ''}"


def _risk(verdict: Verdict) -> str:
    """The risk of a wrong answer, and at which looks it applies."""
    if verdict.answer == "undecided":
        each = f"; each limit of the interval is wrong with probability at most {chance(verdict.delta)}"
        return f"nothing is claimed{each if level(verdict) else ''}"
    if verdict.risk == 0:
        return "none: exact"
    each = "; each limit of the interval has the same risk" if level(verdict) else ""
    return f"{risk(verdict)}, {looks(verdict)}{each}"


def _data(audit: AuditReport) -> PackTable:
    known = dict.fromkeys(
        (
            str(entry.verdict.population.get("kind", "")),
            "" if entry.verdict.population.get("size") is None else f"{entry.verdict.population['size']:,}",
            str(entry.verdict.population.get("fingerprint", "")),
        )
        for entry in audit.entries
    )
    return PackTable(("Population", "Rows", "Fingerprint (SHA-256)"), tuple(known), frozenset({1}))


def _models(audit: AuditReport) -> PackTable:
    known = dict.fromkeys(
        (str(entry.verdict.model.get("name", "")), str(entry.verdict.model.get("fingerprint", "")))
        for entry in audit.entries
        if entry.verdict.model
    )
    return PackTable(("Model", "Fingerprint (SHA-256)"), tuple(known) or (("stored predictions", ""),))
