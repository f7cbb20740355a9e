"""Whether plain values have the shape that a schema describes: the few words of JSON Schema that ours use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["misshapen"]

KINDS: Mapping[str, type | tuple[type, ...]] = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "null": type(None),
}


def misshapen(value: Any, schema: Mapping[str, Any], path: str = "") -> Iterator[str]:
    """What is wrong with a value, in words.

    It knows ``type``, ``const``, ``enum``, ``required``, ``properties``, ``additionalProperties`` and ``items``. A
    whole number is an integer only where it is written as one, without a point.
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
    elif isinstance(value, list) and "items" in schema:
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
    return isinstance(value, KINDS[kind])


def _brief(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
