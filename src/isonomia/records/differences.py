"""Where two plain values differ, leaf by leaf."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import isclose
from typing import Any

from isonomia.records.visible import cut_short

__all__ = ["ABSENT", "Difference", "differences"]

ABSENT = "(absent)"
"""Stands for what one side does not have."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One place where two values differ: its path, such as ``leaves[0].low``, and what either has there."""

    path: str
    before: Any
    after: Any

    def __str__(self) -> str:
        return f"{self.path}: {_brief(self.before)} in the record, {_brief(self.after)} now"


def differences(before: Any, after: Any, path: str = "", rounding: float = 0.0) -> Iterator[Difference]:
    """Every leaf in which two plain values differ.

    Parameters
    ----------
    before, after
        The values.
    path
        Where they are.
    rounding
        By which part of themselves floats may differ, since processors and libraries round the last digits
        differently; 0 for not at all. Values of different kinds always differ: 1 is not 1.0, nor ``True``.
    """
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in dict.fromkeys((*before, *after)):
            step = f"{path}.{key}" if path else str(key)
            yield from differences(before.get(key, ABSENT), after.get(key, ABSENT), step, rounding)
    elif isinstance(before, list | tuple) and isinstance(after, list | tuple):
        if len(before) != len(after):
            yield Difference(f"{path}, how many", len(before), len(after))
        for place, (old, new) in enumerate(zip(before, after, strict=False)):
            yield from differences(old, new, f"{path}[{place}]", rounding)
    elif type(before) is not type(after) or not _alike(before, after, rounding):
        yield Difference(path, before, after)


def _alike(before: Any, after: Any, rounding: float) -> bool:
    if isinstance(before, float) and rounding:
        return isclose(before, after, rel_tol=rounding, abs_tol=rounding / 1000.0)
    return repr(before) == repr(after)  # tells -0.0 from 0.0


def _brief(value: Any) -> str:
    return cut_short(repr(value), 60)
