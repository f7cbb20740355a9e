"""A rule over changes: if one action meets a condition, a second action meets another; otherwise it is 0."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from isonomia.interventions.constraints.base import (
    ActionScope,
    Bools,
    Box,
    Floats,
    Form,
    Interval,
    Levels,
    Moves,
    one_of_boxes,
)
from isonomia.interventions.constraints.conditions import Condition, check_conditions


@dataclass(frozen=True, slots=True)
class IfChanged:
    """If ``when`` is true of the action on one feature, ``then`` is true of that on the other; otherwise it is 0.

    Both are about the person's own actions, ``x + a`` minus ``x``.

    Attributes
    ----------
    when, then
        Conditions on the changes of two different features.
    """

    kind: ClassVar[str] = "if-changed"
    takes_categories: ClassVar[bool] = False

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
        rule = f"if change of {self.when.words()} then change of {self.then.words()}"
        return f"{rule}, otherwise {self.then.name} stays"

    def coded(self, levels: Levels) -> IfChanged:
        """The same, with its values checked to be numbers."""
        return replace(self, when=self.when.coded(self.kind, levels), then=self.then.coded(self.kind, levels))

    def accepts(self, start: Floats) -> Bools:
        """Every start: the rule is about changes."""
        return np.ones(len(start), dtype=bool)

    def holds(self, moves: Moves) -> Bools:
        """Whether the two actions agree."""
        action = moves.acted - moves.start
        return np.where(self.when.true(action[:, 0]), self.then.true(action[:, 1]), action[:, 1] == 0)

    def possible(self, box: Box) -> Bools:
        """Whether two actions of the box can agree."""
        low, high = box.low - box.start, box.high - box.start
        fires = self.when.sometimes(low[:, 0], high[:, 0]) & self.then.sometimes(low[:, 1], high[:, 1])
        rests = ~self.when.always(low[:, 0], high[:, 0]) & (low[:, 1] <= 0) & (high[:, 1] >= 0)
        return np.asarray(fires | rests)

    def standing(self, scope: ActionScope) -> Form | None:  # noqa: ARG002
        """None: the constraint is about changes."""
        return None

    def form(self, scope: ActionScope) -> Form:
        """One binary for each way in which the two can agree."""
        low, high = scope.least - scope.start, scope.most - scope.start
        when, unless = self.when.intervals(float(low[0]), float(high[0]), scope.whole[0])
        then, _ = self.then.intervals(float(low[1]), float(high[1]), scope.whole[1])
        pairs = [(a, (0.0, 0.0)) for a in unless] + [(a, b) for a in when for b in then]
        boxes = [{j: _from(part, float(scope.start[j])) for j, part in enumerate(pair)} for pair in pairs]
        return one_of_boxes(boxes, {j: (float(scope.least[j]), float(scope.most[j])) for j in (0, 1)}, "acted")


def _from(part: Interval, start: float) -> Interval:
    return part[0] + start, part[1] + start
