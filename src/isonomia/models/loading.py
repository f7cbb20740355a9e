"""Models named on the command line and in files, as ``module:object``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from isonomia.errors import ModelError, UsageError, nearest
from isonomia.models.adapt import adapt
from isonomia.models.protocol import Model

__all__ = ["load", "load_object"]


def load(spec: str, features: Sequence[str] | None = None) -> Model:
    """Import a model. The current folder is searched first.

    Parameters
    ----------
    spec
        The module and the object in it, ``"credit.scoring:model"``; the object may be an attribute of another,
        ``"credit:scorer.predict"``.
    features
        The columns to hand to it, as for :func:`adapt`.

    Raises
    ------
    UsageError
        When the text has another form, or names a module or an object that does not exist or is no model.
    ModelError
        When the module raises while it is imported.
    """
    try:
        return adapt(load_object(spec), features)
    except UsageError as error:
        raise UsageError(f"{spec}: {error}") from error


def load_object(spec: str) -> Any:
    """Import any object by ``module:object``. The current folder is searched first.

    Raises
    ------
    UsageError
        When the text has another form, or names a module or an object that does not exist.
    ModelError
        When the module raises while it is imported.
    """
    module_name, colon, path = spec.partition(":")
    if not colon or not module_name or not path:
        raise UsageError(f"expected module:object, such as 'credit:model', but this is {spec!r}.")
    return _found(_imported(module_name), path)


def _imported(name: str) -> ModuleType:
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            beside = [file.stem for file in Path.cwd().glob("*.py")]
            raise UsageError(
                f"there is no module {error.name!r} in {here} or among the installed packages."
                f"{nearest(error.name, beside)}"
            ) from error
        raise _raised(name, error) from error
    except (Exception, SystemExit) as error:
        raise _raised(name, error) from error


def _raised(name: str, error: BaseException) -> ModelError:
    return ModelError(f"the module {name!r} raised {type(error).__name__} while it was imported: {error}")


def _found(module: ModuleType, path: str) -> Any:
    found: Any = module
    for part in path.split("."):
        if not hasattr(found, part):
            owner = getattr(found, "__name__", type(found).__name__)
            public = [name for name in dir(found) if not name.startswith("_")]
            raise UsageError(f"{owner!r} has no {part!r}.{nearest(part, public)}")
        found = getattr(found, part)
    return found
