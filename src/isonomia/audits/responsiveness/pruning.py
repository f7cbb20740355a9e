"""Pruning: reachable points are moved back towards the person's own values, as far as they keep the target."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.responsiveness.points import TargetTest
from isonomia.interventions import Points, ReachableSets
from isonomia.interventions.blocks import Boxes, FeatureBlock, blocks_of

Floats = NDArray[np.float64]

_VALUES = 16
"""How many values of a single feature are tried, evenly over what the person can reach."""
_HALVINGS = 12
"""How often the distance to a person's own value is halved."""


def joined(parts: Sequence[Points]) -> Points:
    """Points of the same people together."""
    owner, values = (np.concatenate([getattr(part, name) for part in parts]) for name in ("owner", "values"))
    return Points(parts[0].features, parts[0].people, owner, values)


def single_changes(sets: ReachableSets, drawn: Points, who: NDArray[np.intp]) -> Points:
    """Points in which one feature is changed, or one block of coupled features as in a draw.

    A feature takes every value in the person's reach, or some evenly spaced ones.
    """
    start = sets.start[who]
    owners, values = [np.zeros(0, dtype=np.intp)], [np.zeros((0, start.shape[1]))]
    each = len(drawn) // len(who)
    for block in _blocks(sets):
        boxes = Boxes.of(block, start[:, list(block.columns)])
        if not _pushes(block):
            for j in block.free:
                most = (boxes.high[:, j] - boxes.low[:, j]).max() + 1.0 if block.features[j].whole else np.inf
                for at in np.linspace(0.0, 1.0, int(min(most, _VALUES))):
                    value = boxes.low[:, j] + at * (boxes.high[:, j] - boxes.low[:, j])
                    point = start.copy()
                    point[:, block.columns[j]] = np.round(value) if block.features[j].whole else value
                    owners.append(who)
                    values.append(point)
        if not block.alone:
            columns = [*block.columns, *block.pushed]
            for number in range(min(_VALUES, each)):
                rows = np.arange(len(who)) * each + number
                point = start.copy()
                point[:, columns] = drawn.values[rows][:, columns]
                owners.append(who)
                values.append(point)
    owner, points = np.concatenate(owners), np.concatenate(values)
    moved = (points != sets.start[owner]).any(axis=1)
    moved &= np.logical_and.reduce([np.ones(len(owner), dtype=bool), *_allowed_in_each(sets, owner, points)])
    return Points(drawn.features, drawn.people, owner[moved], points[moved])


def pruned(sets: ReachableSets, points: Points, target: TargetTest) -> Points:
    """The same points with every change undone, or made smaller, that the target does not need.

    First each feature, and each block of coupled features, is set back to the person's own value, until no more can be.
    Then numbers that are still changed move back as far as bisection finds. Every point stays in reach and has the
    target.
    """
    values, start = points.values.copy(), sets.start[points.owner]
    blocks = _blocks(sets)
    steps = [(block, columns) for block in blocks for columns in _put_back_together(block)]
    stale = np.zeros((len(steps), len(values)), dtype=bool)  # tried without success, and not changed since
    changed = True
    while changed:
        changed = False
        for (block, columns), in_vain in zip(steps, stale, strict=True):
            trial = values.copy()
            trial[:, columns] = np.where(in_vain[:, None], values[:, columns], start[:, columns])
            better = _keep_better(sets, block, points, values, trial, target)
            in_vain[:] = True
            stale[:, better] = False
            changed |= bool(len(better))
    for block in blocks:
        for j in block.free if not _pushes(block) else ():
            if block.features[j].kind in ("integer", "real"):
                _go_back(sets, block, j, points, values, target)
    return Points(points.features, points.people, points.owner, values)


def _put_back_together(block: FeatureBlock) -> list[list[int]]:
    """The columns that are set back at once: those of the whole block, then each by itself where that is allowed."""
    whole = [*block.columns, *block.pushed]
    return [whole] if block.alone or _pushes(block) else [whole, *([block.columns[j]] for j in block.free)]


def _go_back(
    sets: ReachableSets, block: FeatureBlock, j: int, points: Points, values: Floats, target: TargetTest
) -> None:
    """Bring one number of each point nearer to the person's own."""
    column = block.columns[j]
    near = sets.start[points.owner, column].copy()
    for _ in range(_HALVINGS):
        middle = (near + values[:, column]) / 2.0
        if block.features[j].whole:  # towards the person's own value, but never that value, which was tried
            middle = np.where(middle > near, np.floor(middle), np.ceil(middle))
        trial = values.copy()
        trial[:, column] = np.where(middle == near, values[:, column], middle)
        if not (trial != values).any():
            return
        before = values[:, column].copy()
        _keep_better(sets, block, points, values, trial, target)
        near = np.where(values[:, column] == before, middle, near)


def _keep_better(
    sets: ReachableSets, block: FeatureBlock, points: Points, values: Floats, trial: Floats, target: TargetTest
) -> NDArray[np.intp]:
    """Keep the rows of a trial that differ, are in reach and have the target; returns which these are."""
    rows = np.flatnonzero((trial != values).any(axis=1))
    rows = rows[_allowed(sets, block, points.owner[rows], trial[rows])]
    if len(rows):
        rows = rows[target(Points(points.features, points.people, points.owner[rows], trial[rows]))]
    values[rows] = trial[rows]
    return rows


def _allowed_in_each(sets: ReachableSets, owner: NDArray[np.intp], values: Floats) -> Iterator[NDArray[np.bool_]]:
    for block in _blocks(sets):
        yield _allowed(sets, block, owner, values)


def _allowed(sets: ReachableSets, block: FeatureBlock, owner: NDArray[np.intp], values: Floats) -> NDArray[np.bool_]:
    """Whether each point is in reach, as far as a block is concerned.

    Where actions push other features, the whole block is as in a reachable point, or as the person is.
    """
    if block.alone or _pushes(block) or not len(owner):
        return np.ones(len(owner), dtype=bool)
    columns = list(block.columns)
    return Boxes.of(block, sets.start[owner][:, columns]).allowed(block, values[:, columns])


def _blocks(sets: ReachableSets) -> tuple[FeatureBlock, ...]:
    return blocks_of(sets.interventions.features, sets.interventions.coded())


def _pushes(block: FeatureBlock) -> bool:
    return bool(block.push.any() or block.onto.any())
