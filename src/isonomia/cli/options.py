"""Options that several commands have, each said once: the same name, the same words; and how the model is opened.

What is needed every day stands in the panel that every help has; the rest stands in panels of its own.
"""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from isonomia.cli.outputs import new_console
from isonomia.errors import UsageError

if TYPE_CHECKING:
    from isonomia.models.protocol import Model


FLAG = ""
"""In the place of a value: there is none."""

MODEL, CLAIM = "How the model is read", "What is claimed"
PROGRAMS, FILES = "Programs and specifications", "Files for machines and people"
"""The panels that several commands have."""

_TABLE = "The table: CSV, Parquet, Arrow or JSON lines."

Data = Annotated[Path | None, typer.Option(metavar="FILE", help=_TABLE, show_default=False)]
NeededData = Annotated[Path, typer.Option(metavar="FILE", help=_TABLE, show_default=False)]
Census = Annotated[
    bool,
    typer.Option("--census/--sample", metavar=FLAG, help="Whether rows are the whole population or a sample."),
]
Cluster = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="Rows with the same value belong together: customer, prompt, school."),
]
Weigh = Annotated[str, typer.Option(metavar="rows|clusters", help="With --cluster: what counts the same.")]
MaxCluster = Annotated[
    int | None, typer.Option(metavar="ROWS", help="With --cluster: the most rows that one can have.")
]


def as_risk(text: str | float) -> float:
    """A risk as a number, or in percent."""
    shown = str(text).strip()
    try:
        return float(shown.removesuffix("%")) / (100.0 if shown.endswith("%") else 1.0)
    except ValueError:
        raise typer.BadParameter(f"expected a number such as 0.05 or 5%, but got {shown!r}") from None


Delta = Annotated[float, typer.Option(metavar="RISK", help="The risk of a wrong answer.", parser=as_risk)]
Budget = Annotated[
    str | None,
    typer.Option(metavar="COST", help="The most samples, rows sent to the model, or time: 1e6, '500 queries', 30s."),
]
Seed = Annotated[
    int | None,
    typer.Option(
        metavar="NUMBER", help="The same seed gives the same answers; default: derived from property, data and model."
    ),
]
AllowCode = Annotated[
    bool,
    typer.Option(
        "--allow-code",
        metavar=FLAG,
        help="Let the blocks of specifications run as Python.",
        rich_help_panel=PROGRAMS,
    ),
]
TRUST = "What a file may do"
AllowAudit = Annotated[
    bool,
    typer.Option(
        "--allow-code",
        metavar=FLAG,
        help="Let the audit file run code and programs, and call services: only from people you trust.",
        rich_help_panel=TRUST,
    ),
]
AllowOutside = Annotated[
    bool,
    typer.Option(
        "--allow-outside",
        metavar=FLAG,
        help="Let the audit file read and write outside its folder.",
        rich_help_panel=TRUST,
    ),
]
Remember = Annotated[
    bool,
    typer.Option(
        "--remember",
        metavar=FLAG,
        help="Remember what is allowed until the file or code beside it changes.",
        rich_help_panel=TRUST,
    ),
]
Explain = Annotated[bool, typer.Option("--explain", metavar=FLAG, help="Also say in plain English what is claimed.")]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", metavar=FLAG, help="Print one line per property, and no progress.")
]
Key = Annotated[Path | None, typer.Option(metavar="FILE", help="A file with the key of the seal: at least 16 bytes.")]
Open = Annotated[bool, typer.Option("--open", metavar=FLAG, help="Open the report in a browser.")]

Json = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Write the verdicts as JSON.", rich_help_panel=FILES),
]
Junit = Annotated[Path | None, typer.Option(metavar="FILE", help="Write JUnit XML.", rich_help_panel=FILES)]
Sarif = Annotated[Path | None, typer.Option(metavar="FILE", help="Write SARIF 2.1.0.", rich_help_panel=FILES)]
Markdown = Annotated[Path | None, typer.Option(metavar="FILE", help="Write Markdown.", rich_help_panel=FILES)]
Card = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Write a section for a model card.", rich_help_panel=FILES),
]
ViolationsFile = Annotated[
    Path | None,
    typer.Option(
        "--violations",
        metavar="FILE",
        help="Write every violation: .csv, .parquet or .jsonl.",
        rich_help_panel=FILES,
    ),
]
Mlflow = Annotated[
    str | None,
    typer.Option(
        "--mlflow",
        metavar="EXPERIMENT",
        help="Log verdicts, report and evidence to an MLflow run of this experiment, or to MLFLOW_RUN_ID.",
        rich_help_panel=FILES,
    ),
]
Report = Annotated[Path | None, typer.Option(metavar="FILE", help="Write the HTML report.", rich_help_panel=FILES)]

GROUPS = "A table by group"
"""The panel of what is measured by group."""

_BY = "The groups: a column, or several for their intersection: sex,race. Repeatable."
By = Annotated[list[str] | None, typer.Option(metavar="COLUMN,...", help=_BY, rich_help_panel=GROUPS)]
NeededBy = Annotated[list[str], typer.Option(metavar="COLUMN,...", help=_BY, show_default=False)]
DecisionColumn = Annotated[
    str | None,
    typer.Option(
        "--decision",
        metavar="COLUMN",
        help="The decisions; the model's predictions where there is a model.",
        rich_help_panel=GROUPS,
    ),
]
Favourable = Annotated[
    str | None,
    typer.Option(metavar="VALUE", help="The favourable decision; 1 or true unless given.", rich_help_panel=GROUPS),
]
ScoreColumn = Annotated[
    str | None,
    typer.Option("--score", metavar="COLUMN", help="The scores; score for those of the model.", rich_help_panel=GROUPS),
]
Unknown = Annotated[
    list[str] | None,
    typer.Option(
        metavar="VALUE",
        help="A value that means an unknown group, such as '?'. Repeatable.",
        rich_help_panel=GROUPS,
    ),
]
TableFile = Annotated[
    Path | None,
    typer.Option("--csv", metavar="FILE", help="Write the table: CSV or Parquet.", rich_help_panel=FILES),
]

_CHANGES = "What people can change, as TOML; isonomia init --interventions drafts it."
Changes = Annotated[Path | None, typer.Option("--interventions", metavar="FILE", help=_CHANGES, rich_help_panel=CLAIM)]
NeededChanges = Annotated[Path, typer.Option("--interventions", metavar="FILE", help=_CHANGES, show_default=False)]
Target = Annotated[
    list[str] | None,
    typer.Option(
        metavar="TARGET",
        help="The wanted prediction: a class, LOW:HIGH, or 'prediction < own'.",
        rich_help_panel=CLAIM,
    ),
]
IdColumn = Annotated[
    str | None,
    typer.Option("--id", metavar="COLUMN", help="The column that tells people apart.", rich_help_panel=FILES),
]

MODEL_HELP = "The model: a file, folder, address, or module:object"
"""What ``--model`` takes."""

Features = Annotated[
    str | None,
    typer.Option(metavar="COLUMN,...", help="The columns the model is given, in order.", rich_help_panel=MODEL),
]
ModelOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--model-option",
        metavar="NAME=VALUE",
        help="How to read the model: output=logits, classes=no,yes.",
        rich_help_panel=MODEL,
    ),
]
RandomModel = Annotated[
    bool,
    typer.Option(
        "--random-model",
        metavar=FLAG,
        help="The model may answer the same person differently.",
        rich_help_panel=MODEL,
    ),
]
CacheFile = Annotated[
    Path | None,
    typer.Option(
        "--cache",
        metavar="FILE",
        help="Keep the model's answers in this file.",
        rich_help_panel=MODEL,
    ),
]
CacheKey = Annotated[
    str | None,
    typer.Option(
        "--cache-key",
        metavar="TEXT",
        help="The version of the model, where the cache cannot tell.",
        rich_help_panel=MODEL,
    ),
]
Executor = Annotated[
    str | None,
    typer.Option(
        "--executor",
        metavar="WHERE",
        help="Where the model runs: threads:8, processes, dask:tcp://host:8786, ray, mpi.",
        rich_help_panel=MODEL,
    ),
]
TrustPickle = Annotated[
    bool,
    typer.Option(
        "--trust-pickle",
        metavar=FLAG,
        help="Open a pickled model, which can run any code: only from people you trust.",
        rich_help_panel=MODEL,
    ),
]
Trust = Annotated[
    list[str] | None,
    typer.Option("--trust", metavar="TYPE", help="Allow this type from a skops file.", rich_help_panel=MODEL),
]


@dataclass(frozen=True, slots=True)
class ModelReading:
    """How the model of a command is read: the options that every command with a model has."""

    features: Features = None
    model_options: ModelOptions = None
    random_model: RandomModel = False
    cache: CacheFile = None
    cache_key: CacheKey = None
    trust_pickle: TrustPickle = False
    trust: Trust = None
    executor: Executor = None

    def open(self, model: str | None, *, quiet: bool = False) -> Model | None:
        """Open what ``--model`` names and say in one line what it is; with its answers on disk if asked to."""
        opened = self._opened(model)
        if opened is not None and not quiet:
            from isonomia.models import describe

            new_console(stderr=True, wrap=False).print(f"model: {describe(opened)}", markup=False)
        return self._cached(opened)

    def _opened(self, model: str | None) -> Model | None:
        if model is None:
            if self.features is not None:
                raise UsageError(
                    f"expected --model with --features, but got only --features {self.features}: no model reads them"
                )
            if self.trust_pickle or self.trust or self.model_options or self.random_model:
                raise UsageError(
                    "expected --model with --trust-pickle, --trust, --model-option and --random-model, but it did not "
                    "come"
                )
            return None
        from isonomia.models import load_model

        options = parse_model_options(self.model_options or [])
        if self.trust:
            options["trusted"] = self.trust
        if self.trust_pickle:
            options["trust_pickle"] = True
        columns = None if self.features is None else [name.strip() for name in self.features.split(",")]
        return load_model(model, features=columns, **options)

    def _cached(self, model: Model | None) -> Model | None:
        """The model with its answers on disk, where ``--cache`` says so."""
        if self.cache is None:
            if self.cache_key is not None:
                raise UsageError("expected --cache with --cache-key, but got none")
            return model
        if model is None:
            raise UsageError("expected --model with --cache, but got none: there are no answers to keep")
        from isonomia.models.cache import Cached

        try:
            return Cached(model, self.cache, self.cache_key)
        except UsageError as error:
            raise UsageError(f"{error} On the command line: --cache-key 'credit 2024-05'") from error


def with_model_reading(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of :class:`ModelReading` in the place of its parameter ``reading``."""
    own = inspect.signature(command, eval_str=True).parameters.values()
    options = list(inspect.signature(ModelReading, eval_str=True).parameters.values())
    parameters = [each for one in own for each in (options if one.name == "reading" else [one])]

    @wraps(command)
    def wrapped(**given: Any) -> None:
        reading = ModelReading(**{option.name: given.pop(option.name) for option in options})
        command(**given, reading=reading)

    wrapped.__signature__ = inspect.Signature([one.replace(kind=one.KEYWORD_ONLY) for one in parameters])  # type: ignore[attr-defined]
    wrapped.__annotations__ = {one.name: one.annotation for one in parameters}
    return wrapped


@contextmanager
def arguments_as_options(*names: str) -> Iterator[None]:
    """Say of an argument that is wrong how it is written at the command line."""
    try:
        yield
    except UsageError as error:
        if error.name not in names:
            raise
        raise UsageError(f"{error}. At the command line: --{error.name} VALUE", name=error.name) from error


def parse_model_options(items: list[str]) -> dict[str, Any]:
    """Read ``NAME=VALUE``: a number, a truth value, a list with commas, TOML in brackets, or text."""
    options = {}
    for item in items:
        name, sign, text = item.partition("=")
        if not sign or not name.strip().isidentifier() or not text.strip():
            raise UsageError(f"expected --model-option as NAME=VALUE, such as output=logits, but got {item!r}")
        options[name.strip()] = _value(text.strip())
    return options


def _value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return [_value(part.strip()) for part in text.split(",")] if "," in text else text
