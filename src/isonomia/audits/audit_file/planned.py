"""A property of an audit file, ready to be checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from isonomia.audits.check import Arranged

__all__ = ["Planned"]


@dataclass(frozen=True, slots=True)
class Planned:
    """One property of an audit file, ready to be checked.

    Attributes
    ----------
    name, why, line
        What it is called, why it must hold, and its line in the file, from 1.
    arranged
        The check.
    definition
        The table of the file that states it, as plain values.
    """

    name: str
    why: str | None
    line: int
    arranged: Arranged
    definition: Mapping[str, Any]
