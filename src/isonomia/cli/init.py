"""``isonomia init``: a first draft of what people can change, to be read and corrected."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from isonomia.cli.files import write_text

__all__ = ["init"]

STANDARD_OUTPUT = Path("-")


def init(
    data: Annotated[Path, typer.Argument(help="The table: CSV, Parquet, Arrow or JSON lines.", show_default=False)],
    outcome: Annotated[
        str | None, typer.Option(help="The column that is predicted; guessed from the names unless given.")
    ] = None,
    leave_out: Annotated[
        list[str] | None, typer.Option(help="A column that is no feature, or a pattern: 'juv_*'.")
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write; - prints it instead.")] = Path(
        "changes.toml"
    ),
    force: Annotated[bool, typer.Option("--force", help="Write over a file that is there.")] = False,
) -> None:
    """Draft what people can change, from a table: a TOML file with the reasons of every guess.

    Example: isonomia init people.csv --outcome repaid -o changes.toml
    """
    from isonomia.interventions import Draft
    from isonomia.populations.files import read_table

    draft = Draft.of(read_table(data), leave_out or (), outcome)
    text = draft.to_toml(data.name)
    if output == STANDARD_OUTPUT:
        typer.echo(text, nl=False)
        return
    write_text(text, output, force=force)
    free = sum(feature.actionable for feature in draft.features)
    console = Console(highlight=False, soft_wrap=True)
    console.print(
        f"{output}: {len(draft.features)} features, of which people can change {free}, {len(draft.constraints)} "
        f"constraints, {len(draft.left_out)} columns left as they are.",
        markup=False,
    )
    for name, reason in draft.left_out.items():
        if "looks like the outcome" in reason:
            console.print(f"{name} {reason}; say --outcome where it is another.", markup=False)
    console.print(
        "Every line is a guess: read it and correct it before you audit with it, isonomia responsiveness --data "
        f"{data} --interventions {output} --model module:object --target 1 --at-least 0.1",
        markup=False,
    )
