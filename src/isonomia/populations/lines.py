"""The bytes of text files: opened, decompressed and decoded; and errors that name a line."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa

from isonomia.errors import DataError
from isonomia.populations.datasets import unreadable

BLOCK, LONGEST = 2**22, 2**24
"""How many bytes of text are parsed at once, and how many the longest row may have."""

_COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}


def open_bytes(file: Path) -> Any:
    """Open the content of a file: decompressed, and UTF-16 with a byte order mark as UTF-8."""
    compression = _COMPRESSIONS.get(file.suffix.lower())
    with pa.input_stream(str(file), compression=compression) as stream:
        wide = stream.read(2) in {b"\xff\xfe", b"\xfe\xff"}
    stream = pa.input_stream(str(file), compression=compression)
    return pa.transcoding_input_stream(stream, "utf-16", "utf-8") if wide else stream


def open_text(file: Path) -> IO[str]:
    """Open a file as UTF-8. A byte order mark, which some spreadsheets write, is dropped."""
    return io.TextIOWrapper(io.BufferedReader(open_bytes(file)), encoding="utf-8-sig", newline="")


def line_ends(text: bytes) -> int:
    """How many lines end in a text: with a line feed, a carriage return, or both together."""
    feeds = text.count(b"\n") if len(text) < 2**12 else np.count_nonzero(np.frombuffer(text, np.uint8) == ord("\n"))
    return int(feeds) + (text.count(b"\r") - text.count(b"\r\n") if b"\r" in text else 0)


def line_error(file: Path, line: int, problem: str) -> DataError:
    """Say what is wrong with a line of a file."""
    return DataError(f"{file}: line {line:,} {problem}", name=file.name, line=line)


def _decode(text: IO[str]) -> None:
    while text.read(BLOCK):
        pass


@contextmanager
def explained(file: Path, find_fault: Callable[[IO[str]], None] = _decode) -> Iterator[None]:
    """Say what is wrong with a file, and in which line, if reading it fails; ``find_fault`` goes through its text."""
    try:
        yield
    except DataError:
        raise
    except Exception as error:  # pyarrow raises several kinds of error for a bad file
        with suppress(OSError):
            try:
                with open_text(file) as text:
                    find_fault(text)
            except UnicodeDecodeError as wrong:
                raise encoding_error(file) from wrong
        raise unreadable(file, error) from error


def encoding_error(file: Path) -> DataError:
    """Say which byte of a file is not UTF-8."""
    with io.BufferedReader(open_bytes(file)) as stream:
        for number, line in enumerate(stream, start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                problem = f"has invalid UTF-8 at byte {error.start + 1}, 0x{line[error.start]:02x}"
                advice = (
                    "Save it as UTF-8 (in Excel: Save As, CSV UTF-8), or read it in pandas with encoding='latin-1'."
                )
                return line_error(file, number, f"{problem}. {advice}")
    return DataError(f"{file} should be text in UTF-8, and is not. Save it as UTF-8.", name=file.name)
