"""A feature that decides whether others may change."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from isonomia.errors import UsageError
from isonomia.interventions.constraints.base import (
    ActionScope,
    Bools,
    Box,
    Floats,
    Form,
    Interval,
    Levels,
    Moves,
    check_truth,
    coded_value,
    names_of,
    one_of_boxes,
)
from isonomia.interventions.constraints.conditions import Condition


@dataclass(frozen=True, slots=True)
class MutabilitySwitch:
    """Where the switch ends up at ``on``, no target may change; otherwise they are free.

    With ``must_change``, at least one target changes where the switch ends up off. A person is refused if they start
    with the switch on and a target that is not 0 or, with ``must_change``, with it off and a target that is 0. All of
    this is about the person's own actions.

    Attributes
    ----------
    switch, targets
        The feature that decides, and those that it locks.
    on
        The value of the switch that locks them.
    must_change
        Whether one of them has to change where they are not locked.
    """

    kind: ClassVar[str] = "mutability-switch"
    takes_categories: ClassVar[bool] = True

    switch: str
    targets: tuple[str, ...]
    on: Any = 1
    must_change: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "targets", names_of(self.kind, self.targets, "targets"))
        names_of(self.kind, (self.switch,), "switch")
        check_truth(self.kind, "must_change", self.must_change)
        if self.switch in self.targets:
            raise UsageError(f"the switch of the {self.kind} constraint, {self.switch!r}, is also one of its targets")

    @property
    def names(self) -> tuple[str, ...]:
        """The switch, then its targets."""
        return (self.switch, *self.targets)

    def words(self) -> str:
        """The constraint as a sentence."""
        listed = ", ".join(self.targets)
        forced = f"; otherwise one of them must change ({listed})" if self.must_change else ""
        return f"if {self.switch} == {self.on!r} then {listed} cannot change{forced}"

    def coded(self, levels: Levels) -> MutabilitySwitch:
        """The same with an index instead of a category."""
        on = float(self.on) if isinstance(self.on, bool) else self.on
        return replace(self, on=coded_value(self.kind, self.switch, on, levels))

    def accepts(self, start: Floats) -> Bools:
        """Whether all targets are 0 with the switch on and, where one must change, none is 0 with it off."""
        on = self._is_on().true(start[:, 0])
        off_right = (start[:, 1:] != 0).all(-1) if self.must_change else np.ones(len(start), dtype=bool)
        return np.where(on, (start[:, 1:] == 0).all(-1), off_right)

    def holds(self, moves: Moves) -> Bools:
        """Whether targets changed only where they may, and one changed where it must."""
        on = self._is_on().true(moves.acted[:, 0])
        changed = (moves.acted[:, 1:] != moves.start[:, 1:]).any(-1)
        return np.asarray(np.where(on, ~changed, changed | (not self.must_change)))

    def possible(self, box: Box) -> Bools:
        """Whether the targets can stay where the switch is surely on, and one can change where it is surely off."""
        low, high, start = box.low[:, 1:], box.high[:, 1:], box.start[:, 1:]
        switch = self._is_on()
        sure = switch.always(box.low[:, 0], box.high[:, 0])
        never = ~switch.sometimes(box.low[:, 0], box.high[:, 0])
        can_stay = ((low <= start) & (start <= high)).all(-1)
        can_change = ((low < high) | (low != start)).any(-1)
        return np.asarray((~sure | can_stay) & (~never | can_change | (not self.must_change)))

    def standing(self, scope: ActionScope) -> Form:
        """One binary for the switch on with all targets at 0, and one for each part of its range where it is off."""
        on, off = self._is_on().intervals(float(scope.least[0]), float(scope.most[0]), scope.whole[0])
        zero = dict.fromkeys(range(1, len(scope.start)), (0.0, 0.0))
        ranges = {j: (float(scope.least[j]), float(scope.most[j])) for j in range(len(scope.start))}
        boxes: list[dict[int, Interval]] = [{0: part, **zero} for part in on] + [{0: part} for part in off]
        return one_of_boxes(boxes, ranges, "acted")

    def form(self, scope: ActionScope) -> Form:
        """One binary for the switch on, and one for each part of its range where it is off."""
        on, off = self._is_on().intervals(float(scope.least[0]), float(scope.most[0]), scope.whole[0])
        still = {j: (float(scope.start[j]), float(scope.start[j])) for j in range(1, len(scope.start))}
        boxes: list[dict[int, Interval]] = [{0: part, **still} for part in on] + [{0: part} for part in off]
        ranges = {j: (float(scope.least[j]), float(scope.most[j])) for j in range(len(scope.start))}
        return replace(one_of_boxes(boxes, ranges, "acted"), exact=not self.must_change)

    def _is_on(self) -> Condition:
        return Condition(self.switch, "==", self.on)
