"""How to repeat an audit, as commands that can be copied."""

from __future__ import annotations

from shlex import quote

from isonomia.records.commands import run_command, with_records
from isonomia.report.entries import Audit

__all__ = ["commands"]


def commands(audit: Audit) -> tuple[tuple[str, str], ...]:
    """What each command does, and the command; empty for an audit that was not kept and has no file."""
    found = []
    if audit.run is not None:
        run = quote(audit.run)

        def about(command: str) -> str:
            return with_records(command, audit.records)

        found += [
            ("Show the record of this run again", about(f"isonomia show {run}")),
            ("Write this page again from the record", about(f"isonomia report {run}")),
            ("Hand over the evidence, as one sealed file", about(f"isonomia export {run} -o evidence.json")),
            ("Recompute every verdict from that file alone", "isonomia replay evidence.json"),
        ]
    if audit.file is not None:
        again = run_command(audit.file, audit.records)
        found.append(("Run the audit again: the same seed, the same answers", again))
    return tuple(found)
