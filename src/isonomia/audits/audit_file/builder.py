"""What an audit file speaks of, made from its tables: models, populations, interventions and properties."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from isonomia.audits.audit_file.reader import AuditFile, FileTable
from isonomia.audits.protocol import Permissions
from isonomia.audits.registry import file_keys
from isonomia.errors import IsonomiaError, SpecError
from isonomia.interventions import Interventions
from isonomia.models.loader import load_model, load_object
from isonomia.models.protocol import Model
from isonomia.populations import Census, Generator, Sample

__all__ = ["interventions_of", "models_of", "populations_of", "property_of"]

_SOURCES = ("sample", "census", "generator", "program", "domain")


def models_of(file: AuditFile, permissions: Permissions, given: Mapping[str, Model]) -> dict[str, Model]:
    """Every model by its name, those that are given as they are; ``default`` is the one without a name."""
    entries = file.entries("model", "models")
    return {name: given[name] if name in given else _model(entry, permissions) for name, entry in entries.items()}


def populations_of(file: AuditFile) -> dict[str, Any]:
    """Every population by its name; ``default`` is the one without."""
    return {name: _population(entry) for name, entry in file.entries("population", "populations").items()}


def interventions_of(file: AuditFile) -> dict[str, Interventions]:
    """What people can change, by name."""
    found = {}
    for name, path in file.content.get("interventions", {}).items():
        if not isinstance(path, str):
            raise file.error(f"expected the file of interventions {name!r}, but {path!r} came", "interventions", name)
        with _pointing(file.error, "interventions", name):
            found[name] = Interventions.from_toml(file.texts.read(path), path)
    return found


def property_of(table: FileTable, interventions: Mapping[str, Interventions], permissions: Permissions) -> Any:
    """The property of one table; an error points at its line."""
    keys = file_keys()
    kind = next(key for key in keys if key in table.content)
    with _pointing(table.error, kind):
        prop = keys[kind].make(table, interventions, permissions)
        return replace(prop, name=table.get("name")) if table.get("name") else prop


def _model(entry: FileTable, permissions: Permissions) -> Model:
    source = entry.get("load")
    if source is None:
        raise entry.error("expected load, a file, a folder, a URL, or module:object")
    here = entry.file.folder / source
    options = {**entry.get("options", {}), "trust_pickle": permissions.trust_pickle}
    if "trusted" in options and not permissions.trust_pickle:
        raise entry.error(
            "making the types that are trusted here can run code, and a file cannot trust itself: if you trust who "
            "wrote it, use --trust-pickle",
            "options",
            "trusted",
        )
    with _pointing(entry.error, "load"):
        return load_model(here if here.exists() else source, features=entry.get("features"), **options)


def _population(entry: FileTable) -> Any:
    given = [key for key in _SOURCES if key in entry.content]
    if len(given) != 1:
        came = f"has {' and '.join(given)}" if given else "has none of them"
        raise entry.error(f"expected a population to have one of {', '.join(_SOURCES)}, but it {came}")
    (kind,) = given
    source = entry.get(kind)
    with _pointing(entry.error, kind):
        match kind:
            case "sample":
                return Sample(_place(entry, source), **_options(entry, "shuffle"))
            case "census":
                return Census(_place(entry, source), **_options(entry, "exact"))
            case "generator":
                return Generator(load_object(source), **_options(entry, "values"))
            case "program":
                from isonomia.populations.program import Program

                return Program.of(entry.file.texts.read(source), Path(source).name)
            case _:
                return load_object(source)


def _options(entry: FileTable, *allowed: str) -> dict[str, Any]:
    """The options that go with a kind of population; others would be without effect, which nobody means."""
    others = [key for key in entry.content if key not in (*_SOURCES, *allowed)]
    if others:
        raise entry.error(f"{others[0]} does not go with this kind of population", others[0])
    return {key: entry.get(key) for key in allowed if key in entry.content}


def _place(entry: FileTable, source: str) -> Path:
    return entry.file.folder / source


@contextmanager
def _pointing(error: Callable[..., SpecError], *path: str | int) -> Iterator[None]:
    """Let an error of what is made point at the line that asked for it."""
    try:
        yield
    except (IsonomiaError, TypeError) as problem:
        pointed = error(str(problem), *path)
        place = getattr(problem, "place", None)
        if place is not None and pointed.place is not None and place.text is pointed.place.text:
            raise  # it points at a line of this file already
        raise pointed from problem
