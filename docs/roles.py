"""Docstrings as the built pages show them: an extension of Griffe that ``mkdocs.yml`` names.

References such as ``:func:`check``` become links; a name that has no entry in the reference stays a name. Parameters
that share a description get an entry each with a type of its own: Griffe would give all of them the first one's.
"""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, NameResolutionError, Object

ROLE = re.compile(r":(?:attr|class|data|exc|func|meth|mod):`(?P<brief>~?)(?P<name>[\w.]+)`")


SHARED = re.compile(r"^(\*{0,2}\w+(?:, \*{0,2}\w+)+)\n((?: +\S.*(?:\n|\Z)|\n(?= ))+)", re.MULTILINE)
"""Several names in one line of a section, and what is said of them."""


def one_each(text: str) -> str:
    """A docstring in which every parameter has an entry of its own."""
    return SHARED.sub(lambda found: "".join(f"{name}\n{found[2]}" for name in found[1].split(", ")), text)


class Roles(Extension):
    """Rewrites every docstring as it is loaded."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Take one object of the source."""
        if obj.docstring is not None:
            text = one_each(obj.docstring.value)
            obj.docstring.value = ROLE.sub(lambda found: link(obj, found), text)


def link(obj: Object, found: re.Match[str]) -> str:
    """A reference as a link that may lead nowhere."""
    name = found["name"]
    shown = name.rpartition(".")[2] if found["brief"] else name.removeprefix("isonomia.")
    return f'<autoref optional identifier="{_target(obj, name)}"><code>{shown}</code></autoref>'


def _target(obj: Object, name: str) -> str:
    """The full path of a name that is written where an object is described."""
    if name.startswith("isonomia."):
        return name
    first, dot, rest = name.partition(".")
    top = obj.package
    if first in (top.exports or ()):
        return f"{top.path}.{name}"
    if obj.is_class and first in obj.members:
        return f"{obj.path}.{name}"
    try:
        return f"{obj.resolve(first)}{dot}{rest}"
    except NameResolutionError:
        return name
