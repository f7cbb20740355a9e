"""People who cannot start where they are, because a feature's bounds or a constraint forbid it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from isonomia.interventions.coding import decoded
from isonomia.interventions.constraints import Constraint
from isonomia.interventions.constraints.moves import TOLERANCE, Bools, Floats
from isonomia.interventions.features import Feature

__all__ = ["Refusal", "refusals_of"]


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
