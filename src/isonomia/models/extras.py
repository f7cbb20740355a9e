"""Packages that only some models need: imported when used, and named with what installs them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from isonomia.errors import UsageError

__all__ = ["needed"]


def needed(module: str, extra: str, what: str) -> Any:
    """Import a package that is not always installed.

    Parameters
    ----------
    module
        The module to import, such as ``"onnxruntime"``.
    extra
        The extra of Isonomia that brings it.
    what
        What needs it, for the message: ``"an ONNX file"``.

    Raises
    ------
    UsageError
        When the package is not installed, with the command that installs it.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != module.partition(".")[0]:
            raise  # the package is there, and something that it needs itself is not
        package = module.partition(".")[0]
        raise UsageError(
            f"{what} needs the package {package}, which is not installed. Install it: pip install 'isonomia[{extra}]'."
        ) from error
