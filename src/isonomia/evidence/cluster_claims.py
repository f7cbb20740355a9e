"""Claims about leaves whose draws come in clusters: decided by bets on clusters, with intervals from the same bets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from math import inf, isfinite, log, sqrt
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from isonomia.evidence.clusters import ClusterBatch, ClusterTests, ClusterWealth
from isonomia.evidence.exact import enclose_over_box, judge, single_box
from isonomia.evidence.hypotheses import HalfSpace, Polytope, hypothesis_of
from isonomia.spec.analysis import disjoint
from isonomia.spec.tree import Comparison, Constant, Extreme, Formula, Leaf, Quantity, Relation, leaves_of, nodes

Floats = NDArray[np.float64]
Box = Mapping[Leaf, tuple[float, float]]

SCAN = np.asarray([0.0, 0.5, 0.8, 1.0, 1.2, 1.5, 2.0, 3.0, 6.0, 20.0])
"""Where the search for a limit begins, as multiples of the width that a normal interval would have. Changes width and
cost only."""

ROUNDS = 3
"""How often the part between the last value that is left and the next, which is refuted, is searched again. Changes
width and cost only."""

TOGETHER = 2048
"""The most distinct clusters of a batch that are bet on at once, over all histories. Changes cost only."""

OFTEN = 1.1
"""A box of confidence sequences is looked at when there are this many times as many clusters as at the last look, and
at the end. Changes power and cost only."""


@dataclass(frozen=True, slots=True)
class ClusterState:
    """All batches so far, the wealth of every test, and which polytopes are refuted.

    ``looked`` is the number of clusters at the last look at a box, ``boxed`` what it said.
    """

    history: tuple[ClusterBatch, ...]
    wealths: tuple[ClusterWealth, ...]
    refuted: frozenset[int] = frozenset()
    looked: int = 0
    boxed: bool | None = None

    @property
    def clusters(self) -> int:
        """How many clusters there were."""
        return sum(batch.clusters for batch in self.history)


@dataclass(frozen=True)
class ClusterEvidence:
    """Decides a claim about leaves whose draws come in clusters.

    Guarantee: if clusters are independent and none weighs more than ``largest``, the probability that the decision is
    ever wrong is at most ``delta``. The claim and its negation are unions of polytopes; the truth lies in one of the
    side that holds, and each polytope of ``h`` half-spaces is refuted when one of them is, at risk ``delta / h``. Where
    a half-space has more than two leaves, or there are no polytopes, the risk is divided over the leaves' limits.

    Attributes
    ----------
    formula, leaves, ranges, delta
        The claim, its leaves in the order of the batches, their least and greatest values, and the risk.
    largest
        The most that the rows of a cluster weigh together.
    deadline
        The number of clusters at which the only look is planned; ``None`` for any number of looks.
    """

    formula: Formula
    leaves: tuple[Leaf, ...]
    ranges: Box
    delta: float
    largest: float
    deadline: int | None = None

    def about(self, formula: Formula, delta: float) -> ClusterEvidence:
        """The same of another claim about these leaves, at another risk."""
        return replace(self, formula=formula, delta=delta)

    def complete(self, state: ClusterState) -> bool:
        """Whether the only look has come; always so without a deadline."""
        return self.deadline is None or state.clusters >= self.deadline

    @property
    def method(self) -> str:
        """Bets, one for each cluster; or a box of their limits."""
        return "bets" if self._sides is not None else "region"

    @property
    def remarks(self) -> tuple[str, ...]:
        """How it was decided where bets on the whole claim could not be made."""
        if not self.boxed:
            return ()
        why = "is not linear in them" if self._sides is None else "compares more than two"
        return (f"the risk was divided over the limits of every rate, since the claim {why}",)

    @cached_property
    def _sides(self) -> tuple[tuple[Polytope, ...], tuple[Polytope, ...]] | None:
        """The polytopes of the negation and of the claim; ``None`` where it is not linear."""
        against = hypothesis_of(self.formula, self.ranges, positive=False)
        in_favour = hypothesis_of(self.formula, self.ranges, positive=True)
        return None if against is None or in_favour is None else (against.polytopes, in_favour.polytopes)

    @cached_property
    def _polytopes(self) -> tuple[Polytope, ...]:
        return () if self._sides is None else (*self._sides[0], *self._sides[1])

    @cached_property
    def _tests(self) -> tuple[tuple[int, HalfSpace, ClusterTests], ...]:
        """The half-spaces over one or two leaves, each with its polytope's number and its test."""
        result = []
        for number, polytope in enumerate(self._polytopes):
            for half_space in polytope.half_spaces:
                if len(half_space.leaves) <= 2:
                    tests = self._against(half_space.leaves, [half_space], self.delta / len(polytope.half_spaces))
                    result.append((number, half_space, tests))
        return tuple(result)

    @cached_property
    def boxed(self) -> bool:
        """Whether a box of the leaves' limits is needed."""
        wide = (len(half.leaves) > 2 for polytope in self._polytopes for half in polytope.half_spaces)
        return self._sides is None or any(wide)

    def _against(self, leaves: tuple[Leaf, ...], half_spaces: Sequence[HalfSpace], delta: float) -> ClusterTests:
        """Tests of half-spaces over the same leaves, on a scale from 0 to 1."""
        joint = self._as_difference(leaves, half_spaces)
        if joint is not None:
            index, slopes, bounds = joint
            return ClusterTests((index,), slopes, bounds, self.largest, True, delta, self.deadline)
        slopes, bounds = np.zeros((len(half_spaces), 2)), np.zeros(len(half_spaces))
        for row, half_space in enumerate(half_spaces):
            bounds[row] = half_space.bound
            for leaf, factor in half_space.coefficients:
                low, high = self.ranges[leaf]
                slopes[row, leaves.index(leaf)] = factor * (high - low)
                bounds[row] -= factor * low
        apart = len(leaves) < 2 or disjoint(leaves[0].given, leaves[1].given)
        columns = tuple(self.leaves.index(leaf) for leaf in leaves)
        return ClusterTests(columns, slopes, bounds, self.largest, apart, delta, self.deadline)

    @cached_property
    def _pairs(self) -> tuple[tuple[int, int], ...]:
        """The leaves on the same rows, whose difference is the mean of one number of each row."""
        together = combinations(enumerate(self.leaves), 2)
        return tuple((i, j) for (i, first), (j, second) in together if first.given == second.given)

    def _as_difference(
        self, leaves: tuple[Leaf, ...], half_spaces: Sequence[HalfSpace]
    ) -> tuple[int, Floats, Floats] | None:
        """The column of the leaves' difference, with slopes and bounds, where all half-spaces are about that."""
        i, j = sorted(self.leaves.index(leaf) for leaf in (leaves[0], leaves[-1]))
        factors = [dict(half_space.coefficients) for half_space in half_spaces]
        alike = all(each.get(self.leaves[i], 0.0) == -each.get(self.leaves[j], 0.0) for each in factors)
        if (i, j) not in self._pairs or not alike:
            return None
        low, span = self._span(i, j)
        slope = np.asarray([each[self.leaves[i]] for each in factors])
        bounds = np.asarray([half_space.bound for half_space in half_spaces]) - slope * low
        slopes = np.stack([slope * span, np.zeros(len(slope))], axis=-1)
        return len(self.leaves) + self._pairs.index((i, j)), slopes, bounds

    def _span(self, i: int, j: int) -> tuple[float, float]:
        """The least difference of two leaves, and how much larger the greatest is."""
        (low, high), (least, most) = self.ranges[self.leaves[i]], self.ranges[self.leaves[j]]
        return low - most, (high - low) + (most - least)

    def _with_pairs(self, batch: ClusterBatch) -> ClusterBatch:
        """The batch with a column for each difference of leaves on the same rows."""
        rows, sums = [batch.rows], [batch.sums]
        for i, j in self._pairs:
            _, span = self._span(i, j)
            first, second = (self.ranges[self.leaves[k]][1] - self.ranges[self.leaves[k]][0] for k in (i, j))
            # Where both leaves are at 0, on their own scales, the difference is at second / span, on its own.
            total = (first * batch.sums[:, i] - second * batch.sums[:, j] + second * batch.rows[:, i]) / span
            rows.append(batch.rows[:, [i]])
            sums.append(np.clip(total, 0.0, batch.rows[:, i])[:, None])
        return replace(batch, rows=np.concatenate(rows, axis=1), sums=np.concatenate(sums, axis=1))

    # ------------------------------------------------------------------------------------------------- deciding

    def begin(self) -> ClusterState:
        """Nothing seen."""
        return ClusterState((), tuple(tests.begin() for _, _, tests in self._tests))

    def step(self, state: ClusterState, batch: ClusterBatch) -> ClusterState:
        """Bet on one batch; what is refuted stays refuted."""
        history = (*state.history, batch)
        wealths, refuted = list(state.wealths), set(state.refuted)
        observed = {leaf for leaf, rows in zip(self.leaves, self.rows(history), strict=True) if rows > 0}
        wider = self._with_pairs(batch)
        for index, (number, half_space, tests) in enumerate(self._tests):
            if number not in refuted:
                wealths[index] = tests.step(wealths[index], wider)
                if tests.refuted(wealths[index])[0] and observed.issuperset(half_space.leaves):
                    refuted.add(number)
        after = ClusterState(history, tuple(wealths), frozenset(refuted), state.looked, state.boxed)
        due = OFTEN * state.looked if self.deadline is None else self.deadline
        return self.looked(after) if after.clusters >= due else after

    def looked(self, state: ClusterState) -> ClusterState:
        """The state after a look at the box of limits, where one is needed."""
        if not self.boxed or state.boxed is not None or state.looked == state.clusters:
            return state
        present = [leaf for leaf, rows in zip(self.leaves, self.rows(state.history), strict=True) if rows > 0]
        if self._sides is None:
            box = self.box(state.history, self.delta / (2 * len(self.leaves)), present)
            truth = judge(self.formula, single_box(box))
            text = True if truth.true.all() else False if truth.false.all() else None
            return replace(state, looked=state.clusters, boxed=text)
        refuted = set(state.refuted)
        for number, polytope in enumerate(self._polytopes):
            for half in polytope.half_spaces:
                if number in refuted or len(half.leaves) <= 2 or not set(half.leaves) <= set(present):
                    continue
                risk = self.delta / (len(polytope.half_spaces) * len(half.leaves))
                box = self.box(state.history, risk, half.leaves)
                least = sum(min(factor * end for end in box[leaf]) for leaf, factor in half.coefficients)
                if least > half.bound:
                    refuted.add(number)
        return replace(state, looked=state.clusters, refuted=frozenset(refuted))

    def decision(self, state: ClusterState) -> bool | None:
        """``True`` once the whole negation is refuted, ``False`` once the whole claim is."""
        if self._sides is None:
            return state.boxed
        against = len(self._sides[0])
        if all(number in state.refuted for number in range(against)):
            return True
        if all(number in state.refuted for number in range(against, len(self._polytopes))):
            return False
        return None

    def progress(self, state: ClusterState) -> float:
        """How close the nearer decision is, from 0 to 1."""
        if self._sides is None:
            return 0.0 if state.boxed is None else 1.0
        shares = [1.0 if number in state.refuted else 0.0 for number in range(len(self._polytopes))]
        for (number, _, tests), wealth in zip(self._tests, state.wealths, strict=True):
            shares[number] = max(shares[number], tests.progress(wealth))
        against = len(self._sides[0])
        return max((min(side) for side in (shares[:against], shares[against:]) if side), default=1.0)

    def run(self, history: Sequence[ClusterBatch]) -> bool | None:
        """What the batches say of the claim."""
        state = self.begin()
        for batch in history:
            state = self.step(state, batch)
        return self.decision(self.looked(state))

    # ------------------------------------------------------------------------------------------------- intervals

    def rows(self, history: Sequence[ClusterBatch]) -> Floats:
        """What the rows of each leaf weigh in total."""
        return (
            np.sum([batch.times @ batch.rows for batch in history], axis=0) if history else np.zeros(len(self.leaves))
        )

    def means(self, history: Sequence[ClusterBatch]) -> dict[Leaf, float]:
        """The mean of each leaf that was seen."""
        rows = self.rows(history)
        sums = np.sum([batch.times @ batch.sums for batch in history], axis=0) if history else rows
        pairs = zip(self.leaves, rows, sums, strict=True)
        return {
            leaf: self.ranges[leaf][0] + (self.ranges[leaf][1] - self.ranges[leaf][0]) * float(total / n)
            for leaf, n, total in pairs
            if n > 0
        }

    def interval(self, history: Sequence[ClusterBatch], quantity: Quantity) -> tuple[float, float]:
        """The limits of a quantity, each wrong with probability at most ``delta``, by the bets that decide claims."""
        return self._interval(history, quantity, self.delta)

    def _interval(self, history: Sequence[ClusterBatch], quantity: Quantity, delta: float) -> tuple[float, float]:
        if isinstance(quantity, Extreme) and quantity.function == "abs":
            # Either end of the value can be wrong where it is 0, but only one of them decides how large it is.
            low, high = self._interval(history, quantity.arguments[0], delta / 2.0)
            least, (low, high) = max(0.0, low, -high), self._interval(history, quantity.arguments[0], delta)
            return least, max(-low, high)
        leaves, means = leaves_of(quantity), self.means(history)
        limits = over(quantity, {leaf: self.ranges[leaf] for leaf in leaves})
        if not leaves or not all(leaf in means for leaf in leaves):
            return limits
        estimate = over(quantity, {leaf: (means[leaf], means[leaf]) for leaf in leaves})[0]
        parts = (isinstance(node, Extreme) for node in nodes(quantity))
        several = len(leaves) > 2 or any(parts) or half_space_of(quantity, estimate, self.ranges, upper=False) is None
        if several or not isfinite(estimate):
            return over(quantity, self.box(history, delta / (2 * len(leaves)), leaves))
        spread = self._error(history, quantity, means) * sqrt(2.0 * log(1.0 / delta) + 1.0)
        return scan(
            lambda searches: [self._refutes(history, quantity, delta, values, upper) for _, upper, values in searches],
            [estimate],
            [spread],
            limits,
        )[0]

    def box(
        self, history: Sequence[ClusterBatch], risk: float, leaves: Sequence[Leaf]
    ) -> dict[Leaf, tuple[float, float]]:
        """The limits of each leaf, each at this risk."""
        return {leaf: self._interval(history, leaf, risk) for leaf in leaves}

    def _refutes(
        self, history: Sequence[ClusterBatch], quantity: Quantity, delta: float, values: Floats, upper: bool
    ) -> NDArray[np.bool_]:
        result = [half_space_of(quantity, float(value), self.ranges, upper=upper) for value in values]
        out = np.asarray([half is False for half in result])
        leaves = leaves_of(quantity)
        # The leaf with the larger slope everywhere comes first: its value is bounded by that of the other.
        tested = [(index, half) for index, half in enumerate(result) if isinstance(half, HalfSpace)]
        for first in dict.fromkeys((leaves, leaves[::-1])):
            left = [
                (index, half) for index, half in tested if half.leaves and first[0] in half.leaves and not out[index]
            ]
            if left:
                wider = [self._with_pairs(batch) for batch in history]
                out[[index for index, _ in left]] = self._against(first, [half for _, half in left], delta).run(wider)
                tested = [item for item in tested if item not in left]
        return out

    def _error(self, history: Sequence[ClusterBatch], quantity: Quantity, means: Mapping[Leaf, float]) -> float:
        """The standard error of a quantity between clusters, by the delta method."""
        leaves = leaves_of(quantity)
        rows, sums, times = _stacked(history)
        away, centre = np.zeros(len(times)), over(quantity, {leaf: (means[leaf],) * 2 for leaf in leaves})[0]
        for leaf in leaves:
            k, (low, high) = self.leaves.index(leaf), self.ranges[leaf]
            step = 1e-4 * (high - low) * (1.0 if means[leaf] < 0.5 * (low + high) else -1.0)
            moved = {other: (means[other],) * 2 for other in leaves} | {leaf: (means[leaf] + step,) * 2}
            slope = (over(quantity, moved)[0] - centre) / step * (high - low)
            mean = (means[leaf] - low) / (high - low)
            away += slope * (sums[:, k] - mean * rows[:, k]) / (times @ rows[:, k])
        error = sqrt(float(times @ away**2))
        least = 1.0 / max(float(times @ rows[:, [self.leaves.index(leaf) for leaf in leaves]].min(axis=1)), 1.0)
        return max(error, least) if isfinite(error) else 1.0


def half_space_of(quantity: Quantity, value: float, ranges: Box, *, upper: bool) -> HalfSpace | bool | None:
    """``quantity <= value``, or with ``upper`` ``>= value``; a truth value where it is never or always so.

    ``None`` where it is not a single half-space.
    """
    relation: Relation = ">=" if upper else "<="
    hypothesis = hypothesis_of(Comparison(quantity, ((relation, Constant(value)),)), ranges, positive=True)
    if hypothesis is None or len(hypothesis.polytopes) > 1:
        return None
    if not hypothesis.polytopes:
        return False
    halves = hypothesis.polytopes[0].half_spaces
    return True if not halves else halves[0] if len(halves) == 1 else None


def over(quantity: Quantity, box: Box) -> tuple[float, float]:
    """Bounds on a quantity over a box."""
    low, high = enclose_over_box(quantity, box)
    return (low if low == low else -inf), (high if high == high else inf)


Search: TypeAlias = tuple[int, bool, Floats]
"""Which quantity, whether its upper limit is searched, and the values to be tested."""


def scan(
    refutes: Callable[[Sequence[Search]], Sequence[NDArray[np.bool_]]],
    estimates: Sequence[float],
    widths: Sequence[float],
    limits: tuple[float, float],
) -> list[tuple[float, float]]:
    """The limits of the values of each quantity that are not refuted: each a refuted value, or the end of the range.

    Parameters
    ----------
    refutes
        Says of each search which values ``v`` are refuted as ``quantity <= v``, or, for an upper limit, as
        ``quantity >= v``.
    estimates, widths
        Where to begin, and how far a normal interval would reach, for each quantity.
    limits
        The least and greatest possible value.
    """
    inside, outside, open_ones = {}, {}, list[Search]()
    for index, (estimate, width) in enumerate(zip(estimates, widths, strict=True)):
        for upper, limit in enumerate(limits):
            values = np.clip(estimate + (width if upper else -width) * SCAN, *limits)
            values = np.append(values, limit) if isfinite(limit) else values
            inside[index, bool(upper)], outside[index, bool(upper)] = estimate, limit
            open_ones.append((index, bool(upper), values[np.append(True, np.diff(values) != 0.0)]))
    for _ in range(ROUNDS):
        searches, open_ones = open_ones, []
        for (index, upper, values), refuted in zip(searches, refutes(searches) if searches else (), strict=True):
            # The hull of what is left: the limit lies beyond the last value that is not refuted.
            left = np.flatnonzero(~refuted)
            last = int(left[-1]) if len(left) else -1
            if last == len(values) - 1:
                continue
            end = outside[index, upper] = float(values[last + 1])
            start = inside[index, upper] = float(values[last]) if last >= 0 else inside[index, upper]
            open_ones.append((index, upper, np.append(np.linspace(start, end, 10)[1:-1], end)))
    return [(outside[index, False], outside[index, True]) for index in range(len(estimates))]


def rate_limits(
    histories: Sequence[Sequence[ClusterBatch]], largest: float, risk: float, deadline: int | None
) -> list[tuple[float, float]]:
    """The limits of the leaf of each history, on a scale from 0 to 1, each wrong with probability at most ``risk``."""
    means, errors = [], []
    for history in histories:
        rows, sums, times = _stacked(history)
        mean = float(times @ sums[:, 0] / (times @ rows[:, 0]))
        means.append(mean)
        errors.append(sqrt(float(times @ (sums[:, 0] - mean * rows[:, 0]) ** 2)) / float(times @ rows[:, 0]))
    return _limits(histories, (means, errors), (0.0, 1.0), ((0,), largest, risk, deadline))


def ratio_limits(
    histories: Sequence[Sequence[ClusterBatch]], largest: float, risk: float, deadline: int | None
) -> list[tuple[float, float]]:
    """The limits of the first leaf's mean over the second's, which no row informs both of; infinite where open."""
    result, ratios, errors = [(0.0, inf)] * len(histories), [], []
    known = list[int]()
    for index, history in enumerate(histories):
        rows, sums, times = _stacked(history)
        first, second = (times @ sums) / (times @ rows)
        if second > 0.0:
            ratio = float(first / second)
            away = (sums[:, 0] - first * rows[:, 0]) / (times @ rows[:, 0]) / second
            away -= ratio * (sums[:, 1] - second * rows[:, 1]) / (times @ rows[:, 1]) / second
            known.append(index)
            ratios.append(ratio)
            errors.append(sqrt(float(times @ away**2)))
    some = _limits([histories[k] for k in known], (ratios, errors), (0.0, inf), ((0, 1), largest, risk, deadline))
    for index, ends in zip(known, some, strict=True):
        result[index] = ends
    return result


def _limits(
    histories: Sequence[Sequence[ClusterBatch]],
    where: tuple[Sequence[float], Sequence[float]],
    limits: tuple[float, float],
    tested: tuple[tuple[int, ...], float, float, int | None],
) -> list[tuple[float, float]]:
    """The limits of a rate or a ratio in each history, of which as many are bet on at once as fit into ``TOGETHER``."""
    leaves, largest, risk, deadline = tested
    sizes = [max(len(batch.times) for batch in history) for history in histories]
    if len(histories) > 1 and (len(leaves) > 1 or sum(sizes) > TOGETHER):  # the cells of a ratio are many by themselves
        middle = len(histories) // 2
        parts = (slice(None, middle), slice(middle, None))
        return [
            ends
            for part in parts
            for ends in _limits(histories[part], (where[0][part], where[1][part]), limits, tested)
        ]
    joined = [ClusterBatch.joined(batches) for batches in zip(*histories, strict=True)]

    def refutes(searches: Sequence[Search]) -> list[NDArray[np.bool_]]:
        sizes = [len(values) for _, _, values in searches]
        values = np.concatenate([values for _, _, values in searches])
        sign = np.repeat([-1.0 if upper else 1.0 for _, upper, _ in searches], sizes)
        stream = np.repeat([index for index, _, _ in searches], sizes)
        other = np.zeros(len(values)) if len(leaves) == 1 else -sign * values
        bounds = sign * values if len(leaves) == 1 else np.zeros(len(values))
        tests = ClusterTests(leaves, np.stack([sign, other], axis=-1), bounds, largest, True, risk, deadline, stream)
        return np.split(tests.run(joined), np.cumsum(sizes)[:-1])

    widths = [max(error, 1e-3) * sqrt(2.0 * log(1.0 / risk) + 1.0) for error in where[1]]
    return scan(refutes, where[0], widths, limits)


def _stacked(history: Sequence[ClusterBatch]) -> tuple[Floats, Floats, Floats]:
    """Rows, sums and times of all batches."""
    return (
        np.concatenate([batch.rows for batch in history]),
        np.concatenate([batch.sums for batch in history]),
        np.concatenate([batch.times for batch in history]),
    )
