"""The cells of a ``step``: intervals that do not overlap, with probabilities that add up to 1."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

from isonomia.errors import Place, SpecError

__all__ = ["TOLERANCE", "Cell", "checked_cells"]

TOLERANCE = 1e-6
"""How far from 1 the probabilities may add up, because they were rounded when they were written down."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One ``(low, high, p)`` as it was written."""

    low: float
    high: float
    probability: float
    place: Place


def checked_cells(cells: list[Cell], place: Place) -> tuple[tuple[float, float, float], ...]:
    """The cells in ascending order.

    Guarantees ``low < high`` with a finite distance, cells that share no more than an end point, probabilities of at
    least 0, and a sum within :data:`TOLERANCE` of 1. Gaps and cells of probability 0 are allowed.
    """
    if not cells:
        raise SpecError("a step needs at least one cell: write `step([(low, high, p), ...])`", place)
    for cell in cells:
        _check_alone(cell)
    ascending = sorted(cells, key=lambda cell: (cell.low, cell.high))
    for before, after in pairwise(ascending):
        _check_apart(before, after)
    total = math.fsum(cell.probability for cell in cells)
    if not abs(total - 1) <= TOLERANCE:
        raise SpecError(f"the probabilities of a step must add up to 1, but these add up to {total:.10g}", place)
    return tuple((cell.low, cell.high, cell.probability) for cell in ascending)


def _check_alone(cell: Cell) -> None:
    written = f"({cell.low:g}, {cell.high:g}, {cell.probability:g})"
    if not cell.low < cell.high:
        message = f"a cell goes from low to high, but {cell.low:g} is not below {cell.high:g}"
        raise SpecError(f"{message}: write `(low, high, p)` with low < high", cell.place)
    if not math.isfinite(cell.high - cell.low):
        raise SpecError(f"the cell {written} is too wide for a number", cell.place)
    if cell.probability < 0:
        raise SpecError(f"a probability cannot be negative, but {written} has {cell.probability:g}", cell.place)


def _check_apart(before: Cell, after: Cell) -> None:
    if after.low < before.high:
        message = f"this cell overlaps the one from {before.low:g} to {before.high:g}"
        raise SpecError(f"{message} (line {before.place.line}): let each begin where another ends", after.place)
