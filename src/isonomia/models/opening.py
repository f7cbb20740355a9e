"""Models from wherever they are: a file, a folder, an address, or ``module:object``."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any

from isonomia.errors import IsonomiaError, ModelError, UsageError, nearest
from isonomia.models.arguments import checked_features
from isonomia.models.loading import load
from isonomia.models.protocol import Model
from isonomia.models.recognising import Kind, kind_of

__all__ = ["load_model", "open_path", "pass_options"]

# Where each kind is opened: imported when met, so that nothing heavy is loaded for nothing.
_OPENERS = {
    Kind.ONNX: ("onnx", "open_onnx"),
    Kind.SKOPS: ("skops", "open_skops"),
    Kind.PICKLE: ("pickles", "open_pickle"),
    Kind.TORCHSCRIPT: ("torch_files", "open_torchscript"),
    Kind.EXPORTED: ("torch_files", "open_exported"),
    Kind.TORCH_PICKLE: ("torch_files", "open_pickled_module"),
    Kind.XGBOOST: ("xgboost", "open_xgboost"),
    Kind.LIGHTGBM: ("lightgbm", "open_lightgbm"),
    Kind.MLFLOW: ("mlflow", "open_mlflow"),
    Kind.SERVICE: ("services", "read_service"),
    Kind.PROGRAM: ("executable", "ExecutableModel"),
}
# Not module:object, whose object has no slash in front.
_REMOTE = re.compile(r"[A-Za-z][\w+.-]*:/")
_OTHERS = {
    ".keras": "a Keras model: export it to ONNX, with model.export('model.onnx', format='onnx')",
    ".h5": "a Keras model: export it to ONNX",
    ".pb": "a TensorFlow model: convert it to ONNX, with tf2onnx",
    ".safetensors": "weights without a model: load them into the module, and pass that",
    ".cbm": "a CatBoost model: load it and pass it, or save it with format='onnx'",
    ".pmml": "a PMML file: wrap what runs it in a function",
    ".py": "Python source: name the object in it, as module:object",
}


def load_model(source: str | PathLike[str], *, features: Sequence[str] | None = None, **options: Any) -> Model:
    """Open a model by what it is, and say what was found: ``print(describe(model))``, or its ``repr``.

    Parameters
    ----------
    source
        A path: an ONNX file, a skops, pickle or joblib file, a TorchScript file or an exported PyTorch program, a file
        of XGBoost or LightGBM, an MLflow folder, the description of a service in TOML, a program. Or an address,
        ``"http://..."``; or an importable object, ``"module:object"``. A file's content decides what it is.
    features
        The columns that the model is given, in its order, where it cannot say so itself.
    options
        What that kind of model takes besides: ``trust_pickle=True`` for pickles, ``trusted=[...]`` for skops,
        ``output=``, ``classes=``, ``device=`` and ``batch_size=`` for networks. One that it does not take is refused
        with those that it does.

    Raises
    ------
    UsageError
        When there is nothing at the place, when what is there is not understood or not trusted, when an option does
        not fit, or when a package is missing, with the command that installs it.
    ModelError
        When it is damaged.
    """
    text = str(source)
    if features is not None:
        options["features"] = checked_features(features)
    if text.lower().startswith(("http://", "https://")):
        return pass_options(_named("http_model", "HttpModel"), "an HTTP endpoint", text, options)
    path = Path(source)
    if _exists(path):
        return open_path(path, options)
    if _REMOTE.match(text):
        raise UsageError(
            f"{text} is elsewhere, and only http:// and https:// are asked from here. Download it, for example with "
            "mlflow.artifacts.download_artifacts for models:/ and runs:/, and give the path of what came."
        )
    module, colon, _ = text.partition(":")
    if colon and all(part.isidentifier() for part in module.split(".")):
        return pass_options(load, "a model named module:object", text, options)
    raise _not_found(path)


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a name longer than any file may have
        return False


def open_path(path: Path, options: dict[str, Any]) -> Model:
    """Open the model in a file or folder, which must exist, with options as for :func:`load_model`."""
    try:
        kind = kind_of(path)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.") from error
    if kind is None:
        raise _not_understood(path)
    source = [str(path.absolute())] if kind is Kind.PROGRAM else path
    try:
        return pass_options(_named(*_OPENERS[kind]), kind.value, source, options)
    except IsonomiaError:
        raise
    except Exception as error:  # each library has errors of its own for a damaged file
        raise ModelError(
            f"{path} looks like {kind.value}, but could not be opened: {type(error).__name__}: {error}"
        ) from error


def pass_options(opener: Callable[..., Any], what: str, source: Any, options: dict[str, Any]) -> Model:
    """Call an opener with the options that it takes; ``trust_pickle`` is no harm where there is no pickle.

    Raises
    ------
    UsageError
        When it does not take one of them; those that it takes are named.
    """
    parameters = list(inspect.signature(opener).parameters.values())[1:]
    anything = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)
    taken = [parameter.name for parameter in parameters if parameter.kind is not parameter.VAR_KEYWORD]
    given = {name: value for name, value in options.items() if name in taken or name != "trust_pickle"}
    for name in given:
        if name not in taken and not anything:
            raise UsageError(
                f"{what} takes no option {name!r}; it takes {', '.join(taken) or 'none'}.{nearest(name, taken)}"
            )
    model: Model = opener(source, **given)
    return model


def _named(module: str, name: str) -> Callable[..., Any]:
    found: Callable[..., Any] = getattr(import_module(f"isonomia.models.{module}"), name)
    return found


def _not_understood(path: Path) -> UsageError:
    known = _OTHERS.get(path.suffix)
    told = f"{path} is {known}." if known else f"{path} is no model that is understood."
    if path.is_dir():
        told = f"{path} is a folder without a file MLmodel."
    return UsageError(f"{told} Understood are: {'; '.join(kind.value for kind in Kind)}.")


def _not_found(path: Path) -> UsageError:
    beside = [other.name for other in path.parent.iterdir()] if path.parent.is_dir() else []
    return UsageError(
        f"there is no model at {str(path)!r}.{nearest(path.name, beside)} Give the path of a file or folder, an "
        "address that begins with http:// or https://, or an importable object as module:object."
    )
