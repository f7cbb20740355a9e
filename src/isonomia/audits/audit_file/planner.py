"""From an audit file to checks that are ready: its models, populations, interventions and properties are made.

Registration: what an audit will check, written down before any answer is seen, and compared with its evidence.

Whoever audits the same data often enough, with other properties, risks, looks or seeds, finds an answer that pleases.
A registration fixes all of these beforehand. It proves nothing by its own time, which anyone can set: its hash must be
where its author cannot change it, such as a public repository or a letter. Evidence then shows whether the run is the
registered one; it cannot show that no other run was made elsewhere.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from inspect import isroutine
from pathlib import Path
from threading import BoundedSemaphore
from typing import Any, TypeAlias

from isonomia.audits.arguments import outcomes_of
from isonomia.audits.audit_file.permissions import is_inside
from isonomia.audits.audit_file.reader import DEFAULT, AuditFile, FileTable
from isonomia.audits.check import new_check, subjects
from isonomia.audits.given_models import named_outputs, with_columns
from isonomia.audits.protocol import AuditProperty, Check, Permissions
from isonomia.audits.registry import audit_for, file_keys
from isonomia.engine.parameters import derived_seed
from isonomia.errors import (
    IsonomiaError,
    RecordError,
    SpecError,
    UntrustedTypesError,
    UsageError,
    nearest,
    refuse_no_path,
)
from isonomia.executors import pool_for
from isonomia.interventions import Interventions
from isonomia.models.cache import AnswerCache
from isonomia.models.loader import load_model, load_object, names_object
from isonomia.models.protocol import Model, model_facts
from isonomia.models.session import ModelSession
from isonomia.populations import Census, Generator, Labels, Sample
from isonomia.records.compare import ValueDifference, differences
from isonomia.records.evidence import EvidenceFile
from isonomia.records.strict_json import canonical, read_strictly
from isonomia.spec.property import Property
from isonomia.toml import toml_value


@dataclass(frozen=True, slots=True)
class StatedProperty:
    """One property as an audit file states it, before any model or population is opened.

    Attributes
    ----------
    name, entry
        What it is called, and its table in the file.
    prop, options
        What must hold, and how it is to be checked: its share of the risk, its budget, the seed.
    """

    name: str
    entry: FileTable
    prop: AuditProperty
    options: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class PlannedCheck:
    """One property of an audit file, ready to be checked.

    Attributes
    ----------
    name, why, line
        What it is called, why it must hold, and its line in the file, from 1.
    check
        The check.
    definition
        The table of the file that states it, as plain values.
    """

    name: str
    why: str | None
    line: int
    check: Check[Any]
    definition: Mapping[str, Any]


Wrap: TypeAlias = Callable[[str, Model], Model]
"""Wraps a model, given its name in the file."""


DELTA = 0.05
"""The risk of the whole audit, where the file says nothing."""


def plan_audit(
    file: AuditFile,
    seed: int | None,
    permissions: Permissions,
    wrap: Wrap = lambda _, model: model,
    *,
    given: Mapping[str, Model] | None = None,
    executor: str | None = None,
    looked_at: Callable[[str, Sample], Sample] = lambda _, sample: sample,
    seed_chosen: bool = False,
) -> list[PlannedCheck]:
    """Open models and populations, and prepare every check.

    The file's risk is divided equally over the properties that state none of their own: then the probability that any
    of them is answered wrongly is at most that risk, whatever their number and however they depend on each other.
    ``wrap`` may put something around each model, such as a cache. Models that are ``given``, by their names in the
    file, replace those that it names, which are not opened; likewise an ``executor``. ``looked_at`` tells a sample,
    given its name in the file, which earlier looks there were. Without a seed, that of :func:`default_seed` is used.
    """
    where = executor or file.content.get("executor")
    models = {name: wrap(name, model) for name, model in models_of(file, permissions, given or {}).items()}
    populations = {
        name: looked_at(name, people) if isinstance(people, Sample) else people
        for name, people in populations_of(file).items()
    }
    planned = []
    stated = stated_in(file, 0 if seed is None else seed, permissions, seed_chosen)
    outcomes = _outcomes(stated)
    for each in stated:
        entry = each.entry
        model, population = _asked(entry, models), _people(entry, each.prop, populations)
        planned.append(planned_for(each, model, population, tuple(outcomes[model_key(entry)]), where))
        _check_names(entry, planned[-1].check)
    if seed is None:
        seed = default_seed(planned)
        planned = [replace(each, check=replace(each.check, seed=seed)) for each in planned]
    return shared_out(planned)


def default_seed(planned: Sequence[PlannedCheck]) -> int:
    """The seed of an audit for which none is chosen: derived from its properties, their populations and models.

    Names and reasons do not count.
    """
    texts: list[str] = []
    for each in planned:
        definition = {key: value for key, value in each.definition.items() if key not in ("name", "why")}
        texts += [json.dumps(definition, sort_keys=True, default=str), *subjects(each.check)]
    return derived_seed(*texts)


def _check_names(table: FileTable, check: Check[Any]) -> None:
    """Refuse names that do not exist, with an error that points at the key whose value has them."""
    try:
        audit_for(check.prop).check_names(check)
    except IsonomiaError as error:
        options = table.get("with", {})
        blamed = [key for key, value in options.items() if error.name is not None and error.name in str(value)]
        path = ("with", *blamed[:1]) if "with" in table.content else _stating(table)
        raise table.error(str(error), *path) from error


def _stating(table: FileTable) -> tuple[str, ...]:
    """The key that says what kind of property it is."""
    return tuple(key for key in file_keys() if key in table.content)


def _outcomes(stated: Sequence[StatedProperty]) -> dict[str, dict[str, None]]:
    """What all properties of a model use as outcome: they may share its answers, so it is always given the same."""
    outcomes: dict[str, dict[str, None]] = {}
    for each in stated:
        outcomes.setdefault(model_key(each.entry), {}).update(dict.fromkeys(outcomes_of(each.prop)))
    return outcomes


def model_key(entry: Mapping[str, Any] | FileTable) -> str:
    """Tells the model of a property, or several of them by name, from others in its file."""
    return json.dumps(entry.get("models") or entry.get("model") or DEFAULT, sort_keys=True)


def _asked(entry: FileTable, models: Mapping[str, Any]) -> Any:
    """The model of a property, or its models by name but for those that are columns with stored answers."""
    given = entry.get("models")
    if given is None:
        return _chosen(entry, "model", models)
    return {name: models[source] for name, source in given.items() if source in models} or None


def planned_for(
    each: StatedProperty,
    model: Any,
    population: Any,
    outcomes: Sequence[str] = (),
    executor: str | None = None,
) -> PlannedCheck:
    """A stated property, prepared for a population and for a model, which is not given the ``outcomes``."""
    entry = each.entry
    try:
        check = new_check(each.prop, model, population, outcomes=outcomes, executor=executor, **each.options)
    except IsonomiaError as error:
        raise entry.error(str(error)) from error
    return PlannedCheck(each.name, entry.get("why"), entry.line, check, dict(entry.content))


def stated_in(file: AuditFile, seed: int, permissions: Permissions, seed_chosen: bool = False) -> list[StatedProperty]:
    """Every property of a file with its options. No model and no population is opened."""
    interventions, entries = interventions_of(file), file.properties()
    names, share = _names(entries), _share(file, entries)
    stated = []
    for entry, name in zip(entries, names, strict=True):
        prop = _with_stored_answers(file, entry, property_of(entry, interventions, permissions))
        stated.append(StatedProperty(name, entry, prop, _options(file, entry, share, seed, seed_chosen)))
    return stated


def _with_stored_answers(file: AuditFile, entry: FileTable, prop: AuditProperty) -> AuditProperty:
    """The property with columns in place of those of its models that are not models of the file."""
    given = entry.get("models")
    if given is None:
        return prop
    if "model" in entry.content:
        raise entry.error("expected model, or several models, but the property has both", "model")
    if not isinstance(prop, Property):
        raise entry.error("several models are for properties about rates and means: name one model", "models")
    known = file.entries("model", "models")
    for name, source in given.items():
        if not isinstance(source, str):
            raise entry.error(f"expected a model or a column for {name!r}, but got {source!r}", "models", name)
    unknown = sorted({str(output.model) for output in named_outputs(prop)} - set(given))
    if unknown:
        raise entry.error(f"there is no model {unknown[0]!r} among them.{nearest(unknown[0], given)}", "models")
    return with_columns(prop, {name: source for name, source in given.items() if source not in known})


def _options(file: AuditFile, entry: FileTable, share: float, seed: int, seed_chosen: bool) -> dict[str, Any]:
    return {
        "delta": entry.get("delta", share),
        "budget": entry.get("budget", file.content.get("budget")),
        "seed": seed,
        "seed_chosen": seed_chosen,
        "workers": file.content.get("workers", 1),
        "random_model": any(each.get("random", False) for each in _model_entries(file, entry)),
        "looks": entry.get("looks", file.content.get("looks", "any")),
        "stop": entry.get("stop", file.content.get("stop", "decided")),
        "width": entry.get("width", file.content.get("width")),
        **{key: entry.get(key) for key in ("method", "ranges", "control") if key in entry.content},
    }


def _share(file: AuditFile, entries: list[FileTable]) -> float:
    whole = file.content.get("delta", DELTA)
    if not 0 < whole < 1:
        raise file.error(
            f"expected delta, the risk of the whole audit, strictly between 0 and 1, but got {whole!r}", "delta"
        )
    return float(whole) / max(1, sum("delta" not in entry.content for entry in entries))


def _names(entries: list[FileTable]) -> list[str]:
    """The labels of the properties: their names, which must differ, or their numbers."""
    names: list[str] = []
    for number, entry in enumerate(entries, start=1):
        names.append(entry.get("name") or f"property {number}")
        if names[-1] in names[:-1]:
            raise entry.error(f"expected a unique name, but {names[-1]!r} is the name of another property", "name")
    return names


def _chosen(entry: FileTable, what: str, known: Mapping[str, Any]) -> Any:
    """The model or population that a property names, or the one without a name."""
    name = entry.get(what)
    if name is None:
        return known.get(DEFAULT)
    if name not in known:
        listed = ", ".join(each for each in known if each != DEFAULT) or "none"
        raise entry.error(f"there is no {what} {name!r}; the file names {listed}.{nearest(name, known)}", what)
    return known[name]


def _people(entry: FileTable, prop: AuditProperty, populations: Mapping[str, Any]) -> Any:
    """The population that a property names, else the one that its specification imports, else the default."""
    imported = () if "population" in entry.content else audit_for(prop).imports(prop)
    named = [populations[name] for name in imported if name in populations]
    return named[0] if named else _chosen(entry, "population", populations)


def _model_entries(file: AuditFile, entry: FileTable) -> list[FileTable]:
    known = file.entries("model", "models")
    names = entry.get("models", {"": entry.get("model") or DEFAULT}).values()
    return [known[name] for name in names if name in known]


def shared_out(planned: Sequence[PlannedCheck]) -> list[PlannedCheck]:
    """Let checks of the same audit, model and population share their draws and answers."""
    groups: dict[Hashable, list[int]] = {}
    for index, each in enumerate(planned):
        kind = audit_for(each.check.prop).kind
        outputs = frozenset(named_outputs(each.check.prop))
        which = model_key(each.definition), each.definition.get("population")
        groups.setdefault((kind, *which, outputs), []).append(index)
    result = list(planned)
    for members in groups.values():
        audit = audit_for(planned[members[0]].check.prop)
        shared = audit.share([planned[index].check for index in members])
        for index, check in zip(members, shared, strict=True):
            result[index] = replace(planned[index], check=check)
    return result


@dataclass(frozen=True, slots=True)
class Wrapping:
    """What ``isonomia run`` puts around each model.

    A model is called by at most ``workers`` threads at once, however many checks run in parallel: by one, unless the
    file says that it can take more. In other processes each worker has a model of its own. Models from one Python
    module share their gate, since they may share the module's state.

    With a cache, answers are kept on disk; those of a model that may answer at random are not kept where the audit file
    names the cache, since nothing shows whether those in the file are the model's. Verdicts do not mention the cache:
    they are the same with and without.
    """

    file: AuditFile  # the audit file
    cache: Path | None = None  # the file for answers, in place of the one that the audit file names
    executor: str | None = None  # where the models run, in place of where the audit file says
    caches: list[AnswerCache] = field(default_factory=list)  # the caches that were made
    _gates: dict[str, BoundedSemaphore] = field(default_factory=dict, repr=False)

    def __call__(self, name: str, model: Model) -> ModelSession:
        """Wrap a model."""
        entry = self.file.entries("model", "models")[name]
        pool = pool_for(self.executor or self.file.content.get("executor"), max(1, self.file.content.get("workers", 1)))
        workers = 1 if pool is None else pool.workers
        gate = self._gates.setdefault(_origin(str(entry.get("load"))), BoundedSemaphore(workers))
        named = self.file.content.get("cache")
        path = self.cache if self.cache is not None or named is None else self.file.folder / named
        random = entry.get("random", False) or model_facts(model).at_random
        if path is None or (random and self.cache is None):
            return ModelSession(model, gate=gate)
        try:
            # A cache that the audit file names may hold the answers of any model.
            spot = self.cache is None
            cache = AnswerCache.of(model, path, entry.get("cache_key"), spot=spot, mentioned=False)
        except UsageError as error:
            key = "cache_key = 'credit 2024-05'"
            raise entry.error(f"{error} In an audit file it is a key of the model: {key}") from error
        self.caches.append(cache)
        return ModelSession(model, cache=cache, gate=gate)


def _origin(load: str) -> str:
    """Where a model comes from: the module of ``module:object``, else the whole text."""
    module, sign, name = load.partition(":")
    return module if sign and name.isidentifier() and "/" not in module and "\\" not in module else load


_SOURCES: Mapping[str, tuple[str, ...]] = {
    "sample": ("order", "values", "cluster", "weigh", "max_cluster", "labels"),
    "census": ("exact", "values"),
    "generator": ("values", "device"),
    "program": ("device",),
    "domain": (),
}
"""The kinds of populations, and the options of each; others, which would have no effect, are refused."""


def models_of(file: AuditFile, permissions: Permissions, given: Mapping[str, Model]) -> dict[str, Model]:
    """Every model by its name, those that are given as they are; ``default`` is the one without a name."""
    entries = file.entries("model", "models")
    return {name: given[name] if name in given else _model(entry, permissions) for name, entry in entries.items()}


def populations_of(file: AuditFile) -> dict[str, Any]:
    """Every population by its name; ``default`` is the one without."""
    return {name: _population(entry) for name, entry in file.entries("population", "populations").items()}


def interventions_of(file: AuditFile) -> dict[str, Interventions]:
    """What people can change, by name."""
    by_name = {}
    for name, path in file.content.get("interventions", {}).items():
        if not isinstance(path, str):
            raise file.error(f"expected the file of interventions {name!r}, but got {path!r}", "interventions", name)
        with _pointing(file.error, "interventions", name, shown=is_inside(file.folder, path)):
            by_name[name] = Interventions.from_toml(file.texts.read(path), path)
    return by_name


def property_of(table: FileTable, interventions: Mapping[str, Interventions], permissions: Permissions) -> Any:
    """The property of one table; an error points at its line."""
    keys = file_keys()
    kind = next(key for key in keys if key in table.content)
    shown = not keys[kind].is_file(table.get(kind)) or is_inside(table.folder, table.get(kind))
    with _pointing(table.error, kind, shown=shown):
        prop = keys[kind].make(table, interventions, permissions)
        return replace(prop, name=table.get("name")) if table.get("name") else prop


def _model(entry: FileTable, permissions: Permissions) -> Model:
    source = entry.get("load")
    if source is None:
        raise entry.error("expected load, a file, a folder, a URL, or module:object")
    if "://" not in source:
        with _pointing(entry.error, "load"):
            refuse_no_path(source)
    here = entry.file.folder / source
    options = {**entry.get("options", {}), "trust_pickle": permissions.trust_pickle}
    if "trusted" in options and not permissions.trust_pickle:
        raise entry.error(
            "making the types that are trusted here can run code, and a file cannot trust itself: if you trust who "
            "wrote it, use --trust-pickle",
            "options",
            "trusted",
        )
    with _pointing(entry.error, "load", shown=not here.exists() or is_inside(entry.folder, source)):
        try:
            return load_model(here if here.exists() else source, features=entry.get("features"), **options)
        except UntrustedTypesError as error:
            raise UsageError(_untrusted(source, error.types)) from error


def _untrusted(source: str, types: Sequence[str]) -> str:
    """The message with everything that is needed to open a skops file with types of its own."""
    return (
        f"{source} names types that skops does not know to be harmless, so it was not opened: {', '.join(types)}. If "
        f"you know them and trust who wrote the file, name them below load, options = {{trusted = "
        f"{toml_value(list(types))}}}, and use --trust-pickle: a file cannot trust itself"
    )


def _population(entry: FileTable) -> Any:
    given = [key for key in _SOURCES if key in entry.content]
    if len(given) != 1:
        came = f"has {' and '.join(given)}" if given else "has none of them"
        raise entry.error(f"expected a population to have one of {', '.join(_SOURCES)}, but it {came}")
    (kind,) = given
    source = entry.get(kind)
    options = {key: value for key, value in entry.content.items() if key != kind}
    others = [key for key in options if key not in _SOURCES[kind]]
    if others and kind != "domain":
        raise entry.error(f"{others[0]} is not valid for this kind of population", others[0])
    with _pointing(entry.error, kind, shown=kind != "program" or is_inside(entry.folder, source)):
        match kind:
            case "sample":
                drawn = {"labels": _labels(entry)} if "labels" in options else {}
                return Sample(_rows(entry, source), **options | drawn)
            case "census":
                return Census(_rows(entry, source), **options)
            case "generator":
                return Generator(load_object(source), **options)
            case "program":
                from isonomia.populations.program import Program

                return Program.of(entry.read(source), Path(source).name, **options)
            case _:
                return load_object(source)


def _rows(entry: FileTable, source: str) -> Any:
    """A path in the folder of the file, or the table that ``module:object`` is or, if it is a function, returns."""
    if not names_object(source):
        return entry.folder / source
    made = load_object(source)
    return made() if isroutine(made) else made


def _labels(entry: FileTable) -> Labels:
    given = dict(entry.get("labels"))
    column = given.pop("column", None)
    others = sorted(given.keys() - {"judge", "probability"})
    if column is None or "judge" not in given or others:
        raise entry.error(
            "expected labels as {column = 'human', judge = 'judge', probability = 0.2}, and the probability may be "
            f"a column, too, but got {entry.get('labels')!r:.80}",
            "labels",
        )
    return Labels(column, **given)


@contextmanager
def _pointing(error: Callable[..., SpecError], *path: str | int, shown: bool = True) -> Iterator[None]:
    """Make an error point at the line of the audit file that caused it.

    Without ``shown``, only the place of an error in another file is given, and none of its text: an audit file might
    name a file outside its folder to have it printed.
    """
    try:
        yield
    except (IsonomiaError, TypeError) as problem:
        place = problem.place if isinstance(problem, SpecError) else None
        if not shown and place is not None:
            where = f"line {place.line}, column {place.column}"
            raise error(
                f"this file cannot be parsed, at {where}. Its text is not shown, since the "
                "file lies outside the folder of the audit file",
                *path,
            ) from None
        pointed = error(str(problem), *path)
        if place is not None and pointed.place is not None and place.text is pointed.place.text:
            raise  # it already points at a line of this file
        raise pointed from problem


FORMAT, VERSION = "isonomia registration", 1

_PARTS = {"format", "version", "time", "file", "text", "files", "seed", "properties", "hash"}


def registration_of(file: AuditFile, planned: Sequence[PlannedCheck]) -> dict[str, Any]:
    """The registration of an audit whose checks are planned. The model answers no row."""
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
        If it is something else, or was changed after it was written.
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
    checked = {}
    for each in evidence.checks:
        registered = registration["properties"].get(each.name, {})
        sources = {key: each.entries.get(key, {}).get("fingerprint") for key in ("population", "model")}
        verdict = each.verdict or {}
        checked[each.name] = {
            **registered,
            "delta": each.options.get("delta"),
            **({"text": verdict["text"]} if verdict else {}),
            **({"data": sources["population"]} if registered.get("data") is not None else {}),
            **({"model": sources["model"]} if sources["model"] is not None else {}),
        }
    yield from differences(registration["properties"], checked, "properties")
