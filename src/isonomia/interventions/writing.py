"""Interventions as a TOML text that a person can read and edit."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from textwrap import wrap
from typing import Any

from isonomia.errors import UsageError
from isonomia.interventions.constraints import Condition, Constraint
from isonomia.interventions.effects import Effect
from isonomia.interventions.features import Feature

__all__ = ["Comments", "comment_lines", "key_text", "stored_fields", "toml_value", "written"]

_WIDTH = 116
_HEAD = (
    "A feature has kind (binary, integer, real, categorical), low, high, actionable, direction (both, up, down), rise, "
    "fall (the largest change), rise_share, fall_share (the same as a share of a person's own value: 0.1 is 10%) and, "
    "for categories, values. What is left out is not limited."
)


@dataclass(frozen=True, slots=True)
class Comments:
    """What is written besides.

    Attributes
    ----------
    head
        Paragraphs at the top.
    features
        A comment for a feature, by its name.
    constraints
        A comment for each constraint.
    """

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
    told = comments or Comments()
    lines = [line for paragraph in (*told.head, _HEAD) for line in comment_lines(paragraph) or ["#"]]
    for feature in features:
        lines += ["", *comment_lines(told.features.get(feature.name, "")), *_feature(feature)]
    for number, rule in enumerate(constraints):
        why = f"{_capital(rule.words())}. {told.constraints[number]}" if number < len(told.constraints) else ""
        lines += ["", *comment_lines(why), *_item("constraints", rule)]
    for effect in effects:
        lines += ["", *_item("effects", effect)]
    return "\n".join(lines) + "\n"


def stored_fields(kind: type[Any]) -> tuple[str, ...]:
    """The fields of a constraint or an effect that a file has."""
    return tuple(part.name for part in fields(kind) if part.name not in {"test", "levels", "draw", "model"})


def _feature(feature: Feature) -> Iterator[str]:
    yield f"[features.{key_text(feature.name)}]"
    for part in fields(feature):
        value = getattr(feature, part.name)
        implied = feature.kind == "categorical" and part.name in {"low", "high"}
        implied |= feature.kind == "binary" and (part.name, value) in {("low", 0.0), ("high", 1.0)}
        always = part.name in {"kind", "actionable"}
        if part.name != "name" and not implied and (always or value != part.default):
            yield f"{part.name} = {toml_value(value)}"


def _item(heading: str, item: Any) -> Iterator[str]:
    if any(getattr(item, name, None) is not None for name in ("test", "draw", "model")):
        raise UsageError(
            f"a {item.kind} ({item.words()}) is made of Python objects, which a TOML text cannot hold. Leave it out "
            "and add it after reading; a predicate can be a condition in words."
        )
    yield f"[[{heading}]]"
    yield f"kind = {toml_value(item.kind)}"
    names = stored_fields(type(item))
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


def key_text(name: str) -> str:
    """A name as a key of TOML."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _text(name)


def _text(value: str) -> str:
    # TOML escapes as JSON does, but for this one character, which JSON leaves as it is.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def toml_value(value: Any) -> str:
    """A value as TOML: a text, a number, a truth value, a condition, or a list or table of these.

    Raises
    ------
    UsageError
        Where it is none of them.
    """
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
            return "{" + ", ".join(f"{key_text(key)} = {toml_value(each)}" for key, each in value.items()) + "}"
        case tuple() | list():
            line = f"[{', '.join(map(toml_value, value))}]"
            if len(line) <= _WIDTH:
                return line
            return "\n".join(["[", *(f"    {toml_value(item)}," for item in value), "]"])
        case _:
            raise UsageError(f"a TOML text cannot hold {value!r} of type {type(value).__name__}")
