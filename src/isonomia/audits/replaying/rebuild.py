"""The checks of a record.

What a record says more than once of models and populations, and must say alike.

The checks of a run, rebuilt from its evidence alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from isonomia.audits.audit_file.planner import Planned, Stated, planned_for, stated_in
from isonomia.audits.audit_file.reader import DEFAULT, AuditFile, FileTable, recorded_audit_file
from isonomia.audits.protocol import Permissions
from isonomia.audits.verdicts import recorded_model, recorded_population
from isonomia.errors import IsonomiaError, RecordError
from isonomia.records.compare import ValueDifference, differences
from isonomia.records.evidence import CheckEvidence, EvidenceFile
from isonomia.spec.safety import Safety
from isonomia.wording import visible

__all__ = ["Rebuilt", "rebuilt", "said_otherwise", "stand_in"]


_KINDS = ("sample", "census", "generator", "program")
"""The keys of the audit file that make a population of the kind of the same name."""


def said_otherwise(
    file: AuditFile, stated: Sequence[Stated], checks: Sequence[CheckEvidence]
) -> Iterator[ValueDifference]:
    """Where what checks say of their models and populations contradicts the audit file, or each other.

    The kind of a population is in the text, and whether everybody of a census is counted. Properties about one model
    or one population of the file have one fingerprint of it.
    """
    populations, seen = file.entries("population", "populations"), dict[tuple[str, str], object]()
    for each, check in zip(stated, checks, strict=True):
        people = _people(each, populations)
        entry = populations.get(people) if people is not None else None
        if entry is not None and "population" in check.entries:
            yield from _other_kind(each.name, entry, check)
        for what, name in (("population", people), ("model", each.entry.get("model") or DEFAULT)):
            found = check.entries.get(what, {}).get("fingerprint")
            if name is None or found is None:
                continue
            before = seen.setdefault((what, name), found)
            if before != found:
                yield ValueDifference(f"{each.name}: fingerprint of the {what} {name}", found, before)


def _people(each: Stated, populations: dict[str, FileTable]) -> str | None:
    """Which population of the file a property is about; ``None`` where its specification imports one."""
    name = each.entry.get("population")
    imported = each.prop.spec.imports if name is None and isinstance(each.prop, Safety) else ()
    return None if any(item in populations for item in imported) else name or DEFAULT


def _other_kind(name: str, entry: FileTable, check: CheckEvidence) -> Iterator[ValueDifference]:
    kind = next((key for key in _KINDS if key in entry.content), None)
    told = check.entries["population"].get("kind")
    if kind is not None and told != kind:
        yield ValueDifference(f"{name}: kind of the population", told, kind)
    if entry.get("exact") is False and check.entries.get("exact", {}).get("exact"):
        yield ValueDifference(f"{name}: whether everybody was counted at once", True, False)


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """What an evidence file's audit says: the file, its properties, and where the rest of the record contradicts it."""

    file: AuditFile
    stated: tuple[Stated, ...]
    contradictions: tuple[ValueDifference, ...]


def rebuilt(evidence: EvidenceFile) -> Rebuilt:
    """Read the audit in an evidence file. The text decides; what is said twice must be said alike."""
    audit = evidence.audit
    try:
        file = recorded_audit_file(audit["name"], audit["text"], audit["files"])
        stated = tuple(stated_in(file, evidence.run["seed"], Permissions()))
    except (IsonomiaError, RecursionError) as error:
        raise RecordError(
            f"expected an audit file in the record, but it cannot be read: {visible(str(error))}"
        ) from error
    names, checked = [each.name for each in stated], [each.name for each in evidence.checks]
    if names != checked:
        raise RecordError(
            f"expected a check of each of the {len(names)} properties of the audit file, in their order, but "
            f"{_first_other(names, checked)}"
        )
    return Rebuilt(file, stated, (*_contradictions(file, evidence), *said_otherwise(file, stated, evidence.checks)))


def stand_in(each: Stated, check: CheckEvidence) -> Planned:
    """A property with what the record has of its model and population, which can be neither asked nor drawn from."""
    return planned_for(each, recorded_model(check.entries), recorded_population(check.entries))


def _contradictions(file: AuditFile, evidence: EvidenceFile) -> Iterator[ValueDifference]:
    title = file.content.get("title") or file.path.stem
    yield from differences(evidence.run["title"], title, "run.title")


def _first_other(names: list[str], checked: list[str]) -> str:
    for name, other in zip(names, checked, strict=False):
        if name != other:
            return f"{other!r} was checked in place of {name!r}"
    return f"{len(checked)} were checked"
