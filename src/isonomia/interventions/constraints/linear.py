"""A linear inequality, or equation, over where several features end up.

An action on one feature is composed of changes of others.

An action on one feature has an effect on others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from isonomia.errors import UsageError
from isonomia.interventions.constraints.base import (
    TOLERANCE,
    ActionScope,
    Bools,
    Box,
    ChangeConstraint,
    Floats,
    Form,
    FormRow,
    Levels,
    Moves,
    Sense,
    attainable,
    check_number,
    check_one_of,
    check_truth,
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
    tolerance
        How far the sum may miss the bound, for rounded data: shares that add up to 0.999.
    """

    kind: ClassVar[str] = "linear"
    takes_categories: ClassVar[bool] = False

    names: tuple[str, ...]
    coefficients: tuple[float, ...]
    sense: Sense
    bound: float
    tolerance: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", names_of(self.kind, self.names))
        given = numbers_of(self.kind, "coefficients", self.coefficients, len(self.names))
        object.__setattr__(self, "coefficients", given)
        check_one_of(self.kind, "sense", self.sense, ("==", ">=", "<="))
        check_number(self.kind, "bound", self.bound)
        check_number(self.kind, "tolerance", self.tolerance)
        if self.tolerance < 0:
            raise UsageError(f"tolerance of the linear constraint is at least 0, but it is {self.tolerance!r}")

    def words(self) -> str:
        """The constraint as a sentence."""
        total = " + ".join(f"{weight:g} * {name}" for weight, name in zip(self.coefficients, self.names, strict=True))
        near = f" up to {self.tolerance:g}" if self.tolerance else ""
        return f"{total} {self.sense} {self.bound:g}{near}"

    def coded(self, levels: Levels) -> Linear:  # noqa: ARG002
        """The constraint itself: it has no categories."""
        return self

    def accepts(self, start: Floats) -> Bools:
        """Whether it is true of the start."""
        return self._true(start @ self._weights())

    def holds(self, moves: Moves) -> Bools:
        """Whether it is true of the end."""
        return self._true(moves.ended @ self._weights())

    def possible(self, box: Box) -> Bools:
        """Whether it can be true."""
        box_ends = self._weights(), box.end_low, box.end_high
        low, high = self._limits()
        return attainable(*box_ends, ">=", low) & attainable(*box_ends, "<=", high)

    def standing(self, scope: ActionScope) -> Form | None:
        """The same rows: the start must satisfy them, too."""
        return self.form(scope)

    def form(self, scope: ActionScope) -> Form:  # noqa: ARG002
        """One row."""
        low, high = self._limits()
        return Form((FormRow(ended=dict(enumerate(self.coefficients)), low=low, high=high),))

    def _limits(self) -> tuple[float, float]:
        low, high = limits(self.sense, self.bound)
        return low - self.tolerance, high + self.tolerance

    def _true(self, total: Floats) -> Bools:
        low, high = self._limits()
        return np.asarray(satisfied(total, ">=", low) & satisfied(total, "<=", high))

    def _weights(self) -> Floats:
        return np.asarray(self.coefficients)


@dataclass(frozen=True, slots=True)
class _FromSource(ChangeConstraint):
    """A constraint between the action on one feature and the changes of others."""

    kind: ClassVar[str]

    source: str
    targets: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The source, then the targets."""
        return (self.source, *self.targets)

    def _check_ends(self) -> None:
        """Refuse invalid names, and a source that is its own target."""
        names_of(self.kind, (self.source,), "source")
        object.__setattr__(self, "targets", names_of(self.kind, self.targets, "targets"))
        if self.source in self.targets:
            raise UsageError(f"the source of the {self.kind} constraint, {self.source!r}, is also one of its targets")


@dataclass(frozen=True, slots=True)
class AdditiveLinkage(_FromSource):
    """``weight`` times the action on ``source`` equals, or is at least or at most, the weighted changes of the targets.

    The source counts by the person's own action, the targets by their whole changes, effects of linkages included.

    Attributes
    ----------
    source, targets
        The feature on one side, and those on the other.
    coefficients
        The weight of each target; default: 1 each.
    sense
        ``"=="``, ``">="`` or ``"<="``, with the source on the left and the targets on the right.
    weight
        The weight of the source.
    """

    kind: ClassVar[str] = "additive-linkage"

    coefficients: tuple[float, ...] = ()
    sense: Sense = "=="
    weight: float = 1.0

    def __post_init__(self) -> None:
        self._check_ends()
        count = len(self.targets)
        given = numbers_of(self.kind, "coefficients", self.coefficients or (1.0,) * count, count)
        object.__setattr__(self, "coefficients", given)
        check_one_of(self.kind, "sense", self.sense, ("==", ">=", "<="))
        check_number(self.kind, "weight", self.weight)

    def words(self) -> str:
        """The constraint as a sentence."""
        parts = zip(self.coefficients, self.targets, strict=True)
        total = " + ".join(f"{weight:g} * change of {name}" for weight, name in parts)
        return f"{self.weight:g} * action on {self.source} {self.sense} {total}"

    def holds(self, moves: Moves) -> Bools:
        """Whether the changes add up."""
        source = self.weight * (moves.acted[:, 0] - moves.start[:, 0])
        return satisfied(source, self.sense, (moves.ended - moves.start)[:, 1:] @ np.asarray(self.coefficients))

    def possible(self, box: Box) -> Bools:
        """Whether the changes can add up."""
        low = np.column_stack([box.low[:, 0] - box.start[:, 0], (box.end_low - box.start)[:, 1:]])
        high = np.column_stack([box.high[:, 0] - box.start[:, 0], (box.end_high - box.start)[:, 1:]])
        return attainable(self._signed(), low, high, self.sense, 0.0)

    def form(self, scope: ActionScope) -> Form:
        """One row."""
        signed = self._signed()
        low, high = limits(self.sense, float(signed @ scope.start))
        targets = {j: float(signed[j]) for j in range(1, len(signed))}
        return Form((FormRow({0: self.weight}, targets, low=low, high=high),))

    def _signed(self) -> Floats:
        return np.concatenate([[self.weight], -np.asarray(self.coefficients)])


@dataclass(frozen=True, slots=True)
class Linkage(_FromSource):
    """Each unit of a person's action on ``source`` changes each target by its scale, or by at least or at most that.

    Effects do not chain: a target's change by linkage has no effect on targets of its own. With sense ``"=="`` the
    effect is added to the target's own action. Where that takes a target out of its bounds, reachable sets refuse it,
    unless one of two options says what happens instead.

    With ``">="`` and ``"<="`` the target must not be actionable. Its effect is then any change in the direction of the
    scale times the action, at least or at most that large, within the target's bounds; without an action it is 0. An
    action is drawn first, uniformly, and then its effect, uniformly among those that go with it.

    Attributes
    ----------
    source, targets
        The feature that is acted on, and those that follow.
    scales
        How much each target changes for one unit; default: 1 each.
    sense
        ``"=="``, ``">="`` or ``"<="``.
    keep_bounds
        Whether actions whose effect would take a target out of the range of its own action are forbidden.
    clip
        Whether a target whose effect would take it out of its bounds stops at the bound.
    jointly
        Whether action and effect are drawn together, uniformly over all pairs. An action with more effects to choose
        from then weighs more. For ``">="`` and ``"<="`` only.
    """

    kind: ClassVar[str] = "linkage"

    scales: tuple[float, ...] = ()
    sense: Sense = "=="
    keep_bounds: bool = False
    clip: bool = False
    jointly: bool = False

    def __post_init__(self) -> None:
        self._check_ends()
        scales = numbers_of(self.kind, "scales", self.scales or (1.0,) * len(self.targets), len(self.targets))
        object.__setattr__(self, "scales", scales)
        check_one_of(self.kind, "sense", self.sense, ("==", ">=", "<="))
        for name, value in (("keep_bounds", self.keep_bounds), ("clip", self.clip), ("jointly", self.jointly)):
            check_truth(self.kind, name, value)
        if self.keep_bounds and self.clip:
            raise UsageError("a linkage either forbids what leaves the bounds (keep_bounds) or stops there (clip)")
        if self.jointly and (self.sense == "==" or self.clip):
            raise UsageError("jointly is for a linkage with sense '>=' or '<=' that does not clip: leave it out")

    @property
    def pushes(self) -> dict[str, float]:
        """The exact effect of one unit of the source's action on each target; empty for the other senses."""
        return dict(zip(self.targets, self.scales, strict=True)) if self.sense == "==" else {}

    @property
    def frees(self) -> tuple[str, ...]:
        """The targets whose effect has a size of its own, limited from below or from above."""
        return () if self.sense == "==" else self.targets

    def effects(self, start: Floats, least: Floats, most: Floats) -> tuple[Floats, Floats]:
        """How far effects of their own size can take the targets, given the ranges of the source and of the targets.

        Guarantee: every move that the constraint allows lies within. One row per person; column 0 is the source.
        """
        pushes = [(end[:, :1] - start[:, :1]) * np.asarray(self.scales) for end in (least, most)]
        down, up = np.minimum(np.minimum(*pushes), 0.0), np.maximum(np.maximum(*pushes), 0.0)
        if self.sense == ">=":
            down, up = np.where(down < 0.0, -np.inf, 0.0), np.where(up > 0.0, np.inf, 0.0)
        return np.maximum(least[:, 1:], start[:, 1:] + down), np.minimum(most[:, 1:], start[:, 1:] + up)

    def given(self, start: Floats, acted: Floats, least: Floats, most: Floats) -> tuple[Floats, Floats]:
        """The least and greatest value of each target after an action; crossed where no effect goes with the action.

        For ``">="`` and ``"<="``. One row per action; column 0 is the source, as in ``effects``.
        """
        push = (acted[:, :1] - start[:, :1]) * np.asarray(self.scales)
        own, low, high = start[:, 1:], least[:, 1:], most[:, 1:]
        end = np.clip(own + push, low, high) if self.clip else own + push
        if self.sense == "<=":
            low, high = np.maximum(low, np.minimum(own, end)), np.minimum(high, np.maximum(own, end))
        else:
            low, high = np.where(push > 0, end, low), np.where(push < 0, end, high)
        return np.where(push == 0, own, low), np.where(push == 0, own, high)

    def words(self) -> str:
        """The constraint as a sentence."""
        much = {"==": "", ">=": "at least ", "<=": "at most "}[self.sense]
        parts = ", ".join(f"{name} by {much}{scale:g}" for name, scale in zip(self.targets, self.scales, strict=True))
        bounded = ", within its own range" if self.keep_bounds else ", up to its bound" if self.clip else ""
        return f"each unit of action on {self.source} changes {parts}{bounded}{', jointly drawn' * self.jointly}"

    def holds(self, moves: Moves) -> Bools:
        """Whether targets stay within the bounds to keep, and effects are large or small enough."""
        if self.sense == "==":
            inside = (moves.least - TOLERANCE <= moves.ended) & (moves.ended <= moves.most + TOLERANCE)
            return np.asarray(inside[:, 1:].all(-1) | (not self.keep_bounds))
        low, high = self.given(moves.start, moves.acted, moves.least, moves.most)
        target = moves.acted[:, 1:]
        return np.asarray(((low - TOLERANCE <= target) & (target <= high + TOLERANCE)).all(-1))

    def possible(self, box: Box) -> Bools:
        """Whether bounds can be kept; effects of their own size are checked once they are known."""
        if self.sense == "==":
            inside = (box.end_low <= box.most + TOLERANCE) & (box.least - TOLERANCE <= box.end_high)
            return np.asarray(inside[:, 1:].all(-1) | (not self.keep_bounds))
        return np.ones(len(box.start), dtype=bool)

    def form(self, scope: ActionScope) -> Form | None:
        """The kept bounds; or, for effects of their own size, one binary for the sign of each, unless they clip."""
        count = len(self.targets)
        if self.clip and self.sense == ">=":
            return None
        if self.sense == "==":
            bounded = range(1, count + 1) if self.keep_bounds else ()
            return Form(tuple(FormRow(ended={j: 1.0}, low=scope.least[j], high=scope.most[j]) for j in bounded))
        rows = [row for j in range(count) for row in self._sign_rows(scope, j)]
        return Form(tuple(rows), count, exact=self.sense == "<=")

    def _sign_rows(self, scope: ActionScope, target: int) -> list[FormRow]:
        """With the binary on, push and effect are upwards; with it off, downwards."""
        scale, j = self.scales[target], target + 1
        if scope.least[0] == scope.most[0]:
            stays = FormRow({j: 1.0}, low=float(scope.start[j]), high=float(scope.start[j]))
            return [stays, FormRow(binaries={target: 1.0}, low=1.0, high=1.0)]
        max_push = abs(scale) * float(np.abs([scope.least[0] - scope.start[0], scope.most[0] - scope.start[0]]).max())
        max_effect = float(np.abs([scope.least[j] - scope.start[j], scope.most[j] - scope.start[j]]).max())
        push, effect, gap = {0: scale}, {j: 1.0}, {j: 1.0, 0: -scale}
        zero, own = scale * float(scope.start[0]), float(scope.start[j])
        up, down = {target: max_push + max_effect}, {target: -(max_push + max_effect)}
        upper = FormRow(gap, binaries=up, high=own - zero + max_push + max_effect)
        lower = FormRow(gap, binaries=up, low=own - zero)
        if self.sense == ">=":
            upper = FormRow(gap, binaries=down, high=own - zero)
            lower = FormRow(gap, binaries=down, low=own - zero - max_push - max_effect)
        # A source that moves in whole steps pushes down by at least one step, so that a push of 0 has only one binary.
        step = abs(scale) if scope.whole[0] else 0.0
        return [
            FormRow(push, binaries={target: -max_push}, low=zero - max_push),
            FormRow(push, binaries={target: -max_push - step}, high=zero - step),
            FormRow(effect, binaries={target: -max_effect}, low=own - max_effect, high=own),
            upper,
            lower,
        ]
