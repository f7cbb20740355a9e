"""Reading an audit file: what it may hold, key by key, what it does hold, and on which line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from isonomia.audits.registry import file_keys
from isonomia.errors import RecordError, SpecError, UsageError, nearest
from isonomia.toml import KeyPath, TomlText
from isonomia.wording import shortened

Schema: TypeAlias = Mapping[str, Mapping[str, "TomlKey"]]
"""The keys of a file by the name of the table; those of the file itself come first, under an empty name."""

DEFAULT = "default"
"""The name of the model and the population that have no name of their own."""


@dataclass(frozen=True, slots=True)
class AuditFile:
    """An audit file as it is written: every key is known, and every value is of the right kind."""

    path: Path  # the file
    toml: TomlText = field(repr=False)  # what it holds, and where each key is
    texts: TextSource = field(repr=False, compare=False)  # gives the texts that it names
    schema: Schema = field(repr=False, compare=False)  # the keys that its tables may have

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

    def tables(self) -> Iterator[tuple[FileTable, Mapping[str, TomlKey]]]:
        """Every table with the keys that it may have, the whole file first."""
        for name, keys in self.schema.items():
            tables = self.entries(name, f"{name}s").values() if name else (FileTable(self, (), self.content),)
            for table in self.properties() if name == "property" else tables:
                yield table, keys

    @property
    def reads_disk(self) -> bool:
        """Whether the texts that it names are read from disk, not from a record."""
        return not isinstance(self.texts, RecordedTexts)

    def named_texts(self) -> list[tuple[FileTable, str, str]]:
        """Every text that it names, with the table and the key: specifications, interventions and programs."""
        named = [
            (table, key, table.get(key))
            for key, kind in file_keys().items()
            for table in self.properties()
            if key in table.content and kind.is_file(table.get(key))
        ]
        changes = FileTable(self, ("interventions",), self.content.get("interventions", {}))
        named += [(changes, key, name) for key, name in changes.content.items() if isinstance(name, str)]
        people = self.entries("population", "populations").values()
        return named + [(table, "program", table.get("program")) for table in people if table.get("program")]

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


def _checked(path: Path, text: str, texts: TextSource) -> AuditFile:
    example = "check = \"P[prediction == 1 | sex == 'F'] >= 0.3\""
    return checked_file(path, text, texts, {"": TOP, **sections()}, "an audit file", example)


def recorded_audit_file(path: str | Path, text: str, files: Mapping[str, str]) -> AuditFile:
    """The audit file of a record, which has its text and the texts that it names; nothing is read from disk."""
    return _checked(Path(path), text, RecordedTexts(files))


class TextSource(Protocol):
    """Gives the texts that an audit file names."""

    def read(self, name: str) -> str:
        """The text of a file, by the name that the audit file uses."""


@dataclass(slots=True)
class FolderTexts:
    """Files of a folder. Each is read once, so that the record of a run has what was used in it."""

    folder: Path
    _texts: dict[str, str] = field(default_factory=dict)

    def read(self, name: str) -> str:
        """The text of a file; a ``UsageError`` where it cannot be read, with the nearest name in the folder."""
        if name not in self._texts:
            self._texts[name] = file_text(self.folder / name, "a file", "")
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
        if file.exists() and not file.is_file():  # reading a pipe would wait
            raise UsageError(f"expected {what}, but {file} is not a regular file")
        return file.read_text("utf-8")
    except FileNotFoundError as error:
        names = [other.name for other in file.parent.glob(f"*{file.suffix}")] if file.parent.is_dir() else []
        raise UsageError(f"expected {what}, but {file} does not exist.{nearest(file.name, names) or hint}") from error
    except (OSError, ValueError) as error:  # not UTF-8, or an impossible name
        raise UsageError(f"expected {what} that can be read as UTF-8, but {file}: {error}") from error


def checked_file(path: Path, text: str, texts: TextSource, schema: Schema, what: str, example: str) -> AuditFile:
    """A file whose every key is known, and every value of the right kind; its errors call it ``what``."""
    toml = TomlText.parse(text, str(path))
    file = AuditFile(path, toml, texts, schema)
    claims = [name for name in file_keys() if name in schema["property"]]
    for table, keys in file.tables():
        name = _called(table) or what
        _check_keys(table, keys, name)
        if not table.path:
            _check_list(toml, table.get("property", []), f"one of {', '.join(claims)}; for example {example}")
        given = [key for key in claims if key in table.content]
        if table.path[:1] == ("property",) and len(given) != 1:
            came = f"has {' and '.join(given)}" if given else "has none of them"
            raise table.error(f"expected {name} to have one of {', '.join(claims)}, but it {came}")
    return file


def _called(table: FileTable) -> str:
    """What messages call a table; nothing for the whole file."""
    match table.path:
        case ("property", int(index)):
            return f"property {index + 1}"
        case (many, name):
            return f"the {str(many).removesuffix('s')} {name!r}"
        case _:
            return "".join(f"[{name}]" for name in table.path)


def _check_list(toml: TomlText, properties: Any, wanted: str) -> None:
    if not isinstance(properties, list):
        raise toml.error("expected each property under a header [[property]] with two brackets", "property")
    if not properties:
        raise toml.error(f"expected at least one property, [[property]], with {wanted}")


def _check_keys(table: FileTable, keys: Mapping[str, TomlKey], what: str) -> None:
    """Refuse a table with an unknown key, or with a value of the wrong kind; an error calls it ``what``."""
    table.file.toml.check_table(table.content, keys, what, *table.path)
    for name, value in table.content.items():
        key = keys[name]
        if not key.takes(value) and (table.path or name != "property"):
            message = f"expected {name}, {key.purpose}, as {key.words}, but got {shortened(repr(value), 60)}"
            raise table.error(message, name)


Kind: TypeAlias = str
"""What a key takes, and what that gives access to: one of ``KINDS``."""

_TEXT = "text in quotes"

KINDS: Mapping[Kind, tuple[str, Any]] = {
    "text": (_TEXT, str),
    "number": ("a number", int | float),
    "whole": ("a whole number", int),
    "truth": ("true or false", bool),
    "texts": ("a list of texts", list),
    "table": ("a table", dict),
    "tables": ("tables of its own", dict),
    "budget": ("a number of samples or text such as '1e6, 5min'", str | int | float),
    "looks": (
        "'any', 'once', a number of planned looks, or 'of 5' for one of five reports, which the records count",
        str | int,
    ),
    "claim": (_TEXT, str),  # what must hold, or a file that says it
    "options": ("a table", dict),  # what a property takes, which may name files
    "model": (_TEXT, str),  # a file, a folder, a URL, or module:object
    "module": (_TEXT, str),  # module:object, whose code is run
    "data": (_TEXT, str),  # a file, a folder or a pattern that is read
    "rows": (_TEXT, str),  # the same, or module:object
    "named text": (_TEXT, str),  # a file whose text belongs to the audit
    "written": (_TEXT, str),  # a file or a folder that is written
    "executor": (_TEXT, str),
    "database": (_TEXT, str),  # how to connect to one
    "command": ("a list of texts", list),  # a program that is run
    "webhook": (_TEXT, str),  # an address that is called, or the environment variable that holds it
    "token": (_TEXT, str),  # the environment variable that holds a secret
}
"""What a key of each kind takes, in words and as types. :data:`isonomia.audits.audit_file.permissions.NEEDS` says for
each of them which permission it needs, so that no key can be read without."""


@dataclass(frozen=True, slots=True)
class TomlKey:
    """One key: what it takes, and what it is for."""

    kind: Kind
    purpose: str

    @property
    def words(self) -> str:
        """What it takes, in words."""
        return KINDS[self.kind][0]

    def takes(self, value: Any) -> bool:
        """Whether a value is of its kind."""
        wanted = KINDS[self.kind][1]
        if isinstance(value, list):
            return wanted is list and all(isinstance(item, str) for item in value)
        return isinstance(value, wanted) and (wanted is bool or not isinstance(value, bool))


TOP: Mapping[str, TomlKey] = {
    "title": TomlKey("text", "the subject of the audit, for the report"),
    "delta": TomlKey("number", "the risk of any wrong answer in the whole audit, divided over its properties"),
    "seed": TomlKey("whole", "makes the audit repeatable"),
    "budget": TomlKey("budget", "the most samples, rows sent to the model, tokens, money or time for each property"),
    "looks": TomlKey("looks", "the number of looks at the samples of each property"),
    "stop": TomlKey("text", "when the check of each property ends: 'decided', 'precise' or 'all'"),
    "width": TomlKey("number", "the interval width at which `stop = 'precise'` ends"),
    "workers": TomlKey("whole", "how many workers ask the model at once: threads, unless `executor` says otherwise"),
    "executor": TomlKey("executor", "where the model runs: threads, processes, loky, dask, ray or mpi"),
    "jobs": TomlKey("whole", "how many properties are checked at once"),
    "records": TomlKey("written", "the folder for records"),
    "cache": TomlKey("written", "a file that keeps the model's answers from run to run"),
    "model": TomlKey("table", "the model"),
    "models": TomlKey("tables", "more models, by name"),
    "population": TomlKey("table", "the population"),
    "populations": TomlKey("tables", "more populations, by name"),
    "interventions": TomlKey("tables", "what people can change: files, by name"),
    "property": TomlKey("tables", "what must hold"),
}

MODEL: Mapping[str, TomlKey] = {
    "load": TomlKey("model", "a file, a folder, a URL, or module:object"),
    "features": TomlKey("texts", "the columns that it is given, in order"),
    "options": TomlKey("table", "further options of its kind of model"),
    "cache_key": TomlKey("text", "which version of the model it is, for the cache"),
    "random": TomlKey("truth", "whether it may answer the same row differently"),
}

POPULATION: Mapping[str, TomlKey] = {
    "sample": TomlKey("rows", "a table whose rows are independent draws: a path, or module:object"),
    "census": TomlKey("rows", "a table whose rows are the whole population: a path, or module:object"),
    "generator": TomlKey("module", "module:function that draws a batch"),
    "program": TomlKey("named text", "a program that draws people"),
    "domain": TomlKey("module", "module:object with its own inputs, for k-safety"),
    "exact": TomlKey("truth", "for a census: whether all rows are counted"),
    "order": TomlKey("text", "for a sample: random or file, the order in which rows are used"),
    "cluster": TomlKey("text", "for a sample: the column that says which rows belong together"),
    "weigh": TomlKey("text", "with cluster: rows or clusters, which of them have equal weight"),
    "max_cluster": TomlKey("whole", "with cluster: the maximum number of rows in a cluster"),
    "labels": TomlKey(
        "table", "for a sample of few labels: {column = 'human', judge = 'judge', probability = 0.2}, or its column"
    ),
    "values": TomlKey("table", "the values that columns can have"),
    "device": TomlKey(
        "text", "where a generator or a program draws with torch: cuda, cpu, or auto (cuda if available)"
    ),
}

_PROPERTY: Mapping[str, TomlKey] = {
    "with": TomlKey("options", "what the property takes"),
    "model": TomlKey("text", "which of the models"),
    "models": TomlKey(
        "table", "several models for the same rows, {new = 'candidate', old = 'answer'}: models, or stored columns"
    ),
    "population": TomlKey("text", "which of the populations"),
    "delta": TomlKey("number", "its own risk; it is not part of the total risk of the audit"),
    "budget": TomlKey("budget", "its own budget"),
    "looks": TomlKey("looks", "the number of looks at its own samples"),
    "stop": TomlKey("text", "when its own check ends"),
    "width": TomlKey("number", "the width at which its own interval is narrow enough"),
    "method": TomlKey("text", "how it is decided: auto, exact, bets, region or verifair"),
    "ranges": TomlKey("table", "the lowest and highest value of columns: {income = [0, 1e6]}"),
    "control": TomlKey(
        "text", "the error rate of named groups: family-wise (family) or false discovery rate (discovery)"
    ),
    "why": TomlKey("text", "why it must hold, for the report"),
}


def property_keys() -> dict[str, TomlKey]:
    """The keys of a property: those that say what kind it is, of which it must have exactly one, and all others."""
    kinds = {
        name: TomlKey("claim" if key.takes == "text" else key.takes, key.purpose) for name, key in file_keys().items()
    }
    return {"name": TomlKey("text", "what to call it"), **kinds, **_PROPERTY}


def sections() -> dict[str, Mapping[str, TomlKey]]:
    """The keys of the tables of an audit file."""
    return {"model": MODEL, "population": POPULATION, "property": property_keys()}
