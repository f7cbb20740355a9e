"""SARIF 2.1.0, which code hosts show next to the code: a property is a rule, a verdict a result."""

from __future__ import annotations

import hashlib
from typing import Any
from urllib.parse import quote

from isonomia.records.display.view import answer_line, guarantee
from isonomia.report.entries import AuditReport, Entry, Failure, missing_answer
from isonomia.report.files import dumped
from isonomia.version import __version__

_LEVELS = {"violated": ("fail", "error"), "undecided": ("review", "none"), "holds": ("pass", "none")}


def sarif(audit: AuditReport) -> str:
    """The audit as a SARIF log with one run.

    A property that could not be checked has no result; it is a notification, and the run was not successful.
    """
    rules = [_rule(entry) for entry in audit.entries]
    results = [_result(k, entry, audit) for k, entry in enumerate(audit.entries)]
    log = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": {"name": "Isonomia", "version": __version__, "rules": rules}},
                "invocations": [_invocation(audit)],
                "results": results,
                "columnKind": "unicodeCodePoints",
            }
        ],
    }
    return dumped(log)


def _rule(entry: Entry) -> dict[str, Any]:
    rule = {
        "id": _identity(entry),
        "name": entry.name,
        "shortDescription": {"text": entry.name},
        "fullDescription": {"text": entry.verdict.text},
        "defaultConfiguration": {"level": "error"},
    }
    return rule | ({"help": {"text": entry.why}} if entry.why else {})


def _result(number: int, entry: Entry, audit: AuditReport) -> dict[str, Any]:
    verdict = entry.verdict
    kind, level = _LEVELS[verdict.answer]
    result: dict[str, Any] = {
        "ruleId": _identity(entry),
        "ruleIndex": number,
        "kind": kind,
        "level": level,
        "message": {"text": f"{entry.name}: {answer_line(verdict)}. {guarantee(verdict)}"},
        "partialFingerprints": {"property/v1": _digest(verdict.text)},
        "properties": {
            "answer": verdict.answer,
            "risk": verdict.risk,
            "samples": verdict.samples,
            "queries": verdict.queries,
            "seed": verdict.seed,
            "seedChosen": verdict.seed_chosen,
            "counterexamples": len(verdict.counterexamples),
        },
    }
    return result | _locations(audit, entry.line)


def _invocation(audit: AuditReport) -> dict[str, Any]:
    notifications = [_notification(failure, audit) for failure in audit.failures]
    invocation: dict[str, Any] = {"executionSuccessful": not notifications}
    return invocation | ({"toolExecutionNotifications": notifications} if notifications else {})


def _notification(failure: Failure, audit: AuditReport) -> dict[str, Any]:
    return {
        "level": "error",
        "message": {"text": f"{failure.name}: {missing_answer(failure)}. {failure.message}"},
        "exception": {"kind": failure.kind, "message": failure.message},
        **_locations(audit, failure.line),
    }


def _locations(audit: AuditReport, line: int | None) -> dict[str, Any]:
    """The place of a property in the audit file; empty where there is no file."""
    if audit.file is None:
        return {}
    location: dict[str, Any] = {"artifactLocation": {"uri": _uri(audit.file)}}
    if line is not None:
        location["region"] = {"startLine": line}
    return {"locations": [{"physicalLocation": location}]}


def _uri(path: str) -> str:
    """A path as a URI: relative to the folder where the command ran, or absolute on this machine."""
    plain = path.replace("\\", "/")
    if plain[1:3] == ":/":
        return f"file:///{quote(plain, '/:', errors='replace')}"
    quoted = quote(plain, errors="replace")
    return f"file://{quoted}" if plain.startswith("/") else quoted


def _identity(entry: Entry) -> str:
    """A name for the rule that stays the same from run to run."""
    return "ISO" + _digest(f"{entry.name}\0{entry.verdict.text}")[:8].upper()


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
