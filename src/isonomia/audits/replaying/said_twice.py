"""What a record says more than once of models and populations, and must say alike."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from isonomia.audits.audit_file.planned import Stated
from isonomia.audits.audit_file.reading import DEFAULT, AuditFile, Entry
from isonomia.records.differences import Difference
from isonomia.records.evidence import CheckEvidence
from isonomia.spec.safety import Safety

__all__ = ["said_otherwise"]

_KINDS = ("sample", "census", "generator", "program")
"""The keys of the audit file that make a population of the kind of the same name."""


def said_otherwise(file: AuditFile, stated: Sequence[Stated], checks: Sequence[CheckEvidence]) -> Iterator[Difference]:
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
                yield Difference(f"{each.name}: fingerprint of the {what} {name}", found, before)


def _people(each: Stated, populations: dict[str, Entry]) -> str | None:
    """Which population of the file a property is about; ``None`` where its specification imports one."""
    name = each.entry.get("population")
    imported = each.prop.spec.imports if name is None and isinstance(each.prop, Safety) else ()
    return None if any(item in populations for item in imported) else name or DEFAULT


def _other_kind(name: str, entry: Entry, check: CheckEvidence) -> Iterator[Difference]:
    kind = next((key for key in _KINDS if key in entry.content), None)
    told = check.entries["population"].get("kind")
    if kind is not None and told != kind:
        yield Difference(f"{name}: kind of the population", told, kind)
    if entry.get("exact") is False and check.entries.get("exact", {}).get("exact"):
        yield Difference(f"{name}: whether everybody was counted at once", True, False)
