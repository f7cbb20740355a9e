"""A causal model as users write it: equations by name, put in order, and what variables are set to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import DataError, SpecError, UsageError, nearest
from isonomia.populations.columns import column_from, declared_values
from isonomia.populations.fingerprint import identity_of
from isonomia.populations.worlds.mechanisms import Categories, Custom, Equation, Mechanism, mechanism_of
from isonomia.populations.worlds.world import World, category_error
from isonomia.spec.fairsquare.reader import read_equation
from isonomia.spec.fairsquare.tree import Assign, Boolean, Kind, Number, Text, reads_of
from isonomia.spec.parser import parse_condition
from isonomia.spec.terms import Term
from isonomia.spec.tree import Row, Value


def world_of(equations: Mapping[str, Any]) -> World:
    """Make a world from equations: texts, functions, and values of :mod:`isonomia.populations.worlds.mechanisms`."""
    if not isinstance(equations, Mapping) or not equations:
        raise UsageError(f"expected equations as {{'variable': equation, ...}}, but got {equations!r}")
    for name in equations:
        if not isinstance(name, str) or not name.isidentifier():
            raise UsageError(
                f"expected the name of a variable, of letters, digits and _ as in 'years_of_work', but got {name!r}: "
                "equations could not read it; rename it, and the column of a table that goes with it"
            )
        if name == "noise":
            raise UsageError(
                "expected another name than 'noise', by which functions ask for noise: rename the variable"
            )
    unknown: dict[str, Kind | None] = dict.fromkeys(equations)
    parents = {name: _parents(name, equation, unknown) for name, equation in equations.items()}
    for name, read in parents.items():
        for parent in read:
            if parent not in equations:
                raise UsageError(
                    f"the equation of {name!r} reads {parent!r}, which has no equation.{nearest(parent, equations)}"
                )
    order = _ordered(parents)
    kinds: dict[str, Kind | None] = {}
    statements = tuple(_statement(name, equations[name], kinds) for name in order)
    return World(statements, order)


def intervened(world: World, values: Mapping[str, Value]) -> World:
    """The world in which some variables are set from outside."""
    for name in values:
        if name not in world.names:
            raise UsageError(f"there is no variable {name!r} to set.{nearest(name, world.names)}")
    values = {name: _settable(name, value) for name, value in values.items()}
    for name, value in values.items():
        message = category_error(world, name, value)
        if message is not None:
            raise UsageError(message)
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


def _settable(name: str, value: Any) -> Value:
    """A value that a variable can be set to, as a plain Python value."""
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, str | bool) or (isinstance(plain, int | float) and isfinite(plain)):
        return plain
    raise UsageError(f"expected a text, a truth value or a number to set {name!r} to, but got {value!r}")


def _constant(name: str, values: Mapping[str, Value]) -> Assign:
    value = values[name]
    match value:
        case bool():
            return Assign(name, Boolean(value))
        case str():
            return Assign(name, Text(value))
        case _:
            return Assign(name, Number(value))


def settings_for(world: World, settings: Mapping[str, Any], rows: int) -> dict[str, Any]:
    """Check what variables are set to, and convert it to the form that a world runs on."""
    return {name: _setting(world, name, given, rows) for name, given in settings.items()}


def _setting(world: World, name: str, given: Any, rows: int) -> Any:
    if isinstance(given, str) or not hasattr(given, "__len__"):
        value = _settable(name, given)
        _need_category(world, name, value, "")
        return np.asarray(value, dtype=object) if isinstance(value, str) else value
    column = _column(name, given, rows)
    if world.categories(name) is not None:
        values = column.tolist()
        for value in dict.fromkeys(values):
            _need_category(world, name, value, f" It came for row {values.index(value)}.")
    return column


def _column(name: str, given: Any, rows: int) -> NDArray[Any]:
    """One value for each person, all of them values that can be set."""
    wanted = f"expected a text, a truth value or a number to set {name!r} to, or one for each of {rows:,} people"
    try:
        column = column_from(given, f"what {name!r} is set to")
    except DataError as error:
        raise UsageError(f"{wanted}, but: {error}") from error
    if len(column) != rows:
        raise UsageError(f"{wanted}, but got {len(column):,} values")
    if column.dtype.kind == "O":
        wrong = np.asarray([not isinstance(value, str | bool | int | float) for value in column])
    else:
        wrong = ~np.isfinite(column)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise UsageError(f"{wanted}, but got {column[row]!r} for row {row}")
    return column


def _need_category(world: World, name: str, value: Any, where: str) -> None:
    message = category_error(world, name, value)
    if message is not None:
        raise SpecError(f"{message}{where}")


def values_of_variable(name: str, given: Sequence[Value], names: Sequence[str]) -> tuple[Value, ...]:
    """The values that a variable is declared to have, in order."""
    if name not in names:
        raise UsageError(f"there is no variable {name!r} to have values.{nearest(name, names)}")
    return declared_values(name, given)


def condition_of(given: str | Row | Term) -> Row:
    """A condition, as text or built with Python operators."""
    if isinstance(given, str):
        return parse_condition(given)
    node: Any = given.node if isinstance(given, Term) else given
    if not isinstance(node, Row):
        raise UsageError(
            f"expected a condition, such as 'age >= 18' or col('age') >= 18, but got {given!r} of type "
            f"{type(given).__name__}"
        )
    return node


def identity_of_equations(world: World) -> list[str]:
    """Tell the equations of a model from those of others, one after the other."""
    return [
        f"{item.target} = {_identity(item)}" if isinstance(item, Mechanism) else repr(item) for item in world.statements
    ]


def _identity(item: Mechanism) -> str:
    """Tell an equation from others: by its functions, its noise and its inverse."""
    equation = item.equation
    if isinstance(equation, Categories):
        return repr(equation)
    noise = identity_of(equation.noise.draw) if isinstance(equation.noise, Custom) else repr(equation.noise)
    inverse = equation.inverse if isinstance(equation, Equation) else None
    undone = "" if inverse is None else identity_of(inverse)
    return f"{type(equation).__name__} {identity_of(equation.function)} {noise} {undone}"
