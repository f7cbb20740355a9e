"""Strict JSON, schemas, rationals.

JSON that is read strictly: one text for one value, and an error instead of a guess.

Ordinary readers take the last of two equal keys, make infinities of large numbers, and read ``0.10000000000000001`` as
``0.1``. Where a text is evidence, each of these would let two readers see different things in one file.

Whether plain values have the shape that a schema describes: the few words of JSON Schema that ours use.

Exact fractions in a record, as text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, NoReturn

from isonomia.errors import DataError, RecordError
from isonomia.wording import shortened

__all__ = [
    "MOST_BYTES",
    "canonical",
    "evidence_schema",
    "misshapen",
    "rational",
    "read_strictly",
    "strict_json",
    "verdict_schema",
]


MOST_BYTES = 2**28
"""The longest text that is read: 256 MiB."""


def read_strictly(path: Path) -> Any:
    """Read a file of JSON.

    Raises
    ------
    RecordError
        Where it cannot be read, and as :func:`strict_json` does.
    """
    try:
        if path.exists() and not path.is_file():
            raise RecordError(f"expected a file, but {path} is none")
        size = path.stat().st_size
        if size > MOST_BYTES:
            raise RecordError(f"expected a file of at most {MOST_BYTES:,} bytes, but {path} has {size:,}")
        data = path.read_bytes()
    except OSError as error:
        raise RecordError(f"expected a file that can be read, but {path}: {error.strerror}") from error
    return strict_json(data, str(path))


def strict_json(data: bytes, what: str) -> Any:
    """Read JSON.

    Parameters
    ----------
    data
        The bytes of the file.
    what
        What the file is called in an error.

    Raises
    ------
    RecordError
        Where it is longer than ``MOST_BYTES``, is no UTF-8, is no JSON, is nested too deeply, has a key twice, has a
        number that is not finite, or has one in another spelling than Python's own.
    """
    if len(data) > MOST_BYTES:
        raise RecordError(f"expected {what} of at most {MOST_BYTES:,} bytes, but it has {len(data):,}")
    try:
        return json.loads(
            data.decode("utf-8"),
            object_pairs_hook=_unique,
            parse_float=lambda text: _number(text, float),
            parse_int=lambda text: _number(text, int),
            parse_constant=_no_number,
        )
    except RecordError as error:
        raise RecordError(f"{what}: {error}") from error
    except UnicodeDecodeError as error:
        raise RecordError(f"expected {what} as text in UTF-8, but byte {error.start} is none") from error
    except json.JSONDecodeError as error:
        raise RecordError(f"expected JSON that isonomia wrote, but {what} is no JSON: {error}") from error
    except RecursionError as error:
        raise RecordError(f"{what} is nested more deeply than any record: it was not written by isonomia") from error


def canonical(value: Any) -> bytes:
    """The one spelling of a value: sorted keys, no spaces, UTF-8.

    Half a character, as in a path of odd bytes, is written as if UTF-8 had a place for it.

    Raises
    ------
    RecordError
        Where a number is not finite, or it is nested too deeply.
    """
    try:
        text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
        return text.encode("utf-8", "surrogatepass")
    except (ValueError, RecursionError) as error:
        raise RecordError(f"expected plain values that JSON can hold, but: {error}") from error


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise RecordError(f"the key {twice!r} comes twice in one object, so that readers may differ on its value")
    return found


def _number(text: str, kind: type[int] | type[float]) -> Any:
    try:
        value = kind(text)
    except ValueError as error:  # more digits than Python reads
        raise RecordError(f"the number {text[:20]}... has too many digits") from error
    if repr(value) != text:
        raise RecordError(
            f"the number {text[:40]} is not written as isonomia writes it, {value!r}: the file was edited, or written "
            "anew by another program"
        )
    return value


def _no_number(text: str) -> NoReturn:
    raise RecordError(f"{text} is no number of JSON")


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
    return shortened(repr(value), 60)


_WRITTEN = re.compile(r"-?[0-9]{1,4000}(/[0-9]{1,4000})?")
"""As Python writes a fraction. It would read others too, such as 1e999999999, and compute all of its digits."""


def rational(text: Any) -> Fraction:
    """The fraction that was written into a record.

    Raises
    ------
    DataError
        Where it is none, as in a record that was changed.
    """
    try:
        if isinstance(text, str) and _WRITTEN.fullmatch(text):
            return Fraction(text)
    except ZeroDivisionError:
        pass
    raise DataError(f"expected a fraction like 3/4 in the record, but {text!r:.40} came")
