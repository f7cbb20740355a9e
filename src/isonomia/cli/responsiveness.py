"""``isonomia responsiveness``: what share of the changes open to each person reaches a target prediction."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from isonomia.cli.options import (
    CLAIM,
    FILES,
    MODEL_HELP,
    Budget,
    Delta,
    Explain,
    Json,
    ModelReading,
    NeededData,
    Quiet,
    Seed,
    with_model_reading,
)
from isonomia.cli.outputs import conclude, read_interventions
from isonomia.cli.specs import Claim

if TYPE_CHECKING:
    from isonomia.records.verdict import Verdict

__all__ = ["responsiveness"]

PEOPLE, DRAWS = "Whom it is about", "How people are looked at"


@with_model_reading
def responsiveness(
    data: NeededData,
    model: Annotated[str, typer.Option(metavar="MODEL", help=f"{MODEL_HELP}.", show_default=False)],
    interventions: Annotated[
        Path,
        typer.Option(
            metavar="FILE",
            help="What people can change, as TOML; isonomia init --interventions drafts it.",
            show_default=False,
        ),
    ],
    delta: Delta = 0.05,
    budget: Budget = None,
    seed: Seed = None,
    explain: Explain = False,
    quiet: Quiet = False,
    target: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TARGET",
            help="The prediction that is wanted: a class, LOW:HIGH, or 'prediction < own'.",
            rich_help_panel=CLAIM,
        ),
    ] = None,
    at_least: Annotated[
        float | None,
        typer.Option(metavar="SHARE", help="The least share of their points for everybody.", rich_help_panel=CLAIM),
    ] = None,
    at_most: Annotated[
        float | None,
        typer.Option(metavar="SHARE", help="The largest share of their points for anybody.", rich_help_panel=CLAIM),
    ] = None,
    test: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="A ready-made claim: preclusion, gaming, stability, affordability or monotonicity.",
            rich_help_panel=CLAIM,
        ),
    ] = None,
    within: Annotated[
        float | None,
        typer.Option(metavar="NUMBER", help="Of stability: how far a number may move.", rich_help_panel=CLAIM),
    ] = None,
    limit: Annotated[
        str | None,
        typer.Option(
            metavar="LIMIT", help="Of affordability: a number, or the column with each limit.", rich_help_panel=CLAIM
        ),
    ] = None,
    direction: Annotated[
        str | None,
        typer.Option(metavar="up|down", help="Of monotonicity: where predictions may go.", rich_help_panel=CLAIM),
    ] = None,
    who: Annotated[
        str | None,
        typer.Option(
            metavar="CONDITION",
            help="For whom: 'prediction == 0 and age < 25'; everybody unless given.",
            rich_help_panel=PEOPLE,
        ),
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="A column by whose values people are counted.", rich_help_panel=PEOPLE),
    ] = None,
    person: Annotated[
        list[int] | None,
        typer.Option(metavar="ROW", help="The row of one person, counted from 0.", rich_help_panel=PEOPLE),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FEATURE", help="A feature that is free, of those that are actionable.", rich_help_panel=PEOPLE
        ),
    ] = None,
    control: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="How the risk covers many: family (no wrong name) or discovery (few wrong names).",
            rich_help_panel=DRAWS,
        ),
    ] = "family",
    draws: Annotated[
        int | None,
        typer.Option(
            metavar="NUMBER", help="A fixed number of draws a person; sequential unless given.", rich_help_panel=DRAWS
        ),
    ] = None,
    most_draws: Annotated[
        int,
        typer.Option(metavar="NUMBER", help="The most draws for one person.", rich_help_panel=DRAWS),
    ] = 10_000,
    reading: ModelReading = ModelReading(),  # noqa: B008  (frozen)
    points: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write points that break the claim, the nearest first: .csv or .parquet.",
            rich_help_panel=FILES,
        ),
    ] = None,
    people: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write what is known of each person: .csv or .parquet.", rich_help_panel=FILES
        ),
    ] = None,
    json: Json = None,
) -> None:
    """Check what share of the points that people can reach has the prediction that they want.

    Example: isonomia responsiveness --model credit:model --data people.csv --interventions changes.toml --target 1
    --at-least 0.1 --who "prediction == 0" --by sex
    """
    from isonomia.audits.check import check
    from isonomia.populations import Census
    from isonomia.report import LiveProgress, show
    from isonomia.report.files import need_table, need_writable

    for path, option in ((points, "--points"), (people, "--people")):
        if path is not None:
            need_table(path, option)
    if json is not None:
        need_writable(json, "--json")
    prop = Claim(test, tuple(target or ()), at_least, at_most, within, limit, direction).property(
        read_interventions(interventions),
        **_options(who=who, by=by, rows=person, only=only, draws=draws, most_draws=most_draws, control=control),
    )
    population = Census(data)
    loaded = reading.open(model, quiet=quiet)
    observer = None if quiet else LiveProgress(Console(stderr=True))
    verdict = check(
        prop,
        loaded,
        population,
        delta=delta,
        budget=budget,
        seed=seed,
        random_model=reading.random_model,
        observer=observer,
    )
    console = Console(highlight=False)
    if not quiet:
        show(verdict, console, prop.explain() if explain else None)
    _export(verdict, points, people, console)
    raise typer.Exit(conclude([verdict], console, json, always=quiet))


def _options(**given: Any) -> dict[str, Any]:
    """What was said besides the claim."""
    return {name: value for name, value in given.items() if value not in (None, [])}


def _export(verdict: Verdict, points: Path | None, people: Path | None, console: Console) -> None:
    from isonomia.report.files import write_table
    from isonomia.report.responsiveness import people_table, points_table

    for path, columns, what in ((points, points_table(verdict), "points"), (people, people_table(verdict), "people")):
        if path is not None:
            write_table(columns, path)
            count = len(next(iter(columns.values()), []))
            console.print(f"{path}: {count:,} {what}", markup=False, soft_wrap=True)
