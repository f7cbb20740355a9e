"""What has been counted of each person, and who can be named from it."""

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

__all__ = ["Counted", "Rule", "begin"]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

_MOST_LOG = 690.0
"""Larger logarithms have no exponential in double precision; as evidence they are all the same."""


@dataclass(frozen=True, slots=True)
class Rule:
    """How counts become names.

    Attributes
    ----------
    threshold
        The share that is compared with.
    strict
        Whether a share must exceed the threshold to be responsive; otherwise it may equal it.
    delta
        The risk.
    control
        ``"family"`` or ``"discovery"``.
    fixed
        Whether the number of draws was fixed beforehand.
    """

    threshold: float
    strict: bool
    delta: float
    control: str
    fixed: bool

    @classmethod
    def of(cls, prop: Responsiveness, delta: float) -> Rule:
        """The rule of a property."""
        return cls(prop.threshold, prop.at_most is not None, delta, prop.control, prop.draws is not None)


@dataclass(frozen=True, slots=True, eq=False)
class Counted:
    """Counts of all people, one entry each.

    Attributes
    ----------
    n, successes
        Points looked at, and those with the target prediction.
    exact
        Whether all that the person can reach were looked at.
    family
        Whether the person was to be decided by draws; fixed before any draw.
    above, below
        The logarithm of the evidence that the share lies above or below the threshold: its largest value so far where
        a false name is limited for the family, its present one where the share of false names is.
    responsive, unresponsive
        Who has been named.
    """

    n: Floats
    successes: Floats
    exact: Bools
    family: Bools
    above: Floats
    below: Floats
    responsive: Bools
    unresponsive: Bools

    @property
    def undecided(self) -> Bools:
        """Who has not been named."""
        return ~(self.responsive | self.unresponsive)

    @property
    def share(self) -> Floats:
        """The shares seen; missing where nothing was."""
        return np.where(self.n > 0, self.successes / np.maximum(self.n, 1.0), np.nan)

    def listed(self, who: NDArray[np.intp], n: Floats, successes: Floats, rule: Rule) -> Counted:
        """The same after all that some people can reach were looked at: they are decided without risk."""
        changed = self._with(who, n, successes)
        exact, yes, no = changed.exact.copy(), changed.responsive.copy(), changed.unresponsive.copy()
        # Compared as counts: a share of 3 / 10 and a threshold of 0.3 are equal, whatever rounding makes of them.
        distance = successes - rule.threshold * n
        close = np.abs(distance) <= 1e-9 * n
        reached = np.where(close, not rule.strict, distance > 0)
        exact[who], yes[who], no[who] = True, reached, ~reached
        return replace(changed, exact=exact, responsive=yes, unresponsive=no)

    def drawn(self, who: NDArray[np.intp], n: int, successes: Floats, rule: Rule) -> Counted:
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

    def named(self, rule: Rule) -> Counted:
        """The same with everybody named whom the evidence allows.

        Guarantee: see :class:`isonomia.spec.responsiveness.Responsiveness` for ``control``. Each of the two kinds of
        names has the whole delta, and a family of its own: all people decided by draws. Who has been named is not drawn
        from again, so that the evidence stays and so does the name.
        """
        among = np.flatnonzero(self.family)
        if not len(among):
            return self
        yes, no = self.responsive.copy(), self.unresponsive.copy()
        before = self.undecided
        for named, evidence, other in ((yes, self.above, no), (no, self.below, yes)):
            found = np.zeros(len(named), dtype=bool)
            found[among] = _rejected(self._evidence(evidence, named, other)[among], rule)
            named |= found & before & ~other
        return replace(self, responsive=yes, unresponsive=no)

    def nameless(self) -> Counted:
        """The same with nobody named: what was counted is of a target that may be none."""
        nobody = np.zeros(len(self.n), dtype=bool)
        return replace(self, responsive=nobody, unresponsive=nobody)

    def surely(self, evidence: Floats, named: Bools, rule: Rule) -> bool:
        """Whether everybody is as said, each by themselves at delta.

        A wrong "everybody" needs a wrong answer about one person that was settled beforehand, so nothing is split.
        """
        alone = evidence >= np.log(1.0 / rule.delta)
        return bool(np.where(self.exact, named, alone).all())

    def interval(self, rule: Rule) -> tuple[Floats, Floats]:
        """The interval of each share, at delta for each by itself: exact, Clopper-Pearson, or anytime-valid."""
        find = clopper_pearson if rule.fixed else anytime_interval
        low, high = find(self.successes, self.n, rule.delta)
        return np.where(self.exact, self.share, low), np.where(self.exact, self.share, high)

    def _evidence(self, evidence: Floats, named: Bools, other: Bools) -> Floats:
        """Evidence, which for those looked at completely is all or nothing."""
        settled = np.where(named, np.inf, np.where(other, -np.inf, evidence))
        return np.where(self.exact, settled, evidence)

    def _with(self, who: NDArray[np.intp], n: Floats, successes: Floats) -> Counted:
        total, yes = self.n.copy(), self.successes.copy()
        total[who], yes[who] = n, successes
        return replace(self, n=total, successes=yes)


def begin(people: int, family: Bools) -> Counted:
    """Nothing counted yet."""
    nothing, nobody = np.zeros(people), np.zeros(people, dtype=bool)
    return Counted(nothing, nothing, nobody, family, nothing, nothing, nobody, nobody)


def _rejected(log_evidence: Floats, rule: Rule) -> Bools:
    if rule.control == "family":
        return holm(np.exp(-np.maximum(log_evidence, 0.0)), rule.delta)
    return e_bh(np.exp(np.minimum(log_evidence, _MOST_LOG)), rule.delta)
