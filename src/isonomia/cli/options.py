"""Shared options; opening the model.

Options that several commands have, each said once: the same name, the same words.

What is needed every day stands in the panel that every help has; the rest stands in panels of its own.

The model on the command line: the options that every command with a model has, and how it is opened.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from isonomia.errors import UsageError

if TYPE_CHECKING:
    from isonomia.models.protocol import Model

__all__ = [
    "CLAIM",
    "FILES",
    "FLAG",
    "MODEL",
    "MODEL_HELP",
    "PROGRAMS",
    "AllowCode",
    "Budget",
    "CacheFile",
    "CacheKey",
    "Card",
    "Census",
    "Data",
    "Delta",
    "Explain",
    "Features",
    "Json",
    "Junit",
    "Key",
    "Markdown",
    "ModelOptions",
    "NeededData",
    "Open",
    "Quiet",
    "RandomModel",
    "Report",
    "Sarif",
    "Seed",
    "Trust",
    "TrustPickle",
    "open_model",
    "parse_model_options",
]


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
    typer.Option("--census/--sample", metavar=FLAG, help="Whether the rows are the whole population or a sample."),
]
Delta = Annotated[float, typer.Option(metavar="RISK", help="The risk of a wrong answer.")]
Budget = Annotated[
    str | None, typer.Option(metavar="COST", help="The most to ask about, time or both: 1e6, 30s, '1e6, 5min'.")
]
Seed = Annotated[int | None, typer.Option(metavar="NUMBER", help="The same seed, the same answers; new unless given.")]
AllowCode = Annotated[
    bool,
    typer.Option(
        "--allow-code",
        metavar=FLAG,
        help="Let the blocks of specifications run as Python.",
        rich_help_panel=PROGRAMS,
    ),
]
Explain = Annotated[bool, typer.Option("--explain", metavar=FLAG, help="Also say in plain English what is claimed.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", metavar=FLAG, help="Print one line a property, and no progress.")]
Key = Annotated[
    Path | None, typer.Option(metavar="FILE", help="A file with the key of the seal, of at least 16 bytes.")
]
Open = Annotated[bool, typer.Option("--open", metavar=FLAG, help="Open the report in a browser.")]

Json = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Write the verdicts as JSON to this file.", rich_help_panel=FILES),
]
Junit = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write JUnit XML to this file.", rich_help_panel=FILES)
]
Sarif = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write SARIF 2.1.0 to this file.", rich_help_panel=FILES)
]
Markdown = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write Markdown to this file.", rich_help_panel=FILES)
]
Card = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Write a section for a model card to this file.", rich_help_panel=FILES),
]
Report = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write the HTML report to this file.", rich_help_panel=FILES)
]

MODEL_HELP = "The model: a file, a folder, an address, or module:object"
"""What ``--model`` takes."""

Features = Annotated[
    str | None,
    typer.Option(metavar="COLUMN,...", help="The columns that the model is given, in order.", rich_help_panel=MODEL),
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
        help="The model may answer the same person differently each time.",
        rich_help_panel=MODEL,
    ),
]
CacheFile = Annotated[
    Path | None,
    typer.Option(
        "--cache",
        metavar="FILE",
        help="Keep the model's answers in this file, and take them from there.",
        rich_help_panel=MODEL,
    ),
]
CacheKey = Annotated[
    str | None,
    typer.Option(
        "--cache-key",
        metavar="TEXT",
        help="Which version of the model it is, where the cache cannot tell.",
        rich_help_panel=MODEL,
    ),
]
TrustPickle = Annotated[
    bool,
    typer.Option(
        "--trust-pickle",
        metavar=FLAG,
        help="Open a model that is a pickle, which can run any code. Trust its writer.",
        rich_help_panel=MODEL,
    ),
]
Trust = Annotated[
    list[str] | None,
    typer.Option("--trust", metavar="TYPE", help="A type in a skops file that may be made.", rich_help_panel=MODEL),
]


def open_model(
    model: str | None,
    features: str | None,
    *,
    options: list[str] | None = None,
    random_model: bool = False,
    cache: Path | None = None,
    cache_key: str | None = None,
    trust_pickle: bool = False,
    trust: list[str] | None = None,
    quiet: bool = False,
) -> Model | None:
    """Open the model that the options name, and say in one line what was found; with its answers on disk if asked to.

    Parameters
    ----------
    model
        What ``--model`` says; ``None`` for none, and then the others must stay out.
    features, options, random_model, cache, cache_key, trust_pickle, trust
        The options of this file.
    quiet
        Whether to say nothing.

    Raises
    ------
    IsonomiaError
        As :func:`isonomia.models.load_model` does, when an option comes without what it needs, and where the cache
        cannot tell this model from others.
    """
    found = _opened(model, features, options, random_model, trust_pickle, trust)
    if found is not None and not quiet:
        from isonomia.models import describe

        Console(stderr=True, highlight=False, soft_wrap=True).print(f"model: {describe(found)}", markup=False)
    return _kept(found, cache, cache_key, random_model)


def _opened(
    model: str | None,
    features: str | None,
    options: list[str] | None,
    random_model: bool,
    trust_pickle: bool,
    trust: list[str] | None,
) -> Model | None:
    if model is None:
        if features is not None:
            raise UsageError(
                f"expected --model with --features, but only --features {features} came: no model reads them"
            )
        if trust_pickle or trust or options or random_model:
            raise UsageError(
                "expected --model with --trust-pickle, --trust, --model-option and --random-model, but it did not come"
            )
        return None
    from isonomia.models import load_model

    given = parse_model_options(options or [])
    if trust:
        given["trusted"] = trust
    if trust_pickle:
        given["trust_pickle"] = True
    columns = None if features is None else [name.strip() for name in features.split(",")]
    return load_model(model, features=columns, **given)


def _kept(model: Model | None, cache: Path | None, key: str | None, random_model: bool) -> Model | None:
    """The model with its answers on disk, where ``--cache`` says so."""
    if cache is None:
        if key is not None:
            raise UsageError("expected --cache with --cache-key, but it did not come")
        return model
    if model is None:
        raise UsageError("expected --model with --cache, but it did not come: there are no answers to keep")
    if random_model:
        raise UsageError("expected --cache or --random-model, but both came: answers at random are not to be kept")
    from isonomia.models.cache import Cached

    try:
        return Cached(model, cache, key)
    except UsageError as error:
        raise UsageError(f"{error} On the command line: --cache-key 'credit 2024-05'") from error


def parse_model_options(items: list[str]) -> dict[str, Any]:
    """Read ``NAME=VALUE``: a number, a truth value, a list with commas, TOML in brackets, or text."""
    options = {}
    for item in items:
        name, sign, text = item.partition("=")
        if not sign or not name.strip().isidentifier() or not text.strip():
            raise UsageError(f"expected --model-option as NAME=VALUE, such as output=logits, but {item!r} came")
        options[name.strip()] = _value(text.strip())
    return options


def _value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return [_value(part.strip()) for part in text.split(",")] if "," in text else text
