"""A rule over values: if a condition is true of where one feature ends up, another is true of a second feature."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from isonomia.interventions.constraints.base import ActionScope, Bools, Box, Floats, Form, Levels, Moves, one_of_boxes
from isonomia.interventions.constraints.conditions import Condition, check_conditions


@dataclass(frozen=True, slots=True)
class IfThen:
    """If ``when`` is true of where the person ends up, so is ``then``.

    It applies to ended values, and to the person's start as well.

    Attributes
    ----------
    when, then
        Conditions on the values of two different features.
    """

    kind: ClassVar[str] = "if-then"
    takes_categories: ClassVar[bool] = True

    when: Condition
    then: Condition

    def __post_init__(self) -> None:
        check_conditions(self.kind, self.when, self.then)

    @property
    def names(self) -> tuple[str, ...]:
        """The feature that decides, and the one that is decided."""
        return (self.when.name, self.then.name)

    def words(self) -> str:
        """The constraint as a sentence."""
        return f"if {self.when.words()} then {self.then.words()}"

    def coded(self, levels: Levels) -> IfThen:
        """The same with indices instead of categories."""
        return replace(self, when=self.when.coded(self.kind, levels), then=self.then.coded(self.kind, levels))

    def accepts(self, start: Floats) -> Bools:
        """Whether the rule holds of the start."""
        return self._true_of(start)

    def holds(self, moves: Moves) -> Bools:
        """Whether the rule holds of the end."""
        return self._true_of(moves.ended)

    def possible(self, box: Box) -> Bools:
        """Whether the rule can hold."""
        sure = self.when.always(box.end_low[:, 0], box.end_high[:, 0])
        return np.asarray(~sure | self.then.sometimes(box.end_low[:, 1], box.end_high[:, 1]))

    def standing(self, scope: ActionScope) -> Form | None:
        """The same rows: the start must satisfy the rule, too."""
        return self.form(scope)

    def form(self, scope: ActionScope) -> Form:
        """One binary for each way in which the rule can hold."""
        low, high, whole = scope.end_low, scope.end_high, scope.end_whole
        when, unless = self.when.intervals(float(low[0]), float(high[0]), whole[0])
        then, _ = self.then.intervals(float(low[1]), float(high[1]), whole[1])
        boxes = [{0: a} for a in unless] + [{0: a, 1: b} for a in when for b in then]
        return one_of_boxes(boxes, {j: (float(low[j]), float(high[j])) for j in (0, 1)}, "ended")

    def _true_of(self, values: Floats) -> Bools:
        return np.asarray(~self.when.true(values[:, 0]) | self.then.true(values[:, 1]))
