"""``isonomia plan``: what a check will cost, before anything is drawn."""

from __future__ import annotations

from typing import Annotated

import typer

from isonomia.cli.options import Delta
from isonomia.cli.outputs import new_console
from isonomia.errors import UsageError


def plan(
    prop: Annotated[str, typer.Argument(metavar="PROPERTY", help="What is to be checked.", show_default=False)],
    guess: Annotated[
        list[str], typer.Option(metavar="RATE=VALUE", help="What a rate might be; one for each.", show_default=False)
    ],
    share: Annotated[
        list[str] | None, typer.Option(metavar="CONDITION=SHARE", help="The share of people who meet a condition.")
    ] = None,
    delta: Delta = 0.05,
) -> None:
    r"""Say how many people a check will take if guessed rates are right, and how few any method could do with.

    Example: isonomia plan "P\[hired | sex == 'F'] / P\[hired | sex == 'M'] >= 0.8" --guess "P\[hired | sex == 'F']=0.3"
    --guess "P\[hired | sex == 'M']=0.33" --delta 1e-6
    """
    from isonomia.audits.check import plan as plan_property

    forecast = plan_property(prop, _pairs(guess, "--guess"), shares=_pairs(share or [], "--share"), delta=delta)
    new_console().print(str(forecast), markup=False)


def _pairs(items: list[str], option: str) -> dict[str, float]:
    """Read ``TEXT=NUMBER``; the text may hold ``=`` itself, so the last one counts."""
    pairs = {}
    for item in items:
        text, sign, value = item.rpartition("=")
        try:
            pairs[text.strip()] = float(value)
        except ValueError:
            sign = ""
        if not sign:
            raise UsageError(
                f"expected {option} as TEXT=NUMBER, such as \"P[hired | sex == 'F']=0.3\", but got {item!r}"
            )
    return pairs
