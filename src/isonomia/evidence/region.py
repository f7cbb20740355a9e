"""Joint confidence regions for the leaves, and deciding a claim by its truth on the whole region.

Evidence may be *added* over leaves whose draws are independent: leaves of disjoint groups, or of separate streams. Such
leaves form a class. The risk is *split* between classes. The region is

    { theta : for each class c, sum over g in c of L_g(theta_g) < log(k / delta) },       k = number of classes,

and contains the truth at all times with probability at least ``1 - delta``.

Polytopes are refuted by a projection. A formula that is not linear is decided by certified branch and bound: boxes of
leaf values are dropped when the region misses them or when the formula is settled on them, and are split otherwise. The
proof is complete when no box is left; interval arithmetic with outward rounding makes each step safe.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from isonomia.evidence.confidence_sequences import (
    END_TOLERANCE,
    PSEUDO_COUNT,
    crossing,
    divergence,
    interval_within,
    mean_interval,
    mixture_regret,
)
from isonomia.evidence.exact import BoxIntervals, KleeneTruth, enclose, enclose_over_box, judge
from isonomia.evidence.hypotheses import HalfSpace, Hypothesis, Polytope, hypothesis_of, why_no_polytopes
from isonomia.evidence.protocol import Channel, LeafTally, Tallies, independent_classes, leaf_channel
from isonomia.evidence.stakes import best_stakes
from isonomia.spec.tree import Comparison, Constant, Formula, Leaf, Mean, Quantity, Rate, Row, nodes

Floats = NDArray[np.float64]

TABULATED = 1025
"""Points at which the divergence of a number is tabulated. A value between two points is treated as the one nearer to
the mean, so fewer points only make regions larger."""

MANY_LEAVES, ROUGH_TOLERANCE = 8, 1e-6
"""With more leaves than this the tables have fewer points and the ends of a box are found less precisely, so that a
look stays within a second. Both only make regions larger."""

MARGIN = 1e-6
"""Extra nats that a refutation needs, to cover rounding and the pseudo-counts. It *can* change a verdict. The
pseudo-counts add at most about 3e-8 per leaf, and ``n`` draws round by about ``n * 1e-16`` nats, so it suffices for
some thirty leaves in one comparison and about 1e9 draws."""

MAX_BOXES = 20_000
"""How many boxes may be open at once before the search gives up. It can prevent a decision, never make one wrong."""

MAX_WORK = 4_000_000
"""How much work one look at a region may take, in boxes times parts of the formula: less than a second. After that the
formula is undecided until the next batch. It can delay a decision, but never make one wrong."""

ROUND_WORK = 100
"""The fixed cost of a round, in boxes: a few boxes take as long as none. It counts towards ``MAX_WORK``."""

POLYTOPE_WORK = 500, 4_000
"""The cost of testing a polytope: for each half-space, and at most. It counts towards ``MAX_WORK``, so that any number
of single rates can be tested in one look."""

MAX_ROUNDS = 60
"""How often boxes may be split: sixty halvings go below rounding. It can prevent a decision, never make one wrong."""

TINY = 1e-300
"""Keeps scales away from 0. An end of an interval that is smaller is shown as 0. It changes no decision."""


@dataclass(slots=True)
class SearchEffort:
    """The work that is left for one look."""

    left: float = MAX_WORK

    def spend(self, amount: float) -> bool:
        """Spend some of it; return whether there was enough."""
        self.left -= amount
        return self.left >= 0


@dataclass(frozen=True)
class Region:
    """The leaf values that the draws so far do not refute, at risk ``delta`` for all times simultaneously.

    Attributes
    ----------
    tallies
        The draws of each leaf.
    classes
        A partition of the leaves; within a class the draws of different leaves must be independent.
    delta
        The risk that the region ever misses the truth.
    """

    tallies: Mapping[Leaf, LeafTally]
    classes: tuple[tuple[Leaf, ...], ...]
    delta: float

    @cached_property
    def ranges(self) -> dict[Leaf, tuple[float, float]]:
        """The lowest and highest possible value of each leaf."""
        return {leaf: (tally.nodes[0], tally.nodes[-1]) for leaf, tally in self.tallies.items()}

    @property
    def threshold(self) -> float:
        """The evidence at which a class is refuted: ``log(k / delta)``."""
        return float(np.log(len(self.classes) / self.delta))

    @cached_property
    def allowance(self) -> dict[tuple[Leaf, ...], float]:
        """For each class, how far its leaves together may lie from their sample means, in nats."""
        return {
            members: self.threshold + MARGIN + sum(_regret(self.tallies[leaf]) for leaf in members)
            for members in self.classes
        }

    @cached_property
    def box(self) -> dict[Leaf, tuple[float, float]]:
        """The box around the region: each leaf alone may use up the whole allowance of its class."""
        return {leaf: self.side(leaf) for members in self.classes for leaf in members}

    def side(self, leaf: Leaf) -> tuple[float, float]:
        """One side of the box."""
        tolerance = END_TOLERANCE if len(self.tallies) <= MANY_LEAVES else ROUGH_TOLERANCE
        tally, allowance = self.tallies[leaf], self.allowance[self.class_of[leaf]]
        return interval_within(np.asarray(tally.nodes), np.asarray(tally.weights), allowance, tolerance)

    @cached_property
    def class_of(self) -> dict[Leaf, tuple[Leaf, ...]]:
        """The class of each leaf."""
        return {leaf: members for members in self.classes for leaf in members}

    def about(self, leaves: AbstractSet[Leaf]) -> Region:
        """The same region for some of its leaves; the risk is split as before."""
        if leaves >= set(self.tallies):
            return self
        some = {leaf: tally for leaf, tally in self.tallies.items() if leaf in leaves}
        return Region(some, tuple(tuple(filter(leaves.__contains__, members)) for members in self.classes), self.delta)

    def spent(self, leaf: Leaf, values: Floats) -> Floats:
        """A lower bound on the divergence of values of a leaf from its tally, in nats.

        For a number the divergence is tabulated once. It grows away from the mean, so the table's next point towards
        the mean bounds it from below.
        """
        tally = self.tallies[leaf]
        nodes, weights = np.asarray(tally.nodes), np.asarray(tally.weights)
        if len(nodes) == 2:
            return divergence(nodes, np.broadcast_to(weights, (len(values), 2)), values)
        points, heights = self._table[leaf]
        right = np.searchsorted(points, values, side="right") - 1
        left = np.searchsorted(points, values, side="left")
        nearer = np.where(values >= tally.mean, right, left)
        return np.asarray(heights[np.clip(nearer, 0, len(points) - 1)])

    @cached_property
    def _table(self) -> dict[Leaf, tuple[Floats, Floats]]:
        table, many = {}, max(len(self.tallies) // MANY_LEAVES, 1)
        for leaf, tally in self.tallies.items():
            if len(tally.nodes) > 2:
                low, high = self.box[leaf]
                points = np.union1d(np.linspace(low, high, max(TABULATED // many, 65)), [tally.mean])
                rows = np.broadcast_to(np.asarray(tally.weights), (len(points), len(tally.nodes)))
                table[leaf] = (points, divergence(np.asarray(tally.nodes), rows, points))
        return table

    @cached_property
    def centre(self) -> dict[Leaf, float]:
        """The sample means."""
        return {leaf: tally.mean for leaf, tally in self.tallies.items()}

    @property
    def _pulled_in(self) -> dict[Leaf, float]:
        """The sample means with half a pseudo-count at each end, at which no denominator of known sign is 0."""
        means = {}
        for leaf, tally in self.tallies.items():
            ends = 0.5 * (tally.nodes[0] + tally.nodes[-1])
            means[leaf] = (tally.mean * tally.n + ends) / (tally.n + 1.0)
        return means

    def refutes(self, polytope: Polytope, effort: SearchEffort | None = None) -> bool:
        """Say whether no point of the polytope lies in the region; ``False``, too, where the effort runs out.

        By weak duality any stakes bound the distance to the polytope from below, so an inexact solution can only
        keep a polytope alive, never refute one wrongly. With several classes, the half-spaces that name leaves of only
        one class are tried first, class by class: the region is a product, so missing one factor is missing it.
        """
        effort = SearchEffort() if effort is None else effort
        each, most = POLYTOPE_WORK
        if polytope.contains(self.centre) or not effort.spend(min(each * len(polytope.half_spaces), most)):
            return False
        if len(self.classes) == 1:
            return self._distance(polytope, self.classes[0]) >= self.allowance[self.classes[0]]
        return self._refutes_across(polytope, effort)

    def interval(self, leaf: Leaf) -> tuple[float, float]:
        """The values of one leaf that its own draws do not refute at risk ``delta``."""
        tally = self.tallies[leaf]
        return mean_interval(np.asarray(tally.nodes), np.asarray(tally.weights), self.delta)

    def quantity_interval(self, quantity: Quantity) -> tuple[float, float]:
        """Enclose a quantity over the region, by searching for its ends if it is linear after clearing denominators.

        Guarantee: with probability at least ``1 - delta`` the interval contains the true quantity at all times.
        """
        if isinstance(quantity, Rate | Mean):
            return self.interval(quantity)
        if not self.tallies:  # a quantity of constants, which draws say nothing about
            return enclose_over_box(quantity, {})
        low, high = self._end(quantity, "<="), self._end(quantity, ">=")
        if low is None or high is None:
            return enclose_over(quantity, self)
        least, most = enclose_over_box(quantity, self.box)
        # Rounding outwards turns a bound of 0 into the smallest number there is, which reads badly.
        return tuple(0.0 if abs(end) < TINY else end for end in (max(low, least), min(high, most)))  # type: ignore[return-value]

    def _end(self, quantity: Quantity, relation: str) -> float | None:
        """The end beyond which every value is refuted; ``None`` where the quantity is not linear."""
        sign = -1.0 if relation == "<=" else 1.0
        inside = _estimate(quantity, self.centre)
        inside = _estimate(quantity, self._pulled_in) if inside is None else inside
        if inside is None or not self._linear(quantity, relation, inside):
            return None
        least, most = enclose_over_box(quantity, self.box)
        # Where the box leaves no room, take a step of a few roundings.
        room = max(inside - least if relation == "<=" else most - inside, 1e-12 * abs(inside), TINY)
        scale = min(room, 1.0 + abs(inside))
        step = crossing(
            lambda step: self._relative_distance(quantity, relation, inside + sign * step), scale, abs(inside)
        )
        return inside + sign * step

    def _linear(self, quantity: Quantity, relation: str, value: float) -> bool:
        comparison = Comparison(quantity, ((relation, Constant(value)),))  # type: ignore[arg-type]
        return hypothesis_of(comparison, self.ranges, positive=True) is not None

    def _relative_distance(self, quantity: Quantity, relation: str, value: float) -> float:
        """How far a value lies from the sample: 1 at the edge of the region, more where all such means are refuted.

        Divergence grows with the square of the distance, so its root is nearly proportional to the distance.
        """
        comparison = Comparison(quantity, ((relation, Constant(value)),))  # type: ignore[arg-type]
        hypothesis = hypothesis_of(comparison, self.ranges, positive=True)
        # Where the hypothesis is not a union of polytopes, nothing is refuted.
        polytopes = (Polytope(()),) if hypothesis is None else hypothesis.polytopes
        if len(self.classes) > 1:
            return 2.0 * all(self.refutes(polytope) for polytope in polytopes)
        (members,) = self.classes
        nearest = min((self._distance(polytope, members) for polytope in polytopes), default=np.inf)
        return float(np.sqrt(nearest / self.allowance[members]))

    def _refutes_across(self, polytope: Polytope, effort: SearchEffort) -> bool:
        own: dict[tuple[Leaf, ...], list[HalfSpace]] = {}
        for half_space in polytope.half_spaces:
            first, *others = (self.class_of[leaf] for leaf in half_space.leaves)
            if all(members is first for members in others):
                own.setdefault(first, []).append(half_space)
        for members, half_spaces in own.items():
            part = Polytope(tuple(half_spaces))
            if not part.contains(self.centre) and self._distance(part, members) >= self.allowance[members]:
                return True
        if sum(map(len, own.values())) == len(polytope.half_spaces):
            return False  # a product meets a product where every factor does
        return outside_polytope(polytope, self, effort)

    def _distance(self, polytope: Polytope, members: tuple[Leaf, ...]) -> float:
        """A lower bound on the evidence against every point of a polytope over the leaves of one class."""
        leaves = tuple(leaf for leaf in polytope.leaves if self.class_of[leaf] is members)
        if not leaves:
            return 0.0
        a, b = polytope.matrix(leaves)
        cells = max(len(self.tallies[leaf].nodes) for leaf in leaves)
        payoffs = np.zeros((1, len(b), len(leaves), cells))
        weights = np.zeros((1, len(leaves), cells))
        for g, leaf in enumerate(leaves):
            tally = self.tallies[leaf]
            # Measured from the low end of the range, so that a large offset does not swallow the differences.
            payoffs[0, :, g, : len(tally.nodes)] = a[:, g, None] * (np.asarray(tally.nodes) - tally.nodes[0])
            b = b - a[:, g] * tally.nodes[0]
            weights[0, g, : len(tally.nodes)] = tally.weights
            weights[0, g, [0, len(tally.nodes) - 1]] += PSEUDO_COUNT
        draws = weights.sum(axis=-1)
        total = float(draws.sum())
        stakes = best_stakes(payoffs, b[None, :], weights / draws[..., None], draws / total)
        logs = np.log(np.where(weights > 0, stakes.factors, 1.0))
        value = (weights * logs).sum() + (draws * (1.0 - stakes.intercepts)).sum() - total * (stakes.amounts[0] @ b)
        return max(float(value), 0.0)


def _regret(tally: LeafTally) -> float:
    return float(mixture_regret(np.asarray(tally.nodes), np.asarray(tally.weights)[None, :])[0])


def _estimate(quantity: Quantity, centre: Mapping[Leaf, float]) -> float | None:
    low, high = enclose_over_box(quantity, {leaf: (value, value) for leaf, value in centre.items()})
    return 0.5 * (low + high) if np.isfinite(low) and np.isfinite(high) else None


@dataclass(frozen=True, slots=True)
class _Boxes:
    leaves: tuple[Leaf, ...]
    low: Floats
    high: Floats

    def __len__(self) -> int:
        return len(self.low)

    def as_mapping(self) -> dict[Leaf, BoxIntervals]:
        return {leaf: BoxIntervals(self.low[:, k], self.high[:, k]) for k, leaf in enumerate(self.leaves)}

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


def decide(formula: Formula, region: Region, effort: SearchEffort | None = None) -> bool | None:
    """Decide a formula for every point of a region.

    Leaves that the region does not cover have no value; see :func:`isonomia.evidence.exact.judge`.

    Returns
    -------
    bool or None
        ``True`` or ``False`` where the formula has that value at every point of the region; ``None`` where it has not,
        or where the search ran out of boxes or of work. With probability at least ``1 - delta`` all answers at all
        times are right, because the region then contains the truth.
    """
    effort, size = SearchEffort() if effort is None else effort, sum(1 for _ in nodes(formula))
    if not region.tallies or not effort.spend(2 * ROUND_WORK * size):
        return None
    boxes = _first_box(region, tuple(region.tallies))
    scale = np.maximum(boxes.high - boxes.low, TINY)[0]
    # Boxes may be dropped as true before it is known which answer is possible: the region is connected, so a formula
    # that is not true on all of it stays undecided on some box until the middle of a box shows the other answer.
    possible = {True, False}
    for _ in range(MAX_ROUNDS):
        boxes = boxes.where(_touches(boxes, region))
        truth = _spread(judge(formula, boxes.as_mapping()), len(boxes))
        possible &= _not_excluded(formula, boxes, region)
        if not possible:
            return None
        boxes = boxes.where(~(truth.true if True in possible else truth.false))
        if not len(boxes):
            return True in possible
        # Each round judges every box twice: the whole box, and its middle.
        if len(boxes) > MAX_BOXES or not effort.spend(2 * (2 * len(boxes) + ROUND_WORK) * size):
            return None
        boxes = boxes.halves(scale)
    return None


def enclose_over(quantity: Quantity, region: Region) -> tuple[float, float]:
    """Enclose a quantity over a region, ever tighter until no boxes or no work is left.

    A box whose enclosure lies between values that the quantity takes inside the region cannot move an end, so it is
    dropped. The search ends when less than a thousandth of the width is left to gain.
    """
    boxes = _first_box(region, tuple(region.tallies))
    scale = np.maximum(boxes.high - boxes.low, TINY)[0]
    taken_low, taken_high = np.inf, -np.inf
    low, high = -np.inf, np.inf
    effort, size = SearchEffort(), sum(1 for _ in nodes(quantity))
    for _ in range(MAX_ROUNDS):
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
        if close or not len(boxes) or not effort.spend(2 * (2 * len(boxes) + ROUND_WORK) * size):
            break
        boxes = boxes.halves(scale)
    return low, high


def outside_polytope(polytope: Polytope, region: Region, effort: SearchEffort | None = None) -> bool:
    """Say whether no point of a polytope lies in a region of several classes; ``False`` too if the effort runs out."""
    effort = SearchEffort() if effort is None else effort
    boxes = _first_box(region, polytope.leaves)
    scale = np.maximum(boxes.high - boxes.low, TINY)[0]
    a, b = polytope.matrix(boxes.leaves)
    for _ in range(MAX_ROUNDS):
        boxes = boxes.where(_touches(boxes, region))
        least = np.minimum(a * boxes.low[:, None, :], a * boxes.high[:, None, :]).sum(axis=-1)
        # A box that only rounding keeps out of the polytope stays: that can prevent a refutation, not make one wrong.
        boxes = boxes.where((least <= b + 1e-12 * np.abs(a).sum(axis=-1)).all(axis=-1))
        if not len(boxes):
            return True
        middles = boxes.middles()
        within = ((a * middles.low[:, None, :]).sum(axis=-1) <= b).all(axis=-1)
        if (within & _touches(middles, region)).any() or len(boxes) > MAX_BOXES:
            return False
        if not effort.spend((2 * len(boxes) + ROUND_WORK) * (a.size + len(boxes.leaves))):
            return False
        boxes = boxes.halves(scale)
    return False


def _first_box(region: Region, leaves: tuple[Leaf, ...]) -> _Boxes:
    low, high = np.asarray([region.side(leaf) for leaf in leaves]).T
    return _Boxes(leaves, low[None, :], high[None, :])


def _touches(boxes: _Boxes, region: Region) -> NDArray[np.bool_]:
    """Which boxes the region may meet: divergence is convex in each leaf, so it is least at the nearest point.

    A leaf that the boxes do not name may have its sample mean, which spends nothing.
    """
    spent: dict[tuple[Leaf, ...], Floats] = {}
    for k, leaf in enumerate(boxes.leaves):
        nearest = np.clip(region.tallies[leaf].mean, boxes.low[:, k], boxes.high[:, k])
        members = region.class_of[leaf]
        spent[members] = spent.get(members, 0.0) + region.spent(leaf, nearest)
    inside = np.ones(len(boxes), dtype=bool)
    for members, amount in spent.items():
        inside &= amount < region.allowance[members]
    return inside


def _not_excluded(formula: Formula, boxes: _Boxes, region: Region) -> set[bool]:
    """The answers for the whole region that the middles of the boxes, where they lie inside it, do not contradict."""
    middles = boxes.middles()
    truth = _spread(judge(formula, middles.as_mapping()), len(middles))
    inside = _touches(middles, region)
    return ({True} if not (truth.false & inside).any() else set()) | (
        {False} if not (truth.true & inside).any() else set()
    )


def _spread(truth: KleeneTruth, size: int) -> KleeneTruth:
    return KleeneTruth(np.broadcast_to(truth.true, size), np.broadcast_to(truth.false, size))


@dataclass(frozen=True, slots=True)
class RegionState:
    """The counts so far, and what the region says."""

    tallies: Mapping[Channel, NDArray[np.float64]]
    answer: bool | None


@dataclass(frozen=True, slots=True)
class RegionEvidence:
    """A formula is decided once it has one value on the whole region.

    Guarantee: the region contains the truth at all times with probability at least ``1 - delta``, and then no decision
    is wrong.
    """

    formula: Formula
    delta: float
    channels: tuple[Channel, ...]
    classes: tuple[tuple[Leaf, ...], ...]
    against: Hypothesis | None
    in_favour: Hypothesis | None

    @property
    def method(self) -> str:
        """Confidence region."""
        return "region"

    @property
    def remarks(self) -> tuple[str, ...]:
        """How the risk was shared out, and how the formula was decided."""
        remarks = []
        if len(self.classes) > 1:
            remarks.append(
                "some leaves are informed by the same draws, so the risk was split over "
                f"{len(self.classes)} confidence regions"
            )
        if self.against is None:
            ends = {each.leaves[0]: (each.grid.nodes[0][0], each.grid.nodes[0][-1]) for each in self.channels}
            remarks.append(why_no_polytopes(self.formula, ends))
        return tuple(remarks)

    def begin(self) -> RegionState:
        """Nothing seen."""
        return RegionState({channel: np.zeros(channel.grid.size) for channel in self.channels}, None)

    def step(self, state: RegionState, tallies: Tallies) -> RegionState:
        """Add the batch and look at the region; a decision is final."""
        total = {channel: before + tallies[channel] for channel, before in state.tallies.items()}
        return RegionState(total, self._look(self.region(total)) if state.answer is None else state.answer)

    def decision(self, state: RegionState) -> bool | None:
        """What the region says."""
        return state.answer

    def progress(self, state: RegionState) -> float:
        """1 when decided; before that it is unknown, so 0."""
        return 0.0 if state.answer is None else 1.0

    def region(self, tallies: Tallies) -> Region:
        """The region that counts leave open."""
        leaves = {
            channel.leaves[0]: LeafTally(channel.grid.nodes[0], tuple(counts.tolist()))
            for channel, counts in tallies.items()
        }
        return Region(leaves, self.classes, self.delta)

    def _look(self, region: Region) -> bool | None:
        """What the region says, using only leaves that were seen: the range of an unseen leaf proves nothing."""
        effort, seen = SearchEffort(), {leaf for leaf, tally in region.tallies.items() if tally.n}
        if self.against is None or self.in_favour is None:
            return decide(self.formula, region.about(seen), effort)
        if all(region.refutes(_about(polytope, seen), effort) for polytope in self.against.polytopes):
            return True
        if all(region.refutes(_about(polytope, seen), effort) for polytope in self.in_favour.polytopes):
            return False
        return None


def _about(polytope: Polytope, leaves: AbstractSet[Leaf]) -> Polytope:
    """The larger polytope made of the half-spaces that name no other leaves."""
    return Polytope(tuple(half_space for half_space in polytope.half_spaces if leaves >= set(half_space.leaves)))


def region_for(
    formula: Formula,
    leaves: Sequence[Leaf],
    ranges: Mapping[Leaf, tuple[float, float]],
    streams: Sequence[Row | None],
    delta: float,
) -> RegionEvidence:
    """Prepare a confidence region for any formula."""
    sides = [hypothesis_of(formula, ranges, positive=positive) for positive in (False, True)]
    against, in_favour = sides if None not in sides else (None, None)
    channels = tuple(leaf_channel(leaf, streams, ranges) for leaf in leaves)
    return RegionEvidence(formula, delta, channels, independent_classes(leaves, streams), against, in_favour)
