"""The checks of a run, rebuilt from its evidence alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from isonomia.audits.audit_file.building import Permissions
from isonomia.audits.audit_file.planned import Planned, Stated
from isonomia.audits.audit_file.planning import planned_for, stated_in
from isonomia.audits.audit_file.reading import AuditFile, recorded_audit_file
from isonomia.audits.journaled import recorded_model, recorded_population
from isonomia.audits.replaying.said_twice import said_otherwise
from isonomia.errors import IsonomiaError, RecordError
from isonomia.records.differences import Difference, differences
from isonomia.records.evidence import CheckEvidence, Evidence
from isonomia.records.visible import visible

__all__ = ["Rebuilt", "rebuilt", "stand_in"]


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """What an evidence file's audit says: the file, its properties, and where the rest of the record contradicts it."""

    file: AuditFile
    stated: tuple[Stated, ...]
    contradictions: tuple[Difference, ...]


def rebuilt(evidence: Evidence) -> Rebuilt:
    """Read the audit in an evidence file. The text decides; what is said twice must be said alike.

    Raises
    ------
    RecordError
        Where its text cannot be read, or its properties are not those that were checked.
    """
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
    """A property with what the record has of its model and population, which can be neither asked nor drawn from.

    Raises
    ------
    IsonomiaError
        Where they do not fit together.
    """
    return planned_for(each, recorded_model(check.entries), recorded_population(check.entries))


def _contradictions(file: AuditFile, evidence: Evidence) -> Iterator[Difference]:
    title = file.content.get("title") or file.path.stem
    yield from differences(evidence.run["title"], title, "run.title")


def _first_other(names: list[str], checked: list[str]) -> str:
    for name, other in zip(names, checked, strict=False):
        if name != other:
            return f"{other!r} was checked in place of {name!r}"
    return f"{len(checked)} were checked"
