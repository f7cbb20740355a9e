"""A watch in one TOML file: what must hold, where decisions come from, and who receives alerts.

Like an audit file, it may come from a stranger: :mod:`isonomia.audits.audit_file.permissions` finds in its text what
needs permission, before anything is opened.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from isonomia.audits.audit_file.planner import models_of, property_of
from isonomia.audits.audit_file.reader import (
    DEFAULT,
    MODEL,
    AuditFile,
    FileTable,
    FolderTexts,
    RecordedTexts,
    TextSource,
    TomlKey,
    checked_file,
    file_text,
)
from isonomia.audits.protocol import Permissions
from isonomia.errors import UsageError, nearest
from isonomia.models.http import sender_to
from isonomia.models.process import Command
from isonomia.models.protocol import Model
from isonomia.records.store import FOLDER
from isonomia.watch.databases import PostgresTable, SqliteTable
from isonomia.watch.monitor import AlertChannel, AlertCommand, Webhook
from isonomia.watch.source import FolderSource, StandardInput, StreamSource
from isonomia.watch.stream import DECISIONS, OUTCOMES
from isonomia.watch.watch import Watch

TOP: Mapping[str, TomlKey] = {
    "title": TomlKey("text", "the subject of the watch, for the page and for alerts"),
    "alpha": TomlKey("number", "the probability that there is ever a false alarm"),
    "run_length": TomlKey("number", "instead of alpha: the mean number of samples to a false alarm"),
    "delta": TomlKey("number", "the risk of the verdicts so far, and of the intervals for the last samples"),
    "window": TomlKey("whole", "the number of last samples that *now* covers"),
    "seed": TomlKey("whole", "assigns samples to overlapping groups"),
    "budget": TomlKey("text", "the most rows that are ever sent to the model: '100000 queries'"),
    "store": TomlKey("written", "the file that stores the watch; default: .isonomia/NAME.sqlite next to NAME.toml"),
    "page": TomlKey("written", "a page that is rewritten at each update"),
    "source": TomlKey("table", "where decisions come from"),
    "outcomes": TomlKey("table", "outcomes that come late"),
    "values": TomlKey("table", "the values of columns that a property uses with `for`: {race = ['A', 'B']}"),
    "ranges": TomlKey("table", "the lowest and highest value of columns: {income = [0, 1e6]}"),
    "model": TomlKey("table", "the model; leave it out if the rows have the decisions"),
    "alert": TomlKey("table", "who receives alerts"),
    "property": TomlKey("tables", "what must hold"),
}

PLACES: Mapping[str, TomlKey] = {
    "folder": TomlKey(
        "data", "a folder to which files are added: CSV, Parquet or JSON lines, in the order of their names"
    ),
    "sqlite": TomlKey("data", "an SQLite file"),
    "postgres": TomlKey(
        "database", "the connection to PostgreSQL, without a password: 'host=db dbname=hiring user=audit'"
    ),
    "postgres_env": TomlKey("database", "the environment variable with the connection to PostgreSQL"),
    "table": TomlKey("text", "the table of the database"),
    "key": TomlKey("text", "the column of the table with a whole number that increases from row to row"),
}

SOURCE: Mapping[str, TomlKey] = {
    **PLACES,
    "lines": TomlKey("text", "standard input: 'jsonl', one JSON object per line, or 'csv' with a header"),
    "again": TomlKey("truth", "for standard input: whether the sender begins with the first line at every start"),
    "time": TomlKey(
        "text", "the column that says when a decision was made, such as 2026-05-01T10:00, for counts per day"
    ),
}

OUTCOME: Mapping[str, TomlKey] = {
    "column": TomlKey("text", "the column of the outcome"),
    "id": TomlKey("text", "the column that identifies samples, among the decisions and among the outcomes"),
    "patience": TomlKey("whole", "the number of later samples after which a sample without an outcome is left out"),
    **PLACES,
}

ALERT: Mapping[str, TomlKey] = {
    "command": TomlKey("command", "a program with its arguments; it reads the alert, as JSON, from its standard input"),
    "webhook": TomlKey("webhook", "an address to which the alert is sent as JSON, by POST"),
    "webhook_env": TomlKey("webhook", "instead of webhook: the environment variable that holds the address"),
    "token_env": TomlKey("token", "the environment variable that holds the token for the webhook"),
    "token_header": TomlKey("text", "the header for the token; default: Authorization"),
    "timeout": TomlKey("number", "the time limit of the program or the webhook, in seconds; default: 30"),
}

PROPERTY: Mapping[str, TomlKey] = {
    "name": TomlKey("text", "what to call it"),
    "check": TomlKey("claim", "a formula over rates and means"),
    "fairness": TomlKey("claim", "a named fairness property"),
    "with": TomlKey("options", "the arguments of a named property"),
    "why": TomlKey("text", "why it must hold, for the page"),
}

KINDS = ("folder", "sqlite", "postgres", "postgres_env", "lines")
"""The keys that say what kind of source it is."""


def sections() -> dict[str, Mapping[str, TomlKey]]:
    """The keys of the tables of a watch file."""
    return {
        "source": SOURCE,
        "outcomes": OUTCOME,
        "alert": ALERT,
        "model": {name: MODEL[name] for name in ("load", "features", "options")},
        "property": PROPERTY,
    }


def read_watch_file(path: str | Path) -> AuditFile:
    """Read a watch file: every key is known, and every value is of the right kind."""
    file = Path(path)
    hint = " It is TOML with alpha or run_length, a [source] table and [[property]] tables."
    checked = _checked(file, file_text(file, "a watch file", hint), FolderTexts(file.parent))
    if "source" not in checked.content:
        raise checked.error(
            "expected the source of decisions: a table [source] with folder = 'decisions', sqlite, postgres or lines"
        )
    return checked


def recorded_watch_file(path: str | Path, text: str) -> AuditFile:
    """A watch file whose text is in a record; it has no source if the watch was made in Python."""
    return _checked(Path(path), text, RecordedTexts({}))


def _checked(file: Path, text: str, texts: TextSource) -> AuditFile:
    schema = {"": TOP, **sections()}
    return checked_file(file, text, texts, schema, "a watch file", "check = \"P[hired | sex == 'F'] >= 0.3\"")


def watch_of(file: AuditFile, permissions: Permissions, model: Model | None = None) -> Watch:
    """The watch that a file describes, before any sample; its model is opened unless one is given."""
    content, late = file.content, file.content.get("outcomes", {})
    if ("alpha" in content) == ("run_length" in content):
        raise file.error(
            "expected either alpha, the risk that there is ever a false alarm, or run_length, the mean number of "
            "samples between false alarms: alpha = 0.01, or run_length = 100000"
        )
    if "outcomes" in content and not {"column", "id"} <= set(late):
        raise file.error("expected column, that of the outcome, and id, which identifies samples", "outcomes")
    properties = [property_of(entry, {}, permissions) for entry in file.properties()]
    for name in ("values", "ranges"):
        for column, listed in content.get(name, {}).items():
            if not isinstance(listed, list) or (name == "ranges" and len(listed) != 2):
                wanted = "the values" if name == "values" else "the lowest and the highest value"
                raise file.error(f"expected {wanted} of {column!r} as a list, but got {listed!r}", name, column)
    try:
        return Watch(
            properties,
            **{
                key: content[key]
                for key in ("alpha", "run_length", "delta", "window", "seed", "budget")
                if key in content
            },
            model=models_of(file, permissions, {}).get(DEFAULT) if model is None else model,
            values=content.get("values"),
            ranges={column: (low, high) for column, (low, high) in content.get("ranges", {}).items()},
            outcome=late.get("column"),
            id=late.get("id"),
            patience=late.get("patience"),
        )
    except UsageError as error:
        raise file.error(str(error), *([error.name] if error.name else [])) from error


def source_of(file: AuditFile, permissions: Permissions) -> StreamSource:
    """Where decisions come from."""
    return _source(FileTable(file, ("source",), file.content["source"]), permissions, DECISIONS)


def outcomes_of(file: AuditFile, permissions: Permissions) -> StreamSource | None:
    """Where late outcomes come from; ``None`` if the watch has no late outcomes, or reads them from standard input."""
    if "outcomes" not in file.content:
        return None
    entry = FileTable(file, ("outcomes",), file.content["outcomes"])
    if any(kind in entry.content for kind in KINDS):
        return _source(entry, permissions, OUTCOMES)
    if file.content["source"].get("lines") == "jsonl":
        return None
    raise entry.error("expected the source of outcomes: folder, sqlite or postgres, with table and key")


def described(file: AuditFile, permissions: Permissions) -> str | None:
    """Where decisions and outcomes come from, in words; ``None`` if the watch was made in Python."""
    if "source" not in file.content:
        return None
    sources = source_of(file, permissions), outcomes_of(file, permissions)
    return "; outcomes: ".join(source.describe() for source in sources if source is not None)


def store_of(file: AuditFile) -> Path:
    """The file that keeps the watch."""
    named = file.content.get("store")
    return file.folder / (named if named is not None else f"{FOLDER}/{file.path.stem}.sqlite")


def channels_of(file: AuditFile) -> list[AlertChannel]:
    """The channels for alerts."""
    entry = FileTable(file, ("alert",), file.content.get("alert", {}))
    timeout = float(entry.get("timeout", 30.0))
    channels: list[AlertChannel] = []
    if "command" in entry.content:
        if not entry.get("command"):
            raise entry.error("expected a program and its arguments, but the list is empty", "command")
        channels.append(AlertCommand(Command(tuple(entry.get("command")), file.folder.resolve(), timeout)))
    if "webhook" in entry.content and "webhook_env" in entry.content:
        raise entry.error("expected webhook or webhook_env, but got both", "webhook_env")
    if "webhook" in entry.content or "webhook_env" in entry.content:
        given = (entry.get("token_env"), entry.get("token_header", "Authorization"), timeout, 2)
        try:
            channels.append(Webhook(sender_to(_address(entry), *given)))
        except UsageError as error:
            key = error.name if error.name in ALERT else "webhook"
            raise entry.error(str(error), str(key)) from None
    elif "token_env" in entry.content:
        raise entry.error("expected webhook with token_env: the token is only for the webhook", "token_env")
    return channels


def _address(entry: FileTable) -> str:
    if "webhook" in entry.content:
        return str(entry.get("webhook"))
    variable = str(entry.get("webhook_env"))
    address = os.environ.get(variable, "").strip()
    if not address.startswith(("http://", "https://")):
        # What is there instead of an address may be a secret, and is not repeated.
        raise entry.error(
            f"expected an address such as https://host/path in the environment variable {variable}, but it "
            f"{'holds something else' if address else 'is not set'}",
            "webhook_env",
        )
    return address


def _source(entry: FileTable, permissions: Permissions, brings: str) -> StreamSource:
    given = [kind for kind in KINDS if kind in entry.content]
    if len(given) != 1:
        came = f"it has {' and '.join(given)}" if given else "it has none of them"
        raise entry.error(f"expected one of {', '.join(KINDS)} below [{entry.path[0]}], but {came}")
    (kind,) = given
    known = {"folder": (), "lines": ("again",)}.get(kind, ("table", "key"))
    for key in ("table", "key", "again"):
        if key in entry.content and key not in known:
            raise entry.error(f"{key} does not apply to {kind}", key)
        if key not in entry.content and key in known and key != "again":
            what = "the table of the database" if key == "table" else "the column with an increasing whole number"
            raise entry.error(f"expected {key}, {what}")
    value = str(entry.get(kind))
    late = entry.file.content.get("outcomes", {})
    id, time = late.get("id"), entry.content.get("time")  # noqa: A001  (the word for it)
    match kind:
        case "folder":
            inside = None if permissions.allow_code or permissions.allow_outside else entry.folder.resolve()
            return FolderSource(entry.folder / value, value, brings, inside, id)
        case "lines":
            if value not in {"jsonl", "csv"}:
                hint = nearest(value, ["jsonl", "csv"])
                raise entry.error(f"expected 'jsonl' or 'csv', but got {value!r}.{hint}", kind)
            columns = (late["id"], late["column"]) if {"id", "column"} <= set(late) else None
            return StandardInput(value, bool(entry.get("again", False)), columns, time=time)
        case "sqlite":
            return SqliteTable(entry.folder / value, value, entry.get("table"), entry.get("key"), brings, id, time)
        case _:
            _check_address(entry, kind, value)
            address, variable = (None, value) if kind == "postgres_env" else (value, None)
            return PostgresTable(address, variable, entry.get("table"), entry.get("key"), brings, id, time)


def _check_address(entry: FileTable, kind: str, value: str) -> None:
    if kind == "postgres_env":
        if not value.isidentifier():
            raise entry.error("expected the name of an environment variable, not its value", kind)
        return
    if "password" in value.lower() or ("://" in value and "@" in value and ":" in value.split("://")[1].split("@")[0]):
        raise entry.error(
            "expected no password in a file: put all of it into an environment variable and name that, "
            "postgres_env = 'DATABASE_URL', or keep the password where PostgreSQL looks for it, in ~/.pgpass",
            kind,
        )
