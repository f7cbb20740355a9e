"""``isonomia principal``: principal fairness of a model or of stored predictions, and a repair."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer
from rich.console import Console
from rich.text import Text

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
from isonomia.errors import UsageError

if TYPE_CHECKING:
    from isonomia.evidence.strata.repair import Objective, Repair

__all__ = ["parse_values", "principal"]


def principal(
    data: Annotated[Path, typer.Option(help="The table: CSV, Parquet, Arrow or JSON lines.", show_default=False)],
    attribute: Annotated[str, typer.Option(help="The column with the protected attribute.", show_default=False)],
    outcome: Annotated[str, typer.Option(help="The column with the outcome that is predicted.", show_default=False)],
    prediction: Annotated[str, typer.Option(help="The column with the prediction or decision.")] = "prediction",
    model: Annotated[str | None, typer.Option(help=f"{MODEL_HELP}, in place of such a column.")] = None,
    given: Annotated[
        list[str] | None, typer.Option(help="A column within whose values the attribute is as good as random.")
    ] = None,
    definition: Annotated[int, typer.Option(help="1 each stratum, 2 all strata together, 3 everybody, 4 odds.")] = 1,
    within: Annotated[float, typer.Option(help="The largest difference that is still fair.")] = 0.0,
    normalised: Annotated[
        bool, typer.Option("--normalised", help="The margin is of tau, within the stratum, not of tau'.")
    ] = False,
    assume: Annotated[
        list[str] | None, typer.Option(help="An assumption, such as 'outcome never falls' or 'P[Y0 > Y1] <= 0.05'.")
    ] = None,
    values: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN=FIRST,SECOND", help="A column's values in order, the first is 0."),
    ] = None,
    census: Annotated[
        bool, typer.Option("--census/--sample", help="Whether the rows are the whole population or a sample of it.")
    ] = False,
    delta: Annotated[float, typer.Option(help="The risk of a wrong answer.")] = 0.05,
    budget: Annotated[str | None, typer.Option(help="The most people, time or both: 1e6, 30s, '1e6, 5min'.")] = None,
    seed: Annotated[int | None, typer.Option(help="Makes the run repeatable.")] = None,
    features: Annotated[str | None, typer.Option(help="The model's columns, in order: age,income.")] = None,
    trust_pickle: TrustPickle = False,
    trust: Trust = None,
    model_options: ModelOptions = None,
    cache: CacheFile = None,
    cache_key: CacheKey = None,
    random_model: RandomModel = False,
    repair: Annotated[bool, typer.Option("--repair", help="Also print how to change decisions.")] = False,
    objective: Annotated[str, typer.Option(help="What a repair keeps small: total, changes or accuracy.")] = "total",
    never_lower: Annotated[
        bool, typer.Option("--never-lower", help="Never change a decision to one that comes earlier in its values.")
    ] = False,
    json: Annotated[Path | None, typer.Option(help="Also write the verdict to this file.")] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Also say in plain English what is claimed.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print one line, and no progress.")] = False,
) -> None:
    """Check that nobody is predicted differently because of an attribute that does not affect their outcome.

    Example: isonomia principal --data students.csv --attribute sex --outcome passed --prediction predicted --given
    school --definition 1 --repair
    """
    from isonomia.audits.check import check
    from isonomia.populations import Census, Sample
    from isonomia.report import LiveProgress, show
    from isonomia.report.terminal import summary
    from isonomia.spec.principal import PrincipalFairness

    population = Census(data) if census else Sample(data)
    roles = (attribute, outcome, prediction)
    prop = PrincipalFairness(
        attribute=attribute,
        outcome=outcome,
        prediction=prediction,
        given=given or (),
        definition=cast(Any, definition),
        within=within,
        normalised=normalised,
        assumptions=assume or (),
        values=parse_values(
            values or [], {name: population.values(name) for name in roles if name in population.names}
        ),
    )
    if json is not None:
        store([], json)
    chosen = _objective(objective)
    opened = open_model(model, features, trust_pickle, trust, model_options, quiet)
    loaded = kept_answers(opened, cache, cache_key, random_model)
    verdict = check(
        prop,
        loaded,
        population,
        delta=delta,
        budget=budget,
        seed=seed,
        random_model=random_model,
        observer=None if quiet else LiveProgress(Console(stderr=True)),
    )
    console = Console(highlight=False)
    if quiet:
        summary([verdict], console)
    else:
        show(verdict, console, prop.explain() if explain else None)
    if repair:
        from isonomia.audits.principal.remedy import remedies

        found = remedies(prop, loaded, population, objective=chosen, never_lower=never_lower)
        _print_repairs(found, verdict.details, console, chosen)
    raise typer.Exit(conclude([verdict], console, json))


def parse_values(items: list[str], known: dict[str, tuple[Any, ...]]) -> dict[str, tuple[Any, ...]]:
    """Read ``COLUMN=FIRST,SECOND``; a value is what the column has under that spelling, else the text itself."""
    orders = {}
    for item in items:
        name, sign, listed = item.partition("=")
        texts = [text.strip() for text in listed.split(",")]
        if not sign or not all(texts):
            raise UsageError(f"expected --values as COLUMN=FIRST,SECOND, such as sex=F,M, but {item!r} came")
        spelled = {str(value): value for value in known.get(name, ())}
        orders[name] = tuple(spelled.get(text, text) for text in texts)
    return orders


def _objective(text: str) -> Objective:
    from isonomia.evidence.strata.repair import OBJECTIVES

    if text not in OBJECTIVES:
        raise UsageError(f"expected --objective as one of {', '.join(OBJECTIVES)}, but {text!r} came")
    return cast("Objective", text)


def _print_repairs(
    found: Mapping[str, Repair | None], details: Mapping[str, Any], console: Console, objective: Objective
) -> None:
    from isonomia.evidence.strata.repair import OBJECTIVES
    from isonomia.report.principal import repair_table

    console.print(Text(f"\nThe repair with {OBJECTIVES[objective]}, from all rows:", style="bold"))
    for where, change in found.items():
        if change is None:
            console.print(Text(f"{where}: no repair, since somebody to compare with is missing"))
            continue
        costs = (
            ("total", change.total),
            ("share of decisions changed", change.changed),
            ("accuracy lost", change.lost_accuracy),
        )
        console.print(repair_table(where, details, change.change, costs))
