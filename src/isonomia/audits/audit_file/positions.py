"""Where in a TOML text each key stands.

Python's reader of TOML says what a file holds, not where. A message about a wrong value should point at it, so the text
is read a second time, for positions only. It is known to be TOML by then, so that this can be simple.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TypeAlias

__all__ = ["Path", "Span", "positions"]

Path: TypeAlias = tuple[str | int, ...]
"""The way to a value: names of tables and keys, and numbers within an array of tables."""

Span: TypeAlias = tuple[int, int]

_PART = r"""(?:[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*')"""
_DOTTED = rf"{_PART}(?:\s*\.\s*{_PART})*"
_HEADER = re.compile(rf"[ \t]*(\[\[?)[ \t]*({_DOTTED})[ \t]*\]\]?")
_KEY = re.compile(rf"[ \t]*({_DOTTED})[ \t]*=[ \t]*")
_LONG = ('"""', "'''")
_OPENING, _CLOSING = "[{", "]}"


def positions(text: str) -> Mapping[Path, Span]:
    """Where the name of each table and key begins and ends.

    Keys inside a value, an inline table for example, are not listed: their table is.
    """
    found: dict[Path, Span] = {}
    table: Path = ()
    counts: dict[Path, int] = {}
    place = 0
    while place < len(text):
        header, key = _HEADER.match(text, place), _KEY.match(text, place)
        if header is not None:
            table = _entered(_names(header[2]), header[1] == "[[", counts)
            found.setdefault(table, header.span(2))
            place = header.end()
        elif key is not None:
            found[(*table, *_names(key[1]))] = key.span(1)
            place = _after_value(text, key.end())
        end = text.find("\n", place)
        place = len(text) if end < 0 else end + 1
    return found


def _entered(names: tuple[str, ...], several: bool, counts: dict[Path, int]) -> Path:
    """The path of a header, in which an array of tables stands with the number of its latest table."""
    if several:
        counts[names] = counts.get(names, -1) + 1
    path: list[str | int] = []
    for length in range(1, len(names) + 1):
        path.append(names[length - 1])
        if names[:length] in counts:
            path.append(counts[names[:length]])
    return tuple(path)


def _names(dotted: str) -> tuple[str, ...]:
    parts = re.findall(_PART, dotted)
    return tuple(part[1:-1] if part[0] in "\"'" else part for part in parts)


def _after_value(text: str, place: int) -> int:
    """The end of a value: of the line, unless strings or brackets go on."""
    depth = 0
    while place < len(text):
        if text[place : place + 3] in _LONG:
            place = _after_string(text, place, text[place : place + 3])
        elif text[place] in "\"'":
            place = _after_string(text, place, text[place])
        elif text[place] == "#":
            end = text.find("\n", place)
            place = len(text) if end < 0 else end
        elif text[place] == "\n" and depth == 0:
            return place
        else:
            depth += (text[place] in _OPENING) - (text[place] in _CLOSING)
            place += 1
    return place


def _after_string(text: str, place: int, mark: str) -> int:
    place += len(mark)
    while place < len(text) and not text.startswith(mark, place):
        place += 2 if text[place] == "\\" and mark[0] == '"' else 1
    return place + len(mark)
