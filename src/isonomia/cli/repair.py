"""``isonomia repair``: train a model again on its violations of specifications, and certify what that bought."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from isonomia.cli.check import parse_group
from isonomia.cli.options import (
    CLAIM,
    PROGRAMS,
    AllowCode,
    Budget,
    Census,
    Delta,
    Features,
    Json,
    NeededData,
    Quiet,
    Report,
    Seed,
    Trust,
    TrustPickle,
)
from isonomia.cli.outputs import OutputFiles, conclude, new_console, write_outputs
from isonomia.cli.records import HERE, Records, audit_of
from isonomia.errors import UsageError
from isonomia.wording import plural

if TYPE_CHECKING:
    from isonomia.audits.repair import RepairRound

TRAINING = "How it is trained"


def repair(
    specifications: Annotated[
        list[Path],
        typer.Argument(metavar="SPECIFICATION.nom", help="What must hold: one file or several.", show_default=False),
    ],
    data: NeededData,
    model: Annotated[
        str,
        typer.Option(
            metavar="MODEL",
            help="What is trained: module:object, a classifier or a function that gives a new one; or a file of one.",
            show_default=False,
        ),
    ],
    label: Annotated[str, typer.Option(metavar="COLUMN", help="The column with the labels.", show_default=False)],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="Where the repaired model goes, as a skops file.")
    ] = Path("repaired.skops"),
    census: Census = False,
    delta: Delta = 0.05,
    budget: Budget = None,
    seed: Seed = None,
    quiet: Quiet = False,
    records: Records = HERE,
    eps: Annotated[
        float,
        typer.Option(metavar="SHARE", help="The share of cases that may violate a property.", rich_help_panel=CLAIM),
    ] = 0.001,
    lost: Annotated[
        float, typer.Option(metavar="SHARE", help="The accuracy that may be lost.", rich_help_panel=CLAIM)
    ] = 0.005,
    held_out: Annotated[
        float,
        typer.Option(
            metavar="SHARE",
            help="The share of rows held out for the certificate.",
            show_default="a third",
            rich_help_panel=CLAIM,
        ),
    ] = 1 / 3,
    rounds: Annotated[
        int, typer.Option(metavar="NUMBER", help="How often to train again at most.", rich_help_panel=TRAINING)
    ] = 40,
    cases: Annotated[
        int, typer.Option(metavar="NUMBER", help="How many cases a search tries.", rich_help_panel=TRAINING)
    ] = 20_000,
    features: Features = None,
    groups: Annotated[
        list[str] | None,
        typer.Option(
            "--group",
            metavar="NAME=COLUMN,...",
            help="Specification: one-hot columns as a single feature.",
            rich_help_panel=PROGRAMS,
        ),
    ] = None,
    allow_code: AllowCode = False,
    trust_pickle: TrustPickle = False,
    trust: Trust = None,
    report: Report = None,
    json: Json = None,
) -> None:
    """Train a classifier again on its violations, and certify violations and lost accuracy on rows it never saw.

    Example: isonomia repair priors.nom --data people.csv --label risk --model credit:new_tree -o repaired.skops
    """
    from isonomia.audits.repair import augment
    from isonomia.populations import Census, Sample
    from isonomia.report import show
    from isonomia.report.files import need_writable, write_skops
    from isonomia.spec.safety import property as safety_property

    need_writable(output, "--output")
    outputs = OutputFiles(report=report, json=json)
    outputs.probe()
    props = [
        safety_property(path, eps=eps, label=label, groups=dict(map(parse_group, groups or [])), allow_code=allow_code)
        for path in specifications
    ]
    found = augment(
        _trainable(model, trust_pickle, trust),
        Census(data) if census else Sample(data),
        props,
        label=label,
        features=None if features is None else [name.strip() for name in features.split(",")],
        rounds=rounds,
        cases=cases,
        held_out=held_out,
        lost=lost,
        delta=delta,
        seed=seed,
        tell=None if quiet else _tell,
        budget=budget,
    )
    write_skops(found.model, output)
    run = found.record(records)
    console = new_console()
    if not quiet:
        show(found.verdict, console)
        console.print(f"written: {output}; kept as run {run} in {records}", markup=False)
    if report is not None:
        from isonomia.records.store import Store

        write_outputs(OutputFiles(report=report), audit_of(Store(records, reading=True), run), None)
    raise typer.Exit(conclude([found.verdict], console, json, always=quiet))


def _trainable(model: str, trust_pickle: bool, trust: list[str] | None) -> Any:
    """The classifier to train again, or what gives a new one."""
    from isonomia.models import load_model
    from isonomia.models.loader import load_object
    from isonomia.models.protocol import unwrap

    if not Path(model).exists() and ":" in model and "://" not in model:
        return load_object(model)
    options: dict[str, Any] = {
        **({"trust_pickle": True} if trust_pickle else {}),
        **({"trusted": trust} if trust else {}),
    }
    estimator = getattr(unwrap(load_model(model, **options)), "estimator", None)
    if estimator is None or not hasattr(estimator, "fit"):
        raise UsageError(
            f"expected --model as something that can be trained again, but {model} is not: name a scikit-learn file, "
            "or module:object with a classifier or a function that gives a new one"
        )
    return estimator


def _tell(done: RepairRound) -> None:
    new_console(stderr=True, wrap=False).print(
        f"round {done.number}: {plural(done.violating, 'violation')} in {done.searched:,} cases, "
        f"{plural(done.added, 'row')} added",
        markup=False,
    )
