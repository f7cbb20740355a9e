"""A confidence region for cell probabilities, and the interval that it leaves for a functional of the mixture.

For each channel, mixing the likelihood ratios of all distributions over its cells with a Dirichlet(1/2, ..., 1/2)
weight gives an evidence function ``L_a(q_a) = log of the mixture's likelihood - log of the likelihood of q_a``, whose
exponential at the true ``q_a`` is a martingale that starts at 1 (Robbins 1970; Krichevsky and Trofimov 1981). Draws of
different channels are independent given their channels, so the sum over channels has the same property, and

    P(there is a time at which sum_a L_a(true q_a) >= log(1/delta)) <= delta.

The region ``{q : sum_a L_a(q_a) < log(1/delta)}`` is convex. It is ``{q : sum_a n_a KL(h_a | q_a) < allowance}`` around
the sample's shares ``h``, so it misses an identified set exactly when the set is farther from ``h`` than the allowance.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, xlogy

from isonomia.errors import UsageError
from isonomia.evidence.identified.bets import CellBet, best_cell_bet, growth_rate
from isonomia.evidence.identified.identified_set import IdentifiedSet
from isonomia.evidence.protocol import check_delta

Floats = NDArray[np.float64]

MARGIN = 1e-6
"""Extra nats that a refutation needs, to cover rounding: ``n`` draws add about ``n * 1e-16``, so it suffices up to
about 1e9 draws. It *can* change a verdict: without it, rounding could refute a point that the region still contains."""

END_TOLERANCE = 1e-6
"""How precisely an end is found. Ends are always refuted values, so it only widens intervals."""


@dataclass(frozen=True, slots=True)
class Refuted:
    """No admitted mixture produces a point of the region: the assumptions are refuted at risk ``delta``."""


@dataclass(frozen=True, slots=True, eq=False)
class CellRegion:
    """The cell probabilities that the draws so far do not refute, at risk ``delta`` for all times simultaneously.

    Attributes
    ----------
    tally
        How many draws fell into each cell: shape ``(channels, cells)``.
    delta
        The risk that the region ever misses the truth.
    """

    tally: Floats
    delta: float

    def __post_init__(self) -> None:
        if self.tally.ndim != 2 or not bool(np.isfinite(self.tally).all()) or bool((self.tally < 0).any()):
            raise UsageError(f"expected a count a channel and cell, but got {self.tally!r}")
        check_delta(self.delta)

    @property
    def n(self) -> float:
        """How many draws."""
        return float(self.tally.sum())

    @property
    def allowance(self) -> float:
        """How far the truth may lie from the sample's shares, in nats: ``log(1/delta)`` plus the mixture's regret."""
        # The 0.5 is the Dirichlet weight of every cell: another one would be as valid, but wider in the long run.
        draws, half = self.tally.sum(axis=1), 0.5 * self.tally.shape[1]
        best = xlogy(self.tally, self.tally).sum() - xlogy(draws, draws).sum()
        mixed = (gammaln(self.tally + 0.5) - gammaln(0.5)).sum() + (gammaln(half) - gammaln(draws + half)).sum()
        return float(np.log(1.0 / self.delta) + best - mixed)

    def refutes(self, identified: IdentifiedSet) -> bool:
        """Say whether no point of the identified set lies in the region.

        Guarantee: ``True`` only where no point does, since any bet, good or bad, bounds the distance from below.
        """
        return self.n > 0 and self.misses(identified, self.best_bet(identified))

    def best_bet(self, identified: IdentifiedSet) -> CellBet:
        """The bet that speaks most strongly against the identified set."""
        estimate, weights = self._centre()
        # A thousandth of a nat over the whole sample: a looser bound only keeps sets alive and widens intervals.
        return best_cell_bet(identified, estimate, weights, np.full(1, min(1e-3 / max(self.n, 1.0), 1e-6)))

    def misses(self, identified: IdentifiedSet, bet: CellBet) -> bool:
        """Whether this bet proves that the region misses the identified set."""
        nats = self.n * float(growth_rate(identified, bet, *self._centre())[0])
        return nats >= self.allowance + MARGIN

    def _centre(self) -> tuple[Floats, Floats]:
        draws = self.tally.sum(axis=1, keepdims=True)
        return (self.tally / np.maximum(draws, 1.0))[None], (draws[:, 0] / max(self.n, 1.0))[None]


def functional_interval(
    region: CellRegion, identified: IdentifiedSet, row: Floats, over: Floats | None = None
) -> tuple[float, float] | Refuted:
    """Enclose ``row . x``, or ``row . x / over . x``, over the admitted mixtures that produce a point of the region.

    Guarantee: if the true mixture is admitted, then with probability at least ``1 - delta`` the interval contains its
    true value *at all times, and for all rows together*, since one region serves them all. Ends are rounded outwards:
    each end that is not an end of the possible range comes with a bet that refutes everything beyond it.

    Parameters
    ----------
    region
        The cell probabilities that the draws do not refute.
    identified
        The admitted mixtures, and what they produce.
    row
        One number per world, for all the worlds that ``identified`` was made of.
    over
        The denominator, one non-negative number per world; all 1 by default. Mixtures for which both products are zero
        count as having every value.
    """
    row = row[identified.kept_worlds]
    over = np.ones_like(row) if over is None else over[identified.kept_worlds]
    some = over > 0
    if not bool(some.any()):
        raise UsageError("expected a denominator that some admitted world has, but there is none: nobody is there")
    if region.refutes(identified):
        return Refuted()
    ratios = row[some] / over[some]
    least, most = float(ratios.min()), float(ratios.max())
    up, down = _AtLeast(region, identified, row, over), _AtLeast(region, identified, -row, over)
    return -_upper_end(down, -most, -least), _upper_end(up, least, most)


@dataclass(frozen=True, slots=True, eq=False)
class _AtLeast:
    """The hypotheses ``row . x >= value * over . x`` for any value, against the region."""

    region: CellRegion
    identified: IdentifiedSet
    row: Floats
    over: Floats

    def constraints(self, value: float) -> tuple[Floats, Floats]:
        """All inequalities, this one last."""
        last = value * self.over - self.row
        return np.vstack([self.identified.below, last]), np.append(self.identified.at_most, 0.0)

    def refuted(self, value: float) -> tuple[bool, CellBet | None]:
        """Whether a value is refuted; and the bet, if it can be tried on other values."""
        whole = self.identified
        piece = IdentifiedSet.of(whole.observation, (whole.equal, whole.equal_to), self.constraints(value))
        if not piece.worlds:
            return True, None  # no admitted mixture reaches the value, whatever was drawn
        bet = self.region.best_bet(piece)
        alike = piece.worlds == whole.worlds and bet.inequality_multipliers.shape[1] == len(whole.below) + 1
        return self.region.misses(piece, bet), bet if alike else None

    def refuted_by(self, bet: CellBet, value: float) -> bool:
        """Whether a given bet refutes a value: that takes a maximum over worlds, but no solver."""
        below, at_most = self.constraints(value)
        return self.region.misses(replace(self.identified, below=below, at_most=at_most), bet)


def _upper_end(hypotheses: _AtLeast, least: float, most: float) -> float:
    """The least value found such that everything beyond it is refuted; ``most`` where nothing is.

    Fewer mixtures reach a larger value, so a refuted value refutes all above it. A bet found for one value may refute
    others too, and trying it is cheap. That is Newton's method, since the distance to a value is convex and the bet is
    its tangent. It alternates with bisection, for the start and for safety.
    """
    if hypotheses.region.n <= 0 or not hypotheses.refuted(most)[0]:
        return most
    inside, outside, near = least, most, False
    while outside - inside > END_TOLERANCE:
        # Try half a tolerance below an end that a bet has just moved: if that is not refuted, the search is over.
        value = outside - 0.5 * END_TOLERANCE if near else 0.5 * (inside + outside)
        gone, bet = hypotheses.refuted(value)
        inside, outside = (inside, value) if gone else (value, outside)
        further = outside if bet is None else _as_far_as(hypotheses, bet, inside, outside)
        near, outside = not near and further < outside, further
    return outside


def _as_far_as(hypotheses: _AtLeast, bet: CellBet, inside: float, outside: float) -> float:
    """The lowest value that the same bet still refutes; ``outside`` where it refutes nothing below it."""
    # Finer than the search around it, which would otherwise call the solver again for the rest.
    while outside - inside > 0.1 * END_TOLERANCE:
        middle = 0.5 * (inside + outside)
        inside, outside = (inside, middle) if hypotheses.refuted_by(bet, middle) else (middle, outside)
    return outside
