"""Interventions as a TOML text that a person can edit, and back, with errors that name the line and the key."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from textwrap import wrap
from typing import Any, TypeVar

from isonomia.errors import IsonomiaError, Place, SpecError, UsageError, nearest
from isonomia.interventions.constraints import CONSTRAINTS, Condition, Constraint
from isonomia.interventions.effects import EFFECTS, Effect, Noise
from isonomia.interventions.features import FIELDS, Feature

__all__ = ["Comments", "comment_lines", "read_interventions", "toml_value", "written"]


_WIDTH = 116
_HEAD = (
    "A feature has kind (binary, integer, real, categorical), low, high, actionable, direction (both, up, down), rise, "
    "fall (the largest change), rise_share, fall_share (the same as a share of a person's own value: 0.1 is 10%) and, "
    "for categories, values. What is left out is not limited."
)


@dataclass(frozen=True, slots=True)
class Comments:
    """Comments: paragraphs at the top, one for a feature by its name, and one for each constraint."""

    head: Sequence[str] = ("What people can change.",)
    features: Mapping[str, str] = field(default_factory=dict)
    constraints: Sequence[str] = ()


def written(
    features: Sequence[Feature],
    constraints: Sequence[Constraint],
    effects: Sequence[Effect],
    comments: Comments | None = None,
) -> str:
    """Write interventions as TOML, with comments that say what it means."""
    beside = comments or Comments()
    lines = [line for paragraph in (*beside.head, _HEAD) for line in comment_lines(paragraph) or ["#"]]
    for feature in features:
        lines += ["", *comment_lines(beside.features.get(feature.name, "")), *_feature_lines(feature)]
    for number, rule in enumerate(constraints):
        why = f"{_capital(rule.words())}. {beside.constraints[number]}" if number < len(beside.constraints) else ""
        lines += ["", *comment_lines(why), *_rule_lines("constraints", rule)]
    for effect in effects:
        lines += ["", *_rule_lines("effects", effect)]
    return "\n".join(lines) + "\n"


def _stored_fields(kind: type[Any]) -> tuple[str, ...]:
    """The fields of a constraint or an effect that a file has."""
    return tuple(part.name for part in fields(kind) if part.name not in {"test", "levels", "draw", "model"})


def _feature_lines(feature: Feature) -> Iterator[str]:
    yield f"[features.{_key(feature.name)}]"
    for part in fields(feature):
        value = getattr(feature, part.name)
        implied = feature.kind == "categorical" and part.name in {"low", "high"}
        implied |= feature.kind == "binary" and (part.name, value) in {("low", 0.0), ("high", 1.0)}
        always = part.name in {"kind", "actionable"}
        if part.name != "name" and not implied and (always or value != part.default):
            yield f"{part.name} = {toml_value(value)}"


def _rule_lines(heading: str, item: Any) -> Iterator[str]:
    if any(getattr(item, name, None) is not None for name in ("test", "draw", "model")):
        raise UsageError(
            f"a {item.kind} ({item.words()}) is made of Python objects, which a TOML text cannot hold. Leave it out "
            "and add it after reading; a predicate can be a condition in words."
        )
    yield f"[[{heading}]]"
    yield f"kind = {toml_value(item.kind)}"
    names = _stored_fields(type(item))
    if getattr(item, "condition", ""):
        names = ("condition",)
    for part in fields(item):
        value = getattr(item, part.name)
        if part.name in names and (part.default is MISSING or value != part.default):
            yield f"{part.name} = {toml_value(value)}"


def comment_lines(text: str) -> list[str]:
    """A text as lines of comment. What came from a table can hold anything, but a comment is a single line."""
    plain = "".join(sign if sign.isprintable() else " " for sign in text)
    return [f"# {line}" for line in wrap(plain, _WIDTH, break_long_words=False, break_on_hyphens=False)]


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _key(name: str) -> str:
    """A name as a key of TOML."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _text(name)


def _text(value: str) -> str:
    # TOML escapes as JSON does, but for this one character, which JSON leaves as it is.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def toml_value(value: Any) -> str:
    """A value as TOML: a text, a number, a truth value, a condition, or a list or table of these."""
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return _text(value)
        case int() | float():
            return repr(int(value)) if value == int(value) and abs(value) < 1e15 else repr(float(value))
        case Condition():
            parts = (f"{part.name} = {toml_value(getattr(value, part.name))}" for part in fields(value))
            return f"{{ {', '.join(parts)} }}"
        case dict():
            return "{" + ", ".join(f"{_key(key)} = {toml_value(each)}" for key, each in value.items()) + "}"
        case tuple() | list():
            line = f"[{', '.join(map(toml_value, value))}]"
            if len(line) <= _WIDTH:
                return line
            return "\n".join(["[", *(f"    {toml_value(item)}," for item in value), "]"])
        case _:
            raise UsageError(f"a TOML text cannot hold {value!r} of type {type(value).__name__}")


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
            headers = list(re.finditer(rf"^\s*{re.escape(header)}\s*(#.*)?$", self.text, re.MULTILINE))
            start = headers[number].start() if number < len(headers) else 0
        where = re.compile(rf"^\s*(\"?{re.escape(key)}\"?)\s*=", re.MULTILINE).search(self.text, start) if key else None
        span = where.span(1) if where else (start, max(self.text.find("\n", start), start + 1))
        return SpecError(f"{self.file}: {message}", Place(self.text, *span))


def read_interventions(text: str, file: str, make: Callable[..., Made]) -> Made:
    """Read interventions, which ``make`` makes of features, constraints and effects; it refuses what does not fit."""
    source = _Source(text, file)
    features, constraints, effects = _read_parts(source)
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


def _read_parts(source: _Source) -> tuple[tuple[Feature, ...], tuple[Constraint, ...], tuple[Effect, ...]]:
    try:
        content = tomllib.loads(source.text)
    except (ValueError, RecursionError) as problem:
        raise SpecError(f"{source.file} is no TOML: {problem}") from problem
    _check_keys(source, content, _SECTIONS, "the file")
    features = content.get("features", {})
    if not isinstance(features, Mapping) or not features:
        raise source.error("expected a table [features.NAME] for each feature, but there is none")
    return (
        tuple(_read_feature(source, name, entry) for name, entry in features.items()),
        tuple(_read_rule(source, "constraints", j, e) for j, e in enumerate(_list(source, content, "constraints"))),
        tuple(_read_rule(source, "effects", j, e) for j, e in enumerate(_list(source, content, "effects"))),
    )


def _list(source: _Source, content: Mapping[str, Any], section: str) -> list[Any]:
    entries = content.get(section, [])
    if not isinstance(entries, list):
        raise source.error(f"expected [[{section}]], once for each, but it is {entries!r}", key=section)
    return entries


def _read_feature(source: _Source, name: str, entry: Any) -> Feature:
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
        raise source.error(str(problem), header, key=_key_at_fault(problem, entry)) from problem


def _headers(name: str) -> tuple[str, ...]:
    """The ways in which the header of a feature can be written."""
    return f"[features.{_key(name)}]", f'[features."{name}"]', f"[features.'{name}']"


def _read_rule(source: _Source, section: str, number: int, entry: Any) -> Any:
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
    _check_keys(source, given, _stored_fields(kinds[kind]), f"a {kind}", header, number)
    try:
        _check_complete(kinds[kind], given)
        return kinds[kind](**{key: _part(key, value) for key, value in given.items()})
    except (UsageError, SpecError, TypeError) as problem:
        raise source.error(str(problem), header, number, _key_at_fault(problem, given)) from problem


def _check_complete(kind: type[Any], given: Mapping[str, Any]) -> None:
    needed = [field.name for field in fields(kind) if field.default is MISSING and field.name not in given]
    if needed:
        raise UsageError(f"a {kind.kind} needs {', '.join(needed)}")


def _part(key: str, value: Any) -> Any:
    if key not in _CONDITIONS:
        return _frozen(value)
    if not isinstance(value, Mapping) or set(value) != {"name", "relation", "value"}:
        message = f"{key} should be {{ name = ..., relation = ..., value = ... }}, but it is {value!r}"
        raise UsageError(message, name=key)
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


def _key_at_fault(problem: Exception, entry: Mapping[str, Any]) -> str:
    """The key that an error is about, where the entry has it, to point at."""
    name = problem.name if isinstance(problem, IsonomiaError) else None
    return name if name is not None and name in entry else ""


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value
