"""Reading an audit file: what it may hold, key by key, what it does hold, and on which line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from isonomia.audits.registry import file_keys
from isonomia.errors import RecordError, SpecError, UsageError, nearest
from isonomia.toml import KeyPath, TomlText
from isonomia.wording import shortened

DEFAULT = "default"
"""The name of the model and the population that have no name of their own."""


@dataclass(frozen=True, slots=True)
class AuditFile:
    """An audit file as it is written: every key is known, and every value is of the right kind."""

    path: Path  # the file
    toml: TomlText = field(repr=False)  # what it holds, and where each key is
    texts: Texts = field(repr=False, compare=False)  # gives the texts that it names

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
        """The tables of models or populations: the one without a name, and the named ones."""
        alone = {DEFAULT: FileTable(self, (one,), self.content[one])} if one in self.content else {}
        named = self.content.get(many, {})
        return alone | {name: FileTable(self, (many, name), table) for name, table in named.items()}

    def properties(self) -> list[FileTable]:
        """What must hold, in order."""
        tables = self.content.get("property", [])
        return [FileTable(self, ("property", index), table) for index, table in enumerate(tables)]

    @property
    def reads_disk(self) -> bool:
        """Whether the texts that it names are read from disk, not from a record."""
        return not isinstance(self.texts, RecordedTexts)

    def named_texts(self) -> list[tuple[FileTable, str, str]]:
        """Every text that it names, with the table and the key: specifications, interventions and programs."""
        kinds = file_keys()
        found = [(table, key, table.get(key)) for table in self.properties() for key in kinds if key in table.content]
        found = [(table, key, name) for table, key, name in found if kinds[key].is_file(name)]
        changes = FileTable(self, ("interventions",), self.content.get("interventions", {}))
        found += [(changes, key, name) for key, name in changes.content.items() if isinstance(name, str)]
        people = self.entries("population", "populations").values()
        return found + [(table, "program", table.get("program")) for table in people if table.get("program")]

    @property
    def files(self) -> dict[str, str]:
        """Every text that it names, by the name that it uses."""
        return {name: self.texts.read(name) for name in dict.fromkeys(name for _, _, name in self.named_texts())}


@dataclass(frozen=True, slots=True)
class FileTable:
    """One table of an audit file, and where it is."""

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
        """An error that points at one of its keys."""
        return self.file.error(message, *self.path, *key)


def read_audit_file(path: str | Path) -> AuditFile:
    """Read an audit file."""
    file = Path(path)
    hint = " It is TOML with [model], [population] and [[property]] tables."
    return _checked(file, file_text(file, "an audit file", hint), FolderTexts(file.parent))


def recorded_audit_file(path: str | Path, text: str, files: Mapping[str, str]) -> AuditFile:
    """The audit file of a record, which has its text and the texts that it names; nothing is read from disk."""
    return _checked(Path(path), text, RecordedTexts(files))


class Texts(Protocol):
    """Gives the texts that an audit file names."""

    def read(self, name: str) -> str:
        """The text of a file, by the name that the audit file uses."""


@dataclass(slots=True)
class FolderTexts:
    """Files of a folder. Each is read once, so that the record of a run has what was used in it."""

    folder: Path
    _texts: dict[str, str] = field(default_factory=dict)

    def read(self, name: str) -> str:
        """The text of a file; a ``UsageError`` where it cannot be read, with the nearest name beside it."""
        if name not in self._texts:
            path = self.folder / name
            try:
                if path.exists() and not path.is_file():
                    raise UsageError(
                        f"expected a file, but {path} is not one: it is a folder, or something to wait for"
                    )
                self._texts[name] = path.read_text("utf-8")
            except FileNotFoundError as error:
                beside = [other.name for other in path.parent.iterdir()] if path.parent.is_dir() else []
                raise UsageError(f"there is no file {path}.{nearest(path.name, beside)}") from error
            except (OSError, ValueError) as error:  # not UTF-8, or a name that no file has
                raise UsageError(f"expected a file that can be read as UTF-8, but {path}: {error}") from error
        return self._texts[name]


@dataclass(frozen=True, slots=True)
class RecordedTexts:
    """Texts recorded with a run; nothing is read from disk."""

    texts: Mapping[str, str]

    def read(self, name: str) -> str:
        """The text as it was; a ``RecordError`` where the record does not have it."""
        if name not in self.texts:
            raise RecordError(f"expected the text of {name!r} in the record, but it is not there")
        return self.texts[name]


def file_text(file: Path, what: str, hint: str) -> str:
    """The text of a file that a user named; the error for a missing one has the nearest name, or a hint."""
    try:
        return file.read_text("utf-8")
    except FileNotFoundError as error:
        beside = [other.name for other in file.parent.glob("*.toml")] if file.parent.is_dir() else []
        hint = nearest(file.name, beside) or hint
        raise UsageError(f"expected {what}, but {file} does not exist.{hint}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"expected {what} that can be read as UTF-8, but {file}: {error}") from error


def _checked(path: Path, text: str, texts: Texts) -> AuditFile:
    toml = TomlText.parse(text, str(path))
    file = AuditFile(path, toml, texts)
    check_keys(toml, toml.content, TOP, "an audit file")
    for one, many, keys in (("model", "models", MODEL), ("population", "populations", POPULATION)):
        for name, table in file.entries(one, many).items():
            what = f"the {one} {name!r}" if name != DEFAULT else f"[{one}]"
            check_keys(toml, table.content, keys, what, *table.path)
    _check_properties(toml, toml.content.get("property", []))
    return file


def check_keys(toml: TomlText, table: Any, keys: Mapping[str, Key], what: str, *path: str | int) -> None:
    """Refuse a table with an unknown key, or with a value of the wrong kind; an error calls it ``what``."""
    toml.check_table(table, keys, what, *path)
    for name, value in table.items():
        key = keys[name]
        if name == "property" and not path:
            continue
        if not key.takes(value):
            message = f"expected {name}, {key.purpose}, as {key.words}, but got {shortened(repr(value), 60)}"
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
        check_keys(toml, table, keys, f"property {index + 1}", "property", index)
        asked = [key for key in kinds if key in table]
        if len(asked) != 1:
            given = f"has {' and '.join(asked)}" if asked else "has none of them"
            message = f"expected property {index + 1} to have one of {', '.join(kinds)}, but it {given}"
            raise toml.error(message, "property", index)


Kind: TypeAlias = str
"""One of ``text``, ``number``, ``whole``, ``truth``, ``texts``, ``table``, ``tables``, ``value``, ``budget``,
``looks``."""

WORDS: Mapping[Kind, str] = {
    "text": "text in quotes",
    "number": "a number",
    "whole": "a whole number",
    "truth": "true or false",
    "texts": "a list of texts",
    "table": "a table",
    "tables": "tables of its own",
    "value": "a value",
    "budget": "a number of samples or text such as '1e6, 5min'",
    "looks": "'any', 'once', a number of planned looks, or 'of 5' for one of five reports, which the records count",
}


@dataclass(frozen=True, slots=True)
class Key:
    """One key: what it takes, and what it is for."""

    kind: Kind
    purpose: str

    @property
    def words(self) -> str:
        """What it takes, in words."""
        return WORDS[self.kind]

    def takes(self, value: Any) -> bool:
        """Whether a value is of its kind."""
        match self.kind:
            case "text":
                return isinstance(value, str)
            case "number":
                return isinstance(value, int | float) and not isinstance(value, bool)
            case "whole":
                return isinstance(value, int) and not isinstance(value, bool)
            case "truth":
                return isinstance(value, bool)
            case "texts":
                return isinstance(value, list) and all(isinstance(item, str) for item in value)
            case "table" | "tables":
                return isinstance(value, dict)
            case "looks":
                return isinstance(value, str | int) and not isinstance(value, bool)
            case "budget":
                return isinstance(value, str | int | float) and not isinstance(value, bool)
            case _:
                return True


TOP: Mapping[str, Key] = {
    "title": Key("text", "what is audited, for the report"),
    "delta": Key("number", "the risk of any wrong answer in the whole audit, divided over its properties"),
    "seed": Key("whole", "makes the audit repeatable"),
    "budget": Key("budget", "the most samples, rows sent to the model, or time for each property"),
    "looks": Key("looks", "how many looks there are at the samples of each property"),
    "stop": Key("text", "when the check of each property ends: 'decided', 'precise' or 'all'"),
    "width": Key("number", "how narrow an interval `stop = 'precise'` goes for"),
    "workers": Key("whole", "how many workers ask the model at once: threads, unless `executor` says otherwise"),
    "executor": Key("text", "where the model runs: threads, processes, loky, dask, ray or mpi"),
    "jobs": Key("whole", "how many properties are checked at once"),
    "records": Key("text", "the folder for records"),
    "cache": Key("text", "a file that keeps the model's answers from run to run"),
    "model": Key("table", "the model"),
    "models": Key("tables", "more models, by name"),
    "population": Key("table", "whom it is about"),
    "populations": Key("tables", "more populations, by name"),
    "interventions": Key("tables", "what people can change: files, by name"),
    "property": Key("tables", "what must hold"),
}

MODEL: Mapping[str, Key] = {
    "load": Key("text", "a file, a folder, a URL, or module:object"),
    "features": Key("texts", "the columns that it is given, in order"),
    "options": Key("table", "what its kind of model takes besides"),
    "cache_key": Key("text", "which version of the model it is, for the cache"),
    "random": Key("truth", "whether it may answer the same row differently"),
}

POPULATION: Mapping[str, Key] = {
    "sample": Key("text", "a table whose rows are independent draws"),
    "census": Key("text", "a table whose rows are everybody"),
    "generator": Key("text", "module:function that draws a batch"),
    "program": Key("text", "a program that draws people"),
    "domain": Key("text", "module:object with inputs of its own, for k-safety"),
    "exact": Key("truth", "for a census: whether everybody is asked"),
    "order": Key("text", "for a sample: random or file, the order in which rows are used"),
    "cluster": Key("text", "for a sample: the column that says which rows belong together"),
    "weigh": Key("text", "with cluster: rows or clusters, what counts the same"),
    "max_cluster": Key("whole", "with cluster: the most rows that one can have"),
    "values": Key("table", "the values that columns can have"),
    "device": Key(
        "text", "where a generator or a program draws by torch: cuda, cpu, or auto for cuda if there is some"
    ),
}

_PROPERTY: Mapping[str, Key] = {
    "with": Key("table", "what the property takes"),
    "model": Key("text", "which of the models"),
    "population": Key("text", "which of the populations"),
    "delta": Key("number", "its own risk; it does not count towards that of the whole audit"),
    "budget": Key("budget", "its own budget"),
    "looks": Key("looks", "how many looks there are at its own samples"),
    "stop": Key("text", "when its own check ends"),
    "width": Key("number", "how narrow its own interval is to be"),
    "method": Key("text", "how it is decided: auto, exact, bets, region or verifair"),
    "ranges": Key("table", "the lowest and highest value of columns: {income = [0, 1e6]}"),
    "control": Key("text", "the error rate of named groups: family-wise (family) or false discovery rate (discovery)"),
    "why": Key("text", "why it must hold, for the report"),
}


def property_keys() -> dict[str, Key]:
    """The keys of a property: those that say what kind it is, of which it must have exactly one, and all others."""
    kinds = {name: Key(key.takes, key.purpose) for name, key in file_keys().items()}
    return {"name": Key("text", "what to call it"), **kinds, **_PROPERTY}


def sections() -> dict[str, Mapping[str, Key]]:
    """The keys of the tables that a file may have several of."""
    return {"model": MODEL, "population": POPULATION, "property": property_keys()}
