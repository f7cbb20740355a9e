"""Short names for what a population or a model is made of, so that a record can be tied to it."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from functools import partial
from hashlib import sha256
from typing import Any
from weakref import WeakKeyDictionary

from isonomia.populations.digests import TableDigest
from isonomia.populations.streaming import LongTable
from isonomia.populations.table import Table

__all__ = ["callable_name", "fingerprint_of", "identity_of", "rows_fingerprint", "source_of", "table_fingerprint"]


def fingerprint_of(*parts: str) -> str:
    """Give the SHA-256 of some texts, in order, as 64 hexadecimal digits."""
    return sha256(json.dumps(parts).encode()).hexdigest()


def table_fingerprint(table: Table) -> str:
    """Give the SHA-256 of a table's names and values, whatever kind of table holds them.

    The order of rows and columns counts. Widths of numbers do not: a column of 32-bit numbers has the
    fingerprint of the same numbers in 64 bits.
    """
    digest = TableDigest(table.names)
    digest.add(table)
    return digest.value()


def rows_fingerprint(rows: Table | LongTable, kept: dict[str, str] | None = None) -> str:
    """Give the fingerprint of a table that is held, or read as it goes.

    Parameters
    ----------
    rows
        The table.
    kept
        Where it is noted for the next time, for a table that is held and that nobody else can write into; ``None`` for
        one that has another owner, of which it is computed each time.
    """
    if isinstance(rows, LongTable):
        return rows.fingerprint()
    if kept is None:
        return table_fingerprint(rows)
    if "rows" not in kept:
        kept["rows"] = table_fingerprint(rows)
    return kept["rows"]


def callable_name(function: Callable[..., Any]) -> str:
    """Name a function, a method, a partial application or a callable object, as a person would."""
    inner = getattr(function, "func", function)
    name = getattr(inner, "__qualname__", None) or type(inner).__qualname__
    return str(name).replace("<locals>.", "")


def identity_of(function: Callable[..., Any]) -> str:
    """Tell one callable from another: its module, its name, and its source text where that can be found.

    The arguments of a partial application count too. Values that a function closes over or finds in its module, and
    what an object with ``__call__`` holds, do not.
    """
    inner = getattr(function, "func", function)
    named = inner if hasattr(inner, "__qualname__") else type(inner)
    source = source_of(named)
    bound = repr((function.args, function.keywords)) if isinstance(function, partial) else ""
    return fingerprint_of(str(getattr(named, "__module__", "")), callable_name(function), source, bound)


_sources: WeakKeyDictionary[Any, str] = WeakKeyDictionary()
# Finding the text of a function takes a millisecond, and an audit asks for it again with every property.


def source_of(named: Any) -> str:
    """The text that a function or a class was made of; empty where it cannot be found."""
    try:
        if named not in _sources:
            _sources[named] = inspect.getsource(named)
        return _sources[named]
    except (OSError, TypeError):  # no text; or a function of C, to which there is no weak reference
        return ""
