"""What boosters share, whichever library they are of.

Their columns are one matrix, with categories as the numbers that they were fitted with; what their numbers stand for is
told by the objective, and for an unknown one by whether a classifier was fitted with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.models.checked import checked_classes
from isonomia.models.inputs import converted, matrix, refuse
from isonomia.models.protocol import listed
from isonomia.models.readings import classes_from
from isonomia.populations.columns import plain_value
from isonomia.populations.table import Table
from isonomia.spec.tree import Value

__all__ = ["Categories", "coded_matrix", "described", "named_classes", "read_as"]

Categories = Mapping[str, tuple[Value, ...]]
"""The categories of each column that has some, in the order of their codes 0, 1, 2, ..."""


def coded_matrix(
    name: str, table: Table, columns: tuple[str, ...], categories: Categories, dtype: str, *, new_is_missing: bool
) -> NDArray[Any]:
    """Put columns side by side, categories as their codes.

    Parameters
    ----------
    name
        The model's name, for messages.
    table
        The batch.
    columns
        The columns in the model's order.
    categories
        The categories, by column.
    dtype
        The type of the numbers.
    new_is_missing
        Whether a category that the model has never seen counts as missing, which is NaN, or is refused.
    """
    if not categories:
        return matrix(name, table, columns, dtype)
    side_by_side = np.empty((len(columns), table.rows), dtype)
    for place, column in enumerate(columns):
        values = table.column(column)
        if column in categories:
            codes = _codes(values, categories[column])
            if not new_is_missing:
                refuse(name, column, values, codes < 0, f"the categories {listed(categories[column])}")
            side_by_side[place] = np.where(codes < 0, np.nan, codes)
        else:
            side_by_side[place] = converted(name, column, values, dtype)
    return np.ascontiguousarray(side_by_side.T)


def named_classes(model: Any, classes: Sequence[Any] | None, *, is_estimator: bool) -> tuple[Value, ...]:
    """The classes as the user names them, else as an estimator knows them; empty where nobody says."""
    return checked_classes(classes) or (classes_from(getattr(model, "classes_", ())) if is_estimator else ())


def read_as(
    known: Mapping[str, str | None], objective: str, named: tuple[Value, ...], *, is_estimator: bool
) -> str | None:
    """What the numbers of a booster stand for, by its objective.

    Other objectives of a classifier give the second class's number, and its ``predict`` compares it with a half.
    """
    return known.get(objective, "probabilities" if named and is_estimator else "values")


def described(
    what: str, source: str, objective: str, takes: Sequence[str] | None, width: int, classes: tuple[Value, ...]
) -> str:
    """A booster in one line: what it is, where it came from, what it takes and gives."""
    columns = listed(takes) if takes else f"{width} columns without names"
    gives = f"; gives {listed(classes)}" if classes else ""
    origin = f" {source}" if source else ""
    return f"{what}{origin} ({objective}): takes {columns}{gives}"


def _codes(values: NDArray[Any], categories: tuple[Value, ...]) -> NDArray[np.float64]:
    """The place of each value among the categories; NaN for what is missing, -1 for what is not among them."""
    code = {category: float(place) for place, category in enumerate(categories)}
    plain = (plain_value(value) for value in values.tolist())
    return np.array([np.nan if value is None else code.get(value, -1.0) for value in plain])
