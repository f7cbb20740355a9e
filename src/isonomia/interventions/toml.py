"""Interventions as a TOML text that a person can read and edit, and back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, field, fields
from typing import Any, TypeVar

from isonomia.errors import IsonomiaError, SpecError, UsageError, nearest
from isonomia.interventions.constraints import CONSTRAINTS, Condition, Constraint
from isonomia.interventions.effects import EFFECTS, Effect, Noise
from isonomia.interventions.features import FIELDS, Feature
from isonomia.toml import KeyPath, TomlText, comment_lines, toml_key, toml_value
from isonomia.wording import capitalised

Made = TypeVar("Made")

_HEAD = (
    "A feature has kind (binary, integer, real, categorical), low, high, actionable, direction (both, up, down), rise, "
    "fall (the largest change), rise_share, fall_share (the same as a share of a person's own value: 0.1 is 10%) and, "
    "for categories, values. What is left out is not limited."
)
_SECTIONS = ("features", "constraints", "effects")
_CONDITIONS = ("when", "then")
_PYTHON_ONLY = ("test", "draw", "model")
"""Fields that hold Python objects."""


@dataclass(frozen=True, slots=True)
class Comments:
    """Comments to write: paragraphs at the top, one for each feature by name, and one for each constraint."""

    head: Sequence[str] = ("What people can change.",)
    features: Mapping[str, str] = field(default_factory=dict)
    constraints: Sequence[str] = ()


def written(
    features: Sequence[Feature],
    constraints: Sequence[Constraint],
    effects: Sequence[Effect],
    comments: Comments | None = None,
) -> str:
    """Write interventions as TOML, with comments that say what it means.

    Raises
    ------
    UsageError
        Where a part is a Python function or object, which a text cannot hold.
    """
    remarks = comments or Comments()
    lines = [line for paragraph in (*remarks.head, _HEAD) for line in comment_lines(paragraph) or ["#"]]
    for feature in features:
        lines += ["", *comment_lines(remarks.features.get(feature.name, "")), *_feature_lines(feature)]
    for index, rule in enumerate(constraints):
        why = f"{capitalised(rule.words())}. {remarks.constraints[index]}" if index < len(remarks.constraints) else ""
        lines += ["", *comment_lines(why), *_item_lines("constraints", rule)]
    for effect in effects:
        lines += ["", *_item_lines("effects", effect)]
    return "\n".join(lines) + "\n"


def _feature_lines(feature: Feature) -> Iterator[str]:
    yield f"[features.{toml_key(feature.name)}]"
    for part in fields(feature):
        value = getattr(feature, part.name)
        implied = feature.kind == "categorical" and part.name in {"low", "high"}
        implied |= feature.kind == "binary" and (part.name, value) in {("low", 0.0), ("high", 1.0)}
        always = part.name in {"kind", "actionable"}
        if part.name != "name" and not implied and (always or value != part.default):
            yield f"{part.name} = {toml_value(value)}"


def _item_lines(section: str, item: Any) -> Iterator[str]:
    if any(getattr(item, name, None) is not None for name in _PYTHON_ONLY):
        raise UsageError(
            f"a {item.kind} ({item.words()}) is made of Python objects, which a TOML text cannot hold. Leave it out "
            "and add it after reading; a predicate can be a condition in words."
        )
    yield f"[[{section}]]"
    yield f"kind = {toml_value(item.kind)}"
    names = ("condition",) if getattr(item, "condition", "") else _stored_fields(type(item))
    for part in fields(item):
        value = getattr(item, part.name)
        if part.name in names and (part.default is MISSING or value != part.default):
            yield f"{part.name} = {toml_value(asdict(value) if isinstance(value, Condition) else value)}"


def _stored_fields(kind: type[Any]) -> tuple[str, ...]:
    """The fields of a constraint or an effect that are stored in a file."""
    return tuple(part.name for part in fields(kind) if part.name not in {*_PYTHON_ONLY, "levels"})


def read_interventions(text: str, file: str, make: Callable[..., Made]) -> Made:
    """Read interventions.

    Parameters
    ----------
    text, file
        The text, and what it is called in an error.
    make
        Makes interventions from features, constraints and effects, and raises a ``UsageError`` where they do not fit.

    Raises
    ------
    SpecError
        Where the text is not TOML, a key is unknown, a value is not what its key takes, or the parts do not fit.
    """
    toml = TomlText.parse(text, file)
    toml.check_table(toml.content, _SECTIONS, "the file")
    entries = toml.content.get("features", {})
    if not isinstance(entries, Mapping) or not entries:
        raise toml.error("expected a table [features.NAME] for each feature, but there is none")
    features = tuple(_feature(toml, name, entry) for name, entry in entries.items())
    constraints = _items(toml, "constraints", CONSTRAINTS)
    effects = _items(toml, "effects", {Noise.kind: EFFECTS[Noise.kind]})
    try:
        return make(features, constraints, effects)
    except UsageError as error:
        raise toml.error(str(error), *_mismatch(make, features, constraints, effects)) from error


def _mismatch(
    make: Callable[..., Any], features: Sequence[Feature], constraints: Sequence[Constraint], effects: Sequence[Effect]
) -> KeyPath:
    """The first part that does not fit with those before it."""
    for index in range(len(constraints) + len(effects)):
        beyond = index - len(constraints)
        try:
            make(features, constraints[: index + 1], effects[: max(0, beyond + 1)])
        except UsageError:
            return ("constraints", index, "names") if beyond < 0 else ("effects", beyond, "names")
    return ("features",)


def _feature(toml: TomlText, name: str, entry: Any) -> Feature:
    path = ("features", name)
    toml.check_table(entry, [part for part in FIELDS if part != "name"], f"feature {name!r}", *path)
    if "kind" not in entry:
        raise toml.error(f"feature {name!r} has no kind; it is binary, integer, real or categorical", *path)
    try:
        return Feature(name, **{key: _frozen(value) for key, value in entry.items()})
    except (UsageError, TypeError) as error:
        raise toml.error(str(error), *path, *_key_at_fault(error)) from error


def _items(toml: TomlText, section: str, kinds: Mapping[str, type[Any]]) -> tuple[Any, ...]:
    entries = toml.content.get(section, [])
    if not isinstance(entries, list):
        raise toml.error(f"expected [[{section}]], once for each, but it is {entries!r}", section)
    return tuple(_item(toml, (section, index), entry, kinds) for index, entry in enumerate(entries))


def _item(toml: TomlText, path: tuple[str, int], entry: Any, kinds: Mapping[str, type[Any]]) -> Any:
    kind = str(entry.get("kind")) if isinstance(entry, Mapping) else "missing"
    if kind not in kinds:
        message = (
            f"kind of [[{path[0]}]] number {path[1] + 1} should be one of {', '.join(kinds)}, but it is {kind!r}."
            f"{nearest(kind, kinds)}"
        )
        raise toml.error(message, *path, "kind")
    values = {key: value for key, value in entry.items() if key != "kind"}
    toml.check_table(values, _stored_fields(kinds[kind]), f"a {kind}", *path)
    needed = [part.name for part in fields(kinds[kind]) if part.default is MISSING and part.name not in values]
    if needed:
        raise toml.error(f"a {kind} needs {', '.join(needed)}", *path)
    try:
        return kinds[kind](**{key: _part(key, value) for key, value in values.items()})
    except (UsageError, SpecError, TypeError) as error:
        raise toml.error(str(error), *path, *_key_at_fault(error)) from error


def _part(key: str, value: Any) -> Any:
    if key not in _CONDITIONS:
        return _frozen(value)
    if not isinstance(value, Mapping) or set(value) != {"name", "relation", "value"}:
        raise UsageError(
            f"{key} should be {{ name = ..., relation = ..., value = ... }}, but it is {value!r}", name=key
        )
    return Condition(**{part: _frozen(entry) for part, entry in value.items()})


def _key_at_fault(error: Exception) -> tuple[str, ...]:
    """The key that an error is about, to point at."""
    return (error.name,) if isinstance(error, IsonomiaError) and error.name is not None else ()


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value
