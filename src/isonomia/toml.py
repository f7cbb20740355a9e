"""TOML with positions: read with errors that point at a key, written for people to edit.

Python's TOML reader gives values without positions. So the text is read a second time, for positions only; by then it
is known to be valid TOML, which keeps this simple.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import date, time
from textwrap import wrap
from typing import Any, TypeAlias

from isonomia.errors import Place, SpecError, UsageError, nearest
from isonomia.wording import printable

KeyPath: TypeAlias = tuple[str | int, ...]
"""The path to a value: names of tables and keys, and indices within an array of tables."""
Span: TypeAlias = tuple[int, int]
"""The first character of a stretch of text, and the one after its last."""


@dataclass(frozen=True, slots=True)
class TomlText:
    """A text in TOML: what it holds, and where each key stands.

    Attributes
    ----------
    file
        What the text is called in an error.
    text, content
        The text, and what it holds.
    spans
        Where the names of its tables and keys stand.
    """

    file: str
    text: str
    content: Mapping[str, Any]
    spans: Mapping[KeyPath, Span] = field(repr=False)

    @classmethod
    def parse(cls, text: str, file: str) -> TomlText:
        """Read a text; a ``SpecError`` says where it is not TOML. A byte order mark, as Notepad writes, is dropped."""
        text = text.removeprefix("\ufeff")
        try:
            content = tomllib.loads(text)
            long = _has_long_integer(content)
        except (ValueError, RecursionError) as error:  # also a number of too many digits, or too deeply nested
            raise SpecError(f"{file} is not valid TOML: {error}") from error
        if long:
            raise SpecError(f"{file} is not valid TOML: it has a whole number of more than 64 bits")
        return cls(file, text, content, positions(text))

    def place(self, *path: str | int) -> Place | None:
        """The place of a key, or of the nearest table around it that has one."""
        for length in range(len(path), 0, -1):
            if path[:length] in self.spans:
                return Place(self.text, *self.spans[path[:length]])
        return None

    def error(self, message: str, *path: str | int) -> SpecError:
        """An error that points at a key, or at the nearest table around it."""
        return SpecError(f"{self.file}: {message}", self.place(*path))

    def check_table(self, table: Any, keys: Collection[str], what: str, *path: str | int) -> None:
        """Refuse what is not a table, and a table with an unknown key."""
        if not isinstance(table, Mapping):
            raise self.error(f"expected {what} to be a table, but it is {table!r}", *path)
        for key in table:
            if key not in keys:
                message = f"{what} has no key {key!r}.{nearest(key, keys)} It may have {', '.join(keys)}"
                raise self.error(message, *path, key)


def _has_long_integer(value: Any) -> bool:
    """Whether there is a whole number too large for some readers of TOML."""
    if isinstance(value, dict | list):
        return any(map(_has_long_integer, value.values() if isinstance(value, dict) else value))
    return isinstance(value, int) and value.bit_length() > 64


# Positions -----------------------------------------------------------------------------------------------------------

_PART = r"""(?:[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*')"""
_DOTTED = rf"{_PART}(?:\s*\.\s*{_PART})*"
_HEADER = re.compile(rf"[ \t]*(\[\[?)[ \t]*({_DOTTED})[ \t]*\]\]?")
_KEY = re.compile(rf"[ \t]*({_DOTTED})[ \t]*=[ \t]*")
_LONG_QUOTES = ('"""', "'''")


def positions(text: str) -> Mapping[KeyPath, Span]:
    """Where the name of each table and key begins and ends.

    A table without a header of its own has the position of the first table in it. Keys inside a value, such as an
    inline table, are not listed; the key of that value is.
    """
    spans: dict[KeyPath, Span] = {}
    table: KeyPath = ()
    counts: dict[KeyPath, int] = {}
    index = 0
    while index < len(text):
        header, key = _HEADER.match(text, index), _KEY.match(text, index)
        if header is not None:
            table = _table_path(_names(header[2]), header[1] == "[[", counts)
            for length in range(1, len(table) + 1):
                if length == len(table) or isinstance(table[length], str):
                    spans.setdefault(table[:length], header.span(2))
            index = header.end()
        elif key is not None:
            spans[(*table, *_names(key[1]))] = key.span(1)
            index = _after_value(text, key.end())
        end = text.find("\n", index)
        index = len(text) if end < 0 else end + 1
    return spans


def _table_path(names: tuple[str, ...], is_array: bool, counts: dict[KeyPath, int]) -> KeyPath:
    """The path of a header, in which the index of its latest table follows an array of tables."""
    if is_array:
        counts[names] = counts.get(names, -1) + 1
    path: list[str | int] = []
    for length in range(1, len(names) + 1):
        path.append(names[length - 1])
        if names[:length] in counts:
            path.append(counts[names[:length]])
    return tuple(path)


def _names(dotted: str) -> tuple[str, ...]:
    parts = re.findall(_PART, dotted)
    return tuple(str(tomllib.loads(f"name = {part}")["name"]) if part[0] in "\"'" else part for part in parts)


def _after_value(text: str, index: int) -> int:
    """The end of a value: the end of its line, unless a string or a bracket is still open."""
    depth = 0
    while index < len(text):
        if text[index : index + 3] in _LONG_QUOTES:
            index = _after_string(text, index, text[index : index + 3])
        elif text[index] in "\"'":
            index = _after_string(text, index, text[index])
        elif text[index] == "#":
            end = text.find("\n", index)
            index = len(text) if end < 0 else end
        elif text[index] == "\n" and depth == 0:
            return index
        else:
            depth += (text[index] in "[{") - (text[index] in "]}")
            index += 1
    return index


def _after_string(text: str, index: int, quotes: str) -> int:
    index += len(quotes)
    while index < len(text) and not text.startswith(quotes, index):
        index += 2 if text[index] == "\\" and quotes[0] == '"' else 1
    return index + len(quotes)


# Writing -------------------------------------------------------------------------------------------------------------

_WIDTH = 116


def toml_value(value: Any) -> str:
    """A value as TOML: a text, a number, a truth value, a date or time, or a list or table of these.

    Raises
    ------
    UsageError
        Where it is none of them.
    """
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return _quoted(value)
        case int() | float():
            return repr(int(value)) if abs(value) < 1e15 and value == int(value) else repr(float(value))
        case date() | time():  # a datetime is a date
            return value.isoformat()
        case Mapping():
            return "{" + ", ".join(f"{toml_key(key)} = {toml_value(item)}" for key, item in value.items()) + "}"
        case tuple() | list():
            line = f"[{', '.join(map(toml_value, value))}]"
            if len(line) <= _WIDTH:
                return line
            return "\n".join(["[", *(f"    {toml_value(item)}," for item in value), "]"])
        case _:
            raise UsageError(f"a TOML text cannot hold {value!r} of type {type(value).__name__}")


def toml_key(name: str) -> str:
    """A name as a TOML key."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _quoted(name)


def _quoted(value: str) -> str:
    # TOML escapes like JSON. But JSON leaves invisible characters as they are, also DEL, which TOML does not allow.
    return "".join(sign if sign.isprintable() else _escaped(sign) for sign in json.dumps(value, ensure_ascii=False))


def _escaped(sign: str) -> str:
    """A character by its number, as TOML writes it."""
    return f"\\u{ord(sign):04x}" if ord(sign) < 0x10000 else f"\\U{ord(sign):08x}"


def comment_lines(text: str) -> list[str]:
    """A text as comment lines. Data in it may hold line ends, which would end a comment, so they become blanks."""
    return [f"# {line}" for line in wrap(printable(text), _WIDTH, break_long_words=False, break_on_hyphens=False)]
