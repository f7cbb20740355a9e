"""Opening text files, compressed or not, and saying where the bytes of one are no text."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import IO, cast

from isonomia.errors import DataError

__all__ = ["no_text", "open_bytes", "open_text"]


def open_text(file: Path) -> IO[str]:
    """Open a file as UTF-8. A mark at the front, which some spreadsheets put there, is dropped."""
    opened = gzip.open if file.name.lower().endswith(".gz") else open
    return opened(file, "rt", encoding="utf-8-sig", newline="")


def open_bytes(file: Path) -> IO[bytes]:
    """Open what a file holds once it is decompressed."""
    return cast(IO[bytes], gzip.open(file, "rb")) if file.name.lower().endswith(".gz") else file.open("rb")


def no_text(file: Path) -> DataError:
    """Say which byte of a file is no UTF-8."""
    with open_bytes(file) as stream:
        for number, line in enumerate(stream, start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                return DataError(
                    f"{file} should be text in UTF-8, but byte {error.start + 1} of line {number} is "
                    f"0x{line[error.start]:02x}, which is none there. Save the file as UTF-8, or read it with your own "
                    "library and its encoding, such as encoding='latin-1' for pandas, and hand over the table."
                )
    return DataError(f"{file} should be text in UTF-8, and is not. Save it as UTF-8.")
