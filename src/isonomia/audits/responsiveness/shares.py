"""The counts of each person, who can be called responsive or fixed from them, and claims about all people together.

*The average.* In a census, every drawn person gets the same number of draws in each round. The sum of independent
yes/no draws is then at most as spread as a binomial count with the same mean: for convex ``f``, ``E f(S) <= E f(B)``
(W. Hoeffding, "On the distribution of the number of successes in independent trials", Ann. Math. Stat. 27, 1956). A
round's likelihood ratio is convex in the sum, so the bets on a share stay supermartingales, and their interval holds
at all rounds together. Listed people enter with their own share, without error.

In a sample, each person's share, or the share of a fixed number of draws, is one independent number between 0 and 1
whose mean is the average in the population. Likelihood ratios are convex in it, too, so one person is one bet.

*The share who break the claim.* With probability ``1 - delta`` no person is wrongly called so (and likewise for
those who meet it), so in a census the share lies between those called one thing and those not called the other. In a
sample, the limits of Clopper and Pearson for these counts follow; where people are decided by draws, half of delta is
for calling them, and half for the limits.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.protocol import Check
from isonomia.audits.responsiveness.points import PointCounts
from isonomia.evidence.binomial import clopper_pearson, lower_limit, upper_limit
from isonomia.evidence.confidence_sequences import (
    anytime_interval,
    log_wealth_above,
    log_wealth_below,
    tail_above,
    tail_below,
)
from isonomia.evidence.multiple import e_bh, holm
from isonomia.records.verdict import Expression
from isonomia.spec.responsiveness import Responsiveness

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


_MAX_LOG = 690.0
"""Larger logarithms have no exponential in double precision; as evidence they are all the same."""


@dataclass(frozen=True, slots=True)
class DecisionRule:
    """How counts become decisions about people, at risk ``delta``, with the property's ``control``.

    ``strict`` means that a share must exceed the threshold to be responsive, where otherwise it may equal it; ``fixed``
    that the number of draws was fixed in advance; ``one_is_enough`` that a single point with the target makes a person
    responsive, so that the threshold is only for those whose draws have shown none.
    """

    threshold: float
    strict: bool
    delta: float
    control: str
    fixed: bool
    one_is_enough: bool = False

    @classmethod
    def of(cls, prop: Responsiveness, delta: float) -> DecisionRule:
        """The rule of a property."""
        strict, fixed = prop.at_most is not None, prop.draws is not None
        return cls(prop.threshold, strict, delta, prop.control, fixed, prop.one_is_enough)


@dataclass(frozen=True, slots=True, eq=False)
class PointsByPerson:
    """Counts of all people, one entry each.

    Attributes
    ----------
    n, successes
        Points looked at, and those with the target prediction.
    exact
        Whether all points that the person can reach were looked at.
    family
        Whether the person was to be decided by draws; fixed before any draw.
    above, below
        The logarithm of the evidence that the share lies above or below the threshold: its largest value so far where
        the probability of any false decision is limited, its present value where the share of false decisions is.
    responsive, unresponsive
        Who has been decided.
    weighed
        The share by the probabilities of listed points; NaN where all points of the person are alike, or drawn.
    """

    n: Floats
    successes: Floats
    exact: Bools
    family: Bools
    above: Floats
    below: Floats
    responsive: Bools
    unresponsive: Bools
    weighed: Floats

    @classmethod
    def empty(cls, people: int, family: Bools) -> PointsByPerson:
        """Nothing counted yet."""
        zeros, no_person = np.zeros(people), np.zeros(people, dtype=bool)
        return cls(zeros, zeros, no_person, family, zeros, zeros, no_person, no_person, np.full(people, np.nan))

    @property
    def undecided(self) -> Bools:
        """Who has not been decided."""
        return ~(self.responsive | self.unresponsive)

    @property
    def share(self) -> Floats:
        """The shares seen; NaN where nothing was seen."""
        counted = np.where(self.n > 0, self.successes / np.maximum(self.n, 1.0), np.nan)
        return np.where(np.isnan(self.weighed), counted, self.weighed)

    def listed(self, who: NDArray[np.intp], points: PointCounts, rule: DecisionRule) -> PointsByPerson:
        """The same after all points that some people can reach were looked at: they are decided without risk."""
        changed = self._with(who, points.n, points.successes)
        exact, yes, no = changed.exact.copy(), changed.responsive.copy(), changed.unresponsive.copy()
        weighed = changed.weighed.copy()
        weighed[who] = np.nan if points.share is None else points.share
        changed = replace(changed, weighed=weighed)
        # A share of 3 / 10 and a threshold of 0.3 are equal, whatever rounding makes of them.
        distance = changed.share[who] - rule.threshold
        close = np.abs(distance) <= 1e-9
        reached = points.successes > 0 if rule.one_is_enough else np.where(close, not rule.strict, distance > 0)
        exact[who], yes[who], no[who] = True, reached, ~reached
        return replace(changed, exact=exact, responsive=yes, unresponsive=no)

    def drawn(self, who: NDArray[np.intp], n: int, successes: Floats, rule: DecisionRule) -> PointsByPerson:
        """The same after ``n`` more draws for each of some people."""
        changed = self._with(who, self.n[who] + n, self.successes[who] + successes)
        above, below = changed.above.copy(), changed.below.copy()
        for evidence, (of_wealth, of_tail) in (
            (above, (log_wealth_above, tail_above)),
            (below, (log_wealth_below, tail_below)),
        ):
            counts = changed.successes[who], changed.n[who], rule.threshold
            with np.errstate(divide="ignore"):
                now = -np.log(of_tail(*counts)) if rule.fixed else of_wealth(*counts)
            keeps_best = rule.control == "family" and not rule.fixed
            evidence[who] = np.maximum(evidence[who], now) if keeps_best else now
        return replace(changed, above=above, below=below)

    def decided(self, rule: DecisionRule) -> PointsByPerson:
        """The same with all people decided whom the evidence decides.

        Guarantee: see :class:`isonomia.spec.responsiveness.Responsiveness` for ``control``. Each of the two kinds of
        decisions has the whole delta, and a family of its own: all people decided by draws. People who have been
        decided are not drawn from again, so their evidence stays, and so does the decision.
        """
        among = np.flatnonzero(self.family)
        if not len(among):
            return self
        yes, no = self.responsive.copy(), self.unresponsive.copy()
        before = self.undecided
        if rule.one_is_enough:
            yes |= before & (self.successes > 0)  # a point that was seen is proof, without any risk
        for decided, evidence, other in ((yes, self.above, no), (no, self.below, yes)):
            rejected = np.zeros(len(decided), dtype=bool)
            rejected[among] = _rejected(self._evidence(evidence, decided, other)[among], rule)
            decided |= rejected & before & ~other
        return replace(self, responsive=yes, unresponsive=no)

    def cleared(self, who: NDArray[np.intp]) -> PointsByPerson:
        """The same with some people responsive after all: a further draw has found a point with the target."""
        yes, no = self.responsive.copy(), self.unresponsive.copy()
        yes[who], no[who] = True, False
        return replace(self, responsive=yes, unresponsive=no)

    def without_decisions(self) -> PointsByPerson:
        """The same without decisions: the counts are about a target that may not exist."""
        no_person = np.zeros(len(self.n), dtype=bool)
        return replace(self, responsive=no_person, unresponsive=no_person)

    def holds_for_all(self, evidence: Floats, decided: Bools, rule: DecisionRule) -> bool:
        """Whether the claim is shown for all people, for each of them alone at delta.

        A wrong answer about all needs a wrong answer about one person who is fixed in advance, so delta is not split.
        """
        alone = decided if rule.one_is_enough else evidence >= np.log(1.0 / rule.delta)
        return bool(np.where(self.exact, decided, alone).all())

    def interval(self, rule: DecisionRule) -> tuple[Floats, Floats]:
        """The interval of each share, each at delta: exact, Clopper-Pearson, or anytime-valid.

        The threshold was tested separately, and may be refuted before an interval is past it. So it cuts off the
        interval of a person who is decided, which takes no risk that the decision does not.
        """
        find = clopper_pearson if rule.fixed else anytime_interval
        low, high = find(self.successes, self.n, rule.delta)
        if not rule.one_is_enough:
            least = np.nextafter(rule.threshold, 1.0) if rule.strict else rule.threshold
            highest = rule.threshold if rule.strict else np.nextafter(rule.threshold, 0.0)
            low, high = (
                np.where(
                    self.responsive,
                    np.maximum(end, least),
                    np.where(self.unresponsive, np.minimum(end, highest), end),
                )
                for end in (low, high)
            )
        return np.where(self.exact, self.share, low), np.where(self.exact, self.share, high)

    def _evidence(self, evidence: Floats, decided: Bools, other: Bools) -> Floats:
        """The evidence; all or nothing for people whose points were all looked at."""
        settled = np.where(decided, np.inf, np.where(other, -np.inf, evidence))
        return np.where(self.exact, settled, evidence)

    def _with(self, who: NDArray[np.intp], n: Floats, successes: Floats) -> PointsByPerson:
        total, yes = self.n.copy(), self.successes.copy()
        total[who], yes[who] = n, successes
        return replace(self, n=total, successes=yes)


def _rejected(log_evidence: Floats, rule: DecisionRule) -> Bools:
    if rule.control == "family":
        return holm(np.exp(-np.maximum(log_evidence, 0.0)), rule.delta)
    return e_bh(np.exp(np.minimum(log_evidence, _MAX_LOG)), rule.delta)


@dataclass(frozen=True, slots=True)
class SharedClaim:
    """A claim about all people together, and how it is decided.

    Attributes
    ----------
    prop
        The property, with ``average`` or ``failing_at_most``.
    delta
        The risk of each end of an interval.
    sampled
        Whether the people are draws from a population, which the claim is then about.
    rule
        How single people are decided, at their part of the risk.
    """

    prop: Responsiveness
    delta: float
    sampled: bool
    rule: DecisionRule

    @classmethod
    def of(cls, check: Check[Responsiveness], drawn: Bools) -> SharedClaim | None:
        """The claim of a check; ``drawn`` says who is decided by draws. ``None`` for a claim about each person."""
        prop, sampled = check.prop, check.population.kind == "sample"
        if not prop.about_all:
            return None
        part = check.delta / 2 if sampled and drawn.any() and not prop.average else check.delta
        return cls(prop, check.delta, sampled, DecisionRule.of(prop, part))

    def expression(self, counts: PointsByPerson, who: Bools | None = None) -> Expression:
        """The quantity with its interval, for all people or some."""
        mine = np.ones(len(counts.n), dtype=bool) if who is None else who
        relation = "<=" if self.prop.failing_at_most is not None or self.prop.at_least is None else ">="
        find = self._average if self.prop.average else self._failing
        return Expression(self.prop.quantity, relation, self.prop.limit, *find(counts, mine))

    def exact(self, counts: PointsByPerson) -> bool:
        """Whether the answer has no risk: everything was looked at, and the table is the population."""
        return not self.sampled and bool(counts.exact.all())

    def _average(self, counts: PointsByPerson, who: Bools) -> tuple[float | None, float, float]:
        drawn, listed, size = who & ~counts.exact, who & counts.exact, int(who.sum())
        known = float(counts.share[listed].sum())
        observed = drawn & (counts.n > 0)
        if self.sampled:
            total, people = known + float(counts.share[observed].sum()), int(listed.sum() + observed.sum())
            low, high = (float(end) for end in anytime_interval(total, people, self.delta))
            return (total / people if people else None), low, high
        if not drawn.any():
            return known / size, known / size, known / size
        successes, n, count = (
            float(counts.successes[observed].sum()),
            float(counts.n[observed].sum()),
            int(observed.sum()),
        )
        unseen = int(drawn.sum()) - count
        low, high = (float(end) for end in anytime_interval(successes, n, self.delta))
        value = (known + count * successes / n) / size if count and not unseen else None
        return value, (known + count * low) / size, (known + count * high + unseen) / size

    def _failing(self, counts: PointsByPerson, who: Bools) -> tuple[float | None, float, float]:
        good, bad = counts.responsive[who], counts.unresponsive[who]
        if self.prop.at_least is None:
            good, bad = bad, good
        size, least, most = int(who.sum()), float(bad.sum()), float((~good).sum())
        value = least / size if least == most else None
        if not self.sampled:
            return value, least / size, most / size
        part = self.delta if counts.exact.all() else self.delta / 2
        return value, float(lower_limit(least, size, part)), float(upper_limit(most, size, part))
