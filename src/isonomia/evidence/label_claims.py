"""Claims about rates of labels, where few rows have one: decided by bets on every row, with intervals from the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from math import isfinite, log, sqrt

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import SpecError
from isonomia.evidence.cluster_claims import Search, half_space_of, over, scan
from isonomia.evidence.hypotheses import HalfSpace, Polytope, hypothesis_of
from isonomia.evidence.labels import LabelBatch, LabelStep, LabelTests, LabelWealth
from isonomia.spec.analysis import disjoint
from isonomia.spec.text import to_text
from isonomia.spec.tree import Extreme, Formula, Leaf, Quantity, Row, leaves_of

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class LabelState:
    """All batches so far, the wealth of every test, and which polytopes are refuted."""

    history: tuple[LabelStep, ...]
    wealths: tuple[LabelWealth, ...]
    refuted: frozenset[int] = frozenset()


@dataclass(frozen=True)
class LabelEvidence:
    """Decides a claim about leaves that read a label.

    Guarantee: if rows are independent draws, and each was labeled with its stated probability whatever its label is,
    the probability that the decision is ever wrong is at most ``delta``, however good or bad the judge is. The claim
    and its negation are unions of polytopes; the truth lies in one of the side that holds, and each polytope of ``h``
    half-spaces is refuted when one of them is, at risk ``delta / h``.

    Attributes
    ----------
    formula, leaves, ranges, delta
        The claim, its leaves in the order of the batches, their least and greatest values, and the risk.
    deadline
        The number of rows at which the only look is planned; ``None`` for any number of looks.
    """

    formula: Formula
    leaves: tuple[Leaf, ...]
    ranges: Mapping[Leaf, tuple[float, float]]
    delta: float
    deadline: float | None = None

    method = "bets"
    remarks = ()

    def about(self, formula: Formula, delta: float) -> LabelEvidence:
        """The same of another claim about these leaves, at another risk."""
        return replace(self, formula=formula, delta=delta)

    @cached_property
    def groups(self) -> tuple[Row | None, ...]:
        """The conditions of the leaves, each once: leaves of the same group are known of the same rows."""
        return tuple(dict.fromkeys(leaf.given for leaf in self.leaves))

    @cached_property
    def group_of(self) -> tuple[int, ...]:
        """The number of each leaf's group."""
        return tuple(self.groups.index(leaf.given) for leaf in self.leaves)

    @cached_property
    def _sides(self) -> tuple[tuple[Polytope, ...], tuple[Polytope, ...]]:
        """The polytopes of the negation and of the claim."""
        sides = []
        for positive in (False, True):
            hypothesis = hypothesis_of(self.formula, self.ranges, positive=positive)
            if hypothesis is None:
                raise SpecError(
                    f"with few labels a claim must be linear in its rates, such as a difference or a ratio of two, but "
                    f"{to_text(self.formula)} is not: check its parts one by one, each at its part of the risk"
                )
            sides.append(hypothesis.polytopes)
        return sides[0], sides[1]

    def refuse_overlaps(self) -> None:
        """Refuse a comparison of groups that are neither the same nor disjoint."""
        for polytope in (*self._sides[0], *self._sides[1]):
            for half in polytope.half_spaces:
                for a, b in combinations(dict.fromkeys(leaf.given for leaf in half.leaves), 2):
                    if not disjoint(a, b):
                        first, second = ("all rows" if each is None else to_text(each) for each in (a, b))
                        raise SpecError(
                            f"with few labels, groups that are compared must be the same or exclude each other, but "
                            f"{first} and {second} may share rows: compare with the rest instead"
                        )

    @cached_property
    def _tests(self) -> tuple[tuple[int, HalfSpace, LabelTests], ...]:
        """Every half-space with its polytope's number and its test."""
        polytopes = enumerate((*self._sides[0], *self._sides[1]))
        return tuple(
            (number, half, self._against([half], self.delta / len(polytope.half_spaces)))
            for number, polytope in polytopes
            for half in polytope.half_spaces
        )

    def _against(self, half_spaces: Sequence[HalfSpace], delta: float) -> LabelTests:
        """Tests of half-spaces, on a scale from 0 to 1."""
        slopes, bounds = np.zeros((len(half_spaces), len(self.leaves))), np.zeros(len(half_spaces))
        for row, half_space in enumerate(half_spaces):
            bounds[row] = half_space.bound
            for leaf, factor in half_space.coefficients:
                low, high = self.ranges[leaf]
                slopes[row, self.leaves.index(leaf)] = factor * (high - low)
                bounds[row] -= factor * low
        size = np.abs(slopes).max(axis=1)  # the stakes do not depend on the unit, but Newton's method likes one near 1
        return LabelTests(self.group_of, slopes / size[:, None], bounds / size, delta, self.deadline)

    # ------------------------------------------------------------------------------------------------- deciding

    def begin(self) -> LabelState:
        """Nothing seen."""
        return LabelState((), tuple(tests.begin() for _, _, tests in self._tests))

    def step(self, state: LabelState, batch: LabelBatch) -> LabelState:
        """Bet on one batch; what is refuted stays refuted."""
        wealths, refuted = list(state.wealths), set(state.refuted)
        step = state.history[-1].then(batch) if state.history else LabelStep(batch)
        for index, (number, _, tests) in enumerate(self._tests):
            if number not in refuted:
                wealths[index] = tests.step(wealths[index], step)
                if tests.refuted(wealths[index])[0]:
                    refuted.add(number)
        return LabelState((*state.history, step), tuple(wealths), frozenset(refuted))

    def looked(self, state: LabelState) -> LabelState:
        """The state at the end: the same."""
        return state

    def complete(self, state: LabelState) -> bool:
        """Whether the only look has come; always so without a deadline."""
        return self.deadline is None or sum(step.batch.drawn for step in state.history) >= self.deadline

    def decision(self, state: LabelState) -> bool | None:
        """``True`` once the whole negation is refuted, ``False`` once the whole claim is."""
        against, together = len(self._sides[0]), len(self._sides[0]) + len(self._sides[1])
        if state.refuted.issuperset(range(against)):
            return True
        return False if state.refuted.issuperset(range(against, together)) else None

    def progress(self, state: LabelState) -> float:
        """How close the nearer decision is, from 0 to 1."""
        against, in_favour = map(len, self._sides)
        shares = [1.0 if number in state.refuted else 0.0 for number in range(against + in_favour)]
        for (number, _, tests), wealth in zip(self._tests, state.wealths, strict=True):
            shares[number] = max(shares[number], float(np.clip(wealth.logs[0] / tests.need, 0.0, 1.0)))
        return max((min(side) for side in (shares[:against], shares[against:]) if side), default=1.0)

    def run(self, history: Sequence[LabelStep]) -> bool | None:
        """What the batches say of the claim."""
        refuted = {number for number, _, tests in self._tests if tests.run(history)[0]}
        return self.decision(LabelState(tuple(history), (), frozenset(refuted)))

    # ------------------------------------------------------------------------------------------------- intervals

    def interval(self, history: Sequence[LabelStep], quantity: Quantity) -> tuple[float, float]:
        """The limits of a quantity, each wrong with probability at most ``delta``, by the bets that decide claims."""
        return self._interval(history, quantity, self.delta)

    def _interval(self, history: Sequence[LabelStep], quantity: Quantity, delta: float) -> tuple[float, float]:
        if isinstance(quantity, Extreme) and quantity.function == "abs":
            # Either end of the value can be wrong where it is 0, but only one of them decides how large it is.
            low, high = self._interval(history, quantity.arguments[0], delta / 2.0)
            least, (low, high) = max(0.0, low, -high), self._interval(history, quantity.arguments[0], delta)
            return least, max(-low, high)
        leaves, estimates = leaves_of(quantity), self.estimates(history)
        limits = over(quantity, {leaf: self.ranges[leaf] for leaf in leaves})
        if not leaves or not all(leaf in estimates for leaf in leaves):
            return limits
        means = {leaf: (estimates[leaf].mean, estimates[leaf].mean) for leaf in leaves}
        estimate = over(quantity, means)[0]
        if not isfinite(estimate) or half_space_of(quantity, estimate, self.ranges, upper=False) is None:
            if leaves == (quantity,):
                return limits
            box = {leaf: self._interval(history, leaf, delta / (2 * len(leaves))) for leaf in leaves}
            return over(quantity, box)
        error = sum(self._moved(quantity, leaf, means, estimate, estimates[leaf].error) ** 2 for leaf in leaves)
        spread = max(sqrt(error), 1e-3) * sqrt(2.0 * log(1.0 / delta) + 1.0)
        return scan(
            lambda searches: self._refutes(history, quantity, delta, searches),
            [estimate],
            [spread],
            limits,
        )[0]

    def _moved(
        self, quantity: Quantity, leaf: Leaf, means: Mapping[Leaf, tuple[float, float]], centre: float, error: float
    ) -> float:
        """By how much the quantity changes where a leaf changes by its error, towards the middle of its range."""
        away = error if means[leaf][0] < 0.5 * sum(self.ranges[leaf]) else -error
        moved = over(quantity, {**means, leaf: (means[leaf][0] + away,) * 2})[0] - centre
        return moved if isfinite(moved) else 1.0

    def _refutes(
        self, history: Sequence[LabelStep], quantity: Quantity, delta: float, searches: Sequence[Search]
    ) -> list[NDArray[np.bool_]]:
        """Which values the batches refute, in all searches together."""
        tried = [(float(value), upper) for _, upper, values in searches for value in values]
        halves = [half_space_of(quantity, value, self.ranges, upper=upper) for value, upper in tried]
        out = np.asarray([half is False for half in halves])
        tested = [half for half in halves if isinstance(half, HalfSpace) and half.leaves]
        if tested:
            where = [isinstance(half, HalfSpace) and bool(half.leaves) for half in halves]
            out[where] = self._against(tested, delta).run(history)
        return np.split(out, np.cumsum([len(values) for _, _, values in searches])[:-1])

    def means(self, history: Sequence[LabelStep]) -> dict[Leaf, float]:
        """The estimate of each leaf of which there is a label."""
        return {leaf: each.mean for leaf, each in self.estimates(history).items()}

    def estimates(self, history: Sequence[LabelStep]) -> dict[Leaf, LabelEstimate]:
        """What labels and judge say of each leaf of which there is a label."""
        if not history:
            return {}
        rows, result = LabelBatch.joined([step.batch for step in history]), {}
        for k, (leaf, group) in enumerate(zip(self.leaves, self.group_of, strict=True)):
            inside = rows.keys[:, 0] == group
            labeled = inside & (rows.keys[:, 2] > 0)
            if labeled.any():
                result[leaf] = LabelEstimate.of(rows, inside, labeled, k, self.ranges[leaf])
        return result


@dataclass(frozen=True, slots=True)
class LabelEstimate:
    """A leaf's estimate from labels and judge, its standard error, and what the judge was worth.

    ``worth`` is how many times as many labels the same precision would take without the judge.
    """

    mean: float
    error: float
    worth: float

    @classmethod
    def of(
        cls,
        rows: LabelBatch,
        inside: NDArray[np.bool_],
        labeled: NDArray[np.bool_],
        leaf: int,
        span: tuple[float, float],
    ) -> LabelEstimate:
        """The labels of each answer of the judge, weighed by how often it gave that answer among all rows."""
        answers, stratum = np.unique(rows.keys[:, 1], return_inverse=True)
        count = len(answers)
        weight = np.where(labeled, rows.times / rows.chances, 0.0)
        values = rows.values[:, leaf]
        share = np.bincount(stratum[inside], weights=rows.times[inside], minlength=count)
        labels = np.bincount(stratum, weights=np.where(labeled, rows.times, 0.0), minlength=count)
        total = np.bincount(stratum, weights=weight, minlength=count)
        pooled = float(weight @ values / weight.sum())
        # Half a label like all others keeps a variance from being zero where an answer has few labels.
        mean = (np.bincount(stratum, weights=weight * values, minlength=count) + 0.5 * pooled) / (total + 0.5)
        mean = np.where(labels > 0, mean, pooled)
        share = share / share.sum()
        n, estimate = float(labels.sum()), float(share @ mean)
        within = float(weight @ (values - mean[stratum]) ** 2 / weight.sum())
        whole = float(weight @ (values - pooled) ** 2 / weight.sum())
        between = float(share @ (mean - estimate) ** 2)
        count_rows = float(rows.times[inside].sum())
        with_judge = within / n + between / count_rows
        low, high = span
        worth = (whole / n) / with_judge if with_judge > 0.0 else 1.0
        return cls(low + (high - low) * estimate, (high - low) * sqrt(with_judge), worth)
