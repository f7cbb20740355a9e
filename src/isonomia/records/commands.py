"""Commands that a person can copy, with whatever they need to find the records from where the person is."""

from __future__ import annotations

from pathlib import Path
from shlex import quote

from isonomia.records.folder import FOLDER

__all__ = ["resume_command", "run_command", "with_records"]


def with_records(command: str, folder: str | Path | None) -> str:
    """A command about a run: with the folder of the records, unless that is where they are looked for anyway."""
    if folder is None or _same(Path(folder), Path(FOLDER)):
        return command
    return f"{command} --records {quote(str(folder))}"


def run_command(file: str | Path, folder: str | Path | None, *options: str) -> str:
    """The command that runs an audit file: with the folder of the records, unless it is the one beside the file."""
    words = " ".join(("isonomia run", quote(str(file)), *options))
    if folder is None or _same(Path(folder), Path(file).parent / FOLDER):
        return words
    return f"{words} --records {quote(str(folder))}"


def resume_command(file: str | Path, folder: str | Path | None) -> str:
    """The command that goes on with a run of an audit file."""
    return run_command(file, folder, "--resume")


def _same(left: Path, right: Path) -> bool:
    return left.resolve() == right.resolve()
