"""The model on the command line: the options that every command with a model has, and how it is opened."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from isonomia.errors import UsageError

if TYPE_CHECKING:
    from isonomia.models.protocol import Model

__all__ = ["MODEL_HELP", "ModelOptions", "Trust", "TrustPickle", "open_model", "parse_model_options"]

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
