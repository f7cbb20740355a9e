"""Files that are written for people and programs: a bad place is known before the work, and said in words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from isonomia.errors import UsageError

__all__ = ["need_writable", "write_file", "writing"]


def need_writable(path: Path, what: str) -> None:
    """Make sure, before hours are spent, that a file can be written; whatever is there stays as it is.

    Parameters
    ----------
    path
        The file.
    what
        What it is for, such as ``--json``, for the message.

    Raises
    ------
    UsageError
        Where the place cannot be written to.
    """
    is_new = not path.exists()
    with writing(path, what):
        path.open("ab").close()
        if is_new:
            path.unlink()


def write_file(text: str, path: Path, what: str) -> None:
    """Write a text as UTF-8, the same on every system; half a character becomes a question mark.

    Raises
    ------
    UsageError
        Where the place cannot be written to.
    """
    with writing(path, what), path.open("w", encoding="utf-8", errors="replace", newline="\n") as file:
        file.write(text)


@contextmanager
def writing(path: Path, what: str) -> Iterator[None]:
    """Turn what the system says of a file that is being written into what a person can do."""
    try:
        yield
    except OSError as error:
        told = error.strerror or error
        raise UsageError(f"expected a file that can be written for {what}, but {path}: {told}") from error
