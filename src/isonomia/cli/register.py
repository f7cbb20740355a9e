"""``isonomia register``: an audit written down before any answer is seen."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from isonomia.cli.console import new_console
from isonomia.cli.options import FLAG, AllowAudit, AllowOutside, TrustPickle
from isonomia.cli.outputs import refuse_to_overwrite, write_text
from isonomia.cli.run import allowed
from isonomia.wording import plural

__all__ = ["register"]


def register(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The audit file.", show_default=False)],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The file to write.")] = Path(
        "registration.json"
    ),
    seed: Annotated[
        int | None, typer.Option(metavar="NUMBER", help="The seed of the run; default: the file's, or derived from it.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", metavar=FLAG, help="Overwrite an existing file.")] = False,
    trust_pickle: TrustPickle = False,
    allow_code: AllowAudit = False,
    allow_outside: AllowOutside = False,
) -> None:
    """Write down what an audit will check, before any answer is seen: file, data, model, seed, looks and risk.

    The model is not asked about any row. Publish the hash, run the audit, and compare: isonomia replay EVIDENCE
    --registered registration.json. A registration in your own hands proves nothing about its time.

    Example: isonomia register audit.toml
    """
    from isonomia.audits.audit_file.planner import plan_audit
    from isonomia.audits.audit_file.reader import read_audit_file
    from isonomia.audits.audit_file.registration import registration_of
    from isonomia.audits.protocol import Permissions

    refuse_to_overwrite(output, force=force)
    audit = read_audit_file(file)
    permissions = allowed(audit, Permissions(trust_pickle, allow_code, allow_outside), (), keep=False)
    if permissions.allow_code:
        sys.path.insert(0, str(audit.folder.resolve()))  # as isonomia run does
    chosen = audit.content.get("seed") if seed is None else seed
    planned = plan_audit(audit, None if chosen is None else int(chosen), permissions, seed_chosen=chosen is not None)
    registration = registration_of(audit, planned)
    write_text(json.dumps(registration, indent=2, ensure_ascii=False) + "\n", output, force=force)
    console = new_console(wrap=False)
    count = plural(len(planned), "property", "properties")
    console.print(f"{output}: {count}, registered at {registration['time']}", markup=False)
    console.print(f"publish this hash before you run the audit: {registration['hash']}", markup=False)
