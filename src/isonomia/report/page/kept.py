"""The script that draws the charts, kept for the next report: making it takes seconds, and it is always the same."""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

__all__ = ["kept_script"]


def kept_script(name: str, make: Callable[[], str]) -> str:
    """A script by name, from the user's cache folder where it is whole and the user's own, or else made and kept.

    A folder that cannot be written costs time and nothing else.
    """
    file = _folder() / f"{name}.js"
    with suppress(OSError, UnicodeDecodeError):
        seal, _, script = _own_text(file).partition("\n")
        if seal == _seal(script):
            return script
    script = make()
    with suppress(OSError):
        _keep(file, f"{_seal(script)}\n{script}")
    return script


def _folder() -> Path:
    """Where this system keeps what can be made again."""
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "isonomia"


def _own_text(file: Path) -> str:
    """What a file says that nobody else could have written: it will run in the browser of whoever reads a report."""
    with file.open("rb") as stream:
        facts = os.fstat(stream.fileno())
        if hasattr(os, "getuid") and (facts.st_uid != os.getuid() or facts.st_mode & 0o022):
            raise PermissionError(f"{file} may have been written by somebody else")
        return stream.read().decode("utf-8")


def _keep(file: Path, text: str) -> None:
    """Write a file in one go, so that whoever reads it at the same moment finds all of it or none."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, part = tempfile.mkstemp(dir=file.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(text.encode("utf-8"))
        os.replace(part, file)
    except OSError:
        os.unlink(part)
        raise


def _seal(script: str) -> str:
    return f"// sha256 {hashlib.sha256(script.encode('utf-8')).hexdigest()}"
