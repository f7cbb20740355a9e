"""``isonomia responsiveness``: what share of the changes open to each person reaches a target prediction."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from isonomia.cli.claims import Claim, control_of
from isonomia.cli.files import read_interventions
from isonomia.cli.models import (
    MODEL_HELP,
    CacheFile,
    CacheKey,
    ModelOptions,
    RandomModel,
    Trust,
    TrustPickle,
    open_model,
)
from isonomia.cli.models import (
    kept as kept_answers,
)
from isonomia.cli.outcome import conclude, store

if TYPE_CHECKING:
    from isonomia.records.verdict import Verdict

__all__ = ["responsiveness"]


def responsiveness(
    data: Annotated[Path, typer.Option(help="The table: CSV, Parquet, Arrow or JSON lines.", show_default=False)],
    model: Annotated[str, typer.Option(help=f"{MODEL_HELP}.", show_default=False)],
    interventions: Annotated[
        Path,
        typer.Option(
            help="What people can change, as TOML; isonomia init --interventions drafts it.", show_default=False
        ),
    ],
    target: Annotated[
        list[str] | None,
        typer.Option(
            help="The prediction that is wanted: a class, LOW:HIGH, or 'prediction < own'.", show_default=False
        ),
    ] = None,
    at_least: Annotated[float | None, typer.Option(help="The least share of their points for everybody.")] = None,
    at_most: Annotated[float | None, typer.Option(help="The largest share of their points for anybody.")] = None,
    test: Annotated[
        str | None,
        typer.Option(help="A ready-made claim: preclusion, gaming, stability, affordability or monotonicity."),
    ] = None,
    within: Annotated[float | None, typer.Option(help="Of stability: how far a number may move.")] = None,
    limit: Annotated[
        str | None, typer.Option(help="Of affordability: a number, or the column with each limit.")
    ] = None,
    direction: Annotated[
        str | None, typer.Option(help="Of monotonicity: where predictions may go, up or down.")
    ] = None,
    where: Annotated[
        str | None, typer.Option(help="For whom: 'prediction == 0 and age < 25'; for everybody unless given.")
    ] = None,
    by: Annotated[list[str] | None, typer.Option(help="A column by whose values people are counted.")] = None,
    person: Annotated[list[int] | None, typer.Option(help="The row of one person, counted from 0.")] = None,
    only: Annotated[
        list[str] | None, typer.Option(help="A feature that is free, of those that are actionable.")
    ] = None,
    each_person: Annotated[
        str,
        typer.Option(help="How the risk covers many people: family-wise (no wrong name) or fdr (few wrong names)."),
    ] = "family-wise",
    draws: Annotated[
        int | None, typer.Option(help="A fixed number of draws a person; sequential unless given.")
    ] = None,
    most_draws: Annotated[int, typer.Option(help="The most draws for one person.")] = 10_000,
    delta: Annotated[float, typer.Option(help="The risk of a wrong answer.")] = 0.05,
    budget: Annotated[str | None, typer.Option(help="The most points, time or both: 1e6, 30s, '1e6, 5min'.")] = None,
    seed: Annotated[int | None, typer.Option(help="Makes the run repeatable.")] = None,
    features: Annotated[str | None, typer.Option(help="The model's columns, in order: age,income.")] = None,
    trust_pickle: TrustPickle = False,
    trust: Trust = None,
    model_options: ModelOptions = None,
    cache: CacheFile = None,
    cache_key: CacheKey = None,
    random_model: RandomModel = False,
    points: Annotated[
        Path | None, typer.Option(help="Write points that break the claim, the nearest first: .csv or .parquet.")
    ] = None,
    people: Annotated[Path | None, typer.Option(help="Write what is known of each person: .csv or .parquet.")] = None,
    json: Annotated[Path | None, typer.Option(help="Also write the verdict to this file.")] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Also say in plain English what is claimed.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print one line, and no progress.")] = False,
) -> None:
    """Check what share of the points that people can reach has the prediction that they want.

    Example: isonomia responsiveness --model credit:model --data people.csv --interventions changes.toml --target 1
    --at-least 0.1 --where "prediction == 0" --by sex

    Or: isonomia responsiveness --test stability --model credit:model --data people.csv --interventions noise.toml
    """
    from isonomia.audits.check import check
    from isonomia.populations import Census
    from isonomia.report import LiveProgress, show
    from isonomia.report.tables import need_writable

    for path, option in ((points, "--points"), (people, "--people")):
        if path is not None:
            need_writable(path, option)
    if json is not None:
        store([], json)
    prop = Claim(test, tuple(target or ()), at_least, at_most, within, limit, direction).property(
        read_interventions(interventions),
        **_options(where=where, by=by, rows=person, only=only, draws=draws, most_draws=most_draws),
        control=control_of(each_person),
    )
    population = Census(data)
    opened = open_model(model, features, trust_pickle, trust, model_options, quiet)
    loaded = kept_answers(opened, cache, cache_key, random_model)
    observer = None if quiet else LiveProgress(Console(stderr=True))
    verdict = check(
        prop,
        loaded,
        population,
        delta=delta,
        budget=budget,
        seed=seed,
        random_model=random_model,
        observer=observer,
    )
    console = Console(highlight=False)
    if not quiet:
        show(verdict, console, prop.explain() if explain else None)
    _export(verdict, points, people, console)
    raise typer.Exit(conclude([verdict], console, json, always=quiet))


def _options(*, where: str | None, **others: Any) -> dict[str, Any]:
    """What was said besides the claim, in the property's words."""
    given = {"who": where, **others}
    return {name: value for name, value in given.items() if value not in (None, [])}


def _export(verdict: Verdict, points: Path | None, people: Path | None, console: Console) -> None:
    from isonomia.report.responsiveness import people_table, points_table
    from isonomia.report.tables import write_table

    for path, columns, what in ((points, points_table(verdict), "points"), (people, people_table(verdict), "people")):
        if path is not None:
            write_table(columns, path)
            count = len(next(iter(columns.values()), []))
            console.print(f"{path}: {count:,} {what}", markup=False, soft_wrap=True)
