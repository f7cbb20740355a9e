"""Deciding a claim at looks that were planned beforehand: one, or a few.

Each compared quantity gets an interval from the limits of :mod:`isonomia.evidence.one_look`, and the claim is judged by
the side of its threshold on which each interval lies. So answer and intervals cannot disagree. How
the risk is spread over the ends of the intervals follows from what would be a mistake:

- *all of k parts* is proved part by part, each at the full risk: if it is false, some fixed part is false. It is
  refuted by any of its parts, so for that each gets a k-th of the risk;
- *one of k parts* is the other way round, and *not* swaps the two;
- the largest of k quantities is above a value if one of them is, and below it if all are.

Several looks spend the risk as :class:`LookPlan` says, most of it at the last. Guarantee: the probability that the
answer of any of the looks is wrong is at most ``delta``, if the draws are independent, the numbers of draws at the
looks do not depend on what was drawn, and no one looks in between.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from math import inf, isfinite, nextafter
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import DataError
from isonomia.evidence.binomial import lower_limit, planned_lower_limit, planned_upper_limit, upper_limit
from isonomia.evidence.confidence_sequences import mean_ends
from isonomia.evidence.exact import every_truth, opposite, some_truth
from isonomia.evidence.normal_form import (
    Polynomial,
    as_chosen,
    as_fraction,
    bounds_of,
    compared,
    find_extreme,
    is_linear,
    scaled,
)
from isonomia.evidence.one_look import RateFraction, lower_end, proves_above, upper_end
from isonomia.evidence.paired import difference_limit, proves_difference
from isonomia.evidence.protocol import Channel, Tallies, independent_classes, leaf_channel
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


LAST = 0.85
"""The part of the risk that the last of several looks has, where looks share it by Bonferroni's inequality: its
intervals are then at most 1.08 times as wide as those of a single look, for risks up to 0.1. Of the rest, each look has
as much as all before it together. Any parts that add up to 1 are valid."""


@dataclass(frozen=True, slots=True)
class LookPlan:
    """How many looks are planned, which of them are made here, and what each spends of the risk.

    Attributes
    ----------
    count
        How many looks are planned in all.
    made
        How many looks at the first of these draws earlier reports made; they are not made again.
    equal
        Whether each look has an equal part, since it is not known which of them this is.
    """

    count: int = 1
    made: int = 0
    equal: bool = False

    def share(self, number: int) -> float:
        """The part of the risk of one look; those of all looks add up to 1."""
        if self.equal or self.count == 1:
            return 1.0 / self.count
        return LAST if number == self.count else (1.0 - LAST) * 2.0 ** (max(number, 2) - self.count)

    def spent(self, number: int) -> float:
        """The part of the risk that a single rate, whose boundaries are exact, may have spent up to a look.

        The power leaves the last look at most 1.03 times as wide as a single one.
        """
        return float((number / self.count) ** (4.5 if self.count <= 5 else 6.0))


def planned_report(looks: str | int) -> tuple[int, tuple[int, ...]] | None:
    """For ``"3 of 5 after 2000, 4000"`` the 5, and the rows of the earlier reports; ``None`` for other looks."""
    result = re.fullmatch(r"(\d+) of (\d+)(?: after (\d+(?:, ?\d+)*))?", str(looks))
    if result is None:
        return None
    sizes = tuple(int(size) for size in (result[3] or "").split(",") if size)
    right = len(sizes) == int(result[1]) - 1 < int(result[2]) and list(sizes) == sorted({*sizes} - {0})
    return (int(result[2]), sizes) if right else None


class NoLookError(Exception):
    """Planned looks cannot decide a claim; the message says why."""


@dataclass(frozen=True, slots=True)
class RatesPart:
    """A fraction of the rates of disjoint groups; a constant without rates."""

    leaves: tuple[tree.Leaf, ...]
    fraction: RateFraction


@dataclass(frozen=True, slots=True)
class MeanPart:
    """``offset + factor * mean``."""

    leaf: tree.Leaf
    offset: float
    factor: float


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


Part: TypeAlias = RatesPart | MeanPart | PairedPart | ExtremePart


@dataclass(frozen=True, slots=True)
class LookFindings:
    """What a look found.

    Attributes
    ----------
    answer
        Whether the claim holds; ``None`` where the intervals leave it open.
    compared
        The interval of each compared quantity, in the order of the claim.
    leaves
        The interval of each leaf; each limit is wrong with probability at most the risk of the look.
    """

    answer: bool | None
    compared: tuple[Ends, ...]
    leaves: Mapping[tree.Leaf, Ends]


@dataclass(frozen=True, slots=True)
class LookState:
    """The draws so far, batch by batch for each channel, and what a look at exactly these draws found.

    ``findings`` is ``None`` between looks.
    """

    batches: int = 0
    tallies: Mapping[Channel, tuple[Floats, ...]] = field(default_factory=dict)
    findings: LookFindings | None = None


@dataclass(frozen=True)
class LookEvidence:
    """Looks after certain batches and at no other time, each with its part of the risk.

    Attributes
    ----------
    formula, parts
        The claim, and the structure of each quantity that it compares.
    ranges, streams
        The range of each leaf, and the conditions of the population's streams.
    delta
        The risk.
    after
        After how many batches it looks, in order. The last look ends the check.
    plan
        Which looks these are, and what they spend.
    """

    formula: tree.Formula
    parts: Mapping[tree.Quantity, Part]
    ranges: Ranges
    streams: tuple[tree.Row | None, ...]
    delta: float
    after: tuple[int, ...]
    plan: LookPlan = LookPlan()

    @property
    def method(self) -> str:
        """One look, or several that were planned."""
        return "one look" if self.plan.count == 1 else "planned looks"

    @cached_property
    def channels(self) -> tuple[Channel, ...]:
        """One for each leaf, and for each sum of leaves on the same rows."""
        ranges = dict(self.ranges)
        for leaf in self.joint:
            if leaf.low is not None and leaf.high is not None:
                ranges[leaf] = leaf.low, leaf.high
        leaves = (*tree.leaves_of(self.formula), *self.joint)
        return tuple(leaf_channel(leaf, self.streams, ranges) for leaf in leaves)

    @cached_property
    def joint(self) -> tuple[tree.Mean, ...]:
        """The means that stand for several leaves on the same rows."""
        means = [part.leaf for part in _parts_in(self.parts.values()) if isinstance(part, MeanPart | PairedPart)]
        leaves = tree.leaves_of(self.formula)
        return tuple(leaf for leaf in dict.fromkeys(means) if isinstance(leaf, tree.Mean) and leaf not in leaves)

    @property
    def bets(self) -> bool:
        """Whether it bets on means of numbers, batch by batch."""
        return any(isinstance(part, MeanPart) for part in _parts_in(self.parts.values()))

    @property
    def remarks(self) -> tuple[str, ...]:
        """Nothing beyond what the verdict says about its looks."""
        return ()

    @cached_property
    def apart(self) -> tuple[tuple[int, tuple[tree.Row | None, ...]], ...]:
        """Sets of groups, each with its stream, that no one may be in two of: then the counts are independent."""
        result: dict[tuple[int, tuple[tree.Row | None, ...]], None] = {}
        for part in _parts_in(self.parts.values()):
            if not isinstance(part, RatesPart):
                continue
            channels = [leaf_channel(leaf, self.streams, self.ranges) for leaf in part.leaves]
            for stream in {channel.stream for channel in channels}:
                groups = tuple(channel.given for channel in channels if channel.stream == stream)
                if len(groups) > 1:
                    result[stream, groups] = None
        return tuple(result)

    def begin(self) -> LookState:
        """Nothing seen."""
        return LookState(0, dict.fromkeys(self.channels, ()))

    def step(self, state: LookState, tallies: Tallies) -> LookState:
        """Add a batch, and look if a look is planned now."""
        batches = state.batches + 1
        draws = {channel: (*earlier, tallies[channel]) for channel, earlier in state.tallies.items()}
        state = LookState(batches, draws)
        return replace(state, findings=self._look(state)) if batches in self.after[self.plan.made :] else state

    def decision(self, state: LookState) -> bool | None:
        """What the look at these draws says; nothing between looks."""
        return None if state.findings is None else state.findings.answer

    def progress(self, state: LookState) -> float:
        """The share of the batches drawn so far; what they contain is not looked at."""
        return min(state.batches / self.after[-1], 1.0)

    def _look(self, state: LookState) -> LookFindings | None:
        """What a look finds; ``None`` where it decides nothing and more looks follow."""
        risk, table = self._at(state)
        if (
            state.batches != self.after[-1]
            and self._judged(self.formula, risk, risk, replace(table, quick=True))[0] is None
        ):
            return None
        answer, intervals = self._judged(self.formula, risk, risk, table)
        leaves = {leaf: table.leaf_ends(leaf, risk) for leaf in tree.leaves_of(self.formula)}
        return LookFindings(answer, tuple(intervals), leaves)

    def _at(self, state: LookState) -> tuple[float, _Draws]:
        """The risk of the look that comes next or now, and the draws."""
        index = min(bisect_left(self.after, state.batches), len(self.after) - 1)
        plan, share = self.plan, self.plan.share(index + 1)
        ends = () if plan.equal or plan.count == 1 else self.after[: index + 1]
        return self.delta * share, replace(_Draws.of(state), ends=ends, plan=plan, share=share)

    def _judged(
        self, formula: tree.Formula, true: float, false: float, table: _Draws
    ) -> tuple[bool | None, list[Ends]]:
        """Whether a formula holds, given the risk of each answer, and the intervals of what it compares."""
        match formula:
            case tree.Comparison():
                links = list(compared(formula))
                pairs = [self._compared(*link, true, false / len(links), table) for link in links]
                return every_truth([answer for answer, _ in pairs]), [ends for _, ends in pairs]
            case tree.Not(operand=operand):
                answer, ends = self._judged(operand, false, true, table)
                return opposite(answer), ends
            case tree.Junction(connective=connective, operands=operands):
                alone, shared = (true, false / len(operands)), (true / len(operands), false)
                risks = alone if connective == "and" else shared
                result = [self._judged(operand, *risks, table) for operand in operands]
                join = every_truth if connective == "and" else some_truth
                return join([answer for answer, _ in result]), [end for _, ends in result for end in ends]
            case tree.Implies(premise=premise, conclusion=conclusion):
                before, premises = self._judged(premise, false, true / 2.0, table)
                after, conclusions = self._judged(conclusion, true / 2.0, false, table)
                return some_truth([opposite(before), after]), premises + conclusions
            case tree.Each():
                raise TypeError("a quantifier is expanded before a claim is judged")

    def _compared(
        self, quantity: tree.Quantity, relation: str, threshold: float, true: float, false: float, table: _Draws
    ) -> tuple[bool | None, Ends]:
        part = self.parts[quantity]
        if not all(table.batches[leaf].any() for leaf in tree.leaves_of(quantity)):
            # Nothing is decided about a group without draws, although the quantity still has limits.
            return None, (table.low(part, true, threshold), table.high(part, true, threshold))
        upward = relation in {">", ">="}
        low = table.low(part, true if upward else false, threshold)
        high = table.high(part, false if upward else true, threshold)
        answer = True if _above(low, relation, threshold) else False if _below(high, relation, threshold) else None
        return (answer if upward else opposite(answer)), (low, high)

    def proves(
        self, part: Part, above: bool, threshold: float, risk: float, batches: Mapping[tree.Leaf, Floats]
    ) -> bool:
        """Whether draws prove, at this risk, that one quantity lies above a threshold, or below it."""
        nodes = {channel.leaves[0]: np.asarray(channel.grid.nodes[0]) for channel in self.channels}
        table = _Draws(batches, nodes, quick=True)
        return table.low(part, risk, threshold) > threshold if above else table.high(part, risk, threshold) < threshold

    def by_comparison(
        self, state: LookState, comparisons: Sequence[tree.Comparison], whole: bool | None
    ) -> list[tuple[bool | None, Ends]]:
        """For a claim that is a conjunction of these comparisons: whether each of them holds, and its interval.

        Guarantee: the probability that any is wrongly said to be violated is at most ``delta``, over all looks; to
        hold, at most ``delta`` at a single look whose comparisons share no group, else ``2 * delta``. Proof: Holm's
        procedure over exact tests, whose levels are nested: with a fixed order of tables, a test rejects at a larger
        level whatever it rejects at a smaller one. Where the whole claim holds, all comparisons do, at the risk of that
        answer. The intervals hold for all of them at once, each end at its part of the risk.
        """
        risk, table = self._at(state)
        table = replace(table, ends=())  # Holm's levels differ from look to look, so that Bonferroni's parts are used
        links = [next(compared(comparison)) for comparison in comparisons]
        each = risk / len(links)
        intervals = []
        for quantity, _, threshold in links:
            part = self.parts[quantity]
            intervals.append((table.low(part, each, threshold), table.high(part, each, threshold)))
        if state.findings is None:
            return [(None, ends) for ends in intervals]
        if whole:
            return [(True, ends) for ends in intervals]
        holds = self._rejected(links, True, risk, table)
        violated = self._rejected(links, False, risk, table) if whole is False else set()
        answers = [None if (k in holds) == (k in violated) else k in holds for k in range(len(links))]
        return list(zip(answers, intervals, strict=True))

    def _rejected(
        self, links: Sequence[tuple[tree.Quantity, str, float]], answer: bool, risk: float, table: _Draws
    ) -> set[int]:
        """Which comparisons are shown to hold, or to be violated, at one risk for all of them together (Holm 1979)."""
        quick = replace(table, quick=True, order=risk / len(links))
        known = [all(table.batches[leaf].any() for leaf in tree.leaves_of(quantity)) for quantity, _, _ in links]
        left, result = {k for k, seen in enumerate(known) if seen}, set[int]()
        while left:
            level = risk / (len(links) - len(result))
            more = {k for k in left if self._shown(*links[k], answer, level, quick)}
            if not more:
                break
            left, result = left - more, result | more
        return result

    def _shown(
        self, quantity: tree.Quantity, relation: str, threshold: float, answer: bool, risk: float, table: _Draws
    ) -> bool:
        part = self.parts[quantity]
        if (relation in {">", ">="}) is answer:
            return _above(table.low(part, risk, threshold), relation, threshold)
        return _below(table.high(part, risk, threshold), relation, threshold)


def looks_for(
    formula: tree.Formula,
    ranges: Ranges,
    streams: Sequence[tree.Row | None],
    delta: float,
    after: Sequence[int],
    plan: LookPlan | None = None,
) -> LookEvidence:
    """Prepare planned looks at a claim.

    Parameters
    ----------
    formula, ranges, streams, delta
        The claim without quantifiers, the range of each leaf, the conditions of the population's streams, the risk.
    after, plan
        After how many batches it looks, and which looks these are: all that are planned, where nothing is said.

    Raises
    ------
    NoLookError
        Where a compared quantity has no limits for a fixed number of draws; the message says which and why.
    """
    parts = {quantity: _part(quantity, ranges, streams) for quantity, _, _ in compared(formula)}
    plan = LookPlan(len(after)) if plan is None else plan
    return LookEvidence(formula, parts, ranges, tuple(streams), delta, tuple(after), plan)


# --------------------------------------------------------------------------------------------------- what is compared


def _above(low: float, relation: str, threshold: float) -> bool:
    return low > threshold or (low == threshold and relation in {">=", "<"})


def _below(high: float, relation: str, threshold: float) -> bool:
    return high < threshold or (high == threshold and relation in {"<=", ">"})


def _part(quantity: tree.Quantity, ranges: Ranges, streams: Sequence[tree.Row | None], room: int = MAX_CASES) -> Part:
    """The structure of a quantity; raises ``NoLookError`` where no limits are known for it."""
    result = find_extreme(quantity, ranges)
    if result is None:
        return _linear(quantity, ranges, streams)
    function, arguments = as_chosen(result.extreme)
    if not result.direction or len(arguments) > room:
        raise NoLookError(f"{to_text(quantity)} has a min, max or abs that it neither rises nor falls with")
    parts = tuple(_part(result.put(argument), ranges, streams, room // len(arguments)) for argument in arguments)
    return ExtremePart((function == "max") is (result.direction > 0), parts)


def _parts_in(parts: Iterable[Part]) -> Iterator[RatesPart | MeanPart | PairedPart]:
    for part in parts:
        if isinstance(part, ExtremePart):
            yield from _parts_in(part.parts)
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
    if len(leaves) == 1 and isinstance(leaves[0], tree.Mean) and not bottom:
        return MeanPart(leaves[0], top.get((), 0.0), top.get((leaves[0],), 0.0))
    if len(leaves) > 1 and len({leaf.given for leaf in leaves}) == 1 and not bottom:
        return _on_the_same_rows(leaves, top, ranges)
    if not all(isinstance(leaf, tree.Rate) for leaf in leaves):
        raise NoLookError(f"{text} compares means of numbers with something else")
    if len(independent_classes(leaves, streams)) > 1:
        raise NoLookError(f"the groups of {text} overlap")
    if len(leaves) > MAX_RATES:
        raise NoLookError(f"{text} has more than {MAX_RATES} rates")
    parts = [tuple(each.get((leaf,), 0.0) for leaf in leaves) for each in (top, below)]
    made = RateFraction(top.get((), 0.0), parts[0], below.get((), 0.0), parts[1])
    if leaves and made.rising() is None:
        raise NoLookError(f"whether {text} rises with a rate depends on the other rates")
    return RatesPart(leaves, made)


def _on_the_same_rows(leaves: tuple[tree.Leaf, ...], top: Polynomial, ranges: Ranges) -> MeanPart | PairedPart:
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
    return MeanPart(tree.Mean(total, leaves[0].given, low - margin, high + margin), constant, 1.0)


# ------------------------------------------------------------------------------------------------------- their limits


@dataclass(frozen=True, slots=True)
class _Draws:
    """The draws of each leaf, one row per batch, and the values at which they are counted.

    With ``quick``, limits of rates only say on which side of the threshold they lie. With an ``order``, tests are built
    for that risk whatever their level is, so that levels are nested. ``ends`` are the batches after which there were
    looks, the last of them now, where single rates have the exact boundaries of all of them; ``share`` is the part of
    the risk that this look has, by which every ``risk`` here was multiplied.
    """

    batches: Mapping[tree.Leaf, Floats]
    nodes: Mapping[tree.Leaf, Floats]
    quick: bool = False
    order: float | None = None
    ends: tuple[int, ...] = ()
    plan: LookPlan = LookPlan()
    share: float = 1.0

    @classmethod
    def of(cls, state: LookState) -> _Draws:
        """All batches of a state."""
        return cls(
            {channel.leaves[0]: np.asarray(batches) for channel, batches in state.tallies.items()},
            {channel.leaves[0]: np.asarray(channel.grid.nodes[0]) for channel in state.tallies},
        )

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
            case MeanPart(leaf=leaf, offset=offset, factor=factor):
                ends = mean_ends(self.nodes[leaf], self.batches[leaf], risk, self.order)
                return offset + factor * ends[upper == (factor >= 0)]
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
            return mean_ends(self.nodes[leaf], self.batches[leaf], risk)
        if self.ends:
            return self._planned(leaf, risk, upper=False), self._planned(leaf, risk, upper=True)
        no, yes = self.batches[leaf].sum(axis=0)
        return float(lower_limit(yes, no + yes, risk)), float(upper_limit(yes, no + yes, risk))

    def _planned(self, leaf: tree.Leaf, risk: float, *, upper: bool) -> float:
        """The limit of a rate by the exact boundaries of all looks so far."""
        counts = self.batches[leaf].cumsum(axis=0)
        sizes = [round(counts[end - 1].sum()) for end in self.ends]
        risks = [risk / self.share * self.plan.spent(look + 1) for look in range(len(sizes))]
        limit = planned_upper_limit if upper else planned_lower_limit
        return limit(float(counts[-1, 1]), sizes, risks, self.plan.count)

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
