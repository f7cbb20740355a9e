"""``isonomia report``: a run as one page, and as files for machines."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from isonomia.cli.gates import Gates, write_gates
from isonomia.cli.options import Card, Json, Junit, Markdown, Open, Sarif
from isonomia.cli.records import HERE, Records, Run, audit_of, open_store, with_histories

__all__ = ["report"]


def report(
    run: Run = "latest",
    records: Records = HERE,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="The file to write; RUN.html unless given.")
    ] = None,
    show_it: Open = False,
    junit: Junit = None,
    sarif: Sarif = None,
    json: Json = None,
    markdown: Markdown = None,
    card: Card = None,
) -> None:
    """Write the report of a run as one page that works offline.

    Example: isonomia report latest --open
    """
    store = open_store(records)
    target = output or Path(f"{store.run(run).id}.html")
    gates = Gates(junit, sarif, json, markdown, card, target)
    gates.probe()
    write_gates(gates, with_histories(store, audit_of(store, run)), None)
    Console(highlight=False, soft_wrap=True).print(f"written: {target}", markup=False)
    if show_it:
        typer.launch(target.resolve().as_uri())
