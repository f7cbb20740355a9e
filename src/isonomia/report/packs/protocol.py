"""What every pack has: the rule, the facts that it asks for, and how it fills a document from its subject."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from typing import Literal as OneOf


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
    """A table of a document: headings, rows of text, and which columns are numbers; false where it has no rows."""

    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: frozenset[int] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.rows)


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
        Makes what the template is filled with, by name, from the subject and the facts that were stated: texts, tables,
        lists of sentences, and pages, which have such content of their own.
    """

    name: str
    subject: OneOf["groups", "refusals", "audit"]
    facts: tuple[Fact, ...]
    content: Callable[[Any, Mapping[str, str]], Mapping[str, Any]]
