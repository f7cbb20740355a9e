"""A property that a draft suggests: how it is written, why, and what speaks against having it active."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from isonomia.interventions.writing import toml_value

__all__ = ["Suggestion", "formula", "named", "numbered"]

_LONGEST = 70


@dataclass(frozen=True, slots=True)
class Suggestion:
    """One property of a draft.

    Attributes
    ----------
    name
        What it is called.
    why
        Why somebody would ask for it, for the report; empty for nothing.
    note
        A comment above it.
    ask
        The key that says what kind it is, with its value: ``("check", "P[...] >= 0.8")``.
    options
        What it takes.
    doubt
        Why it is commented out; empty where it is active.
    """

    name: str
    note: str
    ask: tuple[str, Any]
    options: Mapping[str, Any]
    doubt: str = ""
    why: str = ""

    @property
    def active(self) -> bool:
        """Whether it is asked for as the file stands."""
        return not self.doubt

    def doubted(self, reason: str) -> Suggestion:
        """The same, commented out."""
        return replace(self, doubt=reason)

    def lines(self) -> list[str]:
        """The table of the file, without comments."""
        key, value = self.ask
        found = ["[[property]]", f"name = {toml_value(self.name)}"]
        if self.why:
            found.append(f"why = {toml_value(self.why)}")
        found.append(f"{key} = {toml_value(value)}")
        if self.options:
            found.append(f"with = {toml_value(dict(self.options))}")
        return "\n".join(found).split("\n")


def formula(name: str, text: str, note: str = "", doubt: str = "", why: str = "") -> Suggestion:
    """A property about rates and means."""
    return Suggestion(name, note, ("check", text), {}, doubt, why)


def named(name: str, kind: str, value: Any, note: str = "", doubt: str = "", **options: Any) -> Suggestion:
    """A property by its name."""
    return Suggestion(name, note, (kind, value), options, doubt)


def numbered(found: Iterable[Suggestion]) -> list[Suggestion]:
    """Names that are short, printable and different from each other, as a file needs them."""
    taken: set[str] = set()
    made = []
    for item in found:
        name = _short(item.name)
        base, number = name, 2
        while name in taken:
            name, number = f"{base} ({number})", number + 1
        taken.add(name)
        made.append(replace(item, name=name))
    return made


def _short(name: str) -> str:
    plain = " ".join("".join(sign if sign.isprintable() else " " for sign in name).split())
    return plain if len(plain) <= _LONGEST else f"{plain[: _LONGEST - 3]}..."
