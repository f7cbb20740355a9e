"""A feature for a column of a first draft, as far as its values and its name tell."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from isonomia.interventions.encodings import limits_from_above
from isonomia.interventions.features import Direction, Feature
from isonomia.interventions.guessing import hint_of, is_identifier
from isonomia.interventions.summaries import Summary

__all__ = ["UNORDERED", "changed", "described"]

_MANY = 50
"""With more categories than this, a column is taken for a name rather than for something that people choose."""
_FEW, _GAPS, _EACH = 12, 3, 5
"""So few whole numbers, so far apart and each so frequent, are taken for a list of choices."""
UNORDERED = "Put the categories in order, and set direction to up."
"""What is said of texts that rise, as long as their order is not known."""


def described(seen: Summary) -> tuple[Feature, str] | str:
    """A feature and what speaks for it; or why there is none, as the end of a sentence that begins with the column."""
    unfit = _unfit(seen)
    if unfit:
        return unfit
    hint = hint_of(seen.name)
    free = seen.varieties > 1 and (hint is None or hint.actionable)
    feature = _of_texts(seen) if seen.counts else _of_numbers(seen)
    told = [seen.words()]
    if seen.varieties > 1 and hint is not None:
        told.append(hint.why)
    if hint is not None and hint.rises:
        feature = changed(feature, direction=_rising(feature))
        if feature.kind == "categorical" and free:
            told.append(UNORDERED)
    return changed(feature, actionable=free), " ".join(told)


def _unfit(seen: Summary) -> str:
    """Why no feature is made of a column, as the end of a sentence that begins with its name; empty where one is."""
    if seen.kind == "nothing":
        return "has no value at all"
    if seen.kind == "dates":
        return "holds dates"
    if seen.kind == "other":
        return "holds neither numbers nor truth values nor texts"
    if seen.missing:
        return f"is missing in {seen.missing:,} rows, so that what these people could change is not known"
    if is_identifier(seen.name) and seen.varieties > 0.9 * seen.size > 2:
        return "tells people apart"
    if len(seen.counts) > _MANY:
        return f"has {len(seen.counts):,} different texts, so that it is a name rather than a choice"
    return ""


def _of_texts(seen: Summary) -> Feature:
    return Feature(seen.name, "categorical", values=tuple(seen.counts))


def _of_numbers(seen: Summary) -> Feature:
    numbers, name = seen.numbers, seen.name
    low, high = float(numbers.min()), float(numbers.max())
    if np.isin(numbers, (0.0, 1.0)).all():
        return Feature(name, "binary")
    if (numbers == np.round(numbers)).all():
        values = np.unique(numbers)
        apart = high - low + 1 >= _GAPS * len(values)
        if 2 < len(values) <= _FEW and apart and len(numbers) >= _EACH * len(values):
            return Feature(name, "categorical", values=tuple(int(value) for value in values))
        return Feature(name, "integer", low, high)
    if low >= 0.0 and high <= 1.0:
        return Feature(name, "real", 0.0, 1.0)
    return Feature(name, "real", low, high)


def _rising(feature: Feature) -> Direction:
    """The way of a feature that only rises: a dummy for at most so much turns off, and texts have no order yet."""
    if feature.kind == "binary" and limits_from_above(feature.name):
        return "down"
    return "both" if feature.values and isinstance(feature.values[0], str) else "up"


def changed(feature: Feature, **changes: Any) -> Feature:
    """The same feature with something else about it."""
    return replace(feature, **_bounds(feature), **changes)


def _bounds(feature: Feature) -> dict[str, Any]:
    """Bounds that a list of categories implies are left to it."""
    return {"low": None, "high": None} if feature.kind == "categorical" else {}
