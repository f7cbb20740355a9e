"""Certified branch and bound: what holds for every point of a region, for the whole grammar.

Boxes of leaf values are thrown away when the region misses them or when the formula is settled on them, and are split
otherwise. What is left empty is proved; interval arithmetic with outward rounding makes each step safe.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from isonomia.evidence.intervals import Interval, Truth, enclose, judge

if TYPE_CHECKING:
    from isonomia.evidence.hypotheses import Polytope
    from isonomia.evidence.region import Region
    from isonomia.spec.tree import Formula, Leaf, Quantity

__all__ = ["decide", "enclose_over", "outside_polytope"]

Floats = NDArray[np.float64]

MOST_BOXES = 20_000
"""How many boxes may be open at once before the search gives up undecided."""

ROUNDS = 60


@dataclass(frozen=True, slots=True)
class _Boxes:
    leaves: tuple[Leaf, ...]
    low: Floats
    high: Floats

    def __len__(self) -> int:
        return len(self.low)

    def as_mapping(self) -> dict[Leaf, Interval]:
        return {leaf: Interval(self.low[:, k], self.high[:, k]) for k, leaf in enumerate(self.leaves)}

    def middles(self) -> _Boxes:
        middle = 0.5 * (self.low + self.high)
        return _Boxes(self.leaves, middle, middle)

    def where(self, keep: NDArray[np.bool_]) -> _Boxes:
        return _Boxes(self.leaves, self.low[keep], self.high[keep])

    def halves(self, scale: Floats) -> _Boxes:
        """Split each box across its relatively widest side."""
        rows = np.arange(len(self))
        widest = np.argmax((self.high - self.low) / scale, axis=1)
        middle = 0.5 * (self.low[rows, widest] + self.high[rows, widest])
        upper_low, lower_high = self.low.copy(), self.high.copy()
        upper_low[rows, widest] = lower_high[rows, widest] = middle
        return _Boxes(self.leaves, np.concatenate([self.low, upper_low]), np.concatenate([lower_high, self.high]))


def decide(formula: Formula, region: Region) -> bool | None:
    """Decide a formula for every point of a region.

    Returns
    -------
    bool or None
        ``True`` or ``False`` where the formula has that value at every point of the region; ``None`` where it has not,
        or where the search ran out of boxes. Both answers are right at all times together with probability at least
        ``1 - delta``, because the region then holds the truth.
    """
    boxes = _first_box(region)
    scale = np.maximum(boxes.high - boxes.low, 1e-300)[0]
    # Boxes may be dropped as true before it is known which answer is possible: the region is connected, so a formula
    # that is not true on all of it is undecided on some box until a middle shows the other answer.
    possible = {True, False}
    for _ in range(ROUNDS):
        boxes = boxes.where(_touches(boxes, region))
        truth = _spread(judge(formula, boxes.as_mapping()), len(boxes))
        possible &= _not_excluded(formula, boxes, region)
        if not possible:
            return None
        boxes = boxes.where(~(truth.true if True in possible else truth.false))
        if not len(boxes):
            return True in possible
        if len(boxes) > MOST_BOXES:
            return None
        boxes = boxes.halves(scale)
    return None


def enclose_over(quantity: Quantity, region: Region) -> tuple[float, float]:
    """Enclose a quantity over a region, ever tighter until the boxes run out.

    A box whose enclosure lies between values that the quantity takes inside the region cannot move an end: it goes.
    """
    boxes = _first_box(region)
    scale = np.maximum(boxes.high - boxes.low, 1e-300)[0]
    taken_low, taken_high = np.inf, -np.inf
    low, high = -np.inf, np.inf
    for _ in range(ROUNDS):
        boxes = boxes.where(_touches(boxes, region))
        value = enclose(quantity, boxes.as_mapping())
        at_middles = enclose(quantity, boxes.middles().as_mapping())
        inside = _touches(boxes.middles(), region)
        taken_low = min(taken_low, float(at_middles.high.min(where=inside, initial=np.inf)))
        taken_high = max(taken_high, float(at_middles.low.max(where=inside, initial=-np.inf)))
        low = max(low, min(float(value.low.min(initial=np.inf)), taken_low))
        high = min(high, max(float(value.high.max(initial=-np.inf)), taken_high))
        boxes = boxes.where((value.low < taken_low) | (value.high > taken_high))
        close = (taken_low - low) + (high - taken_high) < 1e-3 * (taken_high - taken_low)
        if close or not len(boxes) or len(boxes) > MOST_BOXES // 4:
            break
        boxes = boxes.halves(scale)
    return low, high


def outside_polytope(polytope: Polytope, region: Region) -> bool:
    """Say whether no point of a polytope lies in a region with several classes."""
    boxes = _first_box(region)
    scale = np.maximum(boxes.high - boxes.low, 1e-300)[0]
    a, b = polytope.matrix(boxes.leaves)
    for _ in range(ROUNDS):
        boxes = boxes.where(_touches(boxes, region))
        least = np.minimum(a * boxes.low[:, None, :], a * boxes.high[:, None, :]).sum(axis=-1)
        boxes = boxes.where((least <= b + 1e-12 * np.abs(a).sum(axis=-1)).all(axis=-1))
        if not len(boxes):
            return True
        middles = boxes.middles()
        within = ((a * middles.low[:, None, :]).sum(axis=-1) <= b).all(axis=-1)
        if (within & _touches(middles, region)).any() or len(boxes) > MOST_BOXES:
            return False
        boxes = boxes.halves(scale)
    return False


def _first_box(region: Region) -> _Boxes:
    """The box around the region: each leaf alone may use up the whole allowance of its class."""
    leaves = tuple(region.tallies)
    low, high = np.asarray([region.box[leaf] for leaf in leaves]).T
    return _Boxes(leaves, low[None, :], high[None, :])


def _touches(boxes: _Boxes, region: Region) -> NDArray[np.bool_]:
    """Which boxes the region may meet: evidence is convex in each leaf, so it is least at the nearest point."""
    inside = np.ones(len(boxes), dtype=bool)
    for members in region.classes:
        spent = np.zeros(len(boxes))
        for leaf in members:
            k = boxes.leaves.index(leaf)
            nearest = np.clip(region.tallies[leaf].mean, boxes.low[:, k], boxes.high[:, k])
            spent += region.spent(leaf, nearest)
        inside &= spent < region.allowance[members]
    return inside


def _not_excluded(formula: Formula, boxes: _Boxes, region: Region) -> set[bool]:
    """Which answers for the whole region the boxes' middles still allow: a middle inside that differs bars one."""
    middles = boxes.middles()
    truth = _spread(judge(formula, middles.as_mapping()), len(middles))
    inside = _touches(middles, region)
    return ({True} if not (truth.false & inside).any() else set()) | (
        {False} if not (truth.true & inside).any() else set()
    )


def _spread(truth: Truth, size: int) -> Truth:
    return Truth(np.broadcast_to(truth.true, size), np.broadcast_to(truth.false, size))
