"""The model on the command line: the options that every command with a model has, and how it is opened."""

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
    "MODEL_HELP",
    "CacheFile",
    "CacheKey",
    "ModelOptions",
    "RandomModel",
    "Trust",
    "TrustPickle",
    "kept",
    "open_model",
    "parse_model_options",
]

MODEL_HELP = "The model: a file, a folder, an address, or module:object"
"""What ``--model`` takes."""

TrustPickle = Annotated[
    bool,
    typer.Option("--trust-pickle", help="Open a model that is a pickle, which can run any code. Trust its writer."),
]
Trust = Annotated[
    list[str] | None, typer.Option("--trust", metavar="TYPE", help="A type in a skops file that may be made.")
]
ModelOptions = Annotated[
    list[str] | None,
    typer.Option("--model-option", metavar="NAME=VALUE", help="How to read the model: output=logits, classes=no,yes."),
]

CacheFile = Annotated[
    Path | None, typer.Option("--cache", help="Keep the model's answers in this file, and take them from there.")
]
CacheKey = Annotated[
    str | None, typer.Option("--cache-key", help="Which version of the model it is, where the cache cannot tell.")
]
RandomModel = Annotated[
    bool, typer.Option("--random-model", help="The model may answer the same person differently each time.")
]


def open_model(
    model: str | None,
    features: str | None,
    trust_pickle: bool,
    trust: list[str] | None,
    options: list[str] | None,
    quiet: bool,
) -> Model | None:
    """Open the model that the options name, and say in one line what was found.

    Parameters
    ----------
    model
        What ``--model`` says; ``None`` for none, and then the others must stay out.
    features
        The columns, with commas.
    trust_pickle, trust, options
        The options of this file.
    quiet
        Whether to say nothing.

    Raises
    ------
    IsonomiaError
        As :func:`isonomia.models.load_model` does, and when an option comes without a model.
    """
    if model is None:
        if features is not None:
            raise UsageError(
                f"expected --model with --features, but only --features {features} came: no model reads them"
            )
        if trust_pickle or trust or options:
            raise UsageError("expected --model with --trust-pickle, --trust and --model-option, but it did not come")
        return None
    from isonomia.models import describe, load_model

    given = parse_model_options(options or [])
    if trust:
        given["trusted"] = trust
    if trust_pickle:
        given["trust_pickle"] = True
    columns = None if features is None else [name.strip() for name in features.split(",")]
    found = load_model(model, features=columns, **given)
    if not quiet:
        Console(stderr=True, highlight=False, soft_wrap=True).print(f"model: {describe(found)}", markup=False)
    return found


def kept(model: Model | None, cache: Path | None, key: str | None, random_model: bool) -> Model | None:
    """The model with its answers on disk, where ``--cache`` says so.

    Raises
    ------
    UsageError
        Where an option comes without what it needs, or the cache cannot tell this model from others.
    """
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
