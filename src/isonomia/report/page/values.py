"""A value from outside as a short text, and several side by side with the stretch that differs."""

from __future__ import annotations

import reprlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from isonomia.records.visible import cut, visible
from isonomia.records.words import brief

__all__ = ["Cell", "cells_of", "value_text"]

_AROUND = 60
"""Characters shown before and after the stretch in which two long texts differ."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A value: what comes before the stretch that differs, the stretch, and what comes after it.

    Attributes
    ----------
    before, changed, after
        The three parts; all in ``before`` for a value that is as in the first record.
    differs
        Whether it is not as in the first record.
    """

    before: str
    changed: str = ""
    after: str = ""
    differs: bool = False

    @property
    def size(self) -> int:
        """How many characters it has."""
        return len(self.before) + len(self.changed) + len(self.after)


def value_text(value: Any, most: int) -> str:
    """A value as people read it: a text as it is, a number short, a list by its beginning; cut with a word."""
    return visible(cut(_plain(value, most), most))


def cells_of(values: Sequence[Any], most: int) -> tuple[Cell, ...]:
    """The values of one feature in several records, each compared with the first."""
    first = values[0]
    return tuple(
        Cell(value_text(value, most)) if place == 0 or _same(first, value) else _changed(first, value, most)
        for place, value in enumerate(values)
    )


def _changed(first: Any, value: Any, most: int) -> Cell:
    """Mark what differs: a stretch of a text, or the value as a whole."""
    if not (isinstance(first, str) and isinstance(value, str) and max(len(first), len(value)) > _AROUND):
        return Cell("", value_text(value, most), "", True)
    head = _common(first, value)
    tail = _common(first[head:][::-1], value[head:][::-1])
    stop = len(value) - tail
    before = value[:head] if head <= _AROUND else f"… {value[head - _AROUND : head]}"
    after = value[stop:] if tail <= _AROUND else f"{value[stop : stop + _AROUND]} …"
    return Cell(visible(before), visible(cut(value[head:stop], most)) or "∅", visible(after), True)


def _common(left: str, right: str) -> int:
    """How long the common beginning of two texts is, by halving."""
    low, high = 0, min(len(left), len(right))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if left[low:middle] == right[low:middle] else (low, middle - 1)
    return low


def _plain(value: Any, most: int) -> str:
    match value:
        case str():
            return value
        case bool() | None:
            return {True: "yes", False: "no", None: "missing"}[value]
        case float():
            return brief(value)
        case int():
            return str(value) if value.bit_length() < 1_000 else f"a whole number of {value.bit_length():,} bits"
        case _:
            short = reprlib.Repr()
            short.maxlist = short.maxtuple = short.maxdict = short.maxset = 12
            short.maxstring = short.maxother = most
            return short.repr(value)


def _same(left: Any, right: Any) -> bool:
    """Whether two values are the same; 3 and 3.0 are, two missing numbers are, 1 and "1" or yes are not."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    numbers = isinstance(left, int | float) and isinstance(right, int | float)
    return (numbers or type(left) is type(right)) and (left == right or (left != left and right != right))
