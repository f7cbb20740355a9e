"""JSON that is read strictly: one text for one value, and an error instead of a guess.

Ordinary readers take the last of two equal keys, make infinities of large numbers, and read ``0.10000000000000001`` as
``0.1``. Where a text is evidence, each of these would let two readers see different things in one file.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NoReturn

from isonomia.errors import RecordError

__all__ = ["MOST_BYTES", "canonical", "read_strictly", "strict_json"]

MOST_BYTES = 2**28
"""The longest text that is read: 256 MiB."""


def read_strictly(path: Path) -> Any:
    """Read a file of JSON.

    Raises
    ------
    RecordError
        Where it cannot be read, and as :func:`strict_json` does.
    """
    try:
        if path.exists() and not path.is_file():
            raise RecordError(f"expected a file, but {path} is none")
        size = path.stat().st_size
        if size > MOST_BYTES:
            raise RecordError(f"expected a file of at most {MOST_BYTES:,} bytes, but {path} has {size:,}")
        data = path.read_bytes()
    except OSError as error:
        raise RecordError(f"expected a file that can be read, but {path}: {error.strerror}") from error
    return strict_json(data, str(path))


def strict_json(data: bytes, what: str) -> Any:
    """Read JSON.

    Parameters
    ----------
    data
        The bytes of the file.
    what
        What the file is called in an error.

    Raises
    ------
    RecordError
        Where it is longer than ``MOST_BYTES``, is no UTF-8, is no JSON, is nested too deeply, has a key twice, has a
        number that is not finite, or has one in another spelling than Python's own.
    """
    if len(data) > MOST_BYTES:
        raise RecordError(f"expected {what} of at most {MOST_BYTES:,} bytes, but it has {len(data):,}")
    try:
        return json.loads(
            data.decode("utf-8"),
            object_pairs_hook=_unique,
            parse_float=lambda text: _number(text, float),
            parse_int=lambda text: _number(text, int),
            parse_constant=_no_number,
        )
    except RecordError as error:
        raise RecordError(f"{what}: {error}") from error
    except UnicodeDecodeError as error:
        raise RecordError(f"expected {what} as text in UTF-8, but byte {error.start} is none") from error
    except json.JSONDecodeError as error:
        raise RecordError(f"expected JSON that isonomia wrote, but {what} is no JSON: {error}") from error
    except RecursionError as error:
        raise RecordError(f"{what} is nested more deeply than any record: it was not written by isonomia") from error


def canonical(value: Any) -> bytes:
    """The one spelling of a value: sorted keys, no spaces, UTF-8.

    Half a character, as in a path of odd bytes, is written as if UTF-8 had a place for it.

    Raises
    ------
    RecordError
        Where a number is not finite, or it is nested too deeply.
    """
    try:
        text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
        return text.encode("utf-8", "surrogatepass")
    except (ValueError, RecursionError) as error:
        raise RecordError(f"expected plain values that JSON can hold, but: {error}") from error


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise RecordError(f"the key {twice!r} comes twice in one object, so that readers may differ on its value")
    return found


def _number(text: str, kind: type[int] | type[float]) -> Any:
    try:
        value = kind(text)
    except ValueError as error:  # more digits than Python reads
        raise RecordError(f"the number {text[:20]}... has too many digits") from error
    if repr(value) != text:
        raise RecordError(
            f"the number {text[:40]} is not written as isonomia writes it, {value!r}: the file was edited, or written "
            "anew by another program"
        )
    return value


def _no_number(text: str) -> NoReturn:
    raise RecordError(f"{text} is no number of JSON")
