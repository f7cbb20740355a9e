"""Versions of a person in plain English."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from isonomia.spec.lexemes import value_text
from isonomia.spec.names import versions_of
from isonomia.spec.tree import Column, Compare, Literal, Other, Output, Row, Variable
from isonomia.spec.versions import AsIf, Do, Setting, Version

__all__ = ["feature_phrase", "join_words", "sameness_phrase", "speaks_of_versions"]


def join_words(words: Iterable[str], word: str) -> str:
    """Join by commas, and by a word before the last: ``a, b and c``."""
    *most, last = words
    return f"{', '.join(most)} {word} {last}" if most else last


def speaks_of_versions(row: Row | None) -> bool:
    """Whether an expression speaks of anything but the person as they are."""
    return row is not None and bool(versions_of(row))


def feature_phrase(feature: Column | Output) -> str:
    """A column or an answer: ``age``, ``the second person's age``, ``the prediction had sex been 'M'``."""
    name = feature.name
    if isinstance(feature, Output) and feature.label is not None:
        name = f"score for {value_text(feature.label)}"
    match feature.version:
        case None:
            return name
        case Other():
            return f"the second person's {name}"
        case Do():
            return f"the {name} {_had(feature.version)}"


def sameness_phrase(row: Row) -> str | None:
    """Whether one thing is the same in another version, as the end of "whose ..."; ``None`` for any other test."""
    match row:
        case Compare("==" | "!=", Column() | Output() as left, Column() | Output() as right):
            plain, changed = (left, right) if left.version is None else (right, left)
            if plain.version is not None or changed.version is None or replace(changed, version=None) != plain:
                return None
            return _sameness(feature_phrase(plain), changed.version, row.relation == "==")
        case _:
            return None


def _sameness(name: str, version: Version, same: bool) -> str:
    match version:
        case Other():
            return f"{name} is {'the same as' if same else 'different from'} the second person's"
        case Do():
            return f"{name} would have been {'the same' if same else 'different'} {_had(version)}"


def _had(version: Do) -> str:
    settings = [item for item in version.items if isinstance(item, Setting)]
    mediated = [item for item in version.items if isinstance(item, AsIf)]
    said = [_had_been(settings)] if settings else []
    said += [f"with {item.name} as it would have been {_had_been(item.settings)}" for item in mediated]
    return " and ".join(said)


def _had_been(settings: Iterable[Setting]) -> str:
    return f"had {join_words((f'{item.name} been {_value(item.value)}' for item in settings), 'and')}"


def _value(value: Literal | Variable) -> str:
    return value.name if isinstance(value, Variable) else value_text(value.value)
