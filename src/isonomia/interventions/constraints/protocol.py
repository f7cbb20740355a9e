"""What every constraint offers to the parts that use it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Protocol

from isonomia.interventions.constraints.forms import Form, Scope
from isonomia.interventions.constraints.moves import Bools, Box, Floats, Moves

__all__ = ["Constraint", "Levels"]

Levels = Mapping[str, tuple[str | float, ...]]
"""The categories of each categorical feature."""


class Constraint(Protocol):
    """A rule that couples some features.

    Every array that a constraint is given has one column for each of its ``names``, in their order.
    """

    kind: ClassVar[str]
    """What the constraint is called in a file."""
    takes_categories: ClassVar[bool]
    """Whether its features may be categorical."""

    @property
    def names(self) -> tuple[str, ...]:
        """The features that it couples."""

    def words(self) -> str:
        """The constraint as a sentence, without its full stop."""

    def coded(self, levels: Levels) -> Constraint:
        """The same constraint with categories replaced by their places in the feature's list."""

    def accepts(self, start: Floats) -> Bools:
        """Whether a person can start here, for each row."""

    def holds(self, moves: Moves) -> Bools:
        """Whether each move is allowed."""

    def possible(self, box: Box) -> Bools:
        """False only where no move of the box is allowed; where in doubt, true."""

    def form(self, scope: Scope) -> Form | None:
        """The constraint at one person as linear rows; ``None`` where it has no such form.

        Every move that the constraint allows satisfies the rows, for some choice of the auxiliary binaries.
        """

    def standing(self, scope: Scope) -> Form | None:
        """Linear rows that every place satisfies at which a person can be; ``None`` where there are none to tell.

        Of the scope, the ranges count, and the start does not.
        """
