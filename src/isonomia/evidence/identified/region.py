"""A confidence region for cell probabilities, and how far it lets a quantity of the worlds reach.

For each channel, mixing the likelihood ratios of all distributions over its cells with a Dirichlet(1/2, ..., 1/2)
weight gives an evidence function ``L_a(q_a) = log of the mixture's likelihood - log of the likelihood of q_a``, whose
exponential at the true ``q_a`` is a martingale that starts at 1 (Robbins 1970; Krichevsky and Trofimov 1981). Draws of
different channels are independent given their channels, so the sum over channels has the same property, and

    P(there is a time at which sum_a L_a(true q_a) >= log(1/delta)) <= delta.

The region ``{q : sum_a L_a(q_a) < log(1/delta)}`` is convex. It is ``{q : sum_a n_a KL(h_a | q_a) < allowance}`` around
the sample's shares ``h``, so it misses a shadow exactly when the shadow is farther from ``h`` than the allowance.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, xlogy

from isonomia.errors import UsageError
from isonomia.evidence.identified.bets import Prices, best_prices, growth
from isonomia.evidence.identified.identified_set import Shadow

__all__ = ["CellRegion", "Refuted", "reach"]

Floats = NDArray[np.float64]

MARGIN = 1e-6
"""Nats taken off a refutation to cover rounding."""

FINE = 1e-6
"""How near to the region's end an end is searched."""


@dataclass(frozen=True, slots=True)
class Refuted:
    """No admitted mixture produces a point of the region: what was taken for granted is refuted at risk ``delta``."""


@dataclass(frozen=True, slots=True, eq=False)
class CellRegion:
    """The cell probabilities that the draws so far do not refute, at all times together at risk ``delta``.

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
            raise UsageError(f"expected a count a channel and cell, but {self.tally!r} came")
        if not 0.0 < self.delta < 1.0:
            raise UsageError(f"expected delta between 0 and 1, but delta={self.delta!r} came")

    @property
    def n(self) -> float:
        """How many draws."""
        return float(self.tally.sum())

    @property
    def allowance(self) -> float:
        """How far the truth may lie from the sample's shares, in nats: ``log(1/delta)`` and the mixture's price."""
        draws, half = self.tally.sum(axis=1), 0.5 * self.tally.shape[1]
        best = xlogy(self.tally, self.tally).sum() - xlogy(draws, draws).sum()
        mixed = (gammaln(self.tally + 0.5) - gammaln(0.5)).sum() + (gammaln(half) - gammaln(draws + half)).sum()
        return float(np.log(1.0 / self.delta) + best - mixed)

    def refutes(self, shadow: Shadow) -> bool:
        """Say whether no point of the shadow lies in the region.

        Guarantee: ``True`` only where it is so, since prices of any quality bound the distance from below.
        """
        return self.n > 0 and self.beyond(shadow, self.prices(shadow))

    def prices(self, shadow: Shadow) -> Prices:
        """The prices that speak most strongly against the shadow."""
        estimate, weights = self._centre()
        return best_prices(shadow, estimate, weights, np.full(1, min(1e-3 / max(self.n, 1.0), 1e-6)))

    def beyond(self, shadow: Shadow, prices: Prices) -> bool:
        """Whether these prices prove that the shadow misses the region."""
        nats = self.n * float(growth(shadow, prices, *self._centre())[0])
        return nats >= self.allowance + MARGIN

    def _centre(self) -> tuple[Floats, Floats]:
        draws = self.tally.sum(axis=1, keepdims=True)
        return (self.tally / np.maximum(draws, 1.0))[None], (draws[:, 0] / max(self.n, 1.0))[None]


def reach(region: CellRegion, shadow: Shadow, row: Floats, over: Floats | None = None) -> tuple[float, float] | Refuted:
    """Enclose ``row . x``, or ``row . x / over . x``, over the admitted mixtures whose shadow lies in the region.

    Guarantee: if the true mixture is admitted, then with probability at least ``1 - delta`` the interval holds its true
    value *at all times, and for all rows together*, since one region serves them all. Ends are rounded outwards: each
    end that is not the end of the possible range comes with prices that refute everything beyond it.

    Parameters
    ----------
    region
        What the draws do not refute.
    shadow
        The mixtures that are admitted, and what they produce.
    row
        A number a world, for all the worlds that ``shadow`` was made of.
    over
        A number of at least 0 a world: what is divided by, 1 where not given. Mixtures for which both products are zero
        count as having every value.
    """
    row = row[shadow.kept]
    over = np.ones_like(row) if over is None else over[shadow.kept]
    some = over > 0
    if not bool(some.any()):
        raise UsageError("expected a denominator that some admitted world has, but there is none: nobody is there")
    if region.refutes(shadow):
        return Refuted()
    ratios = row[some] / over[some]
    least, most = float(ratios.min()), float(ratios.max())
    up, down = _Question(region, shadow, row, over), _Question(region, shadow, -row, over)
    return -_last(down, -most, -least), _last(up, least, most)


@dataclass(frozen=True, slots=True, eq=False)
class _Question:
    """Whether ``row . x >= value * over . x`` is possible in the region."""

    region: CellRegion
    shadow: Shadow
    row: Floats
    over: Floats

    def asked(self, value: float) -> tuple[Floats, Floats]:
        """All inequalities, this one the last."""
        last = value * self.over - self.row
        return np.vstack([self.shadow.below, last]), np.append(self.shadow.at_most, 0.0)

    def answer(self, value: float) -> tuple[bool, Prices | None]:
        """Whether it is refuted; and the prices, where they can be tried on other values."""
        shadow = self.shadow
        piece = Shadow.of(shadow.shows, (shadow.equal, shadow.equal_to), self.asked(value))
        if not piece.worlds:
            return True, None  # no admitted mixture reaches the value, whatever was drawn
        prices = self.region.prices(piece)
        alike = piece.worlds == shadow.worlds and prices.on_below.shape[1] == len(shadow.below) + 1
        return self.region.beyond(piece, prices), prices if alike else None

    def still(self, value: float, prices: Prices) -> bool:
        """Whether the same prices refute another value: a maximum over worlds, nothing to solve."""
        below, at_most = self.asked(value)
        piece = replace(self.shadow, below=below, at_most=at_most)
        return self.region.beyond(piece, prices)


def _last(question: _Question, least: float, most: float) -> float:
    """The least value found beyond which everything is refuted; ``most`` where nothing is.

    Fewer mixtures reach a larger value, so a refuted value refutes all above it. Prices found for one value speak about
    others too, and asking them is cheap: that is Newton's method, since the distance to a value bends upwards and
    prices are its tangent. Halving takes turns with it, for the start and for safety.
    """
    if question.region.n <= 0 or not question.answer(most)[0]:
        return most
    inside, outside, near = least, most, False
    while outside - inside > FINE:
        value = outside - 0.5 * FINE if near else 0.5 * (inside + outside)
        gone, prices = question.answer(value)
        inside, outside = (inside, value) if gone else (value, outside)
        further = outside if prices is None else _as_far_as(question, prices, inside, outside)
        near, outside = not near and further < outside, further
    return outside


def _as_far_as(question: _Question, prices: Prices, inside: float, outside: float) -> float:
    """How far down the same prices go on refuting; ``outside`` where they refute nothing below it."""
    while outside - inside > 0.1 * FINE:
        middle = 0.5 * (inside + outside)
        inside, outside = (inside, middle) if question.still(middle, prices) else (middle, outside)
    return outside
