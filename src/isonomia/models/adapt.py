"""Make a model of what the user has."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any, cast

from isonomia.errors import UsageError
from isonomia.models.callables import CallableModel
from isonomia.models.estimators import EstimatorModel
from isonomia.models.protocol import Model

__all__ = ["adapt"]

_MODEL_PARTS = ("answer", "fingerprint", "name", "score_range")


def adapt(model: object, features: Sequence[str] | None = None) -> Model:
    """Make a model of an estimator, of a callable, or of what already is one.

    Parameters
    ----------
    model
        Anything with ``predict``, a callable on a batch, or a :class:`Model`.
    features
        The columns to hand to it, in order. Without it an estimator gets those that it was fitted with, and a
        callable gets all.

    Raises
    ------
    UsageError
        When it is none of these; when it is a class, or a function without arguments that seems to make a model,
        since neither is called unasked.
    """
    chosen = _chosen(features)
    if inspect.isclass(model):
        raise UsageError(
            f"model should be a fitted model, but is the class {model.__qualname__}. "
            f"Make an object of it first: model={model.__qualname__}(...)."
        )
    if all(hasattr(model, part) for part in _MODEL_PARTS):
        return _already(model, chosen)
    if callable(getattr(model, "predict", None)):
        return EstimatorModel(model, chosen)
    if callable(model):
        _check_takes_a_batch(model)
        return CallableModel(model, chosen)
    raise UsageError(
        "model should have a method predict, or be callable on a batch of rows, "
        f"but is {_brief(model)} ({type(model).__name__})."
    )


def _chosen(features: Sequence[str] | None) -> tuple[str, ...] | None:
    if features is None:
        return None
    if isinstance(features, str) or not features or not all(isinstance(name, str) for name in features):
        raise UsageError(f"features should be a list of at least one column's name, but is {features!r}.")
    return tuple(features)


def _already(model: object, features: tuple[str, ...] | None) -> Model:
    if features is not None:
        raise UsageError(
            f"features is {list(features)!r}, but {type(model).__name__} is already a model and chooses its own. "
            "Leave features out."
        )
    return cast(Model, model)


def _check_takes_a_batch(function: Any) -> None:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some built-in callables have none
        return
    name = getattr(function, "__qualname__", type(function).__qualname__)
    try:
        signature.bind(None)
    except TypeError as error:
        hint = f" If it makes the model, call it yourself: model={name}()." if not signature.parameters else ""
        raise UsageError(
            f"model should be callable on a batch of rows, with one argument, but {name}{signature} is not: {error}."
            f"{hint}"
        ) from error


def _brief(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
