"""Where a value is not what its schema says, a person is told where, what was expected, and what was given."""

from __future__ import annotations

import subprocess
import sys
from types import MappingProxyType
from typing import Any

import jsonschema
import pytest

from isonomia.records.strict_json import evidence_schema, schema_problems

SCHEMA = {
    "type": "object",
    "required": ["a"],
    "additionalProperties": False,
    "properties": {
        "a": {"type": ["integer", "null"]},
        "b": {"enum": ["x", "y"]},
        "c": {"type": "integer", "const": 1},
        "d": {"type": "array", "items": {"type": "string"}},
        "e": {"type": "object", "additionalProperties": {"type": "number"}},
        "f": {"type": "boolean"},
    },
}


WRONG = [
    ({}, "the whole should have 'a', but has not"),
    ({"a": 1.0}, "a should be of type integer or null, but is 1.0"),
    ({"a": True}, "a should be of type integer or null, but is True"),
    ({"a": 1, "z": 1}, "z is not known"),
    ({"a": 1, "b": "q"}, "b should be one of 'x', 'y', but is 'q'"),
    ({"a": 1, "c": 1.0}, "c should be of type integer, but is 1.0"),
    ({"a": 1, "d": ["x", 2]}, "d[1] should be of type string, but is 2"),
    ({"a": 1, "e": {"k": "v"}}, "e.k should be of type number, but is 'v'"),
    ({"a": 1, "e": {"k": 10**400}}, f"e.k should be of type number, but is 1{'0' * 56}..."),
    ({"a": -(10**400)}, f"a should be of type integer or null, but is -1{'0' * 55}..."),
]


@pytest.mark.parametrize(("value", "told"), WRONG)
def test_what_is_wrong_is_told_with_its_place(value: Any, told: str) -> None:
    assert list(schema_problems(value, SCHEMA)) == [told]


def test_the_schema_of_evidence_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(evidence_schema())


def test_values_of_python_are_as_good_as_those_of_json() -> None:
    assert not list(schema_problems(MappingProxyType({"a": 1, "d": ("x",)}), SCHEMA))


@pytest.mark.parametrize("value", [1, 1.5, 2**1023 - 1])
def test_a_number_that_a_float_can_hold_is_one(value: float) -> None:
    assert not list(schema_problems({"a": 1, "e": {"k": value}}, SCHEMA))


def test_nothing_is_validated_before_something_is_read() -> None:
    program = "import sys, isonomia as iso; iso.Verdict; iso.check; print('jsonschema' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
