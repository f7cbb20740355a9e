"""What is known at any moment: the interval of each leaf and of each compared quantity."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from isonomia.evidence.channels import independent_classes
from isonomia.evidence.confidence_sequences import finite_interval
from isonomia.evidence.intervals import Interval, enclose
from isonomia.evidence.region import LeafTally, Region
from isonomia.records.verdict import Expression, LeafRecord
from isonomia.spec.construct import constant_value
from isonomia.spec.text import to_text
from isonomia.spec.tree import (
    Arithmetic,
    Comparison,
    Each,
    Extreme,
    Formula,
    Implies,
    Junction,
    Leaf,
    Mean,
    Not,
    Quantity,
    Rate,
    Row,
)
from isonomia.spec.walk import leaves_of, nodes
from isonomia.wording import number

__all__ = ["Knowledge", "closing_in", "compared"]

FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def compared(formula: Formula) -> Iterator[tuple[Quantity, str, float]]:
    """Every compared quantity with its relation and threshold; where both sides vary, their difference with 0."""
    match formula:
        case Comparison(first=first, rest=rest):
            sides = [first, *(side for _, side in rest)]
            for (left, right), (relation, _) in zip(pairwise(sides), rest, strict=True):
                yield _link(left, relation, right)
        case Not(operand=operand):
            yield from compared(operand)
        case Junction(operands=operands):
            for operand in operands:
                yield from compared(operand)
        case Implies(premise=premise, conclusion=conclusion):
            yield from compared(premise)
            yield from compared(conclusion)
        case Each():
            raise TypeError("a quantifier is expanded before its comparisons are listed")


@dataclass(frozen=True, slots=True)
class Knowledge:
    """The counts of each leaf, and how to turn them into intervals.

    Attributes
    ----------
    tallies
        The counts of each leaf.
    streams
        The conditions of the population's streams, which say what is independent of what.
    delta
        The risk of each interval by itself.
    sizes
        For draws without replacement, how many people each leaf's group has; ``None`` for independent draws.
    """

    tallies: Mapping[Leaf, LeafTally]
    streams: Sequence[Row | None]
    delta: float
    sizes: Mapping[Leaf, float] | None = None

    def leaf(self, leaf: Leaf) -> LeafRecord:
        """What is known of one leaf."""
        tally = self.tallies[leaf]
        low, high = self._leaf_interval(leaf, self.delta)
        n = round(tally.n)
        return LeafRecord(to_text(leaf), n, tally.mean if n else None, low, high)

    def expression(self, quantity: Quantity, relation: str, threshold: float) -> Expression:
        """What is known of one compared quantity."""
        low, high = self._interval(quantity)
        return Expression(to_text(quantity), relation, threshold, self._estimate(quantity), low, high)

    def _interval(self, quantity: Quantity) -> tuple[float, float]:
        if isinstance(quantity, Extreme) and quantity.function == "abs":
            # Linear quantities are quick, and what is known of a value says what is known of its size.
            low, high = self._interval(quantity.arguments[0])
            return max(0.0, low, -high), max(-low, high)
        leaves = leaves_of(quantity)
        if self.sizes is None:
            tallies = {leaf: self.tallies[leaf] for leaf in leaves}
            region = Region(tallies, independent_classes(leaves, self.streams), self.delta)
            return _corners(quantity, region) or region.quantity_interval(quantity)
        box = {leaf: self._leaf_interval(leaf, self.delta / len(leaves)) for leaf in leaves}
        return _over(quantity, box)

    def _leaf_interval(self, leaf: Leaf, delta: float) -> tuple[float, float]:
        tally = self.tallies[leaf]
        if self.sizes is not None:
            return finite_interval(tally.weights[-1], tally.n, self.sizes[leaf], delta)
        return Region({leaf: tally}, ((leaf,),), delta).interval(leaf)

    def _estimate(self, quantity: Quantity) -> float | None:
        leaves = leaves_of(quantity)
        if any(self.tallies[leaf].n == 0 for leaf in leaves):
            return None
        low, high = _over(quantity, {leaf: (self.tallies[leaf].mean,) * 2 for leaf in leaves})
        return 0.5 * (low + high) if np.isfinite(low) and np.isfinite(high) else None


def closing_in(item: Expression) -> str:
    """One line on a compared quantity."""
    return f"[{number(item.low)}, {number(item.high)}] {item.relation} {number(item.threshold)}?"


def _link(left: Quantity, relation: str, right: Quantity) -> tuple[Quantity, str, float]:
    threshold = constant_value(right)
    if threshold is not None:
        return left, relation, threshold
    threshold = constant_value(left)
    if threshold is not None:
        return right, FLIPPED[relation], threshold
    return Arithmetic("-", left, right), relation, 0.0


def _corners(quantity: Quantity, region: Region) -> tuple[float, float] | None:
    """The range of a quantity over a region that is a box, where interval arithmetic finds it without a search.

    That is so where no two leaves share an allowance and none occurs twice (Moore 1966: the range of an expression is
    exact where each variable occurs once). ``None`` elsewhere, and where the range has no end.
    """
    used = [node for node in nodes(quantity) if isinstance(node, Rate | Mean)]
    if len(used) < 2 or len(set(used)) < len(used) or any(len(members) > 1 for members in region.classes):
        return None
    low, high = (0.0 if abs(end) < 1e-300 else end for end in _over(quantity, region.box))
    return (low, high) if np.isfinite(low) and np.isfinite(high) else None


def _over(quantity: Quantity, box: Mapping[Leaf, tuple[float, float]]) -> tuple[float, float]:
    value = enclose(
        quantity, {leaf: Interval(np.asarray([low]), np.asarray([high])) for leaf, (low, high) in box.items()}
    )
    return float(value.low[0]), float(value.high[0])
