"""A property of an audit file: as it is stated there, and ready to be checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from isonomia.audits.audit_file.reading import Entry
from isonomia.audits.check import Arranged, Options
from isonomia.spec.principal import PrincipalFairness
from isonomia.spec.property import Property
from isonomia.spec.responsiveness import Responsiveness
from isonomia.spec.safety import Safety

__all__ = ["Planned", "Stated"]


@dataclass(frozen=True, slots=True)
class Stated:
    """One property as an audit file states it, before any model or population is opened.

    Attributes
    ----------
    name, entry
        What it is called, and its table in the file.
    prop, options
        What must hold, and how it is to be checked: its share of the risk, its budget, the seed.
    """

    name: str
    entry: Entry
    prop: Property | PrincipalFairness | Responsiveness | Safety
    options: Options


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
