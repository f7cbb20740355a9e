"""People as rows of numbers, and back: a category is its place in the feature's list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import DataError
from isonomia.interventions.constraints.moves import TOLERANCE, Floats
from isonomia.interventions.features import Feature
from isonomia.populations.columns import plain_value
from isonomia.populations.table import Table

__all__ = ["decoded", "encoded"]


def encoded(features: Sequence[Feature], people: Table) -> Floats:
    """The people's features as numbers, one person a row.

    Raises
    ------
    DataError
        Where a column is missing, or a value is missing, no number, not whole, or no category of its feature.
    """
    people.select([feature.name for feature in features])
    columns = [_codes(feature, people.column(feature.name)) for feature in features]
    return np.column_stack(columns) if columns else np.zeros((people.rows, 0))


def decoded(feature: Feature, values: Floats) -> NDArray[Any]:
    """Numbers as the feature's own values: categories, whole numbers where all are whole, real numbers."""
    if feature.kind == "categorical":
        labels = feature.values
        kind = object if any(isinstance(label, str) for label in labels) else None
        return np.asarray(labels, dtype=kind)[values.astype(np.intp)]
    if feature.whole and (values == np.round(values)).all() and (np.abs(values) < 2.0**63).all():
        return values.astype(np.int64)
    return values


def _codes(feature: Feature, column: NDArray[Any]) -> Floats:
    if feature.kind == "categorical":
        return _places(feature, column)
    if column.dtype.kind not in "biuf":
        row = next((row for row, value in enumerate(column) if not isinstance(value, bool | int | float)), 0)
        _refuse(feature, row, column[row], "a number")
    numbers = column.astype(np.float64)
    bad = ~np.isfinite(numbers)
    if feature.whole:
        bad |= np.abs(numbers - np.round(numbers)) > TOLERANCE
    if bad.any():
        row = int(np.argmax(bad))
        _refuse(feature, row, column[row], "a whole number" if feature.whole else "a finite number")
    return np.round(numbers) if feature.whole else numbers


def _places(feature: Feature, column: NDArray[Any]) -> Floats:
    place = {label: float(j) for j, label in enumerate(feature.values)}
    values = column.tolist()
    for row, value in enumerate(values):
        if value not in place:
            _refuse(feature, row, column[row], f"one of {', '.join(map(repr, feature.values))}")
    return np.asarray([place[value] for value in values])


def _refuse(feature: Feature, row: int, value: Any, expected: str) -> None:
    shown = plain_value(value)
    came = "is missing" if shown is None else f"is {shown!r}"
    raise DataError(
        f"feature {feature.name!r} ({feature.kind}) should be {expected} for every person, but in row {row} it {came}. "
        "Fill it in, leave the person out, or change the feature."
    )
