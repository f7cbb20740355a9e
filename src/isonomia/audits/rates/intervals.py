"""Intervals at any time: of each leaf and of each compared quantity.

Intervals come from the same bets as the answer, by inversion (:mod:`isonomia.evidence.inversion`), each end at the
check's risk; where no bets can be made, from the confidence region that decides.

What renderers show of a verdict about rates: its quantities with their thresholds, and its text explained.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf, sqrt

import numpy as np

from isonomia.errors import IsonomiaError
from isonomia.evidence.confidence_sequences import finite_interval
from isonomia.evidence.exact import BoxIntervals, enclose
from isonomia.evidence.inversion import COARSE_SCAN, SCAN, Inversion, Paths, inversion_for
from isonomia.evidence.normal_form import compared
from isonomia.evidence.protocol import LeafTally, Tallies, independent_classes
from isonomia.evidence.region import Region
from isonomia.records.display.view import RATES, View
from isonomia.records.verdict import Expression, LeafRecord, Verdict
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
    leaves_of,
    nodes,
)
from isonomia.wording import number

MANY = 12
"""With this many leaves or more, their intervals come from the region, which is quicker and wider. With more quantities
to invert than this, the ends of their intervals are not sharpened. Changes width and cost only."""


VERY_MANY = 100
"""With more quantities to invert than this, ends are also searched among fewer values. Changes width and cost only."""


def inversions_for(
    formula: Formula,
    ranges: Mapping[Leaf, tuple[float, float]],
    streams: Sequence[Row | None],
    sizes: Mapping[Leaf, float] | None,
) -> dict[Quantity, Inversion]:
    """The bets on every value of each leaf and each compared quantity, as far as they can be made."""
    leaves = leaves_of(formula)
    wanted = dict.fromkeys(_plain(quantity) for quantity, _, _ in compared(formula))
    wanted |= dict.fromkeys(leaves if len(leaves) < MANY else ())
    inversions = {
        quantity: inversion_for(quantity, ranges, streams, sizes) for quantity in wanted if leaves_of(quantity)
    }
    return {quantity: inversion for quantity, inversion in inversions.items() if inversion is not None}


@dataclass(frozen=True, slots=True)
class LeafKnowledge:
    """The counts of each leaf, and how to turn them into intervals.

    Attributes
    ----------
    tallies
        The counts of each leaf.
    streams
        The conditions of the population's streams, which say what is independent of what.
    delta
        The risk of each end of each interval; of the whole interval where it comes from the region.
    sizes
        For draws without replacement, how many people each leaf's group has; ``None`` for independent draws.
    history
        The counts of each batch.
    inversions
        The bets that are inverted.
    rough
        Whether ends need not be sharp, as while a check continues.
    found
        The intervals found so far, by quantity and risk: that of ``b / a`` is derived from that of ``a / b``.
    paths
        The wealths of each quantity's bets, which are the same for every risk.
    """

    tallies: Mapping[Leaf, LeafTally]
    streams: Sequence[Row | None]
    delta: float
    sizes: Mapping[Leaf, float] | None = None
    history: Sequence[Tallies] = ()
    inversions: Mapping[Quantity, Inversion] = field(default_factory=dict)
    rough: bool = False
    found: dict[tuple[Quantity, float], tuple[float, float]] = field(default_factory=dict)
    paths: dict[Quantity, Paths] = field(default_factory=dict)

    def leaf(self, leaf: Leaf) -> LeafRecord:
        """The record of one leaf."""
        tally = self.tallies[leaf]
        low, high = self._inverted(leaf) or self._leaf_interval(leaf, self.delta)
        n = round(tally.n)
        return LeafRecord(to_text(leaf), n, tally.mean if n else None, low, high)

    def expression(self, quantity: Quantity, relation: str, threshold: float) -> Expression:
        """The record of one compared quantity."""
        low, high = self._interval(quantity)
        return Expression(to_text(quantity), relation, threshold, self._estimate(quantity), low, high)

    def point(self, quantity: Quantity, relation: str, threshold: float) -> Expression:
        """The estimate of one compared quantity, without an interval."""
        return Expression("", relation, threshold, self._estimate(quantity), -np.inf, np.inf)

    def _interval(self, quantity: Quantity) -> tuple[float, float]:
        if isinstance(quantity, Extreme) and quantity.function == "abs":
            # Linear quantities are quick, and an interval for a value gives one for its absolute value. Where each end
            # has the whole risk, either can be wrong for a value of 0; only one decides how large it is at most.
            (inside,) = quantity.arguments
            both = replace(self, delta=self.delta / 2.0) if inside in self.inversions else self
            (least, most), (low, high) = both._interval(inside), self._interval(inside)
            return max(0.0, least, -most), max(-low, high)
        interval = self._mirrored(quantity) or self._inverted(quantity)
        if interval is not None:
            self.found[quantity, self.delta] = interval
            return interval
        leaves = leaves_of(quantity)
        if self.sizes is None:
            tallies = {leaf: self.tallies[leaf] for leaf in leaves}
            region = Region(tallies, independent_classes(leaves, self.streams), self.delta)
            return _corners(quantity, region) or region.quantity_interval(quantity)
        box = {leaf: self._leaf_interval(leaf, self.delta / len(leaves)) for leaf in leaves}
        return over_box(quantity, box)

    def _mirrored(self, quantity: Quantity) -> tuple[float, float] | None:
        """The interval of ``b / a`` where that of ``a / b`` is known, likewise ``b - a``: the same bets are on both."""
        match quantity:
            case Arithmetic("/" | "-" as sign, Rate() as left, Rate() as right) if self.found:
                other = self.found.get((Arithmetic(sign, right, left), self.delta))
            case _:
                return None
        if other is None:
            return None
        low, high = other
        if sign == "-":
            return -high, -low
        return (1.0 / high if high > 0.0 else inf), (1.0 / low if low > 0.0 else inf)

    def _inverted(self, quantity: Quantity) -> tuple[float, float] | None:
        """The values that bets have not refuted; ``None`` without bets, with an unseen leaf, or once all are seen."""
        inversion, leaves = self.inversions.get(quantity), leaves_of(quantity)
        if inversion is None or not self.history or any(self.tallies[leaf].n == 0 for leaf in leaves):
            return None
        if self.sizes is not None and all(self.tallies[leaf].n >= self.sizes[leaf] for leaf in leaves):
            return None
        limits = over_box(quantity, {leaf: inversion.ranges[leaf] for leaf in leaves})
        near = self._near(quantity, leaves)
        if near is None:
            return None
        quantities = len(self.inversions)
        if quantity not in self.paths:
            self.paths[quantity] = inversion.paths(self.history)
        low, high = inversion.interval(
            self.history,
            self.delta,
            near,
            limits,
            rough=self.rough or quantities > MANY,
            scan=SCAN if quantities <= VERY_MANY else COARSE_SCAN,
            paths=self.paths[quantity],
        )
        estimate = self._estimate(quantity) if inversion.sliced else None
        return (low, high) if estimate is None else (min(low, estimate), max(high, estimate))

    def _near(self, quantity: Quantity, leaves: Sequence[Leaf]) -> tuple[float, float] | None:
        """A value and its standard error, by the delta method, at means that lie within their ranges."""
        means, errors = {}, {}
        for leaf in leaves:
            tally = self.tallies[leaf]
            nodes_, weights = np.asarray(tally.nodes), np.asarray(tally.weights)
            weights = weights + np.where((nodes_ == nodes_[0]) | (nodes_ == nodes_[-1]), 0.5, 0.0)
            means[leaf] = float(nodes_ @ weights / weights.sum())
            errors[leaf] = sqrt(max(float((nodes_ - means[leaf]) ** 2 @ weights), 0.0)) / float(weights.sum())
        centre, square = sum(over_box(quantity, {leaf: (mean, mean) for leaf, mean in means.items()})) / 2.0, 0.0
        for leaf in leaves:
            step = 0.5 * errors[leaf]
            moved = {other: (mean, mean) for other, mean in means.items()} | {leaf: (means[leaf] + step,) * 2}
            square += (2.0 * (sum(over_box(quantity, moved)) / 2.0 - centre)) ** 2
        return (centre, sqrt(square)) if np.isfinite(centre) and 0.0 < square < inf else None

    def _leaf_interval(self, leaf: Leaf, delta: float) -> tuple[float, float]:
        tally = self.tallies[leaf]
        if self.sizes is not None:
            return finite_interval(tally.weights[-1], tally.n, self.sizes[leaf], delta)
        return Region({leaf: tally}, ((leaf,),), delta).interval(leaf)

    def _estimate(self, quantity: Quantity) -> float | None:
        leaves = leaves_of(quantity)
        if any(self.tallies[leaf].n == 0 for leaf in leaves):
            return None
        low, high = over_box(quantity, {leaf: (self.tallies[leaf].mean,) * 2 for leaf in leaves})
        return 0.5 * (low + high) if np.isfinite(low) and np.isfinite(high) else None


def _plain(quantity: Quantity) -> Quantity:
    """The quantity inside the bars of an absolute value."""
    inside = isinstance(quantity, Extreme) and quantity.function == "abs"
    return _plain(quantity.arguments[0]) if inside else quantity  # type: ignore[union-attr]


def agreeing(formula: Formula, answer: bool | None, expressions: Sequence[Expression]) -> tuple[Expression, ...]:
    """The intervals, in the order of ``compared``, each on the side of its threshold that the answer implies.

    An end is found by testing a few values, and the verdict tested the threshold itself. So the threshold may cut an
    interval short or, where nothing is decided, be added to it. Neither takes a risk that the answer does not.
    """
    if len(expressions) == 1:
        (truth,) = _implied(formula, answer)
        return (expressions[0].agreeing(truth),)
    pairs = zip(expressions, _implied(formula, answer), strict=True)
    return tuple(item if truth is None else item.agreeing(truth) for item, truth in pairs)


def _implied(formula: Formula, answer: bool | None) -> Iterator[bool | None]:
    """What the truth of a formula implies for each of its comparisons; ``None`` where it implies nothing."""
    match formula:
        case Comparison(rest=rest):
            known = answer if answer or len(rest) == 1 else None
            yield from (known for _ in rest)
        case Not(operand=operand):
            yield from _implied(operand, None if answer is None else not answer)
        case Junction(connective=connective, operands=operands):
            known = answer if answer is (connective == "and") else None
            for operand in operands:
                yield from _implied(operand, known)
        case Implies(premise=premise, conclusion=conclusion):
            yield from _implied(premise, True if answer is False else None)
            yield from _implied(conclusion, False if answer is False else None)
        case Each():
            raise TypeError("a quantifier is expanded before its comparisons are listed")


def progress_text(item: Expression) -> str:
    """One line on a compared quantity."""
    return f"[{number(item.low)}, {number(item.high)}] {item.relation} {number(item.threshold)}?"


def _corners(quantity: Quantity, region: Region) -> tuple[float, float] | None:
    """The range of a quantity over a region that is a box, where interval arithmetic finds it without a search.

    That is so where no two leaves share an allowance and none occurs twice (Moore 1966: the range of an expression is
    exact where each variable occurs once). ``None`` elsewhere, and where the range is infinite.
    """
    used = [node for node in nodes(quantity) if isinstance(node, Rate | Mean)]
    if len(used) < 2 or len(set(used)) < len(used) or any(len(members) > 1 for members in region.classes):
        return None
    low, high = (0.0 if abs(end) < 1e-300 else end for end in over_box(quantity, region.box))
    return (low, high) if np.isfinite(low) and np.isfinite(high) else None


def over_box(quantity: Quantity, box: Mapping[Leaf, tuple[float, float]]) -> tuple[float, float]:
    """Bounds on a quantity where each leaf is within an interval: its least and greatest value, or values beyond."""
    value = enclose(
        quantity, {leaf: BoxIntervals(np.asarray([low]), np.asarray([high])) for leaf, (low, high) in box.items()}
    )
    return float(value.low[0]), float(value.high[0])


_LONGEST = 5_000
"""The longest formula that is explained, in characters; a longer explanation would not be read."""


def _explanation(verdict: Verdict) -> str | None:
    """The formula in plain English, parsed from the verdict's text."""
    from isonomia.spec import parse

    if len(verdict.text) > _LONGEST:
        return None
    try:
        return parse(verdict.text).explain()
    except (IsonomiaError, RecursionError):
        return None  # the text is from another version or program: it is shown as it is


VIEW = View(RATES, RATES, explain=_explanation)
