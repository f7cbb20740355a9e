"""Reading an audit file: what is written there, checked key by key, and where it stands."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path as File
from typing import Any

from isonomia.audits.audit_file.positions import Path, Span, positions
from isonomia.audits.audit_file.schema import ASKS, MODEL, POPULATION, PROPERTY, TOP, Key
from isonomia.audits.audit_file.texts import FromFolder, FromRecord, Texts
from isonomia.errors import Place, SpecError, UsageError, nearest

__all__ = ["DEFAULT", "AuditFile", "Entry", "is_file_name", "read_audit_file", "recorded_audit_file"]

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
    spans: Mapping[Path, Span] = field(repr=False)
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
    path: Path
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


def place_of(text: str, known: Mapping[Path, Span], path: Path) -> Place | None:
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


def _check_table(file: AuditFile, path: Path, table: Any, keys: Mapping[str, Key], what: str) -> None:
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
        path: Path = ("property", number)
        _check_table(file, path, table, PROPERTY, f"property {number + 1}")
        asked = [key for key in ASKS if key in table]
        if len(asked) != 1:
            told = f"has {' and '.join(asked)}" if asked else "has none of them"
            raise file.error(f"expected property {number + 1} to have one of {', '.join(ASKS)}, but it {told}", *path)


def _brief(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
