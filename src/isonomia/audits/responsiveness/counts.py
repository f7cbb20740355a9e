"""The counts of each person, and who can be called responsive or fixed from them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from isonomia.evidence.binomial import clopper_pearson
from isonomia.evidence.confidence_sequences import (
    anytime_interval,
    log_wealth_above,
    log_wealth_below,
    tail_above,
    tail_below,
)
from isonomia.evidence.multiple import e_bh, holm
from isonomia.spec.responsiveness import Responsiveness

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

_MAX_LOG = 690.0
"""Larger logarithms have no exponential in double precision; as evidence they are all the same."""


@dataclass(frozen=True, slots=True)
class DecisionRule:
    """How counts become decisions about people, at risk ``delta``, with the property's ``control``.

    ``strict`` means that a share must exceed the threshold to be responsive, where otherwise it may equal it; ``fixed``
    that the number of draws was fixed beforehand; ``one_is_enough`` that a single point with the target makes a person
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
class PersonCounts:
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
    """

    n: Floats
    successes: Floats
    exact: Bools
    family: Bools
    above: Floats
    below: Floats
    responsive: Bools
    unresponsive: Bools

    @classmethod
    def empty(cls, people: int, family: Bools) -> PersonCounts:
        """Nothing counted yet."""
        nothing, nobody = np.zeros(people), np.zeros(people, dtype=bool)
        return cls(nothing, nothing, nobody, family, nothing, nothing, nobody, nobody)

    @property
    def undecided(self) -> Bools:
        """Who has not been decided."""
        return ~(self.responsive | self.unresponsive)

    @property
    def share(self) -> Floats:
        """The shares seen; NaN where nothing was seen."""
        return np.where(self.n > 0, self.successes / np.maximum(self.n, 1.0), np.nan)

    def listed(self, who: NDArray[np.intp], n: Floats, successes: Floats, rule: DecisionRule) -> PersonCounts:
        """The same after all points that some people can reach were looked at: they are decided without risk."""
        changed = self._with(who, n, successes)
        exact, yes, no = changed.exact.copy(), changed.responsive.copy(), changed.unresponsive.copy()
        # Compared as counts: a share of 3 / 10 and a threshold of 0.3 are equal, whatever rounding makes of them.
        distance = successes - rule.threshold * n
        close = np.abs(distance) <= 1e-9 * n
        reached = successes > 0 if rule.one_is_enough else np.where(close, not rule.strict, distance > 0)
        exact[who], yes[who], no[who] = True, reached, ~reached
        return replace(changed, exact=exact, responsive=yes, unresponsive=no)

    def drawn(self, who: NDArray[np.intp], n: int, successes: Floats, rule: DecisionRule) -> PersonCounts:
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

    def decided(self, rule: DecisionRule) -> PersonCounts:
        """The same with everybody decided whom the evidence allows to decide.

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

    def cleared(self, who: NDArray[np.intp]) -> PersonCounts:
        """The same with some people responsive after all: a further draw has found a point with the target."""
        yes, no = self.responsive.copy(), self.unresponsive.copy()
        yes[who], no[who] = True, False
        return replace(self, responsive=yes, unresponsive=no)

    def without_decisions(self) -> PersonCounts:
        """The same with nobody decided: the counts are about a target that may not exist."""
        nobody = np.zeros(len(self.n), dtype=bool)
        return replace(self, responsive=nobody, unresponsive=nobody)

    def holds_for_all(self, evidence: Floats, decided: Bools, rule: DecisionRule) -> bool:
        """Whether the claim is shown for everybody, for each person alone at delta.

        A wrong "everybody" needs a wrong answer about one person who is fixed beforehand, so delta is not split.
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
            most = rule.threshold if rule.strict else np.nextafter(rule.threshold, 0.0)
            low = np.where(
                self.responsive, np.maximum(low, least), np.where(self.unresponsive, np.minimum(low, most), low)
            )
            high = np.where(
                self.responsive, np.maximum(high, least), np.where(self.unresponsive, np.minimum(high, most), high)
            )
        return np.where(self.exact, self.share, low), np.where(self.exact, self.share, high)

    def _evidence(self, evidence: Floats, decided: Bools, other: Bools) -> Floats:
        """The evidence; all or nothing for people whose points were all looked at."""
        settled = np.where(decided, np.inf, np.where(other, -np.inf, evidence))
        return np.where(self.exact, settled, evidence)

    def _with(self, who: NDArray[np.intp], n: Floats, successes: Floats) -> PersonCounts:
        total, yes = self.n.copy(), self.successes.copy()
        total[who], yes[who] = n, successes
        return replace(self, n=total, successes=yes)


def _rejected(log_evidence: Floats, rule: DecisionRule) -> Bools:
    if rule.control == "family":
        return holm(np.exp(-np.maximum(log_evidence, 0.0)), rule.delta)
    return e_bh(np.exp(np.minimum(log_evidence, _MAX_LOG)), rule.delta)
