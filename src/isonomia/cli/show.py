"""``isonomia show``: every verdict of a run."""

from __future__ import annotations

import typer
from rich.console import Console

from isonomia.cli.records import HERE, Records, Run, audit_of, open_store

__all__ = ["show"]


def show(run: Run = "latest", records: Records = HERE) -> None:
    """Show every verdict of a run.

    Example: isonomia show latest
    """
    from isonomia.report.entries import audit_exit_code
    from isonomia.report.overview import overview, show_entry

    audit = audit_of(open_store(records), run)
    console = Console(highlight=False)
    for entry in audit.entries:
        show_entry(entry, console)
    overview(audit, console)
    raise typer.Exit(audit_exit_code(audit))
