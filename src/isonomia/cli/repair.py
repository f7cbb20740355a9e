"""``isonomia repair``: train a model again on its violations of specifications, and certify what that bought."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from isonomia.cli.check import parse_groups
from isonomia.cli.options import HERE
from isonomia.cli.outputs import OutputFiles, conclude, need_files, new_console, write_outputs
from isonomia.errors import UsageError
from isonomia.wording import plural

if TYPE_CHECKING:
    from isonomia.audits.repair import RepairRound


def repair(
    specifications: list[Path],
    data: Path,
    model: str,
    label: str,
    output: Path = Path("repaired.skops"),
    census: bool = False,
    delta: float = 0.05,
    budget: str | None = None,
    seed: int | None = None,
    quiet: bool = False,
    records: Path = HERE,
    eps: float = 0.001,
    lost: float = 0.005,
    held_out: float = 1 / 3,
    rounds: int = 40,
    cases: int = 20_000,
    features: str | None = None,
    groups: list[str] | None = None,
    allow_code: bool = False,
    trust_pickle: bool = False,
    trust: list[str] | None = None,
    report: Path | None = None,
    json: Path | None = None,
) -> None:
    """Train a classifier again on its violations, and certify violations and lost accuracy on rows it never saw.

    Example: isonomia repair priors.nom --data people.csv --label risk --model credit:new_tree -o repaired.skops
    """
    from isonomia.audits.repair import augment
    from isonomia.populations import Census, Sample
    from isonomia.report import show
    from isonomia.report.files import write_skops
    from isonomia.spec.safety import property as safety_property

    need_files(output=output, report=report, json=json)
    props = [
        safety_property(path, eps=eps, label=label, groups=parse_groups(groups), allow_code=allow_code)
        for path in specifications
    ]
    repaired = augment(
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
    write_skops(repaired.model, output)
    run = repaired.record(records)
    console = new_console()
    if not quiet:
        show(repaired.verdict, console)
        console.print(f"written: {output}; kept as run {run} in {records}")
    if report is not None:
        from isonomia.records.store import Store
        from isonomia.report.entries import audit_of

        write_outputs(OutputFiles(report=report), audit_of(Store(records, reading=True), run), None)
    raise typer.Exit(conclude([repaired.verdict], console, json, always=quiet))


def _trainable(model: str, trust_pickle: bool, trust: list[str] | None) -> Any:
    """The classifier to train again, or what gives a new one."""
    from isonomia.models import load_model
    from isonomia.models.adapt import EstimatorModel
    from isonomia.models.loader import load_object
    from isonomia.models.protocol import unwrap

    if not Path(model).exists() and ":" in model and "://" not in model:
        return load_object(model)
    options: dict[str, Any] = {"trust_pickle": True} if trust_pickle else {}
    options |= {"trusted": trust} if trust else {}
    opened = unwrap(load_model(model, **options))
    if not isinstance(opened, EstimatorModel) or not hasattr(opened.estimator, "fit"):
        raise UsageError(
            f"expected --model as a model that can be retrained, but got {model}: name a scikit-learn file, or "
            "module:object with a classifier or a function that returns a new one"
        )
    return opened.estimator


def _tell(done: RepairRound) -> None:
    new_console(stderr=True, wrap=False).print(
        f"round {done.number}: {plural(done.violating, 'violation')} in {done.searched:,} cases, "
        f"{plural(done.added, 'row')} added"
    )
