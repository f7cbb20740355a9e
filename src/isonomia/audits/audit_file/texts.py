"""The texts that an audit file names, such as specifications: read from its folder, or taken from a record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from isonomia.errors import RecordError, UsageError, nearest

__all__ = ["FromFolder", "FromRecord", "Texts"]


class Texts(Protocol):
    """Gives the texts that an audit file names."""

    def read(self, name: str) -> str:
        """The text of a file, by the name that the audit file has for it."""


@dataclass(slots=True)
class FromFolder:
    """Files of a folder. Each is read once, so that what is written down of a run is what was used in it."""

    folder: Path
    _known: dict[str, str] = field(default_factory=dict)

    def read(self, name: str) -> str:
        """The text of a file.

        Raises
        ------
        UsageError
            Where there is none, with the nearest name beside it, or it cannot be read as UTF-8.
        """
        if name not in self._known:
            path = self.folder / name
            try:
                self._known[name] = path.read_text("utf-8")
            except FileNotFoundError as error:
                beside = [other.name for other in path.parent.iterdir()] if path.parent.is_dir() else []
                raise UsageError(f"there is no file {path}.{nearest(path.name, beside)}") from error
            except (OSError, UnicodeDecodeError) as error:
                raise UsageError(f"expected a file that can be read as UTF-8, but {path}: {error}") from error
        return self._known[name]


@dataclass(frozen=True, slots=True)
class FromRecord:
    """Texts that were written down with a run; the disk is never looked at."""

    known: Mapping[str, str]

    def read(self, name: str) -> str:
        """The text as it was.

        Raises
        ------
        RecordError
            Where the record does not have it.
        """
        if name not in self.known:
            raise RecordError(f"expected the text of {name!r} in the record, but it is not there")
        return self.known[name]
