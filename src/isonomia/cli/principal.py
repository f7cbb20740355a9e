"""``isonomia principal``: principal fairness of a model or of stored predictions, and a repair."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import typer
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from isonomia.cli.check import names_in
from isonomia.cli.options import ModelReading, named_values
from isonomia.cli.outputs import conclude, need_files, new_console
from isonomia.errors import UsageError
from isonomia.wording import number

if TYPE_CHECKING:
    from isonomia.evidence.strata.repair import Objective, Repair


def principal(
    data: Path,
    attribute: str,
    outcome: str,
    prediction: str = "prediction",
    model: str | None = None,
    census: bool = False,
    delta: float = 0.05,
    budget: str | None = None,
    seed: int | None = None,
    explain: bool = False,
    quiet: bool = False,
    given: list[str] | None = None,
    definition: int = 1,
    within: float = 0.0,
    normalised: bool = False,
    assume: list[str] | None = None,
    values: list[str] | None = None,
    repair: bool = False,
    certified: bool = False,
    objective: str = "total",
    never_lower: bool = False,
    reading: ModelReading = ModelReading(),  # noqa: B008  (frozen)
    json: Path | None = None,
) -> None:
    """Check that an attribute changes no prediction where it does not affect the outcome.

    Example: isonomia principal --data students.csv --attribute sex --outcome passed --prediction predicted --given
    school --definition 1 --repair
    """
    from isonomia.populations import Census, Sample
    from isonomia.spec.principal import PrincipalFairness

    if never_lower and not repair:
        raise UsageError("--never-lower requires --repair")
    if certified and (census or not repair):
        raise UsageError("--certified requires --repair, and a sample: the repair of a --census is exact")
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
        values=parse_values(values, {name: population.values(name) for name in roles if name in population.names}),
    )
    need_files(json=json)
    chosen = _objective(objective)
    loaded = reading.open(model, quiet=quiet)
    options = {"delta": delta, "budget": budget, "seed": seed}
    verdict = reading.check(prop, loaded, population, quiet=quiet, explain=explain, **options)
    console = new_console()
    if repair:
        from isonomia.audits.principal.repair import remedies

        risk = delta if certified else None
        repairs = remedies(
            prop, loaded, population, objective=chosen, never_lower=never_lower, delta=risk, seed=verdict.seed
        )
        _print_repairs(repairs, verdict.details, console, chosen, risk)
    raise typer.Exit(conclude([verdict], console, json, always=quiet))


def parse_values(items: list[str] | None, known: dict[str, tuple[Any, ...]]) -> dict[str, tuple[Any, ...]]:
    """Read ``COLUMN=FIRST,SECOND``; a value is what the column has under that spelling, else the text itself."""
    orders = named_values(items, "--values", "COLUMN=FIRST,SECOND, such as sex=F,M", names_in)
    spelled = {name: {str(value): value for value in known.get(name, ())} for name in orders}
    return {name: tuple(spelled[name].get(text, text) for text in texts) for name, texts in orders.items()}


def _objective(text: str) -> Objective:
    from isonomia.evidence.strata.repair import OBJECTIVES

    if text not in OBJECTIVES:
        raise UsageError(f"expected --objective as one of {', '.join(OBJECTIVES)}, but got {text!r}")
    return cast("Objective", text)


def _print_repairs(
    repairs: Mapping[str, Repair | None],
    details: Mapping[str, Any],
    console: Console,
    objective: Objective,
    risk: float | None,
) -> None:
    from isonomia.evidence.strata.repair import OBJECTIVES

    console.print(f"\nThe repair with {OBJECTIVES[objective]}, from all rows:", style="bold")
    if risk is not None:
        console.print(
            f"Some fair world explains the repaired decisions of the population in every subgroup, except with "
            f"probability {risk:g}, where the model was fitted on other people than these.",
            soft_wrap=True,
        )
    for where, change in repairs.items():
        if change is None:
            console.print(f"{where}: no repair, since there is no row to compare with")
            continue
        console.print(_repair_table(where, details, change))


def _repair_table(where: str, names: Mapping[str, Any], repair: Repair) -> RenderableType:
    """The probabilities with which each decision becomes another, by attribute value.

    ``repair.change[a, s, t]`` is the probability that ``s`` becomes ``t`` where the attribute has value ``a``.
    """
    attribute, prediction = names["attribute"], names["prediction"]
    table = Table(box=None, padding=(0, 2, 0, 2), header_style="dim")
    for heading in (attribute["name"], f"{prediction['name']} was"):
        table.add_column(heading)
    for value in prediction["values"]:
        table.add_column(f"becomes {value!r}", justify="right")
    for a, value in enumerate(attribute["values"]):
        for s, before in enumerate(prediction["values"]):
            chances = (_chance(float(repair.change[a][s][t]), t == s) for t in range(len(prediction["values"])))
            table.add_row(repr(value), repr(before), *chances)
    summary = {
        "total": repair.total,
        "share of decisions changed": repair.changed,
        "accuracy lost": repair.lost_accuracy,
    }
    costs = ", ".join(f"{name} {number(value)}" for name, value in summary.items() if value is not None)
    return Padding(Group(f"repair of {where}: {costs}", table), (1, 0, 0, 0))


def _chance(value: float, stays: bool) -> Text:
    style = "dim" if stays or value == 0 else "bold"
    return Text(number(value), style=style)
