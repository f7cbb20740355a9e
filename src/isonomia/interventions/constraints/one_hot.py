"""Exactly, or at most, a given number of several dummies are on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from isonomia.interventions.constraints.base import (
    TOLERANCE,
    ActionScope,
    Bools,
    Box,
    Floats,
    Form,
    FormRow,
    Levels,
    Moves,
    check_number,
    check_one_of,
    names_of,
)


@dataclass(frozen=True, slots=True)
class OneHot:
    """The acted values of the features add up to exactly or at most the limit.

    Attributes
    ----------
    names
        The features.
    limit
        What they add up to.
    sense
        ``"=="`` for exactly, ``"<="`` for at most.
    """

    kind: ClassVar[str] = "one-hot"
    takes_categories: ClassVar[bool] = False

    names: tuple[str, ...]
    limit: float = 1
    sense: Literal["==", "<="] = "=="

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", names_of(self.kind, self.names))
        check_number(self.kind, "limit", self.limit)
        check_one_of(self.kind, "sense", self.sense, ("==", "<="))

    def words(self) -> str:
        """The constraint as a sentence."""
        much = "exactly" if self.sense == "==" else "at most"
        return f"{much} {self.limit:g} of {', '.join(self.names)}"

    def coded(self, levels: Levels) -> OneHot:  # noqa: ARG002
        """The constraint itself: it has no categories."""
        return self

    def accepts(self, start: Floats) -> Bools:
        """Whether the sum is right where the person is."""
        return self._adds_up(start.sum(-1))

    def holds(self, moves: Moves) -> Bools:
        """Whether the sum is right after the person's own action."""
        return self._adds_up(moves.acted.sum(-1))

    def possible(self, box: Box) -> Bools:
        """Whether the sum can be right."""
        under = box.low.sum(-1) <= self.limit + TOLERANCE
        over = box.high.sum(-1) >= self.limit - TOLERANCE
        return np.asarray(under & (over | (self.sense == "<=")))

    def standing(self, scope: ActionScope) -> Form | None:
        """The same rows: the start must satisfy them, too."""
        return self.form(scope)

    def form(self, scope: ActionScope) -> Form:
        """One row."""
        ones = dict.fromkeys(range(len(scope.whole)), 1.0)
        return Form((FormRow(ones, low=self.limit if self.sense == "==" else -np.inf, high=self.limit),))

    def _adds_up(self, total: Floats) -> Bools:
        if self.sense == "<=":
            return np.asarray(total <= self.limit + TOLERANCE)
        return np.asarray(np.abs(total - self.limit) <= TOLERANCE)
