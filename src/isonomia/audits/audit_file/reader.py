"""The file with the line of everything.

Where in a TOML text each key stands.

Python's reader of TOML says what a file holds, not where. A message about a wrong value should point at it, so the text
is read a second time, for positions only. It is known to be TOML by then, so that this can be simple.

The texts that an audit file names, such as specifications: read from its folder, or taken from a record.

Reading an audit file: what is written there, checked key by key, and where it stands.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from pathlib import Path as File
from typing import Any, Protocol, TypeAlias

from isonomia.audits.audit_file.schema import ASKS, MODEL, POPULATION, PROPERTY, TOP, Key
from isonomia.errors import Place, RecordError, SpecError, UsageError, nearest

__all__ = [
    "DEFAULT",
    "AuditFile",
    "Entry",
    "FromFolder",
    "FromRecord",
    "KeyPath",
    "Span",
    "Texts",
    "is_file_name",
    "positions",
    "read_audit_file",
    "recorded_audit_file",
]


KeyPath: TypeAlias = tuple[str | int, ...]
"""The way to a value: names of tables and keys, and numbers within an array of tables."""

Span: TypeAlias = tuple[int, int]

_PART = r"""(?:[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*')"""
_DOTTED = rf"{_PART}(?:\s*\.\s*{_PART})*"
_HEADER = re.compile(rf"[ \t]*(\[\[?)[ \t]*({_DOTTED})[ \t]*\]\]?")
_KEY = re.compile(rf"[ \t]*({_DOTTED})[ \t]*=[ \t]*")
_LONG = ('"""', "'''")
_OPENING, _CLOSING = "[{", "]}"


def positions(text: str) -> Mapping[KeyPath, Span]:
    """Where the name of each table and key begins and ends.

    Keys inside a value, an inline table for example, are not listed: their table is.
    """
    found: dict[KeyPath, Span] = {}
    table: KeyPath = ()
    counts: dict[KeyPath, int] = {}
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


def _entered(names: tuple[str, ...], several: bool, counts: dict[KeyPath, int]) -> KeyPath:
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


class Texts(Protocol):
    """Gives the texts that an audit file names."""

    def read(self, name: str) -> str:
        """The text of a file, by the name that the audit file has for it."""


@dataclass(slots=True)
class FromFolder:
    """Files of a folder. Each is read once, so that what is written down of a run is what was used in it."""

    folder: Path
    _known: dict[str, str] = field(default_factory=dict)

    def read(self, name: str) -> str:
        """The text of a file.

        Raises
        ------
        UsageError
            Where there is none, with the nearest name beside it, or it cannot be read as UTF-8.
        """
        if name not in self._known:
            path = self.folder / name
            try:
                self._known[name] = path.read_text("utf-8")
            except FileNotFoundError as error:
                beside = [other.name for other in path.parent.iterdir()] if path.parent.is_dir() else []
                raise UsageError(f"there is no file {path}.{nearest(path.name, beside)}") from error
            except (OSError, UnicodeDecodeError) as error:
                raise UsageError(f"expected a file that can be read as UTF-8, but {path}: {error}") from error
        return self._known[name]


@dataclass(frozen=True, slots=True)
class FromRecord:
    """Texts that were written down with a run; the disk is never looked at."""

    known: Mapping[str, str]

    def read(self, name: str) -> str:
        """The text as it was.

        Raises
        ------
        RecordError
            Where the record does not have it.
        """
        if name not in self.known:
            raise RecordError(f"expected the text of {name!r} in the record, but it is not there")
        return self.known[name]


DEFAULT = "default"
"""What the model and the population are called that have no name of their own."""


@dataclass(frozen=True, slots=True)
class AuditFile:
    """An audit file as it is written.

    Attributes
    ----------
    path, text
        The file and its text.
    content
        What it holds: every key is known and every value of the right kind.
    spans
        Where each key stands.
    texts
        Where the texts come from that it names.
    """

    path: File
    text: str
    content: Mapping[str, Any]
    spans: Mapping[KeyPath, Span] = field(repr=False)
    texts: Texts = field(repr=False, compare=False)

    @property
    def folder(self) -> File:
        """The folder that paths in the file are relative to."""
        return self.path.parent

    def error(self, message: str, *path: str | int) -> SpecError:
        """An error that points at a key, or at the nearest table around it."""
        return SpecError(f"{self.path}: {message}", place_of(self.text, self.spans, path))

    def entries(self, one: str, many: str) -> dict[str, Entry]:
        """The tables under a name that may stand alone or have names of their own: models, populations."""
        found = {DEFAULT: Entry(self, (one,), self.content[one])} if one in self.content else {}
        return found | {name: Entry(self, (many, name), each) for name, each in self.content.get(many, {}).items()}

    @property
    def files(self) -> dict[str, str]:
        """Every text that it names, by the name that it has for it: specifications, interventions and programs.

        Raises
        ------
        UsageError
            Where one cannot be read.
        """
        named = [source for entry in self.properties() if (source := entry.get("nomos")) and is_file_name(source)]
        named += [source for source in self.content.get("interventions", {}).values() if isinstance(source, str)]
        people = self.entries("population", "populations").values()
        named += [entry.get("program") for entry in people if entry.get("program")]
        return {name: self.texts.read(name) for name in dict.fromkeys(named)}

    def properties(self) -> list[Entry]:
        """What must hold, in order."""
        return [Entry(self, ("property", k), each) for k, each in enumerate(self.content.get("property", []))]


@dataclass(frozen=True, slots=True)
class Entry:
    """One table of an audit file, and where it stands."""

    file: AuditFile
    path: KeyPath
    content: Mapping[str, Any]

    @property
    def line(self) -> int:
        """The line on which it begins, from 1."""
        place = place_of(self.file.text, self.file.spans, self.path)
        return 1 if place is None else place.line

    def get(self, key: str, otherwise: Any = None) -> Any:
        """The value of a key."""
        return self.content.get(key, otherwise)

    def error(self, message: str, *key: str | int) -> SpecError:
        """An error that points at a key of it."""
        return self.file.error(message, *self.path, *key)


def read_audit_file(path: str | File) -> AuditFile:
    """Read an audit file.

    Raises
    ------
    UsageError
        Where there is no such file.
    SpecError
        Where it is no TOML, a key is unknown, or a value is not what its key takes; the error names file, line and
        key, says what is allowed, and which name is nearest.
    """
    file = File(path)
    return _checked(file, _text(file), FromFolder(file.parent))


def recorded_audit_file(path: str | File, text: str, files: Mapping[str, str]) -> AuditFile:
    """An audit file of which a record has the text, and the texts that it names; nothing is read from disk.

    Raises
    ------
    SpecError
        As :func:`read_audit_file` does.
    """
    return _checked(File(path), text, FromRecord(files))


def _checked(file: File, text: str, texts: Texts) -> AuditFile:
    try:
        content = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # also a number of too many digits, or brackets within brackets
        raise SpecError(f"{file} is no TOML: {error}") from error
    if _has_long_integer(content):
        raise SpecError(f"{file} is no TOML: it has a whole number of more than 64 bits")
    found = AuditFile(file, text, content, positions(text), texts)
    _check_table(found, (), content, TOP, "an audit file")
    for one, many, keys in (("model", "models", MODEL), ("population", "populations", POPULATION)):
        for name, entry in found.entries(one, many).items():
            _check_table(
                found, entry.path, entry.content, keys, f"the {one} {name!r}" if name != DEFAULT else f"[{one}]"
            )
    _check_properties(found, content.get("property", []))
    return found


def is_file_name(source: str) -> bool:
    """Whether a specification is named by its file, and not written out."""
    return source.strip().endswith(".nom")


def place_of(text: str, known: Mapping[KeyPath, Span], path: KeyPath) -> Place | None:
    """The place of a key, or of the nearest table around it that has one."""
    for length in range(len(path), 0, -1):
        if path[:length] in known:
            return Place(text, *known[path[:length]])
    return None


def _has_long_integer(value: Any) -> bool:
    """Whether a whole number is beyond those that every reader of TOML takes."""
    if isinstance(value, dict | list):
        return any(map(_has_long_integer, value.values() if isinstance(value, dict) else value))
    return isinstance(value, int) and value.bit_length() > 64


def _text(file: File) -> str:
    try:
        return file.read_text("utf-8")
    except FileNotFoundError as error:
        beside = [other.name for other in file.parent.glob("*.toml")] if file.parent.is_dir() else []
        hint = nearest(file.name, beside) or " It is TOML with [model], [population] and [[property]] tables."
        raise UsageError(f"expected an audit file, but {file} does not exist.{hint}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"expected an audit file that can be read as UTF-8, but {file}: {error}") from error


def _check_table(file: AuditFile, path: KeyPath, table: Any, keys: Mapping[str, Key], what: str) -> None:
    if not isinstance(table, dict):
        raise file.error(f"expected {what} as a table, but {table!r} came", *path)
    for name, value in table.items():
        if name not in keys:
            raise file.error(
                f"{what} has no key {name!r}.{nearest(name, keys)} It may have {', '.join(keys)}", *path, name
            )
        if name == "property" and not path:
            continue
        if not keys[name].takes(value):
            raise file.error(
                f"expected {name}, {keys[name].purpose}, as {keys[name].words}, but {_brief(value)} came", *path, name
            )


def _check_properties(file: AuditFile, found: Any) -> None:
    if not isinstance(found, list):
        raise file.error("expected each property under a header [[property]] with two brackets", "property")
    if not found:
        raise file.error(
            f"expected at least one property, [[property]], with one of {', '.join(ASKS)}; for example "
            "check = \"P[prediction == 1 | sex == 'F'] >= 0.3\""
        )
    for number, table in enumerate(found):
        path: KeyPath = ("property", number)
        _check_table(file, path, table, PROPERTY, f"property {number + 1}")
        asked = [key for key in ASKS if key in table]
        if len(asked) != 1:
            told = f"has {' and '.join(asked)}" if asked else "has none of them"
            raise file.error(f"expected property {number + 1} to have one of {', '.join(ASKS)}, but it {told}", *path)


def _brief(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
