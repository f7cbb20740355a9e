"""JSON that is evidence: one text for one value."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isonomia.errors import RecordError
from isonomia.records import strict_json as module
from isonomia.records.strict_json import canonical, strict_json
from raising import raises

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(PLAIN)
def test_what_python_writes_is_read_unchanged_to_the_last_bit(value: Any) -> None:
    text = json.dumps(value, ensure_ascii=True)
    assert repr(strict_json(text.encode(), "x")) == repr(value)


REFUSED = [
    (b'{"a": 1, "a": 1}', "'a' occurs twice"),
    (b'{"b": {"a": 1, "c": 2, "a": 3}}', "'a' occurs twice"),
    (b"0.10000000000000001", "not written as isonomia writes it, 0.1"),
    (b"[1E5]", "not written as isonomia writes it, 100000.0"),
    (b"1.50", "not written as isonomia writes it, 1.5"),
    (b"-0", "not written as isonomia writes it, 0"),
    (b"1e999", "not written as isonomia writes it, inf"),
    (b"NaN", "NaN is not a number"),
    (b"[Infinity]", "Infinity is not a number"),
    (b"[-Infinity]", "-Infinity is not a number"),
    (b"9" * 5000, "too many digits"),
    (b"[" * 100_000, "nested more deeply"),
    (b'{"a":' * 100_000, "nested more deeply"),
    (b'"\xff"', "byte 1 is invalid"),
    (b"{", "is not JSON"),
    (b"", "is not JSON"),
    (b"1 2", "is not JSON"),
    (b"\xef\xbb\xbf1", "is not JSON"),
]


@pytest.mark.parametrize(("data", "told"), REFUSED, ids=[told for _, told in REFUSED])
def test_what_readers_may_read_differently_is_refused(data: bytes, told: str) -> None:
    with pytest.raises(RecordError, match="the file") as caught:
        strict_json(data, "the file")
    assert told in str(caught.value)


def test_a_text_that_is_too_long_is_not_even_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_BYTES", 10)
    assert strict_json(b"[1, 2, 3 ]", "x") == [1, 2, 3]
    with raises(RecordError, 10, 11):
        strict_json(b"[1, 2, 3  ]", "x")


@given(st.dictionaries(st.text(alphabet="abc", max_size=3), st.integers() | st.floats(allow_nan=False), max_size=5))
def test_the_order_of_keys_does_not_matter_for_the_canonical_text(value: dict[str, Any]) -> None:
    if any(abs(number) == float("inf") for number in value.values()):
        with pytest.raises(RecordError):
            canonical(value)
        return
    assert canonical(value) == canonical(dict(reversed(value.items())))
    assert strict_json(canonical(value), "x") == value


def test_different_kinds_of_numbers_have_different_canonical_texts() -> None:
    assert len({canonical(1), canonical(1.0), canonical(True), canonical("1"), canonical(-0.0), canonical(0.0)}) == 6


def test_half_a_character_has_a_canonical_text_of_its_own() -> None:
    assert canonical("\ud800") != canonical("\ud801")
    assert canonical("\N{GRINNING FACE}") == '"\N{GRINNING FACE}"'.encode()
