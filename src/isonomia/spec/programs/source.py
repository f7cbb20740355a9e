"""The text of a program, and where in it a node of Python's syntax tree stands."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from itertools import accumulate

from isonomia.errors import Place, SpecError

__all__ = ["Source", "equation_source", "plain_text", "program_source"]

# Quotations first, so that a `#` in one of them begins no comment.
_LOOSE = re.compile(r"'(?:\\.|[^'\\\n])*'|\"(?:\\.|[^\"\\\n])*\"|#[^\n]*|\\\n|\n")


@dataclass(frozen=True, slots=True)
class Source:
    r"""A text as it was written, and as Python's parser sees it.

    Guarantees that every place lies within the text, whatever line and column it is made from.

    Attributes
    ----------
    text
        What errors point at.
    seen
        What the parser reads: the same characters from ``skipped`` on, some of them blanked out. Its lines end at
        ``\n`` only.
    """

    text: str
    seen: str
    skipped: int
    lines: tuple[str, ...] = field(init=False, repr=False)
    starts: tuple[int, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        lines = tuple(self.seen.split("\n"))
        starts = accumulate((len(line) + 1 for line in lines[:-1]), initial=self.skipped)
        object.__setattr__(self, "lines", lines)
        object.__setattr__(self, "starts", tuple(starts))

    def place(self, node: ast.AST) -> Place:
        """The stretch of a node of Python's tree."""
        start = self._of_bytes(getattr(node, "lineno", 1), getattr(node, "col_offset", 0))
        end = self._of_bytes(getattr(node, "end_lineno", None) or 1, getattr(node, "end_col_offset", None) or 0)
        return Place(self.text, start, max(start, end))

    def between(self, first: ast.AST, last: ast.AST) -> Place:
        """The stretch from the beginning of one node to the end of another."""
        return Place(self.text, self.place(first).start, self.place(last).end)

    def at(self, line: int | None, column: int | None) -> int:
        """The character at a line and a column counted from 1, or the nearest one that there is."""
        row = self._row(line or 1)
        return self.starts[row] + min(max((column or 1) - 1, 0), len(self.lines[row]))

    def _of_bytes(self, line: int, offset: int) -> int:
        # The parser counts bytes; people count characters.
        written = self.lines[self._row(line)]
        before = offset if written.isascii() else len(written.encode()[:offset].decode(errors="ignore"))
        return self.at(line, before + 1)

    def _row(self, line: int) -> int:
        return min(max(line - 1, 0), len(self.lines) - 1)


def program_source(text: str) -> Source:
    """A whole program, as it stands."""
    return Source(text, text, 0)


def equation_source(text: str) -> Source:
    """One expression: line ends and comments are blanked out, so that it may run over several lines."""
    flat = _LOOSE.sub(_blank, text)
    skipped = len(flat) - len(flat.lstrip())
    return Source(text, flat[skipped:], skipped)


def _blank(found: re.Match[str]) -> str:
    return found[0] if found[0][0] in "'\"" else " " * len(found[0])


def plain_text(text: str) -> str:
    r"""A text without byte-order mark and with ``\n`` at the end of each line.

    Raises
    ------
    SpecError
        For a character that no text file can hold: a null, or half of a surrogate pair.
    """
    plain = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    if "\0" in plain:
        start = plain.index("\0")
        shown = plain.replace("\0", "\ufffd").encode(errors="replace").decode()
        raise SpecError("there is a null character here: is this a text file?", Place(shown, start, start + 1))
    try:
        plain.encode()
    except UnicodeEncodeError as error:
        shown = plain.encode(errors="replace").decode()
        message = "this character is half of a pair and has no meaning alone: save the file as UTF-8"
        raise SpecError(message, Place(shown, error.start, error.start + 1)) from None
    return plain
