"""Where runs are recorded, with which versions, and the commands that find or resume one."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from pathlib import Path
from shlex import quote
from typing import Any

from isonomia.version import __version__

FOLDER = ".isonomia"
"""The folder of records: beside the audit file, or in the current folder."""

STORE = "runs.sqlite"
"""The file in that folder with every run and the known counterexamples."""

PACKAGES = ("numpy", "scipy", "scikit-learn", "narwhals", "pandas", "polars", "pyarrow")


def versions() -> dict[str, str]:
    """The versions of Isonomia, of Python, and of those of ``PACKAGES`` that are installed; and the system."""
    from importlib.metadata import PackageNotFoundError, version

    used = {"isonomia": __version__, "python": platform.python_version(), "system": platform.system()}
    for package in PACKAGES:
        try:
            used[package] = version(package)
        except PackageNotFoundError:
            continue
    return used


def with_records(command: str, folder: str | Path | None) -> str:
    """A command about a run: with the folder of the records, unless it is the default."""
    if folder is None or _same(Path(folder), Path(FOLDER)):
        return command
    return f"{command} --records {quote(str(folder))}"


def run_command(file: str | Path, folder: str | Path | None, *options: str) -> str:
    """The command that runs an audit file: with the folder of the records, unless it is the one beside the file."""
    words = " ".join(("isonomia run", quote(str(file)), *options))
    if folder is None or _same(Path(folder), Path(file).parent / FOLDER):
        return words
    return f"{words} --records {quote(str(folder))}"


RESUMED = ("--allow-code", "--allow-outside", "--trust-pickle")
"""Options that resuming a run needs again if it was begun with them."""


def resume_command(request: Mapping[str, Any], folder: str | Path | None) -> str:
    """The command that resumes a run of an audit file, with the permissions that it was begun with."""
    begun_with = request.get("options", ())
    options = [option for option in RESUMED if option in begun_with]
    return run_command(request.get("file", "AUDIT.toml"), folder, "--resume", *options)


def _same(left: Path, right: Path) -> bool:
    return left.resolve() == right.resolve()
