"""How far people's own actions can take each feature."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from isonomia.interventions.constraints.moves import TOLERANCE, Floats
from isonomia.interventions.features import Feature

__all__ = ["own_ranges"]


def own_ranges(features: Sequence[Feature], start: Floats) -> tuple[Floats, Floats]:
    """The least and the greatest value that an own action can make of each feature, for each person.

    An action lies between ``max(low - x, -fall, -fall_share * |x|)`` and ``min(high - x, rise, rise_share * |x|)``; it
    is 0 in a direction that is closed, and 0 in both for a feature that is not actionable. A feature of whole numbers
    has the whole values in between.

    Parameters
    ----------
    features
        One for each column.
    start
        Where the people are, one a row.
    """
    least, most = start.copy(), start.copy()
    for j, feature in enumerate(features):
        if not feature.actionable:
            continue
        if feature.direction != "up":
            least[:, j] = _reach(start[:, j], feature.low, feature.fall, feature.fall_share, -1.0)
        if feature.direction != "down":
            most[:, j] = _reach(start[:, j], feature.high, feature.rise, feature.rise_share, 1.0)
        if feature.whole:
            least[:, j], most[:, j] = np.ceil(least[:, j] - TOLERANCE), np.floor(most[:, j] + TOLERANCE)
    return least + 0.0, most + 0.0  # no negative zero


def _reach(start: Floats, bound: float | None, step: float | None, share: float | None, sign: float) -> Floats:
    nearest = np.full(len(start), np.inf)
    for limit in (
        None if bound is None else sign * bound,
        None if step is None else sign * start + step,
        None if share is None else sign * start + share * np.abs(start),
    ):
        if limit is not None:
            nearest = np.minimum(nearest, limit)
    return sign * nearest
