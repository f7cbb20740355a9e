"""Models, populations, properties made of it.

What a property takes under ``with``: names that there are not are refused, and those that are needed asked for.

From an audit file to what it speaks of: models, populations, interventions and properties.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from isonomia.audits.audit_file.reader import AuditFile, FileTable, is_file_name
from isonomia.audits.audit_file.schema import ASKS
from isonomia.audits.check import AnyProperty
from isonomia.errors import IsonomiaError, SpecError, UsageError, nearest
from isonomia.interventions import Interventions
from isonomia.models.loader import load_model, load_object
from isonomia.models.protocol import Model
from isonomia.populations import Census, Generator, Sample
from isonomia.spec import fairness, responsiveness, safety
from isonomia.spec.principal import PrincipalFairness
from isonomia.spec.property import Property, parse
from isonomia.spec.responsiveness import Responsiveness
from isonomia.spec.safety import Safety

__all__ = [
    "Complaint",
    "Permissions",
    "Takes",
    "interventions_of",
    "models_of",
    "of_callable",
    "populations_of",
    "property_of",
]


@dataclass(frozen=True, slots=True)
class Complaint:
    """What is wrong, in words, and the key that it is about, if it is about one."""

    words: str
    key: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Takes:
    """The options that something takes, and those of them that it needs."""

    names: tuple[str, ...] = ()
    needed: tuple[str, ...] = ()

    def without(self, *names: str) -> Takes:
        """The same without some options."""
        left = (tuple(name for name in some if name not in names) for some in (self.names, self.needed))
        return Takes(*left)

    def complaint(self, options: Mapping[str, Any]) -> Complaint | None:
        """The first thing that is wrong with options; ``None`` where they are as they should be."""
        listed = ", ".join(self.names)
        for name in options:
            if name not in self.names:
                return Complaint(f"{name!r} is not taken.{nearest(name, self.names)} It takes {listed}", (name,))
        missing = [name for name in self.needed if name not in options]
        return Complaint(f"expected with = {{{missing[0]} = ...}}; it takes {listed}") if missing else None


def of_callable(make: Callable[..., Any], further: Takes = Takes()) -> Takes:  # noqa: B008  (it has no state)
    """What a function takes; ``further`` is what it hands on, where it takes options of any name."""
    parameters = inspect.signature(make).parameters.values()
    own = [each for each in parameters if each.kind is not each.VAR_KEYWORD and not each.name.startswith("_")]
    handed_on = further.names if len(own) < len(parameters) else ()
    names = dict.fromkeys((*(each.name for each in own), *handed_on))
    return Takes(tuple(names), tuple(each.name for each in own if each.default is each.empty))


_SAFETY = ("monotone", "robust", "invariant_to", "implies_after")
_SHARES = ("share", "preclusion", "gaming", "stability", "affordability", "monotonicity")
_NOT_FROM_A_FILE = ("source", "allow_code", "functions", "domains")
_SHARE_OPTIONS = of_callable(Responsiveness).without("target", "at_least", "at_most")
"""What every named test of responsiveness takes besides its own."""
_SOURCES = ("sample", "census", "generator", "program", "domain")


class _PointedError(Exception):
    """Carries an error that points at its own line already."""

    def __init__(self, told: SpecError) -> None:
        super().__init__(str(told))
        self.told = told


@dataclass(frozen=True, slots=True)
class Permissions:
    """What an audit file may do only where the person who runs it says so.

    Attributes
    ----------
    trust_pickle
        Open models that can run code when they are opened: pickles, and skops files with types that the file trusts.
    allow_code
        Run the blocks of specifications as Python.
    """

    trust_pickle: bool = False
    allow_code: bool = False


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


def property_of(entry: FileTable, interventions: Mapping[str, Interventions], permissions: Permissions) -> AnyProperty:
    """The property of one table.

    Raises
    ------
    SpecError
        Where it cannot be made; the error points at its line.
    """
    kind = next(key for key in ASKS if key in entry.content)
    with _pointing(entry.error, kind):
        prop: AnyProperty = _MAKERS[kind](entry, interventions, permissions)
        return replace(prop, name=entry.get("name")) if entry.get("name") else prop


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
        raise _PointedError(entry.error(f"{others[0]} does not go with this kind of population", others[0]))
    return {key: entry.get(key) for key in allowed if key in entry.content}


def _place(entry: FileTable, source: str) -> Path:
    return entry.file.folder / source


def _rates(entry: FileTable, *_: Any) -> Property:
    _refuse(entry, "with", "a formula says everything itself")
    return parse(entry.get("check"))


def _fairness(entry: FileTable, *_: Any) -> Property:
    made: Property = _called(entry, fairness, fairness.__all__, "fairness")
    return made


def _nomos(entry: FileTable, _: Any, permissions: Permissions) -> Safety:
    source, options = entry.get("nomos"), dict(entry.get("with", {}))
    if "allow_code" in options:
        raise _PointedError(entry.error("a file cannot allow itself to run code: use --allow-code", "with"))
    _check(entry, of_callable(safety.property).without("source", "allow_code"), options)
    options["allow_code"] = permissions.allow_code
    if not is_file_name(source):
        return safety.property(source, **options)
    text = entry.file.texts.read(source)
    made = safety.property(text if "\n" in text else f"{text}\n", **options)  # one line alone could pass for a path
    return replace(made, name=made.name or Path(source).stem, folder=str(_place(entry, source).parent))


def _safety(entry: FileTable, _: Any, permissions: Permissions) -> Safety:
    del permissions
    made: Safety = _called(entry, safety, _SAFETY, "safety", of_callable(safety.property).without(*_NOT_FROM_A_FILE))
    return made


def _responsiveness(entry: FileTable, interventions: Mapping[str, Interventions], _: Any) -> Responsiveness:
    test, options = entry.get("responsiveness"), _tuples(entry.get("with", {}))
    if test not in _SHARES:
        raise UsageError(f"expected one of {', '.join(_SHARES)}, but {test!r} came.{nearest(test, _SHARES)}")
    name = options.pop("interventions", None)
    if name not in interventions:
        known = ", ".join(interventions) or "none: [interventions] names files"
        raise UsageError(f"expected with = {{interventions = NAME, ...}}, one of {known}, but {name!r} came")
    make: Callable[..., Any] = Responsiveness if test == "share" else getattr(responsiveness, test)
    _check(entry, of_callable(make, _SHARE_OPTIONS).without("interventions", "memory"), options)
    made: Responsiveness = make(interventions[name], **options)
    return made


def _principal(entry: FileTable, *_: Any) -> PrincipalFairness:
    if entry.get("principal") is not True:
        raise UsageError("expected principal = true, but false came: leave the property out, or comment it out")
    options = dict(entry.get("with", {}))
    _check(entry, of_callable(PrincipalFairness), options)
    return PrincipalFairness(**options)


_MAKERS: Mapping[str, Callable[[FileTable, Mapping[str, Interventions], Permissions], Any]] = {
    "check": _rates,
    "fairness": _fairness,
    "nomos": _nomos,
    "safety": _safety,
    "responsiveness": _responsiveness,
    "principal": _principal,
}


def _called(entry: FileTable, module: Any, names: Any, key: str, further: Takes = Takes()) -> Any:  # noqa: B008
    """A named property of a module, with what it takes."""
    name, options = entry.get(key), _tuples(entry.get("with", {}))
    if name not in names:
        raise UsageError(f"expected one of {', '.join(names)}, but {name!r} came.{nearest(name, names)}")
    make = getattr(module, name)
    _check(entry, of_callable(make, further), options)
    return make(**options)


def _check(entry: FileTable, takes: Takes, options: Mapping[str, Any]) -> None:
    """Refuse what a property does not take, and ask for what it needs."""
    wrong = takes.complaint(options)
    if wrong is not None:
        raise _PointedError(entry.error(wrong.words, "with", *wrong.key))


def _tuples(options: Mapping[str, Any]) -> dict[str, Any]:
    """Steps such as ``up = [1, 4]`` are pairs."""
    pairs = {"up", "down"}
    return {key: tuple(value) if key in pairs and isinstance(value, list) else value for key, value in options.items()}


def _refuse(entry: FileTable, key: str, why: str) -> None:
    if key in entry.content:
        raise _PointedError(entry.error(f"{key} does not go here: {why}", key))


@contextmanager
def _pointing(error: Callable[..., SpecError], *path: str | int) -> Iterator[None]:
    """Let an error of what is made point at the line that asked for it."""
    try:
        yield
    except _PointedError as problem:
        raise problem.told from problem
    except (IsonomiaError, TypeError) as problem:
        raise error(str(problem), *path) from problem
