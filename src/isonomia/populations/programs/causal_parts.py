"""What a causal model is made of, as users write it: declared values, conditions, equations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from isonomia.errors import UsageError, nearest
from isonomia.populations.columns import column_from, distinct
from isonomia.populations.fingerprint import identity_of
from isonomia.populations.programs.mechanisms import Categories, Custom, Equation, Mechanism
from isonomia.spec.parse import parse_condition
from isonomia.spec.terms import Term
from isonomia.spec.tree import Row, Value

__all__ = ["condition_of", "declared_values", "identity_of_equation"]


def declared_values(name: str, given: Sequence[Value], names: Sequence[str]) -> tuple[Value, ...]:
    """The values that a variable is declared to have, in order."""
    if name not in names:
        raise UsageError(f"there is no variable {name!r} to have values.{nearest(name, names)}")
    if isinstance(given, str) or not isinstance(given, Sequence | np.ndarray) or not len(given):
        raise UsageError(f"values[{name!r}] should be a list of at least one value, but is {given!r}.")
    return distinct([column_from(list(given), f"values[{name!r}]")], name)


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


def identity_of_equation(item: Mechanism) -> str:
    """Tell an equation from others: by its functions, its noise and how it is undone."""
    equation = item.equation
    if isinstance(equation, Categories):
        return repr(equation)
    noise = identity_of(equation.noise.draw) if isinstance(equation.noise, Custom) else repr(equation.noise)
    inverse = equation.inverse if isinstance(equation, Equation) else None
    undone = "" if inverse is None else identity_of(inverse)
    return f"{type(equation).__name__} {identity_of(equation.function)} {noise} {undone}"
