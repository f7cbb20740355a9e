"""Writes the tables of the reference that are not docstrings, from what the program goes by itself.

``python docs/make_reference.py`` puts them between ``<!-- made: NAME -->`` and ``<!-- end -->`` of the pages below
``docs/reference``. A test compares, so that a new option or key is not forgotten.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

REFERENCE = Path(__file__).parent / "reference"
ENTRY = re.compile(r"^::: (isonomia\.\S+)\n(?!    options:\n      show_root_heading: false)", re.MULTILINE)
INNER = ("isonomia.audits", "isonomia.evidence", "isonomia.report")
"""Where names are described module by module, which would be too many to list."""
MADE = re.compile(r"(?P<begin><!-- made: (?P<name>[\w ]+) -->\n).*?(?P<end><!-- end -->)", re.DOTALL)


def main() -> None:
    """Write every page that has such a table, and every entry as plain Markdown in the folder ``reference``."""
    from plain_reference import write_pages

    for page in sorted(REFERENCE.glob("*.md")):
        text = page.read_text("utf-8")
        if (new := renewed(text)) != text:
            page.write_text(new, "utf-8")
            print("written:", page)
    write_pages(REFERENCE)


def renewed(text: str) -> str:
    """The text of a page with its tables made again."""
    return MADE.sub(lambda found: f"{found['begin']}\n{TABLES[found['name']]()}\n\n{found['end']}", text)


def listing(rows: Iterable[tuple[str, str]]) -> str:
    """A list in Markdown: what is described, then the words; neighbours of the same words share a line."""
    lines = []
    for words, alike in groupby(rows, key=itemgetter(1)):
        name = ", ".join(name for name, _ in alike)
        lines.append(f"- {name}: {words}" if words else f"- {name}")
    return "\n".join(lines)


def names() -> str:
    """Every name that has an entry of its own, by the page on which it stands."""
    rows = []
    for page in sorted(REFERENCE.glob("*.md")):
        text = page.read_text("utf-8")
        entries = [name for name in ENTRY.findall(text) if not name.startswith(INNER)]
        title = text.partition("\n")[0].removeprefix("# ").partition(" {")[0]
        listed = ", ".join(f"[`{_short(name)}`]({page.name}#{name})" for name in entries)
        if entries:
            rows.append((f"[{title}]({page.name})", listed))
    return listing(rows)


def _short(name: str) -> str:
    """A name as it is written after ``import isonomia as iso``, or after an import from where it lives."""
    first, _, rest = name.removeprefix("isonomia.").partition(".")
    return f"{first}.{rest}" if first in {"evals", "fairness", "responsiveness", "safety"} else name.rpartition(".")[2]


SHARED = 2
"""From so many commands on, an option that means the same in all of them is described once."""


def commands() -> str:
    """The options that several commands share, then a section for each command with its own."""
    from dataclasses import fields

    from typer.main import get_command

    from isonomia.cli.app import app
    from isonomia.cli.options import ModelReading

    found: Mapping[str, Any] = get_command(app).commands  # type: ignore[attr-defined]
    rows = {name: [_row(each) for each in command.params] for name, command in found.items()}
    counts = Counter(row for own in rows.values() for row in own)
    names_of_model = {each.name for each in fields(ModelReading)}
    model = {_row(each) for command in found.values() for each in command.params if each.name in names_of_model}
    model = {row for row in model if counts[row] >= SHARED}
    often = [row for row, count in counts.items() if count >= SHARED and row[0].startswith("`--")]
    meanings = Counter(name for name, _ in often)
    shared = {row for row in often if meanings[row[0]] == 1} - model
    parts = [
        "## Options that several commands share",
        listing(sorted(shared)),
        "## How the model is read",
        listing(sorted(model)),
    ]
    return "\n\n".join([*parts, *(_command(name, each, rows[name], shared, model) for name, each in found.items())])


def _row(parameter: Any) -> tuple[str, str]:
    return _spelled(parameter), f"{_escaped(parameter.help)}{_default(parameter)}"


def _command(
    name: str, command: Any, rows: list[tuple[str, str]], shared: set[tuple[str, str]], model: set[tuple[str, str]]
) -> str:
    paragraphs = command.help.replace("\\[", "[").split("\n\n")
    about = [_escaped(paragraph) for paragraph in paragraphs if not paragraph.startswith("Example: ")]
    own, reading = [row for row in rows if row not in shared | model], [row for row in rows if row in model]
    others = [_name(row) for row in rows if row in shared]
    also = [f"[shared](#options-that-several-commands-share) {', '.join(others)}"] if others else []
    if reading:
        some = "" if model <= set(rows) else f": {', '.join(map(_name, reading))}"
        also.append(f"[how the model is read](#how-the-model-is-read){some}")
    parts = [f"## `isonomia {name}`", *about]
    parts += [listing(own)] if own else []
    parts += [f"Also {'; '.join(also)}."] if also else []
    return "\n\n".join(parts)


def _name(row: tuple[str, str]) -> str:
    """An option without what it takes and without its other spellings."""
    return f"`{re.findall(r'--[a-z-]+', row[0])[0]}`"


def _escaped(text: str) -> str:
    """The text with the special characters of Markdown escaped."""
    return re.sub(r"([*_<>`\[\]])", r"\\\1", text)


def _spelled(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return f"`{parameter.metavar or parameter.name.upper()}`"
    value = f" {parameter.metavar}" if parameter.metavar else ""
    return ", ".join(f"`{each}{value}`" for each in (*parameter.opts, *parameter.secondary_opts))


def _default(parameter: Any) -> str:
    value, said = parameter.default, parameter.show_default
    if isinstance(said, str):
        return f" Default: {said}."
    return f" Default: `{value}`." if isinstance(value, str | int | float) and not isinstance(value, bool) else ""


def audit_file() -> str:
    """A table for each section of an audit file."""
    from isonomia.audits.audit_file.reader import TOP, sections

    parts = {"At the top": TOP} | {f"`[{name}]`": keys for name, keys in sections().items()}
    parts["`[[property]]`"] = parts.pop("`[property]`")
    return "\n\n".join(f"## {title}\n\n{_keys(keys)}" for title, keys in parts.items())


def watch_file() -> str:
    """A table for each section of a watch file."""
    from isonomia.audits.audit_file.reader import sections as sections_of_audit
    from isonomia.watch.file import TOP, sections

    others = {f"`[{name}]`": keys for name, keys in sections_of_audit().items()}
    others["`[[property]]`"] = others.pop("`[property]`")
    parts = {"At the top": TOP} | {f"`[{name}]`": keys for name, keys in sections().items()}
    parts["`[[property]]`"] = parts.pop("`[property]`")
    source, made = parts["`[source]`"], []
    for title, keys in parts.items():
        same = [name for name, key in keys.items() if keys is not source and source.get(name) == key]
        audit = [name for name, key in keys.items() if others.get(title, {}).get(name) == key]
        own = {name: key for name, key in keys.items() if name not in (*same, *audit)}
        made += [f"### {title}", *([_keys(own)] if own else [])]
        made += [f"As in `[source]`: {', '.join(f'`{name}`' for name in same)}."] if same else []
        made += [f"As in [an audit file](audit-file.md): {', '.join(f'`{name}`' for name in audit)}."] if audit else []
    return "\n\n".join(made)


SHORT = {
    "text in quotes": "text",
    "a list of texts": "texts",
    "tables of its own": "tables",
    "a number of samples or text such as '1e6, 5min'": "samples, or '1e6, 5min'",
    "'any', 'once', a number of planned looks, or 'of 5' for one of five reports, which the records count": (
        "'any', 'once', a number, or 'of 5'"
    ),
}
"""What a key takes, as an error message says it, and here."""


def _keys(keys: Mapping[str, Any]) -> str:
    """A line for each key, with what it takes where that is not text."""
    kinds = {name: SHORT.get(key.words, key.words).removeprefix("a ") for name, key in keys.items()}
    return listing(
        (f"`{name}`" + ("" if kinds[name] == "text" else f" ({kinds[name]})"), _escaped(key.purpose))
        for name, key in keys.items()
    )


def json_fields() -> str:
    """Every field of the JSON that ``--json`` writes, with its type, below the one that holds it."""
    from isonomia.report.files import schema

    description = schema()
    return "\n".join(_fields(description, description.get("$defs", {}), "", types=True))


def evidence_fields() -> str:
    """Every field of an evidence file; those of a verdict are the same as above."""
    from importlib.resources import files

    schema = json.loads(files("isonomia.records").joinpath("evidence.schema.json").read_text("utf-8"))
    return "\n".join(_fields(schema, {}, "", types=False))


def _fields(part: Mapping[str, Any], kinds: Mapping[str, Any], indent: str, *, types: bool) -> Iterator[str]:
    """A line for each field, or for neighbours described alike; a type that lists its values is always said."""
    rows = []
    for name, said in part["properties"].items():
        field = _resolved(said, kinds)
        item = _resolved(field.get("items", {}), kinds)
        words, kind = _escaped(field.get("description", item.get("description", ""))), _type(field)
        shown = f" ({kind})" if (types and kind != "string") or "`" in kind else ""
        inner = item or field
        nested = name != "verdict" and "properties" in inner
        below = _fields(inner, kinds, f"{indent}    ", types=types) if nested else ()
        rows.append((f"`{name}`", f"{shown}{': ' if words else ''}{words}", tuple(below)))
    for (words, below), alike in groupby(rows, key=itemgetter(1, 2)):
        yield f"{indent}- {', '.join(name for name, _, _ in alike)}{words}"
        yield from below


def _resolved(part: Mapping[str, Any], kinds: Mapping[str, Any]) -> dict[str, Any]:
    """A part of a schema with what it refers to, where it says nothing else."""
    return {**kinds.get(part.get("$ref", "").rpartition("/")[2], {}), **part}


def _type(field: Mapping[str, Any]) -> str:
    if "const" in field:
        return f"`{field['const']}`"
    if "enum" in field:
        return ", ".join(f"`{value}`" for value in field["enum"])
    types = field.get("type") or [each["type"] for each in field["anyOf"]]
    named = [types] if isinstance(types, str) else types
    return " or ".join(name for name in named if name != "null") + "?" * ("null" in named)


def pytest_options() -> str:
    """Every option of the pytest plugin, on the command line and in the configuration."""
    from isonomia.pytest_plugin.audit_files import add_options

    recorder = _Said()
    add_options(recorder)  # type: ignore[arg-type]
    rows = [
        (f"`{recorder.options[name]}`, `{name}`" if name in recorder.options else f"`{name}`", _escaped(what))
        for name, what in recorder.configured.items()
    ]
    return listing(rows)


class _Said:
    """Stands where pytest's own parser would, and writes down what is asked of it."""

    def __init__(self) -> None:
        self.options: dict[str, str] = {}
        self.configured: dict[str, str] = {}

    def getgroup(self, *_: str) -> _Said:
        return self

    def addoption(self, option: str, *, metavar: str = "", **_: Any) -> None:
        self.options[option.removeprefix("--").replace("-", "_")] = f"{option} {metavar}".strip()

    def addini(self, name: str, what: str, **_: Any) -> None:
        self.configured[name] = what


TABLES: Mapping[str, Callable[[], str]] = {
    "names": names,
    "commands": commands,
    "audit file": audit_file,
    "watch file": watch_file,
    "json fields": json_fields,
    "evidence fields": evidence_fields,
    "pytest options": pytest_options,
}

if __name__ == "__main__":
    main()
