"""Cutting the block of Python out of a specification, with every character of the rest kept in its place."""

from __future__ import annotations

import re
from dataclasses import dataclass

from isonomia.errors import Place, SpecError

__all__ = ["Cut", "cut_block"]

_QUOTED = r'"(?:\\.|[^"\\\n])*"|' + r"'(?:\\.|[^'\\\n])*'"
_LONG = r'"""(?:\\.|[^\\])*?"""|' + r"'''(?:\\.|[^\\])*?'''"
_OUTSIDE = re.compile(rf"(?P<skip>//[^\n]*|#[^\n]*|/\*.*?\*/|{_QUOTED})|(?P<brace>\{{)", re.DOTALL)
_INSIDE = re.compile(rf"(?P<skip>#[^\n]*|{_LONG}|{_QUOTED})|(?P<brace>[{{}}])", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Cut:
    """A specification's text with its block blanked out, and where the block's inside begins and ends.

    ``start`` and ``end`` are ``None`` where there is no block.
    """

    blanked: str
    start: int | None
    end: int | None


def cut_block(text: str) -> Cut:
    """Find the block: from the first brace that is in no comment or quotation to the one that closes it.

    Braces inside Python's quotations and comments do not count. Only the first block is cut out; a second one is for
    the grammar to complain about.

    Raises
    ------
    SpecError
        Where the block is never closed.
    """
    start = next((found.end() for found in _OUTSIDE.finditer(text) if found["brace"]), None)
    if start is None:
        return Cut(text, None, None)
    depth = 1
    for found in _INSIDE.finditer(text, start):
        if found["brace"]:
            depth += 1 if found["brace"] == "{" else -1
            if depth == 0:
                inside = re.sub(r"[^\n]", " ", text[start : found.start()])
                return Cut(text[:start] + inside + text[found.start() :], start, found.start())
    raise SpecError("this block is never closed: expected `}`", Place(text, start - 1, start))
