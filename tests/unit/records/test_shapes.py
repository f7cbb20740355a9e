"""Our reading of a schema agrees with that of ``jsonschema``."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isonomia.records.strict_json import evidence_schema, misshapen

SCHEMA = {
    "type": "object",
    "required": ["a"],
    "additionalProperties": False,
    "properties": {
        "a": {"type": ["integer", "null"]},
        "b": {"enum": ["x", "y"]},
        "c": {"const": 1},
        "d": {"type": "array", "items": {"type": "string"}},
        "e": {"type": "object", "additionalProperties": {"type": "number"}},
        "f": {"type": "boolean"},
    },
}
LEAF = st.none() | st.booleans() | st.integers(0, 2) | st.just(0.5) | st.sampled_from(["x", "y", "z"])
VALUE = LEAF | st.lists(LEAF, max_size=2) | st.dictionaries(st.sampled_from("xy"), LEAF, max_size=2)


@given(st.dictionaries(st.sampled_from("abcdefg"), VALUE, max_size=5) | VALUE)
def test_what_is_of_the_right_shape_is_so_for_both(value: Any) -> None:
    theirs = jsonschema.Draft202012Validator(SCHEMA).is_valid(value)
    assert (not list(misshapen(value, SCHEMA))) == theirs


WRONG = [
    ({}, "the whole should have 'a', but has not"),
    ({"a": 1.0}, "a should be of type integer or null, but is 1.0"),
    ({"a": True}, "a should be of type integer or null, but is True"),
    ({"a": 1, "z": 1}, "z is not known"),
    ({"a": 1, "b": "q"}, "b should be one of 'x', 'y', but is 'q'"),
    ({"a": 1, "c": 1.0}, "c should be 1, but is 1.0"),
    ({"a": 1, "d": ["x", 2]}, "d[1] should be of type string, but is 2"),
    ({"a": 1, "e": {"k": "v"}}, "e.k should be of type number, but is 'v'"),
    ({"a": 1, "e": {"k": 10**400}}, f"e.k should be of type number, but is 1{'0' * 56}..."),
    ({"a": -(10**400)}, f"a should be of type integer or null, but is -1{'0' * 55}..."),
]


@pytest.mark.parametrize(("value", "told"), WRONG)
def test_what_is_wrong_is_told_with_its_place(value: Any, told: str) -> None:
    assert list(misshapen(value, SCHEMA)) == [told]


def test_the_schema_of_evidence_is_a_schema_and_uses_known_words_only() -> None:
    jsonschema.Draft202012Validator.check_schema(evidence_schema())
    words = {"$schema", "title", "description", "type", "const", "enum", "required", "properties"}
    assert _words(evidence_schema()) <= words | {"additionalProperties", "items"}


def _words(part: Any) -> set[str]:
    if not isinstance(part, dict):
        return set()
    inner = [*part.get("properties", {}).values(), part.get("items"), part.get("additionalProperties")]
    return set(part).union(*(_words(each) for each in inner))
