"""What is sent to a service: JSON with a place for the rows."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from isonomia.errors import UsageError, nearest
from isonomia.models.services_rows import PlainRows

__all__ = ["Template"]

_MANY = ("$rows", "$matrix", "$columns")
_ONE = ("$row", "$vector")
_NAKED = re.compile(r'(?<!["\w$])\$\w+(?!")')
_MARK = re.compile(r"\$\w+")
_MEANING = (
    "$rows (a list of objects), $matrix (a list of lists), $columns (an object of lists), or, for one row a request, "
    "$row (an object) or $vector (a list)"
)


@dataclass(frozen=True, slots=True)
class Template:
    """A request, with a mark where the rows belong.

    Attributes
    ----------
    tree
        The JSON value, in which a text that is a mark stands for rows.
    single
        Whether a request is about one row.
    """

    tree: Any
    single: bool

    @classmethod
    def of(cls, request: str | Mapping[str, Any]) -> Template:
        """Read a template: JSON text in which a mark may stand without quotes, or the value itself.

        Raises
        ------
        UsageError
            Where it is no JSON, has no mark, an unknown one, or marks of both kinds.
        """
        tree = _parsed(request) if isinstance(request, str) else request
        marks = _marks(tree)
        for mark in marks:
            if mark not in _MANY + _ONE:
                raise UsageError(
                    f"request has the mark {mark}, but the marks are {_MEANING}.{nearest(mark, _MANY + _ONE)}"
                )
        if not marks:
            raise UsageError(f"request should have a mark where the rows belong, but {request!r} has none: {_MEANING}.")
        if len({mark in _ONE for mark in marks}) > 1:
            raise UsageError(f"request should be about one row or about many, but it has {' and '.join(marks)}.")
        return cls(tree, marks[0] in _ONE)

    def body(self, rows: PlainRows) -> bytes:
        """The request about some rows; for a single one, about the first."""
        return json.dumps(_filled(self.tree, rows), allow_nan=False).encode()


def _parsed(text: str) -> Any:
    try:
        return json.loads(_NAKED.sub(lambda mark: f'"{mark[0]}"', text))
    except json.JSONDecodeError as error:
        raise UsageError(f"request should be JSON with a mark for the rows, but {text!r} is not: {error}.") from error


def _marks(tree: Any) -> list[str]:
    match tree:
        case str() if _MARK.fullmatch(tree):
            return [tree]
        case dict():
            return [mark for part in tree.values() for mark in _marks(part)]
        case list():
            return [mark for part in tree for mark in _marks(part)]
        case _:
            return []


def _filled(tree: Any, rows: PlainRows) -> Any:
    match tree:
        case "$rows":
            return rows.objects()
        case "$matrix":
            return rows.matrix()
        case "$columns":
            return rows.by_column()
        case "$row":
            return rows.objects()[0]
        case "$vector":
            return rows.matrix()[0]
        case dict():
            return {key: _filled(part, rows) for key, part in tree.items()}
        case list():
            return [_filled(part, rows) for part in tree]
        case _:
            return tree
