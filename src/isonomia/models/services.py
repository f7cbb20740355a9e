"""Models outside this process, described in a few lines of TOML."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from os import PathLike, fspath
from pathlib import Path

from isonomia.errors import UsageError, nearest
from isonomia.models.executable import ExecutableModel
from isonomia.models.http import HttpModel
from isonomia.models.protocol import Model
from isonomia.toml import TomlText


def read_service(path: str | PathLike[str]) -> Model:
    """Read the description of a service or a program.

    The file has one table, ``[model]``, with ``url`` and the options of :class:`HttpModel`, or with ``command`` and
    those of :class:`ExecutableModel`. A program runs in the folder of the file unless ``folder`` says otherwise.

    Parameters
    ----------
    path
        The file, in TOML.

    Raises
    ------
    UsageError
        When there is no such file.
    SpecError
        When it is not valid TOML, or does not describe a model; with the line.
    """
    file = Path(fspath(path))
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"expected the description of a model in {file}, but it cannot be read: {error}") from error
    toml = TomlText.parse(text, str(file))
    others = [name for name in toml.content if name != "model"]
    if others or not isinstance(toml.content.get("model"), Mapping):
        hint = nearest(others[0], ["model"]) if others else ""
        raise toml.error(f"expected one table, [model], but there is {', '.join(others) or 'none'}.{hint}")
    return _service(toml, file.parent)


def _service(toml: TomlText, folder: Path) -> Model:
    """The model that the options describe; a relative ``folder`` among them is relative to the file's."""
    options = dict(toml.content["model"])
    if ("url" in options) == ("command" in options):
        message = "expected url, for a service, or command, for a program, and not both"
        raise toml.error(message, "model", "url")
    kind: type[HttpModel] | type[ExecutableModel] = HttpModel if "url" in options else ExecutableModel
    toml.check_table(options, [item.name for item in fields(kind) if item.init], "[model]", "model")
    if kind is ExecutableModel:
        within = options.get("folder", "")
        if not isinstance(within, str):
            raise toml.error(f"folder should be the path of a folder, but is {within!r}", "model", "folder")
        options["folder"] = folder / within
    try:
        return kind(**options)
    except UsageError as error:
        raise toml.error(str(error), "model", *([error.name] if error.name else [])) from None
