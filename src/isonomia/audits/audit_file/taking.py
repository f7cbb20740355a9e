"""What a property takes under ``with``: names that there are not are refused, and those that are needed asked for."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from isonomia.errors import nearest

__all__ = ["Complaint", "Takes", "of_callable"]


@dataclass(frozen=True, slots=True)
class Complaint:
    """What is wrong, in words, and the key that it is about, if it is about one."""

    words: str
    key: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Takes:
    """The options that something takes, and those of them that it needs."""

    names: tuple[str, ...] = ()
    needed: tuple[str, ...] = ()

    def without(self, *names: str) -> Takes:
        """The same without some options."""
        left = (tuple(name for name in some if name not in names) for some in (self.names, self.needed))
        return Takes(*left)

    def complaint(self, options: Mapping[str, Any]) -> Complaint | None:
        """The first thing that is wrong with options; ``None`` where they are as they should be."""
        listed = ", ".join(self.names)
        for name in options:
            if name not in self.names:
                return Complaint(f"{name!r} is not taken.{nearest(name, self.names)} It takes {listed}", (name,))
        missing = [name for name in self.needed if name not in options]
        return Complaint(f"expected with = {{{missing[0]} = ...}}; it takes {listed}") if missing else None


def of_callable(make: Callable[..., Any], further: Takes = Takes()) -> Takes:  # noqa: B008  (it has no state)
    """What a function takes; ``further`` is what it hands on, where it takes options of any name."""
    parameters = inspect.signature(make).parameters.values()
    own = [each for each in parameters if each.kind is not each.VAR_KEYWORD and not each.name.startswith("_")]
    handed_on = further.names if len(own) < len(parameters) else ()
    names = dict.fromkeys((*(each.name for each in own), *handed_on))
    return Takes(tuple(names), tuple(each.name for each in own if each.default is each.empty))
