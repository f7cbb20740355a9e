"""Whether plain values have the shape that a schema describes: the few words of JSON Schema that ours use."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources
from typing import Any

from isonomia.records.visible import cut_short

__all__ = ["evidence_schema", "misshapen", "verdict_schema"]

KINDS: Mapping[str, type | tuple[type, ...]] = {
    "object": dict,
    "array": (list, tuple),
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "null": type(None),
}

_MOST_BITS = 1023
"""Of whole numbers that a float can hold, if not exactly."""


@cache
def evidence_schema() -> dict[str, Any]:
    """The JSON Schema of an evidence file."""
    found: dict[str, Any] = json.loads(resources.files(__package__).joinpath("evidence.schema.json").read_text("utf-8"))
    return found


def verdict_schema() -> dict[str, Any]:
    """The JSON Schema of a verdict, as it stands in an evidence file or alone."""
    found: dict[str, Any] = evidence_schema()["properties"]["checks"]["items"]["properties"]["verdict"]
    return found


def misshapen(value: Any, schema: Mapping[str, Any], path: str = "") -> Iterator[str]:
    """What is wrong with a value, in words.

    It knows ``type``, ``const``, ``enum``, ``required``, ``properties``, ``additionalProperties`` and ``items``. A
    whole number is an integer only where it is written as one, without a point; and neither that nor a number where no
    float can hold it.
    """
    where = path or "the whole"
    kinds = schema.get("type", ())
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(_is(value, kind) for kind in kinds):
        yield f"{where} should be of type {' or '.join(kinds)}, but is {_brief(value)}"
    elif "const" in schema and not (type(value) is type(schema["const"]) and value == schema["const"]):
        yield f"{where} should be {schema['const']!r}, but is {_brief(value)}"
    elif "enum" in schema and value not in schema["enum"]:
        yield f"{where} should be one of {', '.join(map(repr, schema['enum']))}, but is {_brief(value)}"
    elif isinstance(value, dict):
        yield from _object(value, schema, path)
    elif isinstance(value, list | tuple) and "items" in schema:
        for place, item in enumerate(value):
            yield from misshapen(item, schema["items"], f"{path}[{place}]")


def _object(value: dict[str, Any], schema: Mapping[str, Any], path: str) -> Iterator[str]:
    known, others = schema.get("properties", {}), schema.get("additionalProperties", True)
    for key in schema.get("required", ()):
        if key not in value:
            yield f"{path or 'the whole'} should have {key!r}, but has not"
    for key, item in value.items():
        inside = f"{path}.{key}" if path else key
        if key in known:
            yield from misshapen(item, known[key], inside)
        elif others is False:
            yield f"{inside} is not known"
        elif isinstance(others, Mapping):
            yield from misshapen(item, others, inside)


def _is(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        return False
    return isinstance(value, KINDS[kind])


def _brief(value: Any) -> str:
    return cut_short(repr(value), 60)
