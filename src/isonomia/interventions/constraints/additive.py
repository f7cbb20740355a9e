"""An action on one feature is made up of changes of others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from isonomia.errors import UsageError
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
class AdditiveLinkage:
    """``weight`` times the action on ``source`` equals, or is at least or at most, the weighted changes of the targets.

    The source counts by the person's own action, the targets by their whole changes, effects of linkages included.

    Attributes
    ----------
    source, targets
        The feature on one side, and those on the other.
    coefficients
        The weight of each target; 1 each unless given.
    sense
        ``"=="``, ``">="`` or ``"<="``, with the source on the left and the targets on the right.
    weight
        The weight of the source.
    """

    kind: ClassVar[str] = "additive-linkage"
    takes_categories: ClassVar[bool] = False

    source: str
    targets: tuple[str, ...]
    coefficients: tuple[float, ...] = ()
    sense: Sense = "=="
    weight: float = 1.0

    def __post_init__(self) -> None:
        names_of(self.kind, (self.source,), "source")
        object.__setattr__(self, "targets", names_of(self.kind, self.targets, "targets"))
        count = len(self.targets)
        given = numbers_of(self.kind, "coefficients", self.coefficients or (1.0,) * count, count)
        object.__setattr__(self, "coefficients", given)
        check_one_of(self.kind, "sense", self.sense, ("==", ">=", "<="))
        check_number(self.kind, "weight", self.weight)
        if self.source in self.targets:
            raise UsageError(f"the source of the {self.kind} constraint, {self.source!r}, is also one of its targets")

    @property
    def names(self) -> tuple[str, ...]:
        """The source, then the targets."""
        return (self.source, *self.targets)

    def words(self) -> str:
        """The constraint as a sentence."""
        parts = zip(self.coefficients, self.targets, strict=True)
        total = " + ".join(f"{weight:g} * change of {name}" for weight, name in parts)
        return f"{self.weight:g} * action on {self.source} {self.sense} {total}"

    def coded(self, levels: Levels) -> AdditiveLinkage:  # noqa: ARG002
        """The constraint itself: it has no categories."""
        return self

    def accepts(self, start: Floats) -> Bools:
        """Every start: the rule is about changes."""
        return np.ones(len(start), dtype=bool)

    def holds(self, moves: Moves) -> Bools:
        """Whether the changes add up."""
        source = self.weight * (moves.acted[:, 0] - moves.start[:, 0])
        return satisfied(source, self.sense, (moves.ended - moves.start)[:, 1:] @ np.asarray(self.coefficients))

    def possible(self, box: Box) -> Bools:
        """Whether the changes can add up."""
        low = np.column_stack([box.low[:, 0] - box.start[:, 0], (box.end_low - box.start)[:, 1:]])
        high = np.column_stack([box.high[:, 0] - box.start[:, 0], (box.end_high - box.start)[:, 1:]])
        return attainable(self._signed(), low, high, self.sense, 0.0)

    def standing(self, scope: ActionScope) -> Form | None:  # noqa: ARG002
        """None: the constraint is about changes."""
        return None

    def form(self, scope: ActionScope) -> Form:
        """One row."""
        signed = self._signed()
        low, high = limits(self.sense, float(signed @ scope.start))
        targets = {j: float(signed[j]) for j in range(1, len(signed))}
        return Form((FormRow({0: self.weight}, targets, low=low, high=high),))

    def _signed(self) -> Floats:
        return np.concatenate([[self.weight], -np.asarray(self.coefficients)])
