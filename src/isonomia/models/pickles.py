"""Pickle and joblib files, which run code and so are opened only when told to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from isonomia.errors import ModelError, UsageError
from isonomia.models.adapt import adapt
from isonomia.models.estimators import EstimatorModel
from isonomia.models.lightgbm import LightGBMModel
from isonomia.models.protocol import Model
from isonomia.models.xgboost import XGBoostModel

__all__ = ["check_trusted", "open_pickle", "sourced"]


def open_pickle(path: Path, *, trust_pickle: bool = False, features: Sequence[str] | None = None) -> Model:
    """Open a pickle or joblib file, compressed or not.

    Parameters
    ----------
    path
        The file.
    trust_pickle
        Whether whoever wrote it may run code here. Nothing of the file is unpickled otherwise.
    features
        The columns to hand to the model, as for :func:`isonomia.models.adapt`.

    Raises
    ------
    UsageError
        Without ``trust_pickle``, or when the file holds no model.
    ModelError
        When it cannot be unpickled.
    """
    check_trusted(path, trust_pickle, "a pickle")
    import joblib  # type: ignore[import-untyped]

    try:
        found = joblib.load(path)
    except Exception as error:
        raise ModelError(f"{path} could not be unpickled: {type(error).__name__}: {error}") from error
    try:
        return sourced(adapt(found, features), path, "pickle")
    except UsageError as error:
        raise UsageError(f"{path} was unpickled, but holds no model: {error}") from error


def check_trusted(path: Path, trust_pickle: bool, what: str) -> None:
    """Refuse a file with pickles in it, unless the user said that it is trusted.

    Parameters
    ----------
    path
        The file.
    trust_pickle
        What the user said.
    what
        What the file is, for the message.

    Raises
    ------
    UsageError
        When it is not trusted.
    """
    if trust_pickle is not True:
        raise UsageError(
            f"{path} is {what}. Opening a pickle runs whatever code its writer put into it, with your rights, so it "
            "was not opened. If you trust who wrote it: trust_pickle=True, or --trust-pickle on the command line. "
            "Formats that need no trust: skops for scikit-learn, ONNX, and the own files of XGBoost and LightGBM."
        )


def sourced(model: Model, path: Path, kind: str) -> Model:
    """Let a model remember which file it came from, where it has a place for that."""
    match model:
        case EstimatorModel():
            return replace(model, source=f"{kind} {path.name}")
        case XGBoostModel() | LightGBMModel():
            return replace(model, source=path.name)
        case _:
            return model
