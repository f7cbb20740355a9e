"""``isonomia check``: one or more properties of a model and a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

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
from isonomia.cli.nomos import SUFFIX, keep, read_specification
from isonomia.cli.outcome import conclude, store
from isonomia.cli.programs import ratio_property, split_arguments
from isonomia.errors import UsageError
from isonomia.records.findings import SAFETY

if TYPE_CHECKING:
    from isonomia.populations.protocol import Population
    from isonomia.records.verdict import Verdict
    from isonomia.spec import Property
    from isonomia.spec.safety import Safety

__all__ = ["check", "parse_ranges"]


def check(
    arguments: Annotated[
        list[str],
        typer.Argument(
            metavar="[PROGRAM.fr] PROPERTY|SPEC.nom...", help="Who is drawn; what must hold.", show_default=False
        ),
    ],
    data: Annotated[
        Path | None, typer.Option(help="The table: CSV, Parquet, Arrow or JSON lines.", show_default=False)
    ] = None,
    model: Annotated[
        str | None, typer.Option(help=f"{MODEL_HELP}; leave out where the table has its predictions.")
    ] = None,
    census: Annotated[
        bool,
        typer.Option("--census/--sample", help="Whether the rows are the whole population or a sample of it."),
    ] = False,
    ratio: Annotated[
        float | None,
        typer.Option(help="Of a program: the least rate of its minority over that of its majority, as 0.85."),
    ] = None,
    delta: Annotated[float, typer.Option(help="The risk of a wrong answer.")] = 0.05,
    budget: Annotated[str | None, typer.Option(help="The most people, time or both: 1e6, 30s, '1e6, 5min'.")] = None,
    seed: Annotated[int | None, typer.Option(help="Makes the run repeatable.")] = None,
    method: Annotated[str, typer.Option(help="auto, bets, region or verifair.")] = "auto",
    ranges: Annotated[
        list[str] | None, typer.Option("--range", metavar="COLUMN=LOW:HIGH", help="The range of a column in E[...].")
    ] = None,
    features: Annotated[str | None, typer.Option(help="The model's columns, in order: age,income.")] = None,
    trust_pickle: TrustPickle = False,
    trust: Trust = None,
    model_options: ModelOptions = None,
    cache: CacheFile = None,
    cache_key: CacheKey = None,
    random_model: RandomModel = False,
    eps: Annotated[
        float | None, typer.Option(help="Of a specification: the share of cases that a sampled holds leaves open.")
    ] = None,
    label: Annotated[str | None, typer.Option(help="Of a specification: the column with the right answers.")] = None,
    groups: Annotated[
        list[str] | None,
        typer.Option("--group", metavar="NAME=COLUMN,...", help="One-hot columns as a single feature."),
    ] = None,
    allow_code: Annotated[
        bool, typer.Option("--allow-code", help="Let the block of a specification run as Python.")
    ] = False,
    kept: Annotated[
        Path | None, typer.Option("--keep", help="Keep counterexamples in this file, and try them first next time.")
    ] = None,
    json: Annotated[Path | None, typer.Option(help="Also write the verdicts to this file.")] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Also say each property in plain English.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print one line a property, and no progress.")] = False,
) -> None:
    r"""Check whether properties hold of a model and a table, or of a FairSquare program.

    Example: isonomia check program.fr --ratio 0.85 --delta 1e-10

    Or: isonomia check "P\[prediction == 1 | sex == 'F'] / P\[prediction == 1 | sex == 'M'] >= 0.8" --model hiring:model
    --data applicants.csv
    """
    from isonomia.audits.check import check as check_property
    from isonomia.report import LiveProgress

    program, texts = split_arguments(arguments)
    console = Console(highlight=False)
    if json is not None:
        store([], json)
    population = _population(program, data, census, specified=all(text.endswith(SUFFIX) for text in texts))
    reading = partial(read_specification, allow_code=allow_code, eps=eps, label=label, groups=groups or [], kept=kept)
    properties = [*_properties(texts, reading), *_from_ratio(population, ratio)]
    if not properties:
        raise UsageError("expected what must hold: a property in quotation marks, or --ratio 0.85 for a program")
    known = parse_ranges(ranges or [])
    opened = open_model(model, features, trust_pickle, trust, model_options, quiet)
    loaded = kept_answers(opened, cache, cache_key, random_model)
    observer = None if quiet else LiveProgress(Console(stderr=True))
    verdicts: list[Verdict] = []
    for prop in properties:
        verdicts.append(
            check_property(
                prop,
                loaded,
                population,
                delta=delta,
                budget=budget,
                seed=seed,
                method=method,
                ranges=known,
                random_model=random_model,
                observer=observer,
            )
        )
        told = explain or verdicts[-1].details.get("audit") == SAFETY  # nobody reads a program first
        _tell(verdicts[-1], prop.explain() if told else None, console, quiet)
    if kept is not None:
        keep(verdicts, kept)
    raise typer.Exit(conclude(verdicts, console, json, always=quiet))


def _properties(texts: Sequence[str], reading: Callable[[str], Safety]) -> list[Property | Safety]:
    from isonomia.spec import parse

    return [reading(text) if text.endswith(SUFFIX) else parse(text) for text in texts]


def _tell(verdict: Verdict, explanation: str | None, console: Console, quiet: bool) -> None:
    """Show a verdict; a quiet command keeps its lines for the end, and its notes out of them."""
    from isonomia.report import show

    if not quiet:
        show(verdict, console, explanation)
        return
    for remark in verdict.remarks:
        Console(stderr=True, highlight=False, soft_wrap=True).print(f"note: {remark}", markup=False)


def _population(program: Path | None, data: Path | None, census: bool, *, specified: bool) -> Population | None:
    """Who is asked about; ``None`` where there are specifications only, whose imports may offer inputs."""
    from isonomia.populations import Census, Sample

    if program is None:
        if data is None:
            if specified and not census:
                return None
            raise UsageError("expected people: --data people.csv, or a program.fr before the properties")
        return Census(data) if census else Sample(data)
    if data is not None:
        raise UsageError(f"expected people from {program} or from --data, but both came: leave one out")
    if census:
        raise UsageError(f"expected --census with --data only, but {program} draws people without end: leave it out")
    from isonomia.populations.program import Program

    return Program(program)


def _from_ratio(population: Population | None, ratio: float | None) -> list[Property]:
    if ratio is None:
        return []
    from isonomia.populations.program import Program

    if not isinstance(population, Program):
        raise UsageError("expected a program.fr for --ratio, which speaks of a program's minority and majority")
    if not 0.0 < ratio <= 1.0:
        raise UsageError(f"expected --ratio above 0 and at most 1, but {ratio!r} came")
    return [ratio_property(population, ratio)]


def parse_ranges(items: list[str]) -> dict[str, tuple[float, float]]:
    """Read ``COLUMN=LOW:HIGH`` as the ranges of columns."""
    ranges = {}
    for item in items:
        name, _, ends = item.rpartition("=")
        low, _, high = ends.partition(":")
        try:
            ranges[name] = (float(low), float(high))
        except ValueError:
            raise UsageError(
                f"expected --range as COLUMN=LOW:HIGH, such as income=0:100000, but {item!r} came"
            ) from None
    return ranges
