"""Options that several commands have, each said once: the same name, the same words.

What is needed every day stands in the panel that every help has; the rest stands in panels of its own.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = [
    "CLAIM",
    "FILES",
    "FLAG",
    "MODEL",
    "PROGRAMS",
    "AllowCode",
    "Budget",
    "Card",
    "Census",
    "Data",
    "Delta",
    "Explain",
    "Json",
    "Junit",
    "Key",
    "Markdown",
    "NeededData",
    "Open",
    "Quiet",
    "Report",
    "Sarif",
    "Seed",
]

FLAG = ""
"""In the place of a value: there is none."""

MODEL, CLAIM = "How the model is read", "What is claimed"
PROGRAMS, FILES = "Programs and specifications", "Files for machines and people"
"""The panels that several commands have."""

_TABLE = "The table: CSV, Parquet, Arrow or JSON lines."

Data = Annotated[Path | None, typer.Option(metavar="FILE", help=_TABLE, show_default=False)]
NeededData = Annotated[Path, typer.Option(metavar="FILE", help=_TABLE, show_default=False)]
Census = Annotated[
    bool,
    typer.Option("--census/--sample", metavar=FLAG, help="Whether the rows are the whole population or a sample."),
]
Delta = Annotated[float, typer.Option(metavar="RISK", help="The risk of a wrong answer.")]
Budget = Annotated[
    str | None, typer.Option(metavar="COST", help="The most to ask about, time or both: 1e6, 30s, '1e6, 5min'.")
]
Seed = Annotated[int | None, typer.Option(metavar="NUMBER", help="The same seed, the same answers; new unless given.")]
AllowCode = Annotated[
    bool,
    typer.Option(
        "--allow-code",
        metavar=FLAG,
        help="Let the blocks of specifications run as Python.",
        rich_help_panel=PROGRAMS,
    ),
]
Explain = Annotated[bool, typer.Option("--explain", metavar=FLAG, help="Also say in plain English what is claimed.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", metavar=FLAG, help="Print one line a property, and no progress.")]
Key = Annotated[
    Path | None, typer.Option(metavar="FILE", help="A file with the key of the seal, of at least 16 bytes.")
]
Open = Annotated[bool, typer.Option("--open", metavar=FLAG, help="Open the report in a browser.")]

Json = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Write the verdicts as JSON to this file.", rich_help_panel=FILES),
]
Junit = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write JUnit XML to this file.", rich_help_panel=FILES)
]
Sarif = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write SARIF 2.1.0 to this file.", rich_help_panel=FILES)
]
Markdown = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write Markdown to this file.", rich_help_panel=FILES)
]
Card = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Write a section for a model card to this file.", rich_help_panel=FILES),
]
Report = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write the HTML report to this file.", rich_help_panel=FILES)
]
