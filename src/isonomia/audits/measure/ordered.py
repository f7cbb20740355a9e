"""All scores in order: which one has a rank, and how many of each group lie above a value.

Scores of rows that were read are held, 8 bytes each. In a table's engine they are found by counting: first in bins of
the whole range, then in finer bins of those that have the wanted ranks, then value by value.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.measure.counts import FINE, Codes, Floats, GroupAttributes, GroupCounts
from isonomia.populations.cells import EngineTable, group_cells
from isonomia.populations.expressions import Expression

FINER = 2**14
"""How many finer bins a bin is cut into, where it has too many scores to list."""

FEW = 2**17
"""Up to this many scores are listed value by value. It changes cost only."""


@dataclass(slots=True)
class HeldScores:
    """Scores of rows that were read.

    Attributes
    ----------
    groupings
        The groups of each grouping.
    scores, groups
        The scores, batch by batch, and for each grouping the group of each.
    """

    groupings: Sequence[GroupCounts]
    scores: list[Floats] = field(default_factory=list)
    groups: list[list[NDArray[np.uint16]]] = field(default_factory=list)

    def add(self, scores: Floats, groups: Sequence[Codes]) -> None:
        """Hold the scores of a batch, NaN left out."""
        there = ~np.isnan(scores)
        self.scores.append(scores[there])
        self.groups.append([each[there].astype(np.uint16) for each in groups])

    @property
    def n(self) -> int:
        """How many there are."""
        return sum(map(len, self.scores))

    def at(self, ranks: Sequence[int]) -> list[float]:
        """The scores of these ranks."""
        places = np.asarray(ranks) - 1
        values: list[float] = np.partition(np.concatenate(self.scores), np.unique(places))[places].tolist()
        return values

    def above(self, cuts: Sequence[float]) -> list[NDArray[np.int64]]:
        """How many scores of each group lie above each value."""
        found = [np.zeros((each.size, len(cuts) + 1), dtype=np.int64) for each in self.groupings]
        for scores, several in zip(self.scores, self.groups, strict=True):
            level = np.searchsorted(np.sort(cuts), scores)
            for counts, groups in zip(found, several, strict=True):
                place = groups.astype(np.intp) * counts.shape[1] + level
                counts += np.bincount(place, minlength=counts.size).reshape(counts.shape)
        return [_above(counts, cuts) for counts in found]


@dataclass(frozen=True, slots=True)
class EngineScores:
    """Scores that a table's engine holds.

    Attributes
    ----------
    table, score
        The table, and its column of scores, null where one is missing.
    keys, attributes, groupings
        The columns that define groups, and what was found of them.
    n
        How many scores there are.
    bins
        How many scores each of ``FINE`` bins from 0 to 1 has, and how many are 1; ``None`` where they lie elsewhere.
    """

    table: EngineTable
    score: Expression
    keys: Mapping[str, Expression]
    attributes: GroupAttributes
    groupings: Sequence[GroupCounts]
    n: int
    bins: NDArray[Any] | None

    def at(self, ranks: Sequence[int]) -> list[float]:
        """The scores of these ranks."""
        if self.bins is None:
            low, high = self._ends()
            scale = FINE / (high - low) if high > low else 1.0
            values, counts = self._listed(_code(self.score, low, scale), ~self.score.is_null(), self.n)
        else:
            low, scale = 0.0, float(FINE)
            values, counts = np.flatnonzero(self.bins).astype(float), self.bins[self.bins > 0].astype(np.int64)
        before = _before(values, counts, {0.0: 0}, np.zeros(len(values)), ranks)
        chosen, size = _code(self.score, low, scale).is_in(sorted(before)), _rows_with(before, values, counts)
        if size > FEW:
            scale *= FINER
            values, counts = self._listed(_code(self.score, low, scale), chosen, size)
            before = _before(values, counts, before, np.floor(values / FINER), ranks)
            chosen, size = _code(self.score, low, scale).is_in(sorted(before)), _rows_with(before, values, counts)
        values, counts = self._listed(self.score, chosen, size)
        positions = _before(values, counts, before, np.floor((values - low) * scale), ranks)
        return [max(value for value, rows in positions.items() if rows < rank) for rank in ranks]

    def _ends(self) -> tuple[float, float]:
        """The least and the greatest score."""
        totals = group_cells(self.table.frame, self.table.size, {}, {"score": self.score}).totals["score"]
        return float(totals.low[0]), float(totals.high[0])

    def _listed(self, key: Expression, chosen: Expression, size: int) -> tuple[Floats, NDArray[np.int64]]:
        """The values of a key among some rows, ascending, and how many rows have each."""
        cells = group_cells(self.table.frame.filter(chosen), size, {"value": key})
        values = np.asarray(cells.table.column("value"), dtype=np.float64)
        order = np.argsort(values)
        return values[order], cells.n[order]

    def above(self, cuts: Sequence[float]) -> list[NDArray[np.int64]]:
        """How many scores of each group lie above each value."""
        import narwhals as nw

        # Every value is counted of the few rows between the cuts; those on either side have one value.
        low, high, lines = min(cuts), max(cuts), np.sort(cuts)
        above = nw.when(self.score > high).then(nw.lit(high + abs(high) + 1.0)).otherwise(self.score)
        value = nw.when(self.score > low).then(above).otherwise(nw.lit(low))
        keys = {**self.keys, "\0value": value}
        cells = group_cells(self.table.frame.filter(~self.score.is_null()), self.n, keys)
        level = np.searchsorted(lines, np.asarray(cells.table.column("\0value"), dtype=np.float64))
        codes, found = self.attributes.read(cells.table), []
        for each in self.groupings:
            place = each.place(codes, len(level)) * (len(cuts) + 1) + level
            counts = np.bincount(place, cells.n, each.size * (len(cuts) + 1)).astype(np.int64)
            found.append(counts.reshape(each.size, len(cuts) + 1))
        return [_above(counts, cuts) for counts in found]


def _above(levels: NDArray[np.int64], cuts: Sequence[float]) -> NDArray[np.int64]:
    """How many lie above each cut, from how many lie above no, one, two and so on of the cuts in order."""
    above = levels.sum(axis=1, keepdims=True) - np.cumsum(levels, axis=1)
    return np.asarray(above[:, np.argsort(np.argsort(cuts, kind="stable"), kind="stable")])


def _code(score: Expression, low: float, scale: float) -> Expression:
    return ((score - low) * scale).floor()


def _rows_with(chosen: Iterable[float], values: Floats, counts: NDArray[np.int64]) -> int:
    return int(counts[np.isin(values, list(chosen))].sum())


def _before(
    values: Floats, counts: NDArray[np.int64], outer: Mapping[float, int], parents: Floats, ranks: Sequence[int]
) -> dict[float, int]:
    """The values that have the ranks, and how many rows come before each.

    ``outer`` says how many rows come before each bin that was looked into, and ``parents`` in which of them a value is.
    """
    result: dict[float, int] = {}
    for parent, before in outer.items():
        inside = parents == parent
        ends = before + np.cumsum(counts[inside])
        for rank in ranks:
            if before < rank <= ends[-1]:
                index = int(np.searchsorted(ends, rank))
                result[float(values[inside][index])] = int(ends[index] - counts[inside][index])
    return result
