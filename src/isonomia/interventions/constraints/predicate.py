"""A rule of the user's own, as a condition in words or as a function of whole columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import UsageError
from isonomia.interventions.constraints.base import ActionScope, Bools, Box, Floats, Form, Levels, Moves, names_of
from isonomia.spec.evaluate import Batch, truth
from isonomia.spec.parser import parse_condition
from isonomia.spec.walk import columns_of, outputs_of, versions_of

Columns: TypeAlias = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Predicate:
    """A rule of the user's own about where the person ends up. It applies to the start as well.

    Attributes
    ----------
    condition
        A condition in the language of properties, ``"debt <= 0.4 * income or owner == 1"``.
    test
        Instead of a condition, a function of two mappings from name to column, where the people start and where they
        end up; it returns one truth value per row. Such a constraint cannot be stored in a file.
    names
        The features that the function reads; those of a condition are taken from it.
    levels
        The categories of features; do not give them, the interventions fill them in.

    Notes
    -----
    Nothing is known about a predicate but its answers. So it prunes nothing before all its features have values, and a
    solver cannot use it: put linear parts into constraints of their own.
    """

    kind: ClassVar[str] = "predicate"
    takes_categories: ClassVar[bool] = True

    condition: str = ""
    test: Callable[[Columns, Columns], Any] | None = None
    names: tuple[str, ...] = ()
    levels: tuple[tuple[str, tuple[str | float, ...]], ...] = ()

    def __post_init__(self) -> None:
        if bool(self.condition) == (self.test is not None):
            raise UsageError("a predicate constraint should have either a condition or a test")
        if self.condition:
            row = parse_condition(self.condition)
            if outputs_of(row) or versions_of(row):
                raise UsageError(f"a predicate should be about features only, but it is {self.condition!r}")
            object.__setattr__(self, "names", columns_of(row))
        object.__setattr__(self, "names", names_of(self.kind, self.names))

    def words(self) -> str:
        """The constraint as a sentence."""
        return self.condition or f"{getattr(self.test, '__name__', 'a test')} of {', '.join(self.names)}"

    def coded(self, levels: Levels) -> Predicate:
        """The same, knowing which categories the indices stand for."""
        return replace(self, levels=tuple((name, levels[name]) for name in self.names if name in levels))

    def accepts(self, start: Floats) -> Bools:
        """Whether it is true of the start."""
        return self._true(start, start)

    def holds(self, moves: Moves) -> Bools:
        """Whether it is true of the end."""
        return self._true(moves.start, moves.ended)

    def possible(self, box: Box) -> Bools:
        """True: nothing is known before all features have values."""
        return np.ones(len(box.start), dtype=bool)

    def standing(self, scope: ActionScope) -> Form | None:  # noqa: ARG002
        """None: it is not linear."""
        return None

    def form(self, scope: ActionScope) -> Form | None:  # noqa: ARG002
        """None: it is not linear."""
        return None

    def _true(self, start: Floats, end: Floats) -> Bools:
        if not len(end):
            return np.ones(0, dtype=bool)
        points = self._columns(end)
        if self.test is None:
            return np.asarray(truth(parse_condition(self.condition), Batch(len(end), points)), dtype=bool)
        answers = np.asarray(self.test(self._columns(np.broadcast_to(start, end.shape)), points))
        if answers.shape != (len(end),) or answers.dtype.kind not in "bi":
            raise UsageError(
                f"the test of {self.words()} should give one truth value for each of {len(end)} rows, "
                f"but it gave {answers.dtype} of shape {answers.shape}"
            )
        return answers.astype(bool)

    def _columns(self, values: Floats) -> dict[str, NDArray[Any]]:
        columns: dict[str, NDArray[Any]] = {name: values[:, j] for j, name in enumerate(self.names)}
        for name, categories in self.levels:
            columns[name] = np.asarray(categories, dtype=object)[columns[name].astype(np.intp)]
        return columns
