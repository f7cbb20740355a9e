"""Reading an audit file: what is written there, checked key by key, and where it stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from isonomia.audits.audit_file.schema import MODEL, POPULATION, TOP, Key, property_keys
from isonomia.audits.registry import file_keys
from isonomia.errors import RecordError, SpecError, UsageError, nearest
from isonomia.toml import KeyPath, TomlText
from isonomia.wording import shortened

__all__ = ["DEFAULT", "AuditFile", "FileTable", "read_audit_file", "recorded_audit_file"]

DEFAULT = "default"
"""What the model and the population are called that have no name of their own."""


@dataclass(frozen=True, slots=True)
class AuditFile:
    """An audit file as it is written: every key is known, and every value is of the right kind.

    Attributes
    ----------
    path
        The file.
    toml
        What it holds, and where each key stands.
    texts
        Where the texts come from that it names.
    """

    path: Path
    toml: TomlText = field(repr=False)
    texts: Texts = field(repr=False, compare=False)

    @property
    def text(self) -> str:
        """The text of the file."""
        return self.toml.text

    @property
    def content(self) -> Mapping[str, Any]:
        """What it holds."""
        return self.toml.content

    @property
    def folder(self) -> Path:
        """The folder that paths in the file are relative to."""
        return self.path.parent

    def error(self, message: str, *path: str | int) -> SpecError:
        """An error that points at a key, or at the nearest table around it."""
        return self.toml.error(message, *path)

    def entries(self, one: str, many: str) -> dict[str, FileTable]:
        """The tables under a name that may stand alone or have names of their own: models, populations."""
        alone = {DEFAULT: FileTable(self, (one,), self.content[one])} if one in self.content else {}
        named = self.content.get(many, {})
        return alone | {name: FileTable(self, (many, name), table) for name, table in named.items()}

    def properties(self) -> list[FileTable]:
        """What must hold, in order."""
        tables = self.content.get("property", [])
        return [FileTable(self, ("property", index), table) for index, table in enumerate(tables)]

    @property
    def files(self) -> dict[str, str]:
        """Every text that it names, by the name that it has for it: specifications, interventions and programs."""
        kinds, tables = file_keys(), [table.content for table in self.properties()]
        names = [table[key] for table in tables for key in kinds if key in table and kinds[key].is_file(table[key])]
        names += [source for source in self.content.get("interventions", {}).values() if isinstance(source, str)]
        populations = self.entries("population", "populations").values()
        names += [table.get("program") for table in populations if table.get("program")]
        return {name: self.texts.read(name) for name in dict.fromkeys(names)}


@dataclass(frozen=True, slots=True)
class FileTable:
    """One table of an audit file, and where it stands."""

    file: AuditFile
    path: KeyPath
    content: Mapping[str, Any]

    @property
    def line(self) -> int:
        """The line on which it begins, from 1."""
        place = self.file.toml.place(*self.path)
        return 1 if place is None else place.line

    @property
    def folder(self) -> Path:
        """The folder that paths in the file are relative to."""
        return self.file.folder

    def get(self, key: str, otherwise: Any = None) -> Any:
        """The value of a key."""
        return self.content.get(key, otherwise)

    def read(self, name: str) -> str:
        """The text of a file that it names."""
        return self.file.texts.read(name)

    def error(self, message: str, *key: str | int) -> SpecError:
        """An error that points at a key of it."""
        return self.file.error(message, *self.path, *key)


def read_audit_file(path: str | Path) -> AuditFile:
    """Read an audit file."""
    file = Path(path)
    return _checked(file, _text(file), FolderTexts(file.parent))


def recorded_audit_file(path: str | Path, text: str, files: Mapping[str, str]) -> AuditFile:
    """An audit file of which a record has the text, and the texts that it names; nothing is read from disk."""
    return _checked(Path(path), text, RecordedTexts(files))


class Texts(Protocol):
    """Gives the texts that an audit file names."""

    def read(self, name: str) -> str:
        """The text of a file, by the name that the audit file has for it."""


@dataclass(slots=True)
class FolderTexts:
    """Files of a folder. Each is read once, so that what is written down of a run is what was used in it."""

    folder: Path
    _texts: dict[str, str] = field(default_factory=dict)

    def read(self, name: str) -> str:
        """The text of a file; a ``UsageError`` where it cannot be read, with the nearest name beside it."""
        if name not in self._texts:
            path = self.folder / name
            try:
                self._texts[name] = path.read_text("utf-8")
            except FileNotFoundError as error:
                beside = [other.name for other in path.parent.iterdir()] if path.parent.is_dir() else []
                raise UsageError(f"there is no file {path}.{nearest(path.name, beside)}") from error
            except (OSError, UnicodeDecodeError) as error:
                raise UsageError(f"expected a file that can be read as UTF-8, but {path}: {error}") from error
        return self._texts[name]


@dataclass(frozen=True, slots=True)
class RecordedTexts:
    """Texts that were written down with a run; the disk is never looked at."""

    texts: Mapping[str, str]

    def read(self, name: str) -> str:
        """The text as it was; a ``RecordError`` where the record does not have it."""
        if name not in self.texts:
            raise RecordError(f"expected the text of {name!r} in the record, but it is not there")
        return self.texts[name]


def _text(file: Path) -> str:
    try:
        return file.read_text("utf-8")
    except FileNotFoundError as error:
        beside = [other.name for other in file.parent.glob("*.toml")] if file.parent.is_dir() else []
        hint = nearest(file.name, beside) or " It is TOML with [model], [population] and [[property]] tables."
        raise UsageError(f"expected an audit file, but {file} does not exist.{hint}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"expected an audit file that can be read as UTF-8, but {file}: {error}") from error


def _checked(path: Path, text: str, texts: Texts) -> AuditFile:
    toml = TomlText.parse(text, str(path))
    file = AuditFile(path, toml, texts)
    _check_table(toml, toml.content, TOP, "an audit file")
    for one, many, keys in (("model", "models", MODEL), ("population", "populations", POPULATION)):
        for name, table in file.entries(one, many).items():
            what = f"the {one} {name!r}" if name != DEFAULT else f"[{one}]"
            _check_table(toml, table.content, keys, what, *table.path)
    _check_properties(toml, toml.content.get("property", []))
    return file


def _check_table(toml: TomlText, table: Any, keys: Mapping[str, Key], what: str, *path: str | int) -> None:
    toml.check_table(table, keys, what, *path)
    for name, value in table.items():
        key = keys[name]
        if name == "property" and not path:
            continue
        if not key.takes(value):
            message = f"expected {name}, {key.purpose}, as {key.words}, but {shortened(repr(value), 60)} came"
            raise toml.error(message, *path, name)


def _check_properties(toml: TomlText, tables: Any) -> None:
    kinds, keys = file_keys(), property_keys()
    if not isinstance(tables, list):
        raise toml.error("expected each property under a header [[property]] with two brackets", "property")
    if not tables:
        raise toml.error(
            f"expected at least one property, [[property]], with one of {', '.join(kinds)}; for example "
            "check = \"P[prediction == 1 | sex == 'F'] >= 0.3\""
        )
    for index, table in enumerate(tables):
        _check_table(toml, table, keys, f"property {index + 1}", "property", index)
        asked = [key for key in kinds if key in table]
        if len(asked) != 1:
            given = f"has {' and '.join(asked)}" if asked else "has none of them"
            message = f"expected property {index + 1} to have one of {', '.join(kinds)}, but it {given}"
            raise toml.error(message, "property", index)
