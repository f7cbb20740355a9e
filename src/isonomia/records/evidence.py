"""The evidence of a run or a watch: one portable, sealed file with the request, what was measured, and the verdicts.

It holds statistics, and neither the people nor the model's answers about them, except for the counterexamples that the
verdicts show. A plain seal is SHA-256 over the canonical JSON. It reveals accidents, and changes made
without sealing the file again, which anyone can do. With a key it is HMAC-SHA256 (RFC 2104), which only holders of the
key can make.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from isonomia.errors import RecordError
from isonomia.records.journal import BY_ROW
from isonomia.records.store import ANSWER_PREFIX, CheckRecord, RunRecord, Store, resume_command
from isonomia.records.strict_json import canonical, evidence_schema, read_strictly, schema_problems
from isonomia.records.verdict import Verdict

_HALVES = re.compile("[\ud800-\udfff]")

FORMAT, VERSION = "isonomia evidence", 4


@dataclass(frozen=True, slots=True)
class CheckEvidence:
    """One property of a run: its table in the audit file, how it was checked, what was measured, and its verdict.

    ``entries`` is the journal without the model's raw answers. A property that could not be checked has an ``error``,
    with ``kind`` and ``message``, and no verdict.
    """

    name: str
    definition: Mapping[str, Any]
    options: Mapping[str, Any]
    entries: Mapping[str, Mapping[str, Any]]
    verdict: Mapping[str, Any] | None
    error: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class EvidenceFile:
    """The evidence of a run.

    ``run`` has its ``id``, the times ``begun`` and ``ended``, its ``title``, the ``versions`` that computed it, its
    ``seed``, and as ``trials`` how many other runs in its store used the same data; ``audit`` has the audit file's
    ``name`` and ``text``, and the texts of the ``files`` that it names.
    ``watch`` has the statistics of a watch, and what it has read; it is ``None`` for an audit, in which every check has
    its own statistics. ``seal_problem`` says what is wrong with the seal; ``None`` if it is intact.
    """

    run: Mapping[str, Any]
    audit: Mapping[str, Any]
    checks: tuple[CheckEvidence, ...]
    seal_problem: str | None = None
    watch: Mapping[str, Any] | None = None

    @property
    def verdicts(self) -> dict[str, Verdict]:
        """The verdicts, by the names of their properties."""
        return {each.name: Verdict.from_dict(each.verdict) for each in self.checks if each.verdict is not None}


def evidence_of(store: Store, name: str = "latest") -> EvidenceFile:
    """The evidence of a run in a store."""
    run = store.run(name)
    checks = store.checks(run.id)
    unfinished = [check.name for check in checks if check.verdict is None and check.error is None]
    if unfinished:
        command = resume_command(run.request, store.folder)
        raise RecordError(
            f"expected a complete run, but {unfinished[0]!r} of run {run.id} has no verdict yet: go on with {command}",
            name=unfinished[0],
        )
    if "repair" in run.request:
        raise RecordError(
            f"expected a run of an audit file, but {run.id} is a repair, whose training no file can repeat: show and "
            "report take it, and the same seed repairs again"
        )
    if "files" not in run.request:
        raise RecordError(
            f"expected a run with the texts that its audit file names, but {run.id} has none: run it again"
        )
    about: dict[str, Any] = {"id": run.id, "begun": run.begun, "ended": run.ended, "title": run.title}
    audit = {
        "name": Path(run.request["file"]).name,
        "text": run.request["text"],
        "files": dict(run.request["files"]),
    }
    about |= {"versions": dict(run.versions), "seed": run.request["seed"]}
    about |= {"seed_chosen": run.request["seed_chosen"]} if "seed_chosen" in run.request else {}
    about["trials"] = trials_of(store, run)
    return EvidenceFile(about, audit, tuple(_check_evidence(store, check) for check in checks))


def trials_of(store: Store, run: RunRecord) -> dict[str, int]:
    """How many other runs in the store used some of the same data, and how many of these were set up otherwise.

    A store has only what was run with it and not deleted since: a small number shows nothing, a large one much.
    """
    data, own = _data_of(store, run), _setup_of(store, run)
    others = [each for each in store.runs() if each.id != run.id and data & _data_of(store, each)]
    setups = [_setup_of(store, each) for each in others]
    return {"runs": len(others), **{key: sum(not each[key] <= own[key] for each in setups) for key in own}}


def _data_of(store: Store, run: RunRecord) -> set[str]:
    entries = [entry for _, key, entry in store.introductions(run.id) if key == "population"]
    return {str(entry["fingerprint"]) for entry in entries if "fingerprint" in entry}


def _setup_of(store: Store, run: RunRecord) -> dict[str, set[str]]:
    """What could be tried until an answer pleases."""
    checks = store.checks(run.id)
    verdicts = [check.verdict for check in checks if check.verdict is not None]
    return {
        "properties": {verdict.text for verdict in verdicts},
        "deltas": {repr(check.options.get("delta")) for check in checks},
        "looks": {str(verdict.looks) for verdict in verdicts},
        "seeds": {str(run.request.get("seed"))},
    }


def _check_evidence(store: Store, check: CheckRecord) -> CheckEvidence:
    journal = store.journal(check.run, check.number)
    try:
        entries = {
            key: {name: value for name, value in entry.items() if name != BY_ROW}
            for key, entry in journal.entries.items()
            if not key.startswith(ANSWER_PREFIX)
        }
    finally:
        journal.close()
    verdict = None if check.verdict is None else json.loads(json.dumps(check.verdict.to_dict(), allow_nan=False))
    return CheckEvidence(check.name, check.definition, check.options, entries, verdict, check.error)


def evidence_text(evidence: EvidenceFile, key: bytes | None = None) -> str:
    """The text of the file: sealed, with one line per journal entry."""
    checks = [asdict(each) for each in evidence.checks]
    plain = {"format": FORMAT, "version": VERSION, "run": evidence.run, "audit": evidence.audit, "checks": checks}
    if evidence.watch is not None:
        plain["watch"] = evidence.watch
    return _laid_out(sealed(plain, key), 4) + "\n"


def read_evidence(path: str | Path, key: bytes | None = None) -> EvidenceFile:
    """Read an evidence file. Nothing in it is trusted yet: ``seal_problem`` says whether its seal is intact."""
    content = read_strictly(Path(path))
    if not is_evidence(content):
        raise RecordError(f"expected an evidence file, as isonomia export writes it, but {path} is not one")
    return replace(parse_evidence(content, str(path)), seal_problem=seal_problem(content, key))


def is_evidence(content: Any) -> bool:
    """Whether plain values claim to be the content of an evidence file."""
    return isinstance(content, dict) and content.get("format") == FORMAT


def parse_evidence(content: Any, what: str) -> EvidenceFile:
    """The evidence in plain values, whatever its seal."""
    version = content.get("version") if isinstance(content, dict) else None
    if isinstance(version, int) and version != VERSION:
        raise RecordError(
            f"expected an evidence file of version {VERSION}, but {what} has version {version}: replay it with the "
            "version of Isonomia that wrote it, or run the audit again and export that run"
        )
    problem = next(schema_problems(content, evidence_schema()), None)
    if problem is not None:
        raise RecordError(f"{what} is not an evidence file of version {VERSION}: {problem}")
    name = content["audit"]["name"]
    if name in {"", ".", ".."} or Path(name).name != name:
        raise RecordError(f"{what} should have the name of the audit file without any folder, but has {name!r}")
    raw = [each["name"] for each in content["checks"] if any(key.startswith(ANSWER_PREFIX) for key in each["entries"])]
    if raw:
        raise RecordError(f"{what} has raw answers of the model for {raw[0]!r}, which no evidence file holds")
    checks = tuple(CheckEvidence(**each) for each in content["checks"])
    return EvidenceFile(content["run"], content["audit"], checks, watch=content.get("watch"))


def _laid_out(value: Any, levels: int, indent: str = "") -> str:
    """JSON with a line for each part, down to so many levels; what has no parts within its parts is one line."""
    parts = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
    if not levels or not any(isinstance(part, Mapping | list | tuple) for part in parts):
        return _line(value)
    names = [f"{_line(name)}: " for name in value] if isinstance(value, Mapping) else [""] * len(value)
    lines = [
        f"{indent} {name}{_laid_out(part, levels - 1, indent + ' ')}" for name, part in zip(names, parts, strict=True)
    ]
    first, last = "{}" if isinstance(value, Mapping) else "[]"
    return f"{first}\n" + ",\n".join(lines) + f"\n{indent}{last}"


def _line(value: Any) -> str:
    """A value in one line that can be written as UTF-8; lone surrogates need an escape for that."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return text if not _HALVES.search(text) else json.dumps(value, allow_nan=False)


# --------------------------------------------------------------------------------------------------------------- seals

MIN_KEY_BYTES = 16
"""The least bytes of a key; a shorter one can be guessed."""

PLAIN, KEYED = "sha256", "hmac-sha256"


def sealed(content: Mapping[str, Any], key: bytes | None = None) -> dict[str, Any]:
    """The content with its seal."""
    return {**content, "seal": {"method": PLAIN if key is None else KEYED, "value": _value(content, key)}}


def is_keyed(content: Mapping[str, Any]) -> bool:
    """Whether sealed content was sealed with a key."""
    return bool(content["seal"]["method"] == KEYED)


def seal_problem(content: Mapping[str, Any], key: bytes | None = None) -> str | None:
    """What is wrong with the seal of sealed content, in words; ``None`` if it is intact."""
    seal = content["seal"]
    if is_keyed(content) and key is None:
        raise RecordError("expected the key that this file was sealed with, --key FILE, but got none", name="key")
    if seal["method"] == PLAIN and key is not None:
        raise RecordError(
            "expected a file that was sealed with a key, but this one was sealed without: anyone may have changed it "
            "and sealed it again. Leave out --key to read it anyway"
        )
    rest = {name: value for name, value in content.items() if name != "seal"}
    if hmac.compare_digest(_value(rest, key).encode(), seal["value"].encode("utf-8", "surrogatepass")):
        return None
    other = " or the key is another one" if key is not None else ""
    return f"the seal is broken: something in the file was changed after it was sealed{other}"


def _value(content: Mapping[str, Any], key: bytes | None) -> str:
    if key is None:
        return hashlib.sha256(canonical(content)).hexdigest()
    if len(key) < MIN_KEY_BYTES:
        raise RecordError(
            f"expected a key of at least {MIN_KEY_BYTES} bytes, but it has {len(key)}: it could be guessed"
        )
    return hmac.new(key, canonical(content), hashlib.sha256).hexdigest()
