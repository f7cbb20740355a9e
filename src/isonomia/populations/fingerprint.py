"""Short names for what a population or a model is made of, so that a record can be tied to it."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from functools import partial
from hashlib import sha256
from typing import Any

from isonomia.populations.digests import TableDigest
from isonomia.populations.table import Table

__all__ = ["callable_name", "fingerprint_of", "identity_of", "table_fingerprint"]


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
    try:
        source = inspect.getsource(named)
    except (OSError, TypeError):
        source = ""
    bound = repr((function.args, function.keywords)) if isinstance(function, partial) else ""
    return fingerprint_of(str(getattr(named, "__module__", "")), callable_name(function), source, bound)
