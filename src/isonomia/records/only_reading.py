"""Reading a store that cannot be written: on a medium that is only read, or of somebody else."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

__all__ = ["address_of"]


def address_of(path: Path) -> str | None:
    """How to open a store that cannot be written; ``None`` where it cannot be read either.

    SQLite reads the file as it is where nobody can be writing to it, and nothing is left that was not moved into it.
    """
    waiting = path.with_name(f"{path.name}-wal")
    whole = not waiting.exists() or waiting.stat().st_size == 0
    for options in ("mode=ro", *(("mode=ro&immutable=1",) if whole else ())):
        address = f"{path.absolute().as_uri()}?{options}"
        try:
            with closing(sqlite3.connect(address, uri=True)) as connection:
                connection.execute("SELECT max(version) FROM format").fetchone()
        except sqlite3.Error:
            continue
        return address
    return None
