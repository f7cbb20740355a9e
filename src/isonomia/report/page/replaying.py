"""How to repeat an audit, as commands that can be copied."""

from __future__ import annotations

from shlex import quote

from isonomia.report.entries import Audit

__all__ = ["commands"]


def commands(audit: Audit) -> tuple[tuple[str, str], ...]:
    """What each command does, and the command; empty for an audit that was not kept and has no file."""
    found = []
    if audit.run is not None:
        run = quote(audit.run)
        found += [
            ("Show the record of this run again", f"isonomia show {run}"),
            ("Write this page again from the record", f"isonomia report {run}"),
            ("Hand over the evidence, as one sealed file", f"isonomia export {run} -o evidence.json"),
            ("Recompute every verdict from that file alone", "isonomia replay evidence.json"),
        ]
    if audit.file is not None:
        found.append(("Run the audit again: the same seed, the same answers", f"isonomia run {quote(audit.file)}"))
    return tuple(found)
