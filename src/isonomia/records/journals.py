"""Journals: one in the store, which a check writes as it goes; and one that is only read."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from isonomia.errors import RecordError
from isonomia.records.visible import cut

__all__ = ["ANSWERS", "StoredJournal", "record_error"]

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


def record_error(what: str, path: Path | None, error: sqlite3.Error) -> RecordError:
    """What SQLite says, with what a person can do about it."""
    told, where = cut(str(error), 200), f" at {path}" if path is not None else ""
    hint = "Look at the file, or choose another folder with --records FOLDER"
    if "full" in told:
        hint = "The disk is full: make room, then go on with --resume. Nothing that was written before is lost"
    elif "disk I/O error" in told:
        hint = (
            "The disk failed, or a file has become as large as it may: make room, then go on with --resume. Nothing "
            "that was written before is lost"
        )
    elif "readonly" in told or "unable to open" in told:
        hint = "The folder cannot be written: change its permissions, or choose another with --records FOLDER"
    elif "locked" in told:
        hint = "Another run has been writing for a long time: wait for it, then go on with --resume"
    elif "not a database" in told or "malformed" in told:
        hint = "It is no store of records: move it away, or choose another folder with --records FOLDER"
    return RecordError(f"expected to {what}{where}, but: {told}. {hint}")
