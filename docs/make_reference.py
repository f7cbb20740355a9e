"""Writes the tables of the reference that are not docstrings, from what the program goes by itself.

``python docs/make_reference.py`` puts them between ``<!-- made: NAME -->`` and ``<!-- end -->`` of the pages below
``docs/reference``. A test compares, so that a new option or key is not forgotten.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from html import escape
from pathlib import Path
from typing import Any

REFERENCE = Path(__file__).parent / "reference"
ENTRY = re.compile(r"^::: (isonomia\.\S+)\n(?!    options:\n      show_root_heading: false)", re.MULTILINE)
INNER = ("isonomia.audits", "isonomia.evidence", "isonomia.report")
"""Where names are described module by module, which would be too many to list."""
MADE = re.compile(r"(?P<begin><!-- made: (?P<name>[\w ]+) -->\n).*?(?P<end><!-- end -->)", re.DOTALL)


def main() -> None:
    """Write every page that has such a table."""
    for page in sorted(REFERENCE.glob("*.md")):
        text = page.read_text("utf-8")
        if (new := renewed(text)) != text:
            page.write_text(new, "utf-8")
            print("written:", page)


def renewed(text: str) -> str:
    """The text of a page with its tables made again."""
    return MADE.sub(lambda found: f"{found['begin']}\n{TABLES[found['name']]()}\n\n{found['end']}", text)


def table(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """A table in Markdown."""
    lines = [header, ("---",) * len(header), *rows]
    return "\n".join("| " + " | ".join(map(_cell, line)) + " |" for line in lines)


def _cell(text: str) -> str:
    """A cell; the bar between columns is written in a way that all readers of Markdown understand, also in code."""
    coded = re.sub(r"`([^`]*\|[^`]*)`", lambda found: f"<code>{escape(found[1], quote=False)}</code>", text)
    return coded.replace("|", "&#124;")


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
    return table(("page", "names"), rows)


def _short(name: str) -> str:
    """A name as it is written after ``import isonomia as iso``, or after an import from where it lives."""
    first, _, rest = name.removeprefix("isonomia.").partition(".")
    return f"{first}.{rest}" if first in {"fairness", "responsiveness", "safety"} else name.rpartition(".")[2]


SHARED = 3
"""From so many commands on, an option that means the same in all of them is described once."""


def commands() -> str:
    """The options that several commands share, then a section for each command with its own."""
    from typer.main import get_command

    from isonomia.cli.app import app

    found: Mapping[str, Any] = get_command(app).commands  # type: ignore[attr-defined]
    rows = {name: [_row(each) for each in command.params] for name, command in found.items()}
    counts = Counter(row for own in rows.values() for row in own)
    shared = [row for row, count in counts.items() if count >= SHARED and row[0].startswith("`--")]
    first = "\n\n".join(["## Options that several commands share", table(("option", "meaning"), sorted(shared))])
    return "\n\n".join([first, *(_command(name, command, rows[name], shared) for name, command in found.items())])


def _row(parameter: Any) -> tuple[str, str]:
    return _spelled(parameter), f"{_escaped(parameter.help)}{_default(parameter)}"


def _command(name: str, command: Any, rows: list[tuple[str, str]], shared: list[tuple[str, str]]) -> str:
    about = [_about(paragraph) for paragraph in command.help.replace("\\[", "[").split("\n\n")]
    own, others = [row for row in rows if row not in shared], [row[0] for row in rows if row in shared]
    parts = [f"## `isonomia {name}`", *about]
    parts += [table(("argument or option", "meaning"), own)] if own else []
    if others:
        parts.append(f"[Shared](#options-that-several-commands-share): {', '.join(others)}.")
    return "\n\n".join(parts)


def _about(paragraph: str) -> str:
    example = re.fullmatch(r"(Example|Or): (isonomia .*)", paragraph, re.DOTALL)
    return f"{example[1]}: `{example[2]}`" if example else _escaped(paragraph)


def _escaped(text: str) -> str:
    """Text as it stands: what Markdown would take for a sign is none."""
    return re.sub(r"([*_<>`\[\]])", r"\\\1", text)


def _spelled(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return f"`{parameter.metavar or parameter.name.upper()}`"
    value = f" {parameter.metavar}" if parameter.metavar else ""
    return ", ".join(f"`{each}{value}`" for each in (*parameter.opts, *parameter.secondary_opts))


def _default(parameter: Any) -> str:
    value = parameter.default
    return f" Unless given: `{value}`." if isinstance(value, str | int | float) and not isinstance(value, bool) else ""


def audit_file() -> str:
    """A table for each section of an audit file."""
    from isonomia.audits.audit_file.reader import TOP, sections

    parts = {"At the top": TOP} | {f"`[{name}]`": keys for name, keys in sections().items()}
    parts["`[[property]]`"] = parts.pop("`[property]`")
    return "\n\n".join(f"## {title}\n\n{_keys(keys)}" for title, keys in parts.items())


def watch_file() -> str:
    """A table for each section of a watch file."""
    from isonomia.watch.file import TOP, sections

    parts = {"At the top": TOP} | {f"`[{name}]`": keys for name, keys in sections().items()}
    parts["`[[property]]`"] = parts.pop("`[property]`")
    return "\n\n".join(f"### {title}\n\n{_keys(keys)}" for title, keys in parts.items())


def _keys(keys: Mapping[str, Any]) -> str:
    rows = [(f"`{name}`", key.words, _escaped(key.purpose)) for name, key in keys.items()]
    return table(("key", "takes", "what it is for"), rows)


def json_fields() -> str:
    """Every field of the JSON that ``--json`` writes, by its path."""
    from isonomia.report.as_json import schema

    return _fields_of(schema())


def evidence_fields() -> str:
    """Every field of an evidence file, by its path; those of a verdict are the same as above."""
    from importlib.resources import files

    text = files("isonomia.records").joinpath("evidence.schema.json").read_text("utf-8")
    return _fields_of(json.loads(text))


def _fields_of(schema: Mapping[str, Any]) -> str:
    return table(("field", "type", "what it is"), list(_fields(schema, schema.get("$defs", {}), "")))


def _fields(part: Mapping[str, Any], kinds: Mapping[str, Any], path: str) -> Iterator[tuple[str, str, str]]:
    for name, said in part["properties"].items():
        field = _resolved(said, kinds)
        item = _resolved(field.get("items", {}), kinds)
        yield f"`{path}{name}`", _type(field), _escaped(field.get("description", item.get("description", "")))
        if name != "verdict":
            inner, mark = (item, "[]") if item else (field, "")
            yield from _fields(inner, kinds, f"{path}{name}{mark}.") if "properties" in inner else ()


def _resolved(part: Mapping[str, Any], kinds: Mapping[str, Any]) -> dict[str, Any]:
    """A part of a schema with what it refers to, where it says nothing else."""
    return {**kinds.get(part.get("$ref", "").rpartition("/")[2], {}), **part}


def _type(field: Mapping[str, Any]) -> str:
    if "const" in field:
        return f"`{field['const']}`"
    if "enum" in field:
        return ", ".join(f"`{value}`" for value in field["enum"])
    types = field.get("type") or [each["type"] for each in field["anyOf"]]
    return " or ".join([types] if isinstance(types, str) else types)


def pytest_options() -> str:
    """Every option of the pytest plugin, on the command line and in the configuration."""
    from isonomia.pytest_plugin.settings import add_options

    said = _Said()
    add_options(said)  # type: ignore[arg-type]
    rows = [
        (f"`{said.options[name]}`" if name in said.options else "", f"`{name}`", _escaped(what))
        for name, what in said.configured.items()
    ]
    return table(("option", "in the configuration", "what it says"), rows)


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
