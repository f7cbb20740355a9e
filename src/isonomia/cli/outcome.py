"""How verdicts end a command: what is printed, and the exit code."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from isonomia.errors import UsageError

if TYPE_CHECKING:
    from isonomia.records.verdict import Verdict

__all__ = ["conclude", "store"]


def conclude(verdicts: Sequence[Verdict], console: Console, target: Path | None, *, always: bool = False) -> int:
    """Sum up several verdicts, or ``always`` also one, store them if asked to, and give the exit code."""
    from isonomia.report.entries import exit_code
    from isonomia.report.terminal import summary

    if len(verdicts) > 1 or always:
        summary(list(verdicts), console)
    if target is not None:
        store(verdicts, target)
    return exit_code(verdicts)


def store(verdicts: Sequence[Verdict], target: Path) -> None:
    """Write verdicts to a file; called with none before the work begins, so that a bad place is known at once."""
    text = json.dumps([verdict.to_dict() for verdict in verdicts], indent=2, allow_nan=False)
    try:
        target.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"expected a file that can be written for --json, but {target}: {error.strerror}") from error
