"""The entries of the reference as plain Markdown, for readers on a code host: the folder ``reference``.

``python docs/make_reference.py`` writes it. Pages, order and names are those of ``docs/reference``; texts and types
come from the source, read by Griffe as for the built pages.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from roles import ROLE, one_each

ENTRY = re.compile(r"^::: (?P<path>isonomia\S+)\n(?P<options>(?: +.*\n)*)", re.MULTILINE)
TITLE = re.compile(r"^# (?P<title>[^{\n]+)", re.MULTILINE)
WIDTH = 100
"""The longest signature in one line."""


def write_pages(source: Path) -> None:
    """Write a page for each page of ``docs/reference`` with entries, and the list of them."""
    folder = source.parents[1] / "reference"
    folder.mkdir(exist_ok=True)
    pages = pages_of(source)
    for old in {each.name for each in folder.glob("*.md")} - set(pages):
        (folder / old).unlink()
    for name, text in pages.items():
        if not (folder / name).exists() or (folder / name).read_text("utf-8") != text:
            (folder / name).write_text(text, "utf-8")
            print("written:", folder / name)


def pages_of(source: Path) -> dict[str, str]:
    """Every page by its name, with ``README.md``, the list."""
    import griffe

    loader = griffe.GriffeLoader(search_paths=[source.parents[1] / "src"], docstring_parser=griffe.Parser.numpy)
    package = loader.load("isonomia")
    loader.resolve_aliases()
    pages, listed = {}, []
    for page in sorted(source.glob("*.md")):
        text = page.read_text("utf-8")
        entries = [(found["path"], found["options"]) for found in ENTRY.finditer(text)]
        if entries:
            title = TITLE.findall(text)[0].strip()
            parts = (part for path, options in entries for part in _entry(package, path, options))
            pages[page.name] = "\n\n".join([f"# {title}", _NOTE.format(page=page.name), *parts]) + "\n"
            names = ", ".join(f"`{path.rpartition('.')[2]}`" for path, _ in entries)
            listed.append(f"- [{title}]({page.name}): {names}")
    return {"README.md": "\n".join(["# Reference", "", _LIST, "", *listed, ""]), **pages}


_NOTE = (
    "Made from the docstrings by `python docs/make_reference.py`; [the page of the documentation]"
    "(../docs/reference/{page}) has the text around them."
)
_LIST = (
    "Every public class and function, made from the docstrings by `python docs/make_reference.py`. Commands, audit "
    "files and JSON are described in [the documentation](../docs/reference/index.md)."
)


def _entry(package: Any, path: str, options: str) -> Iterator[str]:
    """One entry with its members, as far as the page shows them."""
    found = _target(package[path.partition(".")[2]])
    headed = "show_root_heading: false" not in options
    if headed:
        yield f"## `{path}`"
    yield from _described(found, path.rpartition(".")[2])
    if "members: false" in options or not (found.is_class or found.is_module):
        return
    listed = re.search(r"members: \[(.*?)\]", options)
    for name, member in found.members.items():
        own = not name.startswith("_") and (member.is_alias is False) and member.docstring is not None
        if own and (listed is None or name in listed[1].split(", ")):
            yield f"### `{name if found.is_module else f'{found.name}.{name}'}`"
            yield from _described(member, name)
            if member.is_class:
                for inner, part in member.members.items():
                    if not inner.startswith("_") and not part.is_alias and part.docstring is not None:
                        yield f"#### `{name}.{inner}`"
                        yield from _described(part, inner)


def _target(found: Any) -> Any:
    return found.final_target if found.is_alias else found


def _described(found: Any, name: str) -> Iterator[str]:
    """Signature or type, then the sections of the docstring."""
    if found.is_function or found.is_class:
        yield f"```python\n{_signature(found, name)}\n```"
    elif found.is_attribute and found.annotation is not None:
        yield f"Type: `{found.annotation}`"
    if found.docstring is None:
        return
    found.docstring.value = one_each(found.docstring.value)
    for section in found.docstring.parse("numpy", warnings=False):
        yield from _section(section)


def _signature(found: Any, name: str) -> str:
    """The call as it is written, one parameter a line where it is long."""
    parts, keywords_only = [], False
    for each in found.parameters:
        kind = each.kind.value if each.kind else ""
        if each.name in {"self", "cls"}:
            continue
        if kind == "keyword-only" and not keywords_only:
            keywords_only = True
            if not any(part.startswith("*") for part in parts):
                parts.append("*")
        stars = {"variadic positional": "*", "variadic keyword": "**"}.get(kind, "")
        default = "" if each.default is None or stars else f" = {each.default}"
        parts.append(f"{stars}{each.name}{f': {each.annotation}' if each.annotation else ''}{default}")
    returned = f" -> {found.returns}" if found.is_function and found.returns is not None else ""
    line = f"{name}({', '.join(parts)}){returned}"
    return line if len(line) <= WIDTH else f"{name}(\n    " + ",\n    ".join(parts) + f",\n){returned}"


def _section(section: Any) -> Iterator[str]:
    value = section.value
    match section.kind.value:
        case "text":
            yield _text(value)
        case "parameters" | "other parameters" | "attributes":
            yield f"**{section.kind.value.capitalize()}**"
            yield _listing((each.name, each.annotation, each.value, each.description) for each in value)
        case "returns" | "yields" | "raises" | "warns":
            yield f"**{section.kind.value.capitalize()}**"
            yield _listing(("", each.annotation, None, each.description) for each in value)
        case "examples":
            for kind, text in value:
                yield _text(text) if kind.value == "text" else f"```pycon\n{text}\n```"
        case "admonition":
            yield f"**{section.title or value.kind.capitalize()}**"
            yield _text(value.contents)


def _listing(rows: Iterable[tuple[str, Any, Any, str]]) -> str:
    """A list; neighbours of which the same is said share it, each with its own type."""
    lines = []
    for words, alike in groupby(rows, key=itemgetter(3)):
        names = ", ".join(_named(*each[:3]) for each in alike)
        lines.append(f"- {names}: " + _text(words).replace("\n", "\n  "))
    return "\n".join(lines)


def _named(name: str, annotation: Any, default: Any) -> str:
    about = [f"`{annotation}`"] if annotation else []
    about += [f"default `{default}`"] if default is not None else []
    return f"`{name}` ({', '.join(about)})" if name and about else f"`{name}`" if name else ", ".join(about)


def _text(text: str) -> str:
    return ROLE.sub(lambda found: f"`{found['name'].rpartition('.')[2]}`", text).strip()
