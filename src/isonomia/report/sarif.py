"""SARIF 2.1.0, which code hosts show beside the code: a property is a rule, a verdict a result."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from isonomia.records.words import answer_line, guarantee
from isonomia.report.entries import Audit, Entry
from isonomia.version import __version__

__all__ = ["sarif"]

_LEVELS = {"violated": ("fail", "error"), "undecided": ("review", "none"), "holds": ("pass", "none")}


def sarif(audit: Audit) -> str:
    """The audit as a SARIF log with one run."""
    rules = [_rule(entry) for entry in audit.entries]
    results = [_result(k, entry, audit) for k, entry in enumerate(audit.entries)]
    log = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": {"name": "Isonomia", "version": __version__, "rules": rules}},
                "results": results,
                "columnKind": "unicodeCodePoints",
            }
        ],
    }
    return json.dumps(log, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _rule(entry: Entry) -> dict[str, Any]:
    rule = {
        "id": _identity(entry),
        "name": entry.name,
        "shortDescription": {"text": entry.name},
        "fullDescription": {"text": entry.verdict.text},
        "defaultConfiguration": {"level": "error"},
    }
    return rule | ({"help": {"text": entry.why}} if entry.why else {})


def _result(number: int, entry: Entry, audit: Audit) -> dict[str, Any]:
    verdict = entry.verdict
    kind, level = _LEVELS[verdict.answer]
    result: dict[str, Any] = {
        "ruleId": _identity(entry),
        "ruleIndex": number,
        "kind": kind,
        "level": level,
        "message": {"text": f"{entry.name}: {answer_line(verdict)}. {guarantee(verdict)}"},
        "partialFingerprints": {"property/v1": hashlib.sha256(verdict.text.encode()).hexdigest()},
        "properties": {
            "answer": verdict.answer,
            "risk": verdict.risk,
            "samples": verdict.samples,
            "seed": verdict.seed,
            "counterexamples": len(verdict.counterexamples),
        },
    }
    if audit.file is not None:
        place: dict[str, Any] = {"artifactLocation": {"uri": audit.file}}
        if entry.line is not None:
            place["region"] = {"startLine": entry.line}
        result["locations"] = [{"physicalLocation": place}]
    return result


def _identity(entry: Entry) -> str:
    """A name for the rule that stays the same from run to run."""
    return "ISO" + hashlib.sha256(f"{entry.name}\0{entry.verdict.text}".encode()).hexdigest()[:8].upper()
