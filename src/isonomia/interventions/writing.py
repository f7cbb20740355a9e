"""Interventions as a TOML text that a person can read and edit."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import MISSING, fields
from typing import Any

from isonomia.errors import UsageError
from isonomia.interventions.constraints import Condition, Constraint
from isonomia.interventions.effects import Effect
from isonomia.interventions.features import Feature

__all__ = ["stored_fields", "written"]

_HEAD = """\
# What people can change. A feature has kind (binary, integer, real, categorical), low, high, actionable, direction
# (both, up, down), rise, fall, rise_share, fall_share and, for categories, values. What is left out is not limited.
"""


def written(features: Sequence[Feature], constraints: Sequence[Constraint], effects: Sequence[Effect]) -> str:
    """Write interventions as TOML.

    Raises
    ------
    UsageError
        Where a part is a Python function or object, which a text cannot hold.
    """
    lines = [_HEAD, *(line for feature in features for line in _feature(feature))]
    for heading, items in (("constraints", constraints), ("effects", effects)):
        lines += [line for item in items for line in _item(heading, item)]
    return "\n".join(lines).rstrip() + "\n"


def stored_fields(kind: type[Any]) -> tuple[str, ...]:
    """The fields of a constraint or an effect that a file has."""
    return tuple(field.name for field in fields(kind) if field.name not in {"test", "levels", "draw", "model"})


def _feature(feature: Feature) -> Iterator[str]:
    yield f"[features.{_key(feature.name)}]"
    for field in fields(feature):
        value = getattr(feature, field.name)
        implied = feature.kind == "categorical" and field.name in {"low", "high"}
        implied |= feature.kind == "binary" and (field.name, value) in {("low", 0.0), ("high", 1.0)}
        always = field.name in {"kind", "actionable"}
        if field.name != "name" and not implied and (always or value != field.default):
            yield f"{field.name} = {_value(value)}"
    yield ""


def _item(heading: str, item: Any) -> Iterator[str]:
    if any(getattr(item, name, None) is not None for name in ("test", "draw", "model")):
        raise UsageError(
            f"a {item.kind} ({item.words()}) is made of Python objects, which a TOML text cannot hold. Leave it out "
            "and add it after reading; a predicate can be a condition in words."
        )
    yield f"[[{heading}]]"
    yield f"kind = {_value(item.kind)}"
    names = stored_fields(type(item))
    if getattr(item, "condition", ""):
        names = ("condition",)
    for field in fields(item):
        value = getattr(item, field.name)
        if field.name in names and (field.default is MISSING or value != field.default):
            yield f"{field.name} = {_value(value)}"
    yield ""


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name, ensure_ascii=False)


def _value(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return json.dumps(value, ensure_ascii=False)
        case int() | float():
            return repr(int(value)) if value == int(value) and abs(value) < 1e15 else repr(float(value))
        case Condition():
            parts = (f"{field.name} = {_value(getattr(value, field.name))}" for field in fields(value))
            return f"{{ {', '.join(parts)} }}"
        case tuple() | list():
            return f"[{', '.join(map(_value, value))}]"
        case _:
            raise UsageError(f"a TOML text cannot hold {value!r} of type {type(value).__name__}")
