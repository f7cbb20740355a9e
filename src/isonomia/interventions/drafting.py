"""A first draft of what people can change, from data."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import DataError
from isonomia.interventions.constraints import Constraint, OneHot, Thermometer
from isonomia.interventions.features import Feature
from isonomia.interventions.selecting import chosen
from isonomia.populations.columns import distinct
from isonomia.populations.table import Table

__all__ = ["drafted"]

_MANY = 50
"""With more categories than this, a column is taken for a name rather than for something that people choose."""


def drafted(table: Table, leave_out: str | Sequence[str] = ()) -> tuple[tuple[Feature, ...], tuple[Constraint, ...]]:
    """Features with the kinds and bounds that occur, and the encodings that their dummies look like.

    Raises
    ------
    DataError
        Where a column is neither numbers, truth values nor text.
    """
    left = set(chosen(leave_out, table.names)) if leave_out else set()
    names = [name for name in table.names if name not in left]
    features = tuple(_feature(name, table) for name in names)
    dummies = {f.name: table.column(f.name) for f in features if f.kind == "binary"}
    return features, tuple(_encodings(dummies))


def _feature(name: str, table: Table) -> Feature:
    column = table.column(name)
    if column.dtype.kind == "O":
        return _categories(name, column, table.order(name))
    if column.dtype.kind not in "biuf":
        raise DataError(
            f"column {name!r} holds {column.dtype}, of which no feature can be made. Turn it into numbers or text, or "
            f"leave it out: leave_out={name!r}."
        )
    numbers = column[np.isfinite(column)].astype(np.float64) if column.dtype.kind == "f" else column.astype(np.float64)
    if not len(numbers):
        raise DataError(f"column {name!r} has no value at all. Leave it out: leave_out={name!r}.")
    low, high = float(numbers.min()), float(numbers.max())
    if np.isin(numbers, (0.0, 1.0)).all():
        return Feature(name, "binary", actionable=low < high)
    whole = bool((numbers == np.round(numbers)).all())
    return Feature(name, "integer" if whole else "real", low, high, actionable=low < high)


def _categories(name: str, column: NDArray[Any], order: Sequence[str]) -> Feature:
    found = distinct([column], name)
    if not found:
        raise DataError(f"column {name!r} has no value at all. Leave it out: leave_out={name!r}.")
    values = [value for value in order if value in found] if order else list(found)
    return Feature(name, "categorical", actionable=1 < len(values) <= _MANY, values=tuple(values))


def _encodings(dummies: dict[str, NDArray[Any]]) -> Iterator[Constraint]:
    """One-hot where no two dummies of a family are ever on together; a thermometer where each implies the last."""
    families: dict[str, list[str]] = {}
    for name in dummies:
        families.setdefault(_family(name), []).append(name)
    for members in families.values():
        columns = np.column_stack([dummies[name] for name in members]).astype(np.float64)
        varied = 0.0 < columns.mean() < 1.0
        if len(members) < 2 or not varied or not np.isfinite(columns).all():
            continue
        if (columns.sum(1) <= 1.0).all():
            yield OneHot(tuple(members), 1, "==" if (columns.sum(1) == 1.0).all() else "<=")
            continue
        order = np.argsort(-columns.mean(0), kind="stable")
        if all((columns[:, low] >= columns[:, high]).all() for low, high in pairwise(order)):
            yield Thermometer(tuple(members[j] for j in order))


def _family(name: str) -> str:
    """What dummies of one feature share: the part before a comparison, or before the last underscore."""
    found = re.match(r"(.+?)(_is_|_geq_|_leq_|_exists|>=|<=|==|=|≥|≤)", name)
    return found[1] if found else name.rpartition("_")[0] or name
