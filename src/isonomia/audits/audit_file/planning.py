"""What an audit file asks for, as checks that are ready to run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from isonomia.audits.audit_file.building import (
    AnyProperty,
    Permissions,
    interventions_of,
    models_of,
    populations_of,
    property_of,
)
from isonomia.audits.audit_file.planned import Planned
from isonomia.audits.audit_file.reading import DEFAULT, AuditFile, Entry
from isonomia.audits.audit_file.sharing_out import shared_out
from isonomia.audits.check import Options, arrange
from isonomia.errors import IsonomiaError, nearest
from isonomia.spec.safety import Safety

__all__ = ["plan_audit"]

DELTA = 0.05
"""The risk of the whole audit, where the file says nothing."""


def plan_audit(file: AuditFile, seed: int, permissions: Permissions) -> list[Planned]:
    """Open models and populations, and arrange every check.

    The file's risk is divided equally over the properties that state none of their own: then the probability that any
    of them is answered wrongly is at most that risk, whatever their number and however they depend on each other.

    Raises
    ------
    SpecError
        Where something cannot be opened or does not fit; the error points at the line of the file.
    """
    models, populations = models_of(file, permissions), populations_of(file)
    interventions = interventions_of(file)
    entries = file.properties()
    names = _names(entries)
    share = _share(file, entries)
    planned = []
    for entry, name in zip(entries, names, strict=True):
        prop = property_of(entry, interventions, permissions)
        model, population = _chosen(entry, "model", models), _people(entry, prop, populations)
        options = {
            "delta": entry.get("delta", share),
            "budget": entry.get("budget", file.content.get("budget")),
            "seed": seed,
            "workers": file.content.get("workers", 1),
            "random_model": bool(_model_entry(file, entry).get("random", False)),
            **{key: entry.get(key) for key in ("method", "ranges") if key in entry.content},
        }
        try:
            arranged = arrange(prop, model, population, Options(**options))
        except IsonomiaError as error:
            raise entry.error(str(error)) from error
        planned.append(Planned(name, entry.get("why"), entry.line, arranged, dict(entry.content)))
    return shared_out(planned)


def _share(file: AuditFile, entries: list[Entry]) -> float:
    whole = file.content.get("delta", DELTA)
    if not 0 < whole < 1:
        raise file.error(
            f"expected delta, the risk of the whole audit, strictly between 0 and 1, but {whole!r} came", "delta"
        )
    return float(whole) / max(1, sum("delta" not in entry.content for entry in entries))


def _names(entries: list[Entry]) -> list[str]:
    """What the properties are called: by their names, which must differ, or by their numbers."""
    names = [entry.get("name") or f"property {k + 1}" for k, entry in enumerate(entries)]
    for k, (entry, name) in enumerate(zip(entries, names, strict=True)):
        if name in names[:k]:
            raise entry.error(f"expected a name of its own, but {name!r} is the name of another property", "name")
    return names


def _chosen(entry: Entry, what: str, known: Mapping[str, Any]) -> Any:
    """The model or population that a property names, or the one without a name."""
    name = entry.get(what)
    if name is None:
        return known.get(DEFAULT)
    if name not in known:
        listed = ", ".join(each for each in known if each != DEFAULT) or "none"
        raise entry.error(f"there is no {what} {name!r}; the file names {listed}.{nearest(name, known)}", what)
    return known[name]


def _people(entry: Entry, prop: AnyProperty, populations: Mapping[str, Any]) -> Any:
    """Whom a property is about: those that it names, else those that its specification imports, else the default."""
    imported = prop.spec.imports if isinstance(prop, Safety) and "population" not in entry.content else ()
    named = [populations[name] for name in imported if name in populations]
    return named[0] if named else _chosen(entry, "population", populations)


def _model_entry(file: AuditFile, entry: Entry) -> Mapping[str, Any]:
    found = file.entries("model", "models").get(entry.get("model") or DEFAULT)
    return {} if found is None else found.content
