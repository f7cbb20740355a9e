"""Claims about all people together: their average share, and the share of people who break the claim.

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

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.protocol import Check
from isonomia.audits.responsiveness.sampling import DecisionRule, PointsByPerson
from isonomia.evidence.binomial import lower_limit, upper_limit
from isonomia.evidence.confidence_sequences import anytime_interval
from isonomia.records.verdict import Expression
from isonomia.spec.responsiveness import Responsiveness

Bools = NDArray[np.bool_]


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
        seen = drawn & (counts.n > 0)
        if self.sampled:
            total, people = known + float(counts.share[seen].sum()), int(listed.sum() + seen.sum())
            low, high = (float(end) for end in anytime_interval(total, people, self.delta))
            return (total / people if people else None), low, high
        if not drawn.any():
            return known / size, known / size, known / size
        successes, n, count = float(counts.successes[seen].sum()), float(counts.n[seen].sum()), int(seen.sum())
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
