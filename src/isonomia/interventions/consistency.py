"""Starts that break a constraint; contradictions.

Constraints that no person can meet together: which they are.

People who cannot start where they are, because a feature's bounds or a constraint forbid it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from isonomia.errors import NumericalError
from isonomia.interventions.constraints import Constraint
from isonomia.interventions.constraints.base import TOLERANCE, Bools, Floats, Form, Scope
from isonomia.interventions.features import Feature, decoded
from isonomia.interventions.milp import cheapest

__all__ = ["Refusal", "contradiction_in", "refusals_of"]


_FAR = 1e7  # stands for a bound that was not given


def contradiction_in(features: Sequence[Feature], constraints: Sequence[Constraint]) -> tuple[Constraint, ...]:
    """A smallest set of constraints that no person within the features' bounds meets together; empty if there is none.

    A mixed-integer program is asked whether anybody can meet them all; if not, constraints are left out one by one as
    long as nobody can meet the others. Constraints about changes, and predicates, take no part.

    Parameters
    ----------
    features
        All features.
    constraints
        With categories as places.
    """
    forms = [(constraint, _standing(features, constraint)) for constraint in constraints]
    kept = [(constraint, form) for constraint, form in forms if form is not None]
    if not kept or _possible(features, kept):
        return ()
    for item in list(kept):
        others = [other for other in kept if other is not item]
        if not _possible(features, others):
            kept = others
    return tuple(constraint for constraint, _ in kept)


def _range(feature: Feature) -> tuple[float, float]:
    return -_FAR if feature.low is None else feature.low, _FAR if feature.high is None else feature.high


def _standing(features: Sequence[Feature], constraint: Constraint) -> Form | None:
    by_name = {feature.name: feature for feature in features}
    mine = [by_name[name] for name in constraint.names]
    low, high = (np.asarray(end, dtype=np.float64) for end in zip(*map(_range, mine), strict=True))
    whole = tuple(feature.whole for feature in mine)
    return constraint.standing(Scope(low, low, high, low, high, whole, whole))


def _possible(features: Sequence[Feature], kept: Sequence[tuple[Constraint, Form]]) -> bool:
    if not kept:
        return True
    count, binaries = len(features), sum(form.binaries for _, form in kept)
    low, high = (np.asarray(end) for end in zip(*map(_range, features), strict=True))
    bounds = np.append(low, np.zeros(binaries)), np.append(high, np.ones(binaries))
    whole = np.asarray([feature.whole for feature in features] + [True] * binaries)
    try:
        found = cheapest(np.zeros(count + binaries), whole, bounds, _rows(features, kept, count + binaries))
    except NumericalError:
        return True  # nothing was shown
    return found is not None


def _rows(
    features: Sequence[Feature], kept: Sequence[tuple[Constraint, Form]], width: int
) -> tuple[Floats, Floats, Floats]:
    """The rows of all forms over all features and binaries, with their least and greatest values."""
    place = {feature.name: j for j, feature in enumerate(features)}
    rows, ends, first = list[Floats](), list[tuple[float, float]](), len(features)
    for constraint, form in kept:
        for row in form.rows:
            weights = np.zeros(width)
            for j, weight in (*row.acted.items(), *row.ended.items()):
                weights[place[constraint.names[j]]] += weight
            for j, weight in row.binaries.items():
                weights[first + j] += weight
            rows.append(weights)
            ends.append((row.low, row.high))
        first += form.binaries
    low, high = np.asarray(ends).T
    return np.asarray(rows), low, high


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
        told = ", ".join(f"{name} = {value!r}" for name, value in self.values)
        return f"the person in row {self.row} breaks {self.kind} ({self.rule}): {told}"


def refusals_of(
    features: Sequence[Feature],
    constraints: Sequence[Constraint],
    coded: Sequence[Constraint],
    start: Floats,
) -> tuple[Refusal, ...]:
    """Everybody who is refused, with the first reason for each, in the order of rows.

    Bounds count for features that can be acted on: a person beyond them could not even stay. What nobody can act on may
    lie anywhere.

    Parameters
    ----------
    features
        One for each column of ``start``.
    constraints, coded
        As they were given, and with categories as places.
    start
        The people, one a row.
    """
    found: dict[int, Refusal] = {}
    place = {feature.name: j for j, feature in enumerate(features)}
    for j, feature in enumerate(features):
        if feature.actionable:
            for row in np.flatnonzero(_outside(feature, start[:, j])):
                found.setdefault(int(row), _refusal(features, [j], start, int(row), "bounds", _bounds(feature)))
    for constraint, by_place in zip(constraints, coded, strict=True):
        at = [place[name] for name in constraint.names]
        for row in np.flatnonzero(~by_place.accepts(start[:, at])):
            rule = _refusal(features, at, start, int(row), f"the {constraint.kind} constraint", constraint.words())
            found.setdefault(int(row), rule)
    return tuple(found[row] for row in sorted(found))


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
    values = tuple(
        (features[j].name, decoded(features[j], start[row : row + 1, j])[0].item())
        if features[j].kind != "categorical"
        else (features[j].name, features[j].values[int(start[row, j])])
        for j in columns
    )
    return Refusal(row, kind, rule, values)
