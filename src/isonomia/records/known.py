"""Known counterexamples: a table of the store, from one check to the next, whose rows are tried first."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, TypeAlias

from isonomia.records.database import KNOWN_TABLE, LOCK_TIMEOUT, STORE

__all__ = ["MAX_CHARACTERS", "MAX_KEPT", "Counterexample", "Known", "key_of"]

Counterexample: TypeAlias = Mapping[str, Any]

MAX_KEPT = 20
"""How many counterexamples are kept of one property."""

MAX_CHARACTERS = 1_000_000
"""The most characters of one counterexample; a longer one would make every check slow to begin."""


def key_of(kind: str, text: str) -> str:
    """What counterexamples of a property are kept under: its kind and its text, whatever the model is."""
    return hashlib.sha256(f"{kind}\n{text}".encode()).hexdigest()


class Known:
    """The known counterexamples in a folder of records, which is made when there is something to keep.

    Nothing here raises when the store cannot be read or written: a check that cannot look back is as good a check.
    What went wrong is in ``trouble``, in words. Several processes and threads may read and write at once.
    """

    def __init__(self, folder: str | Path, file: str = STORE) -> None:
        self.folder = Path(folder)
        self.path = self.folder / file
        self.trouble: str | None = None

    def of(self, key: str) -> tuple[Counterexample, ...]:
        """The counterexamples of a property, the latest first."""
        if not self.path.exists():
            return ()
        items: list[Counterexample] = []
        with self._noting("read known counterexamples"), closing(self._connect()) as connection:
            query = "SELECT counterexample FROM known WHERE property = ? ORDER BY place DESC"
            items = [json.loads(text) for (text,) in connection.execute(query, (key,))]
        return tuple(item for item in items if isinstance(item, dict))

    def add(self, key: str, counterexamples: Sequence[Counterexample]) -> None:
        """Keep counterexamples of a property, the first as the latest; beyond a number, the oldest are dropped."""
        with self._noting("keep a counterexample"):
            texts = [text for text in map(_dumped, counterexamples[:MAX_KEPT]) if len(text) <= MAX_CHARACTERS]
            if len(texts) < len(counterexamples[:MAX_KEPT]):
                self.trouble = (
                    f"a counterexample of more than {MAX_CHARACTERS:,} characters is not kept for the next check"
                )
            if texts:
                self.folder.mkdir(parents=True, exist_ok=True)
                self._change(key, drop=texts, add=texts[::-1])

    def drop(self, key: str, counterexamples: Sequence[Counterexample]) -> None:
        """Forget counterexamples of a property; others that were added meanwhile stay."""
        if counterexamples and self.path.exists():
            with self._noting("forget a counterexample"):
                self._change(key, drop=list(map(_dumped, counterexamples)), add=[])

    def _change(self, key: str, drop: Sequence[str], add: Sequence[str]) -> None:
        """Take texts away and put others on top, in one transaction that nobody else's can come between."""
        with closing(self._connect()) as connection:
            connection.execute("BEGIN IMMEDIATE")
            with connection:
                connection.executemany(
                    "DELETE FROM known WHERE property = ? AND counterexample = ?", [(key, text) for text in drop]
                )
                (top,) = connection.execute("SELECT max(place) FROM known WHERE property = ?", (key,)).fetchone()
                first = 0 if top is None else top + 1
                connection.executemany(
                    "INSERT INTO known (property, place, counterexample) VALUES (?, ?, ?)",
                    [(key, place, text) for place, text in enumerate(add, start=first)],
                )
                connection.execute(
                    "DELETE FROM known WHERE property = ?1 AND place NOT IN "
                    "(SELECT place FROM known WHERE property = ?1 ORDER BY place DESC LIMIT ?2)",
                    (key, MAX_KEPT),
                )

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, timeout=LOCK_TIMEOUT, isolation_level=None)
        try:
            try:
                connection.execute("PRAGMA journal_mode = WAL")
            except sqlite3.OperationalError as error:
                # Two processes that make the store at once: one changes the mode, the other finds it locked, unasked.
                if "locked" not in str(error):
                    raise
            connection.execute(KNOWN_TABLE)
        except sqlite3.Error:
            connection.close()
            raise
        return connection

    @contextmanager
    def _noting(self, what: str) -> Iterator[None]:
        """Turn what goes wrong into words."""
        try:
            yield
        except sqlite3.Error as error:
            self.trouble = f"expected to {what} in {self.path}, but: {error}"
        except OSError as error:
            self.trouble = f"expected to {what} in {self.folder}, but: {error.strerror or error}"
        except (TypeError, ValueError) as error:
            self.trouble = f"expected to {what} in {self.path} as JSON, but: {error}"


def _dumped(counterexample: Counterexample) -> str:
    return json.dumps(counterexample, allow_nan=False, sort_keys=True)
