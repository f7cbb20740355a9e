"""Interventions from a TOML text, with errors that name the file, the line and the key."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from typing import Any, TypeVar

from isonomia.errors import Place, SpecError, UsageError, nearest
from isonomia.interventions.constraints import CONSTRAINTS, Condition, Constraint
from isonomia.interventions.effects import EFFECTS, Effect, Noise
from isonomia.interventions.features import FIELDS, Feature
from isonomia.interventions.writing import key_text, stored_fields

__all__ = ["read_interventions"]

Made = TypeVar("Made")

_SECTIONS = ("features", "constraints", "effects")
_CONDITIONS = ("when", "then")


@dataclass(frozen=True, slots=True)
class _Source:
    """The text, and what it is called in an error."""

    text: str
    file: str

    def error(self, message: str, header: str = "", number: int = 0, key: str = "") -> SpecError:
        """An error about a key below the so-many-th occurrence of a header."""
        start = 0
        if header:
            found = list(re.finditer(rf"^\s*{re.escape(header)}\s*(#.*)?$", self.text, re.MULTILINE))
            start = found[number].start() if number < len(found) else 0
        where = re.compile(rf"^\s*(\"?{re.escape(key)}\"?)\s*=", re.MULTILINE).search(self.text, start) if key else None
        span = where.span(1) if where else (start, max(self.text.find("\n", start), start + 1))
        return SpecError(f"{self.file}: {message}", Place(self.text, *span))


def read_interventions(text: str, file: str, make: Callable[..., Made]) -> Made:
    """Read interventions.

    Parameters
    ----------
    text, file
        The text, and what it is called in an error.
    make
        Makes interventions of features, constraints and effects, and raises a ``UsageError`` where they do not fit.

    Raises
    ------
    SpecError
        Where the text is no TOML, a key is unknown, a value is not what its key takes, or the parts do not fit.
    """
    source = _Source(text, file)
    features, constraints, effects = _parts(source)
    try:
        return make(features, constraints, effects)
    except UsageError as problem:
        raise source.error(str(problem), *_misfit(make, features, constraints, effects)) from problem


def _misfit(
    make: Callable[..., Any], features: Sequence[Feature], constraints: Sequence[Constraint], effects: Sequence[Effect]
) -> tuple[str, int, str]:
    """The first part that does not fit with those before it: its header, its number and its key."""
    for number in range(len(constraints) + len(effects)):
        beyond = number - len(constraints)
        try:
            make(features, constraints[: number + 1], effects[: max(0, beyond + 1)])
        except UsageError:
            return ("[[constraints]]", number, "names") if beyond < 0 else ("[[effects]]", beyond, "names")
    return "", 0, ""


def _parts(source: _Source) -> tuple[tuple[Feature, ...], tuple[Constraint, ...], tuple[Effect, ...]]:
    try:
        content = tomllib.loads(source.text)
    except (ValueError, RecursionError) as problem:
        raise SpecError(f"{source.file} is no TOML: {problem}") from problem
    _check_keys(source, content, _SECTIONS, "the file")
    features = content.get("features", {})
    if not isinstance(features, Mapping) or not features:
        raise source.error("expected a table [features.NAME] for each feature, but there is none")
    return (
        tuple(_feature(source, name, entry) for name, entry in features.items()),
        tuple(_item(source, "constraints", j, e) for j, e in enumerate(_list(source, content, "constraints"))),
        tuple(_item(source, "effects", j, e) for j, e in enumerate(_list(source, content, "effects"))),
    )


def _list(source: _Source, content: Mapping[str, Any], section: str) -> list[Any]:
    entries = content.get(section, [])
    if not isinstance(entries, list):
        raise source.error(f"expected [[{section}]], once for each, but it is {entries!r}", key=section)
    return entries


def _feature(source: _Source, name: str, entry: Any) -> Feature:
    header = next((text for text in _headers(name) if text in source.text), "")
    if not isinstance(entry, Mapping):
        raise source.error(f"expected feature {name!r} to be a table, but it is {entry!r}", key=name)
    allowed = [field for field in FIELDS if field != "name"]
    _check_keys(source, entry, allowed, f"feature {name!r}", header)
    if "kind" not in entry:
        raise source.error(f"feature {name!r} has no kind; it is binary, integer, real or categorical", header)
    try:
        return Feature(name, **{key: _frozen(value) for key, value in entry.items()})
    except (UsageError, TypeError) as problem:
        raise source.error(str(problem), header, key=_named(str(problem), entry)) from problem


def _headers(name: str) -> tuple[str, ...]:
    """How the header of a feature may be written."""
    return f"[features.{key_text(name)}]", f'[features."{name}"]', f"[features.'{name}']"


def _item(source: _Source, section: str, number: int, entry: Any) -> Any:
    header = f"[[{section}]]"
    kinds: Mapping[str, type[Any]] = CONSTRAINTS if section == "constraints" else {Noise.kind: EFFECTS[Noise.kind]}
    kind = str(entry.get("kind")) if isinstance(entry, Mapping) else "missing"
    if kind not in kinds:
        raise source.error(
            f"kind of {header} number {number + 1} should be one of {', '.join(kinds)}, but it is {kind!r}."
            f"{nearest(kind, kinds)}",
            header,
            number,
            "kind",
        )
    given = {key: value for key, value in entry.items() if key != "kind"}
    _check_keys(source, given, stored_fields(kinds[kind]), f"a {kind}", header, number)
    try:
        _check_complete(kinds[kind], given)
        return kinds[kind](**{key: _part(key, value) for key, value in given.items()})
    except (UsageError, SpecError, TypeError) as problem:
        raise source.error(str(problem), header, number, _named(str(problem), given)) from problem


def _check_complete(kind: type[Any], given: Mapping[str, Any]) -> None:
    needed = [field.name for field in fields(kind) if field.default is MISSING and field.name not in given]
    if needed:
        raise UsageError(f"a {kind.kind} needs {', '.join(needed)}")


def _part(key: str, value: Any) -> Any:
    if key not in _CONDITIONS:
        return _frozen(value)
    if not isinstance(value, Mapping) or set(value) != {"name", "relation", "value"}:
        raise UsageError(f"{key} should be {{ name = ..., relation = ..., value = ... }}, but it is {value!r}")
    return Condition(**{part: _frozen(entry) for part, entry in value.items()})


def _check_keys(
    source: _Source, entry: Mapping[str, Any], allowed: Sequence[str], what: str, header: str = "", number: int = 0
) -> None:
    for key in entry:
        if key not in allowed:
            raise source.error(
                f"{what} has a key {key!r}; allowed are {', '.join(allowed)}.{nearest(key, allowed)}",
                header,
                number,
                key,
            )


def _named(message: str, entry: Mapping[str, Any]) -> str:
    """The key that a message begins with, to point at."""
    return next((key for key in entry if message.startswith(key)), "")


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value
