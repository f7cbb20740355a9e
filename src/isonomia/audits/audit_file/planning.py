"""What an audit file asks for, as checks that are ready to run."""

from __future__ import annotations

import re
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
from isonomia.audits.audit_file.naming import refuse_unknown_names
from isonomia.audits.audit_file.planned import Planned, Stated
from isonomia.audits.audit_file.reading import DEFAULT, AuditFile, Entry
from isonomia.audits.audit_file.sharing_out import shared_out
from isonomia.audits.audit_file.wrapping import Wrap, unwrapped
from isonomia.audits.check import Options, arrange
from isonomia.errors import IsonomiaError, nearest
from isonomia.models.protocol import Model
from isonomia.spec.safety import Safety

__all__ = ["plan_audit", "planned_for", "stated_in"]

DELTA = 0.05
"""The risk of the whole audit, where the file says nothing."""


def plan_audit(
    file: AuditFile,
    seed: int,
    permissions: Permissions,
    wrap: Wrap = unwrapped,
    *,
    given: Mapping[str, Model] | None = None,
) -> list[Planned]:
    """Open models and populations, and arrange every check.

    The file's risk is divided equally over the properties that state none of their own: then the probability that any
    of them is answered wrongly is at most that risk, whatever their number and however they depend on each other.
    ``wrap`` may put something around each model, such as a cache. Models that are ``given``, by their names in the
    file, are used in place of those that it names, which are not opened.

    Raises
    ------
    SpecError
        Where something cannot be opened or does not fit; the error points at the line of the file.
    """
    models = {name: wrap(name, model) for name, model in models_of(file, permissions, given or {}).items()}
    populations = populations_of(file)
    planned = []
    for each in stated_in(file, seed, permissions):
        entry = each.entry
        model, population = _chosen(entry, "model", models), _people(entry, each.prop, populations)
        planned.append(planned_for(each, model, population))
        _refuse_unknown_names(entry, planned[-1])
    return shared_out(planned)


def _refuse_unknown_names(entry: Entry, planned: Planned) -> None:
    """Refuse names that there are not, pointing at the key whose value has them."""
    try:
        refuse_unknown_names(planned.arranged)
    except IsonomiaError as error:
        options = entry.get("with", {})
        named = re.search(r"'(\w+)'", str(error))
        blamed = [key for key, value in options.items() if named is not None and named[1] in str(value)]
        path = ("check",) if "check" in entry.content else ("with", *blamed[:1])
        raise entry.error(str(error), *path) from error


def planned_for(each: Stated, model: Any, population: Any) -> Planned:
    """A stated property, arranged for a model and a population.

    Raises
    ------
    SpecError
        Where they do not fit; the error points at the line of the file.
    """
    entry = each.entry
    try:
        arranged = arrange(each.prop, model, population, each.options)
    except IsonomiaError as error:
        raise entry.error(str(error)) from error
    return Planned(each.name, entry.get("why"), entry.line, arranged, dict(entry.content))


def stated_in(file: AuditFile, seed: int, permissions: Permissions) -> list[Stated]:
    """Every property of a file with its options. No model and no population is opened.

    Raises
    ------
    SpecError
        Where a property cannot be made; the error points at its line.
    """
    interventions, entries = interventions_of(file), file.properties()
    names, share = _names(entries), _share(file, entries)
    return [
        Stated(name, entry, property_of(entry, interventions, permissions), _options(file, entry, share, seed))
        for entry, name in zip(entries, names, strict=True)
    ]


def _options(file: AuditFile, entry: Entry, share: float, seed: int) -> Options:
    return Options(
        delta=entry.get("delta", share),
        budget=entry.get("budget", file.content.get("budget")),
        seed=seed,
        workers=file.content.get("workers", 1),
        random_model=bool(_model_entry(file, entry).get("random", False)),
        **{key: entry.get(key) for key in ("method", "ranges") if key in entry.content},
    )


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
