"""What a property takes under ``with`` in an audit file: unknown options are refused, required ones demanded."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from isonomia.audits.protocol import PropertyTable
from isonomia.errors import UsageError, nearest


@dataclass(frozen=True, slots=True)
class OptionSpec:
    """The options that something takes, and those of them that it needs."""

    names: tuple[str, ...] = ()
    needed: tuple[str, ...] = ()

    def without(self, *names: str) -> OptionSpec:
        """The same without some options."""
        return OptionSpec(
            tuple(name for name in self.names if name not in names),
            tuple(name for name in self.needed if name not in names),
        )


NO_OPTIONS = OptionSpec()


def of_callable(make: Callable[..., Any], further: OptionSpec = NO_OPTIONS) -> OptionSpec:
    """What a function takes; ``further`` is what it passes on, where it takes any keyword."""
    parameters = inspect.signature(make).parameters.values()
    own = [each for each in parameters if each.kind is not each.VAR_KEYWORD and not each.name.startswith("_")]
    handed_on = further.names if len(own) < len(parameters) else ()
    names = dict.fromkeys((*(each.name for each in own), *handed_on))
    return OptionSpec(tuple(names), tuple(each.name for each in own if each.default is each.empty))


def options_of(table: PropertyTable) -> dict[str, Any]:
    """The options of a property; steps such as ``up = [1, 4]`` are pairs."""
    steps = {"up", "down"}
    return {
        key: tuple(value) if key in steps and isinstance(value, list) else value
        for key, value in table.get("with", {}).items()
    }


def refuse_options(table: PropertyTable, takes: OptionSpec, options: Mapping[str, Any]) -> None:
    """Refuse options that a property does not take, and demand those that it needs."""
    listed = ", ".join(takes.names)
    for name in options:
        if name not in takes.names:
            raise table.error(f"{name!r} is not taken.{nearest(name, takes.names)} It takes {listed}", "with", name)
    missing = [name for name in takes.needed if name not in options]
    if missing:
        raise table.error(f"expected with = {{{missing[0]} = ...}}; it takes {listed}", "with")


def named_property(
    table: PropertyTable,
    key: str,
    module: Any,
    names: Sequence[str],
    further: OptionSpec = NO_OPTIONS,
) -> Any:
    """A named property of a module, with the options that it takes."""
    name, options = table.get(key), options_of(table)
    if name not in names:
        raise UsageError(f"expected one of {', '.join(names)}, but got {name!r}.{nearest(name, names)}")
    make = getattr(module, name)
    refuse_options(table, of_callable(make, further), options)
    return make(**options)
