"""Registration: what an audit will check, written down before any answer is seen, and compared with its evidence.

Whoever audits the same data often enough, with other properties, risks, looks or seeds, finds an answer that pleases.
A registration fixes all of these beforehand. It proves nothing by its own time, which anybody can set: its hash must be
where its author cannot change it, such as a public repository or a letter. Evidence then shows whether the run is the
registered one; it cannot show that no other run was made elsewhere.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from isonomia.audits.audit_file.planner import PlannedCheck
from isonomia.audits.audit_file.reader import AuditFile
from isonomia.errors import RecordError
from isonomia.populations.finite import Census, Sample
from isonomia.records.compare import ValueDifference, differences
from isonomia.records.evidence import EvidenceFile
from isonomia.records.strict_json import canonical, read_strictly

FORMAT, VERSION = "isonomia registration", 1

_PARTS = {"format", "version", "time", "file", "text", "files", "seed", "properties", "hash"}


def registration_of(file: AuditFile, planned: Sequence[PlannedCheck]) -> dict[str, Any]:
    """The registration of an audit whose checks are planned. The model is not asked about any row."""
    content: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "file": file.path.name,
        "text": _digest(file.text),
        "files": {name: _digest(text) for name, text in file.files.items()},
        "seed": planned[0].check.seed if planned else None,
        "properties": {each.name: _property(each) for each in planned},
    }
    return {**content, "hash": hash_of(content)}


def _property(each: PlannedCheck) -> dict[str, Any]:
    """What is fixed of one check: its text, risk and looks, and which data and which model it is about."""
    check = each.check
    table = check.population if isinstance(check.population, Sample | Census) else None
    return {
        "text": str(check.prop).rstrip(),
        "delta": check.delta,
        "looks": check.looks,
        "data": None if table is None else table.fingerprint(),
        "model": None if check.model is None else check.model.fingerprint(),
    }


def hash_of(registration: Mapping[str, Any]) -> str:
    """SHA-256 over the canonical JSON of everything but the hash itself: this is what is published."""
    return hashlib.sha256(canonical({key: registration[key] for key in registration if key != "hash"})).hexdigest()


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def read_registration(path: Path) -> dict[str, Any]:
    """Read a registration.

    Raises
    ------
    RecordError
        If it is none, or was changed after it was written.
    """
    content = read_strictly(path)
    if not isinstance(content, dict) or set(content) != _PARTS or content["format"] != FORMAT:
        raise RecordError(f"expected a registration, which `isonomia register` writes, but {path} is something else")
    if content["version"] != VERSION or content["hash"] != hash_of(content):
        raise RecordError(f"{path} was changed after it was written: its hash is not that of its content")
    return content


def unlike(registration: Mapping[str, Any], evidence: EvidenceFile) -> Iterator[ValueDifference]:
    """Where evidence differs from what was registered; a run that began before it is a difference, too."""
    audit, run = evidence.audit, evidence.run
    if datetime.fromisoformat(run["begun"]) < datetime.fromisoformat(registration["time"]):
        yield ValueDifference("time", registration["time"], run["begun"])
    yield from differences(registration["text"], _digest(audit["text"]), "text of the audit file")
    files = {name: _digest(text) for name, text in audit["files"].items()}
    yield from differences(registration["files"], files, "files")
    yield from differences(registration["seed"], run["seed"], "seed")
    found = {}
    for each in evidence.checks:
        registered = registration["properties"].get(each.name, {})
        sources = {key: each.entries.get(key, {}).get("fingerprint") for key in ("population", "model")}
        verdict = each.verdict or {}
        found[each.name] = {
            **registered,
            "delta": each.options.get("delta"),
            **({"text": verdict["text"]} if verdict else {}),
            **({"data": sources["population"]} if registered.get("data") is not None else {}),
            **({"model": sources["model"]} if sources["model"] is not None else {}),
        }
    yield from differences(registration["properties"], found, "properties")
