"""Choosing features by name, by list or by pattern."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

from isonomia.errors import UsageError, nearest

__all__ = ["chosen"]


def chosen(which: str | Sequence[str], names: Sequence[str], what: str = "feature") -> tuple[str, ...]:
    """The names that are chosen: each entry is a name, or a pattern in which ``*`` and ``?`` stand for other letters.

    Raises
    ------
    UsageError
        Where an entry is no name and matches none.
    """
    found: dict[str, None] = {}
    for entry in [which] if isinstance(which, str) else which:
        matches = [entry] if entry in names else [name for name in names if fnmatchcase(name, entry)]
        if not matches:
            raise UsageError(f"there is no {what} {entry!r}, and none matches it.{nearest(entry, names)}")
        found.update(dict.fromkeys(matches))
    return tuple(found)
