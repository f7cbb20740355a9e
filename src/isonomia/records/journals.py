"""The journal of a check in the store, written as the check goes."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from isonomia.errors import RecordError
from isonomia.records.database import record_error

__all__ = ["ANSWERS", "StoredJournal"]

ANSWERS = "answer "
"""What the keys of the model's raw answers begin with: they are kept for going on, and nobody replays them."""


@dataclass(slots=True)
class StoredJournal:
    """The journal of one check in the store.

    Guarantee: once :meth:`keep` has returned, the entry survives the end of this process, however it ends.

    Attributes
    ----------
    connection
        To the store; closed by :meth:`close`.
    run, number
        Which check of which run.
    """

    connection: sqlite3.Connection
    run: str
    number: int
    _kept: dict[str, Mapping[str, Any]] = field(init=False)
    _place: int = field(init=False)

    def __post_init__(self) -> None:
        found = self.connection.execute(
            "SELECT place, key, entry FROM entries WHERE run = ? AND number = ? ORDER BY place", (self.run, self.number)
        ).fetchall()
        self._kept = {key: json.loads(entry) for _, key, entry in found}
        self._place = found[-1][0] + 1 if found else 0

    @property
    def entries(self) -> Mapping[str, Mapping[str, Any]]:
        """Everything kept so far, in order."""
        return self._kept

    def recall(self, key: str) -> Mapping[str, Any] | None:
        """What was kept under a key."""
        return self._kept.get(key)

    def keep(self, key: str, make: Callable[[], Mapping[str, Any]]) -> None:
        """Keep an entry, in a transaction of its own.

        Raises
        ------
        RecordError
            Where it cannot be written.
        """
        entry = make()
        row = (self.run, self.number, self._place, key, json.dumps(entry, allow_nan=False))
        try:
            with self.connection:
                self.connection.execute(
                    "INSERT INTO entries (run, number, place, key, entry) VALUES (?, ?, ?, ?, ?)", row
                )
        except sqlite3.IntegrityError as error:
            raise RecordError(
                f"expected to be alone with run {self.run}, but another process has written its {key}: let that one "
                "end, or begin a new run"
            ) from error
        except sqlite3.Error as error:
            raise record_error(f"write {key} of run {self.run}", None, error) from error
        self._kept[key] = entry
        self._place += 1

    def close(self) -> None:
        """Let go of the store."""
        self.connection.close()
