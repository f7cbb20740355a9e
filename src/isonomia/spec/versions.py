"""Versions of a person: who a column or an answer of the model is about, where it is not the person as they are.

A row expression is about one person. It can also speak of a *second person*, drawn independently from the same
population, and of the same person *had things been otherwise*: had some variables been set (a counterfactual), or with
one variable, a mediator, taking the value that it would have had then, everything else as it is (path-specific).

The values are plain and frozen, and compared by what they say; a place takes no part in comparison.
"""

# ruff: noqa: RUF009  (a place defaults to a field made by a function, which is immutable)

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from isonomia.errors import Place

if TYPE_CHECKING:
    from isonomia.spec.tree import Literal, Variable

__all__ = ["AsIf", "Change", "Do", "Other", "Setting", "Version"]


def _place() -> Place | None:
    return field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Setting:
    """``sex = 'M'``: a variable is set to a value."""

    name: str
    value: Literal | Variable
    place: Place | None = _place()


@dataclass(frozen=True, slots=True)
class AsIf:
    """``education as if sex = 'M'``: a variable takes the value that it would have had under the settings."""

    name: str
    settings: tuple[Setting, ...]
    place: Place | None = _place()


Change: TypeAlias = Setting | AsIf


@dataclass(frozen=True, slots=True)
class Do:
    """``do(sex = 'M', education as if sex = 'F')``: the same person, with the same noise, under these changes."""

    items: tuple[Change, ...]
    place: Place | None = _place()


@dataclass(frozen=True, slots=True)
class Other:
    """``other``: a second person, drawn independently from the same population."""

    place: Place | None = _place()


Version: TypeAlias = Do | Other
