"""Whether people and constraints fit together: people who break a rule, and rules that contradict each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from isonomia.errors import NumericalError
from isonomia.interventions.constraints import Constraint
from isonomia.interventions.constraints.base import TOLERANCE, ActionScope, Bools, Floats, Form
from isonomia.interventions.features import Feature, decoded
from isonomia.interventions.milp import cheapest


@dataclass(frozen=True, slots=True)
class Refusal:
    """A person, what their values break, and the values.

    Attributes
    ----------
    row
        The person's row.
    kind
        The constraint's kind, or ``"bounds"``.
    rule
        What is broken, in words.
    values
        The person's values of the features in question.
    """

    row: int
    kind: str
    rule: str
    values: tuple[tuple[str, Any], ...]

    def words(self) -> str:
        """The refusal as a sentence, without its full stop."""
        return f"the person in row {self.row} {self.reason()}"

    def reason(self) -> str:
        """What the person breaks, and with which values, as the end of the sentence."""
        values = ", ".join(f"{name} = {value!r}" for name, value in self.values)
        return f"breaks {self.kind} ({self.rule}): {values}"


def refusals_of(
    features: Sequence[Feature],
    constraints: Sequence[Constraint],
    coded: Sequence[Constraint],
    start: Floats,
) -> tuple[Refusal, ...]:
    """Everybody who is refused, with the first reason for each, in the order of rows.

    Bounds apply to actionable features: a person beyond them could not even stay. Other features may have any value.
    ``constraints`` are as the user wrote them, for messages; ``coded`` has categories as indices.
    """
    refused: dict[int, Refusal] = {}
    index = {feature.name: j for j, feature in enumerate(features)}
    for j, feature in enumerate(features):
        if feature.actionable:
            for row in np.flatnonzero(_outside(feature, start[:, j])):
                refused.setdefault(int(row), _refusal(features, [j], start, int(row), "bounds", _bounds(feature)))
    for constraint, by_index in zip(constraints, coded, strict=True):
        at = [index[name] for name in constraint.names]
        for row in np.flatnonzero(~by_index.accepts(start[:, at])):
            refusal = _refusal(features, at, start, int(row), f"the {constraint.kind} constraint", constraint.words())
            refused.setdefault(int(row), refusal)
    return tuple(refused[row] for row in sorted(refused))


def _outside(feature: Feature, values: Floats) -> Bools:
    low = -np.inf if feature.low is None else feature.low
    high = np.inf if feature.high is None else feature.high
    return np.asarray((values < low - TOLERANCE) | (values > high + TOLERANCE))


def _bounds(feature: Feature) -> str:
    low = "" if feature.low is None else f"{feature.low:g} <= "
    high = "" if feature.high is None else f" <= {feature.high:g}"
    return f"{low}{feature.name}{high}"


def _refusal(
    features: Sequence[Feature], columns: Sequence[int], start: Floats, row: int, kind: str, rule: str
) -> Refusal:
    values = []
    for j in columns:
        if features[j].kind == "categorical":
            value: Any = features[j].values[int(start[row, j])]
        else:
            value = decoded(features[j], start[row : row + 1, j])[0].item()
        values.append((features[j].name, value))
    return Refusal(row, kind, rule, tuple(values))


_FAR = 1e7
"""Stands for a bound that was not given, where a binary switches a constraint on and off: its row needs some bound, and
far larger ones cost the solver accuracy."""


def contradiction_in(features: Sequence[Feature], constraints: Sequence[Constraint]) -> tuple[Constraint, ...]:
    """A minimal set of constraints that no person within the features' bounds meets together; empty if there is none.

    A mixed-integer program decides whether anybody can meet them all; if not, constraints are dropped one by one as
    long as nobody can meet the others. Constraints about changes, and predicates, are not considered. Categories are
    indices.
    """
    forms = [(constraint, _standing(features, constraint)) for constraint in constraints]
    clash = [(constraint, form) for constraint, form in forms if form is not None]
    if not clash or _possible(features, clash):
        return ()
    for item in list(clash):
        others = [other for other in clash if other is not item]
        if not _possible(features, others):
            clash = others
    return tuple(constraint for constraint, _ in clash)


def _range(feature: Feature, far: float) -> tuple[float, float]:
    return -far if feature.low is None else feature.low, far if feature.high is None else feature.high


def _standing(features: Sequence[Feature], constraint: Constraint) -> Form | None:
    """The rows of a constraint that hold wherever a person within the features' bounds can be."""
    by_name = {feature.name: feature for feature in features}
    mine = [by_name[name] for name in constraint.names]
    low, high = (
        np.asarray(end, dtype=np.float64) for end in zip(*(_range(feature, _FAR) for feature in mine), strict=True)
    )
    whole = tuple(feature.whole for feature in mine)
    return constraint.standing(ActionScope(low, low, high, low, high, whole, whole))


def _possible(features: Sequence[Feature], parts: Sequence[tuple[Constraint, Form]]) -> bool:
    """Whether anybody can meet some constraints together, as far as the solver can say."""
    if not parts:
        return True
    count, binaries = len(features), sum(form.binaries for _, form in parts)
    low, high = (np.asarray(end) for end in zip(*(_range(feature, np.inf) for feature in features), strict=True))
    bounds = np.append(low, np.zeros(binaries)), np.append(high, np.ones(binaries))
    whole = np.asarray([feature.whole for feature in features] + [True] * binaries)
    try:
        point = cheapest(np.zeros(count + binaries), whole, bounds, _rows(features, parts, count + binaries))
    except NumericalError:
        return True  # the solver could not say, so no contradiction was shown
    return point is not None


def _rows(
    features: Sequence[Feature], parts: Sequence[tuple[Constraint, Form]], width: int
) -> tuple[Floats, Floats, Floats]:
    """The rows of all forms over all features and binaries, with their least and greatest values."""
    index = {feature.name: j for j, feature in enumerate(features)}
    rows, ends, first = list[Floats](), list[tuple[float, float]](), len(features)
    for constraint, form in parts:
        for row in form.rows:
            weights = np.zeros(width)
            for j, weight in (*row.acted.items(), *row.ended.items()):
                weights[index[constraint.names[j]]] += weight
            for j, weight in row.binaries.items():
                weights[first + j] += weight
            rows.append(weights)
            ends.append((row.low, row.high))
        first += form.binaries
    low, high = np.asarray(ends).T
    return np.asarray(rows), low, high
