"""Models outside this process, described in a few lines of TOML."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import fields
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from isonomia.errors import Place, SpecError, UsageError, nearest
from isonomia.models.executable import ExecutableModel
from isonomia.models.http import HttpModel
from isonomia.models.protocol import Model

__all__ = ["read_service", "service_of"]


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
        Where it is no TOML, or describes no model; with the line.
    """
    place = Path(fspath(path))
    try:
        text = place.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"expected the description of a model in {place}, but it cannot be read: {error}") from error
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SpecError(f"{place} is no TOML: {error}") from error

    def wrong(message: str, key: str = "") -> SpecError:
        found = re.search(rf"^\s*(\"?{re.escape(key)}\"?)\s*=", text, re.MULTILINE) if key else None
        return SpecError(f"{place}: {message}", Place(text, *found.span(1)) if found else None)

    others = [name for name in content if name != "model"]
    if others or not isinstance(content.get("model"), Mapping):
        hint = nearest(others[0], ["model"]) if others else ""
        raise wrong(f"expected one table, [model], but there is {', '.join(others) or 'none'}.{hint}")
    return service_of(content["model"], place.parent, wrong)


def service_of(options: Mapping[str, Any], folder: Path, wrong: Callable[[str, str], Exception] | None = None) -> Model:
    """Make a model of its options.

    Parameters
    ----------
    options
        ``url`` or ``command``, and the options of that kind of model.
    folder
        Where a program runs, unless the options say otherwise; a relative ``folder`` is relative to it.
    wrong
        Makes the error of a message and an option's name; a :class:`UsageError` without it.
    """
    complain = wrong or (lambda message, _: UsageError(message))
    if ("url" in options) == ("command" in options):
        raise complain("expected url, for a service, or command, for a program, and not both", "url")
    kind: type[HttpModel] | type[ExecutableModel] = HttpModel if "url" in options else ExecutableModel
    known = [item.name for item in fields(kind) if item.init]
    for name in options:
        if name not in known:
            raise complain(f"there is no option {name!r}: they are {', '.join(known)}.{nearest(name, known)}", name)
    given = dict(options)
    if kind is ExecutableModel:
        within = given.get("folder", "")
        if not isinstance(within, str):
            raise complain(f"folder should be the path of a folder, but is {within!r}", "folder")
        given["folder"] = folder / within
    try:
        return kind(**given)
    except UsageError as error:
        named = str(error).split(maxsplit=1)[0]
        raise complain(str(error), named if named in options else "") from None
