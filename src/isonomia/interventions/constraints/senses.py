"""Comparing weighted sums: equal, at least, at most."""

from __future__ import annotations

from math import inf
from typing import Literal, TypeAlias

import numpy as np

from isonomia.interventions.constraints.moves import TOLERANCE, Bools, Floats

__all__ = ["Sense", "attainable", "limits", "satisfied"]

Sense: TypeAlias = Literal["==", ">=", "<="]


def satisfied(left: Floats, sense: Sense, right: Floats | float) -> Bools:
    """Whether a comparison is true, up to rounding."""
    slack = TOLERANCE * np.maximum(1.0, np.maximum(np.abs(left), np.abs(right)))
    match sense:
        case "==":
            return np.asarray(np.abs(left - right) <= slack)
        case ">=":
            return np.asarray(left >= right - slack)
        case "<=":
            return np.asarray(left <= right + slack)


def attainable(weights: Floats, low: Floats, high: Floats, sense: Sense, bound: float) -> Bools:
    """Whether a weighted sum of numbers between bounds can compare so with another number."""
    up, down = np.maximum(weights, 0.0), np.minimum(weights, 0.0)
    least, most = low @ up + high @ down, high @ up + low @ down
    enough = np.ones(len(low), dtype=bool) if sense == "<=" else satisfied(most, ">=", bound)
    little = np.ones(len(low), dtype=bool) if sense == ">=" else satisfied(least, "<=", bound)
    return np.asarray(enough & little)


def limits(sense: Sense, bound: float) -> tuple[float, float]:
    """A comparison with a number as the two ends of an interval."""
    return (-inf if sense == "<=" else bound), (inf if sense == ">=" else bound)
