"""What a causal model is made of, as users write it: declared values, conditions, equations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from isonomia.errors import UsageError, nearest
from isonomia.populations.declaring import declared_values
from isonomia.populations.fingerprint import identity_of
from isonomia.populations.programs.mechanisms import Categories, Custom, Equation, Mechanism
from isonomia.populations.programs.world import World
from isonomia.spec.parse import parse_condition
from isonomia.spec.terms import Term
from isonomia.spec.tree import Row, Value

__all__ = ["condition_of", "identity_of_equations", "values_of_variable"]


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
            f"expected a condition, such as 'age >= 18' or col('age') >= 18, but {given!r} of type "
            f"{type(given).__name__} came"
        )
    return node


def identity_of_equations(world: World) -> list[str]:
    """Tell the equations of a model from those of others, one after the other."""
    return [
        f"{item.target} = {_identity(item)}" if isinstance(item, Mechanism) else repr(item) for item in world.statements
    ]


def _identity(item: Mechanism) -> str:
    """Tell an equation from others: by its functions, its noise and how it is undone."""
    equation = item.equation
    if isinstance(equation, Categories):
        return repr(equation)
    noise = identity_of(equation.noise.draw) if isinstance(equation.noise, Custom) else repr(equation.noise)
    inverse = equation.inverse if isinstance(equation, Equation) else None
    undone = "" if inverse is None else identity_of(inverse)
    return f"{type(equation).__name__} {identity_of(equation.function)} {noise} {undone}"
