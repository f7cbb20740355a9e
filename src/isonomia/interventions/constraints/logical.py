"""Rules between features: if-then on values and on changes, switches that lock features, and predicates."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import UsageError
from isonomia.interventions.constraints.base import (
    ActionScope,
    Bools,
    Box,
    ChangeConstraint,
    Condition,
    Floats,
    Form,
    Interval,
    Levels,
    Moves,
    check_conditions,
    check_truth,
    coded_value,
    names_of,
    one_of_boxes,
)
from isonomia.spec.evaluate import Batch, truth
from isonomia.spec.parser import parse_condition
from isonomia.spec.tree import columns_of, outputs_of, versions_of


@dataclass(frozen=True, slots=True)
class _Conditional:
    """A rule with a condition on one feature that decides, and one on another that is decided."""

    kind: ClassVar[str]

    when: Condition
    then: Condition

    def __post_init__(self) -> None:
        check_conditions(self.kind, self.when, self.then)

    @property
    def names(self) -> tuple[str, ...]:
        """The feature that decides, and the one that is decided."""
        return (self.when.name, self.then.name)

    def coded(self, levels: Levels) -> Self:
        """The same with indices instead of categories; other values must be numbers."""
        return replace(self, when=self.when.coded(self.kind, levels), then=self.then.coded(self.kind, levels))


@dataclass(frozen=True, slots=True)
class IfThen(_Conditional):
    """If ``when`` is true of where the person ends up, so is ``then``.

    It applies to ended values, and to the person's start as well.

    Attributes
    ----------
    when, then
        Conditions on the values of two different features.
    """

    kind: ClassVar[str] = "if-then"
    takes_categories: ClassVar[bool] = True

    def words(self) -> str:
        """The constraint as a sentence."""
        return f"if {self.when.words()} then {self.then.words()}"

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


@dataclass(frozen=True, slots=True)
class IfChanged(ChangeConstraint, _Conditional):
    """If ``when`` is true of the action on one feature, ``then`` is true of that on the other; otherwise it is 0.

    Both are about the person's own actions, ``x + a`` minus ``x``.

    Attributes
    ----------
    when, then
        Conditions on the changes of two different features.
    """

    kind: ClassVar[str] = "if-changed"

    def words(self) -> str:
        """The constraint as a sentence."""
        rule = f"if change of {self.when.words()} then change of {self.then.words()}"
        return f"{rule}, otherwise {self.then.name} stays"

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

    def form(self, scope: ActionScope) -> Form:
        """One binary for each way in which the two can agree."""
        low, high = scope.least - scope.start, scope.most - scope.start
        when, unless = self.when.intervals(float(low[0]), float(high[0]), scope.whole[0])
        then, _ = self.then.intervals(float(low[1]), float(high[1]), scope.whole[1])
        pairs = [(a, (0.0, 0.0)) for a in unless] + [(a, b) for a in when for b in then]
        boxes = [{j: _from(part, float(scope.start[j])) for j, part in enumerate(pair)} for pair in pairs]
        return one_of_boxes(boxes, scope.ranges, "acted")


def _from(part: Interval, start: float) -> Interval:
    return part[0] + start, part[1] + start


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
        return self._one_of(scope, dict.fromkeys(range(1, len(scope.start)), (0.0, 0.0)))

    def form(self, scope: ActionScope) -> Form:
        """One binary for the switch on, and one for each part of its range where it is off."""
        still = {j: (float(scope.start[j]), float(scope.start[j])) for j in range(1, len(scope.start))}
        return replace(self._one_of(scope, still), exact=not self.must_change)

    def _one_of(self, scope: ActionScope, locked: Mapping[int, Interval]) -> Form:
        """One binary for the switch on with the targets locked, and one for each part of its range where it is off."""
        on, off = self._is_on().intervals(*scope.ranges[0], scope.whole[0])
        boxes: list[dict[int, Interval]] = [{0: part, **locked} for part in on] + [{0: part} for part in off]
        return one_of_boxes(boxes, scope.ranges, "acted")

    def _is_on(self) -> Condition:
        return Condition(self.switch, "==", self.on)


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
            expected = f"expected one truth value for each of {len(end)} rows from the test of {self.words()}"
            raise UsageError(f"{expected}, but got {answers.dtype} of shape {answers.shape}")
        return answers.astype(bool)

    def _columns(self, values: Floats) -> dict[str, NDArray[Any]]:
        columns: dict[str, NDArray[Any]] = {name: values[:, j] for j, name in enumerate(self.names)}
        for name, categories in self.levels:
            columns[name] = np.asarray(categories, dtype=object)[columns[name].astype(np.intp)]
        return columns
