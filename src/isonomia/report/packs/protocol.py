"""What every pack has: the rule, the facts that it asks for, and how it fills a document from its subject."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from typing import Literal as OneOf

__all__ = ["Fact", "Pack", "PackContent", "PackTable"]


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that only the user knows.

    Attributes
    ----------
    name, what
        Its name, and what it is, in words.
    paragraph
        The paragraph that asks for it.
    needed
        Whether the document is incomplete without it; otherwise it appears only where it is stated.
    date
        Whether it must be a date, or may contain dates, which are then checked.
    """

    name: str
    what: str
    paragraph: str
    needed: bool = True
    date: OneOf["no", "may", "must"] = "no"


@dataclass(frozen=True, slots=True)
class PackTable:
    """A table of a document: headings, rows of text, and which columns are numbers."""

    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class PackContent:
    """What a template is filled with.

    Attributes
    ----------
    values
        Texts by name, for ``{name}``; an empty one leaves out the lines that depend on it.
    tables
        Tables by name, for ``[[name]]``.
    lists
        Lists of sentences by name, for ``[[name]]`` too.
    pages
        Further documents, each on a page of its own: a title, and content of the same kind.
    """

    values: Mapping[str, str] = field(default_factory=dict)
    tables: Mapping[str, PackTable] = field(default_factory=dict)
    lists: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    pages: tuple[tuple[str, PackContent], ...] = ()


@dataclass(frozen=True, slots=True)
class Pack:
    """A rule, and how its document is filled.

    Attributes
    ----------
    name
        The name on the command line, and of its folder, with underscores there.
    subject
        What it is about: a table by group, refused applicants, or the verdicts of an audit.
    facts
        The facts that it asks for.
    content
        Makes the texts and tables of the document from the subject and the facts that were stated.
    """

    name: str
    subject: OneOf["groups", "refusals", "audit"]
    facts: tuple[Fact, ...]
    content: Callable[[Any, Mapping[str, str]], PackContent]
