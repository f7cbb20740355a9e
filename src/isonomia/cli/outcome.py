"""How verdicts end a command: what is printed, and the exit code."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

if TYPE_CHECKING:
    from isonomia.records.verdict import Verdict

__all__ = ["conclude"]

TITLE = "Checked at the command line"
"""What verdicts are about that no audit file has given a title."""


def conclude(verdicts: Sequence[Verdict], console: Console, target: Path | None, *, always: bool = False) -> int:
    """Sum up several verdicts, or ``always`` also one, store them if asked to, and give the exit code."""
    from isonomia.report.as_json import as_json
    from isonomia.report.entries import Audit, Entry, exit_code
    from isonomia.report.files import write_file
    from isonomia.report.overview import print_lines

    entries = tuple(Entry(verdict.name or verdict.text, verdict) for verdict in verdicts)
    if len(verdicts) > 1 or always:
        print_lines(entries, console)
    if target is not None:
        write_file(as_json(Audit(TITLE, entries)), target, "--json")
    return exit_code(verdicts)
