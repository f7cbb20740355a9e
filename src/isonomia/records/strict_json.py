"""JSON that is evidence: read strictly, written in canonical form, and checked against its schema.

Ordinary readers take the last of two equal keys, turn large numbers into infinities, and read ``0.10000000000000001``
as ``0.1``. In evidence, each of these would let two readers see different things in one file.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, NoReturn

from isonomia.errors import RecordError
from isonomia.wording import shortened

MAX_BYTES = 2**28
"""The longest text that is read: 256 MiB."""


def read_strictly(path: Path) -> Any:
    """Read a file of JSON, as :func:`strict_json` does."""
    try:
        if path.exists() and not path.is_file():
            raise RecordError(f"expected a file, but {path} is not one")
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise RecordError(f"expected a file of at most {MAX_BYTES:,} bytes, but {path} has {size:,}")
        data = path.read_bytes()
    except OSError as error:
        raise RecordError(f"expected a file that can be read, but {path}: {error.strerror}") from error
    return strict_json(data, str(path))


def strict_json(data: bytes, what: str) -> Any:
    """Read JSON; ``what`` is the name of the file in errors."""
    if len(data) > MAX_BYTES:
        raise RecordError(f"expected {what} of at most {MAX_BYTES:,} bytes, but it has {len(data):,}")
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
        raise RecordError(f"expected {what} as UTF-8, but byte {error.start} is invalid") from error
    except json.JSONDecodeError as error:
        raise RecordError(f"expected JSON that isonomia wrote, but {what} is not JSON: {error}") from error
    except RecursionError as error:
        raise RecordError(f"{what} is nested more deeply than any record: it was not written by isonomia") from error


def canonical(value: Any) -> bytes:
    """The canonical form of a value: sorted keys, no spaces, UTF-8.

    A lone surrogate, as in a path of odd bytes, is encoded as if UTF-8 allowed it.
    """
    try:
        text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
        return text.encode("utf-8", "surrogatepass")
    except (ValueError, RecursionError) as error:
        raise RecordError(f"expected plain values that JSON can hold, but: {error}") from error


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for key, value in pairs:
        if key in values:
            raise RecordError(f"the key {key!r} occurs twice in one object, so readers may disagree about its value")
        values[key] = value
    return values


def _number(text: str, kind: type[int] | type[float]) -> Any:
    try:
        value = kind(text)
    except ValueError as error:  # more digits than Python reads
        raise RecordError(f"the number {text[:20]}... has too many digits") from error
    if repr(value) != text:
        raise RecordError(
            f"the number {text[:40]} is not written as isonomia writes it, {value!r}: the file was edited, or written "
            "again by another program"
        )
    return value


def _no_number(text: str) -> NoReturn:
    raise RecordError(f"{text} is not a number in JSON")


# ------------------------------------------------------------------------------------------------------------- schemas

_MAX_BITS = 1023
"""The maximum number of bits of a whole number that a float can hold, if not exactly."""


@cache
def evidence_schema() -> dict[str, Any]:
    """The JSON Schema for an evidence file."""
    schema: dict[str, Any] = json.loads(
        resources.files(__package__).joinpath("evidence.schema.json").read_text("utf-8")
    )
    return schema


def verdict_schema() -> dict[str, Any]:
    """The JSON Schema of a verdict, in an evidence file or alone."""
    schema: dict[str, Any] = evidence_schema()["properties"]["checks"]["items"]["properties"]["verdict"]
    return schema


def schema_problems(value: Any, schema: Mapping[str, Any]) -> Iterator[str]:
    """Where a value does not match a JSON Schema, what was expected there, and what it is.

    A whole number is an integer only if it is written as one, without a decimal point; it is neither an integer nor a
    number if no float can hold it.
    """
    for error in _validator()(schema).iter_errors(value):
        yield _problem(error, _path(error.absolute_path))


@cache
def _validator() -> Any:
    """The validator, for Python values (mappings, tuples) as well as those of JSON."""
    from jsonschema import Draft202012Validator
    from jsonschema.validators import extend

    kinds = {
        "object": lambda _, value: isinstance(value, Mapping),
        "array": lambda _, value: isinstance(value, list | tuple),
        "integer": lambda _, value: _is_number(value, int),
        "number": lambda _, value: _is_number(value, int | float),
    }
    return extend(Draft202012Validator, type_checker=Draft202012Validator.TYPE_CHECKER.redefine_many(kinds))


def _is_number(value: Any, kind: Any) -> bool:
    if isinstance(value, bool) or (isinstance(value, int) and value.bit_length() > _MAX_BITS):
        return False
    return isinstance(value, kind)


def _path(steps: Sequence[str | int]) -> str:
    """A path such as ``checks[0].verdict.delta``."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps).removeprefix(".")


def _problem(error: Any, path: str) -> str:
    where, value, expected = path or "the whole", error.instance, error.validator_value
    came = shortened(repr(value), 60)
    match error.validator:
        case "type":
            kinds = expected if isinstance(expected, str) else " or ".join(expected)
            return f"{where} should be of type {kinds}, but is {came}"
        case "const":
            return f"{where} should be {expected!r}, but is {came}"
        case "enum":
            return f"{where} should be one of {', '.join(map(repr, expected))}, but is {came}"
        case "required":
            return f"{where} should have {next(key for key in expected if key not in value)!r}, but has not"
        case "additionalProperties":
            unknown = next(key for key in value if key not in error.schema.get("properties", {}))
            return f"{path}.{unknown} is not known".removeprefix(".")
        case _:
            return f"{where}: {shortened(error.message, 200)}"
