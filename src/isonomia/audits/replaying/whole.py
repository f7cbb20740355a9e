"""Whole numbers in a record, which JSON can hold as something else."""

from __future__ import annotations

from typing import Any

__all__ = ["is_count", "numbered"]


def is_count(*values: Any) -> bool:
    """Whether all are whole numbers, written as such, and none is negative."""
    return all(type(value) is int and value >= 0 for value in values)


def numbered(entries: Any, word: str) -> dict[int, Any]:
    """The entries whose keys are a word and a number, by their numbers, in order."""
    pairs = ((key.removeprefix(word), entry) for key, entry in entries.items() if key.startswith(word))
    return dict(sorted((int(number), entry) for number, entry in pairs if number.isdecimal()))
