"""Constraints that no person can meet together: which they are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from isonomia.errors import NumericalError
from isonomia.interventions.constraints import Constraint
from isonomia.interventions.constraints.forms import Form, Scope
from isonomia.interventions.constraints.moves import Floats
from isonomia.interventions.features import Feature
from isonomia.interventions.solver import cheapest

__all__ = ["contradiction_in"]

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
