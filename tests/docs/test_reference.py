"""Every public name has an entry in the built reference.

What is public is said on ``docs/reference/index.md``; :func:`public_names` is the same as a program. It is the built
HTML that is looked at.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from html import unescape
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import pytest
from built_site import Site

import isonomia

ROOT = Path(__file__).resolve().parents[2]
COLLECTIONS = ("fairness", "groups", "responsiveness", "safety")
OPEN = (
    "isonomia.interventions",
    "isonomia.models",
    "isonomia.populations",
    "isonomia.populations.domains",
    "isonomia.records",
)
"""The modules whose ``__all__`` is public, besides the package itself and its collections."""

OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
SAID = re.compile(r"^(?:\$ )?isonomia [^\n]*|`--[^`\n]*`", re.MULTILINE)
"""Where a page names options: a command, or an option in code."""

OTHER_OPTIONS = {"--version", "--help", "--install-completion", "--dist", "--junit-xml"}
"""Those of every command, and of pytest itself."""

OTHER_PROGRAMS = {"benchmarks.md", "mutation.md"}


def public_names() -> dict[str, Any]:
    """Every public name of Python as it is imported, with what it stands for."""
    return listed_names() | {path: resolved(path) for path in _shown_imports()}


def listed_names() -> dict[str, Any]:
    """Those that a module lists in its ``__all__``."""
    found = {f"isonomia.{name}": getattr(isonomia, name) for name in isonomia.__all__}
    for name in COLLECTIONS:
        collection = found[f"isonomia.{name}"]
        found |= {f"isonomia.{name}.{each}": getattr(collection, each) for each in collection.__all__}
    for path in OPEN:
        module = import_module(path)
        found |= {f"{path}.{each}": getattr(module, each) for each in module.__all__}
    return found


def resolved(path: str) -> Any:
    """What a dotted path stands for; a name of a package goes before a module of the same name."""
    found: Any = isonomia
    for depth, name in enumerate(path.split(".")[1:], start=2):
        if not hasattr(found, name):
            import_module(".".join(path.split(".")[:depth]))
        found = getattr(found, name)
    return found


def _shown_imports() -> Iterator[str]:
    """What the pages and the gallery tell people to import."""
    sources = [path.read_text("utf-8") for path in ROOT.glob("examples/*/*.py")]
    for page in (ROOT / "README.md", *ROOT.glob("docs/**/*.md")):
        sources += re.findall(r"^```python[^\n]*\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    for source in sources:
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "isonomia":
                yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_every_public_name_has_an_entry_in_the_reference(site: Site) -> None:
    described = {id(each) for each in map(_resolved, site.entries) if each is not None}
    top = {f"isonomia.{name}" for name in isonomia.__all__}
    missing = [
        path
        for path, value in public_names().items()
        if path not in site.entries and (path in top or id(value) not in described)
    ]
    assert not missing


def _resolved(path: str) -> Any:
    try:
        return resolved(path) if path.startswith("isonomia.") else None
    except (AttributeError, ImportError):  # an attribute that only instances have
        return None


def test_every_method_of_a_class_at_the_top_of_the_package_has_an_entry(site: Site) -> None:
    missing = [
        f"{path}.{name}"
        for path, value in public_names().items()
        if path.count(".") == 1 and isinstance(value, type)
        for name, member in vars(value).items()
        if not name.startswith("_") and isinstance(member, property | classmethod | staticmethod | FunctionType)
        if f"{path}.{name}" not in site.entries
    ]
    assert not missing


def test_every_parameter_of_a_listed_name_is_described() -> None:
    missing = [
        f"{path}: {name}"
        for path, value in listed_names().items()
        for name in _parameters(value)
        if name not in _described(value)
    ]
    assert not missing


def _parameters(value: Any) -> list[str]:
    """Those of a function or of a class that people make; not of an error, nor of a protocol."""
    made = isinstance(value, type) and not issubclass(value, Exception) and not getattr(value, "_is_protocol", False)
    found = inspect.signature(value).parameters if made or isinstance(value, FunctionType) else {}
    return [name for name in found if not name.startswith("_")]


def _described(value: Any) -> set[str]:
    """The names that a docstring describes, or that of the collection where many functions share them."""
    text = inspect.getdoc(value) or ""
    if "fairness" in value.__module__.split("."):
        text += isonomia.fairness.__doc__ or ""
    listed = re.findall(r"^[*\w]+(?:, [*\w]+)*$", text, re.MULTILINE)
    quoted = re.findall(r"``([^`]*)``", text)
    return {name for line in (*listed, *quoted) for name in re.findall(r"\w+", line)}


ITEM = re.compile(
    r'<li class="doc-section-item field-body">\s*<b><code>(?P<name>\w+)</code></b>\s*(?:\(<code>(?P<type>.*?)</code>)?'
    r"(?=\s*[,)]|\s*–)",
    re.DOTALL,
)
"""A parameter or attribute in the built pages, with its type."""


def test_every_documented_type_is_the_annotation_of_its_parameter(site: Site) -> None:
    compared, wrong = 0, []
    for page in site.identifiers:
        if page.parent.name == "reference":
            starts = re.split(r'id="(isonomia[\w.]*)" class="doc', page.read_text("utf-8"))
            for path, part in zip(starts[1::2], starts[2::2], strict=True):
                known = _annotations(_resolved(path))
                for item in ITEM.finditer(part):
                    shown = _plain(unescape(re.sub(r"<[^>]+>", "", item["type"] or "")))
                    if item["name"] in known:
                        compared += 1
                        if shown != known[item["name"]]:
                            wrong.append(f"{path}: {item['name']} is {known[item['name']]}, shown as {shown}")
    assert not wrong
    assert compared > 400


def test_parameters_that_share_a_description_have_an_entry_each() -> None:
    roles = _making("roles")
    text = "Sum.\n\nParameters\n----------\nlow, high\n    The ends.\n\n    Both.\nn\n    How many.\n"
    assert roles.one_each(text).count("    The ends.\n\n    Both.\n") == 2
    assert "low\n    The" in roles.one_each(text)
    assert "high\n    The" in roles.one_each(text)


def _annotations(value: Any) -> dict[str, str]:
    """The annotations of a function's parameters or of a class's attributes and parameters, as they are written."""
    found: dict[str, Any] = {}
    if isinstance(value, type):
        for each in reversed(value.__mro__[:-1]):
            found |= inspect.get_annotations(each)
    if isinstance(value, type | FunctionType):
        with suppress(TypeError, ValueError):
            known = inspect.signature(value).parameters.items()
            found |= {name: each.annotation for name, each in known if isinstance(each.annotation, str)}
    return {name: _plain(each) for name, each in found.items() if isinstance(each, str)}


def _plain(annotation: str) -> str:
    """An annotation without spaces and modules; ``OneOf`` is what ``Literal`` is imported as where that is a node."""
    short = re.sub(r"\b(?:[a-z_]+\.)+(?=[A-Za-z])", "", "".join(annotation.split()))
    return short.replace('"', "'").replace("OneOf[", "Literal[")


def test_the_plain_pages_say_what_the_docstrings_say() -> None:
    pytest.importorskip("griffe", reason="the reference is read where isonomia[docs] is installed")
    made = _making("plain_reference").pages_of(ROOT / "docs" / "reference")
    stale = [name for name, text in made.items() if _text(ROOT / "reference" / name) != text]
    assert not stale, "run python docs/make_reference.py"
    assert {each.name for each in (ROOT / "reference").glob("*.md")} == set(made)


def test_the_tables_of_the_reference_say_what_the_program_goes_by() -> None:
    making = _making()
    stale = [
        page.name for page in (ROOT / "docs" / "reference").glob("*.md") if making.renewed(_text(page)) != _text(page)
    ]
    assert not stale, "run python docs/make_reference.py"


def test_every_option_that_a_page_names_is_one() -> None:
    making = _making()
    known = set(OPTION.findall(making.commands() + making.pytest_options())) | OTHER_OPTIONS
    pages = [ROOT / "README.md", *ROOT.glob("examples/**/*.md"), *ROOT.glob("docs/**/*.md")]
    unknown = [
        f"{page.name}: {option}"
        for page in pages
        if page.name not in OTHER_PROGRAMS
        for said in SAID.findall(_text(page))
        for option in OPTION.findall(said)
        if option not in known
    ]
    assert not unknown


def test_every_table_that_is_made_stands_on_a_page() -> None:
    making = _making()
    found = {each["name"] for page in (ROOT / "docs").rglob("*.md") for each in making.MADE.finditer(_text(page))}
    assert found == set(making.TABLES)


def _text(page: Path) -> str:
    return page.read_text("utf-8")


def _making(name: str = "make_reference") -> ModuleType:
    if str(ROOT / "docs") not in sys.path:
        sys.path.append(str(ROOT / "docs"))  # what makes the pages lies there, side by side
    spec = spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
