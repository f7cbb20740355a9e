"""What planned looks know about a compared quantity: its structure, and its limits by the draws of its leaves.

A quantity is linear in rates or means, or a fraction of two such, or the least or greatest of some. Fractions of rates
of disjoint groups, and differences of two rates of one group, have exact tests; all else is bet on with a deadline.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from math import inf, isfinite, nextafter
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import DataError
from isonomia.evidence.binomial import lower_limit, planned_lower_limit, planned_upper_limit, upper_limit
from isonomia.evidence.deadline import MAX_MEANS, DeadlineDraws, DeadlineTest
from isonomia.evidence.normal_form import Polynomial, as_chosen, as_fraction, bounds_of, find_extreme, is_linear, scaled
from isonomia.evidence.one_look import RateFraction, lower_end, proves_above, upper_end
from isonomia.evidence.paired import difference_limit, proves_difference
from isonomia.evidence.protocol import Channel, crossed_channel, independent_classes
from isonomia.spec import tree
from isonomia.spec.text import to_text

Floats = NDArray[np.float64]
Ranges: TypeAlias = Mapping[tree.Leaf, tuple[float, float]]
Ends: TypeAlias = tuple[float, float]

MAX_RATES = 8
"""How many rates one quantity may have; with more, bets are the better method. Changes power only."""

MAX_CASES = 64
"""How many quantities the ``min``, ``max`` and ``abs`` of one comparison may choose from: each has its own limits.
With more, bets decide. Changes power only."""


class NoLookError(Exception):
    """Planned looks cannot decide a claim; the message says why."""


@dataclass(frozen=True, slots=True)
class RatesPart:
    """A fraction of the rates of disjoint groups; a constant without rates."""

    leaves: tuple[tree.Leaf, ...]
    fraction: RateFraction


@dataclass(frozen=True, slots=True)
class MeansPart:
    """A fraction of means or rates that is bet on; ``crossed`` counts the draws where groups overlap."""

    leaves: tuple[tree.Leaf, ...]
    fraction: RateFraction
    crossed: Channel | None = None


@dataclass(frozen=True, slots=True)
class PairedPart:
    """``offset + factor * (P[first] - P[second])`` on the same rows; ``leaf`` is the mean of -1, 0 and 1."""

    leaf: tree.Mean
    offset: float
    factor: float


@dataclass(frozen=True, slots=True)
class ExtremePart:
    """The largest of some quantities, or the smallest."""

    largest: bool
    parts: tuple[Part, ...]


Part: TypeAlias = RatesPart | MeansPart | PairedPart | ExtremePart


def part_of(quantity: tree.Quantity, ranges: Ranges, streams: Sequence[tree.Row | None], room: int = MAX_CASES) -> Part:
    """The structure of a quantity; raises ``NoLookError`` where no limits are known for it."""
    result = find_extreme(quantity, ranges)
    if result is None:
        return _linear(quantity, ranges, streams)
    function, arguments = as_chosen(result.extreme)
    if not result.direction or len(arguments) > room:
        raise NoLookError(f"{to_text(quantity)} has a min, max or abs and is not monotone in it")
    parts = tuple(part_of(result.put(argument), ranges, streams, room // len(arguments)) for argument in arguments)
    return ExtremePart((function == "max") is (result.direction > 0), parts)


def parts_in(parts: Iterable[Part]) -> Iterator[RatesPart | MeansPart | PairedPart]:
    """All parts, and those that the largest or smallest is among."""
    for part in parts:
        if isinstance(part, ExtremePart):
            yield from parts_in(part.parts)
        else:
            yield part


def _linear(quantity: tree.Quantity, ranges: Ranges, streams: Sequence[tree.Row | None]) -> Part:
    text, fraction = to_text(quantity), as_fraction(quantity)
    top: Polynomial = fraction.numerator
    bottom: list[Polynomial] = []
    for factor in fraction.factors:
        low, high = bounds_of(factor, ranges)
        if low < 0.0 < high:
            raise NoLookError(f"the denominator of {text} may have either sign")
        if set(factor) == {()}:
            top = scaled(top, 1.0 / factor[()])
        else:
            bottom.append(factor if high > 0.0 else scaled(factor, -1.0))
            top = top if high > 0.0 else scaled(top, -1.0)
    below: Polynomial = bottom[0] if bottom else {(): 1.0}
    if len(bottom) > 1 or not (is_linear(top) and is_linear(below)):
        raise NoLookError(f"{text} is not linear in the rates")
    if not all(map(isfinite, (*bounds_of(top, ranges), *bounds_of(below, ranges)))):
        raise DataError("expected finite numbers in a comparison, but one overflows: rescale the property")
    leaves = tuple(dict.fromkeys(monomial[0] for each in (top, below) for monomial in each if monomial))
    if len(leaves) > 1 and len({leaf.given for leaf in leaves}) == 1 and not bottom:
        return _on_the_same_rows(leaves, top, ranges)
    parts = [tuple(each.get((leaf,), 0.0) for leaf in leaves) for each in (top, below)]
    made = RateFraction(top.get((), 0.0), parts[0], below.get((), 0.0), parts[1])
    apart = len(independent_classes(leaves, streams)) <= 1
    if apart and all(isinstance(leaf, tree.Rate) for leaf in leaves) and (not leaves or made.rising() is not None):
        if len(leaves) > MAX_RATES:
            raise NoLookError(f"{text} has more than {MAX_RATES} rates")
        return RatesPart(leaves, made)
    if len(leaves) > MAX_MEANS:
        raise NoLookError(f"{text} has more than {MAX_MEANS} rates or means that are bet on")
    crossed = None if apart else crossed_channel(leaves, streams, ranges)
    if not apart and crossed is None:
        raise NoLookError(f"the groups of {text} overlap, and have no draws in common or too many values")
    return MeansPart(leaves, made, crossed)


def _on_the_same_rows(leaves: tuple[tree.Leaf, ...], top: Polynomial, ranges: Ranges) -> MeansPart | PairedPart:
    """A sum over leaves of one group: the mean of the sum, row by row, since each row informs all of them."""
    constant, factors = top.get((), 0.0), [top[leaf,] for leaf in leaves]
    terms = [leaf.event if isinstance(leaf, tree.Rate) else leaf.term for leaf in leaves]
    if all(isinstance(leaf, tree.Rate) for leaf in leaves) and len(leaves) == 2 and factors[0] == -factors[1]:
        difference = tree.RowArithmetic("-", terms[0], terms[1])
        return PairedPart(tree.Mean(difference, leaves[0].given, -1.0, 1.0), constant, factors[0])
    parts = [tree.RowArithmetic("*", tree.Literal(factor), term) for factor, term in zip(factors, terms, strict=True)]
    low, high = bounds_of({(leaf,): factor for leaf, factor in zip(leaves, factors, strict=True)}, ranges)
    margin = 1e-9 * (high - low)  # for rounding: a number may lie outside the sum of the ranges by that much
    total = reduce(lambda left, right: tree.RowArithmetic("+", left, right), parts[1:], parts[0])
    mean = tree.Mean(total, leaves[0].given, low - margin, high + margin)
    return MeansPart((mean,), RateFraction(constant, (1.0,)))


# ------------------------------------------------------------------------------------------------------- their limits


@dataclass(frozen=True, slots=True)
class LookDraws:
    """The draws of each leaf, one row per batch; of several that are counted together, those of their channel.

    With ``quick``, limits of rates only say on which side of the threshold they lie. With an ``order``, tests are built
    for that risk whatever their level is, so that levels are nested. ``ends`` are the batches after which
    there were looks of those ``planned``, the last of them now, where single rates have the exact boundaries of all of
    them; ``spent`` is the risk up to each of them, as a multiple of the risk of this one.
    """

    batches: Mapping[tree.Leaf | Channel, Floats]
    ranges: Ranges
    channels: Mapping[tree.Leaf | Channel, Channel]
    quick: bool = False
    order: float | None = None
    ends: tuple[int, ...] = ()
    spent: tuple[float, ...] = ()
    planned: int = 1

    @classmethod
    def of(cls, tallies: Mapping[Channel, Sequence[Floats]], ranges: Ranges) -> LookDraws:
        """The counts of each channel, batch by batch."""
        channels = {channel if channel.crossing else channel.leaves[0]: channel for channel in tallies}
        batches = {key: np.asarray(tallies[channel]) for key, channel in channels.items()}
        return cls(batches, ranges, channels)

    def low(self, part: Part, risk: float, threshold: float) -> float:
        """A lower limit of a quantity, wrong with probability at most the risk."""
        return self._limit(part, risk, threshold, upper=False)

    def high(self, part: Part, risk: float, threshold: float) -> float:
        """An upper limit of a quantity, wrong with probability at most the risk."""
        return self._limit(part, risk, threshold, upper=True)

    def _limit(self, part: Part, risk: float, threshold: float, *, upper: bool) -> float:
        match part:
            case RatesPart(leaves=(), fraction=fraction):
                return fraction.constant / fraction.base
            case RatesPart(leaves=leaves, fraction=fraction):
                return self._of_rates(leaves, fraction, risk, threshold, upper=upper)
            case MeansPart():
                return self._of_means(part, risk, threshold, upper=upper)
            case PairedPart(leaf=leaf, offset=offset, factor=factor):
                limit = self._of_pairs(leaf, risk, (threshold - offset) / factor, upper=upper == (factor > 0))
                return offset + factor * limit
            case ExtremePart(largest=largest, parts=parts):
                # The largest is above a value if one of them is, so that each has a part of the risk; the least if all.
                each = risk if largest == upper else risk / len(parts)
                limits = [self._limit(one, each, threshold, upper=upper) for one in parts]
                return max(limits) if largest else min(limits)

    def _of_pairs(self, leaf: tree.Mean, risk: float, threshold: float, *, upper: bool) -> float:
        """The limit of a difference of rates on the same rows; the threshold's is decided exactly."""
        counts = self.batches[leaf].sum(axis=0)
        n, second, first = float(counts.sum()), float(counts[0]), float(counts[-1])
        sign, pair = (-1.0, (second, first)) if upper else (1.0, (first, second))
        if self.quick:
            proved = proves_difference(*pair, n, risk, sign * threshold, self.order)
            return nextafter(threshold, sign * inf) if proved else -sign * inf
        return sign * difference_limit(*pair, n, risk, sign * threshold)

    def leaf_ends(self, leaf: tree.Leaf, risk: float) -> Ends:
        """Both limits of one leaf, each wrong with probability at most the risk, like those of a compared quantity."""
        if isinstance(leaf, tree.Mean):
            part, middle = MeansPart((leaf,), RateFraction(0.0, (1.0,))), 0.5 * sum(self.ranges[leaf])
            return self._of_means(part, risk, middle, upper=False), self._of_means(part, risk, middle, upper=True)
        if self.ends:
            return self._planned(leaf, risk, upper=False), self._planned(leaf, risk, upper=True)
        no, yes = self.batches[leaf].sum(axis=0)
        return float(lower_limit(yes, no + yes, risk)), float(upper_limit(yes, no + yes, risk))

    def _of_means(self, part: MeansPart, risk: float, threshold: float, *, upper: bool) -> float:
        """The limit by bets with a deadline, which take all values on a scale from 0 to 1."""
        keys = part.leaves if part.crossed is None else (part.crossed,)
        nodes = [np.asarray(axis) for key in keys for axis in self.channels[key].grid.nodes]
        lows, spans = (np.asarray([each(axis) for axis in nodes]) for each in (np.min, np.ptp))
        if part.crossed is None:
            units = [(axis - low) / span for axis, low, span in zip(nodes, lows, spans, strict=True)]
            draws = DeadlineDraws.separate([self.batches[leaf] for leaf in part.leaves], units)
        else:
            first = len(part.crossed.crossing)
            lows, spans = lows[first:], spans[first:]
            cells, where = part.crossed.grid.values(), [*part.crossed.crossing, None]
            inside = np.concatenate([cells[:, :first], np.ones((len(cells), 1))], axis=1)
            members = inside[:, [where.index(leaf.given) for leaf in part.leaves]]
            draws = DeadlineDraws(
                self.batches[part.crossed], members, members * (cells[:, first:] - lows) / spans, False
            )
        top, bottom = np.asarray(part.fraction.top), np.asarray(part.fraction.bottom)
        unit = RateFraction(
            part.fraction.constant + float(top @ lows),
            tuple((top * spans).tolist()),
            part.fraction.base + float(bottom @ lows),
            tuple((bottom * spans).tolist()),
        )
        sign, turned = (-1.0, unit.negated) if upper else (1.0, unit)
        origin = sign * threshold if isfinite(threshold) else 0.0
        test = DeadlineTest(draws, turned, risk, risk if self.order is None else min(self.order, risk), origin)
        if self.quick:
            return nextafter(threshold, sign * inf) if test.rejects(sign * threshold) else -sign * inf
        return sign * test.limit()

    def _planned(self, leaf: tree.Leaf, risk: float, *, upper: bool) -> float:
        """The limit of a rate by the exact boundaries of all looks so far."""
        counts = self.batches[leaf].cumsum(axis=0)
        sizes = [round(counts[end - 1].sum()) for end in self.ends]
        risks = [risk * part for part in self.spent]
        limit = planned_upper_limit if upper else planned_lower_limit
        return limit(float(counts[-1, 1]), sizes, risks, self.planned)

    def _of_rates(
        self, leaves: tuple[tree.Leaf, ...], fraction: RateFraction, risk: float, threshold: float, *, upper: bool
    ) -> float:
        planned = len(leaves) == 1 and bool(self.ends)
        counts = [self.batches[leaf].sum(axis=0) for leaf in leaves]
        yes, n = [float(each[1]) for each in counts], [float(each.sum()) for each in counts]
        if self.quick and not planned:
            sign, turned = (-1.0, fraction.negated) if upper else (1.0, fraction)
            proved = proves_above(turned, yes, n, risk, sign * threshold, self.order)
            return nextafter(threshold, sign * inf) if proved else -sign * inf
        least, greatest = fraction.span()
        if planned:
            rate = self._planned(leaves[0], risk, upper=upper is (fraction.rising() == (True,)))
            below = fraction.base + fraction.bottom[0] * rate
            result = (fraction.constant + fraction.top[0] * rate) / below if below > 0.0 else inf
        else:
            result = (upper_end if upper else lower_end)(fraction, yes, n, risk, threshold)
        if abs(result) == inf:  # nothing is known, but the quantity still has its own range
            return greatest if upper else least
        return min(max(result, least), greatest)
