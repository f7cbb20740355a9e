"""The glossary has at most thirty terms; each names code that exists, and no class is named with a replaced word."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

import isonomia

SOURCE = Path(isonomia.__file__).parent
PAGE = Path(__file__).resolve().parents[2] / "docs" / "glossary.md"
MOST = 30

ENTRY = re.compile(r"^(\*\*.+?)\n:   (.*?)(?=^\*\*|^## |\Z)", re.MULTILINE | re.DOTALL)


def entries() -> dict[str, str]:
    """The terms with what stands under each."""
    return {match[1].replace("*", ""): match[2] for match in ENTRY.finditer(PAGE.read_text("utf-8"))}


def code_of(entry: str) -> list[str]:
    """The classes and modules that carry a term."""
    line = re.search(r"Code: (.*?)\.(?: Not:|$)", " ".join(entry.split()))
    return re.findall(r"`([^`]+)`", line[1]) if line else []


def replaced_by(entry: str) -> list[str]:
    """The words that are not used for a term."""
    line = re.search(r"Not: ([\w ,-]+)\.", " ".join(entry.split()))
    return line[1].split(", ") if line else []


@cache
def classes() -> set[str]:
    trees = (ast.parse(path.read_text("utf-8")) for path in SOURCE.rglob("*.py"))
    return {node.name for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}


def words(name: str) -> set[str]:
    """The words of a class name or of a module's path."""
    return {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)}


def test_the_glossary_has_at_most_thirty_terms() -> None:
    assert 20 <= len(entries()) <= MOST


@pytest.mark.parametrize("term", entries())
def test_a_term_names_classes_and_modules_that_exist(term: str) -> None:
    names = code_of(entries()[term])
    assert names
    assert [name for name in names if name.endswith(".py") and not (SOURCE / name).is_file()] == []
    assert {name for name in names if not name.endswith(".py")} <= classes()


@pytest.mark.parametrize("term", [term for term, entry in entries().items() if replaced_by(entry)])
def test_no_class_or_module_is_named_with_a_word_that_a_term_replaces(term: str) -> None:
    modules = {path.relative_to(SOURCE).with_suffix("").as_posix() for path in SOURCE.rglob("*.py")}
    for word in replaced_by(entries()[term]):
        forms = {word, f"{word}s"}
        assert [name for name in sorted(classes() | modules) if forms & words(name)] == []
