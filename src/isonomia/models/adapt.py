"""Make a :class:`Model` from what the user has."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from importlib import import_module
from os import PathLike
from typing import Any, cast

from isonomia.errors import UsageError
from isonomia.models.checked import checked_features
from isonomia.models.estimators import CallableModel, EstimatorModel
from isonomia.models.protocol import Model, OwnModel
from isonomia.wording import shortened

_MODEL_PARTS = ("answer", "fingerprint", "name", "score_range")

# By package and class: the module here and the function in it. Subclasses count too.
_MAKERS = {
    ("xgboost", "Booster"): ("xgboost", "xgboost_model"),
    ("xgboost", "XGBModel"): ("xgboost", "xgboost_model"),
    ("lightgbm", "Booster"): ("lightgbm", "lightgbm_model"),
    ("lightgbm", "LGBMModel"): ("lightgbm", "lightgbm_model"),
    ("torch", "Module"): ("torch", "torch_model"),
    ("torch", "ExportedProgram"): ("torch", "torch_model"),
    ("onnx", "ModelProto"): ("onnx", "onnx_model"),
    ("onnxruntime", "InferenceSession"): ("onnx", "refuse_session"),
    ("mlflow", "PyFuncModel"): ("mlflow", "mlflow_model"),
}


def adapt(model: object, features: Sequence[str] | None = None) -> Model:
    """Make a model from what the user has.

    Parameters
    ----------
    model
        Anything with ``predict``, a callable on a batch, a PyTorch module, a booster of XGBoost or LightGBM, an ONNX
        model, a path or an address as :func:`isonomia.load_model` takes it, or a :class:`Model`.
    features
        The columns to give it, in order. By default a model gets those that it was fitted with, if it knows them, and
        otherwise all columns.

    Raises
    ------
    UsageError
        When it is none of these; when it is a class, or a function without arguments that seems to make a model,
        since neither is called unasked.
    """
    if isinstance(model, str | PathLike):
        return cast(Model, function_of("loader", "load_model")(model, features=checked_features(features)))
    return adapt_object(model, features)


def adapt_object(model: object, features: Sequence[str] | None = None) -> Model:
    """Make a model from a live object, as :func:`adapt` does, but never from a path, an address or a name.

    For objects that come out of a file or a module: a text found there must not start a program, import a module or
    send rows to an address.
    """
    chosen = checked_features(features)
    if inspect.isclass(model):
        raise UsageError(
            f"model should be a fitted model, but is the class {model.__qualname__}. "
            f"Make an object of it first: model={model.__qualname__}(...)."
        )
    if all(hasattr(model, part) for part in _MODEL_PARTS):
        return _already(model, chosen)
    maker = _library_maker(model)
    if maker is not None:
        return cast(Model, maker(model, features=chosen))
    if callable(getattr(model, "predict", None)):
        return EstimatorModel(model, chosen)
    if callable(model):
        _check_takes_a_batch(model)
        return CallableModel(model, chosen)
    raise UsageError(
        "model should have a method predict, or be callable on a batch of rows, "
        f"but is {shortened(repr(model), 80)} ({type(model).__name__})."
    )


def _library_maker(model: object) -> Callable[..., Any] | None:
    """The function that adapts an object of a known library, found without importing the library."""
    for kind in type(model).__mro__:
        maker = _MAKERS.get((kind.__module__.partition(".")[0], kind.__name__))
        if maker is not None and not (kind.__name__ == "Module" and callable(getattr(model, "predict", None))):
            return function_of(*maker)
    return None


def function_of(module: str, name: str) -> Callable[..., Any]:
    """A function of a module in this package, which is imported only now."""
    return cast(Callable[..., Any], getattr(import_module(f"isonomia.models.{module}"), name))


def _already(model: object, features: tuple[str, ...] | None) -> Model:
    if features is not None:
        raise UsageError(
            f"features is {list(features)!r}, but {type(model).__name__} is already a model and chooses its own. "
            "Leave features out.",
            name="features",
        )
    whole = cast(Model, model)
    return whole if isinstance(getattr(model, "reads", ...), tuple | None) else OwnModel(whole)


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
