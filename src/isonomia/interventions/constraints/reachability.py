"""A list of joint values, and a matrix that says which can be reached from which."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from isonomia.errors import UsageError
from isonomia.interventions.constraints.base import (
    ActionScope,
    Bools,
    Box,
    Codes,
    Floats,
    Form,
    Levels,
    Moves,
    coded_value,
    names_of,
)


@dataclass(frozen=True, slots=True)
class Reachability:
    """The features together have one of ``values``; the j-th can be reached from the i-th if ``matrix[i][j]`` is 1.

    One step only: values that can be reached in two steps must be in the matrix too.

    Attributes
    ----------
    names
        The features.
    values
        Every possible combination of their values, each as a tuple.
    matrix
        A row and a column for each of ``values``, with 0 and 1.
    """

    kind: ClassVar[str] = "reachability"
    takes_categories: ClassVar[bool] = True

    names: tuple[str, ...]
    values: tuple[tuple[Any, ...], ...]
    matrix: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", names_of(self.kind, self.names))
        object.__setattr__(self, "values", tuple(tuple(value) for value in self.values))
        object.__setattr__(self, "matrix", tuple(tuple(int(entry) for entry in row) for row in self.matrix))
        self._check()

    def words(self) -> str:
        """The constraint as a sentence."""
        return f"({', '.join(self.names)}) is one of {len(self.values)} listed values, reached as its matrix says"

    def coded(self, levels: Levels) -> Reachability:
        """The same with indices instead of categories."""
        values = tuple(
            tuple(coded_value(self.kind, name, one, levels) for name, one in zip(self.names, value, strict=True))
            for value in self.values
        )
        return replace(self, values=values)

    def accepts(self, start: Floats) -> Bools:
        """Whether the person is at one of the values."""
        return self._codes().accepts(start)

    def holds(self, moves: Moves) -> Bools:
        """Whether the acted value can be reached."""
        return self._codes().holds(moves)

    def possible(self, box: Box) -> Bools:
        """Whether a value in the box can be reached."""
        return self._codes().possible(box)

    def standing(self, scope: ActionScope) -> Form | None:  # noqa: ARG002
        """One binary per value."""
        return self._codes().standing()

    def form(self, scope: ActionScope) -> Form:
        """One binary for each value that can be reached."""
        return self._codes().form(scope.start)

    def _codes(self) -> Codes:
        return Codes(np.asarray(self.values, dtype=np.float64), np.asarray(self.matrix, dtype=bool))

    def _check(self) -> None:
        count = len(self.values)
        if not count or any(len(value) != len(self.names) for value in self.values):
            raise UsageError(
                f"values of the reachability constraint should have one entry for each of {', '.join(self.names)}, "
                f"but they are {self.values!r}",
                name="values",
            )
        if len(set(self.values)) < count:
            message = f"values of the reachability constraint should be distinct, but they are {self.values!r}"
            raise UsageError(message, name="values")
        if len(self.matrix) != count or any(len(row) != count or not set(row) <= {0, 1} for row in self.matrix):
            raise UsageError(
                f"matrix of the reachability constraint should be {count} rows of {count} zeros and ones, "
                f"but it is {self.matrix!r}",
                name="matrix",
            )
