"""References in docstrings, such as ``:func:`check```, as links of the built pages: an extension of Griffe.

``mkdocs.yml`` names it. A name that has no entry in the reference stays a name.
"""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, NameResolutionError, Object

ROLE = re.compile(r":(?:attr|class|data|exc|func|meth|mod):`(?P<brief>~?)(?P<name>[\w.]+)`")


class Roles(Extension):
    """Rewrites each reference of every docstring as it is loaded."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Take one object of the source."""
        if obj.docstring is not None:
            obj.docstring.value = ROLE.sub(lambda found: link(obj, found), obj.docstring.value)


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
