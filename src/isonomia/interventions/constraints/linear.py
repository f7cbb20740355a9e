"""A linear inequality, or equation, over where several features end up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from isonomia.interventions.constraints.base import (
    ActionScope,
    Bools,
    Box,
    Floats,
    Form,
    FormRow,
    Levels,
    Moves,
    Sense,
    attainable,
    check_number,
    check_one_of,
    limits,
    names_of,
    numbers_of,
    satisfied,
)


@dataclass(frozen=True, slots=True)
class Linear:
    """A weighted sum of ended values is at most, at least or equal to a bound. It applies to the start as well.

    Attributes
    ----------
    names, coefficients
        The features, and the weight of each.
    sense
        ``"<="``, ``">="`` or ``"=="``.
    bound
        What the sum is compared with.
    """

    kind: ClassVar[str] = "linear"
    takes_categories: ClassVar[bool] = False

    names: tuple[str, ...]
    coefficients: tuple[float, ...]
    sense: Sense
    bound: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", names_of(self.kind, self.names))
        given = numbers_of(self.kind, "coefficients", self.coefficients, len(self.names))
        object.__setattr__(self, "coefficients", given)
        check_one_of(self.kind, "sense", self.sense, ("==", ">=", "<="))
        check_number(self.kind, "bound", self.bound)

    def words(self) -> str:
        """The constraint as a sentence."""
        total = " + ".join(f"{weight:g} * {name}" for weight, name in zip(self.coefficients, self.names, strict=True))
        return f"{total} {self.sense} {self.bound:g}"

    def coded(self, levels: Levels) -> Linear:  # noqa: ARG002
        """The constraint itself: it has no categories."""
        return self

    def accepts(self, start: Floats) -> Bools:
        """Whether it is true of the start."""
        return satisfied(start @ self._weights(), self.sense, self.bound)

    def holds(self, moves: Moves) -> Bools:
        """Whether it is true of the end."""
        return satisfied(moves.ended @ self._weights(), self.sense, self.bound)

    def possible(self, box: Box) -> Bools:
        """Whether it can be true."""
        return attainable(self._weights(), box.end_low, box.end_high, self.sense, self.bound)

    def standing(self, scope: ActionScope) -> Form | None:
        """The same rows: the start must satisfy them, too."""
        return self.form(scope)

    def form(self, scope: ActionScope) -> Form:  # noqa: ARG002
        """One row."""
        low, high = limits(self.sense, self.bound)
        return Form((FormRow(ended=dict(enumerate(self.coefficients)), low=low, high=high),))

    def _weights(self) -> Floats:
        return np.asarray(self.coefficients)
