"""Equations by name, put into an order in which each reads only what earlier ones set."""

from __future__ import annotations

from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter
from math import isfinite
from typing import Any

import numpy as np

from isonomia.errors import UsageError, nearest
from isonomia.populations.programs.allowed import why_not_set
from isonomia.populations.programs.mechanisms import Mechanism, mechanism_of
from isonomia.populations.programs.world import World
from isonomia.spec.programs.read import read_equation
from isonomia.spec.programs.tree import Assign, Kind, Number, Text, Truth, reads_of
from isonomia.spec.tree import Value

__all__ = ["intervened", "parents_in", "settable", "world_of"]


def world_of(equations: Mapping[str, Any]) -> World:
    """Make a world of equations: texts, functions, and values of :mod:`isonomia.populations.programs.mechanisms`.

    Raises
    ------
    UsageError
        Where an equation is of no known kind, a parent is no variable, or the equations go round in a circle.
    SpecError
        Where a text cannot be read.
    """
    if not isinstance(equations, Mapping) or not equations:
        raise UsageError(f"expected equations as {{'variable': equation, ...}}, but {equations!r} came")
    for name in equations:
        if not isinstance(name, str) or not name.isidentifier():
            raise UsageError(
                f"expected the name of a variable, of letters, digits and _ as in 'years_of_work', but {name!r} came: "
                "equations could not read it; rename it, and the column of a table that goes with it"
            )
        if name == "noise":
            raise UsageError(
                "expected another name than 'noise', by which functions ask for noise: rename the variable"
            )
    unknown: dict[str, Kind | None] = dict.fromkeys(equations)
    parents = {name: _parents(name, equation, unknown) for name, equation in equations.items()}
    for name, found in parents.items():
        for parent in found:
            if parent not in equations:
                raise UsageError(
                    f"the equation of {name!r} reads {parent!r}, which has no equation.{nearest(parent, equations)}"
                )
    order = _ordered(parents)
    kinds: dict[str, Kind | None] = {}
    statements = tuple(_statement(name, equations[name], kinds) for name in order)
    return World(statements, order)


def intervened(world: World, values: Mapping[str, Value]) -> World:
    """The world in which some variables are set from outside.

    Raises
    ------
    UsageError
        Where there is no such variable, or no such value of it.
    """
    for name in values:
        if name not in world.names:
            raise UsageError(f"there is no variable {name!r} to set.{nearest(name, world.names)}")
    values = {name: settable(name, value) for name, value in values.items()}
    for name, value in values.items():
        why = why_not_set(world, name, value)
        if why is not None:
            raise UsageError(why)
    statements = tuple(
        item
        if not isinstance(item, Assign | Mechanism) or item.target not in values
        else _constant(item.target, values)
        for item in world.statements
    )
    return World(statements, world.names)


def parents_in(world: World) -> dict[str, tuple[str, ...]]:
    """The variables that each variable's equation reads."""
    return {
        item.target: item.parents if isinstance(item, Mechanism) else tuple(sorted(reads_of(item.value)))
        for item in world.statements
        if isinstance(item, Assign | Mechanism)
    }


def _parents(name: str, equation: Any, unknown: Mapping[str, Kind | None]) -> tuple[str, ...]:
    if isinstance(equation, str):
        expression, _ = read_equation(equation, name, unknown)
        return tuple(sorted(reads_of(expression)))
    return mechanism_of(name, equation).parents


def _ordered(parents: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    try:
        return tuple(TopologicalSorter(parents).static_order())
    except CycleError as error:
        circle = " -> ".join(error.args[1])
        raise UsageError(
            f"expected equations of which each reads only earlier ones, but they go round: {circle}"
        ) from None


def _statement(name: str, equation: Any, kinds: dict[str, Kind | None]) -> Assign | Mechanism:
    if isinstance(equation, str):
        expression, kinds[name] = read_equation(equation, name, kinds)
        return Assign(name, expression)
    kinds[name] = None
    return mechanism_of(name, equation)


def settable(name: str, value: Any) -> Value:
    """A value that a variable can be set to, as a plain one.

    Raises
    ------
    UsageError
        Where it is no text, truth value or finite number.
    """
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, str | bool) or (isinstance(plain, int | float) and isfinite(plain)):
        return plain
    raise UsageError(f"expected a text, a truth value or a number to set {name!r} to, but {value!r} came")


def _constant(name: str, values: Mapping[str, Value]) -> Assign:
    value = values[name]
    match value:
        case bool():
            return Assign(name, Truth(value))
        case str():
            return Assign(name, Text(value))
        case _:
            return Assign(name, Number(value))
