"""``isonomia export``: a run as one file that can be replayed anywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from isonomia.cli.options import Key
from isonomia.cli.records import HERE, Records, Run, open_store
from isonomia.errors import UsageError

__all__ = ["export", "read_key"]


def export(
    run: Run = "latest",
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="The file to write; RUN.evidence.json unless given."),
    ] = None,
    records: Records = HERE,
    key: Key = None,
) -> None:
    """Write a run as one file that can be replayed anywhere: what was asked, measured and answered, sealed.

    It holds statistics and counterexamples, and neither the data nor the model.

    Example: isonomia export latest
    """
    from isonomia.records.evidence import evidence_of, evidence_text
    from isonomia.report.files import write_file

    evidence = evidence_of(open_store(records), run)
    target = output or Path(f"{evidence.run['id']}.evidence.json")
    text = evidence_text(evidence, read_key(key))
    write_file(text, target, "the evidence")
    Console(highlight=False, soft_wrap=True).print(f"written: {target}", markup=False)


def read_key(path: Path | None) -> bytes | None:
    """The key in a file, without the end of its line.

    Raises
    ------
    UsageError
        Where it cannot be read.
    """
    try:
        return None if path is None else path.read_bytes().rstrip(b"\r\n")
    except OSError as error:
        raise UsageError(f"expected a file with a key, but {path}: {error.strerror}") from error
