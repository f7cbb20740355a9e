"""Telling interventions, and blocks of them, from others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from isonomia.interventions.blocks import Block
from isonomia.interventions.constraints import Constraint
from isonomia.interventions.effects import Effect
from isonomia.interventions.features import Feature
from isonomia.populations.fingerprint import fingerprint_of, identity_of

__all__ = ["block_fingerprint", "fingerprint"]


def fingerprint(features: Sequence[Feature], constraints: Sequence[Constraint], effects: Sequence[Effect]) -> str:
    """The SHA-256 of everything that is said about what people can change."""
    return fingerprint_of(*map(repr, features), "constraints", *map(_told, constraints), *map(_told, effects))


def block_fingerprint(block: Block) -> str:
    """The SHA-256 of everything that settles what can be reached in a block."""
    rules = [f"{_told(constraint)} {places}" for constraint, places in block.constraints]
    return fingerprint_of(*map(repr, block.features), *rules, repr(block.push.tolist()), repr(block.onto.tolist()))


def _told(item: Constraint | Effect) -> str:
    values = ((field.name, getattr(item, field.name)) for field in fields(item))  # type: ignore[arg-type]
    return f"{item.kind} {[(name, _part(value)) for name, value in values]!r}"


def _part(value: Any) -> str:
    if hasattr(value, "fingerprint"):
        return str(value.fingerprint())
    return identity_of(value) if callable(value) else repr(value)
