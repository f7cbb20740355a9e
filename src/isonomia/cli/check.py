"""``isonomia check``: formulas, specifications and programs, of a model and a table; ``plan``: what that will cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from isonomia.cli.options import ModelReading, named_values
from isonomia.cli.outputs import conclude, need_files, new_console, write_all_violations
from isonomia.errors import UsageError

if TYPE_CHECKING:
    from isonomia.populations.program import Program
    from isonomia.populations.protocol import Population
    from isonomia.records.store import KnownCounterexamples
    from isonomia.records.verdict import Verdict
    from isonomia.spec import Property
    from isonomia.spec.safety import Safety

SUFFIX = ".nom"
"""How the name of a specification ends."""


def check(
    arguments: list[str],
    data: Path | None = None,
    model: list[str] | None = None,
    census: bool = False,
    cluster: str | None = None,
    weigh: str = "rows",
    max_cluster: int | None = None,
    labels: str | None = None,
    judge: str | None = None,
    label_probability: str | None = None,
    delta: float = 0.05,
    budget: str | None = None,
    seed: int | None = None,
    method: str = "auto",
    looks: str = "any",
    stop: str = "decided",
    width: float | None = None,
    ranges: list[str] | None = None,
    control: str = "family",
    explain: bool = False,
    quiet: bool = False,
    reading: ModelReading = ModelReading(),  # noqa: B008  (frozen)
    ratio: float | None = None,
    device: str | None = None,
    eps: float | None = None,
    label: str | None = None,
    groups: list[str] | None = None,
    edge_cases: bool = True,
    shrink: bool = True,
    keep: Path | None = None,
    allow_code: bool = False,
    violations: Path | None = None,
    json: Path | None = None,
) -> None:
    r"""Check whether properties hold of a model and a table, or of a FairSquare program.

    Example: isonomia check "P\[prediction == 1 | sex == 'F'] / P\[prediction == 1 | sex == 'M'] >= 0.8" --model
    hiring:model --data applicants.csv
    """
    from isonomia.audits.protocol import Check
    from isonomia.audits.registry import remember
    from isonomia.records.store import KnownCounterexamples
    from isonomia.spec import parse
    from isonomia.spec.safety import EPS
    from isonomia.spec.safety import property as safety_property

    data, arguments = _data_among(arguments, data)
    program, texts = _split_arguments(arguments)
    console = new_console()
    _refuse_without(texts, eps=eps is not None, label=label, group=groups, keep=keep, violations=violations)
    need_files(violations=violations, json=json, keep=keep)
    given = cluster is not None or weigh != "rows" or max_cluster is not None
    together = {"cluster": cluster, "weigh": weigh, "max_cluster": max_cluster} if given else {}
    together |= _labels(labels, judge, label_probability)
    named = all(text.endswith(SUFFIX) for text in texts)
    population = _population(program, data, census, device, together, specified=named)
    read_spec = partial(
        safety_property,
        eps=EPS if eps is None else eps,
        allow_code=allow_code,
        edge_cases=edge_cases,
        shrink=shrink,
        label=label,
        groups=parse_groups(groups),
    )
    properties: list[Property | Safety] = [
        read_spec(Path(text)) if text.endswith(SUFFIX) else parse(text) for text in texts
    ]
    if ratio is not None:
        properties.append(_from_ratio(population, ratio))
    if not properties:
        raise UsageError("expected what must hold: a property in quotation marks, or --ratio 0.85 for a program")
    options: dict[str, Any] = {
        "delta": delta,
        "budget": budget,
        "seed": seed,
        "method": method,
        "looks": int(looks) if looks.isdecimal() else looks,
        "stop": stop,
        "width": width,
        "ranges": parse_ranges(ranges),
        "control": control,
    }
    columns = population.names if population is not None else ()
    loaded = reading.open_all(model or [], columns, quiet=quiet)
    known = None if keep is None else KnownCounterexamples(keep.parent, keep.name)
    verdicts: list[Verdict] = []
    for prop in properties:
        to_check = prop if known is None else _with_known(prop, known)
        verdicts.append(reading.check(to_check, loaded, population, quiet=quiet, explain=explain, **options))
        if known is not None:
            remember(known, Check(to_check), verdicts[-1], forget=False)  # a model that is fixed may break again
            _refuse_trouble(known)
    if violations is not None:
        specified = [verdict for verdict in verdicts if verdict.counted == "cases"]
        by_name = [(verdict.name or str(number), verdict.violations()) for number, verdict in enumerate(specified, 1)]
        write_all_violations(by_name, violations, console)
    raise typer.Exit(conclude(verdicts, console, json, always=quiet))


def plan(
    prop: str,
    guess: list[str],
    share: list[str] | None = None,
    delta: float = 0.05,
) -> None:
    r"""Say how many people a check will take if guessed rates are right, and how few any method could do with.

    Example: isonomia plan "P\[hired | sex == 'F'] / P\[hired | sex == 'M'] >= 0.8" --guess "P\[hired | sex == 'F']=0.3"
    --guess "P\[hired | sex == 'M']=0.33" --delta 1e-6
    """
    from isonomia.audits.check import plan as plan_property

    form = "TEXT=NUMBER, such as \"P[hired | sex == 'F']=0.3\""
    guesses = named_values(guess, "--guess", form, float, last=True)
    shares = named_values(share, "--share", form, float, last=True)
    forecast = plan_property(prop, guesses, shares=shares, delta=delta)
    new_console().print(str(forecast))


def _with_known(prop: Property | Safety, known: KnownCounterexamples) -> Property | Safety:
    """The property with the counterexamples that ``--keep`` kept of it, which are tried first."""
    from isonomia.audits.protocol import Check
    from isonomia.audits.registry import with_known

    knowing: Property | Safety = with_known(Check(prop), known).prop
    _refuse_trouble(known)
    return knowing


def _refuse_trouble(known: KnownCounterexamples) -> None:
    if known.trouble is not None:
        raise UsageError(f"{known.trouble}. --keep takes a new file, or one that it wrote before")


def _population(
    program: Path | None,
    data: Path | None,
    census: bool,
    device: str | None,
    together: Mapping[str, Any],
    *,
    specified: bool,
) -> Population | None:
    """The population; ``None`` for specifications only, whose imports may provide inputs."""
    from isonomia.populations import Census, Sample

    if program is None and device is not None:
        raise UsageError("--device requires a program.fr")
    if together and (census or data is None):
        option = "--labels" if "labels" in together else "--cluster"
        raise UsageError(f"{option} requires a sample: --data people.csv without --census")
    if program is None:
        if data is None:
            if specified and not census:
                return None
            raise UsageError("expected people: --data people.csv, or a program.fr before the properties")
        return Census(data) if census else Sample(data, **together)
    if data is not None:
        raise UsageError(f"expected {program} or --data, but got both: leave one out")
    if census:
        raise UsageError(f"--census requires --data, but {program} draws an unlimited number of rows: leave it out")
    from isonomia.populations.program import Program

    return Program(program, device=device)


def _labels(column: str | None, judge: str | None, probability: str | None) -> dict[str, Any]:
    """How labels were drawn, as an option of a sample; nothing where every row has one."""
    from isonomia.populations import Labels

    if column is None and judge is None and probability is None:
        return {}
    if column is None or judge is None:
        raise UsageError("--labels COLUMN, --judge COLUMN and --label-probability P go together: some are missing")
    try:
        chance: float | str | None = None if probability is None else float(probability)
    except ValueError:
        chance = probability
    return {"labels": Labels(column, judge=judge, probability=chance)}


def _from_ratio(population: Population | None, ratio: float) -> Property:
    from isonomia.populations.program import Program

    if not isinstance(population, Program):
        raise UsageError("--ratio requires a program.fr, with a minority and a majority")
    if not 0.0 < ratio <= 1.0:
        raise UsageError(f"expected --ratio above 0 and at most 1, but got {ratio!r}")
    return ratio_property(population, ratio)


def parse_ranges(items: list[str] | None) -> dict[str, tuple[float, float]]:
    """Read ``COLUMN=LOW:HIGH`` as the ranges of columns."""

    def limits(text: str) -> tuple[float, float]:
        low, _, high = text.partition(":")
        return float(low), float(high)

    return named_values(items, "--range", "COLUMN=LOW:HIGH, such as income=0:100000", limits, last=True)


def names_in(text: str) -> list[str]:
    """The names in a list with commas; a ``ValueError`` for an empty one."""
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise ValueError(text)
    return names


# ----------------------------------------------------------------------------------------- programs and specifications


def _refuse_without(texts: Sequence[str], **given: object) -> None:
    """Refuse options of specifications where only formulas are checked."""
    given_options = [f"--{name}" for name, value in given.items() if value]
    if given_options and not any(text.endswith(SUFFIX) for text in texts):
        raise UsageError(f"these options require a specification{SUFFIX}: {', '.join(given_options)}")


def parse_groups(items: list[str] | None) -> dict[str, list[str]]:
    """Read ``NAME=COLUMN,COLUMN,...``: one-hot columns as a single feature."""
    return named_values(items, "--group", "NAME=COLUMN,COLUMN,...", names_in)


_LOGS = (".eval", ".json", ".jsonl")


def _data_among(arguments: Sequence[str], data: Path | None) -> tuple[Path | None, list[str]]:
    """The table and the other arguments: the log of an eval may stand among them, as in ``check run.eval "..."``."""
    logs = [argument for argument in arguments if argument.lower().endswith(_LOGS)]
    if logs and (data is not None or len(logs) > 1):
        given = [*([] if data is None else [str(data)]), *logs]
        raise UsageError(
            f"expected one table, but got {', '.join(given)}: isonomia compare takes two logs", name="data"
        )
    rest = [argument for argument in arguments if argument not in logs]
    if logs and not rest:
        raise UsageError(
            f'expected a property too, as in isonomia check {logs[0]} "P[correct] >= 0.8"', name="arguments"
        )
    return Path(logs[0]) if logs else data, rest


def _split_arguments(arguments: Sequence[str]) -> tuple[Path | None, list[str]]:
    """The program among the arguments, if there is one, and the properties."""
    programs = [Path(argument) for argument in arguments if _is_program(argument)]
    if len(programs) > 1:
        raise UsageError(f"expected one program, but got {', '.join(map(str, programs))}: check them one by one")
    return (programs[0] if programs else None), [argument for argument in arguments if not _is_program(argument)]


def _is_program(argument: str) -> bool:
    return argument.lower().endswith(".fr")


def ratio_property(program: Program, ratio: float) -> Property:
    """The property of the FairSquare benchmark: the minority's rate over the majority's, among the qualified."""
    from isonomia.spec import P, col

    for column, mark in (("minority", "sensitiveAttribute"), ("target", "fairnessTarget")):
        if column not in program.names:
            raise UsageError(
                f"expected {program.name} to have a line {mark}(...), which --ratio needs, but it has none"
            )
    minority, target = col("minority"), col("target")
    if "qualified" not in program.names:
        return P(target, given=minority) / P(target, given=~minority) >= ratio
    qualified = col("qualified")
    return P(target, given=minority & qualified) / P(target, given=~minority & qualified) >= ratio
