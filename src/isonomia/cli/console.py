"""The console through which every command prints: nothing that comes from outside has a meaning for the terminal.

Names of properties, titles of runs, values of tables and texts of errors come from files that somebody else may have
written. An escape sequence in one of them could clear the screen or change a verdict that is printed above it, and a
character that turns the direction of writing could make a line say something else. In a job of GitHub a line that
begins with two colons is an order to what runs the job: to hide words, or to stop listening.

Output that cannot be written does not end a command (:func:`guard_streams`): an audit of hours goes on and writes its
files when the reader of a pipe has left.
"""

from __future__ import annotations

import errno
import os
import re
import sys
from collections.abc import Iterable
from io import BufferedWriter, FileIO, RawIOBase, TextIOWrapper
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from isonomia.wording import visible


def new_console(*, stderr: bool = False, wrap: bool = True) -> Console:
    """A console that shows control characters instead of sending them; without ``wrap``, lines stay as they are."""
    return _ShieldedConsole(stderr=stderr, highlight=False, soft_wrap=not wrap)


class _ShieldedConsole(Console):
    """A console in whose text every control character is made visible.

    Rich has no other place through which everything passes, the lines of a progress bar among it. Colours are not text
    there yet, and what moves the cursor of a progress bar is marked as control.
    """

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """What is printed, piece by piece."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(_harmless(segment.text), segment.style)


_ORDER = re.compile(r"^(\s*):(?=:)|##(?=\[)", re.MULTILINE)
"""What GitHub's runner takes for an order: two colons, blanks before them aside, or two signs of a number anywhere."""


def _harmless(text: str) -> str:
    """The text without a meaning for the terminal, or for what runs a job."""
    shown = visible(text)
    if "GITHUB_ACTIONS" not in os.environ or not _ORDER.search(shown):
        return shown
    return _ORDER.sub(lambda match: f"{match[1]}\N{MODIFIER LETTER COLON}" if match[1] is not None else "# #", shown)


class _Guarded(RawIOBase):
    """A stream whose errors are remembered instead of raised; after the first one, nothing more is written to it."""

    def __init__(self, raw: Any, error: OSError | None) -> None:
        self._raw, self.error = raw, None
        self._closed_before = error

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return int(self._raw.fileno())

    def isatty(self) -> bool:
        return bool(self._raw.isatty())

    def write(self, data: Any) -> int | None:
        try:
            if self._closed_before is not None:
                raise self._closed_before
            if self.error is None:
                written: int | None = self._raw.write(data)
                return written
        except OSError as error:
            if isinstance(error, BlockingIOError):
                raise
            self.error = error
        return len(data)

    error: OSError | None


def guard_streams() -> None:
    """Let output that cannot be written change nothing but :func:`output_error`.

    A stream that is closed is replaced by the null device, so that no file can get its number and be written to.
    """
    shut = [number for number in range(3) if not _is_open(number)]
    for _ in shut:
        os.open(os.devnull, os.O_RDWR)  # takes the lowest free number
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115
    sys.stdout = _guarded(sys.stdout, sys.__stdout__, 1)
    sys.stderr = _guarded(sys.stderr, sys.__stderr__, 2)


def output_error() -> OSError | None:
    """Why standard output could not be written; ``None`` if it could, or if its reader has left."""
    raw = _raw(sys.stdout)
    error = raw.error if isinstance(raw, _Guarded) else None
    return None if isinstance(error, BrokenPipeError) else error


def reader_left() -> bool:
    """Whether standard output is a pipe whose reader has left."""
    raw = _raw(sys.stdout)
    return isinstance(raw, _Guarded) and isinstance(raw.error, BrokenPipeError)


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def _raw(stream: Any) -> Any:
    buffer = getattr(stream, "buffer", None)
    return getattr(buffer, "raw", buffer)  # with PYTHONUNBUFFERED there is no buffer


def _guarded(stream: Any, original: Any, number: int) -> Any:
    if stream is not original or isinstance(_raw(stream), _Guarded):
        return stream  # somebody else's, such as a test's, or guarded before
    shut = OSError(errno.EBADF, "it is closed") if stream is None else None
    raw = FileIO(number, "w", closefd=False) if stream is None else _raw(stream)
    if raw is None:
        return stream
    guard = BufferedWriter(_Guarded(raw, shut))
    encoding = "utf-8" if stream is None else stream.encoding
    # A character that the terminal lacks must not end an audit.
    direct = stream is not None and stream.write_through
    return TextIOWrapper(guard, encoding, "replace", line_buffering=number == 2 or raw.isatty() or direct)
