"""What was opened from a file and cannot be pickled: the pickle holds where it came from, and it is opened again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from isonomia.errors import ModelError

__all__ = ["Opened", "digest_of", "open_from"]

_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True, eq=False)
class Opened:
    """Something opened from a file, a folder or bytes, such as a session of a runtime.

    Make one with :func:`open_from`.

    Attributes
    ----------
    content
        What the opener made of it.
    opener
        A function of a module, so that a pickle can name it.
    origin
        The path, or the bytes themselves.
    digest
        The SHA-256 of what is there, when it was opened, as 64 hexadecimal digits.
    arguments
        What else the opener was given.
    """

    content: Any
    opener: Callable[..., Any]
    origin: Path | bytes
    digest: str
    arguments: tuple[Any, ...] = ()

    @property
    def name(self) -> str:
        """The file's name; empty for bytes."""
        return self.origin.name if isinstance(self.origin, Path) else ""

    def __reduce__(self) -> tuple[Any, ...]:
        """Keep where it came from, and that it must be the same."""
        return _again, (self.opener, self.origin, self.digest, self.arguments)


def open_from(opener: Callable[..., Any], origin: Path | bytes, *arguments: Any) -> Opened:
    """Open a file, a folder or bytes, and remember how.

    Parameters
    ----------
    opener
        Called with the origin and the arguments.
    origin
        The path, or the bytes.
    arguments
        What else the opener is given; it must be possible to pickle it.
    """
    place = origin.absolute() if isinstance(origin, Path) else origin
    digest = digest_of(place)
    return Opened(opener(place, *arguments), opener, place, digest, arguments)


def digest_of(origin: Path | bytes) -> str:
    """Give the SHA-256 of bytes, of a file's content, or of the names and contents of all files in a folder."""
    if isinstance(origin, bytes):
        return sha256(origin).hexdigest()
    digest = sha256()
    inside = sorted(file for file in origin.rglob("*") if file.is_file()) if origin.is_dir() else [origin]
    for file in inside:
        if origin.is_dir():
            digest.update(f"\0{file.relative_to(origin).as_posix()}\0{file.stat().st_size}\0".encode())
        with file.open("rb") as stream:
            while chunk := stream.read(_CHUNK):
                digest.update(chunk)
    return digest.hexdigest()


def _again(opener: Callable[..., Any], origin: Path | bytes, digest: str, arguments: tuple[Any, ...]) -> Opened:
    if digest_of(origin) != digest:
        raise ModelError(f"the model at {origin!s} is not the one that was opened before: its content has changed.")
    return open_from(opener, origin, *arguments)
