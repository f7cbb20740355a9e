"""Seals: what tells whether plain values are still those that were sealed.

A plain seal is SHA-256 over the canonical JSON. It shows an accident, and a change by somebody who did not seal anew:
anybody can. With a key it is HMAC-SHA256 (RFC 2104), which only somebody with the same key can make.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from typing import Any

from isonomia.errors import RecordError
from isonomia.records.strict_json import canonical

__all__ = ["LEAST_KEY", "broken", "is_keyed", "sealed"]

LEAST_KEY = 16
"""Bytes that a key has at least; shorter ones can be guessed."""

PLAIN, KEYED = "sha256", "hmac-sha256"


def sealed(content: Mapping[str, Any], key: bytes | None = None) -> dict[str, Any]:
    """The content with its seal.

    Raises
    ------
    RecordError
        Where the key is too short, or the content is nothing that JSON can hold.
    """
    return {**content, "seal": {"method": PLAIN if key is None else KEYED, "value": _value(content, key)}}


def is_keyed(content: Mapping[str, Any]) -> bool:
    """Whether sealed content was sealed with a key."""
    return bool(content["seal"]["method"] == KEYED)


def broken(content: Mapping[str, Any], key: bytes | None = None) -> str | None:
    """What is wrong with the seal of sealed content, in words; ``None`` where it is whole.

    Raises
    ------
    RecordError
        Where it cannot be told: a key is needed and did not come, or came and is not needed.
    """
    seal = content["seal"]
    if is_keyed(content) and key is None:
        raise RecordError("expected the key that this file was sealed with, --key FILE, but none came")
    if seal["method"] == PLAIN and key is not None:
        raise RecordError(
            "expected a file that was sealed with a key, but this one was sealed without: anybody can have changed it "
            "and sealed it anew. Leave --key out to look at it all the same"
        )
    rest = {name: value for name, value in content.items() if name != "seal"}
    if hmac.compare_digest(_value(rest, key).encode(), seal["value"].encode("utf-8", "surrogatepass")):
        return None
    other = " or the key is another one" if key is not None else ""
    return f"the seal is broken: something in the file was changed after it was sealed{other}"


def _value(content: Mapping[str, Any], key: bytes | None) -> str:
    if key is None:
        return hashlib.sha256(canonical(content)).hexdigest()
    if len(key) < LEAST_KEY:
        raise RecordError(f"expected a key of at least {LEAST_KEY} bytes, but it has {len(key)}: it could be guessed")
    return hmac.new(key, canonical(content), hashlib.sha256).hexdigest()
