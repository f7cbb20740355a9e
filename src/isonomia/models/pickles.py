"""scikit-learn and other models from pickle, joblib and skops files.

A pickle runs code while it is read, so it is opened only if the user trusts it. A skops file holds data and names of
types instead; types that are not known to be harmless must be named as trusted.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from isonomia.errors import ModelError, UntrustedTypesError, UsageError
from isonomia.models.adapt import EstimatorModel, adapt_object, predicts
from isonomia.models.files import check_trusted, needed
from isonomia.models.lightgbm import LightGBMModel
from isonomia.models.protocol import Model
from isonomia.models.xgboost import XGBoostModel


def open_pickle(path: Path, *, trust_pickle: bool = False, features: Sequence[str] | None = None) -> Model:
    """Open a pickle or joblib file, compressed or not.

    Parameters
    ----------
    path
        The file.
    trust_pickle
        Whether the file's author may run code here. Otherwise nothing is unpickled.
    features
        The columns to give the model, as for :func:`isonomia.models.adapt`.

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
        content = joblib.load(path)
    except Exception as error:
        raise ModelError(f"{path} could not be unpickled: {type(error).__name__}: {error}") from error
    try:
        return _with_source(adapt_object(content, features), path, "pickle")
    except UsageError as error:
        raise UsageError(f"{path} was unpickled, but holds no model: {error}") from error


def open_skops(path: Path, *, trusted: Sequence[str] = (), features: Sequence[str] | None = None) -> Model:
    """Open a skops file, unless it names types that are neither known to be harmless nor named as trusted.

    Parameters
    ----------
    path
        The file.
    trusted
        Types that skops does not know, but that may be created: ``["credit.encoders.Binner"]``.
    features
        The columns to give the model, as for :func:`isonomia.models.adapt`.

    Raises
    ------
    UsageError
        When skops is not installed, or the file names other types, which are listed; none of them was created.
    ModelError
        When the file is damaged.
    """
    names = _type_names(trusted)
    with _array_libraries_left_out():
        io = needed("skops.io", "skops", "a skops file")
    try:
        unknown = sorted(set(io.get_untrusted_types(file=path)) - set(names))
        if not unknown:
            content = io.load(path, trusted=list(names))
            if not predicts(content):
                raise UsageError(
                    f"expected an object with a method predict, but it is of type {type(content).__name__}."
                )
            return _with_source(adapt_object(content, features), path, "skops file")
    except UsageError as error:
        raise UsageError(f"{path} holds no model: {error}") from error
    except Exception as error:
        raise ModelError(f"{path} could not be read as a skops file: {type(error).__name__}: {error}") from error
    raise UntrustedTypesError(
        f"{path} names types that skops does not know to be harmless, so it was not opened: {', '.join(unknown)}. "
        f"If you know them and trust who wrote the file: trusted={unknown!r}, or --trust TYPE for each on the command "
        "line.",
        tuple(unknown),
    )


@contextmanager
def _array_libraries_left_out() -> Iterator[None]:
    """Keep torch and dask from being imported with skops, which takes seconds.

    When it is imported, skops lists every estimator of scikit-learn. For that, scikit-learn imports all of its
    packages, including the adapters of torch and dask, and skips those that cannot be imported.
    """
    adapters = (f"sklearn.externals.array_api_compat.{name}" for name in ("cupy", "dask", "torch"))
    left_out = [name for name in adapters if name not in sys.modules]
    for name in left_out:
        sys.modules[name] = None  # type: ignore[assignment]  # the way to make an import of it fail
    try:
        yield
    finally:
        for name in left_out:
            sys.modules.pop(name, None)


def _type_names(trusted: Sequence[str]) -> tuple[str, ...]:
    if isinstance(trusted, str) or not all(isinstance(name, str) for name in trusted):
        raise UsageError(f"trusted should be a list of names of types, but is {trusted!r}.", name="trusted")
    return tuple(trusted)


def _with_source(model: Model, path: Path, kind: str) -> Model:
    """Let a model remember which file it came from, if it has a field for that."""
    match model:
        case EstimatorModel():
            return replace(model, source=f"{kind} {path.name}")
        case XGBoostModel() | LightGBMModel():
            return replace(model, source=path.name)
        case _:
            return model
