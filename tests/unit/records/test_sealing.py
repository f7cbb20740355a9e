"""Seals: whole, broken, and with a key."""

from __future__ import annotations

import hashlib
import hmac

import pytest

from isonomia.errors import RecordError
from isonomia.records.evidence import seal_problem, sealed
from raising import raises

CONTENT = {"b": [1, 2.5, None], "a": {"text": "é"}}
CANONICAL = '{"a":{"text":"é"},"b":[1,2.5,null]}'.encode()
KEY = b"0123456789abcdef"


def test_a_plain_seal_is_sha256_of_the_canonical_json() -> None:
    assert sealed(CONTENT)["seal"] == {"method": "sha256", "value": hashlib.sha256(CANONICAL).hexdigest()}


def test_a_seal_with_a_key_is_hmac_sha256_of_the_canonical_json() -> None:
    expected = hmac.new(KEY, CANONICAL, "sha256").hexdigest()
    assert sealed(CONTENT, KEY)["seal"] == {"method": "hmac-sha256", "value": expected}


@pytest.mark.parametrize("key", [None, KEY])
def test_a_seal_is_whole_until_something_is_changed(key: bytes | None) -> None:
    whole = sealed(CONTENT, key)
    assert seal_problem(whole, key) is None
    assert seal_problem(dict(reversed(whole.items())), key) is None
    assert "seal is broken" in str(seal_problem({**whole, "b": [1, 2.5]}, key))
    assert "seal is broken" in str(seal_problem({**whole, "c": 1}, key))
    assert "seal is broken" in str(seal_problem({**whole, "seal": {**whole["seal"], "value": "0" * 64}}, key))


@pytest.mark.parametrize("value", ["", "é" * 64, "\ud800"])
def test_a_seal_of_any_text_is_broken_and_no_accident(value: str) -> None:
    assert "seal is broken" in str(seal_problem({**CONTENT, "seal": {"method": "sha256", "value": value}}))


def test_nobody_without_the_key_can_seal_anew() -> None:
    other = sealed({**CONTENT, "b": []}, b"another key of 16 bytes")
    assert "key is another one" in str(seal_problem(other, KEY))
    with raises(RecordError, "--key", name=None):
        seal_problem(sealed({**CONTENT, "b": []}), KEY)


def test_a_seal_with_a_key_cannot_be_looked_at_without_it() -> None:
    with raises(RecordError, name="key"):
        seal_problem(sealed(CONTENT, KEY))


def test_a_key_that_can_be_guessed_is_refused() -> None:
    with raises(RecordError, 16, 6):
        sealed(CONTENT, b"secret")
